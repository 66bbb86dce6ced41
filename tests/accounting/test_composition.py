"""Many rounds: the theorem's sum in exact fractions, and what does not compose."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce import GRR, Promise
from sottovoce.accounting import rounds, shuffle
from sottovoce.errors import GuaranteeError, ParameterError
from sottovoce.promise import DP, LDP, LIP, Guarantee, Neighbours

from .exact import repeated

room = sys.modules["sottovoce.accounting.composition"]


def times(epsilon: float, k: int, slack: float = 0.0, delta: float = 0.0) -> Promise:
    return rounds(Promise(LDP, epsilon, delta), k, slack=slack)


@pytest.mark.parametrize("k", [2, 5, 10, 41])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_the_points_of_the_theorem(k: int, epsilon: float) -> None:
    for i in range(k // 2 + 1):
        total = (k - 2 * i) * epsilon
        true = float(repeated(k, epsilon, total))
        printed = (
            sum(
                math.comb(k, j)
                * (math.exp((k - j) * epsilon) - math.exp((k - 2 * i + j) * epsilon))
                for j in range(i)
            )
            / (1 + math.exp(epsilon)) ** k
        )
        assert true == pytest.approx(printed, rel=1e-9, abs=1e-14)
        assert room._delta(epsilon, k, total) == pytest.approx(true, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("k", [2, 10, 100])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.5])
@pytest.mark.parametrize("slack", [1e-9, 1e-5, 0.01])
def test_the_smallest_that_holds(k: int, epsilon: float, slack: float) -> None:
    stated = times(epsilon, k, slack)
    if stated.delta == 0:  # the slack was not worth spending
        assert stated.epsilon == times(epsilon, k).epsilon
        assert repeated(k, epsilon, k * epsilon * (1 - 1e-6)) > slack
        return
    assert stated.delta == slack
    if stated.epsilon == 0:
        assert repeated(k, epsilon, 0.0) <= slack
        return
    assert stated.epsilon < times(epsilon, k).epsilon
    assert float(repeated(k, epsilon, stated.epsilon)) <= slack
    # A little less would already be false, so a bound that is too small would be caught.
    assert float(repeated(k, epsilon, stated.epsilon * (1 - 1e-4))) > slack


def test_a_hundred_rounds() -> None:
    assert times(0.1, 100).epsilon == pytest.approx(10)
    assert times(0.1, 100, 1e-6).epsilon == pytest.approx(4.7746, abs=1e-4)
    advanced = 0.1 * math.sqrt(2 * 100 * math.log(1e6)) + 100 * 0.1 * math.expm1(0.1)
    assert times(0.1, 100, 1e-6).epsilon < advanced


def test_without_slack_epsilons_add_up() -> None:
    for k in (1, 2, 7):
        promise = Promise(LDP, 0.3, 1e-7)
        assert rounds(promise, k) == Guarantee((promise,)).times(k).promises[0]


def test_deltas_and_slack_add_up() -> None:
    stated = times(0.1, 100, 1e-6, delta=1e-8)
    assert stated.delta >= 100 * 1e-8 + 1e-6
    assert stated.delta == pytest.approx(2e-6)
    assert stated.delta >= 1 - (1 - 1e-8) ** 100 * (1 - 1e-6)
    assert times(0.1, 100, 0.5, delta=0.9).delta == 1.0


@settings(deadline=None)
@given(st.floats(1e-6, 20), st.integers(1, 10**6), st.floats(1e-15, 0.9))
def test_never_more_than_the_sum(epsilon: float, k: int, slack: float) -> None:
    basic, made = times(epsilon, k), times(epsilon, k, slack)
    assert 0 <= made.epsilon <= basic.epsilon
    assert made.delta in (0.0, slack)
    assert times(epsilon, k, min(0.95, 2 * slack)).epsilon <= made.epsilon * (1 + 1e-6)


def test_many_rounds_go_to_the_gaussian() -> None:
    from sottovoce.accounting import delta_gaussian

    k, epsilon = 10**6, 1e-3
    stated = times(epsilon, k, 1e-6).epsilon
    assert delta_gaussian(stated, 1 / (epsilon * math.sqrt(k))) == pytest.approx(1e-6, rel=0.02)


@pytest.mark.parametrize("promise", [Promise(LDP, 0.0), Promise(LDP, math.inf), Promise(DP, 1e308)])
def test_extremes(promise: Promise) -> None:
    stated = rounds(promise, 3, slack=1e-6)
    assert stated.epsilon >= promise.epsilon
    assert times(20.0, 1000, 1e-6).epsilon <= 20_000


def test_everything_else_stays() -> None:
    for promise in (shuffle(1.0, 1000, 1e-6), *GRR(4, epsilon=0.1).guarantee.promises):
        stated = rounds(promise, 50, slack=1e-6)
        assert stated.subject == promise.subject
        assert stated.assuming == promise.assuming


@pytest.mark.parametrize("k", [1, 2])
def test_notions_that_do_not_compose_are_refused(k: int) -> None:
    with pytest.raises(GuaranteeError, match="do not add up over rounds"):
        rounds(Promise(LIP, 1.0, neighbours=Neighbours.BELIEFS), k, slack=1e-6)


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "2", None, math.nan])
def test_wrong_rounds(k) -> None:
    with pytest.raises(ParameterError, match="k is"):
        rounds(Promise(LDP, 1.0), k)


@pytest.mark.parametrize("slack", [-1e-6, 1, math.nan, True, "0", None])
def test_wrong_slack(slack) -> None:
    with pytest.raises(ParameterError, match="slack"):
        rounds(Promise(LDP, 1.0), 2, slack=slack)


@pytest.mark.parametrize("promise", [1.0, None, Guarantee((Promise(LDP, 1.0),))])
def test_only_a_promise_is_composed(promise) -> None:
    with pytest.raises(ParameterError, match="a promise is needed"):
        rounds(promise, 2)
