"""Intervals of conditional fractions, also among people of whom there are hardly any."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.cells import Repetitions
from sottovoce.estimate.ratios import RowIntervals
from sottovoce.testing import seeded

TRUTH = np.array([0.90, 0.04, 0.02, 0.03, 0.01, 0.0])
SHARES = (TRUTH.reshape(2, 3) / TRUTH.reshape(2, 3).sum(axis=1, keepdims=True)).ravel()
ERROR = 0.02


@pytest.mark.statistical
def test_intervals_cover_whether_or_not_a_row_is_rare() -> None:
    rng = np.random.default_rng(1)
    covered, by_ratios = np.zeros(6), np.zeros(6)
    runs = 1000
    for _ in range(runs):
        cells = TRUTH + ERROR * rng.standard_normal(6)
        tables = cells + ERROR * rng.standard_normal((200, 6))
        low, high = RowIntervals(cells, Repetitions(partial(np.asarray, tables)), 2)(0.95)
        covered += (low - 1e-9 <= SHARES) & (high + 1e-9 >= SHARES)
        # The fault: how far ratios of the repetitions are from the estimated ones.
        ratios = np.maximum(np.concatenate([cells[None], tables]), 0).reshape(-1, 2, 3)
        ratios = (ratios / np.maximum(ratios.sum(axis=2, keepdims=True), 1e-9)).reshape(-1, 6)
        half = 1.96 * np.sqrt(((ratios[1:] - ratios[0]) ** 2).mean(axis=0))
        by_ratios += np.abs(ratios[0] - SHARES) <= half
    assert covered.min() >= 0.93 * runs
    assert by_ratios.min() < 0.93 * runs


def test_intervals_are_no_wider_than_needed_where_rows_are_common() -> None:
    rng = np.random.default_rng(2)
    cells = np.array([0.2, 0.3, 0.25, 0.25])
    tables = cells + 0.005 * rng.standard_normal((2000, 4))
    again = Repetitions(partial(np.asarray, tables))
    low, high = RowIntervals(cells, again, 2)(0.95)
    shares = tables.reshape(-1, 2, 2) / tables.reshape(-1, 2, 2).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(high - low, 3.92 * shares.std(axis=0).ravel(), rtol=0.02)
    wider = RowIntervals(cells, Repetitions(again.make, 2.0), 2)(0.95)
    np.testing.assert_allclose(wider.high - wider.low, 2 * (high - low), rtol=0.02)


@pytest.mark.parametrize("method", ["model-average", "kronecker"])
def test_a_share_estimated_at_zero_is_not_known_exactly(method: str) -> None:
    records = sv.Records([sv.Attribute("a", 2), sv.Attribute("b", 3)], epsilon_average=4.0)
    codes = np.repeat(np.arange(6), [582, 0, 6, 0, 6, 6])
    with seeded(3) as source:
        answers = {"a": codes // 3, "b": codes % 3}
        counts = records.aggregate(records.randomise(answers, allocation="equal", source=source))
        table = records.joint(counts, ["a", "b"], method=method)
    by_a = table.conditional(["b"], given=["a"])
    low, high = by_a.interval()
    known = np.isfinite(by_a.values)
    assert known[:3].all()
    assert (high - low)[known].min() > 0.005
    if known[3]:  # hardly anyone has this value, so nothing is known of them
        assert (high - low)[3:].min() > 0.5
    again = pickle.loads(pickle.dumps(by_a))
    np.testing.assert_array_equal(again.interval().high, high)
