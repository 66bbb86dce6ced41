"""The constrained least-squares table by an interior-point method, for badly scaled budgets.

Sums of nested releases form a tree: a cell belongs to one sum of every level. Therefore systems
(diag(d) + Σ_i ω_i A_iᵀA_i) x = b are solved exactly in one pass up the tree and one down, by the
Sherman–Morrison formula at every node, and Newton's method needs a few dozen such passes however
different the budgets are. (Gradient steps would need thousands.)

Complementarity x z = μ is relaxed and μ lowered to 0: Wright 1997, Primal-Dual Interior-Point
Methods, ch. 5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...estimate.intervals import Floats

_MOST_STEPS = 200
_CENTRED = 0.15  # by which factor μ falls per step
_BOUNDARY = 0.99  # how far towards the boundary a step goes


def solve_tree(sizes: tuple[int, ...], weights: dict[int, float], d: Floats, b: Floats) -> Floats:
    """x with (diag(d) + Σ_i ω_i A_iᵀA_i) x = b; A_i sums over the axes before i.

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
    """The distribution that minimises the objective with this gradient, to within a tolerance."""
    size = start.size
    x = 0.9 * start + 0.1 / size
    slope = gradient(x)
    z = np.maximum(slope - slope.min(), 0) + max(float(x @ slope - slope.min()), tolerance) / size
    for _ in range(_MOST_STEPS):
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
