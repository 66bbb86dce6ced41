"""Intervals that hold where the normal approximation at the estimate does not.

Of n reports, c support a value that m people hold: c is a sum of Bernoulli variables whose
variance depends on m, and few of them may be noise at all. The variance at the estimate is then
far from that at the truth (with no report it would be zero). So an interval is the set of all
fractions f that are consistent with the count, with the variance at f and not at the estimate:

    (|f̂ − f| − h)² ≤ z² (a + b f + g f (1 − f) + r max(f − f̂, 0))

a + b f is the noise of the reports, g f (1 − f) what drawing people adds, and h half the distance
between two values that the estimate can take (the continuity correction). r is zero, except for a
sum over groups: holders that the estimate missed may all be in the group with the most noise. Where
the line a + b f comes from the reports themselves, the noise at f is at least c + d f, whatever
those who happened to report show. For h = 0 and a plain binomial count this is the interval of
Wilson 1927; with h, its coverage is at least about the stated one also for counts of 0 and 1
(`docs/coverage.md` has the figures).

Where two values' noises have the covariance e + k (f_u + f_v) − g f_u f_v, a sum F over m values
has a line of its own, m a + m (m − 1) e + (b + 2 (m − 1) k) F, and the same g and h: it gets the
same interval, tested at F, and needs no correlations at the estimate. Elsewhere a sum may have a
line that its noise does not exceed, whatever the values in it are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError

Floats = NDArray[np.float64]
Line = tuple[Floats | float, Floats | float]
_ON_THE_LINE = 1e-6  # relative error of variances that count as lying on a line


class Interval(NamedTuple):
    """Lower and upper ends, one per value."""

    low: Floats
    high: Floats


def repeatable_generator(numbers: NDArray[Any]) -> np.random.Generator:
    """Draws that are the same for the same numbers, which are public: nothing relies on them."""
    content = np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).tobytes()
    return np.random.default_rng(int.from_bytes(hashlib.sha256(content).digest()[:16], "little"))


def normal_quantile(confidence: float) -> float:
    """How many standard errors an interval of this confidence reaches to either side."""
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise ParameterError(
            f"confidence is {confidence!r}; it must lie strictly between 0 and 1, such as 0.95"
        )
    return NormalDist().inv_cdf(0.5 + confidence / 2)


@dataclass(frozen=True, eq=False)
class ScoreInterval:
    """The interval above, for every value; call it with the confidence."""

    values: Floats  # f̂, unbiased estimates
    base: Floats | float  # a
    slope: Floats | float  # b
    draw: Floats | float = 0.0  # g
    step: Floats | float = 0.0  # h
    rise: Floats | float = 0.0  # r
    least: Line | None = None  # c and d; None where a + b f is known for certain
    pairs: Line | None = None  # e and k; None where the covariance has another form
    groups: tuple[NoiseLines, Floats, Floats] | None = None  # lines, parts and weights of a sum
    most: Callable[[Floats], Line | None] | None = None  # the line that sums do not exceed

    def __call__(self, confidence: float) -> Interval:
        z = normal_quantile(confidence)
        return Interval(
            self._end(self.values - self.step, -z), self._end(self.values + self.step, z)
        )

    @property
    def line(self) -> Line:
        """a and b."""
        return self.base, self.slope

    def times(
        self, factor: Floats | float, *, base: Floats | float = 0.0, slope: float = 0.0
    ) -> Self:
        """The same with the noise of the reports times a factor, and more of it by a line."""
        lines = [(factor * a + base, factor * b + slope) for a, b in self._lines]
        own, least = lines[0], lines[1] if self.least is not None else None
        pairs = self.pairs and (factor * self.pairs[0], factor * self.pairs[1])
        return replace(self, base=own[0], slope=own[1], least=least, pairs=pairs)

    def sums(self, chosen: Floats) -> ScoreInterval | None:
        """The interval of sums of values, a row of zeros and ones for each; None if not known."""
        if self.groups is not None:
            lines, parts, weights = self.groups
            whole = lines.sums(chosen).combine(parts @ chosen.T, weights)
            return replace(whole, draw=self.draw)
        values = chosen @ self.values
        if self.pairs is not None:
            base, slope = _sum_line(self.line, self.pairs, chosen)
            return replace(self, values=values, base=base, slope=slope, pairs=None)
        line = None if self.most is None else self.most(chosen)
        if line is None:
            return None
        step = float(np.max(self.step))
        return ScoreInterval(values, *line, draw=self.draw, step=step)

    @property
    def _lines(self) -> list[Line]:
        return [self.line] if self.least is None else [self.line, self.least]

    def _end(self, at: Floats, z: float) -> Floats:
        """The farthest f on the side of z that the noise at f, by either line, still reaches."""
        ends = [self._root(at, z, *line) for line in self._lines]
        return np.asarray(np.min(ends, axis=0) if z < 0 else np.max(ends, axis=0))

    def _root(self, at: Floats, z: float, base: Floats | float, slope: Floats | float) -> Floats:
        """The root of (at − f)² = z² (noise at f) beyond `at`, on the side of z."""
        square, rise = z * z, np.asarray(self.rise) if z > 0 else 0.0
        base, slope = base - rise * self.values, slope + rise
        lead = 1 + square * np.asarray(self.draw)
        middle = at + square * (slope + self.draw) / 2
        rest = middle**2 - lead * (at**2 - square * base)
        end = (middle + np.sign(z) * np.sqrt(np.maximum(rest, 0.0))) / lead
        # Where the variance at `at` itself is below zero there is no root beyond it.
        return np.asarray(np.minimum(end, at) if z < 0 else np.maximum(end, at))


@dataclass(frozen=True, eq=False)
class Later:
    """What intervals need, worked out when the first one is asked for; None if nothing is known."""

    make: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class NoiseLines:
    """The terms above of several estimates, a row each; one column where values agree."""

    base: Floats
    slope: Floats
    draw: Floats
    step: Floats
    rise: Floats | float = 0.0
    least: tuple[Floats, Floats] | None = None
    pairs: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, parts: Sequence[ScoreInterval]) -> NoiseLines:
        """Those of intervals that know them."""
        least = None
        if any(part.least is not None for part in parts):
            lines = [part.line if part.least is None else part.least for part in parts]
            least = _table([a for a, _ in lines]), _table([b for _, b in lines])
        names = ("base", "slope", "draw", "step", "rise")
        rows = {name: _table([getattr(part, name) for part in parts]) for name in names}
        known = [part.pairs for part in parts if part.pairs is not None]
        pairs = None
        if len(known) == len(parts):
            pairs = _table([e for e, _ in known]), _table([k for _, k in known])
        return cls(**rows, least=least, pairs=pairs)

    def sums(self, chosen: Floats) -> NoiseLines:
        """Those of sums of values, a row of zeros and ones for each; `pairs` must be known."""
        if self.pairs is None:
            raise TypeError("sums need the covariance of two values")
        base, slope = _sum_line((self.base, self.slope), self.pairs, chosen)
        return replace(self, base=base, slope=slope, pairs=None)

    def combine(self, parts: Floats, weights: Floats) -> ScoreInterval:
        """The interval of Σ ω_j ψ̂_j, of independent estimates ψ̂_j (the rows of `parts`).

        The line of the sum assumes that a value is as frequent in every group. Where the groups'
        own estimates show more noise than that (a value held in a noisy group alone), the noise
        starts at what they show; and above the estimate it grows as in the noisiest group.
        """
        squares, values = weights**2, weights @ parts
        base, slope, draw = squares @ self.base, squares @ self.slope, squares @ self.draw
        shown = base + _weighted(squares, self.slope + self.draw, parts)
        shown -= _weighted(squares, self.draw, parts * parts)
        alike = base + slope * values + draw * values * (1 - values)
        steepest = (weights[:, None] * (self.slope + self.draw + self.rise)).max(axis=0)
        return ScoreInterval(
            values,
            base + np.maximum(shown - alike, 0.0),
            slope,
            draw,
            # The coarsest of the parts' steps: the sum can take no fewer values than that.
            step=(weights[:, None] * self.step).max(axis=0),
            rise=np.maximum(steepest - slope - draw, 0.0),
            least=self.least and (squares @ self.least[0], squares @ self.least[1]),
            groups=None if self.pairs is None else (self, parts, weights),
        )


def _sum_line(line: Line, pairs: Line, chosen: Floats) -> tuple[Floats, Floats]:
    """The line of sums of values, in the last axis."""
    many = chosen.sum(axis=1)
    base, slope = (np.atleast_1d(np.asarray(term, float)) for term in line)
    each = base * many if base.shape[-1] == 1 else base @ chosen.T
    shared, rise = (np.asarray(term) for term in pairs)
    return each + many * (many - 1) * shared, slope + 2 * (many - 1) * rise


def _weighted(weights: Floats, factors: Floats, parts: Floats) -> Floats:
    """Σ_j ω_j k_j ψ_j for every value; as one product of a matrix where values share factors."""
    if factors.shape[1] == 1:
        return np.asarray((weights * factors[:, 0]) @ parts)
    return np.asarray(weights @ (factors * parts))


def _table(rows: Sequence[Floats | float]) -> Floats:
    """One row for each; one column where all values agree."""
    return np.stack(np.broadcast_arrays(*(np.atleast_1d(row) for row in rows))).astype(float)


def fit_noise_line(values: Floats, variance: Floats) -> ScoreInterval | None:
    """The interval of fractions of which only the estimates and their variances are known.

    Variances that were computed from the estimates lie on a line a + b f, or on a curve with
    g f (1 − f) as well. None where these do not: then they are not a function of the fractions.
    Counts of reports change in steps of at least b: b = (1 − p − q) / (n (p − q)).
    """
    terms = np.stack([np.ones_like(values), values, values * (1 - values)], axis=1)
    for known in (2, 3):
        if values.size <= known:  # that many points always lie on it
            return None
        fit, _, rank, _ = np.linalg.lstsq(terms[:, :known], variance)
        gap = np.abs(terms[:, :known] @ fit - variance).max()
        if rank == known and gap <= _ON_THE_LINE * np.abs(variance).max():
            base, slope, draw = (*fit.tolist(), 0.0)[:3]
            return ScoreInterval(values, base, slope, draw, step=abs(slope) / 2)
    return None
