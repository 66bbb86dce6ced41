"""Valid distributions near an estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .intervals import Floats


def _norm_sub(values: Floats, variance: Floats) -> Floats:
    """max(values - c, 0) with the c that makes the sum one."""
    return _simplex(values, np.ones_like(values))


def _simplex_weighted(values: Floats, variance: Floats) -> Floats:
    """max(values - c variance, 0) with the c that makes the sum one."""
    return _simplex(values, np.maximum(variance, np.finfo(float).tiny))


def _simplex(values: Floats, weight: Floats) -> Floats:
    """Minimise Σ (x - values)² / weight over distributions x.

    The solution is max(values - c weight, 0); with values sorted by values / weight, those kept
    are the first k for the largest k whose last one stays positive.
    """
    order = np.argsort(-values / weight, kind="stable")
    c = (np.cumsum(values[order]) - 1) / np.cumsum(weight[order])
    kept = np.flatnonzero(values[order] > c * weight[order])[-1]
    projected: Floats = np.maximum(values - c[kept] * weight, 0.0)
    return projected


PROJECTIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "norm-sub": _norm_sub,
    "simplex-weighted": _simplex_weighted,
}
