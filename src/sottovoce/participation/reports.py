"""Reports of several ways to take part, in rows: drawn, counted, checked, and their exact law."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.columns import Coded
from ..errors import ParameterError, WireError
from ..mechanisms.channel import Channel
from ..mechanisms.mechanism import Mechanism
from ..randomness import Draws, Source
from .rates import coin

if TYPE_CHECKING:
    from .participation import Participation

_MOST_RUNS = 64
_MOST_SILENT = (1 << 16) - 1
SILENCE = -1
_ELSEWHERE = -2  # a report of another way than was chosen


def widest_layout(layouts: Iterable[Sequence[Column]]) -> tuple[Column, ...]:
    """Columns wide enough for the reports of several mechanisms."""
    widest: dict[str, Column] = {}
    for layout in layouts:
        for column in layout:
            old = widest.get(column.name, column)
            dtype = np.promote_types(old.dtype, column.dtype).newbyteorder("<").str
            widest[column.name] = Column(column.name, dtype, max(old.width, column.width))
    return tuple(widest.values())


def blank_columns(layout: Sequence[Column], n: int) -> dict[str, NDArray[Any]]:
    """Columns of zeros."""
    return {column.name: np.zeros(column.shape(n), column.dtype) for column in layout}


def put_rows(into: Columns, rows: Any, columns: Columns) -> None:
    """Write narrower columns into some rows of wider ones."""
    for name, column in columns.items():
        if column.ndim == 1:
            into[name][rows] = column
        else:
            into[name][rows, : column.shape[1]] = column


def pick_rows(column: NDArray[Any], rows: Any) -> NDArray[Any]:
    """Some rows of a column: a slice, several slices, or positions."""
    if isinstance(rows, list):
        return np.concatenate([column[run] for run in rows])
    # Positions are taken five times as fast as by an index where rows are wide.
    some: NDArray[Any] = column[rows] if isinstance(rows, slice) else column.take(rows, axis=0)
    return some


def inner_reports(columns: Columns, rows: Any, mechanism: Mechanism, seeded: bool) -> Reports:
    """The reports of one mechanism, read back from some rows of wider columns."""
    own = {}
    for column in mechanism.layout:
        values = pick_rows(columns[column.name], rows)
        if column.width and values.shape[1] != column.width:
            values = np.ascontiguousarray(values[:, : column.width])
        own[column.name] = values.astype(column.dtype, copy=False)
    return Reports(mechanism.id, mechanism.digest, own, seeded)


def check_unused(
    columns: Columns, rows: Any, layout: Sequence[Column], wide: Sequence[Column]
) -> None:
    """Refuse content where a narrower report has none."""
    own = {column.name: column for column in layout}
    for column in wide:
        values = pick_rows(columns[column.name], rows)
        mine = own.get(column.name)
        if mine is None:
            spare = values
        elif column.width:
            spare = values[:, mine.width :]
        else:
            spare = values > np.iinfo(mine.dtype).max
        if np.any(spare):
            raise WireError(f"a report has content in {column.name!r} that its kind does not use")


def speaking_rows(silent: NDArray[Any]) -> tuple[Any, NDArray[np.intp]]:
    """The rows that are reports, for `pick_rows`, and the places of those that stand for silence.

    Silence stands in few rows, and `randomise` puts them together: then reports are runs of rows.
    """
    quiet = silent != 0
    places = np.flatnonzero(quiet)
    if not places.size or places[0] == silent.size - places.size:
        return slice(0, silent.size - places.size), places
    if places.size > _MOST_RUNS * 1024:
        return np.flatnonzero(~quiet), places
    starts, stops = np.append(0, places + 1), np.append(places, silent.size)
    some = stops > starts
    runs = [slice(*run) for run in zip(starts[some].tolist(), stops[some].tolist(), strict=True)]
    if len(runs) > _MOST_RUNS:
        return np.flatnonzero(~quiet), places
    return (runs[0] if runs else slice(0)) if len(runs) < 2 else runs, places


# --- the participants' side: who reports, and what they send -------------------------------------


def draw_ways(table: Participation, coded: Coded, ways: NDArray[Any], source: Source) -> Columns:
    """Reports of everyone who answered, given the positions of their ways."""
    quiet = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if table.sampled:
        everyone = len(table.ways())
        asked = np.bincount(ways, minlength=everyone)
        flips = source.over_ranges(
            lambda draws, people: _coins(table, ways[people], draws),
            ways.size,
            work=100 * ways.size,
        )
        speakers = np.flatnonzero(np.concatenate(flips))
        coded, ways = coded.take(speakers), ways[speakers]
        quiet = silent_rows(asked - np.bincount(ways, minlength=everyone))
    many = len(coded)
    columns = blank_columns(table.layout, many + quiet[0].size)
    if "silent" in columns:
        columns["silent"][many:] = quiet[1]
    if "way" in columns:
        columns["way"][:many] = ways
        columns["way"][many:] = quiet[0]

    def some(_: Draws, people: slice) -> None:
        for mechanism, own in zip(table.bound, table.level_ways, strict=True):
            rows: Any = people  # where there is one level: everyone, without a copy
            if len(table.levels) > 1:
                chosen = (ways[people] >= own.start) & (ways[people] < own.stop)
                rows = people.start + np.flatnonzero(chosen)
            put_rows(columns, rows, mechanism.draw(coded.take(rows), source))

    source.over_ranges(some, many, work=20 * sum(column.nbytes for column in columns.values()))
    return columns


def _coins(table: Participation, ways: NDArray[Any], draws: Draws) -> NDArray[np.bool_]:
    """Who reports, by one exact coin flip each."""
    order: Any = np.argsort(ways, kind="stable") if len(table.ways()) > 1 else slice(None)
    asked = np.bincount(ways, minlength=len(table.ways()))
    in_order = np.zeros(ways.size, bool)
    start = 0
    for way, n in zip(table.ways(), asked.tolist(), strict=True):
        if way.rate == 1:
            in_order[start : start + n] = True
        elif way.rate > 0 and n:
            bits = np.unpackbits(draws.coins(coin(way.rate), n), count=n, bitorder="little")
            in_order[start : start + n] = bits
        start += n
    coins = np.zeros(ways.size, bool)
    coins[order] = in_order
    return coins


def silent_rows(quiet: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(ways, numbers of people) of the rows that stand for so many silent people of each way."""
    ways, numbers = [], []
    for way, n in enumerate(quiet.tolist()):
        full, rest = divmod(n, _MOST_SILENT)
        numbers += [_MOST_SILENT] * full + [rest] * (rest > 0)
        ways += [way] * (full + (rest > 0))
    return np.array(ways, np.int64), np.array(numbers, np.int64)


# --- the collector's side: what nobody can have sent ----------------------------------------------


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


# --- the law of one way, and what its reports reveal: for audits and laws ------------------------


def outcomes(table: Participation, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
    """Reports of the way that most of them name, silence, and reports of other ways."""
    columns = reports.columns
    silent = columns.get("silent", np.zeros(len(reports), np.uint16)).astype(np.int64)
    way = columns.get("way", np.zeros(len(reports), np.uint8)).astype(np.int64)
    people = np.maximum(silent, 1)
    main = int(np.bincount(way, weights=people, minlength=1).argmax()) if way.size else 0
    mine = way == main
    mechanism = table.way_mechanisms[main]
    spoken = inner_reports(columns, np.flatnonzero(mine & (silent == 0)), mechanism, reports.seeded)
    seen = np.asarray(mechanism.outcomes(spoken, x, y)).astype(np.int64)
    if len(table.ways()) > 1:  # the way that most of them name is visible as well
        seen = np.column_stack([seen, np.full(len(seen), main)])
    quiet = np.full(int(silent[mine].sum()), SILENCE)
    strange = np.repeat(_ELSEWHERE - way[~mine], people[~mine])
    marks = np.concatenate([quiet, strange])
    wide = np.repeat(marks[:, None], seen.shape[1], axis=1) if seen.ndim == 2 else marks
    return np.concatenate([seen, wide])


def every_report(table: Participation, way: Way) -> Reports:
    """All reports of one way; silence last."""
    mechanism = table.way_mechanisms[way.index]
    inner = mechanism.every_report().columns if way.rate > 0 else {}
    spoken = len(next(iter(inner.values()))) if inner else 0
    columns = blank_columns(table.layout, spoken + (way.rate < 1))
    put_rows(columns, slice(0, spoken), inner)
    if way.rate < 1:
        columns["silent"][spoken:] = 1
    if "way" in columns:
        columns["way"][:] = way.index
    return Reports(table.id, table.digest, columns)


def channel(table: Participation, way: Way) -> Channel:
    """The law of a report or silence given the answer and the public way."""
    law = table.way_mechanisms[way.index].channel()
    rate = Fraction(way.rate)
    rows = []
    for row in law.exact:
        spoken = tuple(rate * cell for cell in row) if rate > 0 else ()
        rows.append((*spoken, *((1 - rate,) if rate < 1 else ())))
    outputs = [*law.outputs] * (rate > 0) + ["silent"] * (rate < 1)
    return Channel(law.inputs, outputs, tuple(rows))
