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

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contract.aggregate import Aggregate, Table
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.values import code_dtype
from ..errors import ParameterError
from ..estimate.estimate import Estimate
from ..estimate.intervals import Floats
from ..mechanisms.channel import Channel
from ..mechanisms.mechanism import Mechanism, Method
from ..promise import Guarantee
from ..promise.assumptions import LEVEL_IS_PUBLIC, RATE_IS_PUBLIC
from ..randomness import Source, source_of
from . import estimating
from .choices import EVERYONE, Level, way_codes
from .counting import check_counts, check_reports, count_people, count_reports
from .drawing import draw_ways, silent_rows
from .rates import MOST_CHOICES
from .rows import blank_columns, inner_reports, put_rows, widest_layout

SILENCE = -1
_ELSEWHERE = -2  # a report of another way than was chosen

P = TypeVar("P", bound="Participation")


class Participation(Mechanism):
    """A table of ways to take part: levels of privacy, rates, and their mechanisms.

    `Levels` and `Sampled` construct it; see there.
    """

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
        if not isinstance(other, Participation):
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
    def words(self) -> str:
        plain = self.levels[0].mechanism.words
        if self.menu:
            epsilons = sorted(mechanism.epsilon for mechanism in self.menu.values())
            kinds = " or ".join(dict.fromkeys(level.mechanism.id for level in self.levels))
            plain = f"{kinds} at 1 level, epsilon = {epsilons[0]:g}"
            if len(epsilons) > 1:
                spread = f"epsilon {epsilons[0]:g} to {epsilons[-1]:g}"
                plain = f"{kinds} at {len(epsilons)} levels, {spread}"
        if not self.sampled:
            return plain
        least, most, many = min(self.rates), max(self.rates), len(self.rates)
        return f"{plain}, " + (
            f"rate {most:g}" if many == 1 else f"{many} rates from {least:g} to {most:g}"
        )

    def entries(self) -> dict[str, Any]:
        first = self.levels[0]
        if first.name is None:
            return {**first.mechanism.entries(), **_rate_entry(first.rates)}
        own = len({level.rates for level in self.levels}) > 1
        menu = {
            level.name: {
                **level.mechanism.entries(),
                **(_rate_entry(level.rates) if own and level.rates != EVERYONE else {}),
            }
            for level in self.levels
        }
        common = {} if own or first.rates == EVERYONE else _rate_entry(first.rates)
        return {**_menu_entries(menu), **common}

    def strictest(self) -> Mechanism:
        """The mechanism of the level with the lowest epsilon, for everyone to use instead."""
        return min((level.mechanism for level in self.levels), key=lambda m: m.epsilon)

    @cached_property
    def bound(self) -> tuple[Mechanism, ...]:
        """The levels' mechanisms, their reports bound to this collection."""
        return tuple(level.mechanism.bind(self.digest) for level in self.levels)

    def bind(self, study: bytes) -> Self:
        return self._rebuilt(self.levels, study)

    def _rebuilt(self, levels: Sequence[Level], study: bytes | None) -> Self:
        return _rebuild(type(self), levels, study)

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
        """One promise per level: who stays silent is visible, and depends on nothing private."""
        promises = []
        for level in self.levels:
            for promise in _promised(level).promises:
                unit = promise.unit if level.name is None else promise.unit.at_level(level.name)
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

        The tables of an aggregate have one row per way.
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
        """Each participant's side: report at their own level and rate, or stay silent."""
        own_source = source_of(source)
        coded = self.domain.coded(answers)
        if way is None:
            ways = way_codes(self.levels, coded, level, rate)
        elif level is not None or rate is not None:
            raise ParameterError("way already sets level and rate; leave these out")
        else:
            ways = np.full(len(coded), self._at(way).index, code_dtype(len(self.ways())))
        columns = draw_ways(self, coded, ways, own_source)
        return Reports(self.id, self.digest, columns, own_source.seeded)

    def draw(self, answers: Any, source: Source) -> Columns:
        coded = self.domain.coded(answers)
        return draw_ways(self, coded, way_codes(self.levels, coded, None, None), source)

    # --- the collector's side -------------------------------------------------------------------

    def aggregate(self, reports: Reports) -> Aggregate:
        """The collector's side: counts for each way, and how many were asked and reported."""
        self.accept(reports, Reports)
        tables = count_reports(self, reports)
        people, sent = (int(tables[name].sum()) for name in ("asked", "reported"))
        return Aggregate(self.id, self.digest, tables, people, sent, reports.seeded)

    def count(self, reports: Reports) -> Mapping[str, NDArray[np.int64]]:
        return count_reports(self, reports)

    def check(self, columns: Columns) -> None:
        check_reports(self, columns)

    def check_aggregate(self, aggregate: Aggregate) -> None:
        check_counts(self, aggregate)

    def headcount(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return count_people(self, reports)

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
        return self.part_of(aggregate, [self._at(way).index])

    def level_part(self, aggregate: Aggregate, level: str) -> Aggregate:
        """The counts of the reports of one level, whatever their rates."""
        for one, own in zip(self.levels, self.level_ways, strict=True):
            if one.name == level:
                return self.part_of(aggregate, list(range(own.start, own.stop)))
        raise ParameterError(f"there is no level {level!r}; there are {list(self.menu)}")

    def part_of(self, aggregate: Aggregate, ways: list[int]) -> Aggregate:
        """The counts of some ways of one level."""
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

    # --- the analyst's side ---------------------------------------------------------------------

    @cached_property
    def methods(self) -> Mapping[str, Method]:
        """Weightings of the levels, and estimators over the rates of each level."""
        weightings, rates = estimating.weightings(self), estimating.rate_estimators(self)
        return {**weightings, **{n: m for n, m in rates.items() if n not in weightings}}

    def estimate(
        self, aggregate: Aggregate, *, method: str | None = None, within: str | None = None
    ) -> Estimate:
        """The analyst's side: the levels' estimates, combined.

        Parameters
        ----------
        method : str, optional
            One of `methods`. Where there are levels and rates, the name of a weighting of the
            levels, or of an estimator over the rates of each of them.
        within : str, optional
            The estimator over the rates of each level, where `method` is a weighting.
        """
        self.accept(aggregate, Aggregate)
        return estimating.estimate(self, aggregate, method, within)

    def estimates(self, aggregate: Aggregate) -> dict[str, Estimate]:
        self.accept(aggregate, Aggregate)
        return estimating.level_estimates(self, aggregate, None)

    def variance(self, frequencies: ArrayLike, n: Any, *, method: str | None = None) -> Floats:
        """Variance of each estimated fraction when the data are fixed, where there is no menu.

        Parameters
        ----------
        frequencies : array-like
            True fractions, or one row of them per rate.
        n : int or array-like
            People, or people at each rate.
        """
        return estimating.fixed_variance(self, frequencies, n, method)

    def covariance(self, frequencies: ArrayLike, n: Any, *, method: str | None = None) -> Floats:
        """Covariance matrix of the estimated fractions when the data are fixed."""
        return estimating.fixed_covariance(self, frequencies, n, method)

    def variance_of(self, answers: Any, *, rate: Any = None, method: str | None = None) -> Floats:
        """The same for particular answers or numbers. For tests and plans, on public data."""
        return estimating.variance_of(self, answers, rate, method)

    def total_variance(self, n: Any = 1) -> float:
        """Sum over the values of the variance by inverse rates, for equal fractions."""
        size = self.domain.size
        return float(self.variance(np.full(size, 1 / size), n, method="horvitz-thompson").sum())

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
        if len(self.ways()) > 1:  # the way that most of them name is visible as well
            seen = np.column_stack([seen, np.full(len(seen), main)])
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
            raise ParameterError(f"{way.label or 'this way'} is not a way to take part here")
        return mine

    def tiny(self) -> Self:
        small = [
            replace(level, mechanism=level.mechanism.tiny(), rates=level.rates[:3])
            for level in self.levels[:3]
        ]
        return self._rebuilt(small, None)

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


def _rate_entry(rates: tuple[float, ...]) -> dict[str, Any]:
    """What a study file says about rates."""
    return {"rate": rates[0] if len(rates) == 1 else list(rates)}


def _menu_entries(menu: Mapping[str | None, dict[str, Any]]) -> dict[str, Any]:
    """What a study file says about a menu; what all levels have in common is stated once."""
    first, *others = menu.values()
    common = {
        key: value
        for key, value in first.items()
        if key not in ("epsilon", "rate") and all(o.get(key) == value for o in others)
    }
    if "mechanism" not in common:
        common = {}  # extras of one mechanism mean nothing to another
    own = {name: {k: v for k, v in e.items() if k not in common} for name, e in menu.items()}
    short = {name: e["epsilon"] if e.keys() == {"epsilon"} else e for name, e in own.items()}
    return {**common, "levels": short}


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


def _rebuild(kind: type[P], levels: Sequence[Level], study: bytes | None) -> P:
    """An instance of either constructor, from the normal form."""
    participation = object.__new__(kind)
    Participation.__init__(participation, levels, study=study)
    return participation


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
