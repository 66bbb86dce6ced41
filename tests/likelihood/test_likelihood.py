"""Maximum likelihood: against closed forms, a general optimiser, and its own convergence rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import minimize

from sottovoce import GRR, OUE, HadamardResponse, Piecewise, testing
from sottovoce.contract.aggregate import Aggregate
from sottovoce.estimate.likelihood import (
    FOLDS,
    ConvergenceWarning,
    _deal,
    em,
    fit_outcomes,
    fit_support,
)
from sottovoce.testing import SeededSource

RNG = np.random.default_rng(20_240_501)


@pytest.fixture
def source() -> Iterator[SeededSource]:
    """The same counts every time: how many steps an iteration takes has a long tail."""
    with testing.seeded(1) as source:
        yield source


def skewed(d: int, n: int) -> np.ndarray:
    f = 1 / np.arange(1, d + 1) ** 1.5
    return RNG.choice(d, n, p=f / f.sum())


def by_optimiser(objective, d: int) -> float:
    """The maximum over the simplex by a general method, in softmax coordinates."""
    best = -np.inf
    for start in (np.zeros(d), RNG.normal(size=d)):
        result = minimize(
            lambda z: -objective(np.exp(z - z.max()) / np.exp(z - z.max()).sum()),
            start,
            method="BFGS",
            options={"gtol": 1e-9, "maxiter": 5000},
        )
        best = max(best, -result.fun)
    return best


@pytest.mark.parametrize(("d", "n"), [(2, 50), (4, 300), (8, 2000)])
def test_randomised_response_in_closed_form_is_the_maximum(d, n, source):
    m = GRR(d, epsilon=1.0)
    reports = m.randomise(skewed(d, n), source=source)
    counts = m.aggregate(reports).tables["support"].astype(float)
    p, q = float(m.p), float(m.q)

    def likelihood(f):
        return counts @ np.log(q + (p - q) * f)

    fit = fit_outcomes(counts, n, p, q)
    assert fit.values.min() >= 0
    assert fit.values.sum() == pytest.approx(1)
    assert likelihood(fit.values) >= by_optimiser(likelihood, d) - 1e-6


@pytest.mark.parametrize(("d", "n"), [(2, 50), (4, 300), (8, 2000)])
def test_support_counts_are_fitted_to_their_maximum(d, n, source):
    m = OUE(d, epsilon=1.0)
    reports = m.randomise(skewed(d, n), source=source)
    counts = m.aggregate(reports).tables["support"].astype(float)
    p, q = float(m.p), float(m.q)

    def likelihood(f):
        r = q + (p - q) * f
        return counts @ np.log(r) + (n - counts) @ np.log(1 - r)

    fit = fit_support(counts, n, p, q)
    assert fit.values.sum() == pytest.approx(1)
    assert likelihood(fit.values) >= by_optimiser(likelihood, d) - 1e-6


@pytest.mark.parametrize("d", [4, 128, 1024])
def test_em_comes_as_near_as_its_rule_says(d, source):
    n = 100_000
    m = GRR(d, epsilon=1.0)
    counts = m.aggregate(m.randomise(skewed(d, n), source=source)).tables["support"]
    p, q = float(m.p), float(m.q)

    def law(f):
        return q + (p - q) * f

    fit = em(counts, law, lambda w: q * w.sum() + (p - q) * w, np.ones(d))
    exact = fit_outcomes(counts.astype(float), n, p, q)
    gap = counts @ np.log(law(exact.values)) - counts @ np.log(law(fit.values))
    assert fit.converged
    assert -1e-6 <= gap <= 0.01


def test_em_says_when_it_has_not_converged(source):
    m = HadamardResponse(64, epsilon=1.0)
    aggregate = m.aggregate(m.randomise(skewed(64, 10_000), source=source))
    counts = aggregate.tables["outputs"]
    with pytest.warns(ConvergenceWarning, match="within 2 steps"):
        fit = em(counts, m.output_law, m.expected, np.ones(64), most_steps=2)
    assert not fit.converged


@pytest.mark.parametrize("d", [2, 5, 40])
def test_the_fast_transforms_of_hadamard_response_are_its_channel(d):
    m = HadamardResponse(d, epsilon=1.5)
    matrix = m.channel().matrix
    f = RNG.dirichlet(np.ones(d))
    w = RNG.random(m.cells)
    assert np.allclose(m.output_law(f), f @ matrix)
    assert np.allclose(m.expected(w), matrix @ w)


def test_mle_of_hadamard_response_beats_every_other_distribution_near_it(source):
    m = HadamardResponse(6, epsilon=1.0)
    aggregate = m.aggregate(m.randomise(skewed(6, 3000), source=source))
    counts, matrix = aggregate.tables["outputs"], m.channel().matrix
    best = m.estimate(aggregate, method="mle").values

    def likelihood(f):
        return counts @ np.log(f @ matrix)

    assert likelihood(best) >= by_optimiser(likelihood, 6) - 0.01


def squared_errors(d: int, runs: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    n, m = 10_000, GRR(d, epsilon=epsilon)
    mle, projected = [], []
    for _ in range(runs):
        answers = skewed(d, n)
        truth = np.bincount(answers, minlength=d) / n
        aggregate = m.aggregate(m.randomise(answers))
        mle.append(m.estimate(aggregate, method="mle").error(truth).mse)
        projected.append(m.estimate(aggregate).project().error(truth).mse)
    return np.array(mle), np.array(projected)


def test_mle_of_randomised_response_is_no_worse_than_norm_sub_for_few_values():
    mle, projected = squared_errors(8, 200, 1.0)
    gap = mle - projected
    # The true gap is 1.3 standard errors below zero (its statistic: mean -1.3, sd 0.9), so that
    # five above is a false alarm of less than 1e-9.
    assert gap.mean() <= 5 * gap.std() / np.sqrt(gap.size)


def test_mle_of_randomised_response_is_worse_than_norm_sub_for_many_skewed_values():
    """Not what one would hope, and a reason why it is not the default.

    Rescaling the counts to a valid distribution takes most from the most frequent values, while
    the excess that clipping leaves comes from the many rare ones.
    """
    mle, projected = squared_errors(512, 100, 4.0)
    gap = mle - projected
    # The statistic is 25 with sd 2.3: below five with less than 1e-15.
    assert gap.mean() > 5 * gap.std() / np.sqrt(gap.size)


@pytest.mark.parametrize("times", [1, 10**7, 10**14])
def test_every_report_is_dealt_into_one_of_the_folds(times):
    counts = np.array([0, 1, 40, 159]) * times
    folds = _deal(counts, np.random.default_rng(5))
    assert len(folds) == FOLDS
    assert min(fold.min() for fold in folds) >= 0
    np.testing.assert_array_equal(sum(folds), counts)
    sizes = np.array([fold.sum() for fold in folds]) / counts.sum()
    np.testing.assert_allclose(sizes, 1 / FOLDS, atol=1e-3)


@pytest.mark.filterwarnings("ignore::sottovoce.estimate.likelihood.ConvergenceWarning")
def test_the_distribution_of_billions_of_numbers_is_estimated(source):
    m = Piecewise((0, 1), epsilon=4.0)
    few = m.aggregate(m.randomise(RNG.beta(2, 5, 10_000), source=source))
    tables = {name: few.dense(name) * 10**6 for name in few.tables}
    people = few.people * 10**6
    many = Aggregate(few.collection, few.digest, tables, people, people, few.seeded)
    estimate = m.estimate(many, method="distribution")
    quartiles = [estimate.quantile(q).value for q in (0.25, 0.5, 0.75)]
    np.testing.assert_allclose(quartiles, [0.161, 0.264, 0.389], atol=0.05)
