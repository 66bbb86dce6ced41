"""Guarantees: what adds up, what does not, and what the words say."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import GRR, Guarantee, Promise
from sottovoce.errors import GuaranteeError, ParameterError
from sottovoce.promise import LDP, LIP, composed

EPSILONS = st.floats(min_value=0, max_value=20, allow_subnormal=True)


def one(epsilon: float, **other: object) -> Guarantee:
    return Guarantee((Promise(LDP, epsilon, **other),))


@given(st.lists(EPSILONS, min_size=1, max_size=20))
def test_a_sum_is_never_below_the_true_one(epsilons: list[float]) -> None:
    total = composed(one(epsilon) for epsilon in epsilons).epsilon
    exact = sum(map(Fraction, epsilons))
    assert Fraction(total) >= exact
    assert Fraction(total) <= exact + Fraction(len(epsilons)) * Fraction(math.ulp(20.0 * 20))


def test_a_tenth_three_times_is_more_than_three_tenths() -> None:
    # The float 0.1 is a little more than a tenth, and 0.1 + 0.1 + 0.1 must not be rounded down.
    assert Fraction(one(0.1).times(3).epsilon) >= 3 * Fraction(0.1)
    assert one(0.5).times(4).epsilon == 2.0


@given(EPSILONS, st.integers(1, 30))
def test_times_is_the_product_rounded_up_and_no_more_than_repeated_addition(
    epsilon: float, releases: int
) -> None:
    total = one(epsilon).times(releases)
    exact = Fraction(epsilon) * releases
    assert Fraction(math.nextafter(total.epsilon, -1)) < exact <= Fraction(total.epsilon)
    assert total.epsilon <= composed([one(epsilon)] * releases).epsilon


@pytest.mark.parametrize("releases", [0, -1, 1.0, True, "2", None])
def test_times_takes_whole_numbers_from_one(releases: object) -> None:
    with pytest.raises(ParameterError, match="releases"):
        one(1.0).times(releases)


@pytest.mark.parametrize(
    "other",
    [{"neighbours": "one more person"}, {"unit": "a person"}, {"against": "the public"}],
    ids=lambda other: next(iter(other)),
)
def test_promises_about_different_things_do_not_add_up(other: dict) -> None:
    with pytest.raises(GuaranteeError, match="different things"):
        one(1.0) + one(1.0, **other)


def under_a_prior(epsilon: float, free: float, **other: object) -> Guarantee:
    return Guarantee((Promise(LIP, epsilon, **other), Promise(LDP, free, **other)))


def test_notions_that_do_not_compose_are_refused() -> None:
    lip = Guarantee((Promise(LIP, 1.0),))
    with pytest.raises(GuaranteeError, match="do not add up"):
        lip + lip
    with pytest.raises(GuaranteeError, match="different things"):
        lip + one(1.0)
    other = Guarantee((Promise("another notion", 1.0),))
    for refused in (lambda: other + other, lambda: other.times(2)):
        with pytest.raises(GuaranteeError, match="do not add up"):
            refused()


def test_a_promise_under_a_prior_is_left_out_where_another_remains() -> None:
    both = under_a_prior(1.0, 1.25)
    assert (both + both).promises == (Promise(LDP, 2.5),)
    assert (both + one(0.5)).promises == (one(0.5) + both).promises == (Promise(LDP, 1.75),)
    assert composed([both] * 3).epsilon == 3.75
    strange = Guarantee((Promise(LDP, 1.0), Promise("another notion", 1.0)))
    with pytest.raises(GuaranteeError, match="different things"):
        both + strange  # only a promise under a prior may be left out


@given(st.floats(0.01, 5), st.floats(1, 2), st.integers(2, 30))
def test_repeated_reports_under_a_prior(epsilon: float, factor: float, k: int) -> None:
    free = epsilon * factor
    lip, ldp = under_a_prior(epsilon, free).times(k).promises
    assert Fraction(ldp.epsilon) >= k * Fraction(free)
    exact = min((2 * k - 1) * Fraction(epsilon), k * Fraction(free))
    assert exact <= Fraction(lip.epsilon) <= exact * (1 + Fraction(1, 10**12))
    assert lip.epsilon > k * epsilon * (1 - 1e-12)


def test_only_a_free_promise_to_the_same_people_covers_one_under_a_prior() -> None:
    weak = under_a_prior(4.0, 5.0, unit="an answer of the weak")
    strong = under_a_prior(0.5, 0.6, unit="an answer of the strong")
    menu = Guarantee(weak.promises + strong.promises)
    assert [p.epsilon for p in menu.times(3).promises] == [15.0, 15.0, *(
        p.epsilon for p in strong.times(3).promises
    )]  # fmt: skip
    seen = Guarantee((Promise(LIP, 4.0), Promise(LDP, 0.5, against="another")))
    assert seen.times(3).promises[0].epsilon == 20.0
    loose = Guarantee((Promise(LIP, 4.0), Promise(LDP, 0.5, delta=0.1)))
    assert loose.times(3).promises[0].epsilon == 20.0  # what may fail does not cover it
    assert Guarantee((Promise(LIP, 1.0),)).times(4).epsilon == 7.0


def test_words_of_a_promise_under_a_prior() -> None:
    words = " ".join(Promise(LIP, 1.0, neighbours="any answer").words().split())
    assert "any answer stays between 1/2.72 and 2.72 times as likely as before" in words
    assert "% sure" not in words


def test_several_promises_add_up_by_subject() -> None:
    both = Guarantee((Promise(LDP, 1.0), Promise(LDP, 2.0, against="the public")))
    turned = Guarantee(both.promises[::-1])
    total = both + turned
    assert [p.epsilon for p in total.promises] == [2.0, 4.0]
    with pytest.raises(GuaranteeError, match="2 promises"):
        _ = both.epsilon
    with pytest.raises(GuaranteeError):
        both + one(1.0)


def test_deltas_add_up_to_at_most_one() -> None:
    total = one(1.0, delta=0.25) + one(1.0, delta=0.5)
    assert total.delta == 0.75
    assert (total + total).delta == 1.0


def test_assumptions_are_joined_without_repetition() -> None:
    total = one(1.0, assuming=("a", "b")) + one(1.0, assuming=("b", "c"))
    assert total.promises[0].assuming == ("a", "b", "c")


def test_nothing_plus_something_is_nothing() -> None:
    none = Guarantee.none("a reason")
    assert (none + one(1.0)).reason == "a reason"
    assert str(none) == "No privacy is promised: a reason."
    with pytest.raises(GuaranteeError, match="a reason"):
        _ = none.epsilon
    with pytest.raises(GuaranteeError, match="nothing to compose"):
        composed([])


@pytest.mark.parametrize(
    "wrong", [{"epsilon": -1.0}, {"epsilon": math.nan}, {"epsilon": 1.0, "delta": -0.1},
              {"epsilon": 1.0, "delta": 1.1}, {"epsilon": 1.0, "delta": math.nan}],
    ids=str,
)  # fmt: skip
def test_meaningless_promises_are_refused(wrong: dict) -> None:
    with pytest.raises(GuaranteeError, match="means nothing"):
        Promise(LDP, **wrong)


def test_adding_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        one(1.0) + 1.0


def numbers(words: str) -> tuple[float, float, float]:
    """epsilon, ratio and belief as the words say them."""
    flat = " ".join(words.split())
    epsilon = re.search(r"epsilon = (\S+?)[:,]", flat)
    ratio = re.search(r"at most (\S+) times", flat)
    belief = re.search(r"at most (\d+)% sure", flat)
    assert epsilon
    assert ratio
    assert belief
    return float(epsilon[1]), float(ratio[1]), int(belief[1]) / 100


@given(st.floats(min_value=1e-6, max_value=60))
def test_words_never_promise_more_than_the_number(epsilon: float) -> None:
    # A factor of 4.4817 is not "at most 4.48".
    said, ratio, belief = numbers(str(one(epsilon)))
    assert epsilon <= said <= epsilon * (1 + 1e-5)
    assert math.exp(epsilon) * (1 - 1e-12) <= ratio <= math.exp(epsilon) * 1.01
    true = 1 / (1 + math.exp(-epsilon))
    assert true - 1e-12 <= belief <= true + 0.0100001


def test_words_of_known_cases() -> None:
    assert numbers(str(one(1.0))) == (1.0, 2.72, 0.74)
    assert numbers(str(one(0.1))) == (0.1, 1.11, 0.53)
    assert numbers(str(one(1.5)))[1] == 4.49
    assert numbers(str(one(0.0))) == (0.0, 1.0, 0.5)


@pytest.mark.parametrize("epsilon", [700.0, 800.0, 1e308, math.inf])
def test_a_huge_epsilon_can_still_be_said(epsilon: float) -> None:
    said, ratio, belief = numbers(str(one(epsilon)))
    assert said >= epsilon * 0.999999
    assert ratio >= 1e300
    assert belief == 1.0


def test_sums_beyond_all_numbers_are_infinite() -> None:
    assert one(1e308).times(3).epsilon == math.inf
    assert (one(math.inf) + one(1.0)).epsilon == math.inf


def test_words_name_everything_that_matters() -> None:
    promise = Promise(LDP, 1.0, delta=1e-9, neighbours="N", unit="U", against="A", assuming=("S",))
    flat = " ".join(promise.words().split())
    for part in (
        LDP,
        "for N",
        "U, against A",
        "Assuming: S.",
        "delta = 1e-09",
        "probability 1e-09",
    ):
        assert part in flat


def test_as_dict_is_plain_data() -> None:
    import json

    about = GRR(3, epsilon=1.0).guarantee.as_dict()
    assert json.loads(json.dumps(about)) == about
    assert about["promises"][0]["epsilon"] == 1.0
    assert about["words"] == str(GRR(3, epsilon=1.0).guarantee)


def test_about_moves_the_promise_to_a_larger_unit() -> None:
    moved = one(1.0).about("all answers", "any two ways")
    assert moved.promises[0].unit == "all answers"
    assert moved.promises[0].neighbours == "any two ways"
    assert moved.epsilon == 1.0
