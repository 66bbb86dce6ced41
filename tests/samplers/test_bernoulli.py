"""Source.bernoulli at probabilities that take the different paths of the lazy comparison."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.randomness import BITS, SYSTEM, Probability

from .budget import RejectedError, joined, judge, spend
from .statistics import extreme, independent_fits, pair_fit

ONE = 1 << BITS
#: name, numerator, bits drawn: rare events need more draws to be seen at all
CASES = [
    ("a half: one bit decides", ONE // 2, 1 << 23),
    ("a quarter and an eighth: three bits decide", 3 * ONE // 8, 1 << 23),
    ("a third: ties go on for ever", ONE // 3, 1 << 23),
    ("e^-1 / (1 + e^-1)", int(0.2689414213699951 * ONE), 1 << 23),
    ("the first nine bits are zero", ONE // 1000, 1 << 25),
    ("a millionth: twenty bits are zero", ONE >> 20, 1 << 29),
    ("1 - 2^-9: the first nine bits are one, then zeros", ONE - (ONE >> 9), 1 << 25),
    ("the first nine bits are one, then more", ONE - ONE // 3000, 1 << 26),
]
IDS = [name for name, _, _ in CASES]
cases = pytest.mark.parametrize(("name", "numerator", "n"), CASES, ids=IDS)


def draw(numerator: int, n: int) -> np.ndarray:
    return SYSTEM.bernoulli(Probability(numerator), n)


def p_value(numerator: int, packed: np.ndarray) -> float:
    p, n = numerator / ONE, 8 * packed.size
    ones = int(np.bitwise_count(packed).sum(dtype=np.int64))
    p_values = [extreme(ones, n, p)]
    if min(p, 1 - p) * n / 64 > 1000:  # each of the 64 lanes of a word
        bits = np.unpackbits(packed, bitorder="little").reshape(-1, 64)
        p_values.append(independent_fits(bits.sum(axis=0, dtype=np.int64), len(bits), p))
        if min(p, 1 - p) ** 2 * n / 2 > 1000:
            p_values.append(pair_fit(bits[:, ::2].ravel(), bits[:, 1::2].ravel(), p, p))
            p_values.append(pair_fit(bits[:-1:2].ravel(), bits[1::2].ravel(), p, p))
    return joined(p_values)


@cases
def test_bits_have_the_probability(name: str, numerator: int, n: int) -> None:
    packed = draw(numerator, n)
    assert packed.size == n // 8
    spend("bernoulli", name, p_value(numerator, packed))


@cases
def test_a_probability_that_is_off_is_noticed(name: str, numerator: int, n: int) -> None:
    # Off by 10 % of the rarer outcome; a millionth can only be told from two.
    rarer = min(numerator, ONE - numerator)
    off = rarer if rarer < ONE >> 16 else rarer // 10
    with pytest.raises(RejectedError):
        judge(p_value(numerator, draw(numerator + (off if numerator <= ONE // 2 else -off), n)))


@pytest.mark.parametrize(("name", "numerator", "n"), CASES[1:], ids=IDS[1:])
def test_the_opposite_is_noticed(name: str, numerator: int, n: int) -> None:
    with pytest.raises(RejectedError):
        judge(p_value(numerator, ~draw(numerator, n)))


@pytest.mark.parametrize("numerator", [ONE // 2, ONE // 3])
def test_a_lane_that_copies_its_neighbour_is_noticed(numerator: int) -> None:
    packed = draw(numerator, 1 << 23)
    packed[::8] = packed[::8] & 0b11111110 | packed[::8] >> 1 & 1
    with pytest.raises(RejectedError):
        judge(p_value(numerator, packed))


@pytest.mark.parametrize("numerator", [ONE // 2, ONE // 3])
def test_a_lane_that_is_stuck_is_noticed(numerator: int) -> None:
    packed = draw(numerator, 1 << 23)
    packed[7::8] |= 0b10000000
    with pytest.raises(RejectedError):
        judge(p_value(numerator, packed))


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_the_array_is_padded_to_whole_words(n: int) -> None:
    assert draw(ONE // 3, n).size == (n + 63) // 64 * 8
