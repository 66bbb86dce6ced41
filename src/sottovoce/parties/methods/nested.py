"""Nested tables over split columns: least squares without and with constraints.

Raw GLS, unbiased. For i = 1..K over the releases k ≤ i that exist, β_ki = Π_{k≤j<i} l_j:
    T_i = τ_i Σ_k (y_k summed to axes i..K)/(β_ki σ_k²),   τ_i = 1/Σ_k 1/(β_ki σ_k²)
    G_K = T_K + (N − ΣT_K)/l_K,   G_i = T_i + (G_{i+1} − Σ_{axis i} T_i)/l_i

Release: the distribution p that minimises f(p) = ½ Σ_i ω_i ‖A_i p − y_i/N‖², ω_i ∝ 1/σ_i², by
accelerated projected gradient steps with restarts, and where these are slow by the interior-point
method (`minimise`). ⟨x, g(x)⟩ − min g(x) bounds f(x) − f_min from above and certifies the result.

algorithms.md §4.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...estimate.intervals import Floats
from ...estimate.projection import simplex
from ..design import Design
from ..releases import Release
from . import teams

_MOST_STEPS = 100  # of the gradient method
_STILL = 1e-11
_TOLERANCE = 1e-3
_FINER = 1e-4  # of the tolerance, where the interior-point method stops
_MOST_NEWTON_STEPS = 200
_CENTRED = 0.15  # by which factor μ falls per step
_BOUNDARY = 0.99  # how far towards the boundary a step goes


class CertificateWarning(UserWarning):
    """A table is further from the constrained optimum than its certificate allows."""


@dataclass(frozen=True, eq=False)
class Nested:
    """Opened releases by ascending budget, last axis that of the largest."""

    order: tuple[int, ...]  # axes of the design by ascending budget
    sizes: tuple[int, ...]  # l_i in that order
    #: y_i by place i in that order, with one array axis for each of the axes i..K.
    tables: dict[int, Floats]
    variances: dict[int, float]  # σ_i²
    n: int  # N

    @classmethod
    def of(cls, design: Design, releases: tuple[Release, ...], opened: dict[str, Floats]) -> Nested:
        """From releases that have their axes in the order of the design."""
        order = teams.ascending(design)
        tables, variances = {}, {}
        for release in releases:
            place = len(order) - len(release.axes)
            table = opened[release.name].reshape(release.shape)
            tables[place] = table.transpose([release.axes.index(a) for a in order[place:]])
            variances[place] = release.variance
        sizes = tuple(design.shape[axis] for axis in order)
        return cls(order, sizes, tables, variances, teams.rows(design))

    def in_design(self, table: Floats) -> Floats:
        """A table of all axes in the order of the design, row-major."""
        return np.asarray(table.transpose(np.argsort(self.order)).reshape(-1))

    def averages(self) -> tuple[list[Floats], list[float]]:
        """T_i and τ_i of every level: the precision-weighted means of what is known of it."""
        levels, taus = [], []
        for i in range(len(self.sizes)):
            total, precision = np.zeros(self.sizes[i:]), 0.0
            for k, table in self.tables.items():
                if k > i:
                    continue
                weight = 1 / (math.prod(self.sizes[k:i]) * self.variances[k])
                total = total + weight * table.sum(axis=tuple(range(i - k)))
                precision += weight
            levels.append(total / precision)
            taus.append(1 / precision)
        return levels, taus

    def least_squares(self) -> tuple[Floats, list[float]]:
        """G_1 as counts, and the τ_i."""
        levels, taus = self.averages()
        table = levels[-1] + (self.n - levels[-1].sum()) / self.sizes[-1]
        for i in range(len(self.sizes) - 2, -1, -1):
            table = levels[i] + (table - levels[i].sum(axis=0)) / self.sizes[i]
        return table, taus


@dataclass(frozen=True, eq=False)
class Constrained:
    """The constrained optimum: the table, the objective, gradient steps and the certificate."""

    table: Floats
    objective: float
    steps: int
    gap: float
    certified: bool


def constrained(nested: Nested, start: Floats) -> Constrained:
    """Minimise f over distributions; warn where the certificate is not reached."""
    problem = _Problem(nested)
    tolerance = problem.tolerance
    x = simplex(start.reshape(-1))
    z, t, steps, still = x, 1.0, 0, False
    while not still and steps < _MOST_STEPS:
        steps += 1
        step = simplex(z - problem.step * problem.gradient(z))
        if float((z - step) @ (step - x)) > 0:
            t, z = 1.0, step
        else:
            momentum = (1 + math.sqrt(1 + 4 * t * t)) / 2
            z = step + (t - 1) / momentum * (step - x)
            t = momentum
        still = float(np.abs(step - x).max()) < _STILL
        x = step
    gap = problem.gap(x)
    if not still or gap > tolerance:
        inner = minimise(
            nested.sizes, problem.weights, problem.gradient, x, _FINER * problem.tolerance
        )
        # A gradient step puts cells that are almost empty exactly at 0.
        sharp = simplex(inner - problem.step * problem.gradient(inner))
        gap, x = min(
            ((problem.gap(table), table) for table in (sharp, inner, x)), key=lambda item: item[0]
        )
    certified = gap <= tolerance
    if not certified:
        warnings.warn(
            f"the table may be {gap:.1e} above the optimum of its objective; {tolerance:.1e} was "
            "wanted. The intervals hold; the values may be less precise than "
            "they could be",
            CertificateWarning,
            stacklevel=4,
        )
    table = x.reshape(nested.sizes)
    return Constrained(table, problem.objective(x), steps, gap, certified)


class _Problem:
    """f, its gradient and its certificate, for tables in row-major order."""

    def __init__(self, nested: Nested) -> None:
        best = max(1 / v for v in nested.variances.values())
        self._sizes = nested.sizes
        self.weights = {i: 1 / (v * best) for i, v in nested.variances.items()}
        self._targets = {i: table / nested.n for i, table in nested.tables.items()}
        spans = {i: math.prod(nested.sizes[:i]) for i in self.weights}
        self.step = 1 / sum(weight * spans[i] for i, weight in self.weights.items())
        cells = sum(table.size for table in self._targets.values())
        smallest = min(nested.variances.values())
        self.tolerance = _TOLERANCE * 0.5 * smallest * cells / nested.n**2

    def _residuals(self, x: Floats) -> dict[int, NDArray[np.float64]]:
        level, residuals = x.reshape(self._sizes), {}
        for i in range(len(self._sizes)):
            if i in self._targets:
                residuals[i] = level - self._targets[i]
            level = level.sum(axis=0)
        return residuals

    def gradient(self, x: Floats) -> Floats:
        residuals = self._residuals(x)
        total: NDArray[np.float64] = np.zeros(())
        for i in range(len(self._sizes) - 1, -1, -1):
            total = np.broadcast_to(total, self._sizes[i:])
            if i in residuals:
                total = total + self.weights[i] * residuals[i]
        return np.asarray(total.reshape(-1))

    def objective(self, x: Floats) -> float:
        parts = self._residuals(x)
        return 0.5 * sum(self.weights[i] * float((r**2).sum()) for i, r in parts.items())

    def gap(self, x: Floats) -> float:
        slope = self.gradient(x)
        return float(x @ slope - slope.min())


def solve_tree(sizes: tuple[int, ...], weights: dict[int, float], d: Floats, b: Floats) -> Floats:
    """x with (diag(d) + Σ_i ω_i A_iᵀA_i) x = b; A_i sums over the axes before i.

    Sums of nested releases form a tree: a cell belongs to one sum of every level. Therefore such
    systems are solved exactly in one pass up the tree and one down, by the Sherman–Morrison formula
    at every node, and Newton's method needs a few dozen such passes however different the budgets
    are. (Gradient steps would need thousands.)

    Let a and r be the sums of M⁻¹1 and M⁻¹b over a node's cells without its own term ω. With it,
    and a load λ from the nodes above, they sum to t = (r − λa)/(1 + ωa), and the node adds ωt to
    the load of everything below.
    """
    diagonal = (d + weights.get(0, 0.0)).reshape(sizes)
    target = b.reshape(sizes)
    respond, total = 1 / diagonal, target / diagonal
    levels = []
    for i in range(1, len(sizes)):
        respond, total = respond.sum(axis=0), total.sum(axis=0)
        levels.append((respond, total))
        shrink = 1 + weights.get(i, 0.0) * respond
        respond, total = respond / shrink, total / shrink
    load: Floats = np.zeros(())
    for i in range(len(sizes) - 1, 0, -1):
        respond, total = levels[i - 1]
        weight = weights.get(i, 0.0)
        load = load + weight * (total - load * respond) / (1 + weight * respond)
        load = load[None]
    return np.asarray(((target - load) / diagonal).reshape(-1))


def minimise(
    sizes: tuple[int, ...],
    weights: dict[int, float],
    gradient: Callable[[Floats], Floats],
    start: Floats,
    tolerance: float,
) -> Floats:
    """The distribution that minimises the objective with this gradient, to within a tolerance.

    Complementarity x z = μ is relaxed and μ lowered to 0: Wright 1997, Primal-Dual Interior-Point
    Methods, ch. 5.
    """
    size = start.size
    x = 0.9 * start + 0.1 / size
    slope = gradient(x)
    z = np.maximum(slope - slope.min(), 0) + max(float(x @ slope - slope.min()), tolerance) / size
    for _ in range(_MOST_NEWTON_STEPS):
        slack = float(x @ z)
        if slack <= tolerance:
            break
        mu = _CENTRED * slack / size
        ratio = z / x
        free = solve_tree(sizes, weights, ratio, mu / x - gradient(x))
        ones = solve_tree(sizes, weights, ratio, np.ones(size))
        step = free - ones * (free.sum() - (1 - x.sum())) / ones.sum()
        change = mu / x - z - ratio * step
        length = _BOUNDARY * min(_room(x, step), _room(z, change), 1 / _BOUNDARY)
        x, z = x + length * step, z + length * change
    return np.asarray(x / x.sum())


def _room(values: Floats, step: Floats) -> float:
    """How far along a step all values stay positive."""
    falling = step < 0
    return float((-values[falling] / step[falling]).min()) if falling.any() else np.inf
