"""Exact laws against scipy's, over whole distributions rather than moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sottovoce import GRR, OUE, SUE, Aggregate, Mechanism, SubsetSelection

N = 60
MECHANISMS = [GRR(3, epsilon=1.0), OUE(3, epsilon=0.5), SUE(3, epsilon=2.0),
              SubsetSelection(5, epsilon=0.3)]  # fmt: skip
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.id)


def count_law(mechanism: Mechanism, true: int) -> np.ndarray:
    """Law of the support of one value when `true` of N people have it, by scipy's binomials."""
    p, q = float(mechanism.p), float(mechanism.q)
    return np.convolve(
        stats.binom.pmf(np.arange(true + 1), true, p),
        stats.binom.pmf(np.arange(N - true + 1), N - true, q),
    )


def law_from_channel(mechanism: Mechanism, true: int) -> np.ndarray:
    """The same from the channel: one report's support, convolved N times."""
    support = np.array(
        [
            mechanism.aggregate(mechanism.every_report()[k : k + 1]).tables["support"][0]
            for k in range(len(mechanism.every_report()))
        ]
    )
    matrix = mechanism.channel().matrix
    law = np.ones(1)
    for person in range(N):
        hit = float(matrix[0 if person < true else 1] @ support)
        law = np.convolve(law, [1 - hit, hit])
    return law


@each
@pytest.mark.parametrize("true", [0, 1, 30, 60])
def test_counts_are_sums_of_binomials(mechanism: Mechanism, true: int) -> None:
    assert np.allclose(count_law(mechanism, true), law_from_channel(mechanism, true), atol=1e-13)


@each
@pytest.mark.parametrize("true", [0, 1, 30, 60])
def test_mean_and_variance_are_those_of_the_whole_law(mechanism: Mechanism, true: int) -> None:
    law = count_law(mechanism, true)
    d = mechanism.domain.size
    tables = [np.array([c] + [0] * (d - 1)) for c in range(N + 1)]
    values = np.array(
        [
            mechanism.estimate(
                Aggregate(mechanism.id, mechanism.digest, {"support": table}, N, N)
            ).values[0]
            for table in tables
        ]
    )
    mean = float(law @ values)
    assert mean == pytest.approx(true / N, abs=1e-11)
    rest = (1 - true / N) / (d - 1)
    stated = mechanism.variance([true / N] + [rest] * (d - 1), N)[0]
    assert float(law @ (values - mean) ** 2) == pytest.approx(stated, rel=1e-10)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_intervals_cover_as_often_as_the_exact_law_says(confidence: float) -> None:
    # The normal interval is an approximation; with 4000 people it is within half a percent.
    mechanism, n = OUE(4, epsilon=1.0), 4000
    p, q, true = float(mechanism.p), float(mechanism.q), 1000
    law = np.convolve(
        stats.binom.pmf(np.arange(true + 1), true, p),
        stats.binom.pmf(np.arange(n - true + 1), n - true, q),
    )
    counts = np.flatnonzero(law > 1e-12)
    covered = 0.0
    for count in counts:
        table = {"support": np.array([count, 0, 0, 0])}
        estimate = mechanism.estimate(Aggregate(mechanism.id, mechanism.digest, table, n, n))
        low, high = estimate.interval(confidence)
        covered += law[count] * (low[0] <= true / n <= high[0])
    assert covered == pytest.approx(confidence, abs=0.005)
