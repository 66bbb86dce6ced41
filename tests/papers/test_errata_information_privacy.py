"""Paper 003: each counterexample contradicts its claim, by at least as much as the page shows."""

from __future__ import annotations

import math

import pytest

from .information_privacy import PAPER

N = PAPER.numbers


def test_the_published_optimum_leaks_more_than_promised() -> None:
    optimum = N("L1")
    assert optimum["level"] == pytest.approx(math.log(optimum["factor"]))
    assert optimum["level"] > 4 * optimum["epsilon"]
    assert (round(optimum["level"], 2), round(optimum["ldp"], 2)) == (4.15, 5.15)


def test_comparisons_with_ldp() -> None:
    half, skew = N("L2"), N("L3")
    assert half["half"] > half["ldp"]
    assert half["cross"] < 8.3
    assert skew["skewed"] < skew["published"] < skew["even"]


def test_formulas() -> None:
    symmetric, sign, example = N("L4"), N("L5"), N("L6")
    assert symmetric["printed"] < 0
    assert symmetric["printed"] == pytest.approx(symmetric["other"])
    assert symmetric["right"] == pytest.approx(symmetric["drawn"])
    assert sign["printed"] == pytest.approx(1 - sign["f"])
    assert sign["right"] == pytest.approx(sign["f"])
    assert example["printed_lip"] > example["printed_ldp"]
    assert example["later"] > example["printed_lip"]
    assert example["flip"] < 0
    assert example["mmse_lip"] < example["mmse_ldp"] < example["ldp"]


def test_what_is_not_said() -> None:
    impossible, mean, repeated, prior, pair = (N(key) for key in ("L7", "L8", "L9", "L10", "L11"))
    assert impossible["level"] == 0
    assert impossible["ldp"] == impossible["ours"] == math.inf
    assert round(mean["bias"], 4) == -0.1759
    assert repeated["two"] > 2
    assert repeated["five"] > 5
    assert prior["prior"] == pytest.approx(0.3)
    assert 0.5 < pair["sum"] < 1 < pair["other"]
