"""Estimates from reports of a channel, with and without leaning on the prior.

With output shares c/n, Q the channel and λ = P Q::

    unbiased   G (c/n),  G = (Q Λ⁻¹ Qᵀ)⁻¹ Q Λ⁻¹: unbiased, with the least variance at P
    mle        the maximum of Σ c_y log (f Q)_y
    mmse       Post (c/n),  Post_xy = P_x Q(y|x) / λ_y
               its bias (Post Qᵀ − I) f does not shrink with n
    shrunk     P + S (S + V)⁻¹ (u − P)
               S = [diag(P) − P Pᵀ] / n + τ² (I − 1/d) d / (d − 1)

where V is the noise of the unbiased u and τ the stated deviation of each share from the prior;
τ = 0 gives mmse and τ = ∞ gives u. For two values mmse is P + ρ² (u − P) with
ρ² = P_0 P_1 κ² / (λ_0 λ_1), so its bias is (1 − ρ²)(P − f), and shrunk is P + w (u − P),
w = (s² + τ²) / (s² + τ² + v), s² = P_0 P_1 / n.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..estimate.intervals import Floats
from ..estimate.likelihood import Fit

_WORST_CONDITION = 1e12


def output_covariance(channel: Floats, f: Floats) -> Floats:
    """Covariance of one report's indicator, averaged over people with shares f."""
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


def posterior_means(
    prior: Floats, channel: Floats, score: Floats | None, shares: Floats, n: int
) -> tuple[Floats, Floats]:
    """mmse, and its variance with, where the channel can be inverted, the bias that is seen."""
    joint = prior[:, None] * channel
    post = joint / joint.sum(axis=0)
    values = post @ shares
    noise = output_covariance(channel, values) / n  # posterior means are a distribution
    variance = ((post @ noise) * post).sum(axis=1)
    if score is not None:
        gap = post - score
        variance = variance + _seen(gap @ shares, ((gap @ noise) * gap).sum(axis=1))
    return np.asarray(values), np.asarray(variance)


def mixed_posterior_means(
    prior: Floats, keep: float, rest: Floats, shares: Floats, n: int
) -> tuple[Floats, Floats]:
    """The same where Q(y|x) = rest_y + keep 1{x=y}, without any matrix.

    Then Post_xy = P_x (a_y + b_y 1{x=y}) with a = rest / λ and b = keep / λ, and every estimate
    here is a sum of α_x a_Y and γ_x 1{x=Y} over the reports Y.
    """
    seen = rest + keep * prior
    a, b = rest / seen, keep / seen
    values = prior * (a @ shares + b * shares)
    mean = a @ rest + keep * a  # of a_Y, for each answer
    law = rest + keep * values
    of_a = float((a**2) @ law - values @ mean**2)
    both = a * law - (rest * (values @ mean) + keep * values * mean)
    own = rest * (1 - rest) + keep * values * (1 - 2 * rest - keep)

    def noise(alpha: Floats, gamma: Floats) -> Floats:
        return np.asarray((alpha**2 * of_a + 2 * alpha * gamma * both + gamma**2 * own) / n)

    variance = noise(prior, prior * b)
    gap = values - (shares - rest) / keep
    return values, np.asarray(variance + _seen(gap, noise(prior, prior * b - 1 / keep)))


def _seen(gap: Floats, noise: Floats) -> Floats:
    """Squared bias, from the distance to an unbiased estimate less what noise makes of it."""
    return np.asarray(np.maximum(gap**2 - noise, 0.0))


def mmse_total(prior: Floats, channel: Floats) -> float:
    """1 − Σ_y Σ_x (P_x Q(y|x))² / λ_y: one person's squared error, total over the values."""
    joint = prior[:, None] * channel
    return float(1 - (joint**2 / joint.sum(axis=0)).sum())


def mixed_mmse_total(prior: Floats, keep: float, rest: Floats) -> float:
    """The same where Q(y|x) = rest_y + keep 1{x=y}."""
    squares = rest**2 * (prior @ prior) + (2 * rest + keep) * keep * prior**2
    return float(1 - (squares / (rest + keep * prior)).sum())


# --- a prior with a stated error ----------------------------------------------------------------


def shrunk(u: Floats, prior: Floats, noise: Floats, sd: float, n: int) -> tuple[Floats, Floats]:
    """shrunk, and its mean squared error over shares that deviate from the prior by sd.

    `noise` is the covariance matrix of u, or only its diagonal: then values are shrunk one by one.
    """
    if noise.ndim == 1:
        scale = prior * (1 - prior) / n + sd**2
        weight = scale / (scale + noise)
        values = prior + weight * (u - prior)
        return np.asarray(values), np.asarray(weight**2 * noise + (1 - weight) ** 2 * scale)
    d = prior.size
    spread = (np.diag(prior) - np.outer(prior, prior)) / n
    spread += sd**2 * (np.eye(d) - 1 / d) * d / (d - 1)
    basis = np.linalg.qr(np.eye(d)[:, 1:] - 1 / d)[0]  # of what sums to zero
    inner = basis.T @ (spread + noise) @ basis
    weight = spread @ basis @ np.linalg.solve(inner, basis.T)
    left = spread - weight @ spread
    return np.asarray(prior + weight @ (u - prior)), np.maximum(np.diag(left), 0.0)


def checked_sd(given: Any) -> float:
    """The stated standard deviation of the prior."""
    good = isinstance(given, Real) and not isinstance(given, bool)
    if not good or not 0 <= float(given) < math.inf:
        raise ParameterError(f"prior_sd is {given!r}; it must be a number from 0 on")
    return float(given)


def whole_people(shares: Floats, n: int) -> NDArray[np.int64]:
    """n people with these shares, as nearly as whole people can have them."""
    exact = np.clip(shares, 0, None)
    exact = exact / exact.sum() * n
    people: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    short = n - int(people.sum())
    people[np.argsort(people - exact, kind="stable")[:short]] += 1
    return people


# --- maximum likelihood -------------------------------------------------------------------------


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
