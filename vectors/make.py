"""Make the wire vectors in `vectors/v1` again: ``python vectors/make.py``.

Version 1 is frozen, so for `good_` and `bad_` vectors this changes nothing, and a test says so.
Only `seeded_` vectors may change with a release: they pin what a seed draws, not the wire form.
`hand_` vectors were written by hand and are never made again.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sottovoce.contract.patterns import Patterns

import sottovoce as sv
from sottovoce import testing
from sottovoce.contract.wire import encode

FOLDER = Path(__file__).parent / "v1"
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

NUMBERS = sv.Study("Numbers", (sv.Hybrid(sv.Range("income", -1e3, 1e5), epsilon=1.0),))


def about(mechanism: sv.Mechanism | sv.Records) -> Vector:
    """Everything that a reader needs to make the mechanism."""
    if isinstance(mechanism, sv.Records):
        return {
            "mechanism": mechanism.id,
            "domain": [attribute.canonical() for attribute in mechanism.schema],
            "parameters": {
                "epsilon_average": mechanism.epsilon_average,
                "public": mechanism.public,
                "floor": mechanism.floor,
            },
            "study": None if mechanism.study is None else mechanism.study.hex(),
            "digest": mechanism.digest.hex(),
        }
    return {
        "mechanism": mechanism.id,
        "domain": mechanism.domain.canonical(),
        "parameters": mechanism.parameters,
        "study": None if mechanism.study is None else mechanism.study.hex(),
        "digest": mechanism.digest.hex(),
    }


def of_reports(mechanism: sv.Mechanism | sv.Records, batches: list[sv.Reports]) -> Vector:
    """Reports of one mechanism, in one envelope or several."""
    envelopes = [encode(b, more=k < len(batches) - 1) for k, b in enumerate(batches)]
    whole = sv.Reports.concatenate(batches)
    return {
        "kind": "reports",
        **about(mechanism),
        "seeded": whole.seeded,
        "envelopes": [len(batch) for batch in batches],
        "columns": {name: column.tolist() for name, column in whole.columns.items()},
        "bytes": b"".join(envelopes).hex(),
    }


def of_aggregate(mechanism: sv.Mechanism, aggregate: sv.Aggregate) -> Vector:
    """Counts of one mechanism."""
    return {
        "kind": "aggregate",
        **about(mechanism),
        "seeded": aggregate.seeded,
        "n": aggregate.n,
        "tables": {name: table.tolist() for name, table in aggregate.tables.items()},
        "bytes": aggregate.to_bytes().hex(),
    }


def of_patterns(mechanism: sv.Records, patterns: Patterns) -> Vector:
    """Distinct records and how often each came."""
    return {
        "kind": "patterns",
        **about(mechanism),
        "seeded": patterns.seeded,
        "n": patterns.n,
        "rows": [row.tobytes().hex() for row in patterns.rows],
        "counts": patterns.counts.tolist(),
        "bytes": patterns.to_bytes().hex(),
    }


def of_study(study: sv.Study) -> Vector:
    """A study, its digest and those of its questions."""
    return {
        "kind": "study",
        "toml": study.to_toml(),
        "digest": study.digest.hex(),
        "questions": {a.name: study.mechanism(a.name).digest.hex() for a in study.schema},
    }


def reports_of(mechanism: sv.Mechanism | sv.Records, **columns: list[Any]) -> sv.Reports:
    """Chosen reports, in the mechanism's own types."""
    reports = forged(mechanism, **columns)
    mechanism.check(reports.columns)
    return reports


def forged(mechanism: sv.Mechanism | sv.Records, **columns: list[Any]) -> sv.Reports:
    """The same, unchecked."""
    arrays = {
        column.name: np.array(columns[column.name], column.dtype).reshape(
            column.shape(len(columns[column.name]))
        )
        for column in mechanism.layout
    }
    return sv.Reports(mechanism.id, mechanism.digest, arrays)


def good() -> Iterator[tuple[str, Vector]]:
    """Vectors that must be read, and written to the same bytes."""
    grr = sv.GRR(3, epsilon=1.0)
    values = reports_of(grr, value=[0, 2, 1, 1])
    yield "grr", of_reports(grr, [values])
    yield "grr_nobody", of_reports(grr, [values[:0]])
    yield "grr_envelopes", of_reports(grr, [values[:1], values[1:1], values[1:]])
    yield "grr_seeded", of_reports(grr, [replace(values, seeded=True)])
    labels = sv.GRR(LABELS, epsilon=0.1)
    yield "grr_labels", of_reports(labels, [reports_of(labels, value=[4, 3])])
    two_bytes = sv.GRR(300, epsilon=20.0)
    yield "grr_two_bytes", of_reports(two_bytes, [reports_of(two_bytes, value=[299, 1, 256])])
    four_bytes = sv.GRR(70_000, epsilon=1e-6)
    yield "grr_four_bytes", of_reports(four_bytes, [reports_of(four_bytes, value=[69_999, 65_536])])
    bins = STUDY.mechanism("age")
    yield "grr_study", of_reports(bins, [reports_of(bins, value=[3, 0])])
    oue = sv.OUE(10, epsilon=1.0)
    bits = reports_of(oue, bits=[[1, 2], [128, 1], [0, 0], [255, 3]])
    yield "oue", of_reports(oue, [bits])
    sue = sv.SUE(8, epsilon=2.0)
    yield "sue", of_reports(sue, [reports_of(sue, bits=[[255], [0], [17]])])
    subset = sv.SubsetSelection(9, epsilon=1.0)
    yield "subset", of_reports(subset, [reports_of(subset, bits=[[3, 0], [128, 1]])])
    olh = sv.OLH(1000, epsilon=1.0)
    hashes = {"a": [1, 4294967295, 2863311531], "b": [0, 4294967295, 305419896], "y": [0, 3, 1]}
    yield "olh", of_reports(olh, [reports_of(olh, **hashes)])
    hadamard = sv.HadamardResponse(1000, epsilon=1.0)
    yield "hadamard", of_reports(hadamard, [reports_of(hadamard, y=[0, 1023, 512])])

    lip = sv.LIP(COMMUTE, prior=[0.5, 0.2, 0.25, 0.05], epsilon=1.0)
    told = reports_of(lip, value=[0, 3, 2, 1, 1])
    yield "lip", of_reports(lip, [told])
    box = sv.LIP(300, prior_low=[0.0] * 300, prior_high=[0.5] * 300, epsilon=2.0)
    yield "lip_box", of_reports(box, [reports_of(box, value=[299, 0])])

    for name, mechanism, columns in numbers():
        yield name, of_reports(mechanism, [reports_of(mechanism, **columns)])

    yield "aggregate_grr", of_aggregate(grr, grr.aggregate(values))
    yield "aggregate_nobody", of_aggregate(grr, grr.aggregate(values[:0]))
    yield "aggregate_oue", of_aggregate(oue, oue.aggregate(bits))
    many = sv.Aggregate(oue.id, oue.digest, (1 << 62) - 1, {"support": [(1 << 61) + 1] * 10}, True)
    yield "aggregate_lip", of_aggregate(lip, lip.aggregate(told))
    yield "aggregate_many", of_aggregate(oue, many)
    tens = sv.HadamardResponse(5, epsilon=1.0)
    cells = tens.aggregate(tens.every_report())
    yield "aggregate_hadamard", of_aggregate(tens, cells)

    for name, mechanism, columns in wrapped():
        reports = reports_of(mechanism, **columns)
        yield name, of_reports(mechanism, [reports])
        if mechanism != KINDS:  # whose thousands of counts are those of other vectors
            yield f"aggregate_{name}", of_aggregate(mechanism, mechanism.aggregate(reports))

    small = sv.Hybrid((0, 100), epsilon=1.0, steps=4)
    yield "aggregate_hybrid", of_aggregate(small, small.aggregate(small.every_report()[::3]))

    for name, mechanism, columns in records():
        reports = reports_of(mechanism, **columns)
        yield name, of_reports(mechanism, [reports])
        yield f"patterns_{name}", of_patterns(mechanism, mechanism.aggregate(reports))
    yield "patterns_nobody", of_patterns(HIDDEN, HIDDEN.aggregate(reports_of(HIDDEN, **NOBODY)))

    yield "study", of_study(STUDY)
    yield "study_numbers", of_study(NUMBERS)
    yield "study_prior", of_study(PRIOR)


def numbers() -> Iterator[tuple[str, sv.Mechanism, dict[str, list[int]]]]:
    """Chosen reports of the mechanisms for numbers."""
    yield "duchi", sv.Duchi((0, 100), epsilon=1.0), {"cell": [0, 1, 1]}
    piecewise = sv.Piecewise(sv.Range("height", 0.5, 2.5, clip=True), epsilon=2.0)
    yield "piecewise", piecewise, {"cell": [0, 1024, 1400]}
    yield "hybrid", NUMBERS.mechanism("income"), {"grid": [0, 1, 0, 1], "cell": [1, 1, 0, 1023]}


def wrapped() -> Iterator[tuple[str, sv.Mechanism, dict[str, list[Any]]]]:
    """Chosen reports of people at several levels and rates, and silent ones."""
    yield "levels", MENU, {"level": [0, 1, 1], "value": [3, 0, 2]}
    yield (
        "levels_kinds",
        KINDS,
        {"level": [0, 1, 1], "a": [7, 0, 0], "b": [5, 0, 0], "y": [3, 1023, 0]},
    )
    yield "sampled", SAMPLED, {"silent": [0, 0, 258], "value": [2, 0, 0]}
    yield (
        "sampled_rates",
        RATES,
        {"rate": [1, 2, 0, 1], "silent": [0, 0, 7, 1], "value": [2, 1, 0, 0]},
    )
    both = sv.Sampled(MENU, rate=[0.5, 0.25])
    yield (
        "sampled_levels",
        both,
        {"rate": [0, 1, 1], "silent": [0, 0, 65_535], "level": [1, 0, 0], "value": [3, 1, 0]},
    )
    some = {"some": sv.Sampled(sv.OUE(10, epsilon=0.5), rate=0.5), "all": sv.OUE(10, epsilon=4.0)}
    rows = [[1, 2], [0, 0], [255, 3]]
    yield "levels_sampled", sv.Levels(some), {"level": [0, 0, 1], "silent": [0, 9, 0], "bits": rows}
    numbers = sv.Levels.of(sv.Hybrid, (0, 100), {"strong": 0.5, "weak": 4.0}, steps=4)
    yield "levels_numbers", numbers, {"level": [0, 1], "grid": [0, 1], "cell": [1, 2]}


NOBODY: dict[str, list[Any]] = {"reported": [], "bits": []}
#: Attributes that people report, and the bits of all attributes one after the other: 4, 3 and 2.
SENT = {"reported": [[7], [7], [3], [4]], "bits": [[255, 1], [255, 1], [4, 0], [128, 0]]}
STEPS = [[2048] * 3, [2048] * 3, [512, 3584, 65_535], [65_535, 65_535, 2048]]


def records() -> Iterator[tuple[str, sv.Records, dict[str, list[Any]]]]:
    """Chosen records of people who report all attributes or some."""
    yield "records", HIDDEN, SENT
    yield "records_public", PUBLIC, {**SENT, "steps": STEPS}


def bad_records() -> dict[str, tuple[str, sv.Records, dict[str, list[Any]], str]]:
    """Records that nobody can have sent."""
    one = {"reported": [[3]], "bits": [[4, 0]]}
    public = ("records_public", PUBLIC)
    return {
        "records_nothing": ("records", HIDDEN, {**one, "reported": [[0]]}, "reports no attribute"),
        "records_unreported": ("records", HIDDEN, {**one, "bits": [[132, 0]]}, "does not report"),
        "records_spare_bit": ("records", HIDDEN, {**one, "bits": [[4, 2]]}, "unused bits"),
        "records_spare_name": ("records", HIDDEN, {**one, "reported": [[11]]}, "unused reported"),
        "records_total": (*public, {**one, "steps": [[2048, 2049, 65_535]]}, "more than its total"),
        "records_floor": (*public, {**one, "steps": [[510, 2048, 65_535]]}, "allowed is 0.5"),
        "records_budget": (*public, {**one, "steps": [[2048, 65_535, 65_535]]}, "do not agree"),
        "records_no_budget": (*public, {**one, "steps": [[2048, 1024, 1024]]}, "do not agree"),
    }


def bad_patterns(good_one: bytes) -> dict[str, tuple[bytes, str, str]]:
    """Aggregates of records that no records can have given."""
    head, width, different = 52 + len("pmoue"), 3, 3
    counts = head + width * different
    rows = [good_one[head + width * k : head + width * (k + 1)] for k in range(different)]
    turned = rows[1] + rows[0]
    nobody = changed(good_one, counts, struct.pack("<q", 0))
    wide = changed(good_one, 8, struct.pack("<I", width + 1))
    return {
        "magic": (changed(good_one, 0, b"SVAG"), "WireError", "begins with"),
        "version": (changed(good_one, 4, b"\2"), "WireError", "version 2"),
        "flag": (changed(good_one, 5, b"\2"), "WireError", "flags"),
        "digest": (changed(good_one, 20, bytes(32)), "DigestError", "0000"),
        "id": (changed(good_one, 52, b"pmoux"), "DigestError", "'pmoux'"),
        "order": (changed(good_one, head, turned), "WireError", "rising order"),
        "twice": (changed(good_one, head, rows[0] * 2), "WireError", "each once"),
        "no_count": (nobody, "WireError", "below 1"),
        "negative": (changed(good_one, counts, b"\xff" * 8), "WireError", "below 1"),
        "row": (changed(good_one, head, b"\0"), "WireError", "reports no attribute"),
        "width": (wide, "WireError", "need"),
        "truncated": (good_one[:-1], "WireError", "need"),
        "trailing": (good_one + b"\0", "WireError", "need"),
    }


def seeded() -> Iterator[tuple[str, Vector]]:
    """What seed 2026 draws for each mechanism: the same on every machine."""
    for kind in (sv.GRR, sv.OUE, sv.SUE, sv.SubsetSelection, sv.OLH, sv.HadamardResponse):
        mechanism = kind(10, epsilon=1.0)
        yield mechanism.id, drawn(mechanism, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9])
    known = sv.LIP(prior=[0.25, 0.75, 0.0], epsilon=1.0)
    yield known.id, drawn(known, [0, 1, 2, 0, 1, 2, 1, 1, 1, 1, 1, 2])
    for kind in (sv.Duchi, sv.Piecewise, sv.Hybrid):
        mechanism = kind((0, 10), epsilon=1.0)
        yield mechanism.id, drawn(mechanism, [0, 1.5, 2.25, 3, 4, 5, 6, 7, 8, 9, 9.999, 10])
    answers = [COMMUTE.values[k % 4] for k in range(12)]
    levels, rates = ["strong", "weak", "weak"] * 4, [0.5, 0.25, 0.5, 0.5] * 3
    yield "levels", drawn(MENU, answers, level=levels)
    both = sv.Sampled(MENU, rate=[0.5, 0.25])
    yield "sampled", drawn(both, answers, level=levels, rate=rates)
    table = {"commute": answers, "age": [7 * k for k in range(12)], "sport": [0, 1, 1] * 4}
    yield "records", drawn(HIDDEN, table, allocation="random")
    yield "records_public", drawn(PUBLIC, table, allocation=[[0.5, 4.5, 1.0]] * 12)


def drawn(mechanism: sv.Mechanism | sv.Records, answers: Any, **choice: Any) -> Vector:
    """Reports that a seed draws."""
    with testing.seeded(2026) as source:
        reports = mechanism.randomise(answers, source=source, **choice)
    asked = {"answers": answers, "seed": 2026, **({"choice": choice} if choice else {})}
    return {**asked, **of_reports(mechanism, [reports])}


def changed(data: bytes, at: int, new: bytes) -> bytes:
    """The bytes with some of them overwritten."""
    return data[:at] + new + data[at + len(new) :]


def bad() -> Iterator[tuple[str, Vector]]:
    """Vectors that must be refused, with the error and a part of what it says."""
    made = dict(good())

    def of(name: str, data: bytes, error: str, says: str) -> Vector:
        known = ("kind", "mechanism", "domain", "parameters", "study", "digest")
        return {
            **{key: made[name][key] for key in known},
            "bytes": data.hex(),
            "error": error,
            "says": says,
        }

    def raw(name: str) -> bytes:
        return bytes.fromhex(made[name]["bytes"])

    grr, oue = raw("grr"), raw("oue")
    yield "magic", of("grr", changed(grr, 0, b"SVRQ"), "WireError", "SVRP")
    yield "aggregate_as_reports", of("grr", raw("aggregate_grr"), "WireError", "SVRP")
    yield "version_0", of("grr", changed(grr, 4, b"\0"), "WireError", "version 0")
    yield "version_2", of("grr", changed(grr, 4, b"\2"), "WireError", "version 2")
    yield "unknown_flag", of("grr", changed(grr, 5, b"\4"), "WireError", "flags")
    yield "reserved_byte", of("grr", changed(grr, 7, b"\1"), "WireError", "flags")
    yield "padding", of("grr", changed(grr, 63, b"\1"), "WireError", "padded")
    yield "empty_id", of("grr", changed(grr, 6, b"\0"), "WireError", "id")
    yield "id_not_ascii", of("grr", changed(grr, 48, b"\xff"), "WireError", "ASCII")
    yield "id_cut", of("grr", changed(grr, 6, b"\2"), "WireError", "id")
    yield "other_id", of("grr", changed(grr, 48, b"oue"), "DigestError", "'oue'")
    yield "unknown_id", of("grr", changed(grr, 48, b"xyz"), "DigestError", "'xyz'")
    yield "other_digest", of("grr", changed(grr, 16, bytes(32)), "DigestError", "0000")
    study = changed(raw("grr_study"), 16, STUDY.mechanism("commute").digest)
    yield "other_question", of("grr_study", study, "DigestError", "digest")
    yield (
        "study_itself",
        of("grr_study", changed(raw("grr_study"), 16, STUDY.digest), "DigestError", "digest"),
    )
    yield "value_out_of_range", of("grr", changed(grr, 65, b"\3"), "WireError", "value 3")
    large = changed(raw("grr_four_bytes"), 64, struct.pack("<I", 70_000))
    yield "value_out_of_range_four", of("grr_four_bytes", large, "WireError", "70000")
    yield "bit_beyond_the_values", of("oue", changed(oue, 65, b"\4"), "WireError", "beyond")
    yield (
        "subset_too_large",
        of("subset", changed(raw("subset"), 64, b"\7"), "WireError", "names 3 values"),
    )
    yield "subset_beyond", of("subset", changed(raw("subset"), 65, b"\2"), "WireError", "beyond")
    yield "olh_even_a", of("olh", changed(raw("olh"), 64, b"\2"), "WireError", "even")
    yield "olh_bucket", of("olh", changed(raw("olh"), 90, b"\4"), "WireError", "bucket 4")
    output = changed(raw("hadamard"), 64, struct.pack("<H", 1024))
    yield "hadamard_output", of("hadamard", output, "WireError", "1024")
    yield "lip_value", of("lip", changed(raw("lip"), 65, b"\4"), "WireError", "value 4")
    two = changed(raw("lip_box"), 64, struct.pack("<H", 300))
    yield "lip_box_value", of("lip_box", two, "WireError", "value 300")
    cell = changed(raw("piecewise"), 64, struct.pack("<H", 1401))
    yield "piecewise_cell", of("piecewise", cell, "WireError", "cell")
    yield "hybrid_grid", of("hybrid", changed(raw("hybrid"), 64, b"\2"), "WireError", "grid 2")
    coarse = changed(raw("hybrid"), 68, struct.pack("<H", 2))
    yield "hybrid_cell", of("hybrid", coarse, "WireError", "cell")
    count = struct.unpack_from("<Q", grr, 8)[0]
    for name, wrong in (("one_more", count + 1), ("huge", count + (1 << 60)), ("all", 2**64 - 1)):
        data = changed(grr, 8, struct.pack("<Q", wrong))
        yield f"n_{name}", of("grr", data, "WireError", "end too early")
    yield (
        "n_one_less",
        of("grr", changed(grr, 8, struct.pack("<Q", count - 1)), "WireError", "1 bytes follow"),
    )
    yield "empty", of("grr", b"", "WireError", "end too early")
    yield "truncated", of("grr", grr[:-1], "WireError", "end too early")
    yield "trailing", of("grr", grr + b"\0", "WireError", "1 bytes follow")
    yield "twice", of("grr", grr + grr, "WireError", "follow")
    envelopes = raw("grr_envelopes")
    yield "cut_between_envelopes", of("grr_envelopes", envelopes[:65], "WireError", "too early")
    yield (
        "second_envelope_of_another",
        of("grr_envelopes", envelopes[:65] + oue, "DigestError", "'oue'"),
    )

    for name, (good_one, mechanism, columns, says) in bad_wrapped().items():
        yield name, of(good_one, encode(forged(mechanism, **columns)), "WireError", says)
    for name, (good_one, records_of, columns, says) in bad_records().items():
        yield name, of(good_one, encode(forged(records_of, **columns)), "WireError", says)
    for name, (data, error, says) in bad_patterns(raw("patterns_records")).items():
        yield f"patterns_{name}", of("patterns_records", data, error, says)
    for name, (good_one, tables, n, says) in bad_wrapped_counts().items():
        whole = {key: np.array(t) for key, t in made[good_one]["tables"].items()}
        digest = bytes.fromhex(made[good_one]["digest"])
        tables = {key: t for key, t in (whole | tables).items() if t is not None}
        wrong = sv.Aggregate(made[good_one]["mechanism"], digest, n, tables)
        yield f"aggregate_{name}", of(good_one, wrong.to_bytes(), "WireError", says)

    counts = raw("aggregate_grr")
    table = 48 + 4 + 2  # head, id and its length, lengths of the table's name and shape
    cells = table + len("support") + 8

    def of_counts(data: bytes, error: str, says: str) -> Vector:
        return of("aggregate_grr", data, error, says)

    yield "aggregate_magic", of_counts(changed(counts, 0, b"SVRP"), "WireError", "SVAG")
    yield "aggregate_version", of_counts(changed(counts, 4, b"\2"), "WireError", "version 2")
    yield "aggregate_flag", of_counts(changed(counts, 5, b"\2"), "WireError", "flags")
    yield "aggregate_digest", of_counts(changed(counts, 16, bytes(32)), "DigestError", "0000")
    yield "aggregate_id", of_counts(changed(counts, 49, b"xyz"), "DigestError", "'xyz'")
    yield "aggregate_no_table", of_counts(changed(counts, 6, b"\0"), "WireError", "follow")
    yield "aggregate_two_tables", of_counts(changed(counts, 6, b"\2"), "WireError", "too early")
    again = changed(counts, 6, b"\2") + counts[52:]
    yield "aggregate_table_twice", of_counts(again, "WireError", "twice")
    yield "aggregate_other_table", of_counts(changed(counts, table, b"S"), "WireError", "Support")
    yield (
        "aggregate_no_dimension",
        of_counts(changed(counts, table - 1, b"\0"), "WireError", "0 dimensions"),
    )
    yield (
        "aggregate_many_dimensions",
        of_counts(changed(counts, table - 1, b"\5"), "WireError", "5 dimensions"),
    )
    for name, size in (("two_cells", 2), ("huge", 1 << 60), ("no_cells", 0)):
        shape = changed(counts, cells - 8, struct.pack("<Q", size))
        says = {"two_cells": "follow", "huge": "too early", "no_cells": "shape"}[name]
        yield f"aggregate_{name}", of_counts(shape, "WireError", says)
    empty = changed(counts, cells - 8, struct.pack("<Q", 0))[:cells]
    yield "aggregate_empty_table", of_counts(empty, "WireError", "shape")
    flat = struct.pack("<BB7sQQ", 7, 2, b"support", 1 << 63, 0)
    yield "aggregate_flat_table", of_counts(counts[:52] + flat, "WireError", "shape")
    below, above = struct.pack("<q", -1), struct.pack("<q", 5)
    yield "aggregate_negative", of_counts(changed(counts, cells, below), "WireError", "outside")
    yield "aggregate_above_n", of_counts(changed(counts, cells, above), "WireError", "outside")
    huge = changed(counts, 8, struct.pack("<Q", 1 << 62))
    yield "aggregate_n_huge", of_counts(huge, "WireError", "2^62")
    cells_off = changed(raw("aggregate_hybrid"), 8, struct.pack("<Q", 9))
    yield "aggregate_hybrid_n", of("aggregate_hybrid", cells_off, "WireError", "not n = 9")
    told = raw("aggregate_lip")
    short = changed(told, 8, struct.pack("<Q", 6))
    yield "aggregate_lip_n", of("aggregate_lip", short, "WireError", "give 1 each")
    yield "aggregate_truncated", of_counts(counts[:-1], "WireError", "too early")
    yield "aggregate_trailing", of_counts(counts + b"\0", "WireError", "follow")


def bad_wrapped() -> dict[str, tuple[str, sv.Mechanism, dict[str, list[Any]], str]]:
    """Reports that nobody at such a level or rate can have sent."""
    silent, rates = "people who are silent have content in 'value'", "silent at rate 1, or reports"
    unused = "that its kind does not use"
    return {
        "levels_unknown": ("levels", MENU, {"level": [0, 2], "value": [0, 0]}, "names level 2"),
        "levels_value": ("levels", MENU, {"level": [0, 1], "value": [0, 4]}, "value 4"),
        "levels_unused_column": (
            "levels_kinds",
            KINDS,
            {"level": [1], "a": [1], "b": [0], "y": [0]},
            f"content in 'a' {unused}",
        ),
        "levels_unused_bytes": (
            "levels_kinds",
            KINDS,
            {"level": [0], "a": [7], "b": [5], "y": [256 + 3]},
            f"content in 'y' {unused}",
        ),
        "levels_even_a": (
            "levels_kinds",
            KINDS,
            {"level": [0], "a": [6], "b": [5], "y": [3]},
            "even",
        ),
        "sampled_value": ("sampled", SAMPLED, {"silent": [0], "value": [3]}, "value 3"),
        "sampled_silent_content": ("sampled", SAMPLED, {"silent": [2], "value": [1]}, silent),
        "sampled_unknown_rate": (
            "sampled_rates",
            RATES,
            {"rate": [3], "silent": [1], "value": [0]},
            "names rate 3 of 3",
        ),
        "sampled_silent_at_1": (
            "sampled_rates",
            RATES,
            {"rate": [1, 2], "silent": [1, 1], "value": [0, 0]},
            rates,
        ),
        "sampled_report_at_0": (
            "sampled_rates",
            RATES,
            {"rate": [0], "silent": [0], "value": [0]},
            rates,
        ),
    }


def bad_wrapped_counts() -> dict[str, tuple[str, dict[str, Any], int, str]]:
    """Counts that no people at such levels and rates can have given."""
    return {
        "levels_people": ("aggregate_levels", {"people": [1, 1]}, 3, "do not sum to n = 3"),
        "levels_n": ("aggregate_levels", {}, 4, "do not sum to n = 4"),
        "levels_negative": ("aggregate_levels", {"people": [-1, 4]}, 3, "do not sum"),
        "levels_one_level": ("aggregate_levels", {"people": [3]}, 3, "each of the 2 levels"),
        "levels_no_people": ("aggregate_levels", {"people": None}, 3, "each of the 2 levels"),
        "levels_missing": ("aggregate_levels", {"1/support": None}, 3, "'grr' has 'support'"),
        "levels_strange": ("aggregate_levels", {"2/support": [1, 0, 0, 0]}, 3, "of no level"),
        "levels_counts": ("aggregate_levels", {"0/support": [1, 1, 0, 0]}, 3, "sum to 2"),
        "sampled_reported": (
            "aggregate_sampled",
            {"asked": [1], "reported": [2]},
            1,
            "more people report than were asked",
        ),
        "sampled_negative": ("aggregate_sampled", {"reported": [-1]}, 260, "more people report"),
        "sampled_n": ("aggregate_sampled", {}, 259, "260 people were asked, but n = 259"),
        "sampled_wrap_around": (
            "aggregate_sampled_rates",
            {"asked": [(1 << 63) - 1, (1 << 63) - 1, 2], "reported": [0, 1, 2]},
            0,
            "but n = 0",
        ),
        "sampled_silent_at_1": (
            "aggregate_sampled_rates",
            {"asked": [7, 2, 2]},
            11,
            "silent at rate 1",
        ),
        "sampled_report_at_0": (
            "aggregate_sampled_rates",
            {"reported": [1, 1, 1]},
            10,
            "reports at rate 0",
        ),
        "sampled_rows": (
            "aggregate_sampled_rates",
            {"in/support": [[0, 0, 1]]},
            10,
            "row per rate",
        ),
        "sampled_counts": ("aggregate_sampled", {"in/support": [[1, 0, 0]]}, 260, "sum to 1"),
        "sampled_flat": ("aggregate_sampled", {"in/support": [1]}, 260, "shape ()"),
        "sampled_no_asked": ("aggregate_sampled", {"asked": None}, 260, "no counts of asked"),
        "sampled_strange": ("aggregate_sampled", {"support": [1]}, 260, "one row per rate"),
    }


def every() -> Iterator[tuple[str, Vector]]:
    """Every vector that is made, with its file's name."""
    for prefix, vectors in (("good", good()), ("bad", bad()), ("seeded", seeded())):
        for name, vector in vectors:
            yield f"{prefix}_{name}.json", vector


def text(vector: Vector) -> str:
    """The file of a vector."""
    return json.dumps(vector, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every vector."""
    for name, vector in every():
        (FOLDER / name).write_text(text(vector), encoding="utf-8")


if __name__ == "__main__":
    main()
