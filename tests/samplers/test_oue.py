"""OUE: every bit on its own, and neighbours across the borders of bytes, words and reports."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import OUE

from .budget import RejectedError, joined, judge, spend
from .statistics import extreme, independent_fits, pair_fit

#: (values, epsilon, reports)
CASES = [
    (13, 1.0, 400_000),
    (64, 0.5, 200_000),
    (65, 3.0, 200_000),
    (128, 1.0, 200_000),
    (1000, 2.0, 60_000),
    (1024, 1.0, 60_000),
]
cases = pytest.mark.parametrize(("d", "epsilon", "n"), CASES, ids=lambda v: f"{v:g}")
BORDERS = (0, 6, 7, 14, 15, 30, 31, 62, 63, 126, 127, 511)


def draw(mechanism: OUE, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers, and reports as a table of bits."""
    d = mechanism.domain.size
    answers = np.arange(n) * 7 % d
    packed = mechanism.randomise(answers).columns["bits"]
    return answers, np.unpackbits(packed, axis=1, bitorder="little")[:, :d]


def p_value(mechanism: OUE, answers: np.ndarray, bits: np.ndarray) -> float:
    n, d = bits.shape
    q = float(mechanism.q)
    truth = bits[np.arange(n), answers]
    people = np.bincount(answers, minlength=d)
    true_sets = np.bincount(answers, weights=truth, minlength=d)
    other_sets = bits.sum(axis=0, dtype=np.int64) - true_sets
    p_values = [
        independent_fits(true_sets, people, 0.5),
        extreme(truth.sum(dtype=np.int64), n, 0.5),
        independent_fits(other_sets, n - people, q),
        extreme(other_sets.sum(), int((n - people).sum()), q),
    ]
    for v in (v for v in (*BORDERS, d - 2) if v < d - 1):
        others = (answers != v) & (answers != v + 1)
        p_values.append(pair_fit(bits[others, v], bits[others, v + 1], q, q))
        same = answers == v
        if same.sum() > 2000:  # the true bit and its neighbour
            p_values.append(pair_fit(bits[same, v], bits[same, v + 1], 0.5, q))
    for v in (0, d - 1):  # one report and the next: every second pair, so that none overlap
        first = np.arange(0, n - 1, 2)
        others = first[(answers[first] != v) & (answers[first + 1] != v)]
        p_values.append(pair_fit(bits[others, v], bits[others + 1, v], q, q))
    return joined(p_values)


@cases
def test_bits_follow_the_channel(d: int, epsilon: float, n: int) -> None:
    mechanism = OUE(d, epsilon=epsilon)
    spend("oue", f"{d} {epsilon}", p_value(mechanism, *draw(mechanism, n)))


@cases
def test_setting_others_three_percent_too_often_is_noticed(d, epsilon, n) -> None:
    mechanism = OUE(d, epsilon=epsilon)
    q = float(mechanism.q) * 1.03
    other = OUE(d, epsilon=float(np.log(1 / q - 1)))
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, *draw(other, n)))


@cases
def test_an_unfair_coin_for_the_truth_is_noticed(d: int, epsilon: float, n: int) -> None:
    mechanism = OUE(d, epsilon=epsilon)
    answers, bits = draw(mechanism, n)
    rows = np.arange(n)
    bits[rows[::20], answers[::20]] = 1  # one half becomes .525
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, bits))


@cases
def test_neighbouring_bits_that_follow_each_other_are_noticed(d, epsilon, n) -> None:
    mechanism = OUE(d, epsilon=epsilon)
    answers, bits = draw(mechanism, n)
    some = np.arange(n) % 4 == 0
    some &= (answers != 7) & (answers != 8)
    bits[some, 8] = bits[some, 7]
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, bits))


@cases
def test_a_bit_never_set_is_noticed(d: int, epsilon: float, n: int) -> None:
    mechanism = OUE(d, epsilon=epsilon)
    answers, bits = draw(mechanism, n)
    bits[answers != d - 1, d - 1] = 0
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, bits))


@cases
def test_randomness_used_twice_for_neighbouring_reports_is_noticed(d, epsilon, n) -> None:
    mechanism = OUE(d, epsilon=epsilon)
    answers, bits = draw(mechanism, n)
    some = np.arange(0, n - 1, 8)
    bits[some + 1, 0] = bits[some, 0]
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, bits))
