"""Valid distributions near an estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ParameterError
from .intervals import Floats


def simplex(values: Floats, weight: Floats | None = None) -> Floats:
    """Minimise Σ (x - values)² / weight over distributions x.

    The solution is max(values - c weight, 0); with values sorted by values / weight, those kept
    are the first k for the largest k whose last one stays positive.
    """
    weight = np.ones_like(values) if weight is None else weight
    order = np.argsort(-values / weight, kind="stable")
    c = (np.cumsum(values[order]) - 1) / np.cumsum(weight[order])
    kept = np.flatnonzero(values[order] > c * weight[order])[-1]
    projected: Floats = np.maximum(values - c[kept] * weight, 0.0)
    return projected


#: From values and their variances to max(values − c w, 0), w one or the variance, that sums to one.
PROJECTIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "norm-sub": lambda values, _: simplex(values),
    "simplex-weighted": lambda values, variance: simplex(
        values, np.maximum(variance, np.finfo(float).tiny)
    ),
}


def check_projection(method: str) -> None:
    """Refuse a method that is not in the table."""
    if method not in PROJECTIONS:
        raise ParameterError(
            f"there is no projection {method!r}; available: {', '.join(map(repr, PROJECTIONS))}"
        )
