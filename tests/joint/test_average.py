"""The average of models: its parts exactly, and what it finds where one stop finds nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.records.joint import fit
from sottovoce.records.joint.average import balanced, fitted_to, forest, weights_of
from sottovoce.records.joint.em import product_of
from sottovoce.records.joint.groups import Content, groups_of

RNG = np.random.default_rng(17)


def pair(p: np.ndarray, a: int, b: int) -> np.ndarray:
    others = tuple(k for k in range(p.ndim) if k not in (a, b))
    return p.sum(axis=others)


def test_pairs_of_a_forest_give_the_product_of_conditionals() -> None:
    one = RNG.dirichlet(np.ones(3))
    two, three = RNG.dirichlet(np.ones(4), 3), RNG.dirichlet(np.ones(2), 4)
    chain = one[:, None, None] * two[:, :, None] * three[None]
    own = [chain.sum(axis=tuple(k for k in range(3) if k != a))[None] for a in range(3)]
    wanted = {edge: pair(chain, *edge)[None] for edge in ((0, 1), (1, 2))}
    np.testing.assert_allclose(fitted_to(product_of(own), wanted)[0], chain, rtol=1e-4, atol=1e-7)
    bent = wanted[0, 1] * RNG.random((1, 3, 4))
    straight = balanced(bent / bent.sum(), own[0], own[1])
    np.testing.assert_allclose(straight.sum(axis=1), own[1], rtol=1e-9)
    np.testing.assert_allclose(straight.sum(axis=2), own[0], rtol=1e-3)


def test_a_forest_has_the_best_edges_without_circles() -> None:
    gains = {(0, 1): 5.0, (1, 2): 4.0, (0, 2): 4.5, (2, 3): -1.0, (0, 3): 0.0, (1, 3): 0.5}
    assert forest(gains, 4) == [(0, 1), (0, 2), (1, 3)]
    assert forest(dict.fromkeys(gains, -1.0), 4) == []


def study(epsilon: float, people: int, dependent: float, seed: int, *, public: bool = False):
    """Five yes-or-no answers that go together through a common cause."""
    rng = np.random.default_rng(seed)
    cause = rng.random(people) < 0.3
    names = list("abcde")
    table = {
        name: np.where(rng.random(people) < dependent, cause, rng.random(people) < 0.3).astype(int)
        for name in names
    }
    truth = np.zeros([2] * 5)
    np.add.at(truth, tuple(table.values()), 1 / people)
    attributes = [sv.Attribute(name, 2) for name in names]
    records = sv.Records(attributes, epsilon_average=epsilon, public=public)
    many = rng.integers(1, 6, people)
    sent = rng.random((people, 5)).argsort(axis=1).argsort(axis=1) < many[:, None]
    with testing.seeded(seed) as source:
        reports = records.randomise(table, allocation="random", reported=sent, source=source)
        aggregate = records.aggregate(reports)
        yield records, aggregate, truth


def distances(epsilon: float, dependent: float, *methods: str) -> list[float]:
    found: dict[str, list[float]] = {method: [] for method in methods}
    for seed in range(3):
        for records, aggregate, truth in study(epsilon, 5000, dependent, seed):
            for method in methods:
                table = records.joint(aggregate, records.names, method=method).table
                found[method].append(float(np.abs(table - truth).sum() / 2))
    return [float(np.mean(each)) for each in found.values()]


def test_the_default_is_near_the_better_of_product_and_log_linear_model() -> None:
    default, stopped, product = distances(2.0, 0.8, "model-average", "em-ll2", "product")
    assert default < 1.25 * stopped
    assert default < 0.5 * product
    default, stopped, product = distances(2.0, 0.0, "model-average", "em-ll2", "product")
    assert default < 1.3 * min(stopped, product)


def test_edges_that_only_chance_speaks_for_get_no_great_weight() -> None:
    """Planted fault: edges chosen by the records that judge them looked better than none."""
    for seed in range(3):
        for records, aggregate, _ in study(1.5, 5000, 0.0, seed):
            weights = records.joint(aggregate, records.names).weights
            assert weights["forest"] < weights["product"]


def test_weights_follow_held_out_likelihood_and_the_product_counts_three_times() -> None:
    weights = weights_of({"product": -1000.0, "forest": -999.0, "pairwise": -1010.0})
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["forest"] / weights["product"] == pytest.approx(math.e / 3)
    assert weights["forest"] / weights["pairwise"] == pytest.approx(math.exp(11))
    assert weights["pairwise"] / weights["product"] == pytest.approx(math.exp(-10) / 3)


@pytest.mark.parametrize("public", [False, True])
def test_views_count_the_same_records_as_groups_of_their_own(public: bool) -> None:
    for records, aggregate, _ in study(2.0, 400, 0.5, 1, public=public):
        likelihood = fit.likelihood_of(
            Content(records, aggregate.sparse("patterns")), (0, 1, 2, 3, 4)
        )
        whole = [block.counts[:, None] for block in likelihood.blocks]
        for where, view in {(1,): likelihood.singles[1], (1, 3): likelihood.pairs[1, 3]}.items():
            own = groups_of(records, aggregate.sparse("patterns"), where)
            keyed = {(g.axes, g.reported): g for g in own}
            assert len(view.blocks) == len(keyed)
            for block, counts in zip(view.blocks, view.counts(whole), strict=True):
                np.testing.assert_array_equal(counts[:, 0], block.counts)
            total = sum(int(g.counts.sum()) for g in own)
            assert view.records == total
            ones = sum((g.counts @ g.bits[g.axes.index(0)]) for g in own if 0 in g.axes)
            size = records.sizes[where[0]]
            seen = sum(b.counts @ b.bits[:, :size] for b in view.blocks if 0 in b.axes)
            np.testing.assert_array_equal(seen, ones)


def test_errors_scale_repetitions_by_students_t(monkeypatch) -> None:
    """Exactly: 1.3² ((estimate − most likely)² + t² / z² times the variance of repetitions).

    No standard error is below half the root mean square of all.
    """
    from scipy.stats import norm, t

    shape = (2,) * 5
    top = RNG.dirichlet(np.ones(32)).reshape(1, *shape)
    tables = RNG.dirichlet(np.ones(32), 20).reshape(20, *shape)
    monkeypatch.setattr(
        fit, "climb", lambda *_, counts=None, **__: top if counts is None else tables
    )
    for records, aggregate, _ in study(3.0, 2000, 0.5, 3):
        estimate = records.joint(aggregate, records.names)
        factor = t.ppf(0.975, 19) / norm.ppf(0.975)
        spread = factor**2 * tables.reshape(20, -1).var(axis=0, ddof=1)
        wanted = 1.3**2 * ((estimate.values - top.ravel()) ** 2 + spread)
        wanted = np.maximum(wanted, wanted.mean() / 4)
        np.testing.assert_allclose(estimate.variance, wanted, rtol=5e-4)
        assert math.isclose(factor, fit._FEW, rel_tol=2e-4)
