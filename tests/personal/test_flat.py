"""All levels at once give what they give one by one, and so do all rates of a menu."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.combine import METHODS, combine
from sottovoce.participation.estimating import groups_of

EPSILONS = {"a": 0.5, "b": 1.0, "c": 3.0}
KINDS = [sv.GRR, sv.OUE, sv.SUE, sv.OLH, sv.SubsetSelection]
GRIDS = [None, [0.3], [0.2, 0.9], [0.1, 0.5, 1.0], np.linspace(0.7, 0.95, 64).tolist()]
IDS = ["no rates", "one", "two", "three", "many"]
SAME = ("n", "reports", "method", "biased", "assuming", "error_from", "name")


def alike(found, wanted, method):
    """Estimates are equal but for rounding, relative to the largest value, which may be zero."""
    close = 1e-6 if method == "yang-optimised" else 1e-12  # numerical minimisation
    for what in ("values", "variance", "covariance"):
        new, old = getattr(found, what), getattr(wanted, what)
        assert (new is None) == (old is None)
        assert old is None or np.abs(new - old).max() <= close * np.abs(old).max(), what
    for name in SAME:
        assert getattr(found, name) == getattr(wanted, name), name
    assert tuple(found.labels) == tuple(wanted.labels)
    assert (found.raw is None) == (wanted.raw is None)


def menu(kind, rates, d=7):
    made = {name: kind(d, epsilon=e) for name, e in EPSILONS.items()}
    if rates is not None:
        made = {name: sv.Sampled(m, rate=rates) for name, m in made.items()}
    return sv.Levels(made)


def counted(levels, rates, d=7, n=6_000, seed=5):
    rng = np.random.default_rng(seed)
    answers, names = rng.integers(0, d, n) // 2, rng.choice(list(EPSILONS), n)
    more = {} if rates is None else {"rate": rng.choice(rates, n)}
    return levels.aggregate(levels.randomise(answers, level=names, **more))


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rates", GRIDS, ids=IDS)
def test_they_are_the_estimates_of_each_combined(kind, rates):
    levels = menu(kind, rates)
    aggregate = counted(levels, rates)
    assert groups_of(levels._bound, aggregate.tables) is not None
    for method in METHODS:
        found = levels.estimate(aggregate, method=method)
        alike(found, combine(levels.estimates(aggregate), method=method), method)
        assert found.guarantee == levels.guarantee


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
@pytest.mark.parametrize("kind", [*KINDS, sv.HadamardResponse])
@pytest.mark.parametrize("rates", GRIDS[1:4], ids=IDS[1:4])
def test_a_menu_at_all_rates_is_the_menu_at_each(kind, rates, monkeypatch):
    sampled = sv.Sampled(menu(kind, None), rate=rates)
    aggregate = counted(sampled, rates)
    inside = {n.removeprefix("in/"): t for n, t in aggregate.tables.items()}
    assert (groups_of(sampled._bound._bound, inside) is None) == (kind is sv.HadamardResponse)
    for inner in METHODS:
        for method in sampled.methods:
            found = sampled.estimate(aggregate, method=method, inner=inner)
            with monkeypatch.context() as patch:
                patch.setattr(sv.Levels, "_estimate_rows", lambda *_: None)
                wanted = sampled.estimate(aggregate, method=method, inner=inner)
                alike(found, wanted, inner)


def test_weights_that_take_people_for_alike_warn_once():
    sampled = sv.Sampled(menu(sv.GRR, None), rate=[0.5, 1.0])
    aggregate = counted(sampled, [0.5, 1.0])
    with pytest.warns(sv.errors.AlikeWarning) as told:
        found = sampled.estimate(aggregate, inner="pooled")
    assert len(told) == 1
    assert found.biased
    assert found.covariance.shape == (7, 7)  # without another word


def test_what_is_not_alike_is_estimated_one_by_one():
    d = 4
    pure, sampled = sv.GRR(d, epsilon=1), sv.Sampled(sv.GRR(d, epsilon=2), rate=0.5)
    some = {
        "mixed": {"a": pure, "b": sampled},
        "hadamard": {"a": sv.HadamardResponse(d, epsilon=1), "b": pure},
        "grids of different sizes": {
            "a": sampled,
            "b": sv.Sampled(pure, rate=[0.5, 0.9]),
        },
        "many rates": dict.fromkeys("ab", sv.Sampled(pure, rate=np.linspace(0.1, 0.9, 65))),
        "one level": {"a": pure},
    }
    for name, made in some.items():
        levels = sv.Levels(made)
        tables = {"people": np.array([5] * len(made))}
        assert groups_of(levels._bound, tables) is None, name


def test_a_level_or_rate_without_reports_is_left_to_the_others():
    levels = menu(sv.GRR, None)
    nobody = levels.aggregate(levels.randomise([0, 1, 2], level=["a", "b", "b"]))
    assert groups_of(levels._bound, nobody.tables) is None
    assert levels.estimate(nobody).n == 3
    rates = [0.5, 1.0]
    levels = menu(sv.GRR, rates)
    one = levels.aggregate(levels.randomise([0] * 60, level=[*"abc"] * 20, rate=[1.0] * 60))
    assert groups_of(levels._bound, one.tables) is None
    assert levels.estimate(one).reports == 60


def test_a_mechanism_that_estimates_in_its_own_way_keeps_it():
    class Doubles(sv.GRR):
        def estimate(self, aggregate, *, method=None):
            true = super().estimate(aggregate, method=method)
            return replace(true, values=2 * true.values)

    levels = sv.Levels({"a": Doubles(4, epsilon=1), "b": Doubles(4, epsilon=2)})
    aggregate = levels.aggregate(levels.randomise([0, 1, 2, 3] * 50, level=["a", "b"] * 100))
    assert levels.estimate(aggregate, method="post-stratified").values.sum() == pytest.approx(2)
