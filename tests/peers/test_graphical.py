"""The joint method `pgm`, which needs mbi, and the pair tables that it is fitted to."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing

N = 6000
RNG = np.random.default_rng(3)
A = RNG.integers(0, 3, N)
TABLE = {"a": A, "b": np.where(RNG.random(N) < 0.7, A, RNG.integers(0, 3, N)), "c": A % 2}
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def fits(mbi):
    attributes = [sv.Attribute("a", 3), sv.Attribute("b", 3), sv.Attribute("c", 2)]
    records = sv.Records(attributes, epsilon_average=3.0)
    with testing.seeded(11) as source:
        reports = records.randomise(TABLE, allocation="random", source=source)
        aggregate = records.aggregate(reports)
        yield {m: records.joint(aggregate, NAMES, method=m) for m in ("pgm", "em-full", "em-ll2")}


@pytest.mark.parametrize("names", list(combinations(NAMES, 2)))
def test_its_pair_tables_are_those_of_the_full_fit(fits, names) -> None:
    """The full fit's pairs are consistent with one another, so a model with all of them exists."""
    own, full = (fits[m].marginal(list(names)).values for m in ("pgm", "em-full"))
    assert np.abs(own - full).sum() / 2 < 0.01


def test_it_is_near_the_log_linear_fit_and_the_truth(fits) -> None:
    truth = np.zeros((3, 3, 2))
    np.add.at(truth, tuple(TABLE.values()), 1 / N)
    assert np.abs(fits["pgm"].table - fits["em-ll2"].table).sum() / 2 < 0.08
    assert np.abs(fits["pgm"].table - truth).sum() / 2 < 0.12


def test_a_product_is_caught(fits) -> None:
    """Planted fault: a model without pairs is far from the pair tables."""
    one, other = (fits["pgm"].marginal([x]).values for x in ("a", "b"))
    full = fits["em-full"].marginal(["a", "b"]).table
    assert np.abs(np.outer(one, other) - full).sum() / 2 > 0.1


def test_it_has_errors_of_the_size_of_the_full_fit(fits) -> None:
    own, full = (fits[m].marginal(["a", "b"]).std_error for m in ("pgm", "em-full"))
    assert np.isfinite(own).all()
    assert 0.5 < np.median(own / full) < 2
