"""Intervals that hold for all values of a table at once.

Each interval is made at a higher confidence 1 − a*, so that all of them together cover at the
stated confidence 1 − a:

Maximum      max-|z|, the a-quantile of max_v |Z_v| for a normal Z with the estimate's correlation,
             by Monte Carlo; never larger than Šidák's (1967), which holds for every correlation
Bonferroni   a* = a / d, where the correlation is not known or the table is very large
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .intervals import Floats, repeatable_generator

#: Larger tables use Bonferroni's bound: their correlation alone would take too long.
MOST_CORRELATED = 1000
_DRAWS, _NUMBERS = 40_000, 20_000_000
_CLOSEST = 1 - 1e-15  # the largest confidence that an interval takes


class Simultaneous(NamedTuple):
    """The confidence of each interval on its own, and where it comes from."""

    confidence: float
    method: str


def simultaneous(confidence: float, size: int, correlation: Floats | None) -> Simultaneous:
    """The confidence that each of `size` intervals needs for all of them to hold at once."""
    bound = min(1 - (1 - confidence) / size, _CLOSEST)
    if size == 1:
        return Simultaneous(confidence, "a single value")
    if correlation is None:
        return Simultaneous(bound, "Bonferroni")
    largest = np.sort(largest_deviations(correlation))
    # Three standard errors of the Monte Carlo error further out, so that it never costs coverage.
    slack = 3 * (confidence * (1 - confidence) * largest.size) ** 0.5
    place = min(int(np.ceil(confidence * largest.size + slack)), largest.size - 1)
    each = 2 * NormalDist().cdf(float(largest[place])) - 1
    sidak: float = confidence ** (1 / size)
    return Simultaneous(min(max(each, confidence), sidak, bound), "max-|z|")


def chance_of_largest(p_values: Floats, correlation: Floats | None) -> tuple[float, str]:
    """How likely the smallest of these p-values, or a smaller one, is if nothing differs at all."""
    smallest = float(np.nanmin(p_values))
    bound = min(1.0, smallest * p_values.size)
    if p_values.size == 1 or correlation is None:
        return bound, "a single value" if p_values.size == 1 else "Bonferroni"
    deviation = NormalDist().inv_cdf(1 - max(smallest, 1e-15) / 2)
    largest = largest_deviations(correlation)
    beyond = (1 + int((largest >= deviation).sum())) / (1 + largest.size)
    return max(min(bound, beyond), smallest), "max-|z|"


def correlation_of(covariance: Floats | None, variance: Floats | None = None) -> Floats | None:
    """The correlation matrix; None where some value has no variance or none is known.

    Of a few people the estimated fractions in a covariance may lie so far outside 0 to 1 that it is
    that of no errors at all, with correlations beyond one: these are not known either.

    Where the covariance is an upper bound, `variance` has the values' own variances: the bound in
    units of them, so that its diagonal is one or more.
    """
    if covariance is None:
        return None
    own_variance = np.diag(covariance) if variance is None else variance
    spread = np.sqrt(np.maximum(own_variance, 0.0))
    if not (np.isfinite(covariance).all() and (spread > 0).all()):
        return None
    r = np.asarray(covariance / np.outer(spread, spread))
    np.fill_diagonal(r, np.maximum(np.diag(r), 1.0))
    own = np.sqrt(np.diag(r))
    return None if (np.abs(r) > (1 + 1e-9) * np.outer(own, own)).any() else r


def largest_deviations(correlation: Floats) -> Floats:
    """max_v |Z_v| of many draws of a normal Z.

    They need no secrecy: the generator is seeded by the matrix, so that an interval repeats.
    """
    generator = repeatable_generator(correlation)
    values, axes = np.linalg.eigh(correlation)
    root = axes * np.sqrt(np.maximum(values, 0.0))
    size = len(root)
    draws = max(2_000, min(_DRAWS, _NUMBERS // size))
    largest = np.empty(draws)
    block = max(1, 2_000_000 // size)
    for start in range(0, draws, block):
        rows = min(block, draws - start)
        z = generator.standard_normal((rows, size)) @ root.T
        largest[start : start + rows] = np.abs(z).max(axis=1)
    return largest
