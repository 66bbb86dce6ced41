"""Bad menus, grids, levels and rates are refused, with a message that says what is allowed."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sottovoce import GRR, OUE, Attribute, Domain, Duchi, Levels, Range, Sampled
from sottovoce.errors import EstimateError, GuaranteeError, ParameterError, WireError

GRR3, OUE3 = GRR(3, epsilon=1.0), OUE(3, epsilon=2.0)
MENU = Levels({"strong": GRR3, "weak": OUE3})
GRID = Sampled(GRR3, rate=[0.1, 0.5])
NAN, INF = float("nan"), float("inf")


def short(value: object) -> str:
    """A name for a test: the same in every process, whatever the order of a set."""
    return repr(sorted(value, key=repr) if isinstance(value, set) else value)[:24]


# --- grids of rates -----------------------------------------------------------------------------

NO_RATES = [
    *(NAN, INF, -0.1, 1.0000001, -1, 2, 1e-10, 5e-324),
    *([0.5, NAN], [0.5, 1.1], [-0.1], [], (), np.zeros(0)),
    *(True, False, [True], [0.5, True], np.True_, np.array([True])),
    *("0.5", ["0.5"], "all", b"0.5", None, [None], [0.5, None], 0.5j, [[0.1], [0.5]], [[0.1], 2]),
    *(SimpleNamespace(), {0.1, 0.5}, 10**400),
]


@pytest.mark.parametrize("rate", NO_RATES, ids=short)
def test_a_grid_of_something_else_is_refused(rate: Any) -> None:
    with pytest.raises(ParameterError, match=r"rate is .*(from 0 to 1|from 1e-09 to 1)"):
        Sampled(GRR3, rate=rate)


@pytest.mark.parametrize("rate", [{0: 0.1, 1: 0.9, 2: 0.9}, lambda value: 0.1 + 0.4 * value, max])
def test_rates_by_answer_are_refused_with_what_they_cost(rate: Any) -> None:
    with pytest.raises(GuaranteeError, match=r"depend on people's own answers.*true"):
        Sampled(GRR3, rate=rate)
    with pytest.raises(GuaranteeError, match=r"depend on people's own answers.*true"):
        GRID.randomise([0, 1, 2], rate=rate)


@pytest.mark.parametrize("rate", [[0.5, 0.5], [0.1, 0.5, 0.1], [0.0, -0.0, 0.5]], ids=short)
def test_a_rate_twice_in_the_grid_is_refused(rate: Any) -> None:
    with pytest.raises(ParameterError, match=r"give each once, and at most 1024"):
        Sampled(GRR3, rate=rate)


def test_a_grid_has_at_most_1024_rates() -> None:
    assert len(Sampled(GRR3, rate=np.linspace(0, 1, 1024)).rates) == 1024
    with pytest.raises(ParameterError, match=r"1025 rates.*at most 1024"):
        Sampled(GRR3, rate=np.linspace(0, 1, 1025))


@pytest.mark.parametrize("rate", [0, [0], 0.0, -0.0], ids=short)
def test_nobody_at_all_is_refused(rate: Any) -> None:
    with pytest.raises(ParameterError, match="every rate is 0"):
        Sampled(GRR3, rate=rate)


@pytest.mark.parametrize(
    "rate",
    [1, 0.5, np.float32(0.5), Fraction(1, 3), 1e-9, [0.25, 0], (1, 0.5), np.array([0.1]), range(2)],
    ids=short,
)
def test_numbers_of_every_kind_are_taken(rate: Any) -> None:
    collection = Sampled(GRR3, rate=rate)
    expected = rate if isinstance(rate, (list, tuple, range, np.ndarray)) else [rate]
    assert collection.rates == tuple(map(float, expected))
    assert all(type(one) is float for one in collection.rates)


@pytest.mark.parametrize("inner", [None, 0.5, GRR, "grr", [GRR3]], ids=short)
def test_only_a_mechanism_is_sampled(inner: Any) -> None:
    with pytest.raises(ParameterError, match=r"is not a mechanism.*GRR\(4"):
        Sampled(inner, rate=0.5)


def test_people_are_sampled_once() -> None:
    once = Sampled(GRR3, rate=0.5)
    for inner in (once, Levels({"a": once}), Levels({"a": GRR3, "b": once})):
        with pytest.raises(ParameterError, match="sampled already; multiply"):
            Sampled(inner, rate=0.5)


# --- menus --------------------------------------------------------------------------------------


@pytest.mark.parametrize("menu", [{}, [], None, "ab", GRR3, [("a", GRR3)], {"a", "b"}], ids=short)
def test_a_menu_is_a_mapping_with_something_in_it(menu: Any) -> None:
    with pytest.raises(ParameterError, match="mapping of 1 to 1024 names"):
        Levels(menu)


def test_a_menu_has_at_most_1024_levels() -> None:
    assert len(Levels(dict.fromkeys(map(str, range(1024)), GRR3)).menu) == 1024
    with pytest.raises(ParameterError, match="1 to 1024"):
        Levels(dict.fromkeys(map(str, range(1025)), GRR3))


@pytest.mark.parametrize("name", ["", "  ", 1, None, ("a",)], ids=short)
def test_levels_have_names(name: Any) -> None:
    with pytest.raises(ParameterError, match="non-empty text"):
        Levels({name: GRR3})


@pytest.mark.parametrize("mechanism", [1.0, None, GRR, "grr"], ids=short)
def test_levels_are_mechanisms(mechanism: Any) -> None:
    with pytest.raises(ParameterError, match=r"give a mechanism.*Levels\.of"):
        Levels({"a": mechanism})


@pytest.mark.parametrize(
    "other",
    [
        GRR(4, epsilon=1.0),
        GRR(["a", "b", "c"], epsilon=1.0),
        GRR(Attribute("q", 3), epsilon=1.0),
        GRR(Domain(3, missing="public"), epsilon=1.0),
        Duchi((0, 1), epsilon=1.0),
    ],
    ids=lambda mechanism: repr(mechanism.domain)[:40],
)
def test_all_levels_answer_one_question(other: Any) -> None:
    with pytest.raises(ParameterError, match=r"'b'.*all levels answer the same question"):
        Levels({"a": GRR3, "b": other})


def test_bounds_of_numbers_must_agree_too() -> None:
    menu = {"a": Duchi((0, 1), epsilon=1.0), "b": Duchi(Range("number", 0, 2), epsilon=1.0)}
    with pytest.raises(ParameterError, match="same question"):
        Levels(menu)


def test_menus_do_not_nest() -> None:
    for inner in (MENU, Sampled(MENU, rate=0.5)):
        with pytest.raises(ParameterError, match="menu itself; put all levels in one menu"):
            Levels({"a": GRR3, "b": inner})


@pytest.mark.parametrize("epsilons", [[0.5, 4], 0.5, None, {"a"}], ids=short)
def test_epsilons_have_names(epsilons: Any) -> None:
    with pytest.raises(ParameterError, match=r"\{'strong': 0.5, 'weak': 4\}"):
        Levels.of(GRR, 3, epsilons)


@pytest.mark.parametrize("epsilon", [0, -1, NAN, 21, True, "1", None])
def test_bad_epsilons_are_refused(epsilon: Any) -> None:
    with pytest.raises(ParameterError, match=r"epsilon is .*20"):
        Levels.of(GRR, 3, {"a": 1.0, "b": epsilon})


def test_a_study_has_32_bytes() -> None:
    for make in (lambda s: Levels({"a": GRR3}, study=s), lambda s: Sampled(GRR3, rate=1, study=s)):
        with pytest.raises(ParameterError, match="32 bytes"):
            make(b"short")


# --- what people choose -------------------------------------------------------------------------

SAMPLED_MENU = Sampled(MENU, rate=1e-9)  # hardly anyone is drawn: everyone's level is checked
menus = pytest.mark.parametrize("wrapper", [MENU, SAMPLED_MENU], ids=["levels", "sampled"])


@menus
@pytest.mark.parametrize("level", ["loud", ["strong", "loud", "weak"], ["strong", 0, 1], [0, 1, 0]])
def test_an_unknown_level_is_refused_with_the_known_ones(wrapper: Any, level: Any) -> None:
    with pytest.raises(ParameterError, match=r"there is no level .*'strong', 'weak'"):
        wrapper.randomise([0, 1, 2], level=level)


@menus
def test_levels_must_be_said(wrapper: Any) -> None:
    with pytest.raises(ParameterError, match=r"no levels were given.*\['strong', 'weak'\]"):
        wrapper.randomise([0, 1, 2])


@menus
@pytest.mark.parametrize(
    "level",
    [
        ["strong", None, "weak"],
        np.array(["strong", None, "weak"], object),
        pd.Series(["strong", None, "weak"]),
        pl.Series(["strong", None, "weak"]),
        ["strong", NAN, "weak"],
    ],
    ids=lambda level: type(level).__module__,
)
def test_someone_without_a_level_is_refused(wrapper: Any, level: Any) -> None:
    with pytest.raises(ParameterError, match=r"1 of [0-9]+ levels are missing.*'strong', 'weak'"):
        wrapper.randomise([0, 1, 2], level=level)


@menus
@pytest.mark.parametrize("level", [["strong"], ["strong"] * 4, []], ids=len)
def test_everyone_has_one_level(wrapper: Any, level: Any) -> None:
    with pytest.raises(ParameterError, match=rf"level has {len(level)} entries for 3 people"):
        wrapper.randomise([0, 1, 2], level=level)


@menus
@pytest.mark.parametrize("level", [5, {"strong": 1}, b"strong", np.array("strong")], ids=short)
def test_levels_are_a_column_of_names(wrapper: Any, level: Any) -> None:
    with pytest.raises(ParameterError, match=r"level is .*'strong', 'weak', or a column"):
        wrapper.randomise([0, 1, 2], level=level)


@pytest.mark.parametrize("rate", [0.2, [0.1, 0.5, 0.2], NAN, [0.1, NAN, 0.5], [0, 1, 0.1], 1e300])
def test_a_rate_outside_the_grid_is_refused(rate: Any) -> None:
    with pytest.raises(ParameterError, match=r"outside the public grid.*0.1, 0.5"):
        GRID.randomise([0, 1, 2], rate=rate)


@pytest.mark.parametrize("bits", [np.float16, np.float32])
def test_rates_of_fewer_bits_are_those_of_the_grid(bits: Any) -> None:
    rates = np.array([0.1, 0.5, 0.1], bits)
    assert GRID.ways()[0].rate == Sampled(GRR3, rate=rates[:2]).ways()[0].rate == 0.1
    for _ in range(20):
        assert len(GRID.randomise([0, 1, 2], rate=rates)) <= 3
    assert len(GRID.randomise([0, 1, 2], rate=rates[0])) <= 3
    with pytest.raises(ParameterError, match=r"the rate 0\.2 is outside"):
        GRID.randomise([0, 1, 2], rate=np.array([0.1, 0.2, 0.5], bits))


@pytest.mark.parametrize("rate", ["0.1", ["0.1"] * 3, True, [True] * 3, [None] * 3, [[0.1]] * 3])
def test_a_rate_is_a_number(rate: Any) -> None:
    with pytest.raises(ParameterError, match=r"rate is .*from 0 to 1"):
        GRID.randomise([0, 1, 2], rate=rate)


def test_rates_must_be_said_where_there_are_several() -> None:
    with pytest.raises(ParameterError, match=r"no rates were given.*0.1, 0.5"):
        GRID.randomise([0, 1, 2])
    assert len(Sampled(GRR3, rate=1).randomise([0, 1, 2])) == 3


@pytest.mark.parametrize("rate", [[0.1], [0.1] * 4, []], ids=len)
def test_everyone_has_one_rate(rate: Any) -> None:
    for wrapper in (GRID, Sampled(GRR3, rate=0.1)):
        with pytest.raises(ParameterError, match=rf"rate has {len(rate)} entries for 3 people"):
            wrapper.randomise([0, 1, 2], rate=rate)
    menu = Levels({"a": GRID})
    with pytest.raises(ParameterError, match=rf"rate has {len(rate)} entries for 3 people"):
        menu.randomise([0, 1, 2], level="a", rate=rate)


def test_a_choice_that_nobody_asks_for_is_refused() -> None:
    with pytest.raises(ParameterError, match="everyone reports here"):
        MENU.randomise([0], level="weak", rate=0.5)
    with pytest.raises(ParameterError, match="no levels to choose from"):
        GRID.randomise([0], rate=0.5, level="weak")
    for choice in ({"rate": 0.5}, {"level": "weak"}):
        with pytest.raises(ParameterError, match="leave it out"):
            GRR3.randomise([0], **choice)


def test_a_way_says_everything() -> None:
    strong, weak = MENU.ways()
    assert MENU.aggregate(MENU.randomise([0, 1], way=weak)).tables["asked"].tolist() == [0, 2]
    with pytest.raises(ParameterError, match="leave these out"):
        MENU.randomise([0], way=weak, level="weak")
    for other in (GRID, GRR3):
        with pytest.raises(ParameterError, match="not a way to take part here"):
            MENU.randomise([0], way=other.ways()[0])
    assert strong.label == "level 'strong'"
    assert GRID.ways()[0].label == "rate 0.1"
    assert GRR3.ways()[0].label == ""


def test_a_rate_says_nothing_to_a_level_where_everyone_reports() -> None:
    menu = Levels({"some": GRID, "all": GRR3})
    reports = menu.randomise([0, 1, 2], level=["some", "all", "all"], rate=[0.1, 0.1, 0.1])
    assert menu.aggregate(reports).tables["asked"].tolist() == [1, 0, 2]


# --- what analysts ask --------------------------------------------------------------------------


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    menu = MENU.aggregate(MENU.randomise([0, 1], level="weak"))
    with pytest.raises(
        ParameterError, match=r"no method 'mle'.*'random-effects'.*'post-stratified'"
    ):
        MENU.estimate(menu, method="mle")
    one = Sampled(GRR3, rate=1)
    with pytest.raises(ParameterError, match=r"no method 'pooled'.*'hajek'.*'biswas-t'"):
        one.estimate(one.aggregate(one.randomise([0, 1])), method="pooled")


def test_support_counts_are_for_pure_mechanisms_only() -> None:
    numbers = Sampled(Duchi((0, 1), epsilon=1.0), rate=1)
    aggregate = numbers.aggregate(numbers.randomise([0.5]))
    for method in ("wang-c", "biswas-g", "biswas-c-hat", "biswas-t"):
        with pytest.raises(ParameterError, match=f"no method '{method}'"):
            numbers.estimate(aggregate, method=method)


def test_an_estimator_within_levels_needs_rates() -> None:
    one = Sampled(GRR3, rate=1)
    aggregate = one.aggregate(one.randomise([0, 1] * 9))
    with pytest.raises(ParameterError, match="within is 'mle'; the estimators over rates"):
        one.estimate(aggregate, within="mle")
    with pytest.raises(ParameterError, match="no levels; give method='hajek' alone"):
        one.estimate(aggregate, method="horvitz-thompson", within="hajek")
    with pytest.raises(ParameterError, match="no levels; give method='hajek' alone"):
        one.estimate(aggregate, within="hajek")
    with pytest.raises(ParameterError, match="none, since everyone reports"):
        MENU.estimate(MENU.aggregate(MENU.randomise([0], level="weak")), within="hajek")


def test_a_method_of_levels_and_rates_names_either() -> None:
    both = Sampled(MENU, rate=[0.5, 1])
    aggregate = both.aggregate(both.randomise([0, 1, 2] * 40, level="weak", rate=1))
    aggregate += both.aggregate(both.randomise([0, 1, 2] * 40, level="strong", rate=1))
    levels = both.estimate(aggregate, method="james-stein", within="hajek")
    assert np.array_equal(both.estimate(aggregate, method="hajek").values, levels.values)
    assert levels.method == "james-stein"
    assert both.estimate(aggregate, method="stratified").method == "post-stratified"


def test_an_unknown_level_or_rate_has_no_part() -> None:
    aggregate = MENU.aggregate(MENU.randomise([0], level="weak"))
    with pytest.raises(ParameterError, match=r"no level 'loud'.*'strong', 'weak'"):
        MENU.level_part(aggregate, "loud")
    (loud,) = Levels({"loud": GRR3}).ways()
    (seldom,) = Sampled(GRR3, rate=0.7).ways()
    for ask in (MENU.channel, MENU.every_report, lambda way: MENU.part(aggregate, way)):
        with pytest.raises(ParameterError, match="level 'loud' is not a way to take part"):
            ask(loud)
    for ask in (GRID.channel, GRID.every_report):
        with pytest.raises(ParameterError, match=r"rate 0\.7 is not a way to take part"):
            ask(seldom)


@pytest.mark.parametrize("frequencies", [[0.5, 0.5], [[0.5, 0.3, 0.2]], 0.5, [[0.2, 0.3, 0.5]] * 3])
def test_fractions_come_in_rows_of_the_domain(frequencies: Any) -> None:
    with pytest.raises(ParameterError, match="2 rates and 3 values"):
        GRID.variance(frequencies, [10, 20])


@pytest.mark.parametrize("n", [10, [10], [10, 20, 30], [[10, 20]], [-1, 20], [NAN, 20]], ids=short)
def test_people_come_per_rate(n: Any) -> None:
    with pytest.raises(ParameterError, match="number of people per rate"):
        GRID.variance([0.2, 0.3, 0.5], n)


def test_the_variance_of_a_menu_for_known_fractions_is_asked_of_its_levels() -> None:
    with pytest.raises(ParameterError, match="ask each level's mechanism"):
        Sampled(MENU, rate=0.5).variance([0.2, 0.3, 0.5], 10)


def test_adaptive_has_no_variance_for_known_fractions() -> None:
    with pytest.raises(ParameterError, match="'adaptive' is known from reports only"):
        GRID.variance([0.2, 0.3, 0.5], [10, 20], method="adaptive")


@pytest.mark.parametrize("people", [-1, [1, 2], 0.5, "1"], ids=short)
def test_silent_people_are_whole_numbers_per_rate(people: Any) -> None:
    with pytest.raises(ParameterError, match="how many were silent"):
        Sampled(GRR3, rate=0.5).absent(people)


def test_nobody_is_silent_at_rate_1() -> None:
    with pytest.raises(ParameterError, match="everyone reports"):
        Sampled(GRR3, rate=1).absent(3)
    with pytest.raises(WireError, match="silent at rate 1"):
        Sampled(GRR3, rate=[0.5, 1]).absent([3, 1])


def test_silence_is_counted_for_each_way() -> None:
    both = Sampled(MENU, rate=[0.5, 1])
    aggregate = both.aggregate(both.absent([3, 0, 70_000, 0]))
    assert aggregate.tables["asked"].tolist() == [3, 0, 70_000, 0]
    assert not aggregate.tables["reported"].any()
    assert (aggregate.people, aggregate.reports) == (70_003, 0)


def test_people_who_never_report_are_not_spoken_of() -> None:
    grid = Sampled(GRR3, rate=[0, 0.5])
    for method in set(grid.methods) - {"hajek", "biswas-t", "wang-c", "adaptive"}:
        with pytest.raises(EstimateError, match="10 people have rate 0"):
            grid.variance([0.2, 0.3, 0.5], [10, 300], method=method)
