"""Paper 002: each counterexample contradicts its claim, by at least as much as the page shows."""

from __future__ import annotations

import pytest

from .party_marginals import PAPER

N = PAPER.numbers


def test_neighbours() -> None:
    noise = N("P1")
    assert (noise["add"], noise["change"]) == (0.5, 1.0)


def test_misprints() -> None:
    example, groups = N("P2"), N("P6")
    assert round(example["second"], 1) == 0.5  # not 0.6
    assert round(example["result"], 2) == 0.26
    assert groups["sum"] == 1.8
    assert N("P13")["marginals"] == 560
    assert groups["low"] + groups["middle"] + groups["right"] == pytest.approx(1)


def test_the_mixture_is_not_identifiable() -> None:
    mixture, unbounded = N("P3"), N("P4")
    assert mixture["uniform"] == pytest.approx(mixture["sth"])
    assert mixture["truth"] - mixture["uniform"] > 0.06
    assert mixture["low"] < 0.2 < 0.43 < mixture["high"]
    assert mixture["spread"] <= 1e-12
    assert unbounded["first"] < unbounded["second"] < unbounded["third"]


def test_the_mixture_is_stretching_and_far_from_the_best() -> None:
    numbers = N("P5")
    assert numbers["mm"] == pytest.approx(numbers["sth"], rel=0.02)
    assert numbers["mm"] > 10 * max(numbers[name] for name in ("mh", "independent", "sjs"))


def test_segmentation() -> None:
    person, equal, gaussian, found = N("P7"), N("P8"), N("P9"), N("P10")
    assert person["low"] == 0.1
    assert person["person"] == person["high"] == 1.0
    assert equal["levels"] == 2
    assert 0 < gaussian["far"] < gaussian["true"] < gaussian["delta"]
    assert found["gls"] < found["mv"] < found["pbs"] / 1.5


def test_parts_of_noise() -> None:
    parts, plain = N("P11"), N("P12")
    assert (round(parts["most"], 2), round(parts["half"], 2)) == (5.57, 2.28)
    assert plain["zero"] > 0.8
