"""Arithmetic that the methods share: the reach of noise, and ratios of noisy sums."""

from __future__ import annotations

import math

import numpy as np

from ...estimate.intervals import Floats, Interval, normal_quantile


def reach(confidence: float) -> float:
    """How many standard deviations an interval of integer Laplace noise and its sums needs.

    h = max(z, ln(1/α)/√2): the second is exact for one Laplace variable, and larger than the
    normal z for α up to .09. Sums of several such variables lie between the two laws.
    """
    return max(normal_quantile(confidence), -math.log1p(-confidence) / math.sqrt(2))


def ratio_interval(
    parts: Floats, wholes: Floats, var_part: float, cov: float, var_whole: float, h: float
) -> Interval:
    """All ratios r from 0 to 1 with |part − r whole| ≤ 1 + h √Var(part − r whole).

    The variance of part − r whole is a² − 2 r c + r² b² (Fieller 1954). The 1 makes up for integer
    noise: where most of its probability is at 0, h standard deviations reach no other integer.
    Where no ratio fits, the nearer end of 0 to 1 is returned.
    """
    candidates = [np.zeros_like(parts), np.ones_like(parts)]
    square = h * h
    for shift in (1.0, -1.0):
        # (p − r w)² = h² (a² − 2 r c + r² b²) with p = part ± 1
        p = parts - shift
        lead = wholes**2 - square * var_whole
        half = p * wholes - square * cov
        rest = np.sqrt(np.maximum(half**2 - lead * (p**2 - square * var_part), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            candidates += [(half - rest) / lead, (half + rest) / lead]
    r = np.stack(candidates)
    r = np.where(np.isfinite(r) & (r >= 0) & (r <= 1), r, 0.0)
    spread = np.sqrt(np.maximum(var_part - 2 * r * cov + r**2 * var_whole, 0.0))
    slack = 1 + h * spread - np.abs(parts - r * wholes)
    fits = slack >= -1e-9 * (1 + np.abs(parts) + np.abs(wholes))
    low = np.where(fits, r, np.inf).min(axis=0)
    high = np.where(fits, r, -np.inf).max(axis=0)
    nearest = np.where(parts > wholes, 1.0, 0.0)
    empty = ~fits.any(axis=0)
    return Interval(np.where(empty, nearest, low), np.where(empty, nearest, high))
