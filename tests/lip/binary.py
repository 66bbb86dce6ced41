"""Yes/no channels by brute force: every corner of what LIP allows, for many priors at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def constraints(p1: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Lines a q0 + b q1 <= c of the allowed (q0, q1), as (cases, lines, 3).

    λ_1 = P_1 (1 − q1) + P_0 q0; each of Q(1|1), Q(1|0) lies between λ_1 / E and E λ_1, each of
    Q(0|0), Q(0|1) between λ_0 / E and E λ_0, and everything between 0 and 1.
    """
    p0, shrink = 1 - p1, np.exp(-epsilon)
    zero, one = np.zeros_like(p1), np.ones_like(p1)
    # (coefficient of q0, of q1, constant)
    seen = {1: (p0, -p1, p1), 0: (-p0, p1, p0)}
    cells = {
        1: [(zero, -one, one), (one, zero, zero)],  # Q(1|1) and Q(1|0)
        0: [(-one, zero, one), (zero, one, zero)],  # Q(0|0) and Q(0|1)
    }
    lines = []
    for y in (0, 1):
        for cell in cells[y]:
            # cell <= E λ and λ <= E cell, divided by E
            lines.append(
                [shrink * c - s for c, s in zip(cell[:2], seen[y][:2], strict=True)]
                + [seen[y][2] - shrink * cell[2]]
            )
            lines.append(
                [shrink * s - c for c, s in zip(cell[:2], seen[y][:2], strict=True)]
                + [cell[2] - shrink * seen[y][2]]
            )
    lines += [[-one, zero, zero], [one, zero, one], [zero, -one, zero], [zero, one, one]]
    return np.stack([np.stack(line, axis=-1) for line in lines], axis=1)


def error(p1: np.ndarray, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """P_1 P_0 (1 − ρ²): one person's squared error by posterior mean."""
    both, seen = p1 * (1 - p1), p1 * (1 - q1) + (1 - p1) * q0
    with np.errstate(invalid="ignore", divide="ignore"):
        reliability = both * (1 - q0 - q1) ** 2 / (seen * (1 - seen))
    return both * (1 - np.where((both > 0) & (seen > 0) & (seen < 1), reliability, 0.0))


def best_corner(p1: np.ndarray, epsilon: np.ndarray, slack: float = 1e-13) -> np.ndarray:
    """The least error over all corners of the allowed (q0, q1)."""
    lines = constraints(p1, epsilon)
    best = np.full(p1.shape, np.inf)
    for i, j in combinations(range(lines.shape[1]), 2):
        a, b = lines[:, i], lines[:, j]
        determinant = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            q0 = (a[:, 2] * b[:, 1] - a[:, 1] * b[:, 2]) / determinant
            q1 = (a[:, 0] * b[:, 2] - a[:, 2] * b[:, 0]) / determinant
            inside = (
                lines[:, :, 0] * q0[:, None] + lines[:, :, 1] * q1[:, None]
                <= lines[:, :, 2] + slack
            ).all(axis=1)
            error_here = error(p1, q0, q1)
        usable = inside & (np.abs(determinant) > 1e-9) & np.isfinite(error_here)
        best = np.where(usable, np.minimum(best, np.where(usable, error_here, np.inf)), best)
    return best


def cases(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random priors, a third of them skewed by powers of ten, and epsilons."""
    rng = np.random.default_rng(seed)
    p1 = rng.random(n)
    skewed = rng.random(n) < 1 / 3
    p1[skewed] = 10 ** rng.uniform(-4, -0.3, int(skewed.sum()))
    turned = rng.random(n) < 0.5
    p1[turned] = 1 - p1[turned]
    return p1, np.exp(rng.uniform(np.log(0.05), np.log(8), n))
