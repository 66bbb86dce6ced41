"""Sampling and dummies: formulas, tightness by enumeration, rounding, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sottovoce import GRR
from sottovoce.accounting import dummies, fixed_size, poisson, value_dependent_loss, visible
from sottovoce.accounting.sampling import refuse_value_dependent
from sottovoce.errors import GuaranteeError, ParameterError
from sottovoce.promise import DP, LDP, OWN_DEVICE, Against, Guarantee

from .exact import expm1, grr_rows

EPSILONS = st.floats(min_value=1e-9, max_value=20)
RATES = st.floats(min_value=1e-9, max_value=1)
WRONG_EPSILONS = [0, -1, math.nan, math.inf, 21, True, "1", None, 10**400]
WRONG_RATES = [0, -0.1, 1.1, math.nan, math.inf, True, "0.1", None]
WRONG_DELTAS = [-0.1, 1, 1.5, math.nan, True, "0", None]


def largest_ratio(first: list[float], second: list[float]) -> float:
    return max(abs(math.log(a / b)) for a, b in zip(first, second, strict=True))


# --- numbers -------------------------------------------------------------------------------------


def test_known_numbers() -> None:
    assert poisson(1.0, 0.1).epsilon == pytest.approx(0.158565078740429, rel=1e-13)
    assert fixed_size(1.0, 10, 100).epsilon == pytest.approx(0.158565078740429, rel=1e-13)
    assert value_dependent_loss(1.0, [0.1, 0.9]) == pytest.approx(3.1972, abs=1e-4)


def test_delta_shrinks_with_the_rate() -> None:
    assert poisson(1.0, 0.25, delta=1e-6).delta == 2.5e-7
    assert fixed_size(1.0, 1, 4, delta=1e-6).delta == 2.5e-7


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 20.0])
def test_with_everyone_in_the_sample_nothing_changes(epsilon: float) -> None:
    assert poisson(epsilon, 1.0, delta=1e-5).epsilon == epsilon
    assert fixed_size(epsilon, 7, 7, delta=1e-5).delta == 1e-5
    assert dummies(epsilon, 5, 1.0).epsilon == epsilon


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
class TestEnumerated:
    """The bounds are reached, so nothing smaller could be promised."""

    def test_poisson(self, epsilon: float, rate: float) -> None:
        # Randomised response of "is anyone in the sample?"; the other database is empty.
        yes, no = grr_rows(2, epsilon)
        there = [rate * a + (1 - rate) * b for a, b in zip(yes, no, strict=True)]
        assert largest_ratio(there, no) == pytest.approx(poisson(epsilon, rate).epsilon, rel=1e-12)

    def test_fixed_size(self, epsilon: float, rate: float) -> None:
        # Randomised response of "does anyone in the sample say yes?"; one of 20 people may.
        drawn = round(20 * rate)
        yes, no = grr_rows(2, epsilon)
        mixed = [drawn / 20 * a + (1 - drawn / 20) * b for a, b in zip(yes, no, strict=True)]
        stated = fixed_size(epsilon, drawn, 20).epsilon
        assert largest_ratio(mixed, no) == pytest.approx(stated, rel=1e-12)

    @pytest.mark.parametrize("d", [2, 5, 100])
    def test_dummies(self, epsilon: float, rate: float, d: int) -> None:
        matrix = GRR(d, epsilon=epsilon).channel().matrix
        first, second = (rate * row + (1 - rate) / d for row in matrix[:2])
        assert largest_ratio(list(first), list(second)) == pytest.approx(
            dummies(epsilon, d, rate).epsilon, rel=1e-11
        )

    def test_a_server_that_sees_silence(self, epsilon: float, rate: float) -> None:
        rows = [[rate * p for p in row] + [1 - rate] for row in grr_rows(3, epsilon)]
        assert largest_ratio(rows[0], rows[1]) == pytest.approx(visible(epsilon).epsilon)

    def test_the_common_mistake_would_be_caught(self, epsilon: float, rate: float) -> None:
        # "A tenth of the people, a tenth of the epsilon" is less than what is really lost.
        yes, no = grr_rows(2, epsilon)
        there = [rate * a + (1 - rate) * b for a, b in zip(yes, no, strict=True)]
        assert largest_ratio(there, no) > rate * epsilon * (1 + 1e-3)


@pytest.mark.parametrize("rates", [(0.1, 0.9), (0.3, 0.3, 0.31), (0.5, 0.5), (0.01, 0.98, 0.4)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_rates_by_answer_enumerated(epsilon: float, rates: tuple[float, ...]) -> None:
    rows = [
        [rate * p for p in row] + [1 - rate]
        for rate, row in zip(rates, grr_rows(len(rates), epsilon), strict=True)
    ]
    worst = max(largest_ratio(a, b) for a in rows for b in rows)
    assert value_dependent_loss(epsilon, rates) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize("rates", [(1.0, 0.5), (0.0, 0.5), (0, 1), (1, 1 - 1e-16)])
def test_a_sure_rate_beside_another_loses_everything(rates: tuple[float, ...]) -> None:
    assert value_dependent_loss(1.0, rates) == math.inf


def test_equal_rates_lose_epsilon() -> None:
    for rate in (1.0, 0.3, 1e-300):
        assert value_dependent_loss(0.7, [rate] * 3) == 0.7


# --- rounding ------------------------------------------------------------------------------------


def mixture(epsilon: float, rate: Fraction, *, up: bool, mass: Fraction = Fraction(0)) -> Fraction:
    """e^ε' − 1 of the formula, from above or below."""
    over, under = expm1(Fraction(epsilon), up=up), expm1(Fraction(epsilon), up=not up)
    return rate * over / (1 + mass * under)


def assert_rounded_up(made: float, epsilon: float, rate: Fraction, mass: Fraction) -> None:
    if made == epsilon:  # the local promise itself, which holds anyway
        assert mixture(epsilon, rate, up=True, mass=mass) <= expm1(Fraction(epsilon), up=True)
        return
    # Not below the formula, and the next smaller float would be.
    assert expm1(Fraction(made), up=False) >= mixture(epsilon, rate, up=True, mass=mass)
    before = Fraction(math.nextafter(made, 0))
    assert expm1(before, up=True) < mixture(epsilon, rate, up=False, mass=mass)


@settings(deadline=None)
@example(5e-324, 5e-324)
@example(1e-300, 0.1)
@example(20.0, 1e-300)
@given(EPSILONS, RATES)
def test_poisson_is_the_next_float_above(epsilon: float, rate: float) -> None:
    assert_rounded_up(poisson(epsilon, rate).epsilon, epsilon, Fraction(rate), Fraction(0))


@settings(deadline=None)
@given(EPSILONS, st.integers(1, 10**9), st.integers(1, 10**9))
def test_fixed_size_is_the_next_float_above(epsilon: float, a: int, b: int) -> None:
    drawn, people = min(a, b), max(a, b)
    stated = fixed_size(epsilon, drawn, people).epsilon
    assert_rounded_up(stated, epsilon, Fraction(drawn, people), Fraction(0))


@settings(deadline=None)
@given(EPSILONS, st.integers(2, 10**6), RATES)
def test_dummies_are_the_next_float_above(epsilon: float, d: int, rate: float) -> None:
    exact = Fraction(rate)
    assert_rounded_up(dummies(epsilon, d, rate).epsilon, epsilon, exact, (1 - exact) / d)


@given(RATES, st.floats(min_value=0, max_value=0.999))
def test_delta_is_never_below_the_product(rate: float, delta: float) -> None:
    assert Fraction(poisson(1.0, rate, delta=delta).delta) >= Fraction(rate) * Fraction(delta)


def test_a_plain_logarithm_would_be_caught() -> None:
    low = 0
    for k in range(1, 200):
        epsilon, rate = 20 * k / 200, k / 201
        plain = math.log1p(rate * math.expm1(epsilon))
        exact = mixture(epsilon, Fraction(rate), up=False)
        low += expm1(Fraction(plain), up=True) < exact
    assert low > 20


@given(st.floats(1e-3, 20), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_more_people_in_the_sample_lose_more(epsilon: float, a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert poisson(epsilon, low).epsilon <= poisson(epsilon, high).epsilon <= epsilon
    assert dummies(epsilon, 4, low).epsilon <= dummies(epsilon, 4, high).epsilon <= epsilon
    assert dummies(epsilon, 4, low).epsilon <= poisson(epsilon, low).epsilon


# --- what is promised ----------------------------------------------------------------------------


def test_who_is_trusted_is_said() -> None:
    for made in (poisson(1.0, 0.1), fixed_size(1.0, 1, 10)):
        assert made.notion == DP
        assert "trusted" in made.words()
        assert made.against is Against.RESULT
    assert dummies(1.0, 4, 0.1).notion == visible(1.0).notion == LDP
    assert OWN_DEVICE in dummies(1.0, 4, 0.1).assuming
    assert "trusted" not in dummies(1.0, 4, 0.1).words()
    assert "everyone sends" in " ".join(dummies(1.0, 4, 0.1).words().split())


def test_central_promises_add_up_with_their_like_only() -> None:
    once = Guarantee((poisson(1.0, 0.1),))
    assert (once + once).epsilon >= 2 * once.epsilon
    with pytest.raises(GuaranteeError, match="different things"):
        once + Guarantee((fixed_size(1.0, 1, 10),))
    with pytest.raises(GuaranteeError, match="different things"):
        once + Guarantee((visible(1.0),))


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", ["seen", "picked"])
def test_a_known_sample_gains_nothing(sample) -> None:
    for account in (
        lambda: poisson(1.0, 0.1, sample=sample),
        lambda: fixed_size(1.0, 1, 10, sample=sample),
    ):
        with pytest.raises(GuaranteeError, match=r"server .*stays epsilon = 1"):
            account()


@pytest.mark.parametrize("sample", ["", None, True, "public"])
def test_other_words_for_the_sample_are_refused(sample) -> None:
    with pytest.raises(ParameterError, match="'secret', 'seen' or 'picked'"):
        poisson(1.0, 0.1, sample=sample)


@pytest.mark.parametrize("epsilon", WRONG_EPSILONS)
def test_wrong_epsilons(epsilon) -> None:
    for account in (
        lambda: poisson(epsilon, 0.1),
        lambda: fixed_size(epsilon, 1, 10),
        lambda: dummies(epsilon, 4, 0.1),
        lambda: visible(epsilon),
        lambda: value_dependent_loss(epsilon, [0.1, 0.9]),
    ):
        with pytest.raises(ParameterError, match="epsilon"):
            account()


@pytest.mark.parametrize("rate", WRONG_RATES)
def test_wrong_rates(rate) -> None:
    with pytest.raises(ParameterError, match="rate is"):
        poisson(1.0, rate)
    with pytest.raises(ParameterError, match="rate is"):
        dummies(1.0, 4, rate)
    if rate != 0:
        with pytest.raises(ParameterError, match="rate"):
            value_dependent_loss(1.0, [0.5, rate])


@pytest.mark.parametrize("rates", [[], "0.5", 0.5, None, [0, 0]])
def test_rates_are_one_for_each_answer(rates) -> None:
    with pytest.raises(ParameterError, match="rates"):
        value_dependent_loss(1.0, rates)


@pytest.mark.parametrize("delta", WRONG_DELTAS)
def test_wrong_deltas(delta) -> None:
    with pytest.raises(ParameterError, match="delta"):
        poisson(1.0, 0.1, delta=delta)
    with pytest.raises(ParameterError, match="delta"):
        fixed_size(1.0, 1, 10, delta=delta)


@pytest.mark.parametrize("count", [0, -1, 1.0, True, "1", None, math.nan])
def test_wrong_counts(count) -> None:
    with pytest.raises(ParameterError, match="sampled"):
        fixed_size(1.0, count, 10)
    with pytest.raises(ParameterError, match="people"):
        fixed_size(1.0, 1, count)
    with pytest.raises(ParameterError, match="d is"):
        dummies(1.0, count, 0.1)


def test_no_more_are_drawn_than_there_are() -> None:
    with pytest.raises(ParameterError, match="cannot be larger than the population"):
        fixed_size(1.0, 11, 10)


def test_rates_by_answer_are_refused_with_the_true_loss() -> None:
    with pytest.raises(GuaranteeError, match=r"the loss is 3\.2, not 1"):
        refuse_value_dependent(1.0, [0.1, 0.9])
    with pytest.raises(GuaranteeError, match="the loss is inf"):
        refuse_value_dependent(1.0, [1.0, 0.9])
    assert refuse_value_dependent(1.0, (rate for rate in (0.25, 0.25))) == 0.25
