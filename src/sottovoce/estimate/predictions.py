"""Weights that look at how alike the groups are, and the error of what they give.

Both predictions are Σ ω_j ψ̂_j with weights that depend on the estimates through one number only,
how far they lie apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .estimate import Floats
from .groups import Groups, summed, total
from .weights import pooled

_SEEN = 2.0  # standard deviations from which on a single value's shift is taken for real


def _hybrid(groups: Groups) -> Floats:
    """Weights of the random-effects prediction.

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
    return np.asarray(sizes * keep + total(sizes * (1 - keep)) * g / total(g))


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
    return np.asarray(weights + np.maximum(move, 0.0) * (sizes - weights))


PREDICTIONS: dict[str, Callable[[Groups], Floats]] = {"hybrid": _hybrid, "adaptive": _adaptive}


def squared_lean(groups: Groups, weights: Floats) -> Floats:
    """How far off a prediction may lean, squared: what its mean squared error has beside noise.

    The shift Z = Σ (ω_j − n_j/n) ψ̂_j from the unbiased estimate has noise v, so that Z² − v is the
    squared lean, on average. For one value that is too noisy to go by, unless Z is beyond twice
    its noise; else the mean over all values is taken, and one standard error more: groups are
    drawn together where little is seen of their difference, not where there is little of it. A
    bootstrap from the prediction cannot know that, and covers too seldom where groups differ.
    """
    shift, noise = groups.sum(weights - groups.sizes)
    moved = shift**2
    lean = moved - noise
    whole = np.maximum(total(lean) + np.sqrt(2 * total(noise**2)), 0.0) / noise.shape[-1]
    alone = np.where(moved > _SEEN**2 * noise, lean, 0.0)
    return np.asarray(np.maximum(alone, whole))
