"""Quantiles of numbers, by inverting tests of the cumulative distribution.

A number x may be the q-quantile unless the reports reject every distribution with F(x) = q: the
interval has every x for which some distribution with that property fits well enough, by the
profile likelihood of `profile` and with its limit. F is tested at one x at a time, so the band of
the cumulative distribution need not be simultaneous. No shape of the distribution is assumed but
one: the range is divided into 128 equal parts, within which answers are taken as evenly spread. A
number that many people give is then seen as a mixture of two neighbouring parts, so the interval is
rounded outwards to a part and extended by one more on either side, 1/64 of the range in all.

In simulations of 30 to 100,000 reports with epsilon from 0.5 to 10 (smooth, skewed, heaped and
two-point answers, all answers equal, many zeros) 95 % intervals of the quantiles at .1, .5 and .9
covered the truth at least 98 % of the time. The limit of one degree of freedom, which smooth
answers would allow, covered as few as 88 %.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .intervals import Floats
from .likelihood import smoothed_em
from .ordered import Quantile, checked_fraction
from .profile import Profile, limit

QUANTILE_PARTS = 128
_SLIGHT = (1 / 32, 1)


@dataclass(frozen=True, eq=False)
class RangeQuantiles:
    """Quantiles of one number's distribution; call it with the fraction and the confidence."""

    counts: NDArray[np.int64]  # how often each output was reported
    laws: Floats  # one row per part of the range: the probabilities of the outputs
    fit: Floats  # an estimate of the distribution over equal parts, for the quantile itself
    low: float  # the bounds of the number
    high: float

    def __call__(self, q: float, confidence: float) -> Quantile:
        fraction, most = checked_fraction(q), limit(confidence)
        size = len(self.laws)
        inner, reach = range(1, size), (fraction, most)
        # F may be q or more from some edge on, and q or less up to another.
        low = bisect(inner, False, key=lambda edge: self._accepts(edge, *reach, 1)) - 1
        high = bisect(inner, False, key=lambda edge: not self._accepts(edge, *reach, -1)) + 2
        edges = np.linspace(0, 1, size + 1)
        ends = edges[max(low, 0)], edges[min(high, size)]
        cumulative = np.concatenate([[0.0], np.cumsum(self.fit)])
        point = np.interp(fraction, cumulative, np.linspace(0, 1, cumulative.size))
        positions = np.array([np.clip(point, *ends), *ends])
        value, low_end, high_end = (self.low + (self.high - self.low) * positions).tolist()
        return Quantile(fraction, value, low_end, high_end, confidence)

    @cached_property
    def _profile(self) -> Profile:
        centre = smoothed_em(self.counts, self.laws, np.ones(len(self.laws)), _SLIGHT).values
        return Profile(self.counts, self.laws, centre)

    def _accepts(self, edge: int, q: float, most: float, sign: int) -> bool:
        """Whether F(edge) may be at least q (sign 1) or at most q (−1)."""
        below = (np.arange(len(self.laws)) < edge).astype(float)
        if sign * (float(below @ self._profile.fitted) - q) >= 0:
            return True
        return self._profile.loss(below, q) <= most
