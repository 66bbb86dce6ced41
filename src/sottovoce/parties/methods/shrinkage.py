"""Shrinkage where rows are split: `sjs`, the default, and `mhst`.

Two sums are opened: y1 weighs all parties alike, y2 by their surplus budget. y1 is unbiased; the
pooled table is more precise but biased where parties differ.

u, s   y1/N and y2/W, W = Σ a_k n_k; v1 = V_1/N², v2 = V_2/W²
pool   (u/v1 + s/v2)/(1/v1 + 1/v2);   Z = u − pool,   vZ = v1²/(v1 + v2)

algorithms.md §3; party-marginals.md (g).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...estimate.intervals import Floats
from ...estimate.projection import simplex
from ...promise import Neighbours
from ..design import Design
from ..releases import Release
from . import Method, Solved, Sums
from .row_sums import cells, minimum, surplus

_FEW_CELLS = 3
_FURTHEST = 2.1183
_STRENGTHS = np.concatenate([[0.0], 10.0 ** (-3 + 0.2 * np.arange(46))])
_POWERS = (0, 1, 2)


class TwoSums(Method):
    """Methods that open y1 and, where some have more than the smallest budget, y2."""

    _few = 0  # up to so many cells, y2 is not opened

    def releases(self, design: Design) -> tuple[Release, ...]:
        y2 = surplus(design) if design.cells > self._few else None
        return (minimum(design),) if y2 is None else (minimum(design), y2)

    def solve(self, design: Design, sums: Sums) -> Solved:
        opened = self.opened(design, sums)
        evidence = cells(design, opened["y1"], minimum(design).variance)
        u, v1 = evidence.counts / evidence.n, evidence.noise / evidence.n**2
        y2 = surplus(design) if "y2" in opened else None
        rows = 0.0 if y2 is None else _weighted_rows(design, y2, opened["y2"])
        if y2 is None or rows <= 0:  # nobody with a surplus is in the sum
            return Solved(simplex(u), evidence, design.shape)
        values = self.combine(u, opened["y2"] / rows, v1, y2.variance / rows**2)
        return Solved(values, evidence, design.shape)

    @staticmethod
    @abstractmethod
    def combine(u: Floats, s: Floats, v1: float, v2: float) -> Floats:
        """The table from both sums as fractions, and the variances of their cells."""


class SJS(TwoSums):
    """Sorted blocks, James–Stein, limited translation.

    Cells sorted by the pooled table form blocks, and each block moves from the pooled table towards
    y1 as far as their difference exceeds its noise (James–Stein), never further than 2.1183
    standard deviations from y1.

    L ≤ 3     no y2; simplex(y1/N)
    u, s      made to sum to 1 first
    block     d = B(1 − 1/L),   Q = Σ Z²/vZ,   c = max(0, 1 − (d − 2)/Q)
    release   simplex(clip(pool + cZ, u ± 2.1183 √vZ))

    Its errors are at most 1.11 times those of `mh` on the grid of algorithms.md §3, often far
    smaller; they are not always smaller.
    """

    name = "sjs"
    source = "algorithms.md §3"
    _few = _FEW_CELLS

    @staticmethod
    def combine(u: Floats, s: Floats, v1: float, v2: float) -> Floats:
        """Along the last axis, so that many repetitions go at once."""
        size = u.shape[-1]
        u = u + (1 - u.sum(axis=-1, keepdims=True)) / size
        s = s + (1 - s.sum(axis=-1, keepdims=True)) / size
        pool, gap, gap_variance = pooled(u, s, v1, v2)
        order = np.argsort(-pool, axis=-1, kind="stable")
        ranked = np.take_along_axis(gap, order, -1)
        edges = block_edges(size)
        squares = np.add.reduceat(ranked**2, edges[:-1], axis=-1) / gap_variance
        spare = np.diff(edges) * (1 - 1 / size) - 2
        with np.errstate(divide="ignore"):
            factors = np.where(squares > 0, np.maximum(0, 1 - spare / squares), 0.0)
        kept = np.empty_like(gap)
        np.put_along_axis(kept, order, np.repeat(factors, np.diff(edges), axis=-1), -1)
        most = _FURTHEST * np.sqrt(gap_variance)
        return simplex(np.clip(pool + kept * gap, u - most, u + most))


class MHST(TwoSums):
    """Shrinkage towards the pooled table with a strength chosen by Mallows' Cp.

    For γ = 0, 1, 2 and τ ∈ {0} ∪ {10^{−3 + .2j}, j = 0..45}: b_i = (m_i/max m)^γ with
    m = simplex(pool), ω_i = τb_i/(τb_i + 1), Cp = Σ_i ω_i² v' + (1 − ω_i)² (Z_i² − v'),
    v' = vZ(1 + 2/√L); the smallest Cp is taken and simplex(pool + ωZ) released.

    Not the default: often more precise than sjs for 16 or more cells, but up to 1.9 times the error
    of mh for few cells or sparse tables.
    """

    name = "mhst"
    source = "party-marginals.md (g); algorithms.md §3"

    @staticmethod
    def combine(u: Floats, s: Floats, v1: float, v2: float) -> Floats:
        """Along the last axis, so that many repetitions go at once."""
        pool, gap, gap_variance = pooled(u, s, v1, v2)
        likely = simplex(pool)
        likely = likely / likely.max(axis=-1, keepdims=True)
        inflated = gap_variance * (1 + 2 / np.sqrt(u.shape[-1]))
        best = np.full(u.shape[:-1], np.inf)
        chosen = np.zeros_like(u)
        for power in _POWERS:
            base = likely**power
            for strength in _STRENGTHS:
                weight = strength * base / (strength * base + 1)
                cp = (weight**2 * inflated + (1 - weight) ** 2 * (gap**2 - inflated)).sum(axis=-1)
                better = cp < best
                best = np.where(better, cp, best)
                chosen = np.where(better[..., None], weight, chosen)
        return simplex(pool + chosen * gap)


def pooled(u: Floats, s: Floats, v1: float, v2: float) -> tuple[Floats, Floats, float]:
    """The precision-weighted mean, how far u lies from it, and the variance of that."""
    pool = (u / v1 + s / v2) / (1 / v1 + 1 / v2)
    return pool, u - pool, v1**2 / (v1 + v2)


def block_edges(size: int) -> list[int]:
    """0, 4, 8, 16, … while three times the last edge fits, then all the rest."""
    if size < 8:
        return [0, size]
    edges = [0, 4]
    while size >= 3 * edges[-1]:
        edges.append(2 * edges[-1])
    return [*edges, size]


def _weighted_rows(design: Design, y2: Release, counts: Floats) -> float:
    """W, estimated by the noisy sum where the numbers of rows are not public."""
    if design.neighbours is Neighbours.ADD_REMOVE:
        return float(counts.sum()) if y2.weights else 0.0
    rows = design.rows or {}
    return float(sum(weight * rows[party] for party, weight in y2.weights.items()))
