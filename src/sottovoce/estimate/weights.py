"""Weights of groups that depend on their sizes and noise alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ParameterError

if TYPE_CHECKING:
    from .groups import Groups
from .intervals import Floats


def person_weights(noise: ArrayLike, people: ArrayLike, *, method: str) -> Floats:
    """000's weights per person, which sum to one over the levels.

    Parameters
    ----------
    noise : array-like
        V_j, the variance of one person's report at each level.
    people : array-like
        n_j.
    method : {"yang-variance", "yang-optimised"}
        Eq. 4, w_j = (1 / V_j) / Σ (1 / V_i); or Solution 1, the numerical minimum of
        Σ n_j w_j² V_j / (Σ n_j w_j)² over weights between 0 and 1 that sum to 1.

    Examples
    --------
    >>> noise = 1 / np.expm1([0.1, 0.4, 0.7, 1.0])
    >>> person_weights(noise, [250] * 4, method="yang-variance").round(4).tolist()
    [0.0316, 0.1477, 0.3045, 0.5162]
    """
    v, n = np.asarray(noise, float), np.asarray(people, float)
    if v.ndim != 1 or v.shape != n.shape or not ((v > 0).all() and (n > 0).all()):
        raise ParameterError(
            f"noise is {noise!r} and people {people!r}; give one positive number each per level"
        )
    if method == "yang-variance":
        return np.asarray((1 / v) / (1 / v).sum())
    if method == "yang-optimised":
        return _optimise(v, n)
    raise ParameterError(f"method is {method!r}; allowed are 'yang-variance' and 'yang-optimised'")


def _optimise(v: Floats, n: Floats) -> Floats:
    """Solution 1. Sum and bounds hold by w = softmax(x); the objective is scaled to be near one."""
    from scipy.optimize import minimize

    def error(x: Floats) -> tuple[float, Floats]:
        w = np.exp(x - x.max())
        w /= w.sum()
        total = float(n @ w)
        value = float((n * v) @ w**2) / total**2
        slope = 2 * n / total**2 * (w * v - value * total)
        return value * scale, w * (slope - w @ slope) * scale

    scale = float(n.sum() ** 2 / (n @ v))
    solution = minimize(error, np.zeros(v.size), jac=True, method="BFGS", options={"gtol": 1e-10})
    w = np.exp(solution.x - solution.x.max())
    return np.asarray(w / w.sum())


def _normal(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum())


def pooled(groups: Groups) -> Floats:
    """ω_j ∝ n_j / (V_j + D), with V_j = n_j noise_j."""
    return _normal(groups.people / (groups.people * groups.noise + groups.scatter))


def _yang_variance(groups: Groups) -> Floats:
    return _normal(1 / groups.noise)


def _yang_optimised(groups: Groups) -> Floats:
    return _normal(groups.people * _optimise(groups.people * groups.noise, groups.people))


def _unweighted(groups: Groups) -> Floats:
    return _normal(groups.reports)


WEIGHTS: dict[str, Callable[[Groups], Floats]] = {
    "pooled": pooled,
    "yang-variance": _yang_variance,
    "yang-optimised": _yang_optimised,
    "unweighted": _unweighted,
}
