"""Shuffled GRR beside a trusted server."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from sottovoce import GRR
from sottovoce.accounting import Comparison, compare, delta_gaussian, shuffle
from sottovoce.accounting.compare import EPSILONS
from sottovoce.errors import GuaranteeError, ParameterError


@pytest.fixture(scope="module")
def rows() -> list[Comparison]:
    return compare(10, 10_000, 1e-6)


@pytest.mark.parametrize("k", range(len(EPSILONS)), ids=lambda k: f"{EPSILONS[k]:g}")
def test_both_sides_keep_the_same_promise(rows: list[Comparison], k: int) -> None:
    row = rows[k]
    assert row.local_epsilon == EPSILONS[k]
    stated = shuffle(row.local_epsilon, 10_000, 1e-6, bound="grr", d=10)
    assert (row.epsilon, row.delta) == (stated.epsilon, stated.delta)
    noise = row.gaussian_error / math.sqrt(1 - 1 / 10)
    assert delta_gaussian(row.epsilon, noise, math.sqrt(2) / 10_000) == pytest.approx(
        1e-6, rel=1e-4
    )


@pytest.mark.parametrize("d", [2, 10, 64])
def test_errors_are_those_of_the_mechanism(d: int) -> None:
    for row in compare(d, 5000, 1e-7, [0.5, 3.0]):
        for epsilon, error in (
            (row.local_epsilon, row.shuffled_error),
            (row.epsilon, row.local_error),
        ):
            variance = GRR(d, epsilon=epsilon).total_variance(5000) / d
            assert error == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_the_servers_error_by_simulation(rows: list[Comparison]) -> None:
    row = rows[4]
    noise = row.gaussian_error / math.sqrt(1 - 1 / 10)
    drawn = np.random.default_rng(1).normal(0, noise, (20_000, 10))
    drawn -= drawn.mean(axis=1, keepdims=True)  # shares that sum to one again
    # 6 standard errors of a standard deviation from about 200,000 numbers.
    assert drawn.std() == pytest.approx(row.gaussian_error, rel=6 / math.sqrt(2 * 180_000))


def test_a_shuffler_costs_little_and_saves_much(rows: list[Comparison]) -> None:
    assert all(1 < row.ratio < 1.7 for row in rows)
    assert all(row.local_error > 15 * row.shuffled_error for row in rows)
    assert [row.ratio for row in rows] == sorted(row.ratio for row in rows)


def test_rows_are_plain_data_in_the_order_given() -> None:
    rows = compare(4, 1000, 1e-6, (epsilon for epsilon in (2, 1)))
    about = [row.as_dict() for row in rows]
    assert [row["local_epsilon"] for row in about] == [2.0, 1.0]
    assert json.loads(json.dumps(about)) == about
    assert about[0]["ratio"] == rows[0].shuffled_error / rows[0].gaussian_error


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((1, 1000, 1e-6), "d is 1"),
        ((4, 1.5, 1e-6), "people"),
        ((4, 1000, -1), "delta"),
        ((4, 1000, 0.99), "far below 1/people"),
        ((4, 1000, 1e-6, []), "empty"),
        ((4, 1000, 1e-6, "1,2"), "give a list"),
        ((4, 1000, 1e-6, 2.0), "give a list"),
        ((4, 1000, 1e-6, [math.nan]), "epsilon"),
        ((4, 1000, 1e-6, [True]), "epsilon"),
    ],
)
def test_what_cannot_be_compared(given, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        compare(*given)


def test_without_a_delta_there_is_nothing_to_gain() -> None:
    with pytest.raises(GuaranteeError, match="delta is 0"):
        compare(4, 1000, 0)
