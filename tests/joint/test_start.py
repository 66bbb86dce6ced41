"""Every attribute on its own: smoothed where reports are few, and whatever is hardly reported."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing

RUNS = 12


def distance(p: list[float], n: int, stop: int | str) -> float:
    """The mean distance to the truth over seeded runs."""
    records = sv.Records([sv.Attribute("a", len(p))], epsilon_average=2.0)
    rng = np.random.default_rng(2)
    found = []
    for seed in range(RUNS):
        answers = rng.choice(len(p), n, p=p)
        truth = np.bincount(answers, minlength=len(p)) / n
        with testing.seeded(seed) as source:
            aggregate = records.aggregate(records.randomise({"a": answers}, source=source))
            values = records.joint(aggregate, ["a"], stop=stop).values
        found.append(np.abs(values - truth).sum() / 2)
    return float(np.mean(found))


def test_smoothing_halves_the_error_of_uniform_attributes() -> None:
    p = [0.25] * 4
    assert distance(p, 1000, "cv") < 0.5 * distance(p, 1000, 500)


@pytest.mark.parametrize("n", [300, 3000])
def test_smoothing_costs_little_on_skewed_ones(n: int) -> None:
    p = [0.7, 0.2, 0.06, 0.04]
    assert distance(p, n, "cv") < 1.2 * distance(p, n, 500)


@pytest.mark.parametrize("people", [1, 2, 4, 5, 9])
def test_a_handful_of_records(people: int) -> None:
    records = sv.Records([sv.Attribute("a", 3), sv.Attribute("b", 2)], epsilon_average=1.0)
    table = {"a": [0, 1, 2] * 3, "b": [0, 1, 1] * 3}
    table = {name: answers[:people] for name, answers in table.items()}
    aggregate = records.aggregate(records.randomise(table))
    with pytest.warns(UserWarning, match="hardly more than a guess"):
        found = records.joint(aggregate, ["a", "b"])
    assert found.values.sum() == pytest.approx(1)
    assert np.isfinite(found.std_error).all()


def test_an_attribute_that_hardly_anybody_reports_among_very_many() -> None:
    # So few that none of them need be among the records that the stop is sought with.
    people = 60_000
    records = sv.Records([sv.Attribute("a", 2), sv.Attribute("b", 2)], epsilon_average=2.0)
    reported = np.ones((people, 2), bool)
    reported[3:, 1] = False
    table = {"a": np.arange(people) % 2, "b": np.zeros(people, int)}
    with testing.seeded(4) as source:
        reports = records.randomise(table, reported=reported, source=source)
        aggregate = records.aggregate(reports)
        with pytest.warns(UserWarning, match="only 3 records report both"):
            found = records.joint(aggregate, ["a", "b"])
    assert found.marginal(["a"]).values == pytest.approx([0.5, 0.5], abs=0.1)
    assert np.isfinite(found.std_error).all()
    assert found.marginal(["b"]).std_error[0] > 0.05
