"""All levels at once give what they give one by one, and so do all rates of a menu."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.combine import METHODS, combine
from sottovoce.participation import estimating
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


def at_once(levels, aggregate):
    """Whether the levels are estimated in one pass."""
    passes = []

    def spy(samples):
        passes.append(groups_of(samples))
        return passes[-1]

    with patch.object(estimating, "groups_of", spy):
        levels.estimate(aggregate, method="post-stratified")
    return any(groups is not None for groups in passes)


def menu(kind, rates, d=7):
    menu = {name: kind(d, epsilon=e) for name, e in EPSILONS.items()}
    if rates is not None:
        menu = {name: sv.Sampled(m, rate=rates) for name, m in menu.items()}
    return sv.Levels(menu)


def counted(levels, rates):
    return levels.aggregate(randomised(levels, rates))


def randomised(levels, rates, d=7, n=6_000, seed=5):
    rng = np.random.default_rng(seed)
    answers, names = rng.integers(0, d, n) // 2, rng.choice(list(EPSILONS), n)
    more = {} if rates is None else {"rate": rng.choice(rates, n)}
    return levels.randomise(answers, level=names, **more)


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rates", GRIDS, ids=IDS)
def test_they_are_the_estimates_of_each_combined(kind, rates):
    levels = menu(kind, rates)
    aggregate = counted(levels, rates)
    assert at_once(levels, aggregate)
    for method in METHODS:
        estimate = levels.estimate(aggregate, method=method)
        alike(estimate, combine(levels.estimates(aggregate), method=method), method)
        assert estimate.guarantee == levels.guarantee


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
@pytest.mark.parametrize("kind", [*KINDS, sv.HadamardResponse])
@pytest.mark.parametrize("rates", GRIDS[1:4], ids=IDS[1:4])
def test_the_default_over_rates_is_the_estimator_that_it_names(kind, rates):
    """Named, each level is estimated on its own; by default, all at once where that can be."""
    sampled = sv.Sampled(menu(kind, None), rate=rates)
    aggregate = counted(sampled, rates)
    assert at_once(sampled, aggregate) == (kind is not sv.HadamardResponse)
    default = "hajek" if len(rates) == 1 else "post-stratified"
    for method in METHODS:
        whole = sampled.estimate(aggregate, method=method)
        alike(whole, sampled.estimate(aggregate, method=method, within=default), method)


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
@pytest.mark.parametrize("kind", [sv.GRR, sv.HadamardResponse])
def test_every_estimator_over_rates_goes_with_every_weighting(kind):
    rates = [0.2, 0.9]
    sampled = sv.Sampled(menu(kind, None), rate=rates)
    reports = randomised(sampled, rates)
    aggregate = sampled.aggregate(reports)
    levels = {name: sv.Sampled(m, rate=rates) for name, m in sampled.menu.items()}
    for within in (name for name in levels["a"].methods if name != "adaptive"):
        parts = {}
        for k, (name, level) in enumerate(levels.items()):
            way = reports.columns["way"].astype(np.int64) - k * len(rates)
            own = (way >= 0) & (way < len(rates))
            columns = {column: values[own] for column, values in reports.columns.items()}
            columns["way"] = way[own].astype(np.uint8)
            alone = level.aggregate(sv.Reports(level.id, level.digest, columns))
            parts[name] = level.estimate(alone, method=within)
        for method in METHODS:
            whole = sampled.estimate(aggregate, method=method, within=within)
            alike(whole, combine(parts, method=method), method)


def test_weights_that_take_people_for_alike_warn_once():
    sampled = sv.Sampled(menu(sv.GRR, None), rate=[0.5, 1.0])
    aggregate = counted(sampled, [0.5, 1.0])
    with pytest.warns(sv.errors.AlikeWarning) as warned:
        pooled = sampled.estimate(aggregate, method="pooled")
    assert len(warned) == 1
    assert pooled.biased
    assert pooled.covariance.shape == (7, 7)  # without another word


def test_what_is_not_alike_is_estimated_one_by_one():
    d = 4
    pure, sampled = sv.GRR(d, epsilon=1), sv.Sampled(sv.GRR(d, epsilon=2), rate=0.5)
    some = {
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
        ways = levels.ways()
        parts = [levels.randomise(np.arange(40) % d, way=way) for way in ways]
        aggregate = levels.aggregate(sv.Reports.concatenate(parts))
        assert not at_once(levels, aggregate), name


def test_levels_of_which_only_some_are_sampled_are_those_of_each_combined():
    """People who all report, beside people of whom only some do."""
    d = 4
    sampled = sv.Sampled(sv.GRR(d, epsilon=2), rate=0.5)
    levels = sv.Levels({"all": sv.GRR(d, epsilon=1), "some": sampled})
    names = np.random.default_rng(2).choice(["all", "some"], 400)
    aggregate = levels.aggregate(levels.randomise(np.arange(400) % d, level=names))
    assert at_once(levels, aggregate)
    parts = levels.estimates(aggregate)
    assert parts["all"].variance == pytest.approx(
        levels.menu["all"].variance(parts["all"].values, parts["all"].n)
    )
    for method in ("post-stratified", "james-stein", "hybrid"):
        alike(levels.estimate(aggregate, method=method), combine(parts, method=method), method)


def test_a_level_or_rate_without_reports_is_left_to_the_others():
    levels = menu(sv.GRR, None)
    nobody = levels.aggregate(levels.randomise([0, 1, 2], level=["a", "b", "b"]))
    whole = levels.estimate(nobody)
    assert whole.n == 3
    alike(whole, combine(levels.estimates(nobody)), "james-stein")
    rates = [0.5, 1.0]
    levels = menu(sv.GRR, rates)
    one = levels.aggregate(levels.randomise([0] * 60, level=[*"abc"] * 20, rate=[1.0] * 60))
    assert not at_once(levels, one)
    assert levels.estimate(one).reports == 60


def test_a_mechanism_with_its_own_probabilities_keeps_them():
    class Halves(sv.GRR):
        """As if the truth were named less often than it is."""

        @property
        def p(self):
            return super().p * Fraction(9, 10)

    levels = sv.Levels({"a": Halves(4, epsilon=1), "b": Halves(4, epsilon=2)})
    aggregate = levels.aggregate(levels.randomise([0, 1, 2, 3] * 50, level=["a", "b"] * 100))
    assert at_once(levels, aggregate)
    whole = levels.estimate(aggregate, method="post-stratified")
    alike(whole, combine(levels.estimates(aggregate), method="post-stratified"), "post-stratified")
