"""The laws of estimates: no bias, the exact covariance, and what is said of it.

The estimate is the one that is linear in the reports and unbiased whatever the groups are:
post-stratified over levels, Horvitz–Thompson over rates.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sottovoce import Aggregate, Estimate, Reports, Sampled
from sottovoce.contract.way import Way
from sottovoce.errors import EstimateError
from sottovoce.mechanisms.categorical import PureMechanism

from .entries import IDEALISED_PAIRS
from .law import (
    ROUNDING,
    always_biased,
    close,
    each_report,
    law,
    numeric,
    require,
    unbiased,
    unbiased_fractions,
    unbiased_mean,
)

PEOPLE = 1000


def method_of(collection: Any, way: Way) -> dict[str, str]:
    """The names by which the unbiased estimate is asked for."""
    if "unbiased" in collection.methods:
        return {"method": "unbiased"}
    over_rates = "horvitz-thompson" if "horvitz-thompson" in collection.methods else None
    if way.level is None:
        return {"method": over_rates}
    return {"method": "post-stratified"} | ({"within": over_rates} if over_rates else {})


def estimated(collection: Any, way: Way, aggregate: Aggregate) -> Estimate:
    """The unbiased estimate; of silence alone, what it adds to the score of a report."""
    how = method_of(collection, way)
    if aggregate.reports:
        return collection.estimate(aggregate, **how)
    n = aggregate.people
    require(n > 0, "silent people are not counted")
    one = collection.aggregate(collection.every_report(way)[:1])
    alone = collection.estimate(one, **how)
    both = collection.estimate(aggregate + one, **how)
    return replace(both, values=((n + 1) * both.values - alone.values) / n)


def scores(collection: Any, way: Way) -> list[list[Fraction]]:
    """What each report adds to the estimate, through the real route, taken at its exact value."""
    each = []
    for report in each_report(collection, way):
        values = estimated(collection, way, collection.aggregate(report)).values
        each.append([Fraction(float(value)) for value in values])
    return each


def truth(collection: Any, way: Way) -> list[list[Fraction]]:
    """For each row of the channel, what the estimate should be if all people answer it."""
    rows = len(collection.channel(way).exact)
    if numeric(collection):
        low, high = Fraction(collection.domain.low), Fraction(collection.domain.high)
        return [[low + (high - low) * Fraction(i, rows - 1)] for i in range(rows)]
    return [[Fraction(x == v) for v in range(rows)] for x in range(rows)]


def frequencies(d: int) -> list[np.ndarray]:
    """A few sets of fixed data: everyone alike, uniform, skewed, with an empty value."""
    corner = np.eye(d)[0]
    skewed = np.arange(1, d + 1) ** 2.0
    hole = np.arange(d) * 1.0
    return [corner, np.full(d, 1 / d), skewed / skewed.sum(), hole / hole.sum()]


@law(unbiased)
def estimate_is_linear(collection: Any, way: Way) -> None:
    """The estimate of many reports is the mean of theirs; bias and covariance rest on it."""
    reports = each_report(collection, way)
    each = np.array([*scores(collection, way)], float)
    # One more often than the others: balance would hide clipping.
    each, reports = np.vstack([each, each[:1]]), [*reports, reports[0]]
    aggregate = collection.aggregate(Reports.concatenate(reports))
    whole = estimated(collection, way, aggregate).values
    close(whole, each.mean(axis=0), np.abs(each).max(), "the estimate is not linear")


@law(unbiased)
def estimate_is_unbiased(collection: Any, way: Way) -> None:
    each = scores(collection, way)
    scale = max(abs(value) for values in each for value in values)
    for row, true in zip(collection.channel(way).exact, truth(collection, way), strict=True):
        for v, value in enumerate(true):
            mean = sum(cell * values[v] for cell, values in zip(row, each, strict=True))
            gap = abs(float(mean - value))
            require(gap <= ROUNDING * float(scale), f"E[f_{v}] is off by {gap}")


def covariance_by_answer(collection: Any, way: Way) -> list[np.ndarray]:
    """Covariance matrix of one report's score for each answer, from the channel alone."""
    each = scores(collection, way)
    d = len(each[0])
    matrices = []
    for row in collection.channel(way).exact:
        weighted = list(zip(row, each, strict=True))
        mean = [sum(c * s[v] for c, s in weighted) for v in range(d)]
        matrix = np.zeros((d, d))
        for u in range(d):
            for v in range(u + 1):
                both = sum(c * s[u] * s[v] for c, s in weighted)
                matrix[u, v] = matrix[v, u] = float(both - mean[u] * mean[v])
        matrices.append(matrix)
    return matrices


def stated(collection: Any, way: Way, n: int = PEOPLE) -> tuple[Any, Any, dict[str, str]]:
    """Who states the variance for fixed data, for how many people (by rate), and by which method.

    A menu refers to its levels: there it is the level's mechanism, sampled at the level's rates.
    """
    if "unbiased" in collection.methods:
        return collection, n, {}
    own = [other.rate for other in collection.ways() if other.level == way.level]
    alone = collection if way.level is None else Sampled(way.mechanism, rate=own)
    people = [n * (rate == way.rate) for rate in own]
    return alone, people, {"method": "horvitz-thompson"}


@law(unbiased_fractions)
def covariance_is_exact(collection: Any, way: Way) -> None:
    by_answer = covariance_by_answer(collection, way)
    alone, n, how = stated(collection, way)
    d = collection.domain.size
    for f in frequencies(d):
        expected = sum(part * matrix for part, matrix in zip(f, by_answer, strict=True)) / PEOPLE
        # Fractions are of size one, so a variance far below that may lose digits to subtraction.
        scale = max(np.abs(expected).max(), 1e-3 / PEOPLE)
        close(alone.variance(f, n, **how), np.diag(expected), scale, "variance differs")
        total = float(np.trace(expected))
        if isinstance(alone, PureMechanism) or np.ptp(f) == 0:
            close(alone.total_variance(n), total, d * scale, "total variance differs")
        if way.mechanism.id in IDEALISED_PAIRS:
            expected = np.diag(np.diag(expected))
        close(alone.covariance(f, n, **how), expected, scale, "covariance differs")


@law(unbiased_mean)
def variance_of_a_mean_is_exact(collection: Any, way: Way) -> None:
    low, high = collection.domain.low, collection.domain.high
    expected = [float(matrix[0, 0]) for matrix in covariance_by_answer(collection, way)]
    positions = np.linspace(0, 1, len(expected))
    alone, _, how = stated(collection, way)
    if how:
        answers = low + (high - low) * positions
        rate = way.rate if len(alone.ways()) > 1 else None
        variances = [alone.variance_of([x], rate=rate, **how)[0] for x in answers]
    else:
        variances = (high - low) ** 2 * alone.variance_at(positions)
    scale = max(*expected, 1e-3 * (high - low) ** 2)
    close(variances, expected, scale, "variance differs from the channel's")


def typical_reports(collection: Any, way: Way) -> Reports:
    """Every report once, and as many silent people as the rate makes of them."""
    everything = collection.every_report(way)
    if way.rate == 1:
        return everything
    spoken = len(everything) - 1
    silent = round(spoken * (1 - way.rate) / way.rate)
    return Reports.concatenate([everything[:spoken]] + [everything[spoken:]] * silent)


@law(unbiased)
def estimate_plugs_its_values_in(collection: Any, way: Way) -> None:
    aggregate = collection.aggregate(typical_reports(collection, way))
    estimate = estimated(collection, way, aggregate)
    require(estimate.error_from == "plug-in" and not estimate.biased, "labels of the estimate")
    require(estimate.guarantee == collection.guarantee, "the estimate carries another guarantee")
    require(estimate.covariance is not None, "an unbiased estimate has a covariance")
    scale = np.abs(estimate.covariance).max()
    close(estimate.variance, np.diag(estimate.covariance), scale, "variance is not the diagonal")
    if not numeric(collection):
        alone, n, how = stated(collection, way, aggregate.people)
        expected = alone.covariance(estimate.values, n, **how)
        close(estimate.covariance, expected, scale, "covariance is not that of the plug-in values")


@law(unbiased)
def errors_are_never_negative(collection: Any, way: Way) -> None:
    """Whatever the reports were, the plug-in variance has a root."""
    reports = each_report(collection, way)
    for some in (*reports, Reports.concatenate([reports[0], reports[-1], reports[-1]])):
        with np.errstate(invalid="ignore"):  # the root is what is judged here
            variance = estimated(collection, way, collection.aggregate(some)).variance
        require(bool((variance >= 0).all()), f"a variance of {variance.min()}")


@law(unbiased)
def unbiased_estimates_are_possible(collection: Any, way: Way) -> None:
    """Rows of the channel do not depend on each other, so that it can be inverted."""
    matrix = collection.channel(way).matrix
    require(np.linalg.matrix_rank(matrix, tol=1e-12) == len(matrix), "it cannot be inverted")


@law(always_biased)
def unbiased_is_refused_where_it_cannot_be(mechanism: Any, way: Way) -> None:
    """Where rows of the channel depend on each other, no estimate claims to be unbiased."""
    matrix = mechanism.channel(way).matrix
    require(np.linalg.matrix_rank(matrix, tol=1e-6) < len(matrix), "it could be inverted")
    aggregate = mechanism.aggregate(mechanism.every_report(way))
    require(mechanism.estimate(aggregate).biased, "the default claims it")
    try:
        mechanism.estimate(aggregate, method="unbiased")
    except EstimateError as error:
        require("same reports" in str(error), "it does not say why")
    else:
        require(False, "an unbiased estimate was given")
