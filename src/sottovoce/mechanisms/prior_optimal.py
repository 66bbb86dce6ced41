"""Channels with the lowest error under a known prior, for few values, by optimisation.

A channel's columns are rays v(x) = Q(y|x) / λ_y of the polytope {P·v = 1, 1/E ≤ v ≤ E}, with
weights λ_v that make the rows sum to one, Σ λ_v v = 1; only its vertices matter::

    mmse-optimal    maximise Σ λ_v Σ_x (P_x v_x)²: a linear programme
    a-optimal       minimise tr (Bᵀ J B)⁻¹, J = Σ λ_v v vᵀ, B a basis of {Σ = 0}: convex

The first is best for posterior means but often cannot be inverted; the second is best for unbiased
fractions.
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
from ..estimate.intervals import Floats
from ..randomness import exp
from .prior_channels import WHOLE, IntegerChannel, exact_lip

_MOST_MMSE = 12
_MOST_UNBIASED = 8
_LEAST = 1e-9
_GAP, _STALLED = 1e-6, 1e-4  # relative improvement that better weights could still give
_MOST_STEPS = 100
_LEAST_EPSILON = 1e-4
_SAME = 1e-12
_RIDGE = 1e-15
_NOT_FOUND = "no {variant} channel was found for epsilon = {epsilon!r}; use variant 'optimal'"


@lru_cache(maxsize=32)
def mmse_optimal(epsilon: float, prior: tuple[Fraction, ...]) -> IntegerChannel:
    """The channel whose posterior means have the lowest squared error."""
    from scipy.optimize import linprog

    p, vertices = _vertices(epsilon, prior, _MOST_MMSE, "mmse-optimal")
    gain = ((p * vertices) ** 2).sum(axis=1)
    matrix, total = _balance(p, vertices)
    solution = linprog(gain.min() - gain, A_eq=matrix, b_eq=total, method="highs")
    if not solution.success:
        raise ParameterError(_NOT_FOUND.format(variant="mmse-optimal", epsilon=epsilon))
    return _whole(vertices, solution.x, epsilon, prior)


@lru_cache(maxsize=32)
def a_optimal(epsilon: float, prior: tuple[Fraction, ...]) -> IntegerChannel:
    """The channel whose unbiased fractions have the lowest total variance at the prior.

    By Frank and Wolfe's method, fully corrective: a linear programme finds the columns that would
    lower −‖Bᵀ v‖² in the metric (BᵀJB)⁻² most, then the weights of all columns found so far are
    optimised; the duality gap says when to stop.
    """
    from scipy.optimize import linprog, minimize

    p, vertices = _vertices(epsilon, prior, _MOST_UNBIASED, "a-optimal")
    d = p.size
    basis = np.linalg.qr(np.eye(d)[:, 1:] - 1 / d)[0]
    matrix, total = _balance(p, vertices)
    rays = (vertices @ basis) / _spread(vertices)

    def error(weights: Floats, which: Any) -> tuple[float, Floats]:
        some = rays[which]
        information = (some * weights[:, None]).T @ some
        ridge = _RIDGE * float(np.trace(information))  # a search may pass singular ones
        inverse = np.linalg.inv(information + ridge * np.eye(d - 1))
        return float(np.trace(inverse)), -((some @ inverse) ** 2).sum(axis=1)

    def columns(cost: Floats) -> Floats:
        solution = linprog(cost / np.abs(cost).max(), A_eq=matrix, b_eq=total, method="highs")
        if not solution.success:
            raise ParameterError(_NOT_FOUND.format(variant="a-optimal", epsilon=epsilon))
        return np.asarray(solution.x)

    rng = np.random.default_rng(0)  # only where to begin; nobody's answer depends on it
    weights = np.mean([columns(rng.standard_normal(len(vertices))) for _ in range(4 * d)], axis=0)
    last = math.inf
    for _ in range(_MOST_STEPS):
        value, gradient = error(weights, slice(None))
        towards = columns(gradient)
        gap = float(gradient @ (weights - towards)) / value
        if gap <= _GAP or (gap <= _STALLED and last - value <= _GAP * value):
            return _whole(vertices, weights, epsilon, prior)
        last = value
        which = np.flatnonzero((weights * vertices.max(axis=1) > _LEAST) | (towards > 0))
        start = 0.9 * weights[which] + 0.1 * towards[which]
        solution = minimize(
            lambda w, k=which, scale=value: tuple(part / scale for part in error(w, k)),
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, None)] * which.size,
            constraints={
                "type": "eq",
                "fun": lambda w, k=which: matrix[:, k] @ w - total,
                "jac": lambda w, k=which: matrix[:, k],
            },
            options={"maxiter": 300, "ftol": 1e-12},
        )
        weights = np.zeros(len(vertices))
        weights[which] = np.maximum(solution.x, 0.0)
    raise ParameterError(_NOT_FOUND.format(variant="a-optimal", epsilon=epsilon))


def _vertices(
    epsilon: float, prior: Sequence[Fraction], most: int, variant: str
) -> tuple[Floats, Floats]:
    """The prior, and all v with P·v = 1 whose coordinates but one are at 1/E or E."""
    p = np.array([float(x) for x in prior])
    if p.size > most:
        raise ParameterError(
            f"variant {variant!r} enumerates all corners and takes at most {most} values; "
            f"{p.size} were given; 'optimal' is for any number"
        )
    if epsilon < _LEAST_EPSILON:
        raise ParameterError(
            f"epsilon is {epsilon!r}; variant {variant!r} is computed in floating point, which "
            f"needs at least {_LEAST_EPSILON:g}; 'optimal' does not"
        )
    high, low = math.exp(epsilon), math.exp(-epsilon)
    parts = []
    for k in np.flatnonzero(p > 0).tolist():
        others = [x for x in range(p.size) if x != k]
        ends = np.array(list(product((low, high), repeat=p.size - 1)))
        v = np.empty((len(ends), p.size))
        v[:, others] = ends
        v[:, k] = (1 - ends @ p[others]) / p[k]
        parts.append(v[(v[:, k] >= low * (1 - _SAME)) & (v[:, k] <= high * (1 + _SAME))])
    every = np.clip(np.concatenate(parts), low, high)
    _, first = np.unique(np.log(every).round(12), axis=0, return_index=True)
    return p, every[np.sort(first)]


def _spread(vertices: Floats) -> float:
    """How far ratios are from one, where they are close."""
    return min(float(vertices.max()) - 1, 1.0)


def _balance(p: Floats, vertices: Floats) -> tuple[Floats, Floats]:
    """Σ λ_v v = 1 as A λ = b, scaled so that a small ε does not drown in a solver's tolerance.

    P·v = 1 makes one line follow from the others; it is left out.
    """
    lines = np.delete((vertices - 1).T / _spread(vertices), int(np.argmax(p)), axis=0)
    total = np.zeros(p.size)
    total[-1] = 1
    return np.vstack([lines, np.ones(len(vertices))]), total


def _whole(
    vertices: Floats, weights: Floats, epsilon: float, prior: Sequence[Fraction]
) -> IntegerChannel:
    """Columns λ_v v in whole numbers out of 2^128, checked in fractions to keep the promise.

    A part of each column is put at its average, as little as makes up for rounding.
    """
    v, w = vertices, weights
    for _ in range(2):  # what a solver's tolerance leaves of Σ λ_v v = 1
        used = w * v.max(axis=1) > _LEAST  # the chance of the report, to whom it is likeliest
        v, w = v[used], w[used]
        w = w + np.linalg.lstsq(v.T, 1 - v.T @ w, rcond=None)[0]
    v, w = v[w > 0], w[w > 0]
    rows = [[Fraction(float(cell)) for cell in row] for row in (v * w[:, None]).T]
    rows = [[cell / sum(row) for cell in row] for row in rows]
    columns = zip(*rows, strict=True)
    seen = [sum(p * q for p, q in zip(prior, column, strict=True)) for column in columns]
    for digits in range(18, 3, -1):
        part = Fraction(1, 10**digits)
        mixed = [
            [(1 - part) * cell + part * mean for cell, mean in zip(row, seen, strict=True)]
            for row in rows
        ]
        channel = IntegerChannel(0, rows=tuple(map(_whole_row, mixed)))
        if exact_lip(channel, prior) <= exp(epsilon) * (1 - Fraction(1, 10**70)):
            return channel
    raise ParameterError(_NOT_FOUND.format(variant="an optimal", epsilon=epsilon))


def _whole_row(row: Sequence[Fraction]) -> tuple[int, ...]:
    """A law in whole numbers; what rounding leaves goes to the likeliest report."""
    cells = [math.floor(cell * WHOLE) for cell in row]
    cells[max(range(len(row)), key=row.__getitem__)] += WHOLE - sum(cells)
    return tuple(cells)
