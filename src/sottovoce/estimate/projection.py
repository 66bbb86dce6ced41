"""Valid distributions near an estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ParameterError
from .intervals import Floats


def simplex(tables: Floats) -> Floats:
    """The nearest distribution to each table along the last axis, in Euclidean distance.

    max(x − c_k/k, 0), with u = x sorted decreasingly, c_j = Σ_{i≤j} u_i − 1 and k the largest j
    with u_j > c_j/j.
    """
    tables = np.asarray(tables, float)
    down = -np.sort(-tables, axis=-1)
    excess = (np.cumsum(down, axis=-1) - 1) / np.arange(1, tables.shape[-1] + 1)
    kept = (down > excess).sum(axis=-1, keepdims=True) - 1
    projected: Floats = np.maximum(tables - np.take_along_axis(excess, kept, -1), 0.0)
    return projected


def _weighted(values: Floats, variance: Floats) -> Floats:
    """The same where Σ (x − values)² / variance is to be least: max(values − c variance, 0)."""
    weight = np.maximum(variance, np.finfo(float).tiny)
    order = np.argsort(-values / weight, kind="stable")
    c = (np.cumsum(values[order]) - 1) / np.cumsum(weight[order])
    kept = np.flatnonzero(values[order] > c * weight[order])[-1]
    projected: Floats = np.maximum(values - c[kept] * weight, 0.0)
    return projected


#: From values and their variances to max(values − c w, 0), w one or the variance, that sums to one.
PROJECTIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "norm-sub": lambda values, _: simplex(values),
    "simplex-weighted": _weighted,
}


def check_projection(method: str) -> None:
    """Refuse a method that is not in the table."""
    if method not in PROJECTIONS:
        raise ParameterError(
            f"there is no projection {method!r}; available: {', '.join(map(repr, PROJECTIONS))}"
        )
