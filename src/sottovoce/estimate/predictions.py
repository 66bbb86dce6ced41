"""Estimates that look at how alike the groups are, and shrink them towards each other.

Their errors and intervals are those of the post-stratified estimate, which hold whatever the
groups are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .groups import Groups, summed, total
from .intervals import Floats
from .weights import pooled

_TINY = 1e-300
_SOFT = 0.46  # of limited translation: how many standard errors a contrast is moved at most


def _james_stein(groups: Groups) -> Floats:
    """Independent contrasts between the groups, each shrunk on its own.

    With the groups in the order of their precision a_j (most precise first), A_k = Σ_{j≤k} a_j and
    P_k = Σ_{j≤k} a_j ψ̂_j / A_k, the contrasts Z_k = ψ̂_k − P_{k−1} are uncorrelated with each
    other and with P_H. The post-stratified estimate is

        S = P_H + Σ_{k≥2} c_k Z_k,   c_k = s_k − (a_k / A_k) Σ_{j≤k} s_j,   s_j = n_j / n

    and the estimate is the same with B_k Z_k in place of Z_k: for at least three free values
    B_k = max(0, 1 − (m − 2) / Q_k), where Q_k = Σ Z_kv² / C_kv with C_k the variances of Z_k, and
    m = Σ C_k / max C_k (Bock 1975), less one for fractions; for fewer, Z_k is moved towards zero by
    at most .46 √m / √(H − 1) standard errors (Efron and Morris 1972, limited translation).
    Since the Z_k and P_H are uncorrelated, each step can only lower the total squared error.
    """
    fractions = groups.answers_vary is None
    order = np.argsort(groups.noise, kind="stable")
    values, variance = groups.values[order], groups.variance[order]
    precision, sizes = 1 / groups.noise[order], groups.sizes[order]
    free = values.shape[-1] - fractions
    mean, spread = values[0], variance[0]
    shifted = np.zeros_like(mean)
    reach, weight = precision[0], sizes[0]
    for k in range(1, len(values)):
        contrast, noise = values[k] - mean, np.maximum(variance[k] + spread, _TINY)
        reach, weight = reach + precision[k], weight + sizes[k]
        part = precision[k] / reach
        if free >= 3:
            shrunk = contrast * _kept(contrast, noise, fractions)
        else:
            most = _SOFT * math.sqrt(max(free, 1) / (len(values) - 1)) * np.sqrt(noise)
            shrunk = contrast - np.clip(contrast, -most, most)
        shifted = shifted + (sizes[k] - part * weight) * shrunk
        mean = mean + part * contrast
        spread = (1 - part) ** 2 * spread + part**2 * variance[k]
    return np.asarray(mean + shifted)


def _kept(contrast: Floats, noise: Floats, fractions: bool) -> float:
    """B_k, how much of a contrast is kept."""
    dimension = float(noise.sum() / noise.max()) - fractions
    distance = float((contrast**2 / noise).sum())
    return max(0.0, 1 - max(dimension - 2, 0.0) / distance) if distance > 0 else 0.0


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
    whole = total(a)
    gap = groups.values - (summed(a, groups.values) / whole)[..., None, :]
    q = total(a * np.einsum("...k,...k->...", gap, gap))
    between = np.maximum(0.0, (q - (a.shape[-1] - 1)) / (whole - total(a * a) / whole))
    g = 1 / (own + between + noise)
    keep = (own + between) * g
    weights = sizes * keep + total(sizes * (1 - keep)) * g / total(g)
    return summed(weights, groups.values)


def _adaptive(groups: Groups) -> Floats:
    """Pooled, moved towards post-stratified by ω = max(0, 1 − max(d−3, 0)/(d−1) · Σv_Z / ΣZ²)."""
    weights, sizes = pooled(groups), groups.sizes
    gap = summed(sizes - weights, groups.values)
    d = gap.shape[-1]
    extra = total(summed(sizes**2 - weights**2, groups.variance))
    extra -= groups.scatter * groups.mix(weights)
    part = max(d - 3, 0) / (d - 1) if d > 1 else 0.0
    squared, kept = total(gap**2), part * np.maximum(extra, 0.0)
    move = 1 - np.divide(kept, squared, out=np.zeros_like(kept), where=squared > 0)
    return summed(weights + np.maximum(move, 0.0) * (sizes - weights), groups.values)


PREDICTIONS: dict[str, Callable[[Groups], Floats]] = {
    "james-stein": _james_stein,
    "hybrid": _hybrid,
    "adaptive": _adaptive,
}
