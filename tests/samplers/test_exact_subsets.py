"""Subsets of few values: the law of the table, and rare words, against plain integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from sottovoce import SubsetSelection, kernels
from sottovoce.mechanisms.subset import _sets_of_others

from .crafted import (
    ALL,
    as_ints,
    below_threshold,
    multiply_shift,
    seldom,
    threshold_words,
    words,
)
from .test_exact_categories import T, rejected

pytestmark = pytest.mark.usefixtures("both_ways")


def with_truth(others: int, code: int, inside: bool) -> int:
    """A set over all values from one over the others, as text of bits, highest first."""
    bits = format(others, "016b")
    cut = len(bits) - code
    return int(bits[:cut] + str(int(inside)) + bits[cut:], 2)


def drawn_law(table: list[list[int]], code: int, p: Fraction) -> Counter[int]:
    """P(set | code) where the coin is exact and the pick uniform over the columns of the table."""
    law: Counter[int] = Counter()
    for inside, row in zip((True, False), table, strict=True):
        for others in row:
            law[with_truth(others, code, inside)] += (p if inside else 1 - p) / len(row)
    return law


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (3, 0.1), (6, 1.0), (8, 0.5), (10, 3.0)])
def test_the_table_has_the_channel(size: int, epsilon: float) -> None:
    mechanism = SubsetSelection(size, epsilon=epsilon)
    p, omega = mechanism.p, mechanism.omega
    table = _sets_of_others(size, omega).tolist()
    assert len(table[0]) == len(table[1])  # so that as many words are rejected whatever the coin
    for code in range(size):
        law = drawn_law(table, code, p)
        assert len(law) == comb(size, omega)
        for number, probability in law.items():
            assert number.bit_count() == omega
            inside = number >> code & 1
            among = comb(size - 1, omega - 1) if inside else comb(size - 1, omega)
            assert probability == (p if inside else 1 - p) / among


def reference(word: int, code: int, table: list[list[int]], fresh: Iterator[int]) -> int:
    high, low = word >> 32, word & 0xFFFF_FFFF
    coins = [next(fresh), next(fresh)] if high == T >> 96 else []
    inside = below_threshold(format(high, "032b"), T, iter(coins))
    row = table[0 if inside else 1]
    return with_truth(row[multiply_shift(len(row), low, 32, fresh)], code, inside)


def special_words(length: int) -> list[int]:
    top = T >> 96
    lows = [0, 1, 0xFFFF_FFFF, *rejected(length)[:20]]
    return [high << 32 | low for high, low in product((top, top - 1, top + 1, 0), lows)]


@pytest.mark.parametrize("size", [2, 3, 6, 8, 9, 16])
def test_each_set_alone_is_the_reference(size: int) -> None:
    rng = np.random.default_rng(size)
    omega = max(1, size // 3)
    table = _sets_of_others(size, omega)
    upper, lower = threshold_words(T)
    rest = (T << 32) % (1 << 128)
    near = [rest >> 64, (rest >> 64) - 1, (rest >> 64) + 1, rest & ALL, (rest & ALL) - 1]
    kind = np.uint8 if size <= 8 else np.uint16
    for word in [*special_words(table.shape[1]), *as_ints(words(rng, 50))]:
        for code in {0, 1, size // 2, size - 1}:
            extra = seldom(rng, 64, near + rejected(table.shape[1]), 0.6)
            out, one = np.zeros(1, kind), np.array([word], np.uint64)
            done, _ = kernels.draw.small_subsets(
                one, np.array([code], np.uint8), table, upper, lower, out, extra, 0
            )
            assert done == 1
            assert int(out[0]) == reference(word, code, table.tolist(), iter(as_ints(extra)))


@pytest.mark.parametrize("reserve", range(6))
def test_running_out_of_words_does_not_change_the_odds(reserve: int) -> None:
    # Two lanes that tie, each coin fair from then on: 0 is inside and all-ones is not. All contents
    # of a reserve that may run out, and of the next one, are equally likely; so must the four
    # outcomes be.
    numerator = 0x8120_0000 << 96 | 1 << 95
    upper, lower = threshold_words(numerator)
    table = _sets_of_others(6, 2)
    given = np.full(2, 0x8120_0000_C000_0001, np.uint64)
    codes, seen = np.zeros(2, np.uint8), Counter[tuple[int, ...]]()
    for contents in product((0, ALL), repeat=reserve + 4):
        out, done, used = np.zeros(2, np.uint8), 0, 0
        reserves = [contents[:reserve], contents[reserve:]]
        while done < 2:
            extra = np.array(reserves.pop(0), np.uint64)
            more, used = kernels.draw.small_subsets(
                given[done:], codes[done:], table, upper, lower, out[done:], extra, 0
            )
            assert used <= extra.size
            done += more
        seen[tuple((out & 1).tolist())] += 1
    assert set(seen.values()) == {2**reserve * 4}
