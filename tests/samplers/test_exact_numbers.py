"""The rare paths of numbers on a grid, against plain integers and fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sottovoce import kernels
from sottovoce.errors import AnswerError
from sottovoce.mechanisms import Duchi, Hybrid, Piecewise

from .crafted import ALL, as_ints, below_threshold, multiply_shift, seldom, threshold_words, words

T = 0xB504_F333_F9DE_6484_597D_89B3_754A_BE9F  # any threshold with bits in every part
OTHER = (1 << 128) // 5
GRIDS = [(1, 1), (2, 1), (4, 3), (1024, 621), (32_768, 5)]
POSITIONS = [0.0, 1e-300, 1 / 3, 0.5, 0.7, 1 - 2.0**-53, 1.0]


def run(given, numbers, grids, thresholds, extra, *, which=None, bounds=(0.0, 1.0), used=0):
    shapes, halves = np.array(grids), np.array([threshold_words(t) for t in thresholds])
    out = np.full(len(numbers), 65_535, np.uint16)
    done, used = kernels.draw.window_response(
        given, np.asarray(numbers, float), *bounds, which, shapes, halves, out, extra, used
    )
    return out, done, used


def reference(word: int, position: float, grid, numerator: int, fresh: Iterator[int]) -> int:
    """One cell: 16 bits round, 16 are the coin and 32 the pick; ties and rejections redraw."""
    steps, window = grid
    rounding, coin, pick = word >> 48, word >> 32 & 0xFFFF, word & 0xFFFF_FFFF
    point, part = divmod(Fraction(position) * steps, 1)
    inside = coin < numerator >> 112
    uneven = (1 << 32) % window
    rejected = inside and pick * window % (1 << 32) < uneven
    if rounding != int(part * 65_536) and coin != numerator >> 112 and not rejected:
        up = Fraction(rounding, 65_536) < part
        pick = pick * (window if inside else steps) >> 32
    else:
        first, middle, last, outer = (next(fresh) for _ in range(4))
        up = Fraction(rounding << 37 | first >> 27, 1 << 53) < part
        inside = below_threshold(format(coin, "016b"), numerator, iter([middle, last]))
        inner = multiply_shift(window, next(fresh), 32, fresh)
        pick = inner if inside else (outer & 0xFFFF_FFFF) * steps >> 32
    point += up
    return int(point + pick if inside else pick if pick < point else pick + window)


def special_words(position: float, grid, numerator: int) -> list[int]:
    """Ties of the rounding and of the coin, and picks that are rejected or nearly so."""
    steps, window = grid
    part, top = int(Fraction(position) * steps % 1 * 65_536), numerator >> 112
    roundings = {max(part - 1, 0), part, min(part + 1, 65_535), 0, 65_535}
    coins = {top - 1, top, top + 1, 0, 65_535}
    uneven = [-(-(k << 32) // window) for k in range(min(window, 3))]
    picks = {0, 1, (1 << 32) - 1, *uneven}
    return [r << 48 | c << 32 | p for r, c, p in product(roundings, coins, picks)]


def near(position: float, grid, numerator: int) -> list[int]:
    """Reserve words at which what tied so far is decided either way, and picks of either kind."""
    rest = (numerator << 16) % (1 << 128)
    left = int(Fraction(position) * grid[0] % 1 * (1 << 53)) % (1 << 37) << 27
    around = [rest >> 64, rest & ALL, left]
    return [max(0, min(ALL, word + k)) for word in around for k in (-1, 0, 1)] + [0, ALL]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("position", POSITIONS)
def test_each_cell_alone_is_the_reference(grid, position: float) -> None:
    rng = np.random.default_rng(grid[0])
    for word in [*special_words(position, grid, T), *as_ints(words(rng, 20))]:
        extra = seldom(rng, 64, near(position, grid, T), 0.6)
        expected = reference(word, position, grid, T, iter(as_ints(extra)))
        out, done, _ = run(np.array([word], np.uint64), [position], [grid], [T], extra)
        assert (done, int(out[0])) == (1, expected)
        if grid == (1, 1):  # where no pick is needed, half the word
            short = np.array([word >> 32], np.uint32)
            out, done, _ = run(short, [position], [grid], [T], extra)
            assert (done, int(out[0])) == (1, expected)
        for k, other in enumerate(((1, 1), (8, 5))):  # beside another grid, which nobody has
            grids, thresholds = [grid, other], [T, OTHER]
            which = np.full(1, k, np.uint8)
            order = slice(None, None, 1 - 2 * k)
            out, done, _ = run(
                np.array([word], np.uint64), [position], grids[order], thresholds[order], extra,
                which=which,
            )  # fmt: skip
            assert (done, int(out[0])) == (1, expected)


@pytest.mark.parametrize("short", [True, False])
def test_a_whole_block_is_the_reference(short: bool) -> None:
    # Every reserve word is the same, so that it does not matter which lane takes which.
    rng = np.random.default_rng(7)
    grids, thresholds = [(1, 1), (1024, 621)], [T, OTHER]
    n = 3000
    for same in (1, ALL, 1 << 63 | 7):
        which = np.zeros(n, np.uint8) if short else rng.integers(0, 2, n).astype(np.uint8)
        numbers = rng.choice(POSITIONS, n)
        given = words(rng, n)
        for k in range(0, n, 3):
            g = int(which[k])
            special = special_words(numbers[k], grids[g], thresholds[g])
            given[k] = special[rng.integers(len(special))]
        own = (given >> np.uint64(32)).astype(np.uint32) if short else given
        extra = np.full(5 * n, same, np.uint64)
        if short:
            out, done, _ = run(own, numbers, grids[:1], thresholds[:1], extra)
        else:
            out, done, _ = run(own, numbers, grids, thresholds, extra, which=which)
        assert done == n
        for k in range(n):
            g = int(which[k])
            one = reference(int(given[k]), numbers[k], grids[g], thresholds[g], repeat(same))
            assert int(out[k]) == one


def repeat(word: int) -> Iterator[int]:
    while True:
        yield word


@pytest.mark.parametrize("reserve", range(4, 7))
def test_running_out_of_words_does_not_change_the_odds(reserve: int) -> None:
    # A lane whose coin ties, fair from then on, and whose pick a window of 3 rejects but the 4
    # cells outside do not. The first reserve may run out; the second does not.
    top = 0x8123
    given = np.array([9 << 48 | top << 32], np.uint64)
    accepted = 0x5555_5556
    inside = total = 0
    for first in product((accepted, ALL - 7), repeat=reserve):
        for second in product((accepted, ALL - 7), repeat=5):
            total += 1
            for extra in (first, second):
                out, done, _ = run(
                    given, [0.0], [(4, 3)], [top << 112 | 1 << 111], np.array(extra, np.uint64)
                )
                if done:
                    break
            assert done == 1
            inside += int(out[0]) < 3
    assert inside * 2 == total


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
@pytest.mark.parametrize("wrong", [-1e-9, 1.0000001, np.nan, np.inf, -np.inf])
def test_a_number_out_of_bounds_is_refused_wherever_it_is(kind, wrong: float) -> None:
    mechanism = kind((0, 1), epsilon=1.0)
    for row in (0, 1023, 70_000, 99_999):
        numbers = np.full(100_000, 0.5)
        numbers[row] = wrong
        with pytest.raises(AnswerError, match=f"at row {row}"):
            mechanism.randomise(numbers)
