"""MHST: shrinkage towards the pooled table with a strength chosen by Mallows' Cp.

On the sums y1 and y2 of `sjs`. For γ = 0, 1, 2 and τ ∈ {0} ∪ {10^{−3 + .2j}, j = 0..45}:
b_i = (m_i/max m)^γ with m = simplex(pool), ω_i = τb_i/(τb_i + 1),
Cp = Σ_i ω_i² v' + (1 − ω_i)² (Z_i² − v'), v' = vZ(1 + 2/√L); the smallest Cp is taken and
simplex(pool + ωZ) released.

algorithms.md §3; party-marginals.md (g).
"""

from __future__ import annotations

import numpy as np

from ...estimate.intervals import Floats
from .numbers import simplex
from .sjs import TwoSums, pooled

_STRENGTHS = np.concatenate([[0.0], 10.0 ** (-3 + 0.2 * np.arange(46))])
_POWERS = (0, 1, 2)


class MHST(TwoSums):
    """See the module."""

    name = "mhst"
    source = "party-marginals.md (g); algorithms.md §3"
    default_note = (
        "often more precise than sjs for 16 or more cells, but up to 1.9 times the error of mh for "
        "few cells or sparse tables"
    )

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
