"""What the people of each stratum answer, and the noise of their reports: f_h and C_h.

As tables with a row per stratum, or from counts. Estimates are linear in the counts, and the noise
of reports is linear in the answers, so that sums over a thousand strata need no such tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..estimate.intervals import Floats
from ..mechanisms.linear import LinearMechanism

Rows = NDArray[np.intp]


class Means(Protocol):
    """f_h of each stratum."""

    @property
    def table(self) -> Floats:
        """One row per stratum."""

    def sum(self, weights: Floats) -> Floats:
        """Σ a_h f_h."""

    def only(self, rows: Rows) -> Means:
        """Of some strata."""


@dataclass(frozen=True, eq=False)
class KnownMeans:
    """From a table."""

    table: Floats

    def sum(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self.table)

    def only(self, rows: Rows) -> Means:
        return KnownMeans(self.table[rows])


@dataclass(frozen=True, eq=False)
class CountedMeans:
    """From counts: each stratum's unbiased estimate, and zero where nobody reported."""

    mechanism: LinearMechanism
    counts: NDArray[np.int64]
    reported: NDArray[np.int64]

    @cached_property
    def table(self) -> Floats:
        means = self.mechanism.debias_rows(self.counts, np.maximum(self.reported, 1))
        if not self.reported.all():
            means[self.reported == 0] = 0.0
        return means

    def sum(self, weights: Floats) -> Floats:
        if weights.size == 1:  # the table then has all there is
            return np.asarray(weights[0] * self.table[0])
        used = np.where(self.reported > 0, weights, 0.0)
        total = float(used.sum())
        if total == 0:
            return np.zeros(len(self.mechanism.labels))
        counts = kernels.count.weighted_sum(self.counts, used / np.maximum(self.reported, 1))
        return self.mechanism.debias(counts, total) * total

    def only(self, rows: Rows) -> Means:
        return CountedMeans(self.mechanism, self.counts[rows], self.reported[rows])


class Noise(Protocol):
    """C_h of each stratum."""

    def table(self) -> Floats:
        """The diagonals, one row per stratum."""

    def sum(self, weights: Floats) -> Floats:
        """Diagonal of Σ a_h C_h."""

    def matrix_sum(self, weights: Floats) -> Floats:
        """Σ a_h C_h."""

    def only(self, rows: Rows) -> Noise:
        """Of some strata."""


@dataclass(frozen=True, eq=False)
class AnyNoise:
    """From a table of the diagonals and a function to the matrices."""

    each: Floats
    matrix: Callable[[int], Floats]

    def table(self) -> Floats:
        return self.each

    def sum(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self.each)

    def matrix_sum(self, weights: Floats) -> Floats:
        return np.asarray(sum(a * self.matrix(h) for h, a in enumerate(weights.tolist())))

    def only(self, rows: Rows) -> Noise:
        return AnyNoise(self.each[rows], partial(_row, self.matrix, rows))


def _row(matrix: Callable[[int], Floats], rows: Rows, h: int) -> Floats:
    return matrix(int(rows[h]))


@dataclass(frozen=True, eq=False)
class NoiseOfMeans:
    """From what people answer: C_h is linear in f_h."""

    mechanism: LinearMechanism
    means: Means

    def table(self) -> Floats:
        return self.mechanism.variance_rows(self.means.table)

    def sum(self, weights: Floats) -> Floats:
        total = float(weights.sum())
        return total * self.mechanism.variance(self.means.sum(weights) / total, 1)

    def matrix_sum(self, weights: Floats) -> Floats:
        total = float(weights.sum())
        return total * self.mechanism.covariance(self.means.sum(weights) / total, 1)

    def only(self, rows: Rows) -> Noise:
        return NoiseOfMeans(self.mechanism, self.means.only(rows))
