"""The analytic Gaussian mechanism."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.accounting import delta_gaussian, sigma_analytic
from sottovoce.errors import ParameterError


def phi(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def classical(epsilon: float, delta: float) -> float:
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "variance"),
    [(1.0, 1e-5, 13.917), (0.5, 1e-5, 49.4), (0.1, 1e-7, 1710), (0.1, 1e-3, 303)],
)
def test_numbers_of_the_notes(epsilon: float, delta: float, variance: float) -> None:
    assert sigma_analytic(epsilon, delta) ** 2 == pytest.approx(variance, rel=2e-3)
    assert sigma_analytic(1.0, 1e-5) == pytest.approx(3.7306, abs=5e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_the_formula(epsilon: float, sigma: float) -> None:
    mu = 1 / sigma
    true = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
    assert delta_gaussian(epsilon, sigma) == pytest.approx(true, rel=1e-9, abs=1e-15)


def test_far_tails_do_not_cancel() -> None:
    # Mills' ratio: δ ≈ φ(a)(1/|a| − 1/|b|) (1 + …) far out, where plain differences are all noise.
    mu, epsilon = 0.01, 0.3
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    series = sum((-1) ** k * math.prod(range(1, 2 * k, 2)) * (a ** (-2 * k - 1) - b ** (-2 * k - 1))
                 for k in range(8))  # fmt: skip
    assert delta_gaussian(epsilon, 100.0) == pytest.approx(density * series, rel=1e-7, abs=0)


@settings(deadline=None)
@given(st.just(0.0) | st.floats(1e-4, 50), st.floats(1e-12, 0.9), st.floats(1e-6, 1e6))
def test_the_noise_keeps_delta_and_barely(epsilon: float, delta: float, far: float) -> None:
    sigma = sigma_analytic(epsilon, delta, far)
    assert delta_gaussian(epsilon, sigma, far) <= delta
    assert delta_gaussian(epsilon, sigma * (1 - 1e-4), far) > delta


def test_the_classical_noise_would_be_caught() -> None:
    # It is proven for epsilon below 1 only, and really fails for large epsilon.
    assert delta_gaussian(10.0, classical(10.0, 1e-5)) == pytest.approx(2.3e-5, rel=0.02)
    assert delta_gaussian(0.9, classical(0.9, 1e-5)) < 1e-5
    assert sigma_analytic(10.0, 1e-5) > classical(10.0, 1e-5)


def test_extremes() -> None:
    assert delta_gaussian(0.0, 1e308, 1e-308) > 0
    assert delta_gaussian(1.0, 1e308, 1e-308) <= 5e-324
    assert delta_gaussian(1.0, 1e-308, 1e308) == 1
    assert delta_gaussian(1000.0, 0.01) == pytest.approx(1.0)
    assert sigma_analytic(0.0, 1e-200) == pytest.approx(1e200 / math.sqrt(2 * math.pi), rel=1e-5)


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, True, "1", None])
def test_wrong_numbers(wrong) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        delta_gaussian(wrong, 1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        sigma_analytic(wrong, 1e-5)
    for call in (lambda x: delta_gaussian(1.0, x), lambda x: delta_gaussian(1.0, 1.0, x),
                 lambda x: sigma_analytic(1.0, 1e-5, x)):  # fmt: skip
        for bad in (wrong, 0):
            with pytest.raises(ParameterError, match=r"sigma|sensitivity"):
                call(bad)


@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan, True, "1", None])
def test_wrong_deltas(delta) -> None:
    with pytest.raises(ParameterError, match="delta"):
        sigma_analytic(1.0, delta)
