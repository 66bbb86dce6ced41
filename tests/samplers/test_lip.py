"""LIP's table of pairs: reports for every answer, over few values and many."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import LIP

from .budget import RejectedError, joined, judge, spend
from .statistics import fit, independent_fits

N = 3_000_000
SOME = np.arange(1, 301) / 45_150
CASES: list[LIP] = [
    LIP(2, prior=0.1, epsilon=1.0),
    LIP(prior=[0.0, 0.7, 0.0, 0.3], epsilon=0.5),
    LIP(prior_low=[0.1, 0.0, 0.2], prior_high=[0.5, 0.5, 0.7], epsilon=2.0),
    LIP(prior=[0.4, 0.3, 0.2, 0.1], epsilon=1.0, variant="a-optimal"),
    LIP(prior=[0.4, 0.3, 0.2, 0.1], epsilon=1.0, variant="mmse-optimal"),
    LIP(prior=SOME, epsilon=4.0),
]
IDS = [f"{m.variant}-{m.domain.size}" for m in CASES]
mechanisms = pytest.mark.parametrize("mechanism", CASES, ids=IDS)


def draw(mechanism: LIP, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    answers = np.arange(n) % mechanism.domain.size
    return answers, mechanism.randomise(answers).columns["value"].astype(np.int64)


def law(mechanism: LIP) -> np.ndarray:
    """Rows of the channel from the formulas alone, where there are some."""
    if mechanism.variant != "optimal":
        return mechanism.channel().matrix
    known = mechanism.prior
    low = np.array(mechanism.prior_low if known is None else known)
    high = np.array(mechanism.prior_high if known is None else known)
    low, high = (
        np.maximum(low, 1 - (high.sum() - high)),
        np.minimum(high, 1 - (low.sum() - low)),
    )
    power = np.exp(mechanism.epsilon)
    m = np.maximum(high, 1 - power * low) / (power - 1)
    return (m + np.eye(m.size)) / (1 + m.sum())


def p_value(mechanism: LIP, answers: np.ndarray, reports: np.ndarray) -> float:
    rows = law(mechanism)
    d, cells = rows.shape
    if reports.max() >= cells:
        return 0.0
    collected = []
    for x in range(0, d, max(1, d // 5)):
        counts = np.bincount(reports[answers == x], minlength=cells)
        collected.append(fit(counts, rows[x] / rows[x].sum()))
    collected.append(fit(np.bincount(reports, minlength=cells), rows.mean(axis=0)))
    if mechanism.variant == "optimal":  # a report may be the answer itself: for each, how often
        kept = np.bincount(answers[reports == answers], minlength=d)
        people = np.bincount(answers, minlength=d)
        collected.append(independent_fits(kept, people, np.diag(rows)))
    # Neighbours draw from neighbouring words: both reports of a pair must be independent.
    pairs = np.arange(0, answers.size - 1, 2)
    first = pairs[answers[pairs] == answers[0]]
    likely = rows[:, 0]
    a, b = reports[first] == 0, reports[first + 1] == 0
    p, q = likely[answers[first[0]]], likely[answers[first[0] + 1]]
    both = np.bincount(2 * a + b, minlength=4)
    collected.append(fit(both, [(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q]))
    return joined(collected)


@mechanisms
def test_reports_follow_the_channel(mechanism: LIP) -> None:
    name = f"{mechanism.variant} {mechanism.domain.size} {mechanism.epsilon}"
    spend("lip", name, p_value(mechanism, *draw(mechanism)))


@mechanisms
def test_a_slightly_different_epsilon_is_noticed(mechanism: LIP) -> None:
    from dataclasses import replace

    other = replace(mechanism, epsilon=mechanism.epsilon + 0.05)
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, *draw(other)))


@mechanisms
def test_another_answer_is_noticed(mechanism: LIP) -> None:
    answers, reports = draw(mechanism)
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, (answers + 1) % mechanism.domain.size, reports))


@mechanisms
def test_a_report_moved_now_and_then_is_noticed(mechanism: LIP) -> None:
    answers, reports = draw(mechanism)
    where = np.flatnonzero(reports == reports[0])[::50]  # one in fifty
    reports[where] = (reports[where] + 1) % mechanism.cells
    if mechanism.domain.size > 100:  # of many, a thousandth of all
        where = np.arange(0, N, 1000)
        reports[where] = 0
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, reports))


@mechanisms
def test_neighbours_with_the_same_randomness_are_noticed(mechanism: LIP) -> None:
    answers, reports = draw(mechanism)
    pairs = np.arange(0, N - 1, 2)
    both = pairs[reports[pairs] == 0]
    reports[both[: both.size // 2] + 1] = 0
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, reports))
