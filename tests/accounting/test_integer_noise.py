"""Integer noise on counts: enumeration, and the maths page's figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import binomial, exp, mpf

from sottovoce.accounting import (
    binomial_noise_delta,
    delta_gaussian,
    gaussian_share_variance,
    gaussian_shares_delta,
    noise_delta,
    sigma_analytic,
    smallest_coins,
)
from sottovoce.accounting.pairs import SMALLEST
from sottovoce.errors import ParameterError
from sottovoce.noise import DiscreteGaussian

ZERO = {"neighbours": "add-remove"}


def exact(epsilon: float, coins: int, moved: int) -> float:
    """δ of one or two noisy counts, by listing all of their values in 60 digits."""
    law = [binomial(coins, k) * mpf(2) ** -coins for k in range(coins + 1)]
    up, down = [mpf(0), *law], [*law, mpf(0)]
    power = exp(mpf(epsilon))
    if moved == 1:
        return sum(max(mpf(0), a - power * b) for a, b in zip(up, down, strict=True))
    return sum(
        max(mpf(0), a * d - power * b * c)
        for a, b in zip(up, down, strict=True)
        for c, d in zip(up, down, strict=True)
    )


@pytest.mark.parametrize("coins", [1, 2, 7, 30])
def test_delta_is_the_enumeration(coins):
    for epsilon in (0.0, 0.5, 2.0):
        for moved, neighbours in ((1, "add-remove"), (2, "substitute")):
            true = exact(epsilon, coins, moved)
            delta = binomial_noise_delta(epsilon, coins, neighbours=neighbours)
            assert true <= delta <= true * (1 + 3e-6)


def test_smallest_coins_of_the_maths_page():
    for epsilon, delta, zero, sub in [
        (1.0, 1e-5, 62, 115),
        (0.5, 1e-5, 203, 399),
        (1.0, 1e-7, 99, 181),
    ]:
        assert smallest_coins(epsilon, delta, **ZERO) == zero
        assert smallest_coins(epsilon, delta) == sub
    assert smallest_coins(1.0, 1e-5, insiders=9) == 124
    # The variance r/4 is close to that of the analytic Gaussian.
    assert 15.5 / sigma_analytic(1.0, 1e-5) ** 2 == pytest.approx(1.11, abs=0.01)


def test_rounds_of_the_maths_page():
    deltas = [binomial_noise_delta(1.0, 62, rounds=rounds, **ZERO) for rounds in (1, 2, 3)]
    assert [f"{delta:.1e}" for delta in deltas] == ["9.6e-06", "5.4e-04", "2.9e-03"]


def test_rounds_enclose_the_enumeration():
    law = [math.comb(8, k) / 256 for k in range(9)]
    up, down = [0.0, *law], [*law, 0.0]
    pairs = list(zip(up, down, strict=True))
    for epsilon in (0.3, 1.2):
        true = sum(max(0, a * c - math.exp(epsilon) * b * d) for a, b in pairs for c, d in pairs)
        assert true <= binomial_noise_delta(epsilon, 8, rounds=2, **ZERO) <= true * 1.002


def test_any_symmetric_law():
    logs = np.array([math.log(math.comb(30, k)) - 30 * math.log(2) for k in range(31)])
    for neighbours in ("add-remove", "substitute"):
        ours = noise_delta(0.7, logs, neighbours=neighbours)
        assert ours == pytest.approx(binomial_noise_delta(0.7, 30, neighbours=neighbours), rel=1e-9)
    wide = np.arange(-400, 401)
    gauss = -(wide**2) / (2 * 20.0**2)
    gauss -= math.log(np.exp(gauss).sum())
    delta = noise_delta(0.2, gauss, missed=1e-80, neighbours="add-remove")
    assert delta == pytest.approx(delta_gaussian(0.2, 20.0), rel=1e-2)
    with pytest.raises(ParameterError, match="symmetric"):
        noise_delta(0.7, logs + np.arange(31))


def test_an_underflow_is_never_0():
    assert binomial_noise_delta(3.0, 100_000) >= SMALLEST


def test_shares_of_gaussian_noise_add_up():
    sigma = sigma_analytic(1.0, 1e-5)
    for tolerated in (0, 300):
        share = gaussian_share_variance(sigma, 1000, tolerated=tolerated)
        total = share * (1000 - tolerated)
        assert total == pytest.approx(2 * sigma**2)
        assert delta_gaussian(1.0, math.sqrt(total), math.sqrt(2)) <= 1e-5 * (1 + 1e-9)
    # The published share, (Gσ/n)² of the frequencies, is (√2 σ/n)² of a count: n times too little.
    classical = math.sqrt(2 * math.log(1.25 / 1e-5))
    published = math.sqrt(2) * classical / math.sqrt(1000)
    assert round(delta_gaussian(1.0, published, math.sqrt(2)), 3) == 0.998
    with pytest.raises(ParameterError, match="tolerated"):
        gaussian_share_variance(sigma, 10, tolerated=10)


def test_steps_beyond_all_noise_show_everything():
    assert gaussian_shares_delta(1.0, 2.0, 10, step=10**6) == 1.0
    assert noise_delta(1.0, np.log([0.25, 0.5, 0.25]), neighbours="add-remove") == pytest.approx(
        0.25, rel=1e-5
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_narrow_shares_keep_what_was_proven_at_small_epsilons_too(epsilon):
    """δ(ε) ≤ e^τ δ'(ε − 2τ), which is δ' at a negative epsilon where ε < 2τ."""
    tau = 10 * math.exp(-(math.pi**2) * 0.7**2)
    law = DiscreteGaussian(0.7 * math.sqrt(2))
    mass = np.exp(law.log_pmf(np.arange(-30, 31)))
    here, moved = np.append(mass, 0.0), np.append(0.0, mass)
    proven = math.exp(tau) * np.maximum(here - math.exp(epsilon - 2 * tau) * moved, 0.0).sum()
    stated = gaussian_shares_delta(epsilon, 0.7, 2, **ZERO)
    assert proven <= stated <= min(1.0, proven * (1 + 1e-5))
