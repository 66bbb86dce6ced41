"""How likely a report is when budgets are hidden.

With n_a ones among the l_a bits of attribute a, a candidate value leaves n_a − y_a[v_a] ones among
the other l_a − 1, so up to a constant

    P(y | v) = φ(n_1 − y_1[v_1], …),   φ(m) = E Π_a q_a^{m_a} (1 − q_a)^{l_a − 1 − m_a}

and the mixing law of (q_a) is estimated from the histogram of (n_a) alone, by non-parametric
maximum likelihood over fixed atoms; it is not unique, φ is stable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ... import kernels
from ..allocation import STEPS, Floats, flip

ROUNDS = 300
GRID_ROUNDS = 400
_SEED = 20_200_614  # atoms are public constants, not noise
_DRAWS = 250
_CONCENTRATIONS = (0.3, 1.0, 3.0, 30.0)
_FEW = 50
_PSEUDO = 10.0
_LONG = 100
GRID: Floats = np.array([0.003, 0.01, 0.03, *(0.06 + 0.04 * i for i in range(12))])


@lru_cache(maxsize=64)
def atoms(reported: int, axes: int, total: float) -> Floats:
    """Rows of q for the first `axes` of `reported` attributes with a common total budget."""
    if reported == 1:
        return flip(np.array([[math.floor(total * STEPS) / STEPS]]))
    rng = np.random.default_rng(_SEED + reported)
    drawn = [rng.dirichlet([c] * reported, _DRAWS) for c in _CONCENTRATIONS]
    return flip(np.concatenate(drawn)[:, :axes] * total)


def mixing_weights(
    q: Floats, sizes: Sequence[int], ones: NDArray[np.int64], counts: Floats, rounds: int = ROUNDS
) -> Floats:
    """Weights of the atoms q (atoms × axes) under which the numbers of ones are most likely.

    `sizes` are l_a; `ones` the different vectors (n_a) that occur, a row each, and `counts` how
    often they do.
    """
    law = np.ones((len(ones), len(q)))
    for a, size in enumerate(sizes):
        law *= _ones_law(q[:, a], size).T[ones[:, a]]
    n = float(counts.sum())
    pseudo = 0.0 if n >= _FEW else _PSEUDO
    many = len(q)
    w, back = np.full(many, 1 / many), np.empty(many)
    for _ in range(rounds):
        kernels.count.expected_weights(law, w, counts, back)
        w = (w * back + pseudo / many) / (n + pseudo)
    return w


def _ones_law(q: Floats, size: int) -> Floats:
    """P(x of `size` bits are 1): half the time the true bit is among them."""
    x = np.arange(size + 1)
    others = size - 1
    with np.errstate(divide="ignore"):
        log_q, log_p = np.log(q)[:, None], np.log1p(-q)[:, None]

    def binomial(k: NDArray[np.int64]) -> Floats:
        inside = (k >= 0) & (k <= others)
        c = np.where(inside, k, 0)
        logs = gammaln(others + 1) - gammaln(c + 1) - gammaln(others - c + 1)
        return np.where(inside, np.exp(logs + c * log_q + (others - c) * log_p), 0.0)

    return np.asarray(0.5 * binomial(x) + 0.5 * binomial(x - 1))


def phi_of(q: Floats, weights: Floats, sizes: Sequence[int]) -> Floats:
    """φ as an array over m_1 = 0..l_1 − 1, m_2, …; scaled to a largest entry of one.

    Only ratios matter, so it is computed in logarithms where many bits would underflow.
    """
    if sum(size - 1 for size in sizes) <= _LONG:
        left, right = weights[:, None], np.ones((len(q), 1))
        for a, size in enumerate(sizes):
            m = np.arange(size)
            own = q[:, a : a + 1] ** m * (1 - q[:, a : a + 1]) ** (size - 1 - m)
            if a < len(sizes) // 2:
                left = (left[:, :, None] * own[:, None, :]).reshape(len(q), -1)
            else:
                right = (right[:, :, None] * own[:, None, :]).reshape(len(q), -1)
        return (left.T @ right).reshape(tuple(sizes))
    logs = np.full(tuple(sizes), -np.inf)
    for j in np.flatnonzero(weights > 0):
        part = np.array(math.log(weights[j]))
        for a, size in enumerate(sizes):
            m = np.arange(size)
            axis = [1] * len(sizes)
            axis[a] = size
            part = part + (m * np.log(q[j, a]) + (size - 1 - m) * np.log1p(-q[j, a])).reshape(axis)
        logs = np.logaddexp(logs, part)
    return np.asarray(np.exp(logs - logs.max()))
