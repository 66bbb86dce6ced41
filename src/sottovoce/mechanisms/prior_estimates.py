"""Estimates from reports of a channel, with and without leaning on the prior.

With output shares c/n, Q the channel and λ = P Q:

unbiased   G (c/n),  G = (Q Λ⁻¹ Qᵀ)⁻¹ Q Λ⁻¹: the unbiased combination of least variance at P
mle        the maximum of Σ c_y log (f Q)_y
mmse       Post (c/n),  Post_xy = P_x Q(y|x) / λ_y; bias (Post Qᵀ − I) f, which n does not shrink
shrunk     P + w (u − P),  w = (s² + τ²) / (s² + τ² + v),  s² = P (1 − P) / n, v the noise of u

For two values mmse is P + ρ² (u − P) with ρ² = P_0 P_1 κ² / (λ_0 λ_1), so its bias is
(1 − ρ²)(P − f). τ = 0 gives it back from shrunk, τ = ∞ gives u.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..estimate import Floats
from ..likelihood import Fit

_WORST_CONDITION = 1e12


def output_covariance(channel: Floats, f: Floats) -> Floats:
    """Covariance of one report's indicator, averaged over people with shares f."""
    return np.asarray(np.diag(f @ channel) - (channel * f[:, None]).T @ channel)


def inverse(channel: Floats, prior: Floats) -> Floats | None:
    """G, or None where the channel cannot be inverted."""
    weight = 1 / (prior @ channel)
    information = (channel * weight) @ channel.T
    few = channel.shape[1] < channel.shape[0]
    if few or np.linalg.cond(information) > _WORST_CONDITION:
        return None
    return np.asarray(np.linalg.solve(information, channel * weight))


def posterior(prior: Floats, channel: Floats) -> Floats:
    """P(x|y), inputs by outputs."""
    joint = prior[:, None] * channel
    return np.asarray(joint / joint.sum(axis=0))


def posterior_means(
    prior: Floats, channel: Floats, score: Floats | None, shares: Floats, n: int
) -> tuple[Floats, Floats]:
    """mmse, and its variance with, where the channel can be inverted, the bias that is seen."""
    post = posterior(prior, channel)
    values = post @ shares
    noise = output_covariance(channel, values) / n  # posterior means are a distribution
    variance = np.einsum("xy,yz,xz->x", post, noise, post)
    if score is not None:
        gap = post - score
        of_gap = np.einsum("xy,yz,xz->x", gap, noise, gap)
        variance = variance + np.maximum((gap @ shares) ** 2 - of_gap, 0.0)
    return np.asarray(values), np.asarray(variance)


def shrunk(u: Floats, prior: Floats, noise: Floats, sd: float, n: int) -> tuple[Floats, Floats]:
    """shrunk, and its mean squared error over shares that deviate from the prior by sd."""
    scale = prior * (1 - prior) / n + sd**2
    weight = scale / (scale + noise)
    values = prior + weight * (u - prior)
    return np.asarray(values), np.asarray(weight**2 * noise + (1 - weight) ** 2 * scale)


def checked_sd(given: Any) -> float:
    """The stated standard deviation of the prior."""
    good = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not good or not 0 <= given < math.inf:
        raise ParameterError(f"prior_sd is {given!r}; it must be a number from 0 on")
    return float(given)


def fit_mixing(shares: Floats, keep: float, rest: Floats) -> Fit:
    """Maximise Σ c_y log(rest_y + keep f_y) over distributions, in closed form.

    At the maximum every positive f_y has rest_y + keep f_y = τ c_y; by falling c_y / rest_y, values
    are kept while theirs stays above rest_y.
    """
    order = np.argsort(-shares / rest, kind="stable")
    seen, noise = np.cumsum(shares[order]), np.cumsum(rest[order])
    scale = (keep + noise) / seen
    kept = np.flatnonzero(scale * shares[order] > rest[order])[-1]
    values = np.maximum(scale[kept] * shares - rest, 0.0) / keep
    return Fit(values / values.sum(), 1, True)
