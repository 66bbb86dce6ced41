"""Intervals of a mean of numbers, from the exact tails of the sum of all scores.

A report's score takes finitely many values with known probabilities, so the sum of n scores has a
known law for any n answers. An answer m for the mean belongs to the interval unless the tail

    P(sum at least as large as observed | answers with mean m)

or the one to the other side is below (1 − confidence) / 2. For one bit the tail is a binomial one
and this is the interval of Clopper and Pearson (1934), which Hoeffding (1956, theorem 4) shows to
hold for answers that differ. On a grid the tail also depends on how answers with that mean are
spread; it is the largest of those of three populations: answers alike, but midway between grid
points, where rounding adds most; two halves as far apart as the second moment of the reports
allows; and as many answers at the bounds as it allows. Tails are Fourier sums of the
characteristic function, which has a closed form; where the sum is wide compared with one report
they are normal ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .grid import Floats, Grid

Population = list[tuple[float, int]]

_LATTICE = 128
"""Units per range at least, where scores of one bit are rounded to a common lattice."""
_NORMAL = 30
"""From this ratio of the sum's standard deviation to one report's range on, tails are normal."""
_FEW = 20
"""Up to so many reports answers that are all equal are tried too; beyond, the others cover them."""
_UNSEEN = 16.0
"""Minus the logarithm of the probability that may lie outside the window of the Fourier sum."""


@dataclass(frozen=True)
class MeanLaw:
    """The law of the sum of n scores, given the positions of the answers from 0 to 1."""

    n: int
    finest: Grid  # of every report, or of that fraction of them
    bits: Grid | None  # of one step, which the other reports use
    fraction: float
    second_moment: float  # the largest mean squared position that the reports support

    def interval(self, mean: float, confidence: float, std_error: float) -> tuple[float, float]:
        """Ends for the mean position, from the observed mean of the scores."""
        from scipy.optimize import brentq

        tail = (1 - confidence) / 2
        slack = 1e-6 if self.bits is None else 1 + sqrt(self.n * (1 - self.fraction))
        total = self._units(mean) * self.n
        ends = []
        for sign in (1, -1):
            edge = ceil(total - slack) if sign > 0 else floor(total + slack)

            def excess(position: float, edge: int = edge, sign: int = sign) -> float:
                return self._largest_tail(position, edge, sign) - tail

            first, last = (0.0, 1.0) if sign > 0 else (1.0, 0.0)
            if excess(first) >= 0:
                ends.append(first)
            elif excess(last) <= 0:
                ends.append(last)
            else:
                # Most often the end is near that of the normal interval.
                guess = min(max(mean - 3 * sign * std_error, 0.0), 1.0)
                side = (guess, last) if excess(guess) < 0 else (first, guess)
                ends.append(brentq(excess, *side, xtol=max(0.005 * std_error, 1e-12)))
        return min(ends[0], mean), max(ends[1], mean)

    def _largest_tail(self, position: float, edge: int, sign: int) -> float:
        return max(self._tail(p, position, edge, sign) for p in self._populations(position))

    def _populations(self, mean: float) -> list[Population]:
        """Answers with this mean whose sums of scores have the widest tails."""
        steps = self.finest.steps
        if steps == 1:
            return [[(mean, self.n)]]
        below = (floor(mean * steps - 0.5) + 0.5) / steps
        inside = 0 < below < 1 - 1 / steps
        midway = (below, below + 1 / steps) if inside else (mean, mean)
        varied = max(self.second_moment - mean**2, 0.0)
        outer = ceil(self.n * min(varied / max(mean * (1 - mean), 1e-300), 1.0))
        alike = [_pair(self.n, mean, *midway)]
        if self.n <= _FEW:
            alike.append([(mean, self.n)])
        if outer == 0:
            return alike
        reach = sqrt(varied)
        halves = _pair(self.n, mean, max(mean - reach, 0.0), min(mean + reach, 1.0))
        outliers = _pair(outer, mean, 0.0, 1.0) + _pair(self.n - outer, mean, *midway)
        return [*alike, halves, outliers]

    def _tail(self, population: Population, mean: float, edge: int, sign: int) -> float:
        """P(sum ≥ edge) for sign 1, P(sum ≤ edge) for −1."""
        centre = self.n * self._units(mean)
        if self._is_normal:
            variance = sum(k * float(self.variance_at(np.array(at))) for at, k in population)
            deviation = sqrt(variance) * self._scale
            return NormalDist().cdf(sign * (centre - edge) / deviation)
        size = self._size
        last = floor(centre) + sign * (size // 2)
        count = (last - edge) * sign + 1
        if count <= 0 or count >= size:
            return float(count > 0)
        power = np.ones(self._frequency.size, complex)
        for at, k in population:
            power *= _power(self._bounds[at] if at in (0, 1) else self._characteristic(at), k)
        # Σ exp(−iθy) over the y from the edge to the last one.
        power *= self._rotate(edge) - self._rotate(last + sign)
        power *= self._geometric if sign > 0 else self._geometric.conj()
        return (count + 2 * float(power.real.sum())) / size

    @cached_property
    def _geometric(self) -> NDArray[np.complex128]:
        return np.asarray(1 / (1 - np.exp(-1j * self._frequency)))

    def _rotate(self, units: int) -> NDArray[np.complex128]:
        """exp(−iθ units), the angles reduced exactly."""
        steps = np.arange(1, self._frequency.size + 1) * (units % self._size) % self._size
        return np.asarray(np.exp(-2j * np.pi / self._size * steps))

    def variance_at(self, position: Floats) -> Floats:
        """Exact variance of one report's score for an answer at this position."""
        fine = self.finest.variance_at(position)
        if self.bits is None:
            return fine
        return self.fraction * fine + (1 - self.fraction) * self.bits.variance_at(position)

    @cached_property
    def _refinement(self) -> int:
        """Units per cell: more than one only where scores of two grids must meet."""
        return 1 if self.bits is None else max(1, _LATTICE // self.finest.steps)

    @cached_property
    def _scale(self) -> float:
        """Units per position."""
        return float(self.finest.slope) * self.finest.steps * self._refinement

    def _units(self, score: float) -> float:
        return (score - float(self.finest.scores[0])) * self._scale

    @cached_property
    def _reach(self) -> float:
        """How far apart two scores of one report can lie, in units."""
        edges = [self.finest.scores[[0, -1]]]
        edges += [] if self.bits is None else [self.bits.scores]
        return float(np.ptp(np.concatenate(edges))) * self._scale

    @cached_property
    def _deviation(self) -> float:
        """The largest standard deviation of the sum, in units."""
        positions = np.linspace(0, 1, 2 * self.finest.steps + 1)
        return sqrt(self.n * float(self.variance_at(positions).max())) * self._scale

    @property
    def _is_normal(self) -> bool:
        return self._deviation > _NORMAL * self._reach

    @cached_property
    def _size(self) -> int:
        """Odd length of a window that holds the sum: all of it, or by Bernstein's inequality."""
        half = sqrt(2 * _UNSEEN) * self._deviation + 2 / 3 * _UNSEEN * self._reach
        return 2 * ceil(min(half, self.n * self._reach) + 2) + 1

    @cached_property
    def _frequency(self) -> Floats:
        """Frequencies of the Fourier sum; those with a negligible characteristic function go."""
        most = (self._size - 1) // 2
        effective = self.n * self.fraction
        if self._refinement == 1 and self.finest.window > 1:
            # A window of w cells has |φ(θ)| ≤ π / (wθ), in its main lobe exp(−(wθ)² / 24), and
            # at most .22 outside of it.
            least = (10 ** (-9 / self.n) - (1 - self.fraction)) / self.fraction
            last = np.pi / least if least > 0 else np.inf
            if effective > 60:
                last = sqrt(-24 * log(1 - 27 / effective))
            most = int(min(most, last / self.finest.window * self._size / (2 * np.pi) + 1))
        result: Floats = 2 * np.pi / self._size * np.arange(1, most + 1, dtype=np.float64)
        return result

    @cached_property
    def _parts(self) -> tuple[NDArray[np.complex128], ...]:
        """What the characteristic function has in common at all positions."""
        grid, theta = self.finest, self._frequency
        turn = theta * self._refinement
        outside = (1 - float(grid.inside.fraction)) / grid.steps * grid.cells
        window = self.fraction * (1 - outside) * _uniform(turn, grid.window)
        everywhere = self.fraction * outside * _uniform(turn, grid.cells)
        if self.bits is None:
            return window, everywhere
        ends = []
        for score in self.bits.scores:
            units = self._units(float(score))
            below = floor(units)
            split = 1 + (units - below) * (np.exp(1j * theta) - 1)
            ends.append((1 - self.fraction) * split * np.exp(1j * theta * below))
        return window, everywhere, ends[0], ends[1]

    @cached_property
    def _next_cell(self) -> NDArray[np.complex128]:
        """What rounding up instead of down multiplies the characteristic function by, less 1."""
        return np.asarray(np.exp(1j * self._frequency * self._refinement) - 1)

    @cached_property
    def _bounds(self) -> dict[float, NDArray[np.complex128]]:
        return {at: self._characteristic(at) for at in (0.0, 1.0)}

    def _characteristic(self, position: float) -> NDArray[np.complex128]:
        """E exp(iθ score) for an answer at this position, in units."""
        window, everywhere, *ends = self._parts
        turn = self._frequency * self._refinement
        scaled = position * self.finest.steps
        below = min(floor(scaled), self.finest.steps - 1)
        rounded = 1 + (scaled - below) * self._next_cell
        result: NDArray[np.complex128] = window * rounded * np.exp(1j * turn * below) + everywhere
        if self.bits is not None:
            p = float(self.bits.inside.fraction)
            one = 1 - p + (2 * p - 1) * position
            result = result + (1 - one) * ends[0] + one * ends[1]
        return result


def _pair(count: int, mean: float, low: float, high: float) -> Population:
    """`count` answers at two points with this mean, one of them in between where it must be."""
    if count <= 0:
        return []
    if low == high:
        return [(mean, count)]
    above = min(max(count * (mean - low) / (high - low), 0.0), float(count))
    upper = min(floor(above), count - 1)
    between = low + (above - upper) * (high - low)
    parts = [(high, upper), (between, 1), (low, count - upper - 1)]
    return [(at, k) for at, k in parts if k > 0]


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """By repeated squaring: numpy's own complex power takes ten times as long."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result *= base
        base = base * base
        exponent >>= 1
    return result


def _uniform(theta: Floats, cells: int) -> NDArray[np.complex128]:
    """Characteristic function of the uniform law on 0..cells−1; θ is no multiple of 2π."""
    ratio = np.exp(1j * theta)
    result: NDArray[np.complex128] = (1 - ratio**cells) / (cells * (1 - ratio))
    return result
