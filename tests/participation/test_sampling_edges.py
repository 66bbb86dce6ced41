"""Where sampling meets its edges: nobody reports, one report, rate 1, empty strata."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sottovoce import GRR, Aggregate, Sampled
from sottovoce.errors import EstimateError

from .sampling import aggregated


@pytest.mark.parametrize("rate", [0.5, [0.5, 0.1]], ids=str)
def test_where_nobody_reports_nothing_is_estimated(rate: Any) -> None:
    s = Sampled(GRR(3, epsilon=1.0), rate=rate)
    quiet = s.absent(np.full(len(s.rates), 10))
    for method in s.methods:
        with pytest.raises(EstimateError, match=r"none of the .* people asked reported"):
            s.estimate(s.aggregate(quiet), method=method)
        with pytest.raises(EstimateError, match="none of the 0 people"):
            s.estimate(s.aggregate(quiet[:0]), method=method)


@pytest.mark.parametrize("rate", [0.5, [0.5, 0.1], [0.5, 0.0]], ids=str)
@pytest.mark.parametrize("asked", [1, 1000])
def test_from_one_report_errors_are_finite_and_not_zero(rate: Any, asked: int) -> None:
    s = Sampled(GRR(3, epsilon=1.0), rate=rate)
    zeros = [0] * (len(s.rates) - 1)
    one = aggregated(s, [asked, *zeros], [1, *zeros], [[1, 0, 0]] + [[0, 0, 0]] * len(zeros))
    for method in s.methods:
        estimate = s.estimate(one, method=method)
        assert np.isfinite(estimate.values).all(), method
        assert np.isfinite(estimate.std_error).all(), method
        assert (estimate.std_error > 0).all(), method


def test_at_rate_1_sampling_changes_nothing() -> None:
    """Every method is then the plain estimate, with the plain error up to 1/n of it."""
    m = GRR(3, epsilon=1.0)
    s = Sampled(m, rate=1)
    counts = np.array([300, 500, 200])
    plain = m.estimate(Aggregate(m.id, m.digest, {"support": counts}, 1000, 1000))
    full = aggregated(s, [1000], [1000], [counts])
    for method in s.methods:
        estimate = s.estimate(full, method=method)
        assert estimate.values == pytest.approx(plain.values, abs=1e-12), method
        assert estimate.variance == pytest.approx(plain.variance, rel=0.002), method
        shares = [0.2, 0.3, 0.5]
        assert s.variance(shares, 1000, method=method) == pytest.approx(m.variance(shares, 1000))


def test_empty_strata_are_left_out() -> None:
    """A rate that nobody has changes neither values nor errors."""
    one, two = (Sampled(GRR(3, epsilon=1.0), rate=r) for r in (0.5, [0.5, 0.25]))
    alone = aggregated(one, [400], [180], [[60, 50, 70]])
    beside = aggregated(two, [400, 0], [180, 0], [[60, 50, 70], [0, 0, 0]])
    for method in one.methods:
        a, b = one.estimate(alone, method=method), two.estimate(beside, method=method)
        assert a.values == pytest.approx(b.values, rel=1e-12), method
        assert a.variance == pytest.approx(b.variance, rel=1e-12), method
        known = one.variance([0.2, 0.3, 0.5], 400, method=method)
        assert two.variance([0.2, 0.3, 0.5], [400, 0], method=method) == pytest.approx(known)


def test_a_stratum_that_stayed_silent_is_named() -> None:
    s = Sampled(GRR(3, epsilon=1.0), rate=[0.5, 0.01])
    gap = aggregated(s, [400, 3], [180, 0], [[60, 50, 70], [0, 0, 0]])
    for method in ("post-stratified", "adaptive"):
        with pytest.raises(EstimateError, match=r"\[0.01\] reported.*'horvitz-thompson'"):
            s.estimate(gap, method=method)
    for method in set(s.methods) - {"post-stratified", "adaptive"}:
        assert np.isfinite(s.estimate(gap, method=method).std_error).all()


def test_people_at_rate_0_are_spoken_of_only_where_it_is_said() -> None:
    s = Sampled(GRR(3, epsilon=1.0), rate=[0.5, 0.0])
    some = aggregated(s, [400, 100], [180, 0], [[60, 50, 70], [0, 0, 0]])
    for method in s.methods:
        if method in ("hajek", "biswas-t", "wang-c"):
            assert np.isfinite(s.estimate(some, method=method).std_error).all()
        else:
            with pytest.raises(EstimateError, match="100 people have rate 0"):
                s.estimate(some, method=method)
    assert "nothing to do with their answers" in s.estimate(some, method="hajek").assuming


def test_a_value_that_no_report_supports_has_an_error() -> None:
    s = Sampled(GRR(3, epsilon=4.0), rate=0.5)
    rare = aggregated(s, [1000], [500], [[0, 250, 250]])
    for method in s.methods:
        error = s.estimate(rare, method=method).std_error
        true = np.sqrt(s.variance([0, 0.5, 0.5], 1000, method=method))
        assert 0.5 * true[0] <= error[0] <= 1.5 * true[0], method


def test_several_rates_say_which_assumption_they_make() -> None:
    s = Sampled(GRR(3, epsilon=1.0), rate=[0.5, 0.25])
    counts = aggregated(s, [400, 400], [200, 100], [[60, 50, 90], [30, 30, 40]])
    assumed = {m: s.estimate(counts, method=m).assuming for m in s.methods if m != "adaptive"}
    assert {m for m, text in assumed.items() if text} == {"hajek", "biswas-t", "wang-c"}
    biased = {m for m in s.methods if s.estimate(counts, method=m).biased}
    assert biased == {"hajek", "hajek-ipw", "biswas-t", "wang-c", "adaptive"}
    one = Sampled(GRR(3, epsilon=1.0), rate=0.5)
    single = aggregated(one, [400], [200], [[60, 50, 90]])
    assumed = {m: one.estimate(single, method=m).assuming for m in one.methods}
    assert {m for m, text in assumed.items() if text} == {"wang-c"}
    # Every interval lies below that of the unbiased estimate.
    high = one.estimate(single, method="wang-c").interval().high
    assert (high < one.estimate(single).interval().low).all()
    assert "intervals may never contain the truth" in assumed["wang-c"]
    everyone = Sampled(GRR(3, epsilon=1.0), rate=1.0)
    all_of_them = aggregated(everyone, [200], [200], [[60, 50, 90]])
    assert everyone.estimate(all_of_them, method="wang-c").assuming == ""
    assert {m for m in one.methods if one.estimate(single, method=m).biased} == {"wang-c"}


@pytest.mark.parametrize(("rates", "default"), [(1, "hajek"), (2, "post-stratified")])
def test_the_default_suits_the_number_of_rates(rates: int, default: str) -> None:
    grid = np.linspace(0.1, 1, rates)
    assert next(iter(Sampled(GRR(3, epsilon=1.0), rate=grid).methods)) == default


def test_many_rates_take_the_inverse_ones_by_default() -> None:
    for many, default in ((64, "post-stratified"), (65, "hajek-ipw")):
        s = Sampled(GRR(3, epsilon=1.0), rate=np.linspace(0.1, 1, many))
        assert next(iter(s.methods)) == default
        assert ("adaptive" in s.methods) == (many == 64)
