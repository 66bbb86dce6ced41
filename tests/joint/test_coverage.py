"""Intervals of joint tables hold the truth about as often as they say, with early stops too."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.estimate.cells import Repetitions, spread_of
from sottovoce.records.joint import fit

N = 1500
RUNS = 15
NAMES = ["a", "b", "c"]
ATTRIBUTES = [sv.Attribute("a", 3), sv.Attribute("b", 3), sv.Attribute("c", 2)]


def errors(dependent: float, method: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of every pair of attributes in every run: distance to the truth, and error."""
    rng = np.random.default_rng(5)
    collected = []
    for seed in range(RUNS):
        a = rng.choice(3, N, p=[0.5, 0.3, 0.2])
        table = {
            "a": a,
            "b": np.where(rng.random(N) < dependent, a, rng.integers(0, 3, N)),
            "c": np.where(rng.random(N) < dependent, a % 2, rng.integers(0, 2, N)),
        }
        records = sv.Records(ATTRIBUTES, epsilon_average=2.0)
        with testing.seeded(seed) as source:
            aggregate = records.aggregate(
                records.randomise(table, allocation="random", source=source)
            )
            for names in (["a", "b"], ["a", "c"], ["b", "c"]):
                truth = np.zeros([records.schema.attributes[NAMES.index(x)].size for x in names])
                np.add.at(truth, tuple(table[x] for x in names), 1 / N)
                estimate = records.joint(aggregate, names, method=method)
                collected.append((np.abs(estimate.values - truth.ravel()), estimate.std_error))
    return collected


def covered(dependent: float, method: str = "model-average") -> float:
    every = errors(dependent, method)
    return float(np.mean([(gap <= 1.96 * error).mean() for gap, error in every]))


@pytest.mark.parametrize("dependent", [0.0, 0.3, 0.7])
def test_nineteen_of_twenty_or_nearly_so(dependent: float) -> None:
    assert 0.9 <= covered(dependent) <= 1


def test_errors_that_leave_out_early_stops_are_caught(monkeypatch) -> None:
    """Planted fault: repetitions that stop where the estimate did, at the product."""
    monkeypatch.setattr(fit, "climb", lambda blocks, start, *_, **__: start)
    assert covered(0.3, "em-ll2") < 0.8


def test_a_cell_that_every_repetition_has_at_zero_is_not_certain() -> None:
    """Exactly: its standard error is half the root mean square of the table's."""
    values = np.array([0.6, 0.4, 0.0, 0.0])
    tables = np.array([[0.7, 0.3, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    variance = spread_of(values, Repetitions(lambda: tables))()
    np.testing.assert_allclose(variance, [0.01, 0.01, 0.005 / 4, 0.005 / 4])
    np.testing.assert_allclose(
        spread_of(values, Repetitions(lambda: tables), 0.0)(), [0.01, 0.01, 0, 0]
    )
