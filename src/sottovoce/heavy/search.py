"""The descent of the tree: which prefixes are frequent, and which texts in the end.

At each depth other people reported, so that what one depth selects does not depend on the noise of
the next. N reports support a prefix that nobody holds Binomial(N, q) times, exactly.

Kept      a prefix whose count is so large that of all M candidates of its depth one that nobody
          holds is expected to be kept; a looser rule than the last one, and no claim rests on it
Listed    at the last depth, a text whose interval lies above 0. All M intervals hold together with
          the stated confidence 1 − α, so that a text which nobody holds is listed with
          probability at most α/2 for the whole list
Interval  of Clopper and Pearson 1934 for the supported fraction π = q + (p − q) f at 1 − α/M,
          solved for f. For people drawn from a population a count is binomial, and depths are
          independent. For fixed people, of whom those at the last depth are a random sample, it
          is a sum of independent Bernoulli variables (Vatutin, Mikhailov 1982), whose tails the
          binomial of the same mean bounds beyond one from its mean (Hoeffding 1956). Whoever
          reports at one depth is then absent from the others, which affects the intervals of
          texts that some people hold, though less than what the binomial allows for too much; it
          does not affect texts that nobody holds
Hashed    where prefixes share R codes, others' texts may be added to one: on average 1/R of them,
          so that for all M candidates this is at most s = M / (R α/4) with probability 1 − α/4;
          s is subtracted from lower ends, made at α/4
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain.text import Symbols
from ..estimate.intervals import Floats, Interval
from .prefixes import Numbering, grow, ways_to_grow

#: Prefixes kept at a depth have at most as many candidates beneath them, the best ones first.
MOST_CANDIDATES = 1 << 22

_NUMBERS = 24  # of people at a depth, over which `miss` averages
_RARE = 1e-12  # probability that there are fewer or more; fewer count as nobody

Counter = Callable[[int, NDArray[np.uint64]], NDArray[np.int64]]


class Depth(NamedTuple):
    """What was examined at one depth of the tree.

    Attributes
    ----------
    length : int
        Symbols of a prefix.
    people : int
        How many people reported at this depth.
    candidates : int
        How many prefixes were examined.
    kept : int
        How many of them were frequent enough.
    dropped : int
        How many more were frequent enough, but would have had too many continuations to count.
        Texts that begin with them cannot be found; a smaller step avoids it.
    """

    length: int
    people: int
    candidates: int
    kept: int
    dropped: int = 0


@dataclass(frozen=True, eq=False)
class TextInterval:
    """Intervals that hold for all candidates of the last depth at once; see the module."""

    counts: NDArray[np.int64]  # reports that support each text
    people: int  # reports at the last depth
    candidates: int  # M, how many texts were examined there
    p: float
    q: float
    codes: int | None = None  # R, where prefixes are hashed to so many codes

    def __call__(self, confidence: float) -> Interval:
        from scipy.special import betaincinv

        each, spill = _error_of_each(self.candidates, self.codes, confidence)
        c, n = self.counts.astype(float), self.people
        low = np.where(c > 0, betaincinv(np.maximum(c, 1), n - c + 1, each), 0.0)
        high = 1 - np.where(c < n, betaincinv(np.maximum(n - c, 1), c + 1, each), 0.0)
        # Hoeffding's bound holds from one beyond the mean on.
        low = np.minimum(low, np.maximum(c - 1, 0) / max(n, 1))
        high = np.maximum(high, np.minimum(c + 1, n) / max(n, 1))
        low, high = ((end - self.q) / (self.p - self.q) for end in (low, high))
        return Interval(np.clip(low - spill, 0.0, 1.0), np.clip(high, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Descent:
    """The texts that a descent lists, by falling counts, and what it examined."""

    rows: Symbols
    interval: TextInterval
    depths: tuple[Depth, ...]


@dataclass(frozen=True)
class Tree:
    """The public parameters of a descent."""

    alphabet: int  # how many symbols there are, without the end
    lengths: tuple[int, ...]  # of prefixes at each depth
    numberings: tuple[Numbering, ...]  # their codes
    p: float
    q: float
    codes: int  # how many codes the mechanism has

    @property
    def shared(self) -> int | None:
        """R, where texts share codes at the last depth."""
        return self.codes if self.numberings[-1].hashed else None

    def descend(self, people: Sequence[int], count: Counter, confidence: float) -> Descent:
        """From all prefixes of the first depth to the texts of the last."""
        rows = np.zeros((1, 0), np.uint8)
        depths: list[Depth] = []
        for k, (length, codes_of) in enumerate(zip(self.lengths, self.numberings, strict=True)):
            rows = grow(rows, length - rows.shape[1], self.alphabet)
            counts = count(k, codes_of.codes(rows))
            many, last = len(rows), k == len(self.lengths) - 1
            if not last:
                frequent = counts >= least_count(people[k], self.q, 1 / max(many, 1))
            elif self.shared is None:
                frequent = counts >= self._least_listed(people[k], many, confidence)
            else:
                every = TextInterval(counts, people[k], many, self.p, self.q, self.shared)
                frequent = every(confidence).low > 0
            order = np.flatnonzero(frequent)
            order = order[np.argsort(-counts[order], kind="stable")]
            kept = order if last else order[: self._most(k + 1)]
            depths.append(Depth(length, people[k], many, kept.size, order.size - kept.size))
            rows, counts = rows[kept], counts[kept]
        listed = TextInterval(counts, people[-1], many, self.p, self.q, self.shared)
        return Descent(rows, listed, tuple(depths))

    def _most(self, k: int) -> int:
        """How many prefixes may be kept before depth k, so that its candidates can be counted."""
        return max(1, MOST_CANDIDATES // self._ways(k))

    def _ways(self, k: int) -> int:
        before = self.lengths[k - 1] if k else 0
        return ways_to_grow(self.lengths[k] - before, self.alphabet)

    def _least_listed(self, people: int, many: int, confidence: float) -> int:
        """The smallest count whose interval lies above 0, of `many` texts at the last depth."""
        each, spill = _error_of_each(many, self.shared, confidence)
        supported = self.q + (self.p - self.q) * min(spill, 1)
        # From one beyond the mean on, like the intervals.
        beyond = math.floor(people * supported) + 2
        return max(least_count(people, supported, each), beyond)

    def miss(self, fraction: float, n: int, confidence: float) -> float:
        """A bound on the probability that a text of this fraction is not listed.

        With at most 1/f + 1 prefixes kept before each depth: as many as can have this fraction,
        and one that nobody holds. Each of n people is at a depth with probability 1/K.
        """
        from scipy.special import betaincc

        depths, supported = len(self.lengths), self.q + (self.p - self.q) * fraction
        total = 0.0
        for people, weight in _people_at_depth(n, depths):
            for k in range(depths):
                before = min(math.ceil(1 / fraction) + 1, self._most(k)) if k else 1
                many = before * self._ways(k)
                if k == depths - 1:
                    least = self._least_listed(people, many, confidence)
                else:
                    least = least_count(people, self.q, 1 / many)
                if least > people:
                    total += weight
                elif least:
                    total += weight * float(betaincc(least, people - least + 1, supported))
        return min(total, 1.0)


def _error_of_each(many: int, codes: int | None, confidence: float) -> tuple[float, float]:
    """Of M candidates, the error of each end of an interval; and s, where they share R codes."""
    side = (1 - confidence) / (2 if codes is None else 4)
    return side / max(many, 1), 0.0 if codes is None else many / (codes * side)


@lru_cache(maxsize=16)
def _people_at_depth(n: int, depths: int) -> list[tuple[int, float]]:
    """How many of n people a depth has, with probabilities; where many, rounded down to a few."""
    from scipy.stats import binom

    low, high = binom.ppf(_RARE, n, 1 / depths), binom.isf(_RARE, n, 1 / depths)
    people = np.unique([0, *np.linspace(low, high, _NUMBERS).astype(np.int64)])
    below = [0.0, *binom.cdf(people[1:] - 1, n, 1 / depths), 1.0]
    return list(zip(people.tolist(), np.diff(below).tolist(), strict=True))


@lru_cache(maxsize=4096)
def least_count(people: int, chance: float, level: float) -> int:
    """The smallest c with P(Binomial(people, chance) ≥ c) ≤ level."""
    from scipy.special import betainc  # bdtrc fails from 2^31 people on, and is inexact before

    if level >= 1:
        return 0
    low, high = 0, people + 1  # too small, and large enough
    while high - low > 1:
        middle = (low + high) // 2
        enough = betainc(middle, people - middle + 1, chance) <= level
        low, high = (low, middle) if enough else (middle, high)
    return high


def text_values(interval: TextInterval, n: int) -> tuple[Floats, Floats]:
    """Estimated fractions of n people, and their variances.

    The noise of the mechanism, and that of the last depth being a random part of the people:
    N Var f̂ = q (1 − q) / (p − q)² + f (1 − p − q) / (p − q) + f (1 − f) (n − N) / (n − 1)
    """
    p, q, people = interval.p, interval.q, max(interval.people, 1)
    values = (interval.counts / people - q) / (p - q)
    noise = q * (1 - q) / (p - q) ** 2 + values * (1 - p - q) / (p - q)
    drawn = np.clip(values * (1 - values), 0, None) * max(n - people, 0) / max(n - 1, 1)
    return values, (np.maximum(noise, 0) + drawn) / people
