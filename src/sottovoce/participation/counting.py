"""The collector's side: reports counted by way, and what no participant can have sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..contract.collection import Columns
from ..contract.reports import Reports
from ..domain.values import code_dtype
from ..errors import ParameterError, WireError
from .drawing import silent_rows
from .rows import blank_columns, check_unused, inner_reports, pick_rows, read_only, speaking_rows

if TYPE_CHECKING:
    from .participation import Participation


def count_reports(table: Participation, reports: Reports) -> dict[str, NDArray[np.int64]]:
    """How many were asked and reported for each way, and the counts of their reports."""
    columns, many = reports.columns, len(table.ways())
    way = columns.get("way", np.zeros(len(reports), np.uint8))
    if way.size and int(way.max()) >= many:
        table.check(columns)
    silent = columns.get("silent")
    rows, quiet = (slice(None), np.zeros(0, np.intp)) if silent is None else speaking_rows(silent)
    spoken = pick_rows(way, rows)
    reported = np.zeros(many, np.int64)
    tables: dict[str, NDArray[np.int64]] = {}
    if len(table.classes) > 1:
        place = np.zeros(many, code_dtype(many))  # of a way within its class
        kinds = np.zeros(many, code_dtype(len(table.classes)))
        for k, (_, own) in enumerate(table.classes):
            place[own], kinds[own] = np.arange(own.size), k
        kind, spoken = kinds[spoken], place[spoken]
        every = pick_rows(np.arange(len(reports)), rows)
    for k, (mechanism, own) in enumerate(table.classes):
        if len(table.classes) == 1:
            part, cell = inner_reports(columns, rows, mechanism, reports.seeded), spoken
        else:
            mine = np.flatnonzero(kind == k)
            part = inner_reports(columns, every[mine], mechanism, reports.seeded)
            cell = spoken[mine]
        counted, inner = mechanism.count_by(part, cell, own.size)
        reported[own] = counted
        tables |= {f"{k}/{name}": cells for name, cells in inner.items()}
    asked = reported.copy()
    if silent is not None:
        hushed = np.bincount(way[quiet], weights=silent[quiet], minlength=many)
        asked += hushed.astype(np.int64)
    return read_only({"asked": asked, "reported": reported, **tables})


def count_people(
    table: Participation, reports: Reports
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many were asked and reported for each way, without counting what they reported."""
    columns, many = reports.columns, len(table.ways())
    way = columns.get("way", np.zeros(len(reports), np.uint8))
    silent = columns.get("silent")
    if silent is None:
        reported = np.bincount(way, minlength=many)
        return reported, reported
    reported = np.bincount(way[silent == 0], minlength=many)
    quiet = np.bincount(way, weights=silent, minlength=many).astype(np.int64)
    return reported + quiet, reported


def check_reports(table: Participation, columns: Columns) -> None:
    """Raise WireError for reports that no participant can have sent."""
    first = next(iter(columns.values()))
    way = columns.get("way", np.zeros(len(first), np.uint8))
    if way.size and int(way.max()) >= len(table.ways()):
        raise WireError(
            f"a report names way {int(way.max())}; there are {len(table.ways())}, counted from 0"
        )
    silent = columns.get("silent")
    if silent is not None:
        rows, quiet = speaking_rows(silent)
        never = (table.way_rates[pick_rows(way, rows)] == 0).any()
        if never or (table.way_rates[way[quiet]] == 1).any():
            raise WireError("someone is silent at rate 1, or reports at rate 0")
        for column in table._inner_layout:
            if columns[column.name][quiet].any():
                raise WireError(f"people who are silent have content in {column.name!r}")
    for mechanism, own in table.classes:
        mine: Any = slice(None) if silent is None else rows
        if len(table.classes) > 1:
            speaks = np.isin(way, own)
            mine = np.flatnonzero(speaks if silent is None else speaks & (silent == 0))
        check_unused(columns, mine, mechanism.layout, table._inner_layout)
        mechanism.check(inner_reports(columns, mine, mechanism, seeded=False).columns)


def check_counts(table: Participation, aggregate: Aggregate) -> None:
    """Raise WireError for counts that no reports can have given."""
    if aggregate.route is not None:
        raise WireError("counts of levels or rates cannot come from a protocol")
    if any(not isinstance(counts, np.ndarray) for counts in aggregate.tables.values()):
        raise WireError("counts of levels or rates are dense tables")
    tables = {name: np.asarray(counts) for name, counts in aggregate.tables.items()}
    asked, reported = (tables.get(name) for name in ("asked", "reported"))
    rates = table.way_rates
    if asked is None or reported is None or not asked.shape == reported.shape == rates.shape:
        raise WireError(f"no counts of asked and reporting people for {rates.size} ways")
    if not (reported.min() >= 0 and (reported <= asked).all()):
        raise WireError("more people report than were asked")
    # In whole numbers without bound, which cannot wrap around.
    totals = sum(asked.tolist()), sum(reported.tolist())
    if totals != (aggregate.people, aggregate.reports):
        raise WireError(
            f"{totals[0]} people and {totals[1]} reports, but the aggregate has "
            f"{aggregate.people} and {aggregate.reports}"
        )
    if reported[rates == 0].any() or (reported < asked)[rates == 1].any():
        raise WireError("someone is silent at rate 1, or reports at rate 0")
    for name, counts in tables.items():
        if name in ("asked", "reported"):
            continue
        k, slash, _ = name.partition("/")
        if not slash or k not in map(str, range(len(table.classes))):
            raise WireError(f"the aggregate has a table {name!r} that belongs to no level")
        if len(counts) != table.classes[int(k)][1].size:
            raise WireError(f"the table {name!r} has {len(counts)} rows; one per way is needed")
    for way in table.ways():
        table.way_mechanisms[way.index].check_aggregate(table.part_of(aggregate, [way.index]))


def absent_rows(table: Participation, people: Any) -> Reports:
    """Rows for people who were asked and sent nothing, one number per way."""
    quiet = np.atleast_1d(np.asarray(people))
    many = len(table.ways())
    if quiet.shape != (many,) or quiet.dtype.kind not in "iu" or (quiet < 0).any():
        labels = [way.label or "everyone" for way in table.ways()[:12]]
        raise ParameterError(
            f"people is {people!r:.80}; give how many were silent for each of the {many} ways "
            f"to take part ({', '.join(labels)})"
        )
    if not table.sampled and quiet.any():
        raise ParameterError("nobody can be silent here: everyone reports")
    ways, numbers = silent_rows(quiet)
    columns = blank_columns(table.layout, numbers.size)
    if "silent" in columns:
        columns["silent"][:] = numbers
    if "way" in columns:
        columns["way"][:] = ways
    table.check(columns)
    return Reports(table.id, table.digest, columns)
