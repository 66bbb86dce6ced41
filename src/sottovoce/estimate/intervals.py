"""Intervals that hold where the normal approximation at the estimate does not.

Of n reports, c support a value that m people hold: c is a sum of Bernoulli variables whose
variance depends on m, and few of them may be noise at all. The variance at the estimate is then
far from that at the truth (with no report it would be zero). So an interval is the set of all
fractions f that are consistent with the count, with the variance at f and not at the estimate:

    (|f̂ − f| − h)² ≤ z² (a + b f + g f (1 − f))

a + b f is the noise of the reports, g f (1 − f) what drawing people adds, and h half the distance
between two values that the estimate can take (the continuity correction). For h = 0 and a plain
binomial count this is the interval of Wilson 1927; with h, its coverage is at least about the
stated one also for counts of 0 and 1 (`docs/coverage.md` has the figures).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """Lower and upper ends, one per value."""

    low: Floats
    high: Floats


def normal_quantile(confidence: float) -> float:
    """How many standard errors an interval of this confidence reaches to either side."""
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise ParameterError(
            f"confidence is {confidence!r}; it must lie strictly between 0 and 1, such as 0.95"
        )
    return NormalDist().inv_cdf(0.5 + confidence / 2)


@dataclass(frozen=True, eq=False)
class ScoreInterval:
    """The interval above, for every value; call it with the confidence.

    Attributes
    ----------
    values : ndarray
        f̂, unbiased estimates.
    base, slope, draw : ndarray or float
        a, b and g.
    step : ndarray or float
        h.
    """

    values: Floats
    base: Floats | float
    slope: Floats | float
    draw: Floats | float = 0.0
    step: Floats | float = 0.0

    def __call__(self, confidence: float) -> Interval:
        z = normal_quantile(confidence)
        return Interval(
            self._end(self.values - self.step, -z), self._end(self.values + self.step, z)
        )

    def _end(self, at: Floats, z: float) -> Floats:
        """The root of (at − f)² = z² (a + b f + g f (1 − f)) beyond `at`, on the side of z."""
        square = z * z
        lead = 1 + square * np.asarray(self.draw)
        middle = at + square * (np.asarray(self.slope) + self.draw) / 2
        rest = middle**2 - lead * (at**2 - square * np.asarray(self.base))
        end = (middle + np.sign(z) * np.sqrt(np.maximum(rest, 0.0))) / lead
        # Where the variance at `at` itself is below zero there is no root beyond it.
        return np.asarray(np.minimum(end, at) if z < 0 else np.maximum(end, at))


@dataclass(frozen=True, eq=False)
class NoiseLines:
    """a, b, g and h of several estimates, one row each; with one column where all values agree."""

    base: Floats
    slope: Floats
    draw: Floats
    step: Floats

    @classmethod
    def of(cls, parts: Sequence[ScoreInterval]) -> NoiseLines:
        """Those of intervals that know them."""
        rows = (
            np.stack([np.broadcast_to(getattr(part, name), part.values.shape) for part in parts])
            for name in ("base", "slope", "draw", "step")
        )
        return cls(*rows)

    def combine(self, values: Floats, weights: Floats) -> ScoreInterval:
        """The interval of Σ ω_j ψ̂_j, of independent estimates."""
        squares = weights**2
        terms = (squares @ self.base, squares @ self.slope, squares @ self.draw)
        # The coarsest of the parts' steps: the sum can take no fewer values than that.
        return ScoreInterval(values, *terms, (weights[:, None] * self.step).max(axis=0))
