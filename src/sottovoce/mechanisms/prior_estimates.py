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
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..estimate.intervals import Floats
from ..estimate.likelihood import Fit

_WORST_CONDITION = 1e12


def output_covariance(channel: Floats, f: Floats) -> Floats:
    """Covariance of one report's indicator, averaged over people with fractions f."""
    return np.asarray(np.diag(f @ channel) - (channel * f[:, None]).T @ channel)


def inverse(channel: Floats, prior: Floats) -> Floats | None:
    """G, or None where the channel cannot be inverted."""
    weighted = channel / (prior @ channel)
    information = weighted @ channel.T
    scale = 1 / np.sqrt(np.diag(information))  # rare values may be many powers of ten away
    scaled = information * scale * scale[:, None]
    if channel.shape[1] < channel.shape[0] or np.linalg.cond(scaled) > _WORST_CONDITION:
        return None
    return np.asarray(scale[:, None] * np.linalg.solve(scaled, scale[:, None] * weighted))


# --- posterior means ----------------------------------------------------------------------------


def posterior_means(prior: Floats, channel: Floats, observed: Floats) -> Floats:
    """mmse from the fractions of the outputs."""
    joint = prior[:, None] * channel
    return np.asarray((joint / joint.sum(axis=0)) @ observed)


def mixed_posterior_means(prior: Floats, keep: float, rest: Floats, observed: Floats) -> Floats:
    """The same where Q(y|x) = rest_y + keep 1{x=y}, without any matrix.

    Then Post_xy = P_x (a_y + b_y 1{x=y}) with a = rest / λ and b = keep / λ.
    """
    seen = rest + keep * prior
    return np.asarray(prior * (rest / seen @ observed + keep / seen * observed))


def mmse_total(prior: Floats, channel: Floats) -> float:
    """1 − Σ_y Σ_x (P_x Q(y|x))² / λ_y: one person's squared error, total over the values."""
    joint = prior[:, None] * channel
    return float(1 - (joint**2 / joint.sum(axis=0)).sum())


def mixed_mmse_total(prior: Floats, keep: float, rest: Floats) -> float:
    """The same where Q(y|x) = rest_y + keep 1{x=y}."""
    squares = rest**2 * (prior @ prior) + (2 * rest + keep) * keep * prior**2
    return float(1 - (squares / (rest + keep * prior)).sum())


# --- a prior with a stated error ----------------------------------------------------------------


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


def checked_sd(sd: Any) -> float:
    """The stated standard deviation of the prior."""
    good = isinstance(sd, Real) and not isinstance(sd, bool)
    if not good or not 0 <= float(sd) < math.inf:
        raise ParameterError(f"prior_sd is {sd!r}; it must be a number of at least 0")
    return float(sd)


# --- maximum likelihood -------------------------------------------------------------------------


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
