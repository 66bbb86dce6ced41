"""Collections, reports, aggregates and studies as the plain data of a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.contract.codec import encode_reports
from sottovoce.contract.sparse import Sparse

Vector = dict[str, Any]

COMMUTE = sv.Attribute("commute", ["car", "bike", "train", "foot"])
AGE = sv.Attribute.bins("age", [float("-inf"), 18, 65.5, float("inf")], missing="value")
LABELS = sv.Domain(["Zürich", "naïve 'quoted'", '"', "東京", ""])

STUDY = sv.Study(
    'Commuting in "Zürich"\n2026', (sv.OUE(COMMUTE, epsilon=1.0), sv.GRR(AGE, epsilon=0.5))
)

MENU = sv.Levels.of(sv.GRR, COMMUTE, {"strong": 0.5, "weak": 4.0})
KINDS = sv.Levels(
    {"olh": sv.OLH(1000, epsilon=1.0), "hadamard": sv.HadamardResponse(1000, epsilon=1.0)}
)
SAMPLED = sv.Sampled(sv.GRR(3, epsilon=1.0), rate=0.5)
RATES = sv.Sampled(sv.GRR(3, epsilon=1.0), rate=[0, 0.25, 1])
PRIOR = sv.Study("Known beforehand", (sv.LIP(COMMUTE, prior=[0.5, 0.2, 0.25, 0.05], epsilon=1.0),))

HABITS = [COMMUTE, sv.Attribute.bins("age", [0, 30, 60, 99]), sv.Attribute("sport", 2)]
HIDDEN = sv.Records(HABITS, epsilon_average=2.0)
PUBLIC = sv.Records(HABITS, epsilon_average=2.0, public=True)

TEXTS = sv.HeavyHitters("aäb", 12, 2.0, other="?", name="word")

NUMBERS = sv.Study("Numbers", (sv.Hybrid(sv.Range("income", -1e3, 1e5), epsilon=1.0),))


def about(collection: Any) -> Vector:
    """Everything that a reader needs to make the collection."""
    common = {
        "study": None if collection.study is None else collection.study.hex(),
        "digest": collection.digest.hex(),
    }
    if isinstance(collection, sv.HeavyHitters):
        names = ("epsilon", "mechanism", "step")
        return {
            "collection": collection.id,
            "domain": collection.domain.canonical(),
            "parameters": {name: getattr(collection, name) for name in names},
            **common,
        }
    if isinstance(collection, sv.Records):
        names = ("epsilon_average", "public", "floor")
        return {
            "collection": collection.id,
            "domain": [attribute.canonical() for attribute in collection.schema],
            "parameters": {name: getattr(collection, name) for name in names},
            **common,
        }
    return {
        "collection": collection.id,
        "domain": collection.domain.canonical(),
        "parameters": collection.parameters,
        **common,
    }


def of_reports(collection: Any, batches: list[sv.Reports]) -> Vector:
    """Reports of one collection, in one envelope or several."""
    envelopes = [encode_reports(b, more=k < len(batches) - 1) for k, b in enumerate(batches)]
    whole = sv.Reports.concatenate(batches)
    return {
        "kind": "reports",
        **about(collection),
        "seeded": whole.seeded,
        "envelopes": [len(batch) for batch in batches],
        "columns": {name: column.tolist() for name, column in whole.columns.items()},
        "bytes": b"".join(envelopes).hex(),
    }


def of_aggregate(collection: Any, aggregate: sv.Aggregate) -> Vector:
    """Counts of one collection."""
    route, chosen = aggregate.route, aggregate.candidates
    return {
        "kind": "aggregate",
        **about(collection),
        "seeded": aggregate.seeded,
        "people": aggregate.people,
        "reports": aggregate.reports,
        "route": None if route is None else route.as_dict(),
        **({} if chosen is None else {"candidates": chosen.tolist()}),
        "tables": {name: plain(table) for name, table in aggregate.tables.items()},
        "bytes": aggregate.to_bytes().hex(),
    }


def plain(table: Any) -> Any:
    """Cells of a dense table; rows, in hexadecimal, and counts of a sparse one."""
    if not isinstance(table, Sparse):
        return table.tolist()
    return {"rows": [row.tobytes().hex() for row in table.rows], "counts": table.counts.tolist()}


def of_study(study: sv.Study) -> Vector:
    """A study, its digest and those of its collections."""
    return {
        "kind": "study",
        "toml": study.to_toml(),
        "digest": study.digest.hex(),
        "collections": {name: study.collection(name).digest.hex() for name in study.names},
    }


def reports_of(collection: Any, **columns: list[Any]) -> sv.Reports:
    """Chosen reports, in the collection's own types."""
    reports = forged(collection, **columns)
    collection.check(reports.columns)
    return reports


def forged(collection: Any, **columns: list[Any]) -> sv.Reports:
    """The same, unchecked."""
    arrays = {
        column.name: np.array(columns[column.name], column.dtype).reshape(
            column.shape(len(columns[column.name]))
        )
        for column in collection.layout
    }
    return sv.Reports(collection.id, collection.digest, arrays)


def changed(data: bytes, at: int, new: bytes) -> bytes:
    """The bytes with some of them overwritten."""
    return data[:at] + new + data[at + len(new) :]
