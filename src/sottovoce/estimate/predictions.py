"""Estimates that look at how alike the groups are, and shrink them towards each other.

Their errors and intervals are those of the post-stratified estimate, which hold whatever the
groups are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .groups import Groups
from .intervals import Floats
from .weights import pooled

_TINY = 1e-300
_TRANSLATION = 0.31  # standard errors that a contrast of few values is moved at most


def _james_stein(groups: Groups) -> Floats:
    """Independent contrasts between the groups, each shrunk on its own.

    With the groups in the order of their precision a_j (most precise first), A_k = Σ_{j≤k} a_j and
    P_k = Σ_{j≤k} a_j ψ̂_j / A_k, the contrasts Z_k = ψ̂_k − P_{k−1} are uncorrelated with each
    other and with P_H. The post-stratified estimate is

        S = P_H + Σ_{k≥2} c_k Z_k,   c_k = s_k − (a_k / A_k) Σ_{j≤k} s_j,   s_j = n_j / n

    and the estimate is the same with B_k Z_k in place of Z_k. With C_k the variances of Z_k over d
    values, of which m are free (d − 1 fractions), and Q_k = (m / d) Σ Z_kv² / C_kv,

        B_k = max(0, 1 − (m_k − 2) / Q_k)        for m ≥ 3 (James and Stein 1961, positive part)
        B_k = max(0, 1 − .31 √m / √Q_k)          for fewer (a limited translation)

    where m_k = Σ C_k / max C_k − (d − m) is Bock's effective dimension (1975). Since the Z_k and
    P_H are uncorrelated, each step of the first kind lowers the total squared error whatever the
    groups are, and one of the second raises it by at most .31² = 9.6 %.
    """
    fractions = groups.answers_vary is None
    order = np.argsort(groups.noise, kind="stable")
    values, variance = groups.values[order], groups.variance[order]
    precision, sizes = 1 / groups.noise[order], groups.sizes[order]
    free = max(values.shape[-1] - fractions, 1)
    mean, spread = values[0], variance[0]
    shifted = np.zeros_like(mean)
    reach, weight = precision[0], sizes[0]
    for k in range(1, len(values)):
        contrast, noise = values[k] - mean, np.maximum(variance[k] + spread, _TINY)
        reach, weight = reach + precision[k], weight + sizes[k]
        part = precision[k] / reach
        kept = _kept(contrast, noise, free)
        shifted = shifted + (sizes[k] - part * weight) * kept * contrast
        mean = mean + part * contrast
        spread = (1 - part) ** 2 * spread + part**2 * variance[k]
    return np.asarray(mean + shifted)


def _kept(contrast: Floats, noise: Floats, free: int) -> float:
    """B_k, how much of a contrast is kept."""
    size = contrast.size
    distance = free / size * float((contrast**2 / noise).sum())
    if distance <= 0:
        return 0.0
    if free < 3:
        return max(0.0, 1 - _TRANSLATION * math.sqrt(free / distance))
    dimension = float(noise.sum() / noise.max()) - (size - free)
    return max(0.0, 1 - max(dimension - 2, 0.0) / distance)


def _hybrid(groups: Groups) -> Floats:
    """Random-effects prediction.

    v_j = V_j/n_j + D/n_j;  a = 1/v;  Q = Σ a_j ‖ψ̂_j − ψ̄‖²;
    τ² = max(0, (Q − (H − 1)) / (Σa − Σa²/Σa));  T_j = D/n_j + τ²;  B_j = T_j / (T_j + V_j/n_j);
    ψ_G the mean of the groups with weights 1 / (T_j + V_j/n_j);
    estimate Σ (n_j/n) [B_j ψ̂_j + (1 − B_j) ψ_G]
    """
    noise, sizes = groups.noise, groups.sizes
    own = groups.scatter / groups.people
    a = 1 / (noise + own)
    whole = a.sum()
    gap = groups.values - a @ groups.values / whole
    q = float(a @ (gap**2).sum(axis=1))
    between = max(0.0, (q - (a.size - 1)) / float(whole - (a * a).sum() / whole))
    g = 1 / (own + between + noise)
    keep = (own + between) * g
    weights = sizes * keep + (sizes @ (1 - keep)) * g / g.sum()
    return np.asarray(weights @ groups.values)


def _adaptive(groups: Groups) -> Floats:
    """Pooled, moved towards post-stratified by ω = max(0, 1 − max(d−3, 0)/(d−1) · Σv_Z / ΣZ²)."""
    weights, sizes = pooled(groups), groups.sizes
    gap = (sizes - weights) @ groups.values
    extra = float(((sizes**2 - weights**2) @ groups.variance).sum())
    extra -= groups.scatter * groups.mix(weights)
    part = max(gap.size - 3, 0) / (gap.size - 1) if gap.size > 1 else 0.0
    squared = float(gap @ gap)
    move = max(1 - part * max(extra, 0.0) / squared, 0.0) if squared > 0 else 1.0
    return np.asarray((weights + move * (sizes - weights)) @ groups.values)


PREDICTIONS: dict[str, Callable[[Groups], Floats]] = {
    "james-stein": _james_stein,
    "hybrid": _hybrid,
    "adaptive": _adaptive,
}
