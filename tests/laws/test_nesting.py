"""Levels that are sampled and samples of levels are one and the same."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import Aggregate, Levels, Mechanism, Reports, Sampled
from sottovoce.errors import ParameterError
from sottovoce.mechanisms import REGISTRY
from sottovoce.randomness import allow_seeded
from sottovoce.testing import SeededSource

from .entries import answers, example
from .laws import choices

RATES = {"one rate": 0.4, "several rates": [0.25, 0.5, 1.0], "rate 1": 1.0}


def both(kind: type[Mechanism], rate: object) -> tuple[Mechanism, Mechanism]:
    menu = {"strong": example(kind, 0.5), "weak": example(kind, 2.0)}
    sampled = {name: Sampled(mechanism, rate=rate) for name, mechanism in menu.items()}
    return Levels(sampled), Sampled(Levels(menu), rate=rate)


nested = pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
kinds = pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)


@kinds
@nested
def test_both_orders_are_one(kind: type[Mechanism], rate: object) -> None:
    a, b = both(kind, rate)
    assert a == b
    assert hash(a) == hash(b)
    assert (a.digest, a.layout, a.guarantee) == (b.digest, b.layout, b.guarantee)
    assert list(a.methods) == list(b.methods)
    ways = [[(way.index, way.level, way.rate, way.guarantee) for way in w.ways()] for w in (a, b)]
    assert ways[0] == ways[1]
    assert [way.mechanism for way in a.ways()] == [way.mechanism for way in b.ways()]


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
@kinds
@nested
def test_both_orders_give_the_same_bytes_counts_and_estimate(
    kind: type[Mechanism], rate: object
) -> None:
    a, b = both(kind, rate)
    n = 900
    menus = {"level": ["strong", "weak"]} | ({"rate": rate} if isinstance(rate, list) else {})
    choice = choices(menus, n)
    people = answers(a, n)
    with allow_seeded():
        left, right = (w.randomise(people, **choice, source=SeededSource(7)) for w in (a, b))
        assert left.to_bytes() == right.to_bytes()
        counted = a.aggregate(Reports.from_bytes(right.to_bytes(), expect=a))
        assert counted == b.aggregate(left)
        assert Aggregate.from_bytes(counted.to_bytes(), expect=b) == counted
        for method in (None, *a.methods):
            one, other = (w.estimate(counted, method=method) for w in (a, b))
            assert np.array_equal(one.values, other.values)
            assert np.array_equal(one.variance, other.variance)
            assert (one.method, one.biased, one.n) == (other.method, other.biased, other.n)
        levels = [w.estimates(counted) for w in (a, b)]
    assert list(levels[0]) == list(levels[1]) == ["strong", "weak"]
    for name, one in levels[0].items():
        assert np.array_equal(one.values, levels[1][name].values)


@kinds
def test_each_level_may_have_rates_of_its_own(kind: type[Mechanism]) -> None:
    menu = Levels(
        {
            "strong": Sampled(example(kind, 0.5), rate=[0.5, 0.25]),
            "weak": Sampled(example(kind, 1.0), rate=0.1),
            "all": example(kind, 2.0),
        }
    )
    table = [(way.index, way.level, way.rate) for way in menu.ways()]
    strong = [(0, "strong", 0.5), (1, "strong", 0.25)]
    assert table == [*strong, (2, "weak", 0.1), (3, "all", 1.0)]
    n = 4000
    way = np.random.default_rng(0).permutation(n) % 4
    level = np.array(["strong", "strong", "weak", "all"])[way]
    rate = np.array([0.5, 0.25, 0.1, 0.1])[way]  # "all" has no rates, and reads none
    reports = menu.randomise(answers(menu, n), level=level, rate=rate)
    counted = menu.aggregate(Reports.from_bytes(reports.to_bytes(), expect=menu))
    asked, reported = menu.turnout(counted)
    assert asked.tolist() == [1000, 1000, 1000, 1000]
    assert reported[3] == 1000
    # Ten standard deviations of each binomial: these never fail while rates are kept apart.
    expected = 1000 * np.array([0.5, 0.25, 0.1])
    sd = np.sqrt(expected * (1 - expected / 1000))
    assert (np.abs(reported[:3] - expected) < 10 * sd).all()
    # By hand: each level on its own, at its own rates, weighted by its people.
    parts = menu.estimates(counted)
    whole = menu.estimate(counted, method="post-stratified")
    by_hand = 0.5 * parts["strong"].values + 0.25 * parts["weak"].values
    assert np.allclose(whole.values, by_hand + 0.25 * parts["all"].values, rtol=1e-12, atol=1e-12)
    assert whole.n == n
    assert whole.reports == reported.sum()
    with pytest.raises(ParameterError, match=r"outside the public grid.*0\.5, 0\.25"):
        menu.randomise(answers(menu, 2), level=["strong", "all"], rate=[0.1, 0.1])


def test_people_sampled_within_levels_are_estimated_as_alone() -> None:
    """One level's people in a menu, and the same reports without a menu, give one estimate."""
    grr = example(REGISTRY["grr"], 1.0)
    menu = Levels({"only": Sampled(grr, rate=[0.5, 0.25])})
    alone = Sampled(grr, rate=[0.5, 0.25])
    rate = choices({"rate": [0.5, 0.25]}, 3000)["rate"]
    with allow_seeded():
        reports = [
            w.randomise(answers(grr, 3000), rate=rate, source=SeededSource(3))
            for w in (menu, alone)
        ]
        assert np.array_equal(reports[0].columns["value"], reports[1].columns["value"])
        one, other = (
            w.estimate(w.aggregate(r)) for w, r in zip((menu, alone), reports, strict=True)
        )
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.variance, other.variance)
