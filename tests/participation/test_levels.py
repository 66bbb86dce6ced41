"""A menu of levels: what is promised to whom, and what becomes of the reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sottovoce import (
    GRR,
    OUE,
    SUE,
    Attribute,
    Domain,
    Duchi,
    Hybrid,
    Levels,
    Piecewise,
    Range,
    Reports,
    Sampled,
    testing,
)
from sottovoce.errors import (
    AlikeWarning,
    DigestError,
    EstimateError,
    SeededError,
    UselessEstimateWarning,
    WireError,
)
from sottovoce.promise.assumptions import LEVEL_IS_PUBLIC, RATE_IS_PUBLIC, WHO_ANSWERED

MODE = Attribute("commute", ["car", "bike", "train", "foot"])
EPSILONS = {"very strong": 0.5, "strong": 1.0, "normal": 2.0, "weak": 4.0}
MENU = Levels.of(OUE, MODE, EPSILONS)
NAMES = list(EPSILONS)
PEOPLE = 4000
RNG = np.random.default_rng(1)
ANSWERS = [MODE.values[k] for k in RNG.integers(0, 4, PEOPLE)]
CHOSEN = [NAMES[k] for k in RNG.integers(0, 4, PEOPLE)]


def collected(menu: Levels, answers: Any, **choice: Any) -> Any:
    return menu.aggregate(menu.randomise(answers, **choice))


# --- promises -----------------------------------------------------------------------------------


def test_every_level_has_its_promise_in_words() -> None:
    promises = MENU.guarantee.promises
    assert [promise.epsilon for promise in promises] == [0.5, 1.0, 2.0, 4.0]
    words = " ".join(str(MENU.guarantee).split())
    for name, epsilon in EPSILONS.items():
        assert f"epsilon = {epsilon:g}: local differential privacy" in words
        assert f"one answer of one person who chose the level '{name}'" in words
    assert words.count("which level someone chose is public") == 4
    assert all(LEVEL_IS_PUBLIC in promise.assuming for promise in promises)


def test_there_is_no_single_epsilon_to_quote() -> None:
    from sottovoce.errors import GuaranteeError

    with pytest.raises(GuaranteeError, match="makes 4 promises"):
        _ = MENU.guarantee.epsilon
    with pytest.raises(GuaranteeError, match="4 promises"):
        _ = MENU.estimate(collected(MENU, ANSWERS, level=CHOSEN)).guarantee.epsilon


def test_promises_of_one_level_add_up_with_its_own_only() -> None:
    twice = MENU.guarantee + MENU.guarantee
    assert [promise.epsilon for promise in twice.promises] == [1.0, 2.0, 4.0, 8.0]


def test_the_strictest_level_can_be_run_by_everyone() -> None:
    """000's CPA is no weighting but another mechanism."""
    assert MENU.strictest() == OUE(MODE, epsilon=0.5)
    backwards = Levels(dict(reversed(MENU.menu.items())))
    assert backwards.strictest() == MENU.strictest()
    mixed = Levels({"a": GRR(4, epsilon=2), "b": SUE(4, epsilon=0.1), "c": OUE(4, epsilon=1)})
    assert mixed.strictest() == SUE(4, epsilon=0.1)
    assert mixed.epsilon == 2.0


def test_the_estimate_carries_the_promises_of_all_levels() -> None:
    aggregate = collected(MENU, ANSWERS, level=CHOSEN)
    for method in ("hybrid", "post-stratified"):
        estimate = MENU.estimate(aggregate, method=method)
        assert estimate.guarantee == MENU.guarantee
    assert MENU.estimate(aggregate).raw.guarantee == MENU.guarantee


def test_a_seed_undoes_all_of_them() -> None:
    with testing.seeded(1) as source:
        reports = MENU.randomise(ANSWERS, level=CHOSEN, source=source)
        estimate = MENU.estimate(MENU.aggregate(reports))
    assert reports.seeded
    assert not estimate.guarantee.promises
    with pytest.raises(SeededError):
        MENU.aggregate(reports)


# --- reports ------------------------------------------------------------------------------------


def test_reports_keep_the_order_of_people_and_carry_their_level() -> None:
    reports = MENU.randomise(ANSWERS, level=CHOSEN)
    assert len(reports) == PEOPLE
    assert [NAMES[k] for k in reports.columns["way"].tolist()] == CHOSEN
    assert next(iter(reports.columns)) == "way"
    assert MENU.layout[0].name == "way"


def test_each_report_is_made_by_the_mechanism_of_its_level() -> None:
    """At ε = 20 reports tell the answer: whoever chose that level is read, whoever did not is not.

    GRR over 4 values at 20 errs once in 1.6e8 reports; 2,000 of them err with probability 1e-5,
    so the comparison is of all but three of them (1e-16).
    """
    menu = Levels.of(GRR, 4, {"quiet": 0.01, "loud": 20})
    answers, loud = RNG.integers(0, 4, PEOPLE), np.arange(PEOPLE) % 2 == 0
    reports = menu.randomise(answers, level=np.where(loud, "loud", "quiet"))
    same = reports.columns["value"] == answers
    assert (~same[loud]).sum() <= 3
    assert 300 < same[~loud].sum() < 700  # a quarter of 2,000; 1e-20 outside


@pytest.mark.parametrize(
    "levels",
    [
        CHOSEN,
        tuple(CHOSEN),
        np.array(CHOSEN),
        np.array(CHOSEN, object),
        pd.Series(CHOSEN),
        pd.Series(CHOSEN, dtype="category"),
        pl.Series(CHOSEN),
        pa.array(CHOSEN),
    ],
    ids=lambda levels: f"{type(levels).__module__}.{type(levels).__name__}",
)
def test_levels_come_as_any_column(levels: Any) -> None:
    counts = [CHOSEN.count(name) for name in NAMES]
    assert collected(MENU, ANSWERS, level=levels).tables["asked"].tolist() == counts
    sampled = Sampled(MENU, rate=0.5)
    tables = sampled.aggregate(sampled.randomise(ANSWERS, level=levels)).tables
    assert tables["asked"].tolist() == counts


def test_one_level_for_all_may_be_said_once_or_not_at_all() -> None:
    assert collected(MENU, ANSWERS, level="weak").tables["asked"].tolist() == [0, 0, 0, PEOPLE]
    alone = Levels({"only": OUE(MODE, epsilon=1.0)})
    assert collected(alone, ANSWERS).tables["asked"].tolist() == [PEOPLE]


def test_nobody_is_a_crowd_too() -> None:
    aggregate = collected(MENU, [], level=[])
    assert (aggregate.people, aggregate.reports) == (0, 0)
    with pytest.raises(EstimateError, match="no reports"):
        MENU.estimate(aggregate)
    assert MENU.estimates(aggregate) == {}


def test_people_without_an_answer_are_dropped_with_their_level() -> None:
    """missing='public': levels and rates are given for everyone, and those who answered count."""
    mode = Domain(["a", "b"], missing="public")
    answers = ["a", None, "b", None, "b"]
    levels = ["x", "x", "y", "y", "y"]
    menu = Levels.of(GRR, mode, {"x": 1.0, "y": 2.0})
    assert collected(menu, answers, level=levels).tables["asked"].tolist() == [1, 2]
    assert all(WHO_ANSWERED in promise.assuming for promise in menu.guarantee.promises)
    both = Sampled(menu, rate=[1, 0.5])
    rates = [1, 1, 1, 0.5, 0.5]
    tables = both.aggregate(both.randomise(answers, level=levels, rate=rates)).tables
    assert tables["asked"].tolist() == [1, 0, 1, 1]
    assert tables["reported"][[0, 2]].tolist() == [1, 1]
    each = Levels({"x": Sampled(menu.menu["x"], rate=[1, 0.5]), "y": menu.menu["y"]})
    aggregate = collected(each, answers, level=levels, rate=rates)
    assert aggregate.tables["asked"].tolist() == [1, 0, 2]


def test_numbers_without_an_answer_are_dropped_too() -> None:
    menu = Levels.of(Duchi, Range("age", 0, 120, missing="public"), {"x": 1.0, "y": 2.0})
    aggregate = collected(menu, [30, None, float("nan"), 60], level=["x", "x", "y", "y"])
    assert aggregate.tables["asked"].tolist() == [1, 1]


def test_reports_of_another_menu_are_refused() -> None:
    other = Levels.of(OUE, MODE, {**EPSILONS, "weak": 3.9})
    reports = other.randomise(ANSWERS[:3], level="weak")
    with pytest.raises(DigestError):
        MENU.aggregate(reports)


def test_a_level_outside_the_menu_is_refused_when_counting() -> None:
    reports = MENU.randomise(ANSWERS[:3], level="weak")
    columns = dict(reports.columns) | {"way": np.full(3, 4, np.uint8)}
    with pytest.raises(WireError, match="names way 4; there are 4, counted from 0"):
        MENU.aggregate(Reports(reports.collection, reports.digest, columns))


# --- parts and estimates ------------------------------------------------------------------------


def test_parts_are_what_each_mechanism_would_have_counted() -> None:
    reports = MENU.randomise(ANSWERS, level=CHOSEN)
    aggregate = MENU.aggregate(reports)
    level = reports.columns["way"]
    for k, (name, mechanism) in enumerate(MENU.menu.items()):
        own = mechanism.bind(MENU.digest)
        columns = {"bits": reports.columns["bits"][level == k]}
        alone = own.aggregate(Reports(own.id, own.digest, columns))
        assert MENU.level_part(aggregate, name) == alone
        assert MENU.part(aggregate, MENU.ways()[k]) == alone
        estimate = MENU.estimates(aggregate)[name]
        assert estimate.values == pytest.approx(own.estimate(alone).values)
        assert not estimate.biased
        assert estimate.n == CHOSEN.count(name)


def test_estimates_leave_levels_out_that_nobody_chose() -> None:
    aggregate = collected(MENU, ANSWERS, level=["strong", "weak"] * (PEOPLE // 2))
    assert list(MENU.estimates(aggregate)) == ["strong", "weak"]
    assert MENU.estimate(aggregate).n == PEOPLE


def test_with_one_level_hybrid_is_its_estimate() -> None:
    aggregate = collected(MENU, ANSWERS, level="normal")
    single = MENU.estimates(aggregate)["normal"]
    for method in MENU.methods:
        estimate = MENU.estimate(aggregate, method=method)
        assert estimate.values == pytest.approx(single.values)
        assert estimate.variance == pytest.approx(single.variance)
        assert not estimate.assuming


def test_the_methods_are_those_of_combine_and_an_alias() -> None:
    aggregate = collected(MENU, ANSWERS, level=CHOSEN)
    assert next(iter(MENU.methods)) == "james-stein"
    by_name = MENU.estimate(aggregate, method="post-stratified")
    by_alias = MENU.estimate(aggregate, method="stratified")
    assert by_alias.values.tolist() == by_name.values.tolist()
    assert by_alias.method == "post-stratified"
    for method in ("pooled", "yang-variance", "yang-optimised"):
        with pytest.warns(AlikeWarning, match=method):
            assert "answer alike" in MENU.estimate(aggregate, method=method).assuming


def test_the_estimate_is_near_the_truth() -> None:
    """Post-stratified over 4,000 people: 6 of its standard errors, 2e-9 per value."""
    aggregate = collected(MENU, ANSWERS, level=CHOSEN)
    truth = np.array([ANSWERS.count(value) for value in MODE.values]) / PEOPLE
    estimate = MENU.estimate(aggregate, method="post-stratified")
    sizes = np.array([CHOSEN.count(name) for name in NAMES])
    error = np.zeros(4)
    for name, n in zip(NAMES, sizes, strict=True):
        own = [a for a, c in zip(ANSWERS, CHOSEN, strict=True) if c == name]
        f = np.array([own.count(value) for value in MODE.values]) / n
        error += (n / PEOPLE) ** 2 * MENU.menu[name].variance(f, int(n))
    assert (np.abs(estimate.values - truth) <= 6 * np.sqrt(error)).all()
    assert estimate.variance == pytest.approx(error, rel=0.5)
    assert estimate.name == "commute"
    assert list(estimate.labels) == list(MODE.values)


def test_too_few_people_are_warned_of_once_for_the_whole() -> None:
    with pytest.warns(UselessEstimateWarning, match="too few") as caught:
        MENU.estimate(collected(MENU, ANSWERS[:6], level=["very strong", "strong"] * 3))
    assert len([w for w in caught if w.category is UselessEstimateWarning]) == 1


# --- kinds and nestings -------------------------------------------------------------------------


def test_a_menu_of_numbers() -> None:
    """Means per level and together, with a lower bound that is not zero."""
    menu = Levels(
        {
            "strong": Duchi((-5, 10), epsilon=0.5),
            "normal": Hybrid((-5, 10), epsilon=2.0),
            "weak": Piecewise((-5, 10), epsilon=4.0),
        }
    )
    answers = np.linspace(-4, 6, 30_000)
    with testing.seeded(2) as source:
        levels = np.array(list(menu.menu))[np.arange(30_000) % 3]
        aggregate = menu.aggregate(menu.randomise(answers, level=levels, source=source))
        estimates = {m: menu.estimate(aggregate, method=m) for m in ("hybrid", "post-stratified")}
        single = menu.estimates(aggregate)
    for estimate in (*estimates.values(), *single.values()):
        assert estimate.values[0] == pytest.approx(1.0, abs=6 * estimate.std_error[0])
        assert not estimate.fractions
    assert estimates["hybrid"].std_error[0] < single["strong"].std_error[0]
    # Duchi's bit cannot tell how much answers vary and takes the most that they might.
    fine = [single[name].answer_variance for name in ("normal", "weak")]
    assert fine == pytest.approx([answers.var()] * 2, rel=0.3)
    assert max(fine) < estimates["hybrid"].answer_variance < single["strong"].answer_variance


MIXED = {
    "grr": GRR(MODE, epsilon=1.0),
    "oue": OUE(MODE, epsilon=2.0),
    "sue": SUE(MODE, epsilon=4.0),
}


def test_mechanisms_of_different_kinds_and_widths_stand_side_by_side() -> None:
    menu = Levels(MIXED)
    assert [column.name for column in menu.layout] == ["way", "value", "bits"]
    levels = np.array(list(MIXED))[np.arange(PEOPLE) % 3]
    reports = menu.randomise(ANSWERS, level=levels)
    grr = reports.columns["way"] == 0
    assert not reports.columns["bits"][grr].any()
    assert not reports.columns["value"][~grr].any()
    back = Reports.from_bytes(reports.to_bytes(), expect=menu)
    assert back.columns["way"].tolist() == reports.columns["way"].tolist()


def test_sampling_a_menu_and_a_menu_of_samples_agree() -> None:
    """Promises and a plain estimate; tests/laws/test_nesting.py has that they are one."""
    inner = Levels(MIXED)
    outside = Sampled(inner, rate=0.5)
    inside = Levels({name: Sampled(m, rate=0.5) for name, m in MIXED.items()})
    for wrapper in (outside, inside):
        (first, *_) = wrapper.guarantee.promises
        assert RATE_IS_PUBLIC in first.assuming
        assert LEVEL_IS_PUBLIC in first.assuming
        assert [p.epsilon for p in wrapper.guarantee.promises] == [1.0, 2.0, 4.0]
    levels = np.array(list(MIXED))[np.arange(PEOPLE) % 3]
    truth = np.array([ANSWERS.count(value) for value in MODE.values]) / PEOPLE
    with testing.seeded(3) as source:
        a = outside.aggregate(outside.randomise(ANSWERS, level=levels, source=source))
        b = inside.aggregate(inside.randomise(ANSWERS, level=levels, source=source))
        one = outside.estimate(a, method="post-stratified", within="horvitz-thompson")
        two = inside.estimate(b, method="post-stratified", within="horvitz-thompson")
    assert a.people == b.people == PEOPLE
    assert one.std_error == pytest.approx(two.std_error, rel=0.2)
    for estimate in (one, two):
        assert not estimate.biased
        assert (np.abs(estimate.values - truth) <= 6 * estimate.std_error).all()


def test_a_sampled_menu_says_what_its_levels_assume() -> None:
    outside = Sampled(Levels(MIXED), rate=[0.5, 0.25])
    rates = np.where(np.arange(PEOPLE) % 5 < 2, 0.5, 0.25)
    levels = np.array(list(MIXED))[np.arange(PEOPLE) % 3]
    aggregate = outside.aggregate(outside.randomise(ANSWERS, level=levels, rate=rates))
    default = outside.estimate(aggregate)
    assert "shrunk towards each other" in default.assuming
    assert default.biased
    both = outside.estimate(aggregate, method="hajek")
    assert "shrunk towards each other" in both.assuming
    assert "nothing to do with their answers" in both.assuming
    plain = outside.estimate(aggregate, method="post-stratified")
    assert not plain.assuming
    assert not plain.biased
    with pytest.warns(AlikeWarning):
        pooled = outside.estimate(aggregate, method="pooled")
    assert pooled.assuming.count("answer alike") == 1


def test_a_level_of_which_nobody_reported_is_named() -> None:
    menu = Levels({"some": Sampled(GRR(4, epsilon=1.0), rate=1e-9), "all": GRR(4, epsilon=1.0)})
    aggregate = collected(menu, [0, 1, 2, 3], level=["some", "some", "all", "all"])
    with pytest.raises(EstimateError, match="level 'some': none of the 2 people asked reported"):
        menu.estimate(aggregate)


def test_a_menu_prints_its_mechanisms() -> None:
    menu = Levels({"a": GRR(2, epsilon=1.0)})
    grr = repr(GRR(2, epsilon=1.0))
    assert repr(menu) == f"Levels({{'a': {grr}}})"
    assert repr(Sampled(menu, rate=[0.5, 1])) == f"Levels({{'a': Sampled({grr}, rate=[0.5, 1.0])}})"
