"""Counts of the reports of several ways to take part, a row of a table for each way.

Levels of one class share a table. Several classes are tallied in one pass where their reports look
alike, and their tables are then cut out of a common one: reports of other passes must be picked
out, which takes longer than counting them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..contract.reports import Reports
from ..domain.values import code_dtype
from ..mechanisms.linear import LinearMechanism, tally_together
from ..mechanisms.mechanism import Counted, Mechanism
from .reports import inner_reports, pick_rows, speaking_rows

if TYPE_CHECKING:
    from .participation import Participation

_MOST_ROOM = 4  # times the cells of a table that a common one may take

Counts = NDArray[np.int64]


def count_reports(table: Participation, reports: Reports) -> dict[str, Counts]:
    """How many were asked and reported for each way, and the counts of their reports."""
    columns, many = reports.columns, len(table.ways())
    way = columns.get("way", np.zeros(len(reports), np.uint8))
    if way.size and int(way.max()) >= many:
        table.check(columns)
    silent = columns.get("silent")
    rows, quiet = (slice(None), np.zeros(0, np.intp)) if silent is None else speaking_rows(silent)
    reported = np.zeros(many, np.int64)
    tables: dict[str, Counts] = {}
    for classes, positions, row, ways in _divide(table, way, rows):
        widest = table.classes[classes[0]][0]
        inner = inner_reports(columns, positions, widest, reports.seeded)
        counted = _tally(table, classes, inner, row, ways)
        for k, (people, own) in zip(classes, counted, strict=True):
            reported[table.classes[k][1]] = people
            tables |= {f"{k}/{name}": cells for name, cells in own.items()}
    asked = reported.copy()
    if silent is not None:
        hushed = np.bincount(way[quiet], weights=silent[quiet], minlength=many)
        asked += hushed.astype(np.int64)
    ordered = sorted(tables.items(), key=lambda item: int(item[0].partition("/")[0]))
    return _read_only({"asked": asked, "reported": reported, **dict(ordered)})


def passes_of(mechanisms: Sequence[Mechanism]) -> list[list[int]]:
    """Which classes are tallied in one pass, that with the most cells first."""
    passes: list[list[int]] = []
    keys: dict[Hashable, list[int]] = {}
    for k, mechanism in enumerate(mechanisms):
        if mechanism.tally_key is None:
            passes.append([k])
        else:
            keys.setdefault(mechanism.tally_key, []).append(k)
    for alike in keys.values():
        cells = {k: cast(LinearMechanism, mechanisms[k]).cells for k in alike}
        widest = 0
        for k in sorted(alike, key=lambda k: -cells[k]):
            if cells[k] * _MOST_ROOM < widest or not widest:
                passes.append([])
                widest = cells[k]
            passes[-1].append(k)
    return passes


def _divide(
    table: Participation, way: NDArray[Any], rows: Any
) -> Iterator[tuple[Sequence[int], Any, NDArray[Any], NDArray[np.intp]]]:
    """Of every pass: its classes, where its reports are, the way of each, and all its ways."""
    spoken, ways = pick_rows(way, rows), np.arange(len(table.ways()))
    passes = passes_of([mechanism for mechanism, _ in table.classes])
    if len(passes) == 1:
        yield passes[0], rows, spoken, ways
        return
    place = np.zeros(ways.size, code_dtype(ways.size))  # of a way among those of its pass
    kinds = np.zeros(ways.size, code_dtype(len(passes)))
    own = [np.sort(np.concatenate([table.classes[k][1] for k in classes])) for classes in passes]
    for number, some in enumerate(own):
        place[some], kinds[some] = np.arange(some.size), number
    kind, spoken = kinds.take(spoken), place.take(spoken)
    first = isinstance(rows, slice) and not rows.start  # where positions are those of rows
    every = None if first else pick_rows(np.arange(way.size), rows)
    for number, classes in enumerate(passes):
        mine = np.flatnonzero(kind == number)
        yield classes, mine if every is None else every.take(mine), spoken.take(mine), own[number]


def _tally(
    table: Participation,
    classes: Sequence[int],
    reports: Reports,
    row: NDArray[Any],
    ways: NDArray[np.intp],
) -> list[Counted]:
    """People and counts of each class of a pass."""
    if len(classes) == 1:
        return [table.classes[classes[0]][0].count_by(reports, row, ways.size)]
    parts = [
        (cast(LinearMechanism, mechanism), np.searchsorted(ways, own))
        for mechanism, own in (table.classes[k] for k in classes)
    ]
    return tally_together(parts, reports, row)


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


def _read_only(tables: Mapping[str, Counts]) -> dict[str, Counts]:
    """Tables without other references, so that an aggregate need not copy them."""
    for table in tables.values():
        table.flags.writeable = False
    return dict(tables)
