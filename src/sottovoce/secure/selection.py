"""Coins, sets of items and elections, drawn exactly.

Sets      Def. 3.1, corrected: Z = γ C(N−1, M−1) + C(N−1, M); a set with the person's own item has
          probability γ/Z, another one 1/Z, and outside the sample every set 1/C(N, M). So the own
          item is in it with probability p_χ = αγ/(αγ + 1 − α), α = M/N, and the rest is uniform
Election  distinct users, every ordered choice equally likely
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..noise.chances import flips, rational
from ..randomness import Probability, Source
from .receiving import Flags


def coins(rate: float, n: int, source: Source) -> Flags:
    """n independent coins; the drawn rate is below the stated one by less than 2^−127."""
    if rate == 1:
        return np.ones(n, bool)
    bits = source.bernoulli(Probability.at_most(Fraction(rate)), n)
    return np.unpackbits(bits, count=n, bitorder="little").astype(bool)


def one_hot(codes: NDArray[np.integer], items: int, kept: Flags) -> NDArray[np.int64]:
    """A row per person: 1 at their item where they are in the sample, else nothing."""
    rows = np.zeros((codes.size, items), np.int64)
    rows[np.arange(codes.size), codes] = kept
    return rows


def reported_sets(
    codes: NDArray[np.integer],
    sampled: Flags,
    items: int,
    reported: int,
    gamma: float,
    source: Source,
) -> Flags:
    """Which items each person reports, a row per person."""
    n, own = codes.size, codes.astype(np.int64)
    if reported == items:
        return np.ones((n, items), bool)
    if gamma == 1:
        return _subsets(n, items, np.full(n, reported), source)
    alpha, exact = Fraction(reported, items), Fraction(gamma)
    inside = rational(alpha * exact / (alpha * exact + 1 - alpha))
    outside = rational(alpha)
    with_own = flips([outside, inside], sampled.astype(np.intp), source)
    others = _subsets(n, items - 1, reported - with_own.astype(np.int64), source)
    # The own item takes its place among the others.
    sets = np.zeros((n, items), bool)
    columns = np.arange(items - 1)[None, :]
    columns = columns + (columns >= own[:, None])
    np.put_along_axis(sets, columns, others, axis=1)
    sets[np.arange(n), own] = with_own
    return sets


def _subsets(n: int, items: int, sizes: NDArray[np.int64], source: Source) -> Flags:
    """A uniform subset of that size in every row: the first steps of a shuffle."""
    order = np.tile(np.arange(items, dtype=np.int32), (n, 1))
    rows = np.arange(n)
    chosen = np.zeros((n, items), bool)
    for k in range(int(sizes.max(initial=0))):
        at = source.below(items - k, n).astype(np.int64) + k
        picked = order[rows, at]
        order[rows, at] = order[:, k]
        order[:, k] = picked
        chosen[rows, picked] = sizes > k
    return chosen


def elect(people: int, seats: int, source: Source) -> NDArray[np.int64]:
    """Distinct members of 0 … people − 1, every ordered choice equally likely."""
    chosen = np.empty(0, np.int64)
    while chosen.size < seats:
        more = source.below(people, seats - chosen.size + 8).astype(np.int64)
        both = np.concatenate([chosen, more])
        _, first = np.unique(both, return_index=True)
        chosen = both[np.sort(first)][:seats]
    return chosen
