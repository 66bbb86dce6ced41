"""Binomial probabilities for millions of trials, by identities that hold exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from sottovoce.noise.binomial import at_least, pmf, window

MANY = 9_000_000


def central(n: int) -> float:
    """Probability of n/2 hits with a fair coin, by Stirling's series."""
    return math.sqrt(2 / (math.pi * n)) * (1 - 1 / (4 * n) + 1 / (32 * n * n))


@pytest.mark.parametrize("n", [1, 2, 7, 40, 300])
@pytest.mark.parametrize("p", [1e-9, 0.1, 0.5, 0.99])
def test_small_numbers_are_exact(n: int, p: float) -> None:
    k = np.arange(-1, n + 2)
    true = [math.comb(n, j) * p**j * (1 - p) ** (n - j) if 0 <= j <= n else 0.0 for j in k]
    assert pmf(k, n, p) == pytest.approx(true, rel=1e-11, abs=1e-200)
    tails = [math.fsum(true[j:]) for j in range(len(k))]
    assert at_least(k, n, p) == pytest.approx(tails, rel=1e-11, abs=1e-200)


def test_the_middle_of_many() -> None:
    middle = float(pmf(MANY // 2, MANY, 0.5))
    assert middle == pytest.approx(central(MANY), rel=1e-13)
    assert float(at_least(MANY // 2 + 1, MANY, 0.5)) == pytest.approx((1 - middle) / 2, rel=1e-13)


@pytest.mark.parametrize("p", [0.5, 2 / 3, 1e-4])
@pytest.mark.parametrize("away", [-6, -2, 0, 3, 7])
def test_steps_and_tails_fit_together(p: float, away: float) -> None:
    k = round(MANY * p + away * math.sqrt(MANY * p * (1 - p))) + np.arange(50)
    here, after = pmf(k, MANY, p), pmf(k + 1, MANY, p)
    assert after / here == pytest.approx((MANY - k) / (k + 1) * p / (1 - p), rel=1e-11, abs=0)
    falls = at_least(k, MANY, p) - at_least(k + 1, MANY, p)
    scale = float(at_least(k, MANY, p)[0])
    assert falls == pytest.approx(here, rel=1e-9, abs=1e-11 * scale)
    assert here == pytest.approx(stats.binom.pmf(k, MANY, p), rel=1e-10, abs=0)


def test_the_older_functions_would_be_caught() -> None:
    k, middle = MANY // 2, central(MANY)
    factorials = special.gammaln(MANY + 1) - 2 * special.gammaln(k + 1) - MANY * math.log(2)
    assert math.exp(factorials) != pytest.approx(middle, rel=1e-10, abs=0)
    assert special.bdtrc(k, MANY, 0.5) != pytest.approx((1 - middle) / 2, rel=1e-6)


@pytest.mark.parametrize("n", [1, 10, 1000, MANY])
@pytest.mark.parametrize("p", [1e-9, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("log_miss", [1.0, 20.0, 120.0])
def test_little_lies_outside_the_window(n: int, p: float, log_miss: float) -> None:
    low, high = window(n, p, log_miss)
    assert 0 <= low <= high <= n
    assert float(at_least(high + 1, n, p)) <= math.exp(-log_miss)
    assert float(at_least(n - low + 1, n, 1 - p)) <= math.exp(-log_miss) * (1 + 1e-6)
