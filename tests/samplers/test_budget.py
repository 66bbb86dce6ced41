"""The false-alarm budget is kept: groups draw what they declared, and the statistics are fair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from . import (
    budget,
    test_below,
    test_bernoulli,
    test_coverage,
    test_grr,
    test_javascript,
    test_large,
    test_lip,
    test_noise,
    test_numbers,
    test_oue,
    test_records,
    test_threads,
    test_tiny,
    test_wrappers,
)
from .statistics import chi_square, extreme, fit, independent_fits

MODULES = {
    "tiny": test_tiny,
    "grr": test_grr,
    "lip": test_lip,
    "oue": test_oue,
    "large": test_large,
    "bernoulli": test_bernoulli,
    "below": test_below,
    "numbers": test_numbers,
    "coverage": test_coverage,
    "threads": test_threads,
    "wrappers": test_wrappers,
    "records": test_records,
    "noise": test_noise,
    "javascript": test_javascript,
}


def test_every_group_draws_what_it_declared() -> None:
    assert {group: len(module.CASES) for group, module in MODULES.items()} == budget.DECLARED


def test_the_shares_add_up_to_the_budget() -> None:
    assert budget.SHARE * sum(budget.DECLARED.values()) == pytest.approx(1e-6)


def test_overspending_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(budget.DECLARED, "spare", 1)
    budget.spend("spare", "first", 0.5)
    budget.spend("spare", "first", 0.5)
    with pytest.raises(budget.OverBudgetError):
        budget.spend("spare", "second", 0.5)


def test_a_share_is_the_threshold() -> None:
    budget.judge(budget.SHARE)
    for p_value in (budget.SHARE * 0.999, 0.0, float("nan")):
        with pytest.raises(budget.RejectedError):
            budget.judge(p_value)


def test_chi_square_is_scipys() -> None:
    counts, law = np.array([2100, 2950, 4950]), np.array([0.2, 0.3, 0.5])
    expected = stats.chisquare(counts, law * counts.sum()).pvalue
    assert chi_square(counts, law) == pytest.approx(expected, rel=1e-9)


def test_small_cells_are_taken_together() -> None:
    counts, law = np.array([70, 10_000, 60, 9_870]), np.array([0.003, 0.5, 0.004, 0.493])
    expected = stats.chisquare([130, 9_870, 10_000], [140, 9_860, 10_000]).pvalue
    assert chi_square(counts, law) == pytest.approx(expected, rel=1e-9)


def test_an_impossible_cell_is_rejected_outright() -> None:
    assert fit([500, 500, 1], [0.5, 0.5, 0.0]) == 0.0


def test_extreme_is_exact_for_one_coin() -> None:
    expected = stats.binomtest(40, 100, 0.5).pvalue
    assert extreme([40], 100, 0.5) == pytest.approx(expected, rel=1e-9)


def test_independent_fits_notice_one_count_among_many() -> None:
    counts = np.full(1000, 5000)
    assert independent_fits(counts, 10_000, 0.5) == 1.0
    counts[17] = 5400
    assert independent_fits(counts, 10_000, 0.5) < budget.SHARE
