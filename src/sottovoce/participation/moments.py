"""What the people of each stratum answer, and the noise of their reports: f_h and C_h.

As tables with a row per stratum, or where a mechanism is pure from its counts: then everything is
linear in them, and sums over a thousand strata need no tables of means or noise.
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
from ..mechanisms.pure import PureMechanism

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
    """From counts: (A_h / S_h − q) / (p − q), and zero where nobody reported."""

    mechanism: PureMechanism
    counts: NDArray[np.int64]
    reported: NDArray[np.int64]

    @cached_property
    def table(self) -> Floats:
        reports = np.maximum(self.reported, 1)[:, None]
        fractions = self.mechanism.debias(self.counts, reports)  # type: ignore[arg-type]
        if not self.reported.all():
            fractions[self.reported == 0] = 0.0
        return fractions

    @cached_property
    def _reporting(self) -> tuple[Floats, Floats]:
        """1 / S_h, and whether anybody reported; zero where nobody did."""
        reporting = (self.reported > 0).astype(float)
        return reporting / np.maximum(self.reported, 1), reporting

    def sum(self, weights: Floats) -> Floats:
        q, gap, _, _ = self.mechanism.rounded
        each, reporting = self._reporting
        support = kernels.count.weighted_sum(self.counts, weights * each)
        return np.asarray((support - q * (weights @ reporting)) / gap)

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
class PureNoise:
    """Of a pure mechanism, where C_h is linear in f_h."""

    mechanism: PureMechanism
    means: Means

    def table(self) -> Floats:
        return self.mechanism.variance(self.means.table, 1)

    def sum(self, weights: Floats) -> Floats:
        total = float(weights.sum())
        return total * self.mechanism.variance(self.means.sum(weights) / total, 1)

    def matrix_sum(self, weights: Floats) -> Floats:
        total = float(weights.sum())
        return total * self.mechanism.covariance(self.means.sum(weights) / total, 1)

    def only(self, rows: Rows) -> Noise:
        return PureNoise(self.mechanism, self.means.only(rows))
