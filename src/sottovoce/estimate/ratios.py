"""Intervals of a part of a whole, where both have errors.

A ratio r belongs to the interval unless part − r whole differs significantly from zero (Fieller
1954). An expansion at the estimated ratio would be far too narrow where the whole is hardly more
than its error, and have no width where the part is estimated at zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cells import LEAST_ERROR, Repetitions
from .intervals import Floats, Interval, normal_quantile


def ratio_interval(
    parts: Floats,
    wholes: Floats,
    var_part: Floats | float,
    cov: Floats | float,
    var_whole: Floats | float,
    h: float,
    step: float = 0.0,
) -> Interval:
    """All ratios r from 0 to 1 with |part − r whole| ≤ step + h √Var(part − r whole).

    The variance of part − r whole is a² − 2 r c + r² b² (Fieller 1954). A step of 1 makes up for
    integer noise: where most of its probability is at 0, h standard deviations reach no other
    integer. Where no ratio fits, the nearer end of 0 to 1 is returned.
    """
    candidates = [np.zeros_like(parts), np.ones_like(parts)]
    square = h * h
    for shift in (step, -step):
        # (p − r w)² = h² (a² − 2 r c + r² b²) with p = part ± step
        p = parts - shift
        lead = wholes**2 - square * var_whole
        half = p * wholes - square * cov
        rest = np.sqrt(np.maximum(half**2 - lead * (p**2 - square * var_part), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            candidates += [(half - rest) / lead, (half + rest) / lead]
    r = np.stack(candidates)
    r = np.where(np.isfinite(r) & (r >= 0) & (r <= 1), r, 0.0)
    spread = np.sqrt(np.maximum(var_part - 2 * r * cov + r**2 * var_whole, 0.0))
    slack = step + h * spread - np.abs(parts - r * wholes)
    fits = slack >= -1e-9 * (1 + np.abs(parts) + np.abs(wholes))
    low = np.where(fits, r, np.inf).min(axis=0)
    high = np.where(fits, r, -np.inf).max(axis=0)
    nearest = np.where(parts > wholes, 1.0, 0.0)
    empty = ~fits.any(axis=0)
    return Interval(np.where(empty, nearest, low), np.where(empty, nearest, high))


@dataclass(frozen=True, eq=False)
class RowIntervals:
    """Intervals of the cells of a table as parts of their rows; call it with the confidence.

    The errors of cells and rows, and their correlations, come from the table's repetitions. As in
    the table itself, no cell's standard error is below half their root mean square.
    """

    cells: Floats  # of the table, row by row
    again: Repetitions
    rows: int

    def __call__(self, confidence: float) -> Interval:
        parts = self.cells.reshape(self.rows, -1)
        away = self.again.wider * (self.again() - self.cells).reshape(-1, *parts.shape)
        row = away.sum(axis=2, keepdims=True)
        own = (away**2).mean(axis=0)
        lack = np.maximum(LEAST_ERROR**2 * own.mean() - own, 0.0)  # as if independent
        ends = ratio_interval(
            parts,
            np.broadcast_to(parts.sum(axis=1, keepdims=True), parts.shape),
            own + lack,
            (away * row).mean(axis=0) + lack,
            (row**2).mean(axis=0) + lack.sum(axis=1, keepdims=True),
            normal_quantile(confidence),
        )
        return Interval(ends.low.ravel(), ends.high.ravel())
