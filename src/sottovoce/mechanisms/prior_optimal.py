"""Channels with the least error under a known prior, for few values, by optimisation.

A channel's columns are rays v(x) = Q(y|x) / λ_y of the polytope {P·v = 1, 1/E ≤ v ≤ E}, with
weights λ_v that make the rows sum to one, Σ λ_v v = 1; only its vertices matter.

mmse-optimal    maximise Σ λ_v Σ_x (P_x v_x)²: a linear programme
a-optimal       minimise tr (Bᵀ J B)⁻¹, J = Σ λ_v v vᵀ, B a basis of {Σ = 0}: convex

The first is best for posterior means but often cannot be inverted; the second is best for
unbiased shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..estimate import Floats
from ..randomness import exp
from .prior_channels import WHOLE, IntegerChannel, exact_lip

_MOST_MMSE = 12
_MOST_UNBIASED = 8
_LEAST = 1e-9
_GAP = 1e-6
_MOST_STEPS = 200
_INSIDE = 1 - 1e-9  # designed for slightly less than ε, so that rounding cannot exceed it


@lru_cache(maxsize=32)
def mmse_optimal(epsilon: float, prior: tuple[Fraction, ...]) -> IntegerChannel:
    """The channel whose posterior means have the least squared error."""
    from scipy.optimize import linprog

    p, vertices = _vertices(epsilon, prior, _MOST_MMSE, "mmse-optimal")
    gain = ((p * vertices) ** 2).sum(axis=1)
    found = linprog(-gain, A_eq=vertices.T, b_eq=np.ones(p.size), method="highs")
    if not found.success:
        raise ParameterError(f"no channel was found: {found.message}")
    return _whole(vertices, found.x, epsilon, prior)


@lru_cache(maxsize=32)
def a_optimal(epsilon: float, prior: tuple[Fraction, ...]) -> IntegerChannel:
    """The channel whose unbiased shares have the least total variance at the prior.

    By Frank and Wolfe's method, fully corrective: a linear programme finds the columns that would
    lower −‖Bᵀ v‖² in the metric (BᵀJB)⁻² most, then the weights of all columns found so far are
    optimised; the duality gap says when to stop.
    """
    from scipy.optimize import linprog, minimize

    p, vertices = _vertices(epsilon, prior, _MOST_UNBIASED, "a-optimal")
    d = p.size
    basis = np.linalg.qr(np.eye(d)[:, 1:] - 1 / d)[0]
    rays = vertices @ basis

    def error(weights: Floats, which: Any) -> tuple[float, Floats]:
        some = rays[which]
        inverse = np.linalg.inv((some * weights[:, None]).T @ some)
        return float(np.trace(inverse)), -((some @ inverse) ** 2).sum(axis=1)

    def columns(cost: Floats) -> Floats:
        found = linprog(cost, A_eq=vertices.T, b_eq=np.ones(d), bounds=(0, None), method="highs")
        return np.asarray(found.x)

    rng = np.random.default_rng(0)  # only where to begin; nobody's answer depends on it
    weights = np.mean([columns(rng.standard_normal(len(vertices))) for _ in range(d)], axis=0)
    for _ in range(_MOST_STEPS):
        value, gradient = error(weights, slice(None))
        towards = columns(gradient)
        if float(gradient @ (weights - towards)) <= _GAP * value:
            return _whole(vertices, weights, epsilon, prior)
        which = np.flatnonzero((weights > _LEAST) | (towards > 0))
        start = 0.9 * weights[which] + 0.1 * towards[which]
        found = minimize(
            lambda w, k=which, scale=value: tuple(part / scale for part in error(w, k)),
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, None)] * which.size,
            constraints={
                "type": "eq",
                "fun": lambda w, k=which: vertices[k].T @ w - 1,
                "jac": lambda w, k=which: vertices[k].T,
            },
            options={"maxiter": 300, "ftol": 1e-12},
        )
        weights = np.zeros(len(vertices))
        weights[which] = np.maximum(found.x, 0.0)
    raise ParameterError(
        f"the best unbiased channel was not found within {_MOST_STEPS} steps; use variant 'optimal'"
    )


def _vertices(
    epsilon: float, prior: Sequence[Fraction], most: int, variant: str
) -> tuple[Floats, Floats]:
    """The prior, and all v with P·v = 1 whose coordinates but one are at 1/E or E."""
    p = np.array([float(x) for x in prior])
    if p.size > most:
        raise ParameterError(
            f"variant {variant!r} goes through all corners and is for at most {most} values; "
            f"{p.size} were given; 'optimal' is for any number"
        )
    if p.min() <= 0:
        raise ParameterError(f"variant {variant!r} needs every value to have a positive prior")
    high = math.exp(epsilon * _INSIDE)
    low = 1 / high
    found = []
    for k in range(p.size):
        others = [x for x in range(p.size) if x != k]
        ends = np.array(list(product((low, high), repeat=p.size - 1)))
        v = np.empty((len(ends), p.size))
        v[:, others] = ends
        v[:, k] = (1 - ends @ p[others]) / p[k]
        found.append(v[(v[:, k] >= low - 1e-12) & (v[:, k] <= high + 1e-12)])
    every = np.clip(np.concatenate(found), low, high)
    _, first = np.unique(every.round(9), axis=0, return_index=True)
    return p, every[np.sort(first)]


def _whole(
    vertices: Floats, weights: Floats, epsilon: float, prior: Sequence[Fraction]
) -> IntegerChannel:
    """Columns λ_v v in whole numbers out of 2^128, checked in fractions to keep the promise."""
    used = weights > _LEAST
    columns = (vertices[used] * weights[used, None]).T
    rows = []
    for row in columns / columns.sum(axis=1, keepdims=True):
        cells = [math.floor(Fraction(float(cell)) * WHOLE) for cell in row]
        cells[int(np.argmax(row))] += WHOLE - sum(cells)
        rows.append(tuple(cells))
    channel = IntegerChannel(0, rows=tuple(rows))
    if exact_lip(channel, [prior]) > exp(epsilon) * (1 - Fraction(1, 10**70)):
        raise ParameterError(
            f"no channel in 128 bits keeps epsilon = {epsilon!r} here; use variant 'optimal'"
        )
    return channel
