"""One wrapper for every way to take part: a table of levels, rates and mechanisms.

Report      the way (a level and a rate) in which someone took part, and a report of that level's
            mechanism; people who were asked and stay silent are counted, many in one row
Estimate    each level on its own (`participation.sample`), then `combine` over the levels
Guarantee   one promise per level, that of its mechanism: the collector sees who reported, so
            sampling amplifies nothing here (`sottovoce.accounting` has the cases where it does)

`Levels` and `Sampled` construct it. Nested in either order they have one normal form, one digest
and one default: ways run through the rates of the first level, then of the second, and so on.

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", section 3.2, for
the levels; Biswas, Cormode, Maple, "Impact of Sampling on Locally Differentially Private Data
Collection", for the rates.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate, Table
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.columns import Coded
from ..domain.values import code_dtype
from ..errors import ParameterError, WireError
from ..mechanisms.channel import Channel
from ..mechanisms.mechanism import Mechanism
from ..promise.guarantee import Guarantee
from ..randomness import Source, source_of
from .choices import EVERYONE, Level, way_codes
from .rates import MOST_CHOICES, coin
from .rows import (
    blank_columns,
    check_unused,
    inner_reports,
    pick_rows,
    put_rows,
    read_only,
    speaking_rows,
    widest_layout,
)

LEVEL_IS_PUBLIC = (
    "which level someone chose is public; it was chosen without regard to the answer, and what "
    "the choice itself reveals is not protected"
)
RATE_IS_PUBLIC = (
    "whether someone reports is drawn at a public rate that was set without regard to the answer; "
    "who reports is seen, so sampling adds no protection"
)
SILENCE = -1
_ELSEWHERE = -2  # a report of another way than was chosen
_MOST_SILENT = (1 << 16) - 1


class ParticipationReports(Mechanism):
    """The participants' and the collector's side of `Participation`."""

    levels: tuple[Level, ...]

    id = "participation"

    def __init__(self, levels: Sequence[Level], *, study: bytes | None = None) -> None:
        _check_levels(levels)
        for key, value in {
            "domain": levels[0].mechanism.domain,
            "epsilon": max(level.mechanism.epsilon for level in levels),
            "study": study,
            "levels": tuple(levels),
        }.items():
            object.__setattr__(self, key, value)
        self.validate()

    def __repr__(self) -> str:
        menu = ", ".join(
            f"{level.name!r}: {level.mechanism!r}"
            + ("" if level.rates == EVERYONE else f" at {list(level.rates)}")
            for level in self.levels
        )
        return f"Participation({{{menu}}})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParticipationReports):
            return NotImplemented
        return (self.digest, self.study) == (other.digest, other.study)

    def __hash__(self) -> int:
        return hash(self.digest)

    # --- what it is -----------------------------------------------------------------------------

    @property
    def menu(self) -> dict[str, Mechanism]:
        """The levels' mechanisms by name; empty where there is no menu."""
        return {one.name: one.mechanism for one in self.levels if one.name is not None}

    @property
    def rates(self) -> tuple[float, ...]:
        """Every rate that someone may have, in order."""
        return tuple(dict.fromkeys(rate for level in self.levels for rate in level.rates))

    @property
    def sampled(self) -> bool:
        """Whether anybody may be asked and stay silent."""
        return any(way.rate < 1 for way in self.ways())

    def strictest(self) -> Mechanism:
        """The mechanism of the level with the least epsilon, to be run by everyone instead."""
        return min((level.mechanism for level in self.levels), key=lambda m: m.epsilon)

    @cached_property
    def bound(self) -> tuple[Mechanism, ...]:
        """The levels' mechanisms, their reports bound to this collection."""
        return tuple(level.mechanism.bind(self.digest) for level in self.levels)

    def bind(self, study: bytes) -> Self:
        bound = object.__new__(type(self))
        ParticipationReports.__init__(bound, self.levels, study=study)
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.levels, self.study)

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "levels": [
                {
                    "name": level.name,
                    "mechanism": level.mechanism.id,
                    "parameters": level.mechanism.parameters,
                    "rates": [repr(rate) for rate in level.rates],
                }
                for level in self.levels
            ]
        }

    @cached_property
    def _ways(self) -> tuple[Way, ...]:
        ways: list[Way] = []
        for level, mechanism in zip(self.levels, self.bound, strict=True):
            guarantee = _promised(level)
            for rate in level.rates:
                ways.append(Way(len(ways), level.name, rate, mechanism, guarantee))
        return tuple(ways)

    @cached_property
    def way_mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanism of every way."""
        pairs = zip(self.bound, self.levels, strict=True)
        return tuple(mechanism for mechanism, level in pairs for _ in level.rates)

    @cached_property
    def way_rates(self) -> NDArray[np.float64]:
        """The rate of every way."""
        return np.array([way.rate for way in self.ways()])

    @cached_property
    def level_ways(self) -> tuple[slice, ...]:
        """The ways of each level."""
        ends = np.cumsum([len(level.rates) for level in self.levels]).tolist()
        return tuple(slice(a, b) for a, b in zip([0, *ends], ends, strict=False))

    @cached_property
    def guarantee(self) -> Guarantee:
        """One promise per level: who stays silent is seen, and depends on nothing private."""
        promises = []
        for level in self.levels:
            for promise in _promised(level).promises:
                unit = promise.unit
                if level.name is not None:
                    unit = f"{unit} who chose the level {level.name!r}"
                promises.append(replace(promise, unit=unit))
        return Guarantee(tuple(promises))

    @cached_property
    def _inner_layout(self) -> tuple[Column, ...]:
        return widest_layout(level.mechanism.layout for level in self.levels)

    @cached_property
    def layout(self) -> tuple[Column, ...]:
        way = (Column("way", code_dtype(len(self.ways())).str),) * (len(self.ways()) > 1)
        silent = (Column("silent", "<u2"),) * self.sampled
        return (*way, *silent, *self._inner_layout)

    @cached_property
    def classes(self) -> tuple[tuple[Mechanism, NDArray[np.intp]], ...]:
        """Levels that are counted in one pass: a mechanism, and the ways of its reports.

        The tables of an aggregate have a row for each of these ways.
        """
        keys: dict[Hashable, list[int]] = {}
        for k, mechanism in enumerate(self.bound):
            keys.setdefault(mechanism.counting_key, []).append(k)
        every = np.arange(len(self.ways()))
        return tuple(
            (self.bound[ks[0]], np.concatenate([every[self.level_ways[k]] for k in ks]))
            for ks in keys.values()
        )

    # --- the participants' side -----------------------------------------------------------------

    def randomise(
        self,
        answers: Any,
        *,
        way: Way | None = None,
        level: Any = None,
        rate: Any = None,
        source: Source | None = None,
    ) -> Reports:
        """Each participant's side: report as the level says with the own rate, or stay silent."""
        own_source = source_of(source)
        coded = self.domain.coded(answers)
        if way is None:
            ways = way_codes(self.levels, coded, level, rate)
        elif level is not None or rate is not None:
            raise ParameterError("way says level and rate; leave these out")
        else:
            ways = np.full(len(coded), self._at(way).index, code_dtype(len(self.ways())))
        columns = self._draw_ways(coded, ways, own_source)
        return Reports(self.id, self.digest, columns, own_source.seeded)

    def draw(self, answers: Any, source: Source) -> Columns:
        coded = self.domain.coded(answers)
        return self._draw_ways(coded, way_codes(self.levels, coded, None, None), source)

    def _draw_ways(self, coded: Coded, ways: NDArray[Any], source: Source) -> Columns:
        quiet = np.zeros(0, np.int64), np.zeros(0, np.int64)
        if self.sampled:
            asked = np.bincount(ways, minlength=len(self.ways()))
            speakers = np.flatnonzero(self._coins(ways, asked, source))
            coded, ways = coded.take(speakers), ways[speakers]
            quiet = silent_rows(asked - np.bincount(ways, minlength=len(self.ways())))
        many = len(coded)
        columns = blank_columns(self.layout, many + quiet[0].size)
        if "silent" in columns:
            columns["silent"][many:] = quiet[1]
        if "way" in columns:
            columns["way"][:many] = ways
            columns["way"][many:] = quiet[0]
        for mechanism, own in zip(self.bound, self.level_ways, strict=True):
            if len(self.levels) == 1:  # the codes of everyone, without a copy
                put_rows(columns, slice(0, many), mechanism.draw(coded, source))
                continue
            rows = np.flatnonzero((ways >= own.start) & (ways < own.stop))
            put_rows(columns, rows, mechanism.draw(coded.take(rows), source))
        return columns

    def _coins(
        self, ways: NDArray[Any], asked: NDArray[np.intp], source: Source
    ) -> NDArray[np.bool_]:
        """Who reports, one exact coin each."""
        order: Any = np.argsort(ways, kind="stable") if len(self.ways()) > 1 else slice(None)
        in_order = np.zeros(ways.size, bool)
        draws = source.draws()
        start = 0
        for way, n in zip(self.ways(), asked.tolist(), strict=True):
            if way.rate == 1:
                in_order[start : start + n] = True
            elif way.rate > 0 and n:
                bits = np.unpackbits(draws.coins(coin(way.rate), n), count=n, bitorder="little")
                in_order[start : start + n] = bits
            start += n
        coins = np.zeros(ways.size, bool)
        coins[order] = in_order
        return coins

    # --- the collector's side -------------------------------------------------------------------

    def aggregate(self, reports: Reports) -> Aggregate:
        """The collector's side: counts for each way, and how many were asked and reported."""
        self.accept(reports, Reports)
        tables = self.count(reports)
        people, sent = (int(tables[name].sum()) for name in ("asked", "reported"))
        return Aggregate(self.id, self.digest, tables, people, sent, reports.seeded)

    def count(self, reports: Reports) -> dict[str, NDArray[np.int64]]:
        columns, many = reports.columns, len(self.ways())
        way = columns.get("way", np.zeros(len(reports), np.uint8))
        if way.size and int(way.max()) >= many:
            self.check(columns)
        silent = columns.get("silent")
        rows, quiet = (
            (slice(None), np.zeros(0, np.intp)) if silent is None else speaking_rows(silent)
        )
        spoken = pick_rows(way, rows)
        reported = np.zeros(many, np.int64)
        tables: dict[str, NDArray[np.int64]] = {}
        for k, (mechanism, own) in enumerate(self.classes):
            if len(self.classes) == 1:
                part, cell = inner_reports(columns, rows, mechanism, reports.seeded), spoken
            else:
                place = np.full(many, -1)
                place[own] = np.arange(own.size)
                mine = np.flatnonzero(place[spoken] >= 0)
                every = np.arange(len(reports)) if silent is None else np.flatnonzero(silent == 0)
                part = inner_reports(columns, every[mine], mechanism, reports.seeded)
                cell = place[spoken[mine]].astype(code_dtype(own.size))
            counted, inner = mechanism.count_by(part, cell, own.size)
            reported[own] = counted
            tables |= {f"{k}/{name}": table for name, table in inner.items()}
        asked = reported.copy()
        if silent is not None:
            hushed = np.bincount(way[quiet], weights=silent[quiet], minlength=many)
            asked += hushed.astype(np.int64)
        return read_only({"asked": asked, "reported": reported, **tables})

    def turnout(self, aggregate: Aggregate) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return aggregate.dense("asked"), aggregate.dense("reported")

    def absent(self, people: Any) -> Reports:
        """The collector's note of people who were asked and sent nothing, one number per way."""
        quiet = np.atleast_1d(np.asarray(people))
        many = len(self.ways())
        if quiet.shape != (many,) or quiet.dtype.kind not in "iu" or (quiet < 0).any():
            labels = [way.label or "everyone" for way in self.ways()[:12]]
            raise ParameterError(
                f"people is {people!r:.80}; give how many were silent for each of the {many} ways "
                f"to take part ({', '.join(labels)})"
            )
        if not self.sampled and quiet.any():
            raise ParameterError("nobody can be silent here: everyone reports")
        ways, numbers = silent_rows(quiet)
        columns = blank_columns(self.layout, numbers.size)
        if "silent" in columns:
            columns["silent"][:] = numbers
        if "way" in columns:
            columns["way"][:] = ways
        self.check(columns)
        return Reports(self.id, self.digest, columns)

    def part(self, aggregate: Aggregate, way: Way) -> Aggregate:
        """The counts of one way, as its own mechanism has them."""
        return self._part(aggregate, [self._at(way).index])

    def level_part(self, aggregate: Aggregate, level: str) -> Aggregate:
        """The counts of the reports of one level, whatever their rates."""
        for one, own in zip(self.levels, self.level_ways, strict=True):
            if one.name == level:
                return self._part(aggregate, list(range(own.start, own.stop)))
        raise ParameterError(f"there is no level {level!r}; there are {list(self.menu)}")

    def _part(self, aggregate: Aggregate, ways: list[int]) -> Aggregate:
        mechanism = self.way_mechanisms[ways[0]]
        k, rows = self.place(ways)
        tables: dict[str, Table] = {
            name.partition("/")[2]: aggregate.dense(name)[rows].sum(axis=0)
            for name in aggregate.tables
            if name.startswith(f"{k}/")
        }
        n = int(aggregate.dense("reported")[ways].sum())
        return Aggregate(mechanism.id, mechanism.digest, tables, n, n, aggregate.seeded)

    def place(self, ways: Sequence[int]) -> tuple[int, NDArray[np.intp]]:
        """Where ways of one level stand: the number of their tables, and rows of these."""
        for k, (_, own) in enumerate(self.classes):
            rows = np.searchsorted(own, ways)
            if ways[0] in own:
                return k, rows
        raise ParameterError(f"there is no way {ways}")

    # --- what no participant can have sent ------------------------------------------------------

    def check(self, columns: Columns) -> None:
        first = next(iter(columns.values()))
        way = columns.get("way", np.zeros(len(first), np.uint8))
        if way.size and int(way.max()) >= len(self.ways()):
            raise WireError(
                f"a report names way {int(way.max())}; there are {len(self.ways())}, counted from 0"
            )
        silent = columns.get("silent")
        if silent is not None:
            rows, quiet = speaking_rows(silent)
            never = (self.way_rates[pick_rows(way, rows)] == 0).any()
            if never or (self.way_rates[way[quiet]] == 1).any():
                raise WireError("someone is silent at rate 1, or reports at rate 0")
            for column in self._inner_layout:
                if columns[column.name][quiet].any():
                    raise WireError(f"people who are silent have content in {column.name!r}")
        for mechanism, own in self.classes:
            mine: Any = slice(None) if silent is None else rows
            if len(self.classes) > 1:
                speaks = np.isin(way, own)
                mine = np.flatnonzero(speaks if silent is None else speaks & (silent == 0))
            check_unused(columns, mine, mechanism.layout, self._inner_layout)
            mechanism.check(inner_reports(columns, mine, mechanism, seeded=False).columns)

    def check_aggregate(self, aggregate: Aggregate) -> None:
        if aggregate.route is not None:
            raise WireError("counts of levels or rates do not come by way of a protocol")
        if any(not isinstance(table, np.ndarray) for table in aggregate.tables.values()):
            raise WireError("counts of levels or rates are dense tables")
        tables = {name: np.asarray(table) for name, table in aggregate.tables.items()}
        asked, reported = (tables.get(name) for name in ("asked", "reported"))
        rates = self.way_rates
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
        for name, table in tables.items():
            if name in ("asked", "reported"):
                continue
            k, slash, _ = name.partition("/")
            if not slash or k not in map(str, range(len(self.classes))):
                raise WireError(f"the aggregate has a table {name!r} of no level")
            if len(table) != self.classes[int(k)][1].size:
                raise WireError(f"the table {name!r} has {len(table)} rows; one per way is needed")
        for way in self.ways():
            self.way_mechanisms[way.index].check_aggregate(self._part(aggregate, [way.index]))

    # --- what audits and laws need --------------------------------------------------------------

    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        """Reports of the way that most of them name, silence, and reports of other ways."""
        columns = reports.columns
        silent = columns.get("silent", np.zeros(len(reports), np.uint16)).astype(np.int64)
        way = columns.get("way", np.zeros(len(reports), np.uint8)).astype(np.int64)
        people = np.maximum(silent, 1)
        main = int(np.bincount(way, weights=people, minlength=1).argmax()) if way.size else 0
        mine = way == main
        mechanism = self.way_mechanisms[main]
        spoken = inner_reports(
            columns, np.flatnonzero(mine & (silent == 0)), mechanism, reports.seeded
        )
        seen = np.asarray(mechanism.outcomes(spoken, x, y)).astype(np.int64)
        quiet = np.full(int(silent[mine].sum()), SILENCE)
        strange = np.repeat(_ELSEWHERE - way[~mine], people[~mine])
        marks = np.concatenate([quiet, strange])
        wide = np.repeat(marks[:, None], seen.shape[1], axis=1) if seen.ndim == 2 else marks
        return np.concatenate([seen, wide])

    def _at(self, way: Way | None) -> Way:
        if way is None:
            return self.ways()[0]
        mine = self.ways()[way.index] if 0 <= way.index < len(self.ways()) else None
        if mine is None or (mine.level, mine.rate) != (way.level, way.rate):
            raise ParameterError(f"{way.label or 'this way'} is no way to take part here")
        return mine

    def tiny(self) -> Self:
        small = [
            replace(level, mechanism=level.mechanism.tiny(), rates=level.rates[:3])
            for level in self.levels[:3]
        ]
        made = object.__new__(type(self))
        ParticipationReports.__init__(made, small)
        return made

    def every_report(self, way: Way | None = None) -> Reports:
        """All reports of one way, by default the first; silence last."""
        own = self._at(way)
        mechanism = self.way_mechanisms[own.index]
        inner = mechanism.every_report().columns if own.rate > 0 else {}
        spoken = len(next(iter(inner.values()))) if inner else 0
        columns = blank_columns(self.layout, spoken + (own.rate < 1))
        put_rows(columns, slice(0, spoken), inner)
        if own.rate < 1:
            columns["silent"][spoken:] = 1
        if "way" in columns:
            columns["way"][:] = own.index
        return Reports(self.id, self.digest, columns)

    def channel(self, way: Way | None = None) -> Channel:
        """The law of a report or silence given the answer and the public way."""
        own = self._at(way)
        law = self.way_mechanisms[own.index].channel()
        rate = Fraction(own.rate)
        rows = []
        for row in law.exact:
            spoken = tuple(rate * cell for cell in row) if rate > 0 else ()
            rows.append((*spoken, *((1 - rate,) if rate < 1 else ())))
        outputs = [*law.outputs] * (rate > 0) + ["silent"] * (rate < 1)
        return Channel(law.inputs, outputs, tuple(rows))


def silent_rows(quiet: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(ways, numbers of people) of the rows that stand for so many silent people of each way."""
    ways, numbers = [], []
    for way, n in enumerate(quiet.tolist()):
        full, rest = divmod(n, _MOST_SILENT)
        numbers += [_MOST_SILENT] * full + [rest] * (rest > 0)
        ways += [way] * (full + (rest > 0))
    return np.array(ways, np.int64), np.array(numbers, np.int64)


def _promised(level: Level) -> Guarantee:
    """What is promised to people of one level, without its name."""
    public = (LEVEL_IS_PUBLIC,) * (level.name is not None)
    public += (RATE_IS_PUBLIC,) * (level.rates != EVERYONE)
    return Guarantee(
        tuple(
            replace(promise, assuming=(*promise.assuming, *public))
            for promise in level.mechanism.guarantee.promises
        )
    )


def _rebuild(kind: type[ParticipationReports], levels: Any, study: Any) -> ParticipationReports:
    made = object.__new__(kind)
    ParticipationReports.__init__(made, levels, study=study)
    return made


def _check_levels(levels: Sequence[Level]) -> None:
    if not 1 <= len(levels) <= MOST_CHOICES:
        raise ParameterError(f"{len(levels)} levels; between 1 and {MOST_CHOICES} are allowed")
    many = sum(len(level.rates) for level in levels)
    if many > 1 << 16:
        raise ParameterError(f"{many:,} combinations of level and rate; at most {1 << 16:,}")
    first = levels[0].mechanism
    for level in levels:
        mechanism = level.mechanism
        if all(method.biased for method in mechanism.methods.values()):
            raise ParameterError(
                f"{mechanism.id!r} has no unbiased estimate with these parameters, so it cannot be "
                "one of several levels or sampled; use variant 'optimal'"
            )
        if mechanism.domain != first.domain:
            raise ParameterError(
                f"level {level.name!r} is over {mechanism.domain!r}, the first one over "
                f"{first.domain!r}; all levels answer the same question"
            )
