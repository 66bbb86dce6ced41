"""Common parts of the mechanisms for numbers: a grid, and a window of likely cells.

A number is rescaled to u in [0, M], rounded to i in {0..M} without bias, and reported as a cell j
of {0..M+w−1}:

Channel     P(j|i) = p / w for i ≤ j < i + w, else (1 − p) / M,   p = w e^ε / (w e^ε + M)
Score       E[j|i] = a i + b with a = p − (1 − p) w / M, so (j − b) / a is unbiased for i, and so
            for u; E[j²|i] = a i² + b₁ i + b₂ gives one for i² in the same way
Guarantee   ε-LDP, tight; p is rounded down to a multiple of 2^-128

M = w = 1 is Duchi's mechanism, M large with w = M e^{−ε/2} the piecewise one (maths: local
mechanisms in exact integer form). Everything is an integer, so the law is a finite table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..randomness import Draws, Probability
from .channel import set_probability

Floats = NDArray[np.float64]
_POINTS = 16  # within a bin, to average over it


@dataclass(frozen=True)
class Grid:
    """A grid of M steps with a window of w cells at privacy epsilon."""

    epsilon: float
    steps: int
    window: int

    @property
    def cells(self) -> int:
        """The number of possible reports."""
        return self.steps + self.window

    @property
    def inside(self) -> Probability:
        """Probability that the cell lies in the window, as drawn."""
        return set_probability(self.epsilon, self.window, self.steps)

    @property
    def slope(self) -> Fraction:
        """a: how much a report moves with the answer, in cells per step."""
        p = self.inside.fraction
        return p - (1 - p) * Fraction(self.window, self.steps)

    @cached_property
    def scores(self) -> Floats:
        """Per cell, an unbiased estimate of the position, from 0 to 1."""
        m, w, p = self.steps, self.window, self.inside.fraction
        total = Fraction((m + w) * (m + w - 1), 2)
        inner = Fraction(w * (w - 1), 2)
        base = p * Fraction(w - 1, 2) + (1 - p) * (total - inner) / m
        a, b = float(self.slope), float(base)
        result: Floats = (np.arange(self.cells, dtype=np.float64) - b) / (a * m)
        return result

    @cached_property
    def squares(self) -> Floats:
        """Per cell, an unbiased estimate of the squared rounded position."""
        m, w, p = self.steps, self.window, self.inside.fraction
        every = sum(Fraction(j * j) for j in range(m + w))
        inner = Fraction((w - 1) * w * (2 * w - 1), 6)
        linear = self.slope * (w - 1)
        constant = p * inner / w + (1 - p) * (every - inner) / m
        j = np.arange(self.cells, dtype=float)
        i = self.scores * m
        result: Floats = (j * j - float(linear) * i - float(constant)) / (float(self.slope) * m * m)
        return result

    def variance_at(self, position: ArrayLike) -> Floats:
        """Exact variance of one report's score for an answer at this position, from 0 to 1."""
        at = np.asarray(position, float)
        scaled = at * self.steps
        below = np.minimum(np.floor(scaled), self.steps - 1).astype(np.int64)
        fraction = scaled - below
        second = self._mean_square
        result: Floats = (1 - fraction) * second[below] + fraction * second[below + 1] - at**2
        return result

    @cached_property
    def _mean_square(self) -> Floats:
        return self.mean_at_points(self.scores**2)

    def mean_at_points(self, per_cell: Floats) -> Floats:
        """Mean of a function of the cell at every grid point, by sums over the window."""
        p = float(self.inside.fraction)
        run = np.concatenate([[0.0], np.cumsum(per_cell)])
        inner = run[self.window :] - run[: self.steps + 1]
        result: Floats = p * inner / self.window + (1 - p) * (run[-1] - inner) / self.steps
        return result

    @cached_property
    def variance_of_squares(self) -> float:
        """The largest variance of one report's entry of `squares`, over all answers."""
        points = np.linspace(0, 1, self.steps + 1)
        return float((self.mean_at_points(self.squares**2) - points**4).max())

    @property
    def rounding(self) -> float:
        """The largest variance that rounding a position to the grid adds."""
        return 0.25 / self.steps**2

    def law(self, i: int) -> list[Fraction]:
        """Exact probabilities of all cells at grid point i."""
        p = self.inside.fraction
        inner, outer = p / self.window, (1 - p) / self.steps
        return [inner if i <= j < i + self.window else outer for j in range(self.cells)]

    def bin_laws(self, edges: Floats) -> Floats:
        """Probabilities of all cells given each bin between these positions from 0 to 1.

        Answers are spread evenly within each bin.
        """
        bins = edges.size - 1
        p = float(self.inside.fraction)
        middles = (np.arange(_POINTS) + 0.5) / _POINTS
        weights = np.zeros((bins, self.steps + 1))
        for b in range(bins):
            row = self.steps * (edges[b] + middles * (edges[b + 1] - edges[b]))
            below = np.minimum(np.floor(row).astype(int), self.steps - 1)
            np.add.at(weights[b], below, (1 - (row - below)) / row.size)
            np.add.at(weights[b], below + 1, (row - below) / row.size)
        run = np.concatenate([np.zeros((bins, 1)), np.cumsum(weights, axis=1)], axis=1)
        j = np.arange(self.cells)
        upper = np.minimum(j + 1, self.steps + 1)
        lower = np.clip(j - self.window + 1, 0, self.steps + 1)
        near = run[:, upper] - run[:, lower]
        result: Floats = near * p / self.window + (1 - near) * (1 - p) / self.steps
        return result

    def merge_cells(self, per_cell: NDArray[Any]) -> NDArray[Any]:
        """Sums over neighbouring cells, fewer than a quarter of a window: a fit loses little."""
        block = max(1, min(self.window // 4, self.steps // 128))
        merged: NDArray[Any] = np.add.reduceat(per_cell, range(0, self.cells, block), axis=-1)
        return merged


def draw_cells(
    draws: Draws,
    grids: Sequence[Grid],
    second: Probability | None,
    numbers: Floats,
    bounds: tuple[float, float],
    which: NDArray[np.uint8] | None,
    out: NDArray[np.unsignedinteger],
) -> bool:
    """Cells for numbers, into `out`; False where one is out of bounds.

    Of two grids the second is taken with probability `second`, and `which` says so.
    """
    coins = [grid.inside for grid in grids] + ([] if second is None else [second])
    shapes = np.array([(grid.steps, grid.window) for grid in grids])
    thresholds = np.array([coin.words for coin in coins])
    inside = True

    def step(
        words: NDArray[Any], part: slice, extra: NDArray[np.uint64], used: int
    ) -> tuple[int, int]:
        nonlocal inside
        own = None if which is None else which[part]
        done, used = kernels.draw.window_response(
            words, numbers[part], *bounds, shapes, thresholds, own, out[part], extra, used
        )
        inside = inside and done >= 0
        return (done if inside else part.stop - part.start), used

    bits = which is None and grids[0].cells == 2  # which needs no pick, and so half a word
    draws.each(numbers.size, np.uint32 if bits else np.uint64, step)
    return inside
