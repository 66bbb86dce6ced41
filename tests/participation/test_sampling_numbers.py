"""Sampled numbers and other linear mechanisms: variances of means against many collections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sottovoce import (
    GRR,
    OUE,
    Aggregate,
    Duchi,
    HadamardResponse,
    Hybrid,
    Piecewise,
    Sampled,
    testing,
)

from .sampling import SIGMAS, judge

ANSWERS = np.concatenate([np.linspace(-5, 10, 120), np.full(80, 8.0)])
NUMBERS = [kind((-5, 10), epsilon=2.0) for kind in (Duchi, Piecewise, Hybrid)]
BATCHES = 12


def collections(s: Sampled, answers: Any, rates: Any, seed: int) -> Aggregate:
    """Independent ones, side by side: stratum k of the grid is the k-th collection."""
    with testing.seeded(seed) as source:
        many = len(s.rates)
        reports = s.randomise(np.tile(answers, many), rate=rates, source=source)
        return s.aggregate(reports)


def replicates(inner: Any, answers: Any, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of reports, and their mean scores, of many collections at one rate."""
    s = Sampled(inner, rate=rate - 1e-12 * np.arange(1000))
    rates = np.repeat(s.rates, len(answers))
    reported, means = [], []
    for seed in range(BATCHES):
        tables = collections(s, answers, rates, seed).tables
        reported.append(tables["reported"])
        means.append(scored(inner, {k: t for k, t in tables.items() if k.startswith("0/")}))
    counted = np.concatenate(reported)
    return counted, np.concatenate(means) / counted[:, None]


def scored(inner: Any, tables: dict[str, np.ndarray]) -> np.ndarray:
    """Sums of the scores of each stratum's reports; of numbers, as distances from low."""
    if isinstance(inner, HadamardResponse):
        return np.array([inner.debias(row, 1) for row in tables["0/outputs"]])
    span = inner.domain.high - inner.domain.low
    sums = [tables[f"0/{name}"] @ grid.scores for name, grid in inner.grids.items()]
    return span * sum(sums)[:, None]


def both_ways(inner: Any, answers: Any) -> dict[str, np.ndarray]:
    reported, means = replicates(inner, answers, 0.3)
    weighted = means * reported[:, None] / (0.3 * len(answers))
    return {"hajek": means, "horvitz-thompson": weighted}


@pytest.mark.parametrize("inner", NUMBERS, ids=lambda m: m.id)
def test_the_variance_of_a_mean_is_that_of_many_collections(inner: Any) -> None:
    s, mean = Sampled(inner, rate=0.3), float(ANSWERS.mean()) + 5
    for method, found in both_ways(inner, ANSWERS).items():
        true = float(s.variance_of(ANSWERS, method=method)[0])
        judge(found[:, 0], mean, true, False)
        for wrong in (0.85, 1.15):
            with pytest.raises(AssertionError):
                judge(found[:, 0], mean, wrong * true, False)


def test_hadamard_response_is_linear_and_that_is_enough() -> None:
    inner = HadamardResponse(6, epsilon=1.0)
    s, answers = Sampled(inner, rate=0.3), np.arange(120) ** 2 % 6
    shares = np.bincount(answers, minlength=6) / 120
    for method, found in both_ways(inner, answers).items():
        true = s.variance(shares, 120, method=method)
        for v in range(6):
            judge(found[:, v], float(shares[v]), float(true[v]), False)


@pytest.mark.parametrize("inner", NUMBERS, ids=lambda m: m.id)
def test_the_estimated_variance_of_a_mean_is_right_on_average(inner: Any) -> None:
    """Duchi's one bit cannot tell how much answers vary; it takes the most, which is safe."""
    s, answers = Sampled(inner, rate=0.3), np.tile(ANSWERS, 5)
    for method in s.methods:
        true = float(s.variance_of(answers, method=method)[0])
        with testing.seeded(3) as source:
            estimates = [
                s.estimate(s.aggregate(s.randomise(answers, source=source)), method=method)
                for _ in range(60)
            ]
        ratio = np.mean([estimate.variance[0] for estimate in estimates]) / true
        assert (1 < ratio < 1.5) if inner.id == "duchi" else (0.96 < ratio < 1.04)
        values = np.array([estimate.values[0] for estimate in estimates])
        assert abs(values.mean() - answers.mean()) <= SIGMAS * np.sqrt(true / 60)


@pytest.mark.parametrize("method", ["post-stratified", "hajek", "hajek-ipw", "horvitz-thompson"])
def test_a_mean_over_several_rates_keeps_the_lower_bound(method: str) -> None:
    """Means are estimated as distances from −5, and must come back."""
    s = Sampled(Piecewise((-5, 10), epsilon=2.0), rate=[0.2, 0.6])
    answers = np.tile(ANSWERS, 20)
    rates = np.random.default_rng(2).choice(s.rates, answers.size)
    with testing.seeded(4) as source:
        estimate = s.estimate(
            s.aggregate(s.randomise(answers, rate=rates, source=source)), method=method
        )
    error = np.sqrt(s.variance_of(answers, rate=rates, method=method)[0])
    assert abs(estimate.values[0] - answers.mean()) <= SIGMAS * error < 2.5
    assert estimate.std_error[0] == pytest.approx(error, rel=0.1)
    assert estimate.answer_variance == pytest.approx(answers.var(), rel=0.2)


def test_the_variance_of_answers_is_that_of_their_shares() -> None:
    answers = np.array([0, 1, 1, 2, 2, 2, 0, 1])
    rates = np.array([0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.25, 0.25])
    s = Sampled(OUE(3, epsilon=1.0), rate=[0.5, 0.25])
    rows = [np.bincount(answers[rates == r], minlength=3) / 4 for r in s.rates]
    for method in s.methods:
        if method != "adaptive":
            direct = s.variance_of(answers, rate=rates, method=method)
            assert direct == pytest.approx(s.variance(rows, [4, 4], method=method))


def test_variances_are_the_diagonal_of_covariances() -> None:
    s = Sampled(GRR(4, epsilon=1.0), rate=[0.5, 0.25, 0.0])
    rows, people = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25] * 4], [300, 500, 0]
    for method in s.methods:
        if method != "adaptive":
            matrix = s.covariance(rows, people, method=method)
            assert np.diag(matrix) == pytest.approx(s.variance(rows, people, method=method))
            assert np.linalg.eigvalsh(matrix).min() > -1e-12
