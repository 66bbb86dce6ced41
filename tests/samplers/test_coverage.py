"""Intervals cover the truth as often as they say, over many repeated collections."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import GRR, OUE, Mechanism

from .budget import RejectedError, judge, spend
from .statistics import extreme

RUNS, PEOPLE, CONFIDENCE = 3000, 4000, 0.9
CASES: list[Mechanism] = [GRR(3, epsilon=1.0), OUE(5, epsilon=1.0)]
mechanisms = pytest.mark.parametrize("mechanism", CASES, ids=lambda m: m.id)


def coverage(mechanism: Mechanism, widen: float = 1.0) -> float:
    """p-value of how often the interval of value 0 covers its true share."""
    answers = np.arange(PEOPLE) % mechanism.domain.size
    share = float(np.mean(answers == 0))
    covered = 0
    for _ in range(RUNS):
        estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomise(answers)))
        low, high = estimate.interval(CONFIDENCE)
        middle, half = (low[0] + high[0]) / 2, (high[0] - low[0]) / 2 * widen
        covered += abs(middle - share) <= half
    return extreme(covered, RUNS, actual_coverage(mechanism, share))


def actual_coverage(mechanism: Mechanism, share: float) -> float:
    """Of the normal interval, exactly: counts are sums of two binomials, which are enumerated."""
    from scipy import stats

    true = round(PEOPLE * share)
    p, q = float(mechanism.p), float(mechanism.q)
    law = np.convolve(
        stats.binom.pmf(np.arange(true + 1), true, p),
        stats.binom.pmf(np.arange(PEOPLE - true + 1), PEOPLE - true, q),
    )
    values = (np.arange(PEOPLE + 1) / PEOPLE - q) / (p - q)
    sd = np.sqrt((q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) * values) / PEOPLE)
    return float(law[np.abs(values - share) <= stats.norm.ppf(0.5 + CONFIDENCE / 2) * sd].sum())


@mechanisms
def test_intervals_cover_as_often_as_they_say(mechanism: Mechanism) -> None:
    spend("coverage", mechanism.id, coverage(mechanism))


@mechanisms
def test_the_exact_coverage_is_near_the_stated_one(mechanism: Mechanism) -> None:
    share = float(np.mean(np.arange(PEOPLE) % mechanism.domain.size == 0))
    assert actual_coverage(mechanism, share) == pytest.approx(CONFIDENCE, abs=0.01)


@mechanisms
def test_intervals_that_are_too_narrow_are_noticed(mechanism: Mechanism) -> None:
    with pytest.raises(RejectedError):
        judge(coverage(mechanism, widen=0.8))
