"""Published variances: the paper's numbers, beside the exact ones and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.published import node_sampling as published

N = 5_000


def exact(mechanism, f, method, *, rate=0.1, n=N):
    """The exact variance of a number of people, for the first value."""
    rest = (1 - f) / (mechanism.domain.size - 1)
    shares = [f, *[rest] * (mechanism.domain.size - 1)]
    return n**2 * sv.Sampled(mechanism, rate=rate).variance(shares, n, method=method)[0]


def test_the_actual_variance_of_g_lacks_who_is_drawn():
    m = sv.GRR(100, epsilon=4)
    claimed, right = published.g_actual(m, 0.3, n=N, rate=0.1), exact(m, 0.3, "biswas-g")
    assert round(claimed) == 34_652
    assert round(right) == 44_102
    assert right - claimed == pytest.approx(N * 0.3 * 0.7 * 0.9 / 0.1)


@pytest.mark.parametrize("kind", [sv.GRR, sv.OUE, sv.SUE, sv.OLH, sv.SubsetSelection])
@pytest.mark.parametrize("rate", [0.05, 0.5, 1.0])
def test_the_limits_are_the_exact_variances_of_a_value_nobody_holds(kind, rate):
    m = kind(8, epsilon=1)
    assert published.g_limit(m, n=N, rate=rate) == pytest.approx(
        exact(m, 0.0, "biswas-g", rate=rate)
    )
    assert published.c_limit(m, n=N, rate=rate) == pytest.approx(exact(m, 0.0, "wang-c", rate=rate))
    assert published.g_actual(m, 0.0, n=N, rate=rate) == pytest.approx(
        published.g_limit(m, n=N, rate=rate)
    )


def test_theorem_3_5_ranks_backwards():
    m = sv.GRR(4, epsilon=1)
    g, c_hat, hajek = (exact(m, 0.8, name) for name in ("biswas-g", "biswas-c-hat", "hajek"))
    assert (round(g), round(c_hat)) == (219_605, 162_462)
    assert hajek == pytest.approx(133_662, rel=0.01)  # the page has it to first order
    assert round(published.c_hat(m, 0.8, n=N, rate=0.1)) == 227_647
    assert published.c_hat(m, 0.8, n=N, rate=0.1) > published.g_actual(m, 0.8, n=N, rate=0.1)
    assert hajek < c_hat < g


@pytest.mark.parametrize("f", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_g_less_c_hat_is_what_the_page_says(f, rate):
    m = sv.OUE(6, epsilon=1)
    p, q = float(m.p), float(m.q)
    gap = N * (1 - rate) * q * (q + 2 * f * (p - q)) / (rate * (p - q) ** 2)
    difference = exact(m, f, "biswas-g", rate=rate) - exact(m, f, "biswas-c-hat", rate=rate)
    assert difference == pytest.approx(gap)


def test_the_limit_of_t_reduces_to_that_of_g_and_is_exact():
    m = sv.GRR(10, epsilon=1)
    assert published.t_limit(m, n=N, rate=0.3) == pytest.approx(published.g_limit(m, n=N, rate=0.3))
    people, rates = [2_000, 3_000], [0.2, 0.6]
    shares = [0.0, *[1 / 9] * 9]
    right = sv.Sampled(m, rate=rates).variance(shares, people, method="biswas-t")[0]
    assert published.t_limit(m, n=people, rate=rates) == pytest.approx(N**2 * right)
    each = published.t_limit(m, n=np.ones(N), rate=np.repeat(rates, people))
    assert published.t_limit(m, n=people, rate=rates) == pytest.approx(each)


def test_the_normalised_variance_counts_the_rate_twice_more():
    m = sv.GRR(100, epsilon=2)
    assert round(N * published.g_norm(m, n=N, rate=0.1)) == 2_604
    share = exact(m, 0.0, "biswas-g") / N**2
    assert N * share == pytest.approx(26.0, abs=0.05)
    assert published.g_norm(m, n=N, rate=0.1) == pytest.approx(share / 0.1**2)


def test_a_simulation_sides_with_the_exact_variance():
    """20,000 draws of g: the exact variance lies within five errors, the published one does not."""
    m, f, rate, runs = sv.GRR(100, epsilon=4), 0.3, 0.1, 20_000
    p, q = float(m.p), float(m.q)
    rng = np.random.default_rng(7)
    holders = round(f * N)
    support = rng.binomial(holders, rate * p, runs) + rng.binomial(N - holders, rate * q, runs)
    g = (support - N * rate * q) / (rate * (p - q))
    seen, error = g.var(ddof=1), g.var(ddof=1) * math.sqrt(2 / runs)
    assert abs(seen - exact(m, f, "biswas-g")) < 5 * error
    assert abs(seen - published.g_actual(m, f, n=N, rate=rate)) > 5 * error


@pytest.mark.parametrize(
    ("f", "n", "rate"), [(-0.1, 10, 0.5), (1.1, 10, 0.5), (0.5, 0, 0.5), (0.5, 10, 0.0)]
)
def test_bad_numbers_are_refused(f, n, rate):
    with pytest.raises(ParameterError, match="a rate is above 0"):
        published.g_actual(sv.GRR(4, epsilon=1), f, n=n, rate=rate)


def test_a_mechanism_that_is_not_pure_is_refused():
    with pytest.raises(ParameterError, match="pure"):
        published.g_limit(sv.HadamardResponse(8, epsilon=1), n=10, rate=0.5)
    with pytest.raises(ParameterError, match="rate is above 0"):
        published.t_limit(sv.GRR(4, epsilon=1), n=[10, 10], rate=[0.5, 0.0])
