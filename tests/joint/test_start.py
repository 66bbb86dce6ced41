"""Every attribute on its own: smoothed where reports are few, and whatever is hardly reported."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import Aggregate, testing
from sottovoce.errors import EstimateError, ParameterError

RUNS = 12


def distance(p: list[float], n: int, stop: int | str) -> float:
    """The mean distance to the truth over seeded runs."""
    records = sv.Records([sv.Attribute("a", len(p))], epsilon_average=2.0)
    rng = np.random.default_rng(2)
    collected = []
    for seed in range(RUNS):
        answers = rng.choice(len(p), n, p=p)
        truth = np.bincount(answers, minlength=len(p)) / n
        with testing.seeded(seed) as source:
            aggregate = records.aggregate(records.randomise({"a": answers}, source=source))
            values = records.joint(aggregate, ["a"], method="em-ll2", stop=stop).values
        collected.append(np.abs(values - truth).sum() / 2)
    return float(np.mean(collected))


def test_smoothing_halves_the_error_of_uniform_attributes() -> None:
    p = [0.25] * 4
    assert distance(p, 1000, "cv") < 0.5 * distance(p, 1000, 500)


@pytest.mark.parametrize("n", [300, 3000])
def test_smoothing_costs_little_on_skewed_ones(n: int) -> None:
    p = [0.7, 0.2, 0.06, 0.04]
    assert distance(p, n, "cv") < 1.2 * distance(p, n, 500)


@pytest.mark.parametrize("method", ["model-average", "em-ll2", "em-full", "product", "kronecker"])
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(("people", "epsilon"), [(1, 2.0), (9, 2.0), (3000, 0.05), (3000, 1e-6)])
def test_what_tells_nothing_is_refused(
    people: int, epsilon: float, public: bool, method: str
) -> None:
    records = sv.Records(
        [sv.Attribute("a", 3), sv.Attribute("b", 2)],
        epsilon_average=epsilon,
        public=public,
        floor=0.0,
    )
    table = {"a": np.zeros(people, int), "b": np.ones(people, int)}
    with testing.seeded(1) as source:
        aggregate = records.aggregate(records.randomise(table, source=source))
        refused(records, aggregate, method)


def refused(records: sv.Records, aggregate: Aggregate, method: str) -> None:
    with pytest.raises(EstimateError, match="ask more people or for larger epsilons"):
        records.joint(aggregate, ["a", "b"], method=method)


def test_small_budgets_with_many_people_are_told_with_their_errors() -> None:
    # Plain steps of expectation-maximisation would hardly have left the uniform start.
    n, p = 10_000, [0.77, 0.15, 0.05, 0.03]
    records = sv.Records([sv.Attribute("a", 4), sv.Attribute("b", 2)], epsilon_average=0.3)
    rng = np.random.default_rng(1)
    gaps = []
    for seed in range(RUNS):
        table = {"a": rng.choice(4, n, p=p), "b": rng.integers(0, 2, n)}
        with testing.seeded(seed) as source:
            reports = records.randomise(table, allocation="random", source=source)
            estimated = records.joint(records.aggregate(reports), ["a"])
        truth = np.bincount(table["a"], minlength=4) / n
        gaps.append((estimated.values - truth) / estimated.std_error)
    assert np.mean(np.abs(gaps) < 1.96) > 0.8
    assert abs(np.mean([gap[0] for gap in gaps])) < 1


def test_an_attribute_that_tells_nothing_does_not_stand_in_the_way_of_others() -> None:
    # So few that none of them need be among the records that the stop is sought with.
    people = 60_000
    records = sv.Records([sv.Attribute("a", 2), sv.Attribute("b", 2)], epsilon_average=2.0)
    reported = np.ones((people, 2), bool)
    reported[3:, 1] = False
    table = {"a": np.arange(people) % 2, "b": np.zeros(people, int)}
    aggregate = records.aggregate(records.randomise(table, reported=reported))
    estimated = records.joint(aggregate, ["a"])
    assert estimated.values == pytest.approx([0.5, 0.5], abs=0.1)
    with pytest.raises(EstimateError, match="the bits of 'b' are almost pure noise"):
        records.joint(aggregate, ["a", "b"])


def test_pairs_of_which_little_is_known_are_said() -> None:
    people = 5000
    attributes = [sv.Attribute(name, 2) for name in "abc"]
    records = sv.Records(attributes, epsilon_average=0.5)
    answers = np.arange(people) % 2
    table = dict.fromkeys("abc", answers)
    reported = np.ones((people, 3), bool)
    reported[: people // 2, 2] = False
    with testing.seeded(1) as source:
        aggregate = records.aggregate(
            records.randomise(table, allocation="random", reported=reported, source=source)
        )
        with pytest.warns(UserWarning, match="report both 'b' and 'c' \\(2,500\\)"):
            estimated = records.joint(aggregate, ["b", "c"])
        alone = records.joint(aggregate, ["c"])
    assert "about their association ('b' and 'c')" in estimated.assuming
    assert "report fewer" not in alone.assuming
    assert (alone.n, alone.reports) == (people, people // 2)
    assert str(alone).startswith("c: 2,500 reports from 5,000 people, model-average")


def test_too_many_attributes_at_once_are_refused_before_memory_is_full() -> None:
    people = 4000
    rng = np.random.default_rng(2)
    records = sv.Records([sv.Attribute(f"a{k}", 2) for k in range(19)], epsilon_average=2.0)
    table = {name: rng.integers(0, 2, people) for name in records.names}
    aggregate = records.aggregate(records.randomise(table))
    with pytest.raises(ParameterError, match="ask for fewer attributes"):
        records.joint(aggregate, records.names)
