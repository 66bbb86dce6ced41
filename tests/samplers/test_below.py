"""Source.below is uniform, whatever the bound."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.errors import ParameterError
from sottovoce.randomness import SYSTEM

from .budget import RejectedError, joined, judge, spend
from .statistics import fit

N = 4_000_000
CASES = [1, 2, 3, 1000, (1 << 31) + 1, 3 << 30, 1 << 32]
bounds = pytest.mark.parametrize("bound", CASES)


def p_value(bound: int, values: np.ndarray) -> float:
    values = values.astype(np.int64)
    if values.max() >= bound:
        return 0.0
    width = -(-bound // 1000)  # at most 1000 cells, the last one narrower
    cells = -(-bound // width)
    sizes = np.full(cells, width)
    sizes[-1] = bound - width * (cells - 1)
    # Multiply-shift without rejection favours some residues, which wide cells cannot see.
    residues = [(bound - r + 2) // 3 for r in range(3)]
    by_three = np.bincount(values % 3, minlength=3)
    return joined(
        [
            fit(np.bincount(values // width, minlength=cells), sizes / bound),
            fit(by_three, np.array(residues) / bound),
        ]
    )


@bounds
def test_integers_are_uniform(bound: int) -> None:
    values = SYSTEM.below(bound, N)
    assert values.dtype == np.uint32
    assert values.shape == (N,)
    spend("below", str(bound), p_value(bound, values))


@pytest.mark.parametrize("bound", [b for b in CASES if b > 1])
def test_a_value_or_stretch_drawn_too_often_is_noticed(bound: int) -> None:
    values = SYSTEM.below(bound, N)
    low = values < max(1, bound // 1000)
    where = np.flatnonzero(~low)[::100]
    values[where] = 0
    with pytest.raises(RejectedError):
        judge(p_value(bound, values))


@pytest.mark.parametrize("bound", [b for b in CASES if b > 1])
def test_the_last_value_or_stretch_never_drawn_is_noticed(bound: int) -> None:
    values = SYSTEM.below(bound, N)
    values[values >= bound - max(1, bound // 500)] = 0
    with pytest.raises(RejectedError):
        judge(p_value(bound, values))


def test_multiply_shift_without_rejection_is_noticed() -> None:
    bound = 3 << 30
    words = SYSTEM.below(1 << 32, N).astype(np.uint64)
    with pytest.raises(RejectedError):
        judge(p_value(bound, (words * np.uint64(bound)) >> np.uint64(32)))


def test_remainders_instead_of_rejection_are_noticed() -> None:
    bound = 3 << 30
    words = SYSTEM.below(1 << 32, N).astype(np.uint64)
    with pytest.raises(RejectedError):
        judge(p_value(bound, words % np.uint64(bound)))


def test_a_bound_one_too_large_is_noticed() -> None:
    with pytest.raises(RejectedError):
        judge(p_value(3, SYSTEM.below(4, N)))


@pytest.mark.parametrize("bound", [0, -1, (1 << 32) + 1])
def test_bounds_outside_the_range_are_refused(bound: int) -> None:
    with pytest.raises(ParameterError, match=str(bound)):
        SYSTEM.below(bound, 1)


def test_nothing_is_drawn_for_nobody() -> None:
    assert SYSTEM.below(5, 0).size == 0
