"""Weights that look at how alike the groups are, and the error of what they give.

Both predictions are Σ ω_j ψ̂_j with weights that depend on the estimates through one number only,
how far they lie apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..estimate import Floats
from .groups import Groups
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
    gap = groups.values - a @ groups.values / a.sum()
    q = float(a @ np.einsum("jk,jk->j", gap, gap))
    between = max(0.0, (q - (a.size - 1)) / float(a.sum() - (a @ a) / a.sum()))
    g = 1 / (own + between + noise)
    keep = (own + between) * g
    return np.asarray(sizes * keep + float(sizes @ (1 - keep)) * g / g.sum())


def _adaptive(groups: Groups) -> Floats:
    """Pooled, moved towards post-stratified by ω = max(0, 1 − max(d−3, 0)/(d−1) · Σv_Z / ΣZ²)."""
    weights, sizes = pooled(groups), groups.sizes
    gap = (sizes - weights) @ groups.values
    d = groups.values.shape[1]
    extra = float(((sizes**2 - weights**2) @ groups.variance).sum())
    extra -= groups.scatter * float((weights**2 / groups.people).sum() - 1 / groups.people.sum())
    part = max(d - 3, 0) / (d - 1) if d > 1 else 0.0
    squared = float(gap @ gap)
    move = 1.0 if squared == 0 else max(0.0, 1 - part * max(extra, 0.0) / squared)
    return np.asarray(weights + move * (sizes - weights))


PREDICTIONS: dict[str, Callable[[Groups], Floats]] = {"hybrid": _hybrid, "adaptive": _adaptive}


def noise_and_lean(groups: Groups, weights: Floats) -> Floats:
    """Mean squared error of a prediction: its noise, and how far off it may lean.

    The shift Z = Σ (ω_j − n_j/n) ψ̂_j from the unbiased estimate has noise v, so that Z² − v is the
    squared lean, on average. For one value that is too noisy to go by, unless Z is beyond twice
    its noise; else the mean over all values is taken, and one standard error more: groups are
    drawn together where little is seen of their difference, not where there is little of it. A
    bootstrap from the prediction cannot know that, and covers too seldom where groups differ.
    """
    shift = weights - groups.sizes
    moved, noise = (shift @ groups.values) ** 2, shift**2 @ groups.variance
    doubt = math.sqrt(2 * float(noise @ noise)) / noise.size
    whole = max(float((moved - noise).mean()) + doubt, 0.0)
    alone = np.where(moved > _SEEN**2 * noise, moved - noise, 0.0)
    return np.asarray(weights**2 @ groups.variance + np.maximum(alone, whole))
