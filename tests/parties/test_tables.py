"""Labelled tables between parties: intervals, marginals, conditionals, pickles and plots."""

from __future__ import annotations

import pickle
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.parties.design import Design
from sottovoce.parties.methods import Method
from sottovoce.parties.methods.registry import COLUMNS, ROWS
from sottovoce.parties.tables import NoisyTable, noisy_table
from sottovoce.promise import Guarantee

ATTRIBUTES = [sv.Attribute("age", ["young", "old"]), sv.Attribute("sick", 3), sv.Attribute("m", 2)]
BUDGETS = {"A": Fraction(1, 2), "B": Fraction(1), "C": Fraction(2)}


@pytest.fixture(scope="module")
def guarantee() -> Guarantee:
    return sv.ask(["a", "b"] * 50, values=["a", "b"], epsilon=1.0).guarantee


def table_of(method: Method, guarantee: Guarantee, *, columns: bool = False) -> NoisyTable:
    rng = np.random.default_rng(30)
    budgets = {"A": BUDGETS["A"], "B": BUDGETS["B"] - Fraction(1, 10)} if columns else BUDGETS
    shape = (6, 2) if columns else (2, 3, 2)
    design = Design(shape, budgets, 1, rows=dict.fromkeys(budgets, 400))
    truth = np.round(400 * rng.dirichlet(np.ones(12))).reshape(shape)
    sums = []
    for release in method.releases(design):
        others = tuple(a for a in range(len(shape)) if a not in release.axes)
        kept = release.kept or {}
        scale = sum(w * float(kept.get(p, 1)) for p, w in release.weights.items())
        if columns:
            scale = float(np.prod([float(v) for v in kept.values()]))
        noise = rng.normal(0, release.variance**0.5, release.shape)
        sums.append(np.rint(scale * truth.sum(axis=others) + noise).astype(np.int64))
    axes = [(0, 1), (2,)] if columns else None
    return noisy_table(method.solve(design, sums), ATTRIBUTES, guarantee, method, axes=axes)


EVERY = [(name, False) for name in ROWS] + [(name, True) for name in COLUMNS]


@pytest.mark.parametrize(("name", "columns"), EVERY)
def test_what_every_table_offers(name: str, columns: bool, guarantee: Guarantee) -> None:
    table = table_of((COLUMNS if columns else ROWS)[name], guarantee, columns=columns)
    assert table.values.sum() == pytest.approx(1)
    assert table.values.min() >= 0
    assert table.error_from == "exact"
    assert table.biased
    assert table.labels[0] == "young | 0 | 0"
    for part in (table, table.marginal(["m", "age"]), table.marginal(["sick"])):
        low, high = part.interval()
        assert (low >= 0).all()
        assert (high <= 1).all()
        assert (low <= part.values + 1e-12).all()
        assert (part.values <= high + 1e-12).all()
        wide = part.interval(simultaneous=True)
        assert (wide.low <= low).all()
        assert (wide.high >= high).all()
        assert str(part).count("\n") >= 2
        again = pickle.loads(pickle.dumps(part))
        np.testing.assert_array_equal(again.interval().low, low)
        assert part.project().values.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        table.marginal(["m", "age"]).table, table.table.sum(axis=1).T, atol=1e-12
    )
    conditional = table.conditional(["age"], ["sick"])
    np.testing.assert_allclose(conditional.table.sum(axis=1), 1)
    low, high = conditional.interval()
    assert (low <= conditional.values).all()
    assert (conditional.values <= high).all()
    assert pickle.loads(pickle.dumps(conditional)).interval().low[0] == low[0]


@pytest.mark.parametrize("name", ["sjs", "sth", "product"])
def test_plots(name: str, guarantee: Guarantee) -> None:
    """With an unbiased table, without one, and with one for single attributes only."""
    table = table_of(ROWS[name], guarantee)
    for part in (table, table.marginal(["sick"]), table.conditional(["age"], ["sick"])):
        part.plot()
    plt.close("all")


def test_the_interval_is_around_the_unbiased_sum(guarantee: Guarantee) -> None:
    table = table_of(ROWS["sjs"], guarantee)
    assert table.raw is not None
    assert not table.raw.biased
    release = ROWS["sjs"].releases(Design((2, 3, 2), BUDGETS, 1))[0]
    np.testing.assert_allclose(table.std_error, release.variance**0.5 / 1200)
    low, high = table.raw.interval()
    np.testing.assert_allclose((low + high) / 2, table.raw.values)
    side = table.marginal(["m"])
    assert side.raw is not None
    np.testing.assert_allclose(side.std_error, (6 * release.variance) ** 0.5 / 1200)
    np.testing.assert_allclose(
        side.raw.values, table.raw.values.reshape(2, 3, 2).sum(axis=(0, 1)), atol=1e-12
    )
    both = table.marginal(["m", "sick"]).marginal(["sick"])
    np.testing.assert_allclose(both.interval().low, table.marginal(["sick"]).interval().low)
    frame = table.to_frame()
    names = table.names  # one column for each attribute
    assert list(frame.columns)[: len(names)] == names
    cells = zip(*(frame[name] for name in names), strict=True)
    assert [" | ".join(map(str, cell)) for cell in cells] == list(table.labels)


@pytest.mark.parametrize("name", ["sth", "sah", "mm", "mm-random", "product"])
def test_biased_methods_say_so(name: str, guarantee: Guarantee) -> None:
    table = table_of(ROWS[name], guarantee)
    assert table.raw is None
    assert np.isnan(table.std_error).all()
    assert "hold anyway" in table.assuming
    assert "Assuming:" in str(table)
    low, high = table.interval()
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()


def test_single_attributes_of_a_product_are_unbiased(guarantee: Guarantee) -> None:
    table = table_of(ROWS["product"], guarantee)
    side = table.marginal(["sick"])
    assert side.raw is not None
    assert side.assuming == ""
    np.testing.assert_allclose(side.raw.project().values, side.values, atol=1e-12)
    assert table.marginal(["sick", "m"]).raw is None


@pytest.mark.parametrize("name", ["sjs", "mh", "independent", "pbs-gls"])
def test_sound_methods_assume_nothing(name: str, guarantee: Guarantee) -> None:
    method = {**ROWS, **COLUMNS}[name]
    assert table_of(method, guarantee, columns=name in COLUMNS).assuming == ""


def test_axes_must_be_of_all_attributes(guarantee: Guarantee) -> None:
    method = COLUMNS["mv"]
    budgets = {"A": Fraction(1), "B": Fraction(1)}
    design = Design((6, 2), budgets, 1, rows=dict.fromkeys(budgets, 10))
    solved = method.solve(design, [np.ones((6, 2), np.int64)])
    with pytest.raises(ParameterError, match="in order"):
        noisy_table(solved, ATTRIBUTES, guarantee, method, axes=[(1, 0), (2,)])
    with pytest.raises(ParameterError, match="no projection"):
        noisy_table(solved, ATTRIBUTES, guarantee, method, axes=[(0, 1), (2,)]).project("no")


def test_a_difference_of_tables_that_assume_independence_holds_all_the_same(
    guarantee: Guarantee,
) -> None:
    """Both are off by a quarter in every cell, in opposite directions and not by chance."""
    method, pair = ROWS["product"], [sv.Attribute("a", 2), sv.Attribute("b", 2)]
    design = Design((2, 2), BUDGETS, 1, rows=dict.fromkeys(BUDGETS, 400))
    first, second = (
        noisy_table(method.solve(design, [np.array([600, 600])] * 2), pair, guarantee, method)
        for _ in range(2)
    )
    truth = np.array([0.5, 0, 0, 0.5]) - np.array([0, 0.5, 0.5, 0])
    difference = first - second
    low, high = difference.interval()
    assert (low <= truth).all()
    assert (truth <= high).all()
    # Nothing is known of the cells, so no difference is seen; the planted fault is independence.
    assert difference.test().p_value == 1
    ends, own = first.interval(), first.values
    assert np.hypot(ends.high - own, own - ends.low).max() < truth.max()
