"""Errors for a population of which the people asked are a sample.

An estimate's own covariance C is conditional: it describes the noise of privacy (and of sampling
among the people asked) with their answers fixed. If the n people asked are a simple random sample
of a population with fractions F,

Total       Cov(f̂) = C + k Σ_F,   Σ_F = diag(F) − F Fᵀ,   k = 1/n, or for a population of N people
            k = (1 − n/N) / n · N/(N − 1)
Estimated   E[diag(f̂) − f̂ f̂ᵀ] = (1 − k) Σ_F − C, so Σ̂_F = (diag(f̂) − f̂ f̂ᵀ + C) / (1 − k) is
            unbiased, and C + k Σ̂_F is for the total: C is linear in the fractions, so its value at
            the estimate is unbiased, too. Nothing is counted twice: C has no term of the sampling
Options     where people may choose several values, each has F (1 − F) in place of the diagonal of
            Σ_F; which values go together is not known, so there is no covariance
Mean        the same with the variance of people's numbers in place of Σ_F
Interval    of fractions the score interval with k f (1 − f) added to the noise at f

Strata      Σ_h W_h f̂_h with the public fractions W_h = N_h / N of the population: covariance
            Σ W_h² (C_h + k_h Σ̂_h), each stratum being a sample of its own N_h people
            (Cochran 1977, "Sampling techniques", sections 2.6, 5.4 and 5A.9)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..checks import checked_positive
from ..errors import EstimateError, ParameterError
from .combine import combine
from .estimate import Estimate, join_claims
from .groups import covariance_of
from .intervals import Floats, Interval, NoiseLines, ScoreInterval, normal_quantile
from .mean_intervals import MeanInterval, join_means
from .ordered import mean_intervals, scored_mean

RANDOM_SAMPLE = "the people asked are a simple random sample of the population"
RANDOM_STRATA = "the people asked in each stratum are a simple random sample of it"


def for_population(estimate: Estimate, size: int | None = None) -> Estimate:
    """The same estimate with errors that include the sampling of people; see the method."""
    about, factor = about_population(estimate, size), _factor(estimate.n, size)
    if estimate.raw is not None:
        raw = for_population(estimate.raw, size)
        return replace(estimate, raw=raw, spread=raw.variance, _covariance=None, **about)
    if estimate.biased or estimate.error_from == "bootstrap":
        raise EstimateError(
            f"the error of a {estimate.method!r} estimate is not known for a population; use an "
            "unbiased method"
        )
    own, means = estimate.noise_lines, mean_intervals([estimate])
    if means is not None and means[0].of is not None:
        fractions, scores = means[0].of
        return replace(estimate, **scored_mean(for_population(fractions, size), scores), **about)
    drawn = _drawn(estimate, factor)
    if means is not None:
        interval: Any = means[0].drawn(factor, float(drawn[0]))
    elif own is not None:
        interval = replace(own, draw=np.asarray(own.draw) + factor)
    else:
        interval = partial(_wider, estimate, factor * drawn)
    total = estimate.variance + factor * drawn
    covariance = None
    if estimate._covariance is not None and estimate.exclusive:
        covariance = partial(_total_covariance, estimate, factor)
    return replace(estimate, spread=total, _covariance=covariance, _interval=interval, **about)


def about_population(estimate: Estimate, size: int | None) -> dict[str, Any]:
    """The population that errors refer to, and what this assumes of the people asked."""
    if estimate.population is not None:
        raise EstimateError("the errors of this estimate are already those for a population")
    _factor(estimate.n, size)
    return {
        "population": math.inf if size is None else float(size),
        "assuming": join_claims([estimate.assuming, RANDOM_SAMPLE]),
    }


def stratified(
    estimates: Mapping[str, Estimate],
    *,
    population: Mapping[str, int] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Estimate:
    """One estimate for a population from estimates of its strata, whose sizes are public.

    Every stratum is a group of people that is publicly known (a region, an age group from the
    register) and counted separately. Weights belong to strata: counts do not say whose reports
    they contain, so a person's own weight can only be used if it is public, and people with the
    same weight are a stratum.

    Parameters
    ----------
    estimates : mapping of str to Estimate
        Unbiased estimates of the same question, one for each stratum.
    population : mapping of str to int
        How many people of the population are in each stratum. The errors then allow for the part
        of it that was asked (finite population correction).
    weights : mapping of str to float
        Or weights of the strata, in any unit, where the population is much larger than the sample.

    Returns
    -------
    Estimate
        Its errors are for the population: privacy and the sampling of people.

    Examples
    --------
    >>> import sottovoce as sv
    >>> m = sv.GRR(["yes", "no"], epsilon=2.0)
    >>> north = m.estimate(m.aggregate(m.randomise(["yes"] * 900 + ["no"] * 100)))
    >>> south = m.estimate(m.aggregate(m.randomise(["yes"] * 300 + ["no"] * 700)))
    >>> whole = stratified(
    ...     {"north": north, "south": south}, population={"north": 90_000, "south": 10_000}
    ... )
    >>> bool(0.7 < whole.values[0] < 0.95)  # 0.9 · 0.9 + 0.1 · 0.3 = 0.84
    True
    """
    if (population is None) == (weights is None):
        raise ParameterError("give one of population (people in each stratum) and weights")
    sizes = population if population is not None else weights or {}
    mappings = isinstance(estimates, Mapping) and isinstance(sizes, Mapping)
    if not mappings or set(sizes) != set(estimates):
        names = sorted(map(str, set(sizes) ^ set(estimates)))
        raise ParameterError(f"every stratum needs an estimate and a size; this differs in {names}")
    for name, one in sizes.items():
        checked_positive(one, f"the size of {name!r}")
    together = combine(estimates, method="post-stratified")
    parts = [
        for_population(estimate, None if population is None else population[name])
        for name, estimate in estimates.items()
    ]
    weight = np.array([sizes[name] for name in estimates], float)
    weight /= weight.sum()
    values = weight @ np.array([part.values for part in parts])
    spread = weight**2 @ np.array([part.variance for part in parts])
    known = all(part._covariance is not None for part in parts)
    return replace(
        together,
        values=values,
        spread=spread,
        method="stratified",
        population=math.inf if population is None else float(sum(population.values())),
        assuming=join_claims([*(e.assuming for e in estimates.values()), RANDOM_STRATA]),
        _covariance=partial(covariance_of, parts, weight) if known else None,
        _interval=_joined(parts, weight),
    )


def _joined(parts: list[Estimate], weight: Floats) -> ScoreInterval | MeanInterval | None:
    """The score interval of a sum over strata, where all have one; else the normal one."""
    if (means := mean_intervals(parts)) is not None:
        return join_means(means, weight)
    every = (part.noise_lines for part in parts)
    own = [line for line in every if line is not None]
    if len(own) < len(parts):
        return None
    return NoiseLines.of(own).combine(np.array([part.values for part in parts]), weight)


def _factor(n: int, size: int | None) -> float:
    """k, the variance of a fraction of a sample of n in units of F (1 − F)."""
    if size is None:
        return 1 / n
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < max(n, 2):
        raise ParameterError(
            f"the population has {size!r} people; it must be a whole number, at least 2 and at "
            f"least the {n:,} people asked"
        )
    return float((1 - n / size) / n * size / (size - 1))


def _drawn(estimate: Estimate, factor: float) -> Floats:
    """The diagonal of Σ̂_F, or the variance of people's numbers; never below 0."""
    if not estimate.fractions:
        if estimate.answer_variance is None:
            raise EstimateError(
                f"how much the {estimate.labels[0]} varies between samples of people is not known"
            )
        return np.array([estimate.answer_variance]) / max(1 - factor, 0.5)
    raw = estimate.values * (1 - estimate.values) + estimate.variance
    return np.asarray(np.clip(raw / max(1 - factor, 0.5), 0.0, 0.25))


def _total_covariance(estimate: Estimate, factor: float) -> Floats:
    own = covariance_of([estimate], np.ones(1))
    if not estimate.fractions:
        return own + factor * np.diag(_drawn(estimate, factor))
    f = estimate.values
    drawn = (np.diag(f) - np.outer(f, f) + own) / max(1 - factor, 0.5)
    return np.asarray(own + factor * drawn)


def _wider(estimate: Estimate, drawn: Floats, confidence: float) -> Interval:
    """An interval whose two sides are extended by the sampling of people."""
    z = normal_quantile(confidence)
    low, high = estimate.interval(confidence)
    down, up = np.maximum(estimate.values - low, 0), np.maximum(high - estimate.values, 0)
    return Interval(
        estimate.values - np.sqrt(down**2 + z**2 * drawn),
        estimate.values + np.sqrt(up**2 + z**2 * drawn),
    )
