"""GRR over larger domains, where words of 16 + 16 and of 32 + 32 bits are used.

The law depends on (report - answer) mod d alone, so all answers are tested at once.
"""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import GRR

from .budget import RejectedError, joined, judge, spend
from .statistics import fit

#: (values, epsilon, reports)
CASES = [
    (2, 0.1, 4_000_000),
    (1000, 1.0, 6_000_000),
    (4096, 2.0, 8_000_000),
    (4097, 2.0, 8_000_000),
    (5000, 1.0, 8_000_000),
    (70_000, 4.0, 12_000_000),
]
cases = pytest.mark.parametrize(("d", "epsilon", "n"), CASES, ids=lambda v: f"{v:g}")


def draw(mechanism: GRR, n: int) -> tuple[np.ndarray, np.ndarray]:
    answers = np.arange(n, dtype=np.int64) % mechanism.domain.size
    return answers, mechanism.randomise(answers).columns["value"].astype(np.int64)


def p_value(mechanism: GRR, answers: np.ndarray, reports: np.ndarray) -> float:
    d, p, q = mechanism.domain.size, float(mechanism.p), float(mechanism.q)
    law = np.full(d, q)
    law[0] = p
    shifts = np.bincount((reports - answers) % d, minlength=d)
    # Neighbours draw from neighbouring words: whether both keep their answer must be independent.
    kept = (reports == answers).astype(np.int64)
    pairs = np.bincount(2 * kept[:-1:2] + kept[1::2], minlength=4)
    both = [(1 - p) ** 2, (1 - p) * p, p * (1 - p), p * p]
    return joined(
        [
            fit(shifts, law),
            fit(np.bincount(reports, minlength=d), np.full(d, 1 / d)),
            fit(pairs, both),
        ]
    )


@cases
def test_reports_follow_the_channel(d: int, epsilon: float, n: int) -> None:
    mechanism = GRR(d, epsilon=epsilon)
    spend("grr", f"{d} {epsilon}", p_value(mechanism, *draw(mechanism, n)))


@cases
def test_keeping_a_little_too_often_is_noticed(d: int, epsilon: float, n: int) -> None:
    # By 2 %, or by as much as 14 standard deviations of the number kept where that is more.
    mechanism = GRR(d, epsilon=epsilon)
    p = float(mechanism.p)
    answers, reports = draw(mechanism, n)
    changed = np.flatnonzero(reports != answers)
    where = changed[:: int(changed.size / (max(0.02 * p * n, 14 * (p * n) ** 0.5)))]
    reports[where] = answers[where]
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, reports))


@cases
def test_a_value_never_drawn_is_noticed(d: int, epsilon: float, n: int) -> None:
    mechanism = GRR(d, epsilon=epsilon)
    answers, reports = draw(mechanism, n)
    reports[reports == d - 1] = 0
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, reports))


@pytest.mark.parametrize(("d", "epsilon", "n"), CASES[:2])
def test_drawing_among_all_values_instead_of_the_others_is_noticed(d, epsilon, n) -> None:
    # The classical slip: the other value may be the answer again, so that p is larger than stated.
    # Beyond a thousand values a sample of this size cannot show it; the exact paths do.
    mechanism = GRR(d, epsilon=epsilon)
    answers, reports = draw(mechanism, n)
    changed = np.flatnonzero(reports != answers)
    again = changed[np.arange(changed.size) % d == 0]
    reports[again] = answers[again]
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, reports))


@cases
def test_neighbours_that_decide_together_are_noticed(d: int, epsilon: float, n: int) -> None:
    mechanism = GRR(d, epsilon=epsilon)
    answers, reports = draw(mechanism, n)
    kept = reports == answers
    first = np.arange(0, n - 1, 2)[::3]
    together = first[kept[first]]
    reports[together + 1] = answers[together + 1]
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, reports))
