"""What opened sums say about the true table, whatever the data: fractions, errors and intervals.

A method may shrink, project or assume; intervals never do. They are computed from the sums and the
known law of their noise, for every cell, marginal and conditional fraction:

Cells          counts with independent noise, the number of rows public
CellsAlone     the same with the number of rows unknown: fractions are ratios
LeastSquares   the least-squares table of nested releases (`pbs-gls`)

`bounds` has the evidence behind methods that open no unbiased sum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...estimate.intervals import Floats, Interval
from ...estimate.ratios import ratio_interval
from ..releases import summed
from .numbers import reach


@dataclass(frozen=True)
class Margin:
    """A marginal of a table whose axes are made up of attributes."""

    sizes: tuple[int, ...]  # of all attributes, in the order of the table
    axes: tuple[tuple[int, ...], ...]  # which attributes make up each axis of the design, in order
    #: The attributes of the marginal, in any order; the others are summed over.
    kept: tuple[int, ...]

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> Margin:
        """The table itself, one attribute per axis."""
        every = tuple(range(len(shape)))
        return cls(shape, tuple((a,) for a in every), every)

    def of(self, kept: tuple[int, ...]) -> Margin:
        """Another marginal of the same table."""
        return Margin(self.sizes, self.axes, kept)

    @cached_property
    def merged(self) -> tuple[int, ...]:
        """How many values of each axis a cell of the marginal comprises."""
        return tuple(
            math.prod(self.sizes[a] for a in axis if a not in self.kept) for axis in self.axes
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the kept attributes."""
        return tuple(self.sizes[a] for a in self.kept)

    def sum(self, cells: Floats) -> Floats:
        """A table, in row-major order, summed to the marginal."""
        return summed(cells.reshape(self.sizes), self.kept)


class Evidence(ABC):
    """What opened sums say about true fractions."""

    n: int  # how many people the fractions are of; estimated where it is not public

    @abstractmethod
    def fractions(self, margin: Margin) -> Floats:
        """The unbiased fractions of a marginal; NaN where there are none."""

    @abstractmethod
    def variance(self, margin: Margin) -> Floats:
        """Their variances."""

    @abstractmethod
    def interval(self, margin: Margin, confidence: float) -> Interval:
        """An interval for every fraction of a marginal, each on its own."""

    def conditional(self, margin: Margin, given: int, confidence: float) -> Interval:
        """An interval for each fraction among those with the same first `given` attributes.

        Here from one interval for the part and one for the whole, which hold together.
        """
        both = 1 - (1 - confidence) / 2
        part = self.interval(margin, both)
        whole = self.interval(margin.of(margin.kept[:given]), both)
        each = part.low.size // whole.low.size
        low, high = np.repeat(whole.low, each), np.repeat(whole.high, each)
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(high > 0, np.maximum(part.low, 0) / high, 0.0)
            most = np.where(low > 0, np.maximum(part.high, 0) / low, 1.0)
        return Interval(np.clip(least, 0, 1), np.clip(most, 0, 1))


class _Linear(Evidence):
    """Counts that are linear in the sums, so that any two sums of them have a known covariance."""

    counts: Floats
    _step: float  # what is added to the rounded half-width

    @abstractmethod
    def covariance(self, part: tuple[int, ...], whole: tuple[int, ...]) -> float:
        """Of the counts of two sets of cells, one inside the other, so many values per axis."""

    def fractions(self, margin: Margin) -> Floats:
        return margin.sum(self.counts) / self.n

    def variance(self, margin: Margin) -> Floats:
        variance = self.covariance(margin.merged, margin.merged) / self.n**2
        return np.full(math.prod(margin.shape), variance)

    def interval(self, margin: Margin, confidence: float) -> Interval:
        """Half-width (⌈h √V⌉ + step)/n: integer noise that reaches h √V lies on an integer."""
        deviation = math.sqrt(self.covariance(margin.merged, margin.merged))
        half = (math.ceil(reach(confidence) * deviation) + self._step) / self.n
        middle = self.fractions(margin)
        return Interval(middle - half, middle + half)

    def conditional(self, margin: Margin, given: int, confidence: float) -> Interval:
        """By Fieller's method, with the covariance of the part and the whole."""
        whole = margin.of(margin.kept[:given])
        return self._ratio(margin, whole, reach(confidence))

    def _ratio(self, margin: Margin, whole: Margin, h: float) -> Interval:
        parts, wholes = margin.sum(self.counts), whole.sum(self.counts)
        return ratio_interval(
            parts,
            np.repeat(wholes, parts.size // wholes.size),
            self.covariance(margin.merged, margin.merged),
            self.covariance(margin.merged, whole.merged),
            self.covariance(whole.merged, whole.merged),
            h,
            step=1.0,
        )


@dataclass(frozen=True, eq=False)
class Cells(_Linear):
    """Counts with independent noise of one variance; the number of rows is public."""

    counts: Floats  # with noise, in row-major order
    noise: float  # V, the variance of the noise of one cell
    n: int  # N
    _step = 0.0

    def covariance(self, part: tuple[int, ...], whole: tuple[int, ...]) -> float:
        return self.noise * math.prod(part)


@dataclass(frozen=True, eq=False)
class CellsAlone(Cells):
    """The same where the number of rows is not public: `n` is the sum of the noisy counts.

    Fractions are ratios of noisy sums: nearly unbiased while the noise of the total is small beside
    it, with variances by the usual expansion; intervals are Fieller's and hold anyway.
    """

    def variance(self, margin: Margin) -> Floats:
        part, all_cells = math.prod(margin.merged), math.prod(margin.sizes)
        r = self.fractions(margin)
        return np.asarray(self.noise * (part - 2 * r * part + r**2 * all_cells) / self.n**2)

    def interval(self, margin: Margin, confidence: float) -> Interval:
        return self._ratio(margin, margin.of(()), reach(confidence))


@dataclass(frozen=True, eq=False)
class LeastSquares(_Linear):
    """The least-squares table G_1 of nested releases (`nested`).

    G_1 = Σ_i E_i / Π_{j<i} l_j, where E_i lives on axes i..K, sums to 0 over axis i, and comes from
    independent cells of variance τ_i; the E_i are uncorrelated. So for sets A ⊆ B with a_j and b_j
    values of axis j,

        Cov(A, B) = Σ_i τ_i a_i (1 − b_i/l_i) Π_{j<i} a_j b_j / l_j² Π_{j>i} a_j
    """

    counts: Floats  # G_1 in row-major order of the design
    n: int  # N
    order: tuple[int, ...]  # axes of the design by ascending budget
    sizes: tuple[int, ...]  # l_i, in that order
    taus: tuple[float, ...]  # τ_i, in that order
    _step = 0.5

    def covariance(self, part: tuple[int, ...], whole: tuple[int, ...]) -> float:
        a = [part[axis] for axis in self.order]
        b = [whole[axis] for axis in self.order]
        total, before = 0.0, 1.0
        for i, (size, tau) in enumerate(zip(self.sizes, self.taus, strict=True)):
            total += tau * a[i] * (1 - b[i] / size) * before * math.prod(a[i + 1 :])
            before *= a[i] * b[i] / size**2
        return total
