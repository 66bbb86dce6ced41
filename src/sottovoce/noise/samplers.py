"""Exact samplers of integers, a whole array at a time.

Geometric  P(G = k) = (1 − α) α^k, α = e^{−1/scale}: the binary digits of G are independent, digit
           j being 1 with probability 1/(1 + e^{2^j/scale}). With probability e^{−2^J/scale} G is at
           least 2^J, and then what exceeds 2^J has the law of G again
Laplace    the difference of two independent G
Gaussian   Y discrete Laplace of scale t = ⌊σ⌋ + 1, kept with probability
           exp(−(|Y| − σ²/t)²/(2σ²)) (Canonne, Kamath, Steinke 2020, arXiv:2004.00010, algorithm 3)
Binomial   every trial compares random bits with the bits of p. Of the trials that are still tied a
           fair-coin number ties again, and the others are decided all alike: counting bits does it
Pólya      a share of G in an urn: of the balls 1 … G ball i goes to this share with probability
           (r + s)/i, s being those that went there already. Then the share is negative binomial
           with shape r, and shares whose shapes add up to 1 add up to a geometric number
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..randomness import Source
from .chances import exponential, flips, logistic

Integers = NDArray[np.int64]

_TAIL = 45  # e^-45 is about 2^-65: beyond 45 times the scale the first word decides
_CHUNK_WORDS = 1 << 20
_HALF = Fraction(1, 2)


def geometric(scale: Fraction, n: int, source: Source) -> Integers:
    """n integers from 0 on with P(k) ∝ e^{−k/scale}."""
    digits = max(1, math.ceil(_TAIL * scale).bit_length())
    beyond = exponential((1 << digits) / scale)
    chances = [logistic((1 << j) / scale) for j in range(digits)]
    drawn = np.zeros(n, np.int64)
    left = np.arange(n)
    while left.size:
        first = np.zeros(left.size, np.intp)
        for j, chance in enumerate(chances):
            drawn[left] += flips([chance], first, source).astype(np.int64) << j
        left = left[flips([beyond], first, source)]
        # What these drew is that of a number below 2^digits; it is drawn again on top of 2^digits.
        drawn[left] += (1 << digits) - (drawn[left] & ((1 << digits) - 1))
    return drawn


def laplace(scale: Fraction, n: int, source: Source) -> Integers:
    """n integers with P(k) ∝ e^{−|k|/scale}."""
    return geometric(scale, n, source) - geometric(scale, n, source)


def gaussian(variance: Fraction, n: int, source: Source) -> Integers:
    """n integers with P(k) ∝ e^{−k²/(2 variance)}."""
    scale = math.isqrt(math.floor(variance)) + 1
    kept = np.empty(0, np.int64)
    while kept.size < n:
        proposed = laplace(Fraction(scale), (n - kept.size) * 2 + 16, source)
        sizes, which = np.unique(np.abs(proposed), return_inverse=True)
        chances = [
            exponential((int(size) - variance / scale) ** 2 / (2 * variance)) for size in sizes
        ]
        kept = np.concatenate([kept, proposed[flips(chances, which.ravel(), source)]])
    return kept[:n]


def binomial(trials: Integers, probability: Fraction, source: Source) -> Integers:
    """For every entry of `trials` how many of so many coins with that probability fall heads."""
    tied = np.array(trials, np.int64)
    if probability == _HALF:
        return fair_coins(tied, source)
    hits = np.zeros(tied.size, np.int64)
    rest = probability  # what its bits that were not compared yet stand for
    while tied.any():
        rest *= 2
        ones = fair_coins(tied, source)
        if rest >= 1:  # the next bit of p is 1: a 0 is below p, a 1 ties
            hits += tied - ones
            tied, rest = ones, rest - 1
        else:  # a 1 is above p, a 0 ties
            tied -= ones
    return hits


def fair_coins(coins: Integers, source: Source) -> Integers:
    """For every entry how many of so many fair coins fall heads."""
    heads = np.zeros(coins.size, np.int64)
    some = np.flatnonzero(coins)
    words = -(-coins[some] // 64)
    ends = np.cumsum(words)
    start = done = 0
    while start < some.size:
        stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK_WORDS, side="right")))
        part, last = some[start:stop], ends[start:stop] - done
        if last[-1] <= _CHUNK_WORDS:
            heads[part] = _counted(coins[part], last, source)
        else:  # one entry that is longer than a chunk
            heads[part] = _long(int(coins[part[0]]), source)
        start, done = stop, int(ends[stop - 1])
    return heads


def negative_binomial(scale: Fraction, parts: int, n: int, source: Source) -> Integers:
    """n shares of which `parts` independent ones add up to a geometric number of that scale."""
    balls = geometric(scale, n, source)
    hits, done = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def step(start: int, extra: NDArray[np.uint64], used: int) -> tuple[int, int]:
        state: tuple[int, int] = kernels.draw.fill_urns(
            balls, parts, hits, done, start, extra, used
        )
        return state

    source.draws().until_done(n, step)
    return hits


def _counted(coins: Integers, ends: Integers, source: Source) -> Integers:
    """Heads among so many coins each, the words of entry i ending at ends[i]."""
    words = np.empty(int(ends[-1]), np.uint64)
    source.fill(words)
    spare = (-coins % 64).astype(np.uint64)  # coins of the last word that are not tossed
    words[ends - 1] >>= spare
    sums: Integers = np.cumsum(np.bitwise_count(words), dtype=np.int64)[ends - 1]
    return np.diff(sums, prepend=0)


def _long(coins: int, source: Source) -> int:
    heads = 0
    while coins:
        some = min(coins, 64 * _CHUNK_WORDS)
        heads += int(_counted(np.array([some]), np.array([-(-some // 64)]), source)[0])
        coins -= some
    return heads
