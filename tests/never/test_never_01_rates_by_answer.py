"""Never let the sampling probability depend on the person's own value: taking part itself tells.

The true loss is max(ε + ln(π_max/π_min), ln((1−π_min)/(1−π_max))), and infinite for a rate of 1
next to a smaller one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sottovoce import GRR, OUE, Channel, Domain, Duchi, Levels, Range, Sampled, testing
from sottovoce.accounting import value_dependent_loss
from sottovoce.errors import GuaranteeError
from sottovoce.mechanisms import REGISTRY
from tests.laws.entries import NUMERIC
from tests.laws.subjects import small

RATES = {"a": 0.1, "b": 0.9}
LABELS = np.array(["a", "b"])[np.arange(400) % 2]
FOLLOWING = np.array([RATES[label] for label in LABELS])


def refused() -> Any:
    return pytest.raises(GuaranteeError, match="depend on people's own answers")


def by_answer(mechanism: GRR, rates: dict[int, float]) -> Channel:
    """The law of a report or silence when the rate goes by the answer."""
    true = mechanism.channel()
    rows = tuple(
        (*(Fraction(rates[x]) * cell for cell in row), 1 - Fraction(rates[x]))
        for x, row in enumerate(true.exact)
    )
    return replace(true, outputs=[*true.outputs, "silent"], exact=rows)


@pytest.mark.parametrize("rates", [{0: 0.1, 1: 0.9}, {0: 0.5, 1: 0.51}, {0: 0.9, 1: 0.999}])
def test_the_stated_loss_is_the_true_one(rates: dict[int, float]) -> None:
    channel = by_answer(GRR(2, epsilon=1.0), rates)
    stated = value_dependent_loss(1.0, rates.values())
    assert channel.epsilon() == pytest.approx(stated, abs=1e-9)
    assert stated > 1.0


def test_the_numbers_of_the_sentence() -> None:
    assert value_dependent_loss(1.0, [0.1, 0.9]) == pytest.approx(3.20, abs=0.005)
    assert value_dependent_loss(1.0, [1.0, 0.9]) == math.inf
    assert by_answer(GRR(2, epsilon=1.0), {0: 1.0, 1: 0.9}).epsilon() == math.inf


def test_rates_per_answer_are_no_parameter() -> None:
    with pytest.raises(GuaranteeError, match=r"true epsilon is 3\.2, not 1"):
        Sampled(GRR(2, epsilon=1.0), rate={0: 0.1, 1: 0.9})
    with pytest.raises(GuaranteeError, match="true epsilon is inf, not 1"):
        Sampled(GRR(2, epsilon=1.0), rate={0: 0.1, 1: 1.0})
    with refused():
        Sampled(GRR(2, epsilon=1.0), rate=lambda answer: 0.1 + 0.8 * answer)


@pytest.mark.parametrize("column", [list, np.asarray, pd.Series, pl.Series])
def test_rates_that_follow_the_answers_are_noticed(column: Any) -> None:
    s = Sampled(GRR(["a", "b"], epsilon=1.0), rate=[0.1, 0.9])
    with pytest.raises(GuaranteeError, match=r"true epsilon is 3\.2, not 1"):
        s.randomise(column(LABELS.tolist()), rate=column(FOLLOWING.tolist()))


def test_also_inside_a_menu_and_around_one() -> None:
    grid = {"x": GRR(["a", "b"], epsilon=1.0), "y": OUE(["a", "b"], epsilon=1.0)}
    levels = np.array(["x", "y"])[np.arange(400) // 2 % 2]
    around = Sampled(Levels(grid), rate=[0.1, 0.9])
    inside = Levels({name: Sampled(m, rate=[0.1, 0.9]) for name, m in grid.items()})
    for wrapper in (around, inside):
        with refused():
            wrapper.randomise(LABELS, level=levels, rate=FOLLOWING)


@pytest.mark.parametrize("rates", [{"x": [0.1, 0.9]}, {"x": [0.1, 0.9, 0.5]}], ids=["one", "own"])
def test_also_at_one_level_alone(rates: dict[str, list[float]]) -> None:
    """At the others rates are drawn, or follow the answers the other way round."""
    levels = np.array(["x", "y"])[np.arange(400) // 2 % 2]
    menu = Levels(
        {name: Sampled(GRR(2, epsilon=1.0), rate=rates.get(name, [0.1, 0.9])) for name in "xy"}
    )
    answers, other = np.arange(400) % 2, np.random.default_rng(5).choice([0.1, 0.9], 400)
    for elsewhere in (other, FOLLOWING[::-1]):
        with refused():
            menu.randomise(
                answers, level=levels, rate=np.where(levels == "x", FOLLOWING, elsewhere)
            )
    menu.randomise(answers, level=levels, rate=other)
    menu.randomise(answers, level=levels, rate=np.where(levels == "x", 0.1, 0.9))


def test_also_by_choosing_a_level_with_a_rate_of_its_own() -> None:
    menu = Levels({"x": Sampled(GRR(2, epsilon=1.0), rate=0.1), "y": GRR(2, epsilon=1.0)})
    answers = np.arange(400) % 2
    with pytest.raises(GuaranteeError, match="true epsilon is inf"):
        menu.randomise(answers, level=np.array(["x", "y"])[answers])
    menu.randomise(answers, level=np.array(["x", "y"])[np.arange(400) // 2 % 2])


def test_also_when_no_answer_is_an_answer() -> None:
    """Who does not answer would be asked less often: the same leak."""
    s = Sampled(GRR(Domain(["a", "b"], missing="value"), epsilon=1.0), rate=[0.1, 0.9])
    answers = [None if k % 2 else "a" for k in range(400)]
    with refused():
        s.randomise(answers, rate=[0.1 if answer is None else 0.9 for answer in answers])


@pytest.mark.parametrize("cut", [0.5, 0.9])
def test_also_for_numbers_beyond_a_threshold(cut: float) -> None:
    s = Sampled(Duchi(Range("income", 0, 1), epsilon=1.0), rate=[0.1, 0.9])
    answers = np.random.default_rng(1).random(500)
    with refused():
        s.randomise(answers, rate=np.where(answers > cut, 0.9, 0.1))
    with refused():
        s.randomise(answers.round(1), rate=np.where(answers.round(1) * 10 % 2 < 1, 0.9, 0.1))


def test_rates_by_something_public_are_not_mistaken() -> None:
    """Not even where the public thing goes with the answer, or people are few."""
    rng = np.random.default_rng(2)
    s = Sampled(GRR(2, epsilon=1.0), rate=[0.1, 0.9])
    answers = rng.integers(0, 2, 1000)
    mostly = np.where(rng.random(1000) < 0.95, answers, 1 - answers)
    s.randomise(answers, rate=np.array([0.1, 0.9])[mostly])
    s.randomise([0, 1], rate=[0.1, 0.9])
    s.randomise([0] * 1000, rate=0.9)
    numbers = Sampled(Duchi((0, 1), epsilon=1.0), rate=[0.1, 0.9])
    income = rng.random(1000)
    numbers.randomise(income, rate=np.where(income + 0.2 * rng.normal(size=1000) > 0.5, 0.9, 0.1))
    numbers.randomise(income, rate=rng.choice([0.1, 0.9], 1000))


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_silence_is_as_likely_whatever_the_answer(kind: type) -> None:
    for rate in (0.5, 0.1, 0.999):
        channel = Sampled(small(kind), rate=rate).channel()
        assert channel.outputs[-1] == "silent"
        assert {row[-1] for row in channel.exact} == {1 - Fraction(rate)}


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_the_coins_are_drawn_before_anyone_looks_at_the_answer(kind: type) -> None:
    """From one seed the same people report, whatever they have to say."""
    s = Sampled(small(kind), rate=[0.5, 0.3])
    low, high = (-5.0, 10.0) if kind.id in NUMERIC else (0, 1)
    rates = np.random.default_rng(3).choice(s.rates, 200)
    drawn = []
    for answer in (low, high):
        with testing.seeded(4) as source:
            reports = s.randomise(np.full(200, answer), rate=rates, source=source)
            drawn.append(s.aggregate(reports).tables["reported"].tolist())
            drawn.append(reports.columns["way"].tolist())
    assert drawn[:2] == drawn[2:]
    assert 40 < sum(drawn[0]) < 120
