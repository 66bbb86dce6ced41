"""Paper 004: each counterexample contradicts its claim, by at least as much as the page shows."""

from __future__ import annotations

import pytest

from .personal_records import PAPER

N = PAPER.numbers


def test_losses_are_above_what_is_claimed() -> None:
    fourth, sums, third, weighted = N("R1"), N("R2"), N("R3"), N("R4")
    assert fourth["claimed"] < fourth["two"] < fourth["four"] < fourth["sixteen"]
    assert (round(fourth["two"], 2), round(fourth["sixteen"], 1)) == (4.41, 36.8)
    assert sums["one"] == sums["other"]
    assert third["claimed"] < third["first"] == third["promised_first"] < third["true"]
    assert third["true"] == third["promised"] == 4
    assert weighted["weighted"] < weighted["equal"]
    assert weighted["true"] == weighted["equal_true"] == 4


def test_frequencies() -> None:
    bias, printed, same = N("R5"), N("R6"), N("R7")
    assert 0 < bias["two"] < bias["three"] < bias["four"] < bias["five"]
    assert round(bias["two"], 3) == 0.130
    assert printed["printed"] < 0
    assert printed["right"] == pytest.approx(500)
    assert same["gap"] == 0


def test_the_allocation_shows() -> None:
    guessed = N("R8")
    assert 0.5 < guessed["two"] < guessed["four"] < guessed["eight"] < guessed["sixteen"]
    assert round(guessed["sixteen"], 2) == 0.99


def test_joint_tables() -> None:
    lasso, entropy, table = N("R9"), N("R10"), N("R11")
    assert lasso["gap"] == 0
    assert lasso["one"] == lasso["other"] == 1
    assert lasso["apart"] == 0.5
    assert entropy["small"] < entropy["large"]
    assert entropy["right"] == 0 < entropy["wrong"]
    assert table["most"] <= 1 < table["printed"]
