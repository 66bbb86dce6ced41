"""The analyst's side of `Participation`: each level on its own, then all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from ..contract.aggregate import Aggregate
from ..errors import EstimateError, ParameterError
from ..estimate.combine import ALIASES, METHODS, combine, with_guarantee
from ..estimate.estimate import Estimate, parts_may_be_useless, warn_if_useless
from ..estimate.groups import Groups, combine_groups, covariance_of
from ..estimate.intervals import Floats, NoiseLines
from ..mechanisms.categorical import PureMechanism
from ..mechanisms.mechanism import Mechanism, Method
from .population import strata_of_answers, strata_of_frequencies
from .rates import EVERYONE, way_codes
from .sample import FEW_RATES, Sample, known_strata, rate_methods, span_of
from .strata import Strata, own_terms, seen_inverse

if TYPE_CHECKING:
    from .participation import Participation


def weightings(table: Participation) -> dict[str, Method]:
    """Weightings of the levels; none where there is no menu."""
    if not table.menu:
        return {}
    known = {name: Method(source, biased=biased) for name, (source, biased) in METHODS.items()}
    return {**known, **{alias: known[name] for alias, name in ALIASES.items()}}


def rate_estimators(table: Participation) -> dict[str, Method]:
    """Estimators over the rates that every sampled level offers; none where all report."""
    offers = [
        rate_methods(level.mechanism, level.rates)
        for level in table.levels
        if level.rates != EVERYONE or level.name is None
    ]
    if not offers:
        return {}
    return {n: m for n, m in offers[0].items() if all(n in offer for offer in offers)}


def estimate(
    table: Participation, aggregate: Aggregate, method: str | None, within: str | None
) -> Estimate:
    """The levels' estimates, combined; or that of the only one, where there is no menu."""
    weighting, within = _resolve(table, method, within)
    if weighting is None:
        (sample,) = _samples(table, aggregate)
        return sample.estimate(within or next(iter(rate_estimators(table))))
    samples = [sample for sample in _samples(table, aggregate) if sample.asked.any()]
    if not samples:
        raise EstimateError("there are no reports, so there is nothing to estimate")
    guarantee = table.guarantee_behind(aggregate)
    groups = None if within else groups_of(samples)
    if groups is None:
        parts = level_estimates(table, aggregate, within)
        whole = with_guarantee(combine(parts, method=weighting), guarantee)
    else:
        whole = combine_groups(
            groups,
            method=weighting,
            covariance=partial(_sample_covariance, samples),
            labels=table.labels,
            name=table.domain.name,
            fractions=True,
            complete=table.candidates is None,
            guarantee=guarantee,
            _origins=tuple(mark for sample in samples for mark in sample.marks),
        )
    warn_if_useless(whole, span_of(table))
    return whole


def level_estimates(
    table: Participation, aggregate: Aggregate, within: str | None
) -> dict[str, Estimate]:
    """One estimate for each level that somebody chose; none where there is no menu."""
    parts = {}
    for level, sample in zip(table.levels, _samples(table, aggregate), strict=True):
        if level.name is None or not sample.asked.any():
            continue
        try:
            parts[level.name] = _estimate_level(sample, within)
        except EstimateError as error:
            raise EstimateError(f"level {level.name!r}: {error}") from error
    return parts


def _resolve(
    table: Participation, method: str | None, within: str | None
) -> tuple[str | None, str | None]:
    """(weighting of the levels, estimator over the rates); None for the default, or for none."""
    over_levels, over_rates = weightings(table), rate_estimators(table)
    if within is not None and within not in over_rates:
        known = ", ".join(map(repr, over_rates)) or "none, since everyone reports"
        raise ParameterError(f"within is {within!r}; the estimators over rates are: {known}")
    name = table.chosen_method(method)
    if not over_levels:
        if within not in (None, method):
            raise ParameterError(f"there are no levels; give method={within!r} alone")
        return None, name
    if name in over_levels:
        return ALIASES.get(name, name), within
    return next(iter(over_levels)), name


def _samples(table: Participation, aggregate: Aggregate) -> list[Sample]:
    asked, reported = table.turnout(aggregate)
    guarantee = table.guarantee_behind(aggregate)
    samples = []
    for level, mechanism, own in zip(table.levels, table.bound, table.level_ways, strict=True):
        k, rows = table.place(range(own.start, own.stop))
        tables = {
            name.partition("/")[2]: aggregate.dense(name)[rows[0] : rows[-1] + 1]
            for name in aggregate.tables
            if name.startswith(f"{k}/")
        }
        counts = (asked[own], reported[own], tables)
        about = (guarantee, aggregate.seeded, aggregate.marks_of(level.name))
        samples.append(Sample(mechanism, table.way_rates[own], *counts, *about))
    return samples


def _estimate_level(sample: Sample, within: str | None) -> Estimate:
    """The unbiased estimate of one level, or that by `within` over its rates."""
    with parts_may_be_useless():
        if within is None and sample.rates.tolist() == [1.0]:
            return sample.plain_estimate(0)
        default = next(iter(rate_methods(sample.mechanism, sample.rates.tolist())))
        return sample.estimate(within or default)


def _sample_covariance(samples: list[Sample], weights: Floats) -> Floats:
    return covariance_of([_estimate_level(sample, None) for sample in samples], weights)


def groups_of(samples: Sequence[Sample]) -> Groups | None:
    """The levels as groups, or None where they must be estimated one by one.

    Of level j and rate π_h, with S_jh reports of n_jh people and A_jh of them supporting a value:

    Estimate    u_jh = (A_jh / S_jh − q_j) / (p_j − q_j), and Σ_h (n_jh / n_j) u_jh of the level
    Variance    as post-stratified in `participation.strata`; without rates that of the mechanism

    A Python loop over the levels would take longer than counting a hundred thousand reports.
    """
    pure = [s.mechanism for s in samples if isinstance(s.mechanism, PureMechanism)]
    many = samples[0].rates.size
    alike = len(pure) == len(samples) and all(s.rates.size == many for s in samples)
    if len(samples) < 2 or not alike or many > FEW_RATES:
        return None
    asked, reported = (np.stack([getattr(s, n) for s in samples]) for n in ("asked", "reported"))
    if not reported.all():  # there are gaps, or levels without reports
        return None
    counts = np.stack([s.tables[m.table] for s, m in zip(samples, pure, strict=True)])
    people = asked.sum(axis=1).astype(float)
    noise, drawn = own_terms(asked, seen_inverse(reported))
    everyone = np.array([[(s.rates == 1).all()] for s in samples])  # levels that sample nobody
    terms = np.where(everyone, 1 / reported, noise), np.where(everyone, 0.0, drawn)
    laws = np.array([mechanism.rounded for mechanism in pure])
    values, variance = kernels.count.stratified(
        counts, laws, reported, asked / people[:, None], *terms
    )
    weights = asked / people[:, None]
    noisy, mixed = ((weights**2 * term).sum(axis=1) for term in terms)
    steps = 0.5 * (weights / reported).max(axis=1)
    _, gaps, bases, slopes = laws.T
    each = (noisy * bases, noisy * slopes, mixed, steps / gaps)
    base, slope, draw, step = (term[:, None] for term in each)
    pairs = None
    if pure[0].domain.exclusive:
        shared, rises = np.array([mechanism.rounded_pair for mechanism in pure]).T
        pairs = (noisy * shared)[:, None], (noisy * rises)[:, None]
    lines = NoiseLines(base, slope, draw, step, pairs=pairs)
    reporting = reported.sum(axis=1).astype(float)
    return Groups(values, variance, people, reporting, intervals=lines)


# --- variances for fixed data -------------------------------------------------------------------


def strata_of_fractions(
    table: Participation, frequencies: ArrayLike, n: Any, method: str | None
) -> tuple[Strata, str]:
    """What `variance` and `covariance` need where fractions and people are known."""
    strata = strata_of_frequencies(_only_level(table), table.rates, frequencies, n)
    return _describe(table, strata, method)


def strata_of_people(
    table: Participation, answers: Any, rate: Any, method: str | None
) -> tuple[Strata, str]:
    """The same for particular answers."""
    coded = table.domain.coded(answers)
    ways = way_codes(table.levels, coded, None, rate)
    strata = strata_of_answers(_only_level(table), table.rates, coded, ways)
    return _describe(table, strata, method)


def _describe(table: Participation, strata: Strata, method: str | None) -> tuple[Strata, str]:
    name = table.chosen_method(method)
    return known_strata(strata, name), name


def _only_level(table: Participation) -> Mechanism:
    if table.menu:
        raise ParameterError(
            "variances for fixed data are known for one level only; ask each level's mechanism, "
            "sampled at its own rates"
        )
    return table.bound[0]
