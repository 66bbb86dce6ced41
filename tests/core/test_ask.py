"""From a column to an estimate in one line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sottovoce import Attribute, ask
from sottovoce.errors import AnswerError, ParameterError

ANSWERS = ["yes", "no", "yes", "yes"] * 1000


def test_the_estimate_is_near_the_truth() -> None:
    estimate = ask(ANSWERS, values=["yes", "no"], epsilon=1.0)
    assert estimate.n == 4000
    assert list(estimate.labels) == ["yes", "no"]
    # Twelve standard errors: a false alarm would take longer than the universe is old.
    assert np.abs(estimate.values - [0.75, 0.25]).max() < 12 * estimate.std_error.max()
    assert estimate.guarantee.epsilon == 1.0


def test_a_named_column_names_the_estimate() -> None:
    column = pd.Series(ANSWERS, name="support")
    assert ask(column, values=["yes", "no"], epsilon=1.0).name == "support"
    assert ask(column, values=["yes", "no"], epsilon=1.0, name="other").name == "other"
    assert ask(ANSWERS, values=["yes", "no"], epsilon=1.0).name == ""
    assert ask(pd.Series(ANSWERS, name=7), values=["yes", "no"], epsilon=1.0).name == ""


@pytest.mark.parametrize("d", [2, 10, 500])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_any_number_of_values(d: int, epsilon: float) -> None:
    estimate = ask(np.arange(2000) % d, values=d, epsilon=epsilon)
    assert len(estimate.labels) == d
    assert np.isfinite(estimate.std_error).all()


@pytest.mark.parametrize("epsilon", [0, -1, 21, float("nan"), "1", None, True])
def test_a_bad_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        ask(ANSWERS, values=["yes", "no"], epsilon=epsilon)


def test_wrong_answers_are_refused() -> None:
    with pytest.raises(AnswerError, match="'maybe'"):
        ask([*ANSWERS, "maybe"], values=["yes", "no"], epsilon=1.0)
    with pytest.raises(ParameterError):
        ask(ANSWERS, values=["yes"], epsilon=1.0)


def test_values_of_an_attribute_can_be_used() -> None:
    attribute = Attribute("q", ["yes", "no"])
    assert ask(ANSWERS, values=attribute.values, epsilon=1.0, name="q").name == "q"


def test_everyone_may_choose_a_level() -> None:
    menu = {"strong": 0.5, "weak": 4.0}
    estimate = ask(ANSWERS, values=["yes", "no"], levels=menu, level=["strong", "weak"] * 2000)
    assert estimate.method == "james-stein"
    assert [promise.epsilon for promise in estimate.guarantee.promises] == [0.5, 4.0]
    assert np.abs(estimate.values - [0.75, 0.25]).max() < 12 * estimate.std_error.max()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"epsilon": 1.0, "levels": {"a": 1.0}},
        {"epsilon": 1.0, "level": "a"},
        {"levels": {}},
        {"levels": {"a": 1.0, "b": 2.0}},
        {"levels": {"a": 1.0, "b": 2.0}, "level": "c"},
        {"levels": {"a": 1.0, "b": 99.0}, "level": "a"},
    ],
)
def test_unclear_levels_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=r"level|epsilon"):
        ask(ANSWERS, values=["yes", "no"], **given)
