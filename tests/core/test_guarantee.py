"""Guarantees: what adds up, what does not, and what the words say."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import GRR, Guarantee, Promise
from sottovoce.accounting import rounds
from sottovoce.errors import GuaranteeError, ParameterError
from sottovoce.promise import DP, LDP, LIP, Against, Neighbours, Notion, Protected, Unit, composed
from sottovoce.promise.words import common_promise, level_cells, levels_words

from .guarantees import lip, one

EPSILONS = st.floats(min_value=0, max_value=20, allow_subnormal=True)


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
    [
        {"neighbours": Neighbours.ADD_REMOVE},
        {"unit": Unit(Protected.STUDY)},
        {"unit": Unit(level="strong")},
        {"unit": Unit(group="north")},
        {"unit": Unit(attribute="age")},
        {"against": Against.RESULT},
    ],
    ids=str,
)
def test_promises_about_different_things_do_not_add_up(other: dict) -> None:
    with pytest.raises(GuaranteeError, match="different things"):
        one(1.0) + one(1.0, **other)


def under_a_prior(epsilon: float, free: float, **other: object) -> Guarantee:
    return Guarantee((lip(epsilon, **other), Promise(LDP, free, **other)))


def test_notions_that_do_not_compose_are_refused() -> None:
    under = Guarantee((lip(1.0),))
    with pytest.raises(GuaranteeError, match="do not add up"):
        under + under
    with pytest.raises(GuaranteeError, match="different things"):
        under + one(1.0)
    with pytest.raises(GuaranteeError, match="different things"):
        one(1.0) + Guarantee((Promise(DP, 1.0),))


def test_promises_that_do_not_say_what_neighbours_are_do_not_add_up() -> None:
    """Of one mechanism, changed records; of the other, one record more or less."""
    about = {"neighbours": Neighbours.UNSTATED, "against": Against.RESULT}
    guarantee = Guarantee((Promise(DP, 1.0, **about),))
    with pytest.raises(GuaranteeError, match="do not say which data sets are neighbours"):
        _ = guarantee + guarantee
    assert guarantee.times(3).epsilon == 3.0
    assert rounds(Promise(DP, 0.1, **about), 100, slack=1e-6).delta == 1e-6


def test_a_promise_under_a_prior_is_left_out_where_another_remains() -> None:
    both = under_a_prior(1.0, 1.25)
    assert (both + both).promises == (Promise(LDP, 2.5),)
    assert (both + one(0.5)).promises == (one(0.5) + both).promises == (Promise(LDP, 1.75),)
    assert composed([both] * 3).epsilon == 3.75
    strange = Guarantee((Promise(LDP, 1.0), Promise(DP, 1.0)))
    with pytest.raises(GuaranteeError, match="different things"):
        both + strange  # only a promise under a prior may be left out


@given(st.floats(0.01, 5), st.floats(1, 2), st.integers(2, 30))
def test_repeated_reports_under_a_prior(epsilon: float, factor: float, k: int) -> None:
    free = epsilon * factor
    under, ldp = under_a_prior(epsilon, free).times(k).promises
    assert Fraction(ldp.epsilon) >= k * Fraction(free)
    exact = min((2 * k - 1) * Fraction(epsilon), k * Fraction(free))
    assert exact <= Fraction(under.epsilon) <= exact * (1 + Fraction(1, 10**12))
    assert under.epsilon > k * epsilon * (1 - 1e-12)


def test_only_a_free_promise_to_the_same_people_covers_one_under_a_prior() -> None:
    weak = under_a_prior(4.0, 5.0, unit=Unit(level="weak"))
    strong = under_a_prior(0.5, 0.6, unit=Unit(level="strong"))
    menu = Guarantee(weak.promises + strong.promises)
    assert [p.epsilon for p in menu.times(3).promises] == [15.0, 15.0, *(
        p.epsilon for p in strong.times(3).promises
    )]  # fmt: skip
    seen = Guarantee((lip(4.0), Promise(LDP, 0.5, against=Against.RESULT)))
    assert seen.times(3).promises[0].epsilon == 20.0
    loose = Guarantee((lip(4.0), Promise(LDP, 0.5, delta=0.1)))
    assert loose.times(3).promises[0].epsilon == 20.0  # what may fail does not cover it
    assert Guarantee((lip(1.0),)).times(4).epsilon == 7.0


def test_words_of_a_promise_under_a_prior() -> None:
    words = " ".join(lip(1.0).words().split())
    assert "any answer stays between 1/2.72 and 2.72 times as likely as before" in words
    assert "% sure" not in words


def test_several_promises_add_up_by_subject() -> None:
    both = Guarantee((Promise(LDP, 1.0), Promise(LDP, 2.0, against=Against.RESULT)))
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
    belief = re.search(r"at most (\d+(?:\.\d+)?)% sure|may become (certain)", flat)
    assert epsilon
    assert ratio
    assert belief
    sure = 1.0 if belief[2] else float(belief[1]) / 100
    return float(epsilon[1]), float(ratio[1]), sure


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
    assert belief == 1.0  # in words: nothing is said to be at most 100 % sure


def test_sums_beyond_all_numbers_are_infinite() -> None:
    assert one(1e308).times(3).epsilon == math.inf
    assert (one(math.inf) + one(1.0)).epsilon == math.inf


def test_words_name_everything_that_matters() -> None:
    unit = Unit(Protected.STUDY, level="strong", group="north")
    promise = Promise(DP, 1.0, 1e-9, unit=unit, against=Against.RESULT, assuming=("S",))
    flat = " ".join(promise.words().split())
    for part in (
        "epsilon = 1, delta = 1e-09: differential privacy",
        "all answers to the study given by one person in 'north' who chose the level 'strong'",
        "against anyone who sees the result.",
        "for any two ways to answer of one person, with everyone else's unchanged,",
        "plus a probability of 1e-09.",
        "Assuming: S.",
    ):
        assert part in flat


EVERY_UNIT = [
    *(Unit(protects) for protects in Protected),
    Unit(level="strong"),
    Unit(group="north"),
    Unit(attribute="age"),
    Unit(Protected.RECORD, answers=3),
    Unit(Protected.RECORD, "strong", "north", answers=2),
]


def test_different_subjects_have_different_words_and_lines() -> None:
    promises = [
        Promise(notion, 1.0, neighbours=neighbours, unit=unit, against=against)
        for notion in Notion
        for neighbours in Neighbours
        for unit in EVERY_UNIT
        for against in Against
        if (notion is LIP) == (neighbours is Neighbours.BELIEFS)
    ]
    assert len({promise.words() for promise in promises}) == len(promises)
    seen = {(p.unit, p.against, p.notion is LIP): p.line() for p in promises}
    assert len(set(seen.values())) == len(seen)


def test_lines() -> None:
    assert one(1.0).lines() == ("ε = 1 for each answer, against anyone who sees the reports",)
    assert Guarantee.none("a reason").lines() == ("no privacy is promised: a reason",)
    unit = Unit(attribute="age", group="north").at_level("strong")
    assert Promise(DP, 0.1, 1e-6, unit=unit, against=Against.RESULT).line() == (
        "ε = 0.1, δ = 1e-06 for each answer to 'age' in 'north' at the level 'strong', against "
        "anyone who sees the result"
    )
    assert "under the stated prior" in lip(1.0).line()


def test_one_line_for_all_promises() -> None:
    whole = Promise(LDP, 9.0, unit=Unit(Protected.RECORD, answers=3))
    assert Guarantee((whole, Promise(LDP, 3.0))).line() == (
        "ε = 9 for all 3 reported answers of a person together, ε = 3 for each answer, against "
        "anyone who sees the reports"
    )
    seen = (Promise(LDP, 1.0), Promise(DP, 0.1, 1e-6, against=Against.RESULT))
    assert Guarantee(seen).line() == "; ".join(promise.line() for promise in seen)
    many = tuple(Promise(LDP, k / 2, unit=Unit(level=str(k))) for k in range(1, 9))
    assert Guarantee(many).line() == (
        "ε = 0.5 to 4, by level, for each answer, against anyone who sees the reports"
    )
    deltas = zip("abcde", (1e-9, 1e-9, 0.2, 1e-9, 1e-9), strict=True)
    seen = tuple(
        Promise(DP, k / 2, delta, unit=Unit(group=name), against=Against.RESULT)
        for k, (name, delta) in enumerate(deltas, 1)
    )
    assert Guarantee(seen).line() == (  # also where one in the middle has the largest delta
        "ε = 0.5 to 2.5, δ up to 0.2, by group, for each answer, against anyone who sees the result"
    )
    alone = (Promise(LDP, 1.0, unit=Unit(level="a", group="n")),)
    assert Guarantee(alone).line() == alone[0].line()
    parts = tuple(Promise(LDP, e, unit=Unit(attribute=name)) for name, e in (("a", 1), ("b", 2)))
    assert Guarantee(parts).line() == (
        "ε = 1 (a), 2 (b) for each answer, against anyone who sees the reports"
    )
    assert Guarantee.none("a reason").line() == "no privacy is promised: a reason"


@pytest.mark.parametrize(
    ("epsilon", "guess"),
    [(0.0, "50"), (1.0, "74"), (4.0, "99"), (5.0, "99.4"), (8.0, "99.97"), (20.0, "99.9999998")],
)
def test_nobody_is_said_to_be_100_per_cent_sure(epsilon: float, guess: str) -> None:
    promise = Promise(LDP, epsilon)
    assert str(promise.guess) == guess
    assert f"ends up at most {guess}% sure" in " ".join(promise.words().split())
    for endless in (Promise(LDP, 900.0), Promise(LDP, math.inf), Promise(LDP, 1.0, 1.0)):
        assert "100%" not in endless.words()


def test_what_steers_a_terminal_is_escaped() -> None:
    unit = Unit(attribute="\x1b[31m\u202e{}{0}", level="{1}", group="{")
    guarantee = one(1.0, unit=unit, assuming=("\x1b]0;\u202e\ud800",))
    texts = (str(guarantee), *guarantee.lines(), str(Guarantee.none("\x1b")))
    assert all(line.isprintable() for text in texts for line in text.splitlines())


def test_a_table_of_levels_bounds_no_belief_that_is_not_bounded_and_escapes_assumptions() -> None:
    levels = (("strong", 1.0), ("weak", 40.0))
    about = ("the device is honest\x1b[31m",)
    promises = tuple(Promise(LDP, e, unit=Unit(level=n), assuming=about) for n, e in levels)
    assert [level_cells(promise)[2] for promise in promises] == ["74 %", "no bound"]
    shared = common_promise(Guarantee(promises))
    assert shared is not None
    assert all(line.isprintable() for line in levels_words(shared))


def test_as_dict_is_plain_data() -> None:
    about = GRR(3, epsilon=1.0).guarantee.as_dict()
    assert json.loads(json.dumps(about)) == about
    assert about["promises"][0]["epsilon"] == 1.0
    assert about["words"] == str(GRR(3, epsilon=1.0).guarantee)


def test_about_moves_the_promise_to_a_larger_unit() -> None:
    moved = one(1.0).about(Unit(Protected.STUDY))
    assert moved.promises[0].unit == Unit(Protected.STUDY)
    assert moved.epsilon == 1.0


def test_units_at_levels_and_in_groups() -> None:
    assert Unit().at_level("a").at_level("a") == Unit(level="a")
    with pytest.raises(GuaranteeError, match="different people"):
        Unit(level="a").at_level("b")
    assert Unit(level="a").in_group("g") == Unit(level="a", group="g")
    assert Unit(group="g").in_group("h") != Unit(group="g")


@pytest.mark.parametrize(
    "wrong",
    [
        {"notion": "local differential privacy"},
        {"notion": "ldp"},
        {"epsilon": "1"},
        {"epsilon": True},
        {"epsilon": 10**400},
        {"delta": None},
        {"neighbours": "substitution"},
        {"neighbours": Neighbours.BELIEFS},
        {"unit": "one answer of one person"},
        {"against": "reports"},
        {"assuming": "a bare sentence"},
        {"assuming": (1,)},
        {"notion": LIP},
        {"notion": LIP, "neighbours": Neighbours.BELIEFS, "delta": 0.1},
    ],
    ids=lambda wrong: str(wrong)[:60],
)
def test_promises_are_typed(wrong: dict) -> None:
    with pytest.raises(GuaranteeError):
        Promise(**{"notion": LDP, "epsilon": 1.0} | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"protects": "answer"},
        {"level": 1},
        {"group": b"north"},
        {"attribute": 0},
        {"protects": Protected.STUDY, "attribute": "age"},
        {"answers": 2},
        {"protects": Protected.RECORD, "answers": 0},
        {"protects": Protected.RECORD, "answers": True},
    ],
    ids=str,
)
def test_units_are_typed(wrong: dict) -> None:
    with pytest.raises(GuaranteeError):
        Unit(**wrong)


@pytest.mark.parametrize("wrong", [None, [Promise(LDP, 1.0)], (1.0,), Promise(LDP, 1.0)], ids=str)
def test_a_guarantee_is_a_tuple_of_promises(wrong: object) -> None:
    with pytest.raises(GuaranteeError, match="tuple of promises"):
        Guarantee(wrong)
    with pytest.raises(GuaranteeError, match="reason"):
        Guarantee((), None)
