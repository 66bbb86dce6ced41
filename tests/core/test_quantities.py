"""Estimates that are quantities, not shares, keep their own units."""

from __future__ import annotations

import numpy as np

import sottovoce as sv


def test_an_interval_of_a_variance_is_not_cut_at_one():
    m = sv.Piecewise((0, 100), epsilon=2.0)
    answers = np.linspace(0, 100, 20_000)
    estimate = m.estimate(m.aggregate(m.randomise(answers)), method="variance")
    low, high = estimate.interval()
    assert estimate.biased
    assert not estimate.fractions
    assert low[0] < estimate.values[0] < high[0]
    assert high[0] > 1


def test_an_interval_of_biased_shares_stays_within_zero_and_one():
    m = sv.GRR(20, epsilon=0.5)
    projected = m.estimate(m.aggregate(m.randomise([0] * 2000))).project()
    low, high = projected.interval()
    assert low.min() >= 0
    assert high.max() <= 1
