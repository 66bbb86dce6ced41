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
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contract.aggregate import Aggregate, Table
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.ranges import Range
from ..domain.values import code_dtype
from ..errors import ParameterError
from ..estimate.estimate import Estimate
from ..estimate.intervals import Floats
from ..mechanisms.channel import Channel
from ..mechanisms.mechanism import Mechanism, Method
from ..promise import Guarantee
from ..randomness import Source, source_of
from . import counting, estimating
from . import reports as rows
from .menu import Level, check_levels, entries_of, words_of
from .rates import EVERYONE, way_codes
from .strata import covariance, variance

P = TypeVar("P", bound="Participation")


class Participation(Mechanism):
    """A table of ways to take part: levels of privacy, rates, and their mechanisms.

    `Levels` and `Sampled` construct it; see there.
    """

    levels: tuple[Level, ...]

    id = "participation"

    def __init__(self, levels: Sequence[Level], *, study: bytes | None = None) -> None:
        check_levels(levels)
        for key, value in {
            "domain": levels[0].mechanism.domain,
            "epsilon": max(level.mechanism.epsilon for level in levels),
            "study": study,
            "levels": tuple(levels),
        }.items():
            object.__setattr__(self, key, value)
        self.validate()

    def __repr__(self) -> str:
        def sampled(level: Level) -> str:
            if level.rates == EVERYONE:
                return repr(level.mechanism)
            rate = list(level.rates) if len(level.rates) > 1 else level.rates[0]
            return f"Sampled({level.mechanism!r}, rate={rate})"

        menu = [f"{level.name!r}: {sampled(level)}" for level in self.levels if level.name]
        return f"Levels({{{', '.join(menu)}}})" if menu else sampled(self.levels[0])

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
        # The levels' estimates are combined, and only means of numbers can be.
        return words_of(self.levels) + ", mean only" * isinstance(self.domain, Range)

    def entries(self) -> dict[str, Any]:
        return entries_of(self.levels)

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
        return {"levels": [level.canonical() for level in self.levels]}

    @cached_property
    def _ways(self) -> tuple[Way, ...]:
        ways: list[Way] = []
        for level, mechanism in zip(self.levels, self.bound, strict=True):
            for rate in level.rates:
                ways.append(Way(len(ways), level.name, rate, mechanism, level.guarantee))
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
            for promise in level.guarantee.promises:
                unit = promise.unit if level.name is None else promise.unit.at_level(level.name)
                promises.append(replace(promise, unit=unit))
        return Guarantee(tuple(promises))

    @cached_property
    def _inner_layout(self) -> tuple[Column, ...]:
        return rows.widest_layout(level.mechanism.layout for level in self.levels)

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
        columns = rows.draw_ways(self, coded, ways, own_source)
        return Reports(self.id, self.digest, columns, own_source.seeded)

    def draw(self, answers: Any, source: Source) -> Columns:
        coded = self.domain.coded(answers)
        return rows.draw_ways(self, coded, way_codes(self.levels, coded, None, None), source)

    # --- the collector's side -------------------------------------------------------------------

    def _aggregate(self, reports: Reports) -> Aggregate:
        """Counts for each way, and how many were asked and reported."""
        tables = counting.count_reports(self, reports)
        people, sent = (int(tables[name].sum()) for name in ("asked", "reported"))
        return Aggregate(self.id, self.digest, tables, people, sent, reports.seeded)

    def restricted(self, candidates: NDArray[np.int64] | None) -> Self:
        if candidates is None:
            return self
        levels = [
            replace(level, mechanism=level.mechanism.restricted(candidates))
            for level in self.levels
        ]
        view = self._rebuilt(levels, self.study)
        object.__setattr__(view, "candidates", candidates)
        return view

    @property
    def counted_by(self) -> frozenset[str]:
        return frozenset().union(*(level.mechanism.counted_by for level in self.levels))

    def count(self, reports: Reports) -> Mapping[str, NDArray[np.int64]]:
        return counting.count_reports(self, reports)

    def check(self, columns: Columns) -> None:
        rows.check_reports(self, columns)

    def check_aggregate(self, aggregate: Aggregate) -> None:
        rows.check_counts(self.restricted(aggregate.candidates), aggregate)

    def headcount(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return counting.count_people(self, reports)

    def turnout(self, aggregate: Aggregate) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return aggregate.dense("asked"), aggregate.dense("reported")

    def absent(self, people: Any) -> Reports:
        """The collector's note of people who were asked and sent nothing, one number per way."""
        return rows.absent_rows(self, people)

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
        about = (aggregate.seeded, None, aggregate.candidates)
        return Aggregate(mechanism.id, mechanism.digest, tables, n, n, *about)

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
        view = self.restricted(aggregate.candidates)
        return self._of_kind(estimating.estimate(view, aggregate, method, within))

    def estimates(self, aggregate: Aggregate) -> dict[str, Estimate]:
        self.accept(aggregate, Aggregate)
        view = self.restricted(aggregate.candidates)
        parts = estimating.level_estimates(view, aggregate, None)
        return {name: self._of_kind(part) for name, part in parts.items()}

    def _of_kind(self, estimate: Estimate) -> Estimate:
        """Of sets of options: who chose two of them together is not known, so no covariance."""
        if self.domain.exclusive:
            return estimate
        raw = estimate.raw and self._of_kind(estimate.raw)
        return replace(estimate, exclusive=False, raw=raw, _covariance=None)

    def variance(self, frequencies: ArrayLike, n: Any, *, method: str | None = None) -> Floats:
        """Variance of each estimated fraction when the data are fixed, where there is no menu.

        Parameters
        ----------
        frequencies : array-like
            True fractions, or one row of them per rate.
        n : int or array-like
            People, or people at each rate.
        """
        return variance(*estimating.strata_of_fractions(self, frequencies, n, method))

    def covariance(self, frequencies: ArrayLike, n: Any, *, method: str | None = None) -> Floats:
        """Covariance matrix of the estimated fractions when the data are fixed."""
        return covariance(*estimating.strata_of_fractions(self, frequencies, n, method))

    def variance_of(self, answers: Any, *, rate: Any = None, method: str | None = None) -> Floats:
        """The same for particular answers or numbers. For tests and plans, on public data."""
        return variance(*estimating.strata_of_people(self, answers, rate, method))

    def total_variance(self, n: Any = 1) -> float:
        """Sum over the values of the variance by inverse rates, for equal fractions."""
        size = self.domain.size
        return float(self.variance(np.full(size, 1 / size), n, method="horvitz-thompson").sum())

    # --- what audits and laws need --------------------------------------------------------------

    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        return rows.outcomes(self, reports, x, y)

    def every_report(self, way: Way | None = None) -> Reports:
        return rows.every_report(self, self._at(way))

    def channel(self, way: Way | None = None) -> Channel:
        return rows.channel(self, self._at(way))

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


def _rebuild(kind: type[P], levels: Sequence[Level], study: bytes | None) -> P:
    """An instance of either constructor, from the normal form."""
    participation = object.__new__(kind)
    Participation.__init__(participation, levels, study=study)
    return participation
