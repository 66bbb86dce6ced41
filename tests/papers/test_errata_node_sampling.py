"""Paper 001: each counterexample contradicts its claim, by at least as much as the page shows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sottovoce import GRR

from .node_sampling import PAPER

N = PAPER.numbers


def test_variances() -> None:
    g, norm, order = N("N1"), N("N2"), N("N3")
    assert g["right"] - g["printed"] == pytest.approx(5000 * 0.3 * 0.7 * 0.9 / 0.1)
    assert (round(g["printed"]), round(g["right"])) == (34_652, 44_102)
    assert norm["printed"] == pytest.approx(norm["right"] / 0.1**2)
    assert order["hajek"] < order["c_hat"] < order["g"] < order["printed"]
    assert (round(order["g"]), round(order["c_hat"])) == (219_605, 162_462)


def test_negative_estimates_by_simulation() -> None:
    """Of 20,000 draws the fraction that is negative is the computed one, within six errors."""
    negative = N("N4")
    m, runs, rng = GRR(100, epsilon=2), 20_000, np.random.default_rng(4)
    p, q = float(m.p), float(m.q)
    for name, f in (("none", 0.0), ("few", 0.01), ("some", 0.02)):
        holders = round(f * 50_000)
        drawn = rng.binomial(holders, 0.1 * p, runs) + rng.binomial(50_000 - holders, 0.1 * q, runs)
        seen = float((drawn < 50_000 * 0.1 * q).mean())
        assert abs(seen - negative[name]) < 6 * math.sqrt(0.25 / runs)


def test_definitions_and_misprints() -> None:
    support, sign = N("N5"), N("N6")
    assert support["p"] == support["q"] == 1
    assert sign["mean"] == pytest.approx(sign["limit"], rel=1e-3)
    assert sign["limit"] < 0


def test_a_tenth_of_the_nodes_costs_the_root_of_ten() -> None:
    nodes = N("N7")
    assert nodes["ratio"] == pytest.approx(math.sqrt(10), rel=0.15)


def test_rates() -> None:
    biased, leaks, best = N("N8"), N("N9"), N("N10")
    assert biased["mean"] == 2500
    assert round(biased["bias"]) == -58
    assert leaks["true"] == pytest.approx(1 + math.log(9))
    assert leaks["sure_loss"] == math.inf
    assert best["error"] > best["people"]
    assert best["corner"] < best["uniform"]
