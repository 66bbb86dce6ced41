"""What every combined estimate says, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sottovoce import GRR, Estimate, Guarantee, Piecewise, Promise, combine, stratified
from sottovoce.errors import AlikeWarning, EstimateError, ParameterError
from sottovoce.estimate.combine import METHODS
from sottovoce.estimate.groups import PREDICTIONS
from sottovoce.promise import LDP

from .groups import WEIGHTED, estimate_of, quietly


def two(**more: Any) -> list[Estimate]:
    return [
        estimate_of([0.2, 0.3, 0.5], [0.01, 0.01, 0.02], 100, **more),
        estimate_of([0.3, 0.3, 0.4], [0.001, 0.001, 0.001], 300, **more),
    ]


@pytest.mark.parametrize("method", WEIGHTED)
def test_weights_that_take_groups_to_be_alike_say_so(method: str) -> None:
    groups = [*two()]
    groups[0] = estimate_of(groups[0].values, groups[0].variance, 100, reports=50)
    with pytest.warns(AlikeWarning, match=f"'{method}' weighs the groups as if people of all"):
        estimate = combine(groups, method=method)
    assert "answer alike" in estimate.assuming
    assert "Assuming: people of all groups answer alike" in str(estimate)
    assert "answer alike" in estimate._repr_html_()
    assert estimate.biased
    assert estimate.method == method


@pytest.mark.parametrize("method", ["james-stein", "random-effects", "adaptive", "post-stratified"])
def test_the_others_do_not_warn(method: str) -> None:
    estimate = combine(two(), method=method)  # warnings are errors in this suite
    leans = method != "post-stratified"
    assert ("shrunk towards each other" in estimate.assuming) == leans
    assert estimate.biased == leans
    assert (estimate.raw is not None) == leans
    assert estimate.method == method


def test_weights_that_happen_to_be_the_sizes_need_no_warning() -> None:
    alike = [estimate_of([0.2, 0.8], [0.01, 0.01], 100) for _ in range(2)]
    for method in WEIGHTED:
        estimate = combine(alike, method=method)
        assert estimate.method == method
        assert not estimate.assuming
        assert not estimate.biased


def test_every_method_is_known_and_tested() -> None:
    assert set(METHODS) == {*WEIGHTED, *PREDICTIONS, "post-stratified"}
    assert next(iter(METHODS)) == "james-stein"
    assert combine(two()).method == "james-stein"
    assert {name for name, (_, biased) in METHODS.items() if not biased} == {"post-stratified"}


@pytest.mark.parametrize("method", METHODS)
def test_people_and_reports_add_up(method: str) -> None:
    estimate = quietly([*two(), estimate_of([0.1, 0.2, 0.7], [0.1] * 3, 10, reports=4)], method)
    assert (estimate.n, estimate.reports) == (410, 404)
    assert estimate.values.sum() == pytest.approx(1)
    assert (estimate.std_error > 0).all()
    low, high = estimate.interval()
    assert (low <= estimate.values).all()
    assert (estimate.values <= high).all()


@pytest.mark.parametrize("method", METHODS)
def test_one_group_is_itself(method: str) -> None:
    one = two()[0]
    estimate = combine([one], method=method)
    assert estimate.values is one.values
    assert estimate.variance == pytest.approx(one.variance)
    assert estimate.method == method


def test_post_stratified_has_the_variance_of_independent_groups() -> None:
    m = [GRR(3, epsilon=e) for e in (0.5, 2.0)]
    n = (300, 900)
    groups = [
        x.estimate(x.aggregate(x.randomise(np.arange(k) % 3))) for x, k in zip(m, n, strict=True)
    ]
    estimate = combine(groups, method="post-stratified")
    parts = [w * w * g.covariance for w, g in zip((0.25, 0.75), groups, strict=True)]
    assert estimate.covariance == pytest.approx(sum(parts))
    assert estimate.variance == pytest.approx(np.diag(sum(parts)))
    assert estimate.error_from == "plug-in"


def test_a_weighted_estimate_counts_who_is_in_which_group() -> None:
    """Beside the noise, D (Σ ω²/n_j − 1/n): another draw of the groups would have another mix."""
    groups = two()
    estimate = quietly(groups, "yang-variance")
    v = np.array([g.variance.sum() for g in groups])
    omega = (1 / v) / (1 / v).sum()
    mix = float(omega**2 @ [1 / 100, 1 / 300]) - 1 / 400
    f = estimate.values
    spread = omega**2 @ [g.variance for g in groups] + mix * f * (1 - f)
    assert estimate.variance == pytest.approx(spread)


@pytest.mark.parametrize("method", METHODS)
def test_a_combined_estimate_is_projected_like_any_other(method: str) -> None:
    groups = [estimate_of([-0.1, 0.4, 0.7], [0.02] * 3, 100), two()[1]]
    projected = quietly(groups, method).project()
    assert projected.values.sum() == pytest.approx(1)
    assert projected.values.min() >= 0
    assert (projected.std_error > 0).all()


def test_promises_stand_side_by_side() -> None:
    promises = [Guarantee((Promise(LDP, e),)) for e in (0.5, 2.0)]
    groups = [estimate_of([0.5, 0.5], [0.1, 0.1], 10, guarantee=g) for g in promises]
    assert [p.epsilon for p in combine(groups).guarantee.promises] == [0.5, 2.0]
    none = estimate_of([0.5, 0.5], [0.1, 0.1], 10, guarantee=Guarantee.none("drawn from a seed"))
    assert combine([*groups, none]).guarantee == none.guarantee


def test_what_the_groups_assume_is_still_assumed() -> None:
    for method in METHODS:
        estimate = quietly(two(assuming="that it rains", biased=True), method)
        assert estimate.assuming.startswith("that it rains")
        assert estimate.biased


def test_means_are_combined_too() -> None:
    m = [Piecewise((-5, 10), epsilon=e) for e in (0.5, 4.0)]
    answers = np.linspace(-5, 10, 3000)
    groups = [x.estimate(x.aggregate(x.randomise(answers))) for x in m]
    for method in METHODS:
        estimate = quietly(groups, method)
        assert estimate.n == 6000
        assert not estimate.fractions
        assert list(estimate.labels) == ["mean"]
        low, high = sorted(float(g.values[0]) for g in groups)
        assert low <= estimate.values[0] <= high
        assert 0 < estimate.std_error[0] < 2
    pooled = quietly(groups, "pooled")
    assert abs(pooled.values[0] - groups[1].values[0]) < abs(pooled.values[0] - groups[0].values[0])
    assert pooled.covariance == pytest.approx(np.diag(pooled.variance))


# --- refusals -----------------------------------------------------------------------------------


def test_nothing_cannot_be_combined() -> None:
    for nothing in ([], {}, ()):
        with pytest.raises(EstimateError, match="no estimates to combine"):
            combine(nothing)


@pytest.mark.parametrize("method", ["mean", "", None, "stratified "])
def test_an_unknown_method_is_refused_with_the_known_ones(method: Any) -> None:
    with pytest.raises(ParameterError, match=r"no method.*'random-effects'.*'unweighted'"):
        combine(two(), method=method)


def test_groups_answer_one_question() -> None:
    other = estimate_of([0.2, 0.3, 0.5], [0.1] * 3, 10, labels=["a", "b", "c"])
    with pytest.raises(EstimateError, match="number 3 estimates other values than the first"):
        combine([*two(), other])
    numbers = estimate_of([0.2, 0.3, 0.5], [0.1] * 3, 10, fractions=False)
    with pytest.raises(EstimateError, match="'far' estimates other values"):
        combine({"near": two()[0], "far": numbers})


def test_biased_estimates_are_refused() -> None:
    m = GRR(3, epsilon=1.0)
    aggregate = m.aggregate(m.randomise([0, 1, 2] * 100))
    plain = m.estimate(aggregate)
    hybrid = combine(two(), method="random-effects")
    for biased in (plain.project(), m.estimate(aggregate, method="mle")):
        with pytest.raises(EstimateError, match=r"number 2 is a biased estimate.*unbiased ones"):
            combine([plain, biased])
    with pytest.raises(EstimateError, match=r"number 2 is a biased estimate \(random-effects\)"):
        combine([*two()[:1], hybrid])


def test_only_estimates_are_combined() -> None:
    with pytest.raises(ParameterError, match="'b' is ndarray"):
        combine({"a": two()[0], "b": np.zeros(3)})


@pytest.mark.parametrize("variance", [float("inf"), float("nan")])
def test_a_group_without_an_error_is_refused(variance: float) -> None:
    with pytest.raises(EstimateError, match="number 3 is based on no reports"):
        combine([*two(), estimate_of([0.2, 0.3, 0.5], [variance] * 3, 10)])


def test_a_group_of_nobody_is_refused() -> None:
    with pytest.raises(EstimateError, match="number 3 is based on no reports"):
        combine([*two(), estimate_of([0.2, 0.3, 0.5], [0.1] * 3, 0)])


def test_the_same_reports_are_not_combined_twice() -> None:
    first, second = two()
    for same in (first, replace(first, name="other")):
        with pytest.raises(EstimateError, match="number 2 comes from the same reports"):
            combine([first, same])
    with pytest.raises(EstimateError, match="'again' comes from the same reports"):
        stratified({"a": first, "b": second, "again": first}, weights={"a": 1, "b": 1, "again": 1})
    both = combine([first, second], method="post-stratified")
    with pytest.raises(EstimateError, match="number 2 comes from the same reports"):
        combine([both, second])
    with pytest.raises(EstimateError, match="same reports, so their errors are not independent"):
        both - second
    assert combine([first, second]).n == 400
    for method in ("post-stratified", "james-stein"):
        assert combine([first, second], method=method).roots == first.roots | second.roots
