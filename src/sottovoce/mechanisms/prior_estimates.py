"""Estimates from reports of a channel, with and without relying on the prior.

With output fractions c/n, Q the channel and λ = P Q::

    unbiased   G (c/n),  G = (Q Λ⁻¹ Qᵀ)⁻¹ Q Λ⁻¹: unbiased, with the lowest variance at P
    mle        the maximum of Σ c_y log (f Q)_y
    mmse       Post (c/n),  Post_xy = P_x Q(y|x) / λ_y
               its bias (Post Qᵀ − I) f does not shrink with n
    shrunk     P + S (S + V)⁻¹ (u − P)
               S = [diag(P) − P Pᵀ] / n + τ² (I − 1/d) d / (d − 1)

where V is the noise of the unbiased u and τ the stated deviation of each fraction from the prior;
τ = 0 gives mmse and τ = ∞ gives u. For two values mmse is P + ρ² (u − P) with
ρ² = P_0 P_1 κ² / (λ_0 λ_1), so its bias is (1 − ρ²)(P − f), and shrunk is P + w (u − P),
w = (s² + τ²) / (s² + τ² + v), s² = P_0 P_1 / n.

Under some channels different fractions give the same reports, and a set of distributions agrees
with them. With c_y of n reports being y, each output's probability lies within a score interval at
the confidence 1 − α/k over its k outputs (Bonferroni), so all of them do at once with probability
1 − α; the interval of a fraction f_x is the range that linear programming finds for it::

    min, max f_x   over   f ≥ 0,  Σ f = 1,  low_y ≤ Σ_x f_x Q(y|x) ≤ high_y

It contains whatever a posterior mean or a likelihood picks from the set, and does not rely on the
prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..estimate.intervals import Floats, Interval, ScoreInterval, normal_quantile
from ..estimate.likelihood import Fit

_WORST_CONDITION = 1e12
_MOST_VALUES = 64


def inverse(channel: Floats, prior: Floats) -> Floats | None:
    """G, or None where the channel cannot be inverted."""
    weighted = channel / (prior @ channel)
    information = weighted @ channel.T
    scale = 1 / np.sqrt(np.diag(information))  # rare values may be many powers of ten away
    scaled = information * scale * scale[:, None]
    if channel.shape[1] < channel.shape[0] or np.linalg.cond(scaled) > _WORST_CONDITION:
        return None
    return np.asarray(scale[:, None] * np.linalg.solve(scaled, scale[:, None] * weighted))


def shrunk(u: Floats, prior: Floats, noise: Floats, sd: float, n: int) -> Floats:
    """shrunk, for fractions that deviate from the prior by sd.

    `noise` is the covariance matrix of u, or only its diagonal: then values are shrunk one by one.
    """
    if noise.ndim == 1:
        scale = prior * (1 - prior) / n + sd**2
        return np.asarray(prior + scale / (scale + noise) * (u - prior))
    d = prior.size
    spread = (np.diag(prior) - np.outer(prior, prior)) / n
    spread += sd**2 * (np.eye(d) - 1 / d) * d / (d - 1)
    basis = np.linalg.qr(np.eye(d)[:, 1:] - 1 / d)[0]  # of what sums to zero
    inner = basis.T @ (spread + noise) @ basis
    weight = spread @ basis @ np.linalg.solve(inner, basis.T)
    return np.asarray(prior + weight @ (u - prior))


def fit_mixing(fractions: Floats, keep: float, rest: Floats) -> Fit:
    """Maximise Σ c_y log(rest_y + keep f_y) over distributions, in closed form.

    At the maximum every positive f_y has rest_y + keep f_y = τ c_y; by falling c_y / rest_y, values
    are kept while theirs stays above rest_y.
    """
    order = np.argsort(-fractions / rest, kind="stable")
    seen, noise = np.cumsum(fractions[order]), np.cumsum(rest[order])
    scale = (keep + noise) / seen
    kept = np.flatnonzero(scale * fractions[order] > rest[order])[-1]
    values = np.maximum(scale[kept] * fractions - rest, 0.0) / keep
    return Fit(values / values.sum(), 1, True)


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
