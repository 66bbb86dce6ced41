"""Independent attributes and few people: chance must not make up dependence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.records.joint import average, fit

pytestmark = pytest.mark.filterwarnings("ignore:few records for their epsilons")
NAMES = ["a", "b", "c"]
#: In two of these four, chance favours pair tables that are as likely as can be by four nats.
SEEDS = (0, 1, 2, 14)


def estimates(dependent: float, seed: int, people: int = 1500, epsilon: float = 1.0):
    """The default's table for three attributes of four values, and the true one."""
    rng = np.random.default_rng(seed)
    cause = rng.integers(0, 12, people)
    table = {
        name: np.where(rng.random(people) < dependent, cause % 4, rng.integers(0, 4, people))
        for name in NAMES
    }
    truth = np.zeros((4, 4, 4))
    np.add.at(truth, tuple(table.values()), 1 / people)
    records = sv.Records([sv.Attribute(name, 4) for name in NAMES], epsilon_average=epsilon)
    with testing.seeded(seed) as source:
        reports = records.randomise(table, allocation="random", source=source)
        return records.joint(records.aggregate(reports), NAMES), truth


def distances() -> list[float]:
    pairs = [estimates(0.0, seed) for seed in SEEDS]
    return [float(np.abs(estimate.table - truth).sum() / 2) for estimate, truth in pairs]


def test_independent_attributes_stay_nearly_independent() -> None:
    apart = distances()
    assert max(apart) < 0.45
    assert np.mean(apart) < 0.25


def test_pair_tables_as_likely_as_can_be_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: pair tables that are not stopped where held-out records suggest."""
    stopped = average.stops_of

    def unstopped(*arguments: object) -> average.Stops:
        stops = stopped(*arguments)
        last = len(average.PAIR_MARKS) - 1
        return replace(stops, pairs={pair: [last] * len(at) for pair, at in stops.pairs.items()})

    monkeypatch.setattr(average, "stops_of", unstopped)
    fit._fit.cache_clear()
    apart = distances()
    fit._fit.cache_clear()
    assert max(apart) > 0.5
    assert np.mean(apart) > 0.3


def test_dependence_that_reports_show_gets_the_weight() -> None:
    estimate, truth = estimates(0.8, 3, 3000, 3.0)
    assert estimate.weights.get("product", 0.0) < 0.01
    own = np.multiply.outer(
        np.multiply.outer(*(truth.sum(axis=x) for x in ((1, 2), (0, 2)))), truth.sum(axis=(0, 1))
    )
    assert np.abs(estimate.table - truth).sum() < 0.4 * np.abs(own - truth).sum()


def test_attributes_lie_between_the_table_and_each_alone() -> None:
    table = np.random.default_rng(2).dirichlet(np.ones(12)).reshape(3, 4)
    alone = [np.full((1, 3), 1 / 3), np.full((1, 4), 1 / 4)]
    moved = average.lean_to_alone(table, alone, 0.25)
    assert moved.sum() == pytest.approx(1)
    for k, p in enumerate((1 / 3, 1 / 4)):
        own, now = (t.sum(axis=1 - k) for t in (table, moved))
        np.testing.assert_allclose(now, 0.75 * own + 0.25 * p, rtol=1e-6)
    odds = [t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) for t in (table, moved)]
    assert odds[0] == pytest.approx(odds[1])
