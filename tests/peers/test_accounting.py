"""Accounts are those of Google's dp-accounting, which discretises privacy loss distributions.

Its pessimistic and optimistic estimates enclose the truth; ours lies between them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from sottovoce import Promise
from sottovoce.accounting import (
    delta_gaussian,
    poisson,
    rounds,
    shuffle_delta,
    sigma_analytic,
)
from sottovoce.noise.binomial import at_least, pmf
from sottovoce.promise import LDP

FINE = 1e-5


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.7])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_poisson_amplification_of_pure_promises(google, epsilon, rate):
    ours = poisson(epsilon, rate).epsilon
    kinds = google.privacy_loss_mechanism
    for side in (kinds.AdjacencyType.ADD, kinds.AdjacencyType.REMOVE):
        loss = kinds.LaplacePrivacyLoss(1 / epsilon, sampling_prob=rate, adjacency_type=side)
        assert loss.get_delta_for_epsilon(ours * (1 + 1e-12)) == pytest.approx(0, abs=1e-15)
    loss = kinds.LaplacePrivacyLoss(
        1 / epsilon, sampling_prob=rate, adjacency_type=kinds.AdjacencyType.REMOVE
    )
    assert loss.get_delta_for_epsilon(ours * 0.9999) > 1e-8  # a smaller claim would be caught


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.7])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_poisson_amplification_with_delta(google, epsilon, rate):
    sigma = 2.0
    ours = poisson(epsilon, rate, delta=delta_gaussian(epsilon, sigma))
    kinds = google.privacy_loss_mechanism
    loss = kinds.GaussianPrivacyLoss(
        sigma, sampling_prob=rate, adjacency_type=kinds.AdjacencyType.REMOVE
    )
    assert loss.get_delta_for_epsilon(ours.epsilon) == pytest.approx(ours.delta, rel=1e-6, abs=0)


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 100), (0.5, 20), (1.0, 5), (0.03, 400)])
@pytest.mark.parametrize("slack", [1e-3, 1e-6])
def test_rounds_of_randomised_response(google, epsilon, k, slack):
    noise = 2 / (math.exp(epsilon) + 1)
    low, high = (
        google.privacy_loss_distribution.from_randomized_response(
            noise, 2, pessimistic_estimate=pessimistic, value_discretization_interval=FINE
        )
        .self_compose(k)
        .get_epsilon_for_delta(slack)
        for pessimistic in (False, True)
    )
    ours = rounds(Promise(LDP, epsilon), k, slack=slack).epsilon
    assert low * (1 - 1e-9) <= ours <= high * (1 + 1e-6)
    assert high - low <= 3 * k * FINE


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(0.1, 1e-8, 100), (1.0, 1e-7, 4)])
def test_rounds_of_a_promise_with_delta(google, epsilon, delta, k):
    each = google.common.DifferentialPrivacyParameters(epsilon, delta)
    law = google.privacy_loss_distribution.from_privacy_parameters(each).self_compose(k)
    ours = rounds(Promise(LDP, epsilon, delta), k, slack=1e-6)
    theirs = law.get_epsilon_for_delta(ours.delta)
    # They spend 1 − (1 − δ)^k (1 − slack), we kδ + slack; on a grid of 1e-4.
    assert theirs * (1 - 1e-6) <= ours.epsilon <= theirs + 2e-4 * k


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_analytic_gaussian(google, epsilon, delta):
    kind = google.privacy_loss_mechanism.GaussianPrivacyLoss
    theirs = google.common.DifferentialPrivacyParameters(epsilon, delta)
    sigma = sigma_analytic(epsilon, delta)
    assert sigma == pytest.approx(kind.from_privacy_guarantee(theirs).standard_deviation, rel=1e-5)
    assert delta_gaussian(epsilon, sigma) == pytest.approx(
        kind(sigma).get_delta_for_epsilon(epsilon), rel=1e-7, abs=0
    )


@pytest.mark.parametrize(("local", "n"), [(1.0, 30), (2.0, 80)])
def test_shuffled_reports(google, local, n):
    """The law of the clones, written down and given to them."""
    keep, first, second = math.exp(local) / (math.exp(local) + 1), {}, {}
    clones = pmf(np.arange(n), n - 1, math.exp(-local))
    for c, weight in enumerate(clones):
        coin = [0.0, *pmf(np.arange(c + 1), c, 0.5), 0.0]
        for a in range(c + 2):
            one = weight * (keep * coin[a] + (1 - keep) * coin[a + 1])
            other = weight * ((1 - keep) * coin[a] + keep * coin[a + 1])
            first[a, c], second[a, c] = math.log(one), math.log(other)
    law = google.privacy_loss_distribution.from_two_probability_mass_functions(
        second, first, value_discretization_interval=FINE
    )
    for epsilon in (0.1, 0.4, 0.9):
        ours = shuffle_delta(local, n, epsilon)
        assert ours == pytest.approx(law.get_delta_for_epsilon(epsilon), rel=1e-3, abs=0)


@pytest.mark.parametrize("n", [10_000, 9_000_000])
@pytest.mark.parametrize("p", [0.5, 2 / 3])
@pytest.mark.parametrize("away", [0, 3, 7])
def test_binomials_to_many_digits(mpmath, n, p, away):
    k = int(n * p + away * math.sqrt(n * p * (1 - p))) + 1
    with mpmath.workdps(50):
        chance = mpmath.mpf(p)
        term = mpmath.binomial(n, k) * chance**k * (1 - chance) ** (n - k)
        assert float(pmf(k, n, p) / term - 1) == pytest.approx(0, abs=1e-11)
        tail, j = mpmath.mpf(0), k
        while term > tail * mpmath.mpf(10) ** -30 and j <= n:
            tail += term
            term *= mpmath.mpf(n - j) / (j + 1) * chance / (1 - chance)
            j += 1
        assert float(at_least(k, n, p) / tail - 1) == pytest.approx(0, abs=1e-11)
