"""Mechanisms for numbers, also between the points of their grid, against the law by formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sottovoce import Duchi, Hybrid, Piecewise
from sottovoce.mechanisms.numeric import NumericMechanism

from .budget import RejectedError, judge, spend
from .statistics import fit

N = 1_000_000
#: mechanism over 0 to 1, and the answer that everyone gives
CASES: list[tuple[NumericMechanism, float]] = [
    (Duchi((0, 1), epsilon=1.0), 0.3),
    (Piecewise((0, 1), epsilon=1.0, steps=4), 0.3),
    (Piecewise((0, 1), epsilon=2.0, steps=1024), 0.31337),
    (Hybrid((0, 1), epsilon=1.0, steps=8), 0.9),
    (Hybrid((0, 1), epsilon=3.0, steps=1024), 0.50001),
]
IDS = [f"{mechanism.id}-{mechanism.epsilon:g}-{answer}" for mechanism, answer in CASES]
cases = pytest.mark.parametrize(("mechanism", "answer"), CASES, ids=IDS)


def law(mechanism: NumericMechanism, answer: float) -> np.ndarray:
    """Chances of all reports in the order of `every_report`, from the formulas alone."""
    shares = [1.0]
    if len(mechanism.grids) == 2:
        alpha = 1 - math.exp(-mechanism.epsilon / 2)
        shares = [1 - alpha, alpha]
    parts = []
    for share, grid in zip(shares, mechanism.grids.values(), strict=True):
        power = grid.window * math.exp(mechanism.epsilon)
        p = power / (power + grid.steps)
        scaled = answer * grid.steps
        row = np.zeros(grid.cells)
        for i, weight in (
            (math.floor(scaled), 1 - scaled % 1),
            (math.floor(scaled) + 1, scaled % 1),
        ):
            at = np.full(grid.cells, (1 - p) / grid.steps)
            at[i : i + grid.window] = p / grid.window
            row += weight * at
        parts.append(share * row)
    return np.concatenate(parts)


def p_value(mechanism: NumericMechanism, answer: float, reports) -> float:
    cell = reports.columns["cell"].astype(np.int64)
    first = next(iter(mechanism.grids.values())).cells
    if "grid" in reports.columns:
        cell = cell + first * reports.columns["grid"]
    expected = law(mechanism, answer)
    return fit(np.bincount(cell, minlength=expected.size), expected)


@cases
def test_reports_follow_the_formula(mechanism: NumericMechanism, answer: float) -> None:
    reports = mechanism.randomise(np.full(N, answer))
    spend("numbers", f"{mechanism.id} {answer}", p_value(mechanism, answer, reports))


@cases
def test_another_answer_is_noticed(mechanism: NumericMechanism, answer: float) -> None:
    # Among them what rounding to the nearest point, instead of without bias, would report.
    grid = list(mechanism.grids.values())[-1]
    nearest = round(answer * grid.steps) / grid.steps
    other = nearest if grid.steps < 100 else answer + 0.02
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answer, mechanism.randomise(np.full(N, other))))


@cases
def test_a_slightly_different_epsilon_is_noticed(mechanism, answer: float) -> None:
    from dataclasses import replace

    other = replace(mechanism, epsilon=mechanism.epsilon + 0.1)
    reports = other.randomise(np.full(N, answer))
    if [g.cells for g in other.grids.values()] != [g.cells for g in mechanism.grids.values()]:
        most = list(mechanism.grids.values())[-1].cells - 1
        reports.columns["cell"][:] = np.minimum(reports.columns["cell"], most)
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answer, reports))
