"""Two laws of what is seen, and how well they can be distinguished.

A `Pair` lists everything that can be seen with its probability P under the first law and the ratio
r = Q/P to the second. Everything else follows:

Delta     δ(ε) = Σ P (1 − e^ε r)₊: the smallest δ with P ≤ e^ε Q + δ for every event
Product   two independent parts: δ(ε) = Σ_i Σ_j P_i P_j (1 − e^ε r_i r_j)₊. With the second part
          sorted by r and F_j = P_1 + … + P_j, the inner sum at x = e^ε r_i is
          F_t (1 − x r_t) + x Σ_{j<t} F_j (r_{j+1} − r_j), t the last with x r_t < 1 (summation by
          parts): positive terms only, so that nothing cancels
Rounds    losses −ln r add up. Each one is split between two neighbouring points of a grid so that
          P and Q are both kept ("connect the dots", Doroshenko, Ghazi, Kamath, Kumar, Manurangsi
          2022, arXiv:2207.04380). Joining the two points again is post-processing, so the δ of the
          grid is an upper bound; convolutions are sums of positive numbers

Sums are in logarithms. Every δ is rounded up, and is positive where it underflows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..noise.binomial import Floats, log_pmf, window
from .search import MARGIN

SMALLEST = math.ulp(0.0)
_ROUND_OFF = 1e-15  # of a logarithm of r, for an r of a few operations
_LOG_MISS = 760.0  # e^-760 is below the smallest positive number
_GRID = 2000  # points between the tails of one round's losses
_TAIL = 1e-25  # probability that each convolution may move from a tail into the δ


@dataclass(frozen=True, eq=False)
class Pair:
    """What can be seen: log P under the first law, r = Q/P, and the mass of P that was left out."""

    log_mass: Floats
    ratio: Floats
    missed: float = 0.0

    def delta(self, epsilon: float) -> float:
        """δ(ε) of the first law against the second, rounded up."""
        exponent = _a_little_less(epsilon) + _log(self.ratio)
        return rounded(log_sum(self.log_mass + _log_weight(exponent)), self.missed)

    def delta_with(self, other: Pair, epsilon: float) -> float:
        """δ(ε) when an independent part with the laws of `other` is seen as well, rounded up."""
        order = np.argsort(other.ratio, kind="stable")
        ratio = other.ratio[order]
        log_ratio = _log(ratio)
        below = np.logaddexp.accumulate(other.log_mass[order])
        gaps = np.full(ratio.size, -np.inf)
        gaps[1:] = np.logaddexp.accumulate(below[:-1] + _log(np.diff(ratio)))
        x = _a_little_less(epsilon) + _log(self.ratio)
        last = np.searchsorted(log_ratio, -x, side="left") - 1
        some = last >= 0
        x, last = x[some], last[some]
        inner = np.logaddexp(below[last] + _log_weight(x + log_ratio[last]), x + gaps[last])
        return rounded(log_sum(self.log_mass[some] + inner), self.missed + other.missed)

    def scaled(self, first: float, second: float) -> Pair:
        """The same, seen with probability `first` under the first law and `second` under the other.

        Both are above 0; the laws no longer add up to one.
        """
        return Pair(
            self.log_mass + math.log(first), self.ratio * (second / first), self.missed * first
        )

    @classmethod
    def mixture(cls, pairs: Iterable[Pair]) -> Pair:
        """Everything that can be seen in one of several (scaled) pairs, which one being seen."""
        parts = list(pairs)
        return cls(
            np.concatenate([part.log_mass for part in parts]),
            np.concatenate([part.ratio for part in parts]),
            math.fsum(part.missed for part in parts),
        )


_REVEALED = Pair(np.zeros(1), np.zeros(1))  # what is seen occurs under the first law only


def with_holder(count: int, rate: float) -> Pair:
    """The sampled count with one holder more, against without: Bin(c, p) against Bin(c−1, p).

    Q(k)/P(k) = (c − k)/(c (1 − p)); k = c occurs under the first law only.
    """
    if rate == 1:
        return _REVEALED
    k, missed = support(count, rate)
    return Pair(log_pmf(k, count, rate), (count - k) / (count * (1 - rate)), missed)


def without_holder(count: int, rate: float) -> Pair:
    """The other way round: Bin(c−1, p) against Bin(c, p)."""
    if rate == 1:
        return _REVEALED
    k, missed = support(count - 1, rate)
    log_mass = log_pmf(k, count - 1, rate) if count > 1 else np.zeros(1)
    return Pair(log_mass, count * (1 - rate) / (count - k), missed)


def shifted(log_pmf_of: Floats, missed: float = 0.0, step: int = 1) -> Pair:
    """Integer noise against the same noise plus `step`; `log_pmf_of` consecutive integers.

    For a law that is symmetric about its mean the other direction has the same δ.
    """
    left = max(0, log_pmf_of.size - step)  # what both can show
    with np.errstate(over="ignore"):
        before = np.concatenate([np.full(log_pmf_of.size - left, -np.inf), log_pmf_of[:left]])
        ratio = np.exp(before - log_pmf_of)
    return Pair(log_pmf_of, ratio, missed)


def release_delta(parts: Sequence[Pair], epsilon: float, rounds: int = 1) -> float:
    """δ(ε) of independent rounds, each of which shows all of one or two parts; rounded up.

    From 2 rounds on an upper bound.
    """
    return composed_delta([(parts, rounds)], epsilon)


def composed_delta(releases: Sequence[tuple[Sequence[Pair], int]], epsilon: float) -> float:
    """The same of rounds that may differ: what a round shows, and how many such rounds there are.

    From 2 rounds on an upper bound.
    """
    if len(releases) == 1 and releases[0][1] == 1:
        ((parts, _),) = releases
        return parts[0].delta_with(parts[1], epsilon) if parts[1:] else parts[0].delta(epsilon)
    spans = [[_span(part) for part in parts] for parts, _ in releases]
    step = max(high - low for of_release in spans for low, high in of_release) / _GRID or 1.0
    totals = []
    for (parts, rounds), of_release in zip(releases, spans, strict=True):
        pairs = zip(parts, of_release, strict=True)
        losses = [_Losses.of(part, step, *span) for part, span in pairs]
        totals.append(reduce(_Losses.plus, losses).times(rounds))
    return min(1.0, reduce(_Losses.plus, totals).delta(epsilon) * MARGIN)


def rounded(log_delta: float, missed: float) -> float:
    """A δ from its logarithm, rounded up: at least the smallest number above 0 unless it is 0."""
    if log_delta == -math.inf and missed == 0:
        return 0.0
    return min(1.0, max(SMALLEST, math.exp(min(log_delta, 0.0)) * MARGIN + missed))


def log_sum(terms: Floats) -> float:
    """Logarithm of the sum of e^terms."""
    most = float(terms.max(initial=-math.inf))
    return most if math.isinf(most) else most + math.log(float(np.exp(terms - most).sum()))


def support(trials: int, rate: float) -> tuple[NDArray[np.int64], float]:
    """The counts that matter, and a bound on the probability of all others."""
    least, most = window(trials, rate, _LOG_MISS)
    whole = least == 0 and most == trials
    return np.arange(least, most + 1), 0.0 if whole else SMALLEST


def _a_little_less(epsilon: float) -> float:
    """Where e^ε r is almost 1, the weight 1 − e^ε r would be nothing but the round-off of r."""
    return epsilon - _ROUND_OFF * (1 + abs(epsilon))


def _log(values: ArrayLike) -> Floats:
    with np.errstate(divide="ignore"):
        logarithm: Floats = np.log(values)
    return logarithm


def _log_weight(exponent: Floats) -> Floats:
    """Logarithm of (1 − e^exponent)₊."""
    return _log(-np.expm1(np.minimum(exponent, 0.0)))


def _span(part: Pair) -> tuple[float, float]:
    """Between which losses all but the tails lie."""
    order = np.argsort(-part.ratio, kind="stable")
    loss = -_log(part.ratio[order])
    mass = np.exp(part.log_mass[order])
    finite = np.isfinite(loss)
    loss, mass = loss[finite], mass[finite]
    if not loss.size:
        return 0.0, 0.0
    low = int(np.searchsorted(np.cumsum(mass), _TAIL))
    high = int(np.searchsorted(np.cumsum(mass[::-1]), _TAIL))
    return float(loss[min(low, loss.size - 1)]), float(loss[max(loss.size - 1 - high, 0)])


@dataclass(frozen=True, eq=False)
class _Losses:
    """Probabilities of the losses step · (first, first + 1, …), and of what only P can show."""

    step: float
    first: int
    mass: Floats
    infinite: float

    @classmethod
    def of(cls, part: Pair, step: float, low: float, high: float) -> _Losses:
        """Losses below `low` are raised to it; what lies above `high` counts as infinite."""
        loss, mass = -_log(part.ratio), np.exp(part.log_mass)
        beyond = loss > high
        infinite = float(mass[beyond].sum()) + part.missed
        loss, mass = np.maximum(loss[~beyond], low), mass[~beyond]
        first = math.floor(low / step)
        place = np.floor(loss / step)
        # The part of the mass that goes to the upper neighbour keeps Q: p₁e^−l + p₂e^−(l+step) = q.
        upper = np.clip(np.expm1(place * step - loss) / np.expm1(-step), 0.0, 1.0)
        index = (place - first).astype(np.int64)
        size = int(index.max(initial=0)) + 2
        counts: Floats = np.bincount(index, mass * (1 - upper), size).astype(float)
        counts += np.bincount(index + 1, mass * upper, counts.size)
        return cls(step, first, counts, infinite)

    def plus(self, other: _Losses) -> _Losses:
        """The sum of two independent losses, without its far tails."""
        mass = np.convolve(self.mass, other.mass)
        infinite = self.infinite + other.infinite * (1 - self.infinite)
        first = self.first + other.first
        low = int(np.searchsorted(np.cumsum(mass), _TAIL))
        high = mass.size - int(np.searchsorted(np.cumsum(mass[::-1]), _TAIL))
        low, high = min(low, mass.size - 1), max(high, 1)
        infinite += float(mass[high:].sum())
        if low < high:
            raised = float(mass[:low].sum())
            mass = mass[low:high].copy()
            mass[0] += raised
            first += low
        return _Losses(self.step, first, mass, infinite)

    def times(self, rounds: int) -> _Losses:
        """The sum of so many independent copies."""
        if rounds == 1:
            return self
        half = self.times(rounds // 2)
        twice = half.plus(half)
        return twice.plus(self) if rounds & 1 else twice

    def delta(self, epsilon: float) -> float:
        loss = self.step * (self.first + np.arange(self.mass.size))
        return self.infinite + float(self.mass @ -np.expm1(np.minimum(epsilon - loss, 0.0)))
