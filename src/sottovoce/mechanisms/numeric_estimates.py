"""Estimates from counts of cells: mean and variance of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..contract.aggregate import Aggregate
from ..errors import EstimateError
from ..estimate.estimate import Estimate
from ..estimate.intervals import Interval, normal_quantile
from ..estimate.mean_intervals import MeanInterval, ReportNoise
from .grid import Floats
from .tails import MeanLaw

if TYPE_CHECKING:
    from .numeric import NumericMechanism


def _one(
    mechanism: NumericMechanism, label: str, value: float, variance: float, n: int, method: str
) -> Estimate:
    return Estimate(
        values=np.array([value]),
        spread=np.array([variance]),
        n=n,
        labels=(label,),
        name=mechanism.domain.name,
        guarantee=mechanism.guarantee,
        method=method,
        biased=mechanism.methods[method].biased,
        fractions=False,
        _covariance=partial(np.diag, [variance]),
    )


def _means(
    mechanism: NumericMechanism, aggregate: Aggregate, per_cell: Mapping[str, Floats]
) -> float:
    total = sum(float(aggregate.dense(name) @ per_cell[name]) for name in mechanism.grids)
    return total / aggregate.reports


def estimate_mean(mechanism: NumericMechanism, aggregate: Aggregate) -> Estimate:
    """Mean, with the exact variance for fixed data at the estimated second moment."""
    n = aggregate.reports
    scores = {name: grid.scores for name, grid in mechanism.grids.items()}
    mean = _means(mechanism, aggregate, scores)
    square = _means(mechanism, aggregate, {name: s**2 for name, s in scores.items()})
    # The mean squared answer: estimated on a fine grid; from one bit at least the mean squared.
    one_bit = mechanism.finest.steps == 1
    answers = mean**2 if one_bit else max(_second_moment(mechanism, aggregate), 0.0)
    exact = mechanism.variance_at(np.linspace(0, 1, 2 * mechanism.finest.steps + 1))
    noise = min(max(square - answers, float(exact.min())), float(exact.max()))
    span = mechanism.domain.high - mechanism.domain.low
    value = mechanism.domain.low + span * mean
    estimate = _one(mechanism, "mean", value, span**2 * noise / n, n, "unbiased")
    most = max(mean * (1 - mean), 0.0)  # the largest variance between the bounds
    varies = most if one_bit else min(max(answers - mean**2, 0.0), most)
    law = _law(mechanism, aggregate)
    largest = max(float(np.abs(values).max()) for values in scores.values())
    own = ReportNoise(
        partial(_mean_reaches, law, mean, noise / n, span), span**2 * noise / n, span * largest / n
    )
    bounds = mechanism.domain.low, mechanism.domain.high
    interval = MeanInterval(value, 0.0, 0.0, bounds, noise=((1.0, own),))
    return replace(estimate, answer_variance=span**2 * varies, _interval=interval)


def _law(mechanism: NumericMechanism, aggregate: Aggregate) -> MeanLaw:
    """The law of the sum of all scores, with the largest spread that the reports support."""
    finest, n = mechanism.finest, int(aggregate.dense(list(mechanism.grids)[-1]).sum())
    second = 1.0
    if finest.steps > 1 and n:
        error = (finest.variance_of_squares / n) ** 0.5
        second = _second_moment(mechanism, aggregate) + 2 * error
    *coarse, (_, fraction) = mechanism.grid_fractions
    bits = coarse[0][0] if coarse else None
    return MeanLaw(aggregate.reports, finest, bits, float(fraction), second)


def _second_moment(mechanism: NumericMechanism, aggregate: Aggregate) -> float:
    """Mean squared position, less rounding to the grid as for evenly spread answers."""
    finest = list(mechanism.grids)[-1]
    table = aggregate.dense(finest)
    rounded = float(table @ mechanism.finest.squares) / max(int(table.sum()), 1)
    return rounded - mechanism.finest.rounding * 2 / 3


def estimate_variance(mechanism: NumericMechanism, aggregate: Aggregate) -> Estimate:
    """Variance of the answers of all people; its error by the delta method on the finest grid.

    With scores s and squares t of n reports on that grid, unbiased for a person's answer and for
    its square, and N people in all, t̄ − s̄² + Σ (s − s̄)² / (n (n − 1)) estimates the variance that
    divides by N − 1, since the last term has the spread of answers as well as the noise: it is
    multiplied by 1 − 1/N.

    Rounding to the grid cannot be distinguished from spread: its value for evenly spread
    answers is subtracted, and the interval extends downwards by the most that it can be. It
    adds Bernstein's term for few reports and few noise events to the normal half-width, and is
    limited to what numbers between the bounds can have.
    """
    table = aggregate.dense(list(mechanism.grids)[-1])
    n = int(table.sum())
    if n < 2:
        raise EstimateError(f"a variance needs two reports on the fine grid; there are {n}")
    scores, squares = mechanism.finest.scores, mechanism.finest.squares
    mean = float(table @ scores) / n
    noise = (float(table @ scores**2) / n - mean**2) / (n - 1)
    rounded = float(table @ squares) / n - mean**2 + noise
    value = (rounded - 2 / 3 * mechanism.finest.rounding) * (1 - 1 / aggregate.reports)
    pull = squares - 2 * mean * scores
    at_points = mechanism.finest.mean_at_points
    least = float((at_points(pull**2) - at_points(pull) ** 2).min())
    seen = (float(table @ pull**2) - float(table @ pull) ** 2 / n) / (n - 1)
    spread = max(seen, least) / n
    span = mechanism.domain.high - mechanism.domain.low
    variance, error = span**2 * value, span**4 * spread
    estimate = _one(mechanism, "variance", variance, error, aggregate.reports, "variance")
    reach, offset = float(np.ptp(pull)) / n, mechanism.finest.rounding
    interval = partial(_variance_interval, value, spread, reach, offset, span)
    return replace(estimate, _interval=interval)


def _mean_reaches(
    law: MeanLaw, mean: float, variance: float, span: float, confidence: float
) -> tuple[float, float]:
    """How far the interval reaches below and above the mean, in the units of the question."""
    low, high = law.interval(mean, confidence, variance**0.5)
    return span * (mean - low), span * (high - mean)


def _variance_interval(
    value: float, spread: float, reach: float, offset: float, span: float, confidence: float
) -> Interval:
    """In the units of the question, squared."""
    quantile = normal_quantile(confidence)
    half = quantile * spread**0.5 + quantile**2 * reach / 2
    low = min(max(value - half - offset, 0.0), value)
    high = max(min(value + half + offset, 0.25), value)
    return Interval(np.array([span**2 * low]), np.array([span**2 * high]))
