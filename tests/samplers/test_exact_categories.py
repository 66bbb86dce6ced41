"""The rare paths of uniform integers and randomised response, against plain integers."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from sottovoce import kernels
from sottovoce.randomness import Draws

from .crafted import (
    ALL,
    Scripted,
    as_ints,
    below_threshold,
    multiply_shift,
    seldom,
    threshold_words,
    words,
)

pytestmark = pytest.mark.usefixtures("both_ways")

BOUNDS = [1, 2, 3, 5, 1000, (1 << 31) + 1, 3 << 30, (1 << 32) - 1, 1 << 32]
T = 0xB504_F333_F9DE_6484_597D_89B3_754A_BE9F  # any threshold with bits in every part


def rejected(bound: int, bits: int = 32) -> list[int]:
    """Words that multiply-shift must reject, if there are any, and the first ones it must not."""
    uneven = (1 << bits) % bound
    candidates = [*range(50), *(-(-(k << bits) // bound) for k in range(50))]
    return [w for w in candidates if w < 1 << bits and (w * bound) % (1 << bits) < uneven + 2]


@pytest.mark.parametrize("bound", BOUNDS)
def test_below_is_the_reference_through_refills(bound: int) -> None:
    rng = np.random.default_rng(bound)
    n = 6000
    special = rejected(bound) or [0]

    def script(call: int, count: int) -> np.ndarray:
        return seldom(rng, count, special, 0.8)

    source = Scripted(script)
    out = np.empty(n, np.uint32)

    def step(given: np.ndarray, part: slice, extra: np.ndarray, used: int) -> tuple[int, int]:
        return kernels.draw.below(given, np.uint64(bound), out[part], extra, used)

    Draws(source).each(n, np.uint64, step)
    first, *reserves = (as_ints(filled) for filled in source.filled)
    assert as_ints(out) == below_reference(bound, first[:n], reserves)


def below_reference(bound: int, given: list[int], reserves: list[list[int]]) -> list[int]:
    # An integer that finds its reserve empty starts again with the next one; the words that it
    # had seen were all rejected, so nothing is chosen by what they were.
    out: list[int] = []
    left = iter(())
    for word in given:
        while True:
            try:
                out.append(multiply_shift(bound, word, 32, left))
                break
            except StopIteration:
                left = iter(reserves.pop(0))
    assert not reserves
    return out


def test_rejection_makes_multiply_shift_even() -> None:
    # Every word of 8 bits, in the reference: with rejection all values are equally likely.
    for bound in (1, 3, 5, 7, 100, 255):
        uneven = 256 % bound
        kept = [(w * bound) >> 8 for w in range(256) if (w * bound) % 256 >= uneven]
        assert set(Counter(kept).values()) == {256 // bound}


def run_grr(given, codes, size, numerator, extra, used=0):
    upper, lower = threshold_words(numerator)
    out = np.full(len(codes), size, codes.dtype)
    done, used = kernels.draw.grr(given, codes, size, upper, lower, out, extra, used)
    return out, done, used


def bits_of(size: int) -> tuple[int, int]:
    """How many bits of a word are the coin, and how many the pick."""
    return (12, 20) if size <= 4096 else (32, 32)


def grr_reference(word: int, code: int, size: int, numerator: int, fresh) -> int:
    """One report: the high bits are the coin, the low ones the pick; ties and rejections redraw."""
    coin, pick = bits_of(size)
    high, low = word >> pick, word & ((1 << pick) - 1)
    top = numerator >> (128 - coin)
    redrawn = high == top or low * (size - 1) % (1 << pick) < (1 << pick) % (size - 1)
    coins = [next(fresh), next(fresh)] if high == top else []
    if below_threshold(format(high, f"0{coin}b"), numerator, iter(coins)):
        return code
    if redrawn:
        other = multiply_shift(size - 1, next(fresh), 32, fresh)
    else:
        other = low * (size - 1) >> pick
    return other + (other >= code)


def special_words(size: int, numerator: int) -> list[int]:
    """Ties with low bits of every kind, and rejections with high bits on both sides."""
    coin, pick = bits_of(size)
    top = numerator >> (128 - coin)
    lows = [0, 1, (1 << pick) - 1, *rejected(size - 1, pick)[:20]]
    highs = [top, top - 1, top + 1, 0, (1 << coin) - 1]
    return [high << pick | low for high, low in product(highs, lows)]


@pytest.mark.parametrize("size", [2, 3, 4, 100, 1000, 4096, 4097, 70_000])
def test_each_report_alone_is_the_reference(size: int) -> None:
    coin, pick = bits_of(size)
    word_type = np.uint32 if coin + pick == 32 else np.uint64
    code_type = np.uint8 if size <= 256 else np.uint16 if size <= 65_536 else np.uint32
    rng = np.random.default_rng(size)
    rest = (T << coin) % (1 << 128)
    near = [rest >> 64, (rest >> 64) - 1, (rest >> 64) + 1, rest & ALL, (rest & ALL) - 1]
    for word in [
        *special_words(size, T),
        *as_ints(words(rng, 50) >> np.uint64(64 - coin - pick)),
    ]:
        for code in {0, 1, size // 2, size - 1}:
            extra = seldom(rng, 64, near + rejected(size - 1), 0.6)
            out, done, _ = run_grr(
                np.array([word], word_type), np.array([code], code_type), size, T, extra
            )
            assert done == 1
            expected = grr_reference(word, code, size, T, iter(as_ints(extra)))
            assert int(out[0]) == expected


@pytest.mark.parametrize("size", [2, 5, 4096, 4097, 70_000])
def test_a_whole_block_is_the_reference(size: int) -> None:
    # Every reserve word is the same, so that it does not matter which lane takes which.
    coin, pick = bits_of(size)
    word_type = np.uint32 if coin + pick == 32 else np.uint64
    rng = np.random.default_rng(size)
    rest = (T << coin) % (1 << 128)
    for same in (0, ALL, rest >> 64, (rest >> 64) - 1, 1 << 31, 0xFFFF_FFFF_7FFF_FFFF):
        if same & 0xFFFF_FFFF in [w & 0xFFFF_FFFF for w in rejected(size - 1)[:-2]]:
            continue  # would be rejected for ever
        n = 1000
        bits = seldom(rng, n, special_words(size, T), 0.3)
        bits = (bits & np.uint64((1 << coin + pick) - 1)).astype(word_type)
        codes = rng.integers(0, size, n).astype(np.uint32)
        extra = np.full(4 * n, same, np.uint64)
        out, done, _ = run_grr(bits, codes, size, T, extra)
        assert done == n
        expected = [
            grr_reference(w, c, size, T, iter([same] * 8))
            for w, c in zip(as_ints(bits), as_ints(codes), strict=True)
        ]
        assert as_ints(out) == expected


def test_a_block_that_ran_out_of_words_is_done_by_the_next_call() -> None:
    # Ties everywhere and a small reserve: through refills, no report is left undone.
    top = T >> 116
    n, size = 1000, 5

    def script(call: int, count: int) -> np.ndarray:
        if call == 0:
            return np.full(count, (top << 20) * 0x1_0000_0001, np.uint64)
        return np.zeros(count, np.uint64)  # below the threshold: everyone keeps the answer

    codes = np.arange(n, dtype=np.uint8) % size
    out = np.full(n, 99, np.uint8)
    upper, lower = threshold_words(T)
    source = Scripted(script)

    def step(given, part, extra, used):
        return kernels.draw.grr(
            given, codes[part], size, upper, lower, out[part], extra[:600], used
        )

    Draws(source).each(n, np.uint32, step)
    assert np.array_equal(out, codes)
    assert len(source.filled) > n * 2 // 600


@pytest.mark.parametrize("reserve", range(8))
def test_running_out_of_words_does_not_change_the_odds(reserve: int) -> None:
    # Two lanes that tie, each coin fair from then on: 0 keeps and all-ones does not. All contents
    # of a reserve that may run out, and of the next one, are equally likely; so must the four
    # outcomes be. A reserve that runs out more often after some outcome than after another, and
    # then starts the block again, would favour the outcomes that use few words.
    top = 0x812
    numerator = top << 116 | 1 << 115
    given = np.full(2, top << 20, np.uint32)
    codes = np.zeros(2, np.uint8)
    outcomes: Counter[tuple[int, ...]] = Counter()
    for first in product((0, ALL), repeat=reserve):
        extra = np.array(first, np.uint64)
        out, done, _ = run_grr(given, codes, 2, numerator, extra)
        if done == 2:
            outcomes[tuple(as_ints(out))] += 1 << 6
            continue
        for second in product((0, ALL), repeat=6):
            extra = np.array(second, np.uint64)
            again, more, _ = run_grr(given[done:], codes[done:], 2, numerator, extra)
            assert done + more == 2
            outcomes[tuple(as_ints(np.append(out[:done], again)))] += 1
    total = 1 << (reserve + 6)
    assert outcomes == dict.fromkeys(product((0, 1), repeat=2), total // 4)


def test_the_plain_sampler_uses_the_reserve_only_where_it_must() -> None:
    # A lane that neither ties nor is rejected takes nothing, whatever the reserve holds.
    size = 5
    top = T >> 116
    clear = np.array([(top - 5) << 20 | 3, (top + 5) << 20 | 0x80001] * 64, np.uint32)
    codes = np.zeros(128, np.uint8)
    out, done, used = run_grr(clear, codes, size, T, np.zeros(0, np.uint64))
    assert (done, used) == (128, 0)
    expected = [grr_reference(w, 0, size, T, iter(())) for w in as_ints(clear)]
    assert as_ints(out) == expected


def test_hadamard_uses_as_many_words_whatever_the_coin_says() -> None:
    # For the same reason: how much of the reserve is used must not depend on the outcome.
    top = 0x8123
    upper, lower = threshold_words(top << 112 | 1 << 111)
    tied_and_rejected = np.array([top << 48], np.uint64)
    results = {}
    for coin in (0, ALL):
        out = np.zeros(1, np.uint8)
        extra = np.array([coin, 0, 0, 0, 0x5556, 7, 7, 7], np.uint64)
        done, used = kernels.draw.hadamard_response(
            tied_and_rejected, np.zeros(1, np.uint8), 1, 2, upper, lower, out, extra, 0
        )
        assert done == 1
        results[int(out[0])] = used
    assert len(results) == 2
    assert set(results.values()) == {5}  # two for the coin, two rejected halves, one taken
