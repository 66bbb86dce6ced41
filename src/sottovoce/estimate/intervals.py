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

Rare counts are skewed, and a sum of steps 2h with variance V has a third cumulant of at most 2h V:
its quantile lies up to 2h (z² − 1) / 6 beyond z √V (Cornish, Fisher 1938). At 95 % what the longer
tail misses is made up for by the shorter one. Beyond, where it is not (at 99.9 % such a tail holds
up to ten times its part), h is multiplied by 1 + (z² − 1.96²) / 3.

A combination Σ w_v f_v with weights from l to u is tested at F = (Σ w_v f_v − l) / (u − l), as a
fraction is, and needs no correlations at the estimate: its noise has a line in F that it does not
exceed, whatever the values in it are. Where two values' noises have the covariance
e + k (f_u + f_v) − g f_u f_v, someone with a value of weight w adds

    a Σ w_v² + e ((Σ w_v)² − Σ w_v²) + 2 k w Σ w_v + (b − 2k) w²

and the line is the chord from l to u. For a sum of values it is their noise itself.
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
#: The least and the greatest weight in each of several combinations.
Ends = tuple[Floats, Floats]
#: Base and slope of combinations, and their step, which may be None for that of single values.
Terms = tuple[Floats, Floats, Floats | None]
#: Up to so many reports, a combination holds only if it is tested as a whole: where the covariance
#: of two values is known from their fractions alone, and elsewhere.
FEW, FEW_ELSEWHERE = 20, 200
#: The confidence up to which the two tails of skewed noise make up for each other.
EVEN_TAILS = 0.95
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


def steps_beyond(z: float) -> float:
    """How many half steps an interval reaches beyond z standard errors, for skewed noise."""
    return 1 + max(z * z - normal_quantile(EVEN_TAILS) ** 2, 0.0) / 3


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
    kept: float = 1.0  # probability with which an answer was counted at all
    #: The line that combinations do not exceed, from their weights and ends.
    most: Callable[[Floats, Ends], Terms | None] | None = None

    def __call__(self, confidence: float) -> Interval:
        z = normal_quantile(confidence)
        step = steps_beyond(z) * self.step
        return Interval(self._end(self.values - step, -z), self._end(self.values + step, z))

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
        return replace(self, base=own[0], slope=own[1], least=least, pairs=pairs, most=None)

    def sums(self, chosen: Floats) -> ScoreInterval | None:
        """The interval of sums of values, a row of zeros and ones for each; None if not known."""
        rows = np.zeros(len(chosen))
        return self.combinations(chosen, (rows, rows + 1))

    def combinations(self, weights: Floats, ends: Ends) -> ScoreInterval | None:
        """The interval of F for each row of weights, which lie between its ends; None as above."""
        if self.groups is not None:
            lines, parts, shares = self.groups
            if (some := lines.combinations(weights, ends)) is None:
                return None
            whole = some.combine(_scaled(parts, weights, ends), shares)
            return replace(whole, draw=self.draw)
        values = _scaled(self.values, weights, ends)
        if self.pairs is not None:
            base, slope = _chord(self.line, self.pairs, weights, ends)
            return replace(self, values=values, base=base, slope=slope, pairs=None, most=None)
        terms = None if self.most is None else self.most(weights, ends)
        if terms is None:
            return None
        base, slope, step = terms
        own = float(np.max(self.step))
        return ScoreInterval(values, base, slope, self.draw, own if step is None else step)

    def combination(
        self, weights: Floats, complete: bool, confidence: float
    ) -> tuple[Floats, Floats] | None:
        """Ends for Σ w_v f_v, a row of weights for each; None where it is not known.

        Of incomplete values, others have no weight.
        """
        low, high = weights.min(axis=1), weights.max(axis=1)
        if not complete:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        tested = self.combinations(weights, (low, high)) if (low < high).all() else None
        if tested is None:
            return None
        least, most = tested(confidence)
        return low + (high - low) * least, low + (high - low) * most

    def needs_testing(self, reports: int) -> bool:
        """Whether combinations hold only if tested as a whole, not put together from values."""
        known = self.groups[0].pairs if self.groups is not None else self.pairs
        plain = known is not None and self.kept == 1
        return reports * self.kept <= (FEW if plain else FEW_ELSEWHERE)

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
    #: Intervals of combinations of each estimate, where `pairs` are not known.
    each: tuple[Callable[[Floats, Ends], ScoreInterval | None], ...] = ()

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
        each = () if pairs else tuple(part.combinations for part in parts)
        return cls(**rows, least=least, pairs=pairs, each=each)

    def combinations(self, weights: Floats, ends: Ends) -> NoiseLines | None:
        """Those of combinations of values; None where they are not known."""
        if self.pairs is not None:
            base, slope = _chord((self.base, self.slope), self.pairs, weights, ends)
            return replace(self, base=base, slope=slope, pairs=None)
        every = [combinations(weights, ends) for combinations in self.each]
        known = [one for one in every if one is not None]
        return NoiseLines.of(known) if known and len(known) == len(every) else None

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
            groups=(self, parts, weights) if self.pairs or self.each else None,
        )


def _scaled(values: Floats, weights: Floats, ends: Ends) -> Floats:
    """F of combinations, in the last axis."""
    return np.asarray((values @ weights.T - ends[0]) / (ends[1] - ends[0]))


def _chord(line: Line, pairs: Line, weights: Floats, ends: Ends) -> tuple[Floats, Floats]:
    """The line of combinations, in the last axis."""
    total, squares = weights.sum(axis=1), (weights**2).sum(axis=1)
    base, slope = (np.atleast_1d(np.asarray(term, float)) for term in line)
    each = base * squares if base.shape[-1] == 1 else base @ (weights**2).T
    shared, rise = (np.asarray(term) for term in pairs)
    bend = slope - 2 * rise
    # Where the noise bends down, it exceeds the chord by at most a quarter of the bend.
    most = (ends[1] - ends[0]) ** 2
    fixed = each + (total**2 - squares) * shared + np.maximum(-bend, 0) * most / 4
    low, high = (fixed + 2 * rise * total * end + bend * end**2 for end in ends)
    return low / most, (high - low) / most


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
