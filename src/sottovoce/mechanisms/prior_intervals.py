"""Intervals for channels under which different fractions give the same reports.

Such a channel leaves a set of distributions that all agree with the reports. With c_y of n reports
being y, each output's probability lies within a score interval at the confidence 1 − α/k over its
k outputs (Bonferroni), so all of them do at once with probability 1 − α; the interval of a
fraction f_x is the range that linear programming finds for it:

    min, max f_x   over   f ≥ 0,  Σ f = 1,  low_y ≤ Σ_x f_x Q(y|x) ≤ high_y

It contains whatever a posterior mean or a likelihood picks from the set, and does not rely on the
prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..estimate.intervals import Floats, Interval, ScoreInterval, normal_quantile

_MOST_VALUES = 64


@dataclass(frozen=True, eq=False)
class IdentifiedInterval:
    """The range of each fraction that the reports allow; call it with the confidence."""

    channel: Floats  # Q(y|x), answers by rows
    counts: NDArray[np.int64]  # c_y
    n: int

    def __call__(self, confidence: float) -> Interval:
        normal_quantile(confidence)  # refuses an invalid confidence
        size, outputs = self.channel.shape
        if size > _MOST_VALUES:  # as many linear programs would take too long: nothing is claimed
            return Interval(np.zeros(size), np.ones(size))
        observed = self.counts / self.n
        # People's answers are fixed, so a count varies less than a binomial one.
        each = ScoreInterval(observed, 0.0, 0.0, 1 / self.n, 0.5 / self.n)
        low, high = each(1 - (1 - confidence) / outputs)
        ends = [self._ends(x, np.maximum(low, 0), np.minimum(high, 1)) for x in range(size)]
        return Interval(*np.array(ends).T)

    def _ends(self, x: int, low: Floats, high: Floats) -> tuple[float, float]:
        from scipy.optimize import linprog

        size = len(self.channel)
        target = np.zeros(size)
        target[x] = 1.0
        within = np.concatenate([self.channel.T, -self.channel.T]), np.concatenate([high, -low])
        ends = []
        for sign in (1.0, -1.0):
            solution = linprog(sign * target, *within, np.ones((1, size)), [1.0], bounds=(0, 1))
            # Reports that no distribution could have given leave nothing to claim.
            ends.append(float(solution.x[x]) if solution.success else (1 - sign) / 2)
        return ends[0], ends[1]

    def variance(self, values: Floats) -> Floats:
        """The square of half the 95 % interval over 1.96, for tables of standard errors."""
        low, high = self(0.95)
        half = np.maximum(values - low, high - values)
        return np.asarray((half / normal_quantile(0.95)) ** 2)
