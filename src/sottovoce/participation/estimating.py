"""The analyst's side of `Participation`: each level on its own, then all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..contract.aggregate import Aggregate
from ..errors import EstimateError, ParameterError
from ..estimate.combine import (
    ALIASES,
    METHODS,
    combine,
    combine_groups,
    covariance_of,
    with_guarantee,
)
from ..estimate.estimate import Estimate, Floats
from ..mechanisms.linear import parts_may_be_useless, warn_if_useless
from ..mechanisms.mechanism import Method
from .choices import EVERYONE, way_codes
from .participation import ParticipationReports
from .population import strata_of_answers, strata_of_frequencies
from .sample import Sample, known_strata, rate_methods, span_of
from .strata import covariance, variance
from .vectorised import groups_of


class Participation(ParticipationReports):
    """A table of ways to take part: levels of privacy, rates, and their mechanisms.

    `Levels` and `Sampled` construct it; see there.
    """

    @property
    def _over_levels(self) -> Mapping[str, Method]:
        """Weightings of the levels; empty where there is no menu."""
        if self.levels[0].name is None:
            return {}
        known = {name: Method(source, biased=biased) for name, (source, biased) in METHODS.items()}
        return {**known, **{alias: known[name] for alias, name in ALIASES.items()}}

    @cached_property
    def _over_rates(self) -> Mapping[str, Method]:
        """Estimators over the rates that every sampled level has; empty where all report."""
        menus = [
            rate_methods(level.mechanism, level.rates)
            for level in self.levels
            if level.rates != EVERYONE or level.name is None
        ]
        if not menus:
            return {}
        return {name: m for name, m in menus[0].items() if all(name in menu for menu in menus)}

    @cached_property
    def methods(self) -> Mapping[str, Method]:
        """Weightings of the levels, and estimators over the rates of each level."""
        return {
            **self._over_levels,
            **{name: m for name, m in self._over_rates.items() if name not in self._over_levels},
        }

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
        weighting, within = self._resolve(method, within)
        if weighting is None:
            sample = self._samples(aggregate)[0]
            return sample.estimate(within or next(iter(self._over_rates)))
        samples = [s for s in self._samples(aggregate) if s.asked.any()]
        if not samples:
            raise EstimateError("there are no reports, so there is nothing to estimate")
        guarantee = self.guarantee_behind(aggregate)
        groups = None if within else groups_of(samples)
        if groups is None:
            parts = {}
            for name, sample in self._named(aggregate).items():
                parts[name] = _estimate_level(name, sample, within)
            estimate = with_guarantee(combine(parts, method=weighting), guarantee)
        else:
            estimate = combine_groups(
                groups,
                method=weighting,
                covariance=partial(_sample_covariance, samples),
                labels=self.domain.labels,
                name=self.domain.name,
                shares=True,
                guarantee=guarantee,
            )
        warn_if_useless(estimate, span_of(self))
        return estimate

    def estimates(self, aggregate: Aggregate) -> dict[str, Estimate]:
        """One estimate for each level that somebody chose; empty where there is no menu."""
        self.accept(aggregate, Aggregate)
        if not self._over_levels:
            return {}
        return {n: _estimate_level(n, s, None) for n, s in self._named(aggregate).items()}

    def _resolve(self, method: str | None, within: str | None) -> tuple[str | None, str | None]:
        """(weighting of the levels, estimator over the rates); None for what there is not."""
        if within is not None and within not in self._over_rates:
            known = ", ".join(map(repr, self._over_rates)) or "none: everyone reports"
            raise ParameterError(
                f"within is {within!r}; the estimators over rates here are: {known}"
            )
        name = self.chosen_method(method)
        if not self._over_levels:
            if within is not None and method is not None and within != method:
                raise ParameterError(f"there are no levels; give method={within!r} alone")
            return None, within or name
        if name in self._over_levels:
            return ALIASES.get(name, name), within
        return next(iter(self._over_levels)), name

    def _samples(self, aggregate: Aggregate) -> list[Sample]:
        asked, reported = self.turnout(aggregate)
        samples = []
        for mechanism, own in zip(self.bound, self.level_ways, strict=True):
            k, rows = self.place(range(own.start, own.stop))
            first, last = int(rows[0]), int(rows[-1])
            tables = {
                name.partition("/")[2]: aggregate.dense(name)[first : last + 1]
                for name in aggregate.tables
                if name.startswith(f"{k}/")
            }
            samples.append(
                Sample(
                    mechanism,
                    self.way_rates[own],
                    asked[own],
                    reported[own],
                    tables,
                    self.guarantee_behind(aggregate),
                    aggregate.seeded,
                )
            )
        return samples

    def _named(self, aggregate: Aggregate) -> dict[str, Sample]:
        """The samples of the levels that somebody chose."""
        named = zip(self.levels, self._samples(aggregate), strict=True)
        return {str(level.name): sample for level, sample in named if sample.asked.any()}

    # --- variances for fixed data ---------------------------------------------------------------

    def variance(self, frequencies: ArrayLike, n: Any, *, method: str | None = None) -> Floats:
        """Variance of each estimated fraction when the data are fixed, where there is one level.

        Parameters
        ----------
        frequencies : array-like
            True fractions, or one row of them per rate.
        n : int or array-like
            People, or people at each rate.
        """
        level = self._only_level("variance")
        strata = strata_of_frequencies(level, self.rates, frequencies, n)
        name = self.chosen_method(method)
        return variance(known_strata(strata, name), name, _pure(level))

    def covariance(self, frequencies: ArrayLike, n: Any, *, method: str | None = None) -> Floats:
        """Covariance matrix of the estimated fractions when the data are fixed."""
        level = self._only_level("covariance")
        strata = strata_of_frequencies(level, self.rates, frequencies, n)
        name = self.chosen_method(method)
        return covariance(known_strata(strata, name), name, _pure(level))

    def variance_of(self, answers: Any, *, rate: Any = None, method: str | None = None) -> Floats:
        """The same for people's very answers; numbers too. For tests and plans, on public data."""
        level = self._only_level("variance_of")
        coded = self.domain.coded(answers)
        ways = way_codes(self.levels, coded, None, rate)
        name = self.chosen_method(method)
        strata = strata_of_answers(level, self.rates, coded, ways)
        return variance(known_strata(strata, name), name, _pure(level))

    def total_variance(self, n: Any = 1) -> float:
        """Sum over the values of the variance by inverse rates, for equal fractions."""
        size = self.domain.size
        return float(self.variance(np.full(size, 1 / size), n, method="horvitz-thompson").sum())

    def _only_level(self, what: str) -> Any:
        if len(self.levels) > 1 or self.levels[0].name is not None:
            raise ParameterError(
                f"{what} is of one level; ask for that of each level's mechanism, sampled at its "
                "own rates"
            )
        return self.bound[0]


def _pure(mechanism: Any) -> Any:
    from ..mechanisms.pure import PureMechanism

    return mechanism if isinstance(mechanism, PureMechanism) else None


def _estimate_level(name: str, sample: Sample, within: str | None) -> Estimate:
    """The unbiased estimate of one level, or that by `within` over its rates."""
    mechanism = sample.mechanism
    try:
        with parts_may_be_useless():
            if within is None and (sample.rates == 1).all():
                return plain_estimate(sample)
            default = next(iter(rate_methods(mechanism, sample.rates.tolist())))
            return sample.estimate(within or default)
    except EstimateError as error:
        raise EstimateError(f"level {name!r}: {error}") from error


def plain_estimate(sample: Sample) -> Estimate:
    """The mechanism's own unbiased estimate, where everyone reports."""
    mechanism, n = sample.mechanism, int(sample.reported[0])
    tables = {name: table[0] for name, table in sample.tables.items()}
    part = Aggregate(mechanism.id, mechanism.digest, tables, n, n, sample.seeded)
    return mechanism.estimate(part, method="unbiased")


def _sample_covariance(samples: list[Sample], weights: Floats) -> Floats:
    return covariance_of([_estimate_level("", s, None) for s in samples], weights)
