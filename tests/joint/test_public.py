"""Published epsilons never make the default worse, and its intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import EstimateError
from sottovoce.records.allocation import flip

RUNS = 120
METHODS = ("weighted-epsilons", "self-calibrated", "known-epsilons")


@pytest.mark.parametrize(
    ("p", "n", "epsilon"),
    [((0.6, 0.3, 0.1), 1000, 2.0), ((0.97, 0.01, 0.01, 0.01), 500, 4.0), ((0.5, 0.5), 2000, 1.0)],
    ids=["three", "rare", "two"],
)
def test_the_default_is_at_least_as_good_as_both_others(p, n, epsilon) -> None:
    attributes = [sv.Attribute(name, len(p)) for name in "abc"]
    records = sv.Records(attributes, epsilon_average=epsilon, public=True, floor=0.2)
    answers = np.repeat(np.arange(len(p)), np.round(np.array(p) * n).astype(int))
    truth = np.bincount(answers, minlength=len(p)) / answers.size
    table = {name: np.random.default_rng(5).permutation(answers) for name in "abc"}
    errors: dict[str, list[np.ndarray]] = {method: [] for method in METHODS}
    inside, values = [], []
    with testing.seeded(9) as source:
        for _ in range(RUNS):
            aggregate = records.aggregate(
                records.randomise(table, allocation="random", source=source)
            )
            for method in METHODS:
                one = records.marginal(aggregate, ["b"], method=method)
                errors[method].append((one.values - truth) ** 2)
            default = records.marginal(aggregate, ["b"])
            assert default.method == "weighted-epsilons"
            assert default.values.sum() == pytest.approx(1)
            values.append(default.values)
            low, high = default.interval()
            inside.append((low <= truth) & (truth <= high))
    size = {method: float(np.mean(each)) for method, each in errors.items()}
    assert size["weighted-epsilons"] < 1.02 * size["self-calibrated"]
    assert size["weighted-epsilons"] < 0.8 * size["known-epsilons"]
    assert np.mean(inside, axis=0).min() > 0.89
    spread = np.std(values, axis=0) / np.sqrt(RUNS)
    assert (np.abs(np.mean(values, axis=0) - truth) < 4.5 * spread).all()


def test_one_budget_for_all_gives_the_least_squares_by_hand() -> None:
    """With one q the weights cancel: means of the scores, made to sum to one."""
    records = sv.Records([sv.Attribute("a", 2)], epsilon_average=2.0, public=True)
    with testing.seeded(3) as source:
        reports = records.randomise({"a": np.arange(400) % 2}, source=source)
        aggregate = records.aggregate(reports)
        weighted = records.marginal(aggregate, ["a"]).values
        known = records.marginal(aggregate, ["a"], method="known-epsilons").values
    assert float(flip(2.0)) < 0.5
    assert weighted.sum() == pytest.approx(1)
    # Both values are about equally uncertain, so each takes half of what is too much.
    np.testing.assert_allclose(weighted, known - (known.sum() - 1) / 2, atol=0.01)


def test_budgets_of_zero_count_nothing() -> None:
    records = sv.Records(
        [sv.Attribute("a", 3), sv.Attribute("b", 2)], epsilon_average=2.0, public=True, floor=0.0
    )
    n = 3000
    division = np.tile([4.0, 0.0], (n, 1))
    division[::3] = [0.0, 4.0]
    table = {"a": np.arange(n) % 3, "b": np.zeros(n, int)}
    with testing.seeded(4) as source:
        some = records.aggregate(records.randomise(table, allocation=division, source=source))
        one = records.marginal(some, ["b"])
        assert abs(one.values[0] - 1) < 5 * one.std_error[0]
        assert one.std_error[0] < 0.05
        division[:] = [4.0, 0.0]
        none = records.aggregate(records.randomise(table, allocation=division, source=source))
        with pytest.raises(EstimateError, match="pure noise"):
            records.marginal(none, ["b"])
