"""Records: every report of two attributes against its exact law, budgets personal."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.records.allocation import flip

from .budget import RejectedError, joined, judge, spend
from .statistics import fit

#: Budgets of the two attributes; epsilon_average is half their sum.
CASES = [(2.0, 2.0), (3.5, 0.5)]
SIZES = (3, 4)
N = 400_000
cases = pytest.mark.parametrize("division", CASES, ids=str)


def law(values: tuple[int, int], division: tuple[float, float]) -> np.ndarray:
    """P(report), the first bit of the first attribute least significant."""
    codes = np.arange(1 << sum(SIZES))
    p, start = np.ones(codes.size), 0
    for value, size, epsilon in zip(values, SIZES, division, strict=True):
        for v in range(size):
            one = 0.5 if v == value else float(flip(epsilon))
            p = p * np.where(codes >> (start + v) & 1, one, 1 - one)
        start += size
    return p


def draw(division: tuple[float, float]) -> dict[tuple[int, int], np.ndarray]:
    attributes = [sv.Attribute("a", SIZES[0]), sv.Attribute("b", SIZES[1])]
    records = sv.Records(attributes, epsilon_average=sum(division) / 2)
    by_name = {}
    for values in ((0, 0), (2, 1), (1, 3)):
        table = {"a": np.full(N, values[0]), "b": np.full(N, values[1])}
        sent = records.randomise(table, allocation=np.tile(division, (N, 1)))
        by_name[values] = np.bincount(sent.columns["bits"][:, 0], minlength=1 << sum(SIZES))
    return by_name


def p_value(counts: dict[tuple[int, int], np.ndarray], division: tuple[float, float]) -> float:
    return joined([fit(seen, law(values, division)) for values, seen in counts.items()])


@cases
def test_reports_follow_their_law(division) -> None:
    spend("records", str(division), p_value(draw(division), division))


@cases
def test_planted_faults_are_rejected(division) -> None:
    counts = draw(division)
    for wrong in ((division[0] + 0.1, division[1] - 0.1), (division[1] + 0.05, division[0])):
        with pytest.raises(RejectedError):
            judge(p_value(counts, wrong))
