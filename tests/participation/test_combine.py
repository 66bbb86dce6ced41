"""Groups put together: 000's weights, the corrected ones, and predictions that lean.

Simulations are seeded. Where a mean is compared, 6 standard errors are allowed: with another seed
a false alarm would have probability 2e-9 per comparison, and no test makes 40 of them.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from sottovoce import GRR, OUE, combine
from sottovoce.errors import ParameterError
from sottovoce.estimate.combine import person_weights
from sottovoce.estimate.groups import PREDICTIONS, Groups

from .groups import (
    DATA,
    EPSILONS,
    VALUES,
    by_sampling,
    by_support,
    cut,
    estimate_of,
    quietly,
    shares,
)

SIGMAS = 6


def noise(epsilons: Any) -> np.ndarray:
    """V of 000's mechanism, (1 − p) / p = 1 / (e^ε − 1)."""
    return 1 / np.expm1(np.array(epsilons))


# --- weights ------------------------------------------------------------------------------------

TABLE_2 = {
    "s1": [0.0316, 0.1477, 0.3045, 0.5162],
    "s2": [0.0333, 0.0333, 0.3885, 0.5448],
    "s3": [0.0517, 0.0517, 0.0517, 0.8449],
    "s4": [0.0259, 0.3017, 0.2495, 0.4229],
}


@pytest.mark.parametrize("method", ["yang-variance", "yang-optimised"])
@pytest.mark.parametrize("name", TABLE_2)
def test_table_2_has_these_weights(name: str, method: str) -> None:
    weights = person_weights(noise(EPSILONS[name]), [250] * 4, method=method)
    assert weights.round(4).tolist() == TABLE_2[name]


@pytest.mark.parametrize("method", ["yang-variance", "yang-optimised"])
def test_the_weights_are_those_of_the_combined_estimate(method: str) -> None:
    """Groups of 250 whose estimates are unit vectors: the combined values are the weights."""
    groups = [
        estimate_of(np.eye(4)[j], np.full(4, v / 250 / 4), 250)
        for j, v in enumerate(noise(EPSILONS["s1"]))
    ]
    assert quietly(groups, method).values.round(4).tolist() == TABLE_2["s1"]


def test_optimising_finds_the_closed_form_for_any_sizes_too() -> None:
    """Eq. 4 does not depend on the sizes, and it is where the numerical minimum lies."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        v, n = rng.uniform(0.01, 10, 5), rng.integers(1, 1000, 5)
        one = person_weights(v, n, method="yang-variance")
        assert person_weights(v, n, method="yang-optimised") == pytest.approx(one, abs=1e-5)


@pytest.mark.parametrize(
    ("v", "n"), [([1.0], [1, 2]), ([0.0, 1.0], [1, 1]), ([1.0, -1.0], [1, 1]), ([[1.0]], [[1]])]
)
def test_weights_need_positive_numbers(v: Any, n: Any) -> None:
    with pytest.raises(ParameterError, match="one positive number each per level"):
        person_weights(v, n, method="yang-variance")


def test_only_000_has_weights_per_person() -> None:
    with pytest.raises(ParameterError, match="'yang-variance' and 'yang-optimised'"):
        person_weights([1.0], [1], method="pooled")


# --- known errors --------------------------------------------------------------------------------


def weighted_error(per_person: Any, epsilons: Any, scatter: float) -> float:
    """Σ ω² V / n_j + D (Σ ω² / n_j − 1 / n) for equal random groups out of 1,000."""
    n = 1000 / len(epsilons)
    omega = np.array(per_person) / np.sum(per_person)
    return float(omega**2 @ noise(epsilons) / n + scatter * (omega @ omega / n - 1 / 1000))


@pytest.mark.parametrize(
    ("epsilons", "published", "unweighted", "corrected"),
    [
        ((0.5, 2.0), 9.27e-4, 8.49e-4, 5.85e-4),
        ((1.0, 4.0), 8.86e-4, 3.00e-4, 2.38e-4),
        ((5.0, 10.0), 9.41e-4, 3.41e-6, 3.40e-6),
    ],
)
def test_leaving_the_data_out_of_the_weights_costs_as_much_as_the_page_says(
    epsilons: Any, published: float, unweighted: float, corrected: float
) -> None:
    v, scatter = noise(epsilons), 1 - 1 / VALUES
    assert weighted_error(1 / v, epsilons, scatter) == pytest.approx(published, rel=0.002)
    assert weighted_error([1, 1], epsilons, scatter) == pytest.approx(unweighted, rel=0.003)
    assert weighted_error(1 / (v + scatter), epsilons, scatter) == pytest.approx(
        corrected, rel=0.003
    )


def squared_errors(name: str, data: str, runs: int, *, alike: bool) -> dict[str, np.ndarray]:
    """Of every run, ‖estimate − truth‖² by each method."""
    values, epsilons = DATA[data], EPSILONS[name]
    rng = np.random.default_rng([*name.encode(), *data.encode(), alike])
    truth = shares(values)
    methods = ("random-effects", "post-stratified", "pooled", "yang-variance")
    found: dict[str, list[float]] = {method: [] for method in methods}
    for _ in range(runs):
        groups = by_sampling(cut(values, len(epsilons), rng if alike else None), epsilons, rng)
        for method in methods:
            gap = quietly(groups, method).values - truth
            found[method].append(float(gap @ gap))
    return {method: np.array(errors) for method, errors in found.items()}


def agrees(errors: np.ndarray, expected: float, slack: float = 0.0) -> bool:
    error = SIGMAS * errors.std() / np.sqrt(errors.size)
    return bool(abs(errors.mean() - expected) <= error + slack * expected)


@pytest.mark.parametrize(
    ("name", "published", "stratified", "hybrid"),
    [("s1", 1.72e-3, 3.32e-3, 1.57e-3), ("(.5, 2)", 0.927e-3, 0.850e-3, 0.592e-3)],
)
def test_random_groups_have_the_errors_of_the_page(
    name: str, published: float, stratified: float, hybrid: float
) -> None:
    """§e.4, in the two settings that it states fully; its numbers have an error of 1 %."""
    errors = squared_errors(name, "uniform", 800, alike=True)
    for method, expected in (
        ("yang-variance", published),
        ("post-stratified", stratified),
        ("random-effects", hybrid),
    ):
        assert agrees(errors[method], expected, slack=0.01), method
    # Twin: the methods' own errors are not within the tolerance of each other's.
    assert not agrees(errors["random-effects"], stratified, slack=0.01)
    assert not agrees(errors["yang-variance"], hybrid, slack=0.01)


# --- hybrid -------------------------------------------------------------------------------------

SETTINGS = list(product(EPSILONS, DATA, ("random", "sorted")))


@pytest.mark.parametrize(("name", "data", "groups"), SETTINGS, ids=str)
def test_hybrid_is_never_worse_than_post_stratified(name: str, data: str, groups: str) -> None:
    """36 settings. Differences of pairs of runs, allowed 5 standard errors above zero."""
    errors = squared_errors(name, data, 200, alike=groups == "random")
    gap = errors["random-effects"] - errors["post-stratified"]
    assert gap.mean() <= 5 * gap.std() / np.sqrt(gap.size)
    if groups == "random":
        assert errors["random-effects"].mean() < 0.85 * errors["post-stratified"].mean()
    else:  # Twin: what takes sorted groups to be alike fails the very same comparison.
        gap = errors["pooled"] - errors["post-stratified"]
        assert gap.mean() > 5 * gap.std() / np.sqrt(gap.size)


@pytest.mark.parametrize("data", DATA)
def test_with_random_groups_hybrid_is_nearly_as_good_as_pooled(data: str) -> None:
    errors = squared_errors("(.5, 2)", data, 900, alike=True)
    ratio = errors["random-effects"].mean() / errors["pooled"].mean()
    gap = errors["random-effects"] - errors["pooled"]
    error = gap.std() / np.sqrt(gap.size) / errors["pooled"].mean()
    assert ratio < 1.05 + 3 * error
    assert ratio > 0.99  # nothing beats the best weights


def coverage(kind: type, epsilons: Any, data: str, *, alike: bool, widen: float = 1.0) -> float:
    """How often 95 % intervals of 10,000 people's shares hold the truth, over all values."""
    values = np.sort(np.tile(DATA[data], 10))
    rng = np.random.default_rng([*data.encode(), alike, len(epsilons), int(10 * epsilons[-1])])
    mechanisms = [kind(VALUES, epsilon=e) for e in epsilons]
    truth, covered = shares(values), []
    for _ in range(100):
        groups = by_support(cut(values, len(epsilons), rng if alike else None), mechanisms, rng)
        estimate = combine(groups)
        low, high = estimate.interval()
        middle, half = (low + high) / 2, widen * (high - low) / 2
        covered.append(np.abs(middle - truth) <= half)
    return float(np.mean(covered))


@pytest.mark.parametrize("groups", ["random", "sorted"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["s1", "(.5, 2)", "(1, 4)"])
@pytest.mark.parametrize("kind", [GRR, OUE])
def test_intervals_of_the_default_hold_the_truth(
    kind: type, name: str, data: str, groups: str
) -> None:
    """3,000 intervals each, which are those of the post-stratified estimate.

    At a coverage of 95 % fewer than 90 % of 3,000 independent intervals have probability 1e-30;
    those of one run hang together somewhat.
    """
    assert coverage(kind, EPSILONS[name], data, alike=groups == "random") > 0.9


@pytest.mark.parametrize("kind", [GRR, OUE])
def test_intervals_half_as_wide_would_be_noticed(kind: type) -> None:
    for name, alike in product(("(.5, 2)", "(1, 4)"), (False,)):
        assert coverage(kind, EPSILONS[name], "uniform", alike=alike, widen=0.5) < 0.9


@pytest.mark.parametrize("groups", ["random", "sorted"])
def test_intervals_hold_where_a_value_that_nobody_reported_shows_no_noise(groups: str) -> None:
    """000's own mechanism: the estimates know no more than their values and variances.

    200 runs for each of 30 values. At a coverage of .97 a value falls below .9 with probability
    3e-6; the seed is fixed.
    """
    rng = np.random.default_rng(3)
    truth, runs = shares(DATA["normal"]), 200
    inside = {
        method: np.zeros(VALUES) for method in ("random-effects", "james-stein", "post-stratified")
    }
    plain = np.zeros(VALUES)
    for _ in range(runs):
        holders = cut(DATA["normal"], 4, rng if groups == "random" else None)
        estimates = by_sampling(holders, EPSILONS["s1"], rng)
        for method in inside:
            estimate = combine(estimates, method=method)
            low, high = estimate.interval()
            inside[method] += (low <= truth) & (truth <= high)
        plain += np.abs(estimate.values - truth) <= 1.96 * estimate.std_error
    for method, times in inside.items():
        assert times.mean() / runs > 0.93, method
        assert times.min() / runs > 0.93, method
    assert plain.min() / runs < 0.75  # twin: the normal approximation at the estimate


def test_hybrid_is_the_formula_of_the_page() -> None:
    """Written down once more, group by group."""
    groups = by_sampling(cut(DATA["skewed"], 4, None), EPSILONS["s1"], np.random.default_rng(4))
    n = np.array([e.n for e in groups])
    values = np.array([e.values for e in groups])
    v_over_n = np.array([e.variance.sum() for e in groups])
    stratified = n @ values / n.sum()
    d = 1 - (stratified @ stratified - float((n / n.sum()) ** 2 @ v_over_n))
    d = min(max(d, 0), 1 - 1 / VALUES)
    a = 1 / (v_over_n + d / n)
    bar = a @ values / a.sum()
    q = sum(a[j] * np.sum((values[j] - bar) ** 2) for j in range(4))
    tau = max(0, (q - 3) / (a.sum() - np.sum(a**2) / a.sum()))
    assert tau > 0  # or the comparison would be one of the pooled mean
    t = d / n + tau
    b, g = t / (t + v_over_n), 1 / (t + v_over_n)
    common = g @ values / g.sum()
    expected = sum(n[j] / n.sum() * (b[j] * values[j] + (1 - b[j]) * common) for j in range(4))
    assert combine(groups, method="random-effects").values == pytest.approx(expected, abs=1e-14)


def test_hybrid_goes_from_pooled_to_post_stratified() -> None:
    """As groups move apart, by what is seen of it."""
    base = np.full(10, 0.1)
    tilt = np.array([1.0, -1.0] * 5)
    places = []
    for apart in (0.0, 0.03, 0.3):
        groups = [
            estimate_of(base + apart * sign * tilt, np.full(10, v), 100)
            for sign, v in ((1, 4e-3), (-1, 1e-4))
        ]
        ends = [quietly(groups, m).values for m in ("post-stratified", "pooled", "random-effects")]
        stratified, pooled, hybrid = ends
        if apart:
            places.append(float((hybrid - pooled) @ tilt / ((stratified - pooled) @ tilt)))
    assert 0 <= places[0] < 0.1 < 0.9 < places[1] <= 1


def test_the_error_of_a_prediction_is_that_of_the_unbiased_estimate() -> None:
    """Whatever the groups are: error and interval do not rest on how alike they seem."""
    for alike in (True, False):
        rng = np.random.default_rng(5)
        groups = by_sampling(cut(DATA["normal"], 4, rng if alike else None), EPSILONS["s1"], rng)
        plain = combine(groups, method="post-stratified")
        for method in PREDICTIONS:
            estimate = combine(groups, method=method)
            assert not np.array_equal(estimate.values, plain.values)
            assert np.array_equal(estimate.raw.values, plain.values)
            assert np.array_equal(estimate.variance, plain.variance)
            # Cut off at 0 and 1, and widened to the value itself.
            low, high = plain.interval()
            inside = (low >= 0) & (low <= estimate.values) & (estimate.values <= high)
            assert inside.any()
            for end, own in zip(estimate.interval(), (low, high), strict=True):
                assert np.array_equal(end[inside], own[inside])


# --- adaptive -----------------------------------------------------------------------------------


def test_adaptive_is_the_formula_of_the_page() -> None:
    groups = by_sampling(cut(DATA["normal"], 4, None), EPSILONS["s2"], np.random.default_rng(6))
    pooled, raw = (quietly(groups, m) for m in ("pooled", "post-stratified"))
    z = raw.values - pooled.values
    # pooled.variance has the mix of people cell by cell, its sum that of D
    d = float(Groups.of_estimates(groups).scatter)
    weights = np.array([250 / (250 * e.variance.sum() + d) for e in groups])
    weights /= weights.sum()
    mix = d * float(weights @ weights / 250 - 1 / 1000)
    noise_of = np.array([e.variance.sum() for e in groups])
    pooled_total = float(weights**2 @ noise_of) + mix
    omega = max(0.0, 1 - 27 / 29 * (raw.variance.sum() - pooled_total) / float(z @ z))
    assert 0 < omega < 1
    expected = pooled.values + omega * z
    assert combine(groups, method="adaptive").values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_adaptive_is_post_stratified_where_values_are_few(d: int) -> None:
    groups = [
        estimate_of(np.full(d, 0.3), np.full(d, 0.01), 100),
        estimate_of(np.full(d, 0.35), np.full(d, 0.001), 300),
    ]
    adaptive, raw = (combine(groups, method=m) for m in ("adaptive", "post-stratified"))
    assert adaptive.values == pytest.approx(raw.values)


def test_adaptive_is_safe_either_way() -> None:
    """ε from .5 to 4 and 8 values: near the better of pooled and post-stratified."""
    mechanisms = [OUE(8, epsilon=e) for e in (0.5, 1.0, 2.0, 4.0)]
    rng = np.random.default_rng(7)
    for alike in (True, False):
        errors: dict[str, list[float]] = {m: [] for m in ("pooled", "post-stratified", "adaptive")}
        for _ in range(200):
            values = np.sort(rng.integers(0, 8, 4000))
            order = rng.permutation(values) if alike else values
            holders = np.array([np.bincount(g, minlength=8) for g in np.split(order, 4)])
            groups = by_support(holders, mechanisms, rng)
            truth = np.bincount(values, minlength=8) / 4000
            for method, found in errors.items():
                found.append(float(np.abs(quietly(groups, method).values - truth).sum() / 2))
        pooled, stratified, adaptive = (np.mean(e) for e in errors.values())
        if alike:
            assert pooled < adaptive < 0.75 * stratified
        else:
            assert adaptive < 1.1 * stratified < 0.5 * pooled
