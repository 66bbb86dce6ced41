"""Marginals of few records: their errors are wide or they are refused, and never nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import EstimateError

NAMES = {
    False: ("self-calibrated", "published"),
    True: ("weighted-epsilons", "known-epsilons", "published"),
}


def aggregates(size: int, average: float, public: bool, n: int, runs: int, law=None):
    """Records of n people, again and again, with what the people answered."""
    records = sv.Records(
        [sv.Attribute("a", size), sv.Attribute("b", 3)], epsilon_average=average, public=public
    )
    rng = np.random.default_rng(n)
    with testing.seeded(n) as source:
        for _ in range(runs):
            a = rng.choice(size, n, p=law)
            table = {"a": a, "b": np.zeros(n, int)}
            reports = records.randomise(table, allocation="random", source=source)
            yield records, records.aggregate(reports), np.bincount(a, minlength=size) / n


@pytest.mark.parametrize("public", [False, True], ids=["hidden", "public"])
@pytest.mark.parametrize("size", [2, 3, 30])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_no_interval_has_width_zero(n: int, size: int, public: bool) -> None:
    for records, aggregate, _ in aggregates(size, 6.0, public, n, 25):
        for method in NAMES[public]:
            try:
                estimate = records.marginal(aggregate, ["a"], method=method)
            except EstimateError:
                assert method == "self-calibrated"
                continue
            # No share of n people is known better than by the coin of a single true bit.
            assert estimate.std_error.min() > 0.4 / (n + 4)
            np.testing.assert_allclose(estimate.covariance, estimate.covariance.T)
            assert np.linalg.eigvalsh(estimate.covariance).min() > -1e-12


@pytest.mark.parametrize("size", [2, 3, 6])
def test_one_hidden_record_says_nothing(size: int) -> None:
    for records, aggregate, _ in aggregates(size, 6.0, False, 1, 25):
        with pytest.raises(EstimateError, match=r"so few records \(1\)"):
            records.marginal(aggregate, ["a"])


@pytest.mark.parametrize("n", [3, 5])
def test_differences_of_few_drawn_records_cover(n: int) -> None:
    """Estimates far outside 0 to 1 are no guide to the correlation that drawing people adds."""
    law = np.array([0.9, 0.1] + [0.0] * 18)
    held = []
    for records, aggregate, _ in aggregates(20, 6.0, True, n, 300, law):
        drawn = records.marginal(aggregate, ["a"]).for_population()
        low, high = drawn.contrast({drawn.labels[0]: 1, drawn.labels[-1]: -1}).interval()
        held.append(low[0] <= 0.9 <= high[0])
    assert np.mean(held) >= 0.88  # of 300 at .95: once in 1e6


CASES = {
    "two values": (2, 6.0, True, [0.9, 0.1]),
    "a rare value": (6, 6.0, True, [0.5, 0.3, 0.1, 0.05, 0.03, 0.02]),
    "public": (20, 2.0, True, None),
    "hidden": (20, 6.0, False, None),
}


@pytest.mark.parametrize(("size", "average", "public", "law"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("n", [30, 100])
def test_nineteen_of_twenty(n: int, size: int, average: float, public: bool, law) -> None:
    held = []
    for records, aggregate, truth in aggregates(size, average, public, n, 120, law):
        estimate = records.marginal(aggregate, ["a"])
        held.append(np.abs(estimate.values - truth) <= 1.96 * estimate.std_error)
    assert np.mean(held) >= 0.93


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(("people", "holders"), [(3, 2), (4, 3), (7, 3)])
def test_three_to_seven_people_with_hardly_any_noise(
    people: int, holders: int, public: bool
) -> None:
    """Their true bits are coins still: counts of few coins, which no normal interval covers."""
    schema = sv.Schema([sv.Attribute("a", range(16)), sv.Attribute("b", [0, 1])])
    records = sv.Records(schema, epsilon_average=10.0, public=public)
    answers = {"a": [0] * holders + [1] * (people - holders), "b": [0] * people}
    truth = np.bincount(answers["a"], minlength=16) / people
    inside, runs = np.zeros(16), 300
    with testing.seeded(5) as source, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(runs):
            reports = records.randomise(answers, allocation="equal", source=source)
            low, high = records.marginal(records.aggregate(reports), ["a"]).interval()
            inside += (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    # At .95, fewer than .88 are inside once in 1e6 settings (binomial).
    assert (inside / runs >= 0.88).all(), inside / runs
