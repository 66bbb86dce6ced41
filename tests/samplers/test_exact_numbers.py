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
#: grids, and thresholds of their coins and of the choice between two
CASES: list[tuple[list[tuple[int, int]], list[int]]] = [
    ([(2, 1)], [T]),
    ([(4, 3)], [OTHER]),
    ([(1024, 621)], [T]),
    ([(32_768, 5)], [3]),
    ([(1, 1), (1024, 621)], [T, OTHER, T // 3]),
    ([(1, 1), (8, 5)], [OTHER, T, 5]),
]
POSITIONS = [0.0, 1e-300, 1 / 3, 0.5, 0.7, 1 - 2.0**-53, 1.0]


def run(given, numbers, grids, thresholds, extra, *, used=0):
    """(grids, cells, done, words used); with two grids, the last threshold chooses."""
    shapes, halves = np.array(grids), np.array([threshold_words(t) for t in thresholds])
    out = np.full(len(numbers), 65_535, np.uint16)
    which = None if len(grids) == 1 else np.full(len(numbers), 9, np.uint8)
    done, used = kernels.draw.window_response(
        given, np.asarray(numbers, float), 0.0, 1.0, shapes, halves, which, out, extra, used
    )
    return which, out, done, used


def reference(word: int, position: float, grids, thresholds, fresh: Iterator[int], *, many=12):
    """(grid, cell): `many` bits each round, are the coin and choose; the last ones pick."""
    rounding, coin, choice = (word >> (64 - (k + 1) * many) & ((1 << many) - 1) for k in range(3))
    two, pick_bits = len(grids) > 1, 28
    pick = word & ((1 << pick_bits) - 1)
    tops = [t >> (128 - many) for t in thresholds]
    grid = int(two and choice < tops[-1])
    steps, window = grids[grid]
    point, part = divmod(Fraction(position) * steps, 1)
    inside = coin < tops[grid]
    rejected = inside and pick * window % (1 << pick_bits) < (1 << pick_bits) % window
    tied = rounding == int(part * (1 << many)) or coin == tops[grid]
    if not (tied or rejected or (two and choice == tops[-1])):
        up = Fraction(rounding, 1 << many) < part
        pick = pick * (window if inside else steps) >> pick_bits
    else:
        one, other, first, middle, last, outer = (next(fresh) for _ in range(6))
        drawn = format(choice, f"0{many}b")
        grid = int(two and below_threshold(drawn, thresholds[-1], iter([one, other])))
        steps, window = grids[grid]
        point, part = divmod(Fraction(position) * steps, 1)
        up = Fraction(rounding << (53 - many) | first >> (11 + many), 1 << 53) < part
        drawn = format(coin, f"0{many}b")
        inside = below_threshold(drawn, thresholds[grid], iter([middle, last]))
        inner = [multiply_shift(width, next(fresh), 32, fresh) for _, width in grids]
        pick = inner[grid] if inside else (outer & 0xFFFF_FFFF) * steps >> 32
    point += up
    return grid, int(point + pick if inside else pick if pick < point else pick + window)


def special_words(position: float, grids, thresholds, *, many=12) -> list[int]:
    """Ties of the rounding, the coin and the choice, and picks that are rejected or nearly so."""
    most = (1 << many) - 1
    parts = [int(Fraction(position) * steps % 1 * (1 << many)) for steps, _ in grids]
    tops = [t >> (128 - many) for t in thresholds]
    near_by = [
        sorted({max(0, min(most, place + k)) for place in places for k in (-1, 0, 1)})
        for places in (parts, tops[: len(grids)], tops[len(grids) :] or [0])
    ]
    uneven = [-(-(k << 28) // window) for _, window in grids for k in range(min(window, 2))]
    picks = sorted({0, 1, (1 << 28) - 1, *uneven})
    shifts = [64 - many, 64 - 2 * many, 64 - 3 * many]
    return [
        sum(bits << shift for bits, shift in zip(three, shifts, strict=True)) | (many == 12) * pick
        for three in product(*near_by)
        for pick in picks
    ]


def near(position: float, grids, thresholds, *, many=12) -> list[int]:
    """Reserve words at which what tied so far is decided either way, and picks of either kind."""
    rests = [(t << many) % (1 << 128) for t in thresholds]
    around = [half for rest in rests for half in (rest >> 64, rest & ALL)]
    for steps, _ in grids:
        left = int(Fraction(position) * steps % 1 * (1 << 53)) % (1 << (53 - many))
        around.append(left << (11 + many))
    return [max(0, min(ALL, word + k)) for word in around for k in (-1, 0, 1)] + [0, ALL]


@pytest.mark.parametrize(("grids", "thresholds"), CASES, ids=lambda v: len(str(v)))
@pytest.mark.parametrize("position", POSITIONS)
def test_each_cell_alone_is_the_reference(grids, thresholds, position: float) -> None:
    rng = np.random.default_rng(grids[-1][0])
    special = special_words(position, grids, thresholds)
    chosen = rng.choice(len(special), min(len(special), 150), replace=False)
    for word in [*(special[k] for k in chosen), *as_ints(words(rng, 20))]:
        extra = seldom(rng, 64, near(position, grids, thresholds), 0.6)
        expected = reference(word, position, grids, thresholds, iter(as_ints(extra)))
        given = np.array([word], np.uint64)
        which, out, done, _ = run(given, [position], grids, thresholds, extra)
        assert done == 1
        assert (0 if which is None else int(which[0]), int(out[0])) == expected


@pytest.mark.parametrize("position", POSITIONS)
def test_each_bit_alone_is_the_reference(position: float) -> None:
    # One step and a window of one cell need no pick, and so half a word.
    rng = np.random.default_rng(3)
    grids, thresholds = [(1, 1)], [T]
    special = special_words(position, grids, thresholds, many=16)
    for word in [*special, *as_ints(words(rng, 20))]:
        extra = seldom(rng, 64, near(position, grids, thresholds, many=16), 0.6)
        kept = word >> 32 << 32
        expected = reference(kept, position, grids, thresholds, iter(as_ints(extra)), many=16)
        given = np.array([word >> 32], np.uint32)
        _, out, done, _ = run(given, [position], grids, thresholds, extra)
        assert (done, int(out[0])) == (1, expected[1])


@pytest.mark.parametrize(("grids", "thresholds"), CASES, ids=lambda v: len(str(v)))
def test_a_whole_block_is_the_reference(grids, thresholds) -> None:
    # Every reserve word is the same, so that it does not matter which lane takes which.
    rng = np.random.default_rng(7)
    n = 2100
    for same in (ALL, 1 << 63 | 7):
        numbers, given = rng.choice(POSITIONS, n), words(rng, n)
        for k in range(0, n, 3):
            special = special_words(numbers[k], grids, thresholds)
            given[k] = special[rng.integers(len(special))]
        extra = np.full(8 * n, same, np.uint64)
        which, out, done, _ = run(given, numbers, grids, thresholds, extra)
        assert done == n
        for k in range(n):
            one = reference(int(given[k]), numbers[k], grids, thresholds, repeat(same))
            assert (0 if which is None else int(which[k]), int(out[k])) == one


def repeat(word: int) -> Iterator[int]:
    while True:
        yield word


@pytest.mark.parametrize("reserve", range(6, 9))
def test_running_out_of_words_does_not_change_the_odds(reserve: int) -> None:
    # A lane whose coin ties, fair from then on, and whose pick a window of 3 rejects but the 4
    # cells outside do not. The first reserve may run out; the second does not.
    top = 0x812
    given = np.array([9 << 52 | top << 40], np.uint64)
    inside = total = 0
    for first in product((0x5555_5556, ALL - 7), repeat=reserve):
        for second in ([0x5555_5556] * 7, [ALL - 7] * 7):
            total += 1
            for extra in (first, second):
                _, out, done, _ = run(
                    given, [0.0], [(4, 3)], [top << 116 | 1 << 115], np.array(extra, np.uint64)
                )
                if done:
                    break
            assert done == 1
            inside += int(out[0]) < 3
    assert inside * 2 == total


def test_as_many_words_are_used_whatever_they_say() -> None:
    # For the same reason: the window of 3 takes two words, whichever grid and pick is meant.
    grids, thresholds = [(4, 3), (8, 5)], [1 << 127, 1 << 127, 1 << 127]
    tied = np.array([9 << 52 | 0x800 << 40 | 0x800 << 28], np.uint64)
    outcomes = {}
    for choice, coin in product((0, ALL), repeat=2):
        extra = np.array([choice, 0, 0, coin, 0, 7, 0, 0x5555_5556, 0x5555_5556, 0], np.uint64)
        which, out, done, used = run(tied, [0.0], grids, [t + 1 for t in thresholds], extra)
        assert done == 1
        outcomes[int(which[0]), int(out[0])] = used
    assert set(outcomes.values()) == {9}


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
@pytest.mark.parametrize("wrong", [-1e-9, 1.0000001, np.nan, np.inf, -np.inf])
def test_a_number_out_of_bounds_is_refused_wherever_it_is(kind, wrong: float) -> None:
    mechanism = kind((0, 1), epsilon=1.0)
    for row in (0, 1023, 70_000, 99_999):
        numbers = np.full(100_000, 0.5)
        numbers[row] = wrong
        with pytest.raises(AnswerError, match=f"at row {row}"):
            mechanism.randomise(numbers)
