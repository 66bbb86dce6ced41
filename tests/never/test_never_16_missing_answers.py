"""Never drop missing answers silently: that is participation depending on the value. "No answer"
is a value of the domain unless the study declares missingness public.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sottovoce import Attribute, Domain, Study, ask
from sottovoce.domain.values import NO_ANSWER
from sottovoce.errors import AnswerError, ParameterError
from sottovoce.promise import WHO_ANSWERED
from sottovoce.secure import DPCS, DPDG, DPDS, TSS, BinomialNoise, Dummies
from tests.laws.entries import CATEGORICAL

GAPS = {
    "list": ["a", None, "b"],
    "nan in a list": ["a", float("nan"), "b"],
    "object": np.array(["a", None, "b"], object),
    "pandas": pd.Series(["a", None, "b"]),
    "category": pd.Series(["a", None, "b"], dtype="category"),
    "polars": pl.Series(["a", None, "b"]),
}
NUMBERS = {
    "list": [0, None, 1],
    "float": np.array([0.0, np.nan, 1.0]),
    "Int64": pd.Series([0, None, 1], dtype="Int64"),
    "polars": pl.Series([0, None, 1]),
}
each = pytest.mark.parametrize("kind", CATEGORICAL.values(), ids=CATEGORICAL)
gaps = pytest.mark.parametrize("answers", GAPS.values(), ids=GAPS.keys())
numbers = pytest.mark.parametrize("answers", NUMBERS.values(), ids=NUMBERS.keys())


@each
@gaps
def test_by_default_a_missing_answer_is_refused(kind, answers) -> None:
    with pytest.raises(AnswerError, match=r"1 of 3 answers are missing .*row 1"):
        kind(["a", "b"], epsilon=1.0).randomise(answers)


@each
@gaps
def test_as_a_value_it_is_randomised_like_any_other(kind, answers) -> None:
    mechanism = kind(Domain(["a", "b"], missing="value"), epsilon=1.0)
    assert list(mechanism.domain.labels) == ["a", "b", NO_ANSWER]
    assert mechanism.domain.encode(answers).tolist() == [0, 2, 1]
    assert len(mechanism.randomise(answers)) == 3


@each
@gaps
def test_dropping_is_declared_and_said_in_the_guarantee(kind, answers) -> None:
    mechanism = kind(Domain(["a", "b"], missing="public"), epsilon=1.0)
    assert len(mechanism.randomise(answers)) == 2
    assert WHO_ANSWERED in mechanism.guarantee.promises[0].assuming
    assert "public knowledge" in " ".join(str(mechanism.guarantee).split())


@pytest.mark.parametrize("kind", [BinomialNoise, DPDG, Dummies, DPDS, TSS, DPCS])
def test_also_where_answers_are_added_up_in_secret(kind) -> None:
    options = {
        BinomialNoise: {"epsilon": 2.0},
        DPDG: {"epsilon": 2.0},
        Dummies: {"epsilon": 2.0, "rate": 0.5},
        DPDS: {"count": 90, "rate": 0.2},
        TSS: {"count": 90, "rate": 0.2, "report": 1.0, "collusion": 1},
        DPCS: {"count": 90, "rate": 0.2},
    }[kind]
    with pytest.raises(AnswerError, match="100 of 300 answers are missing"):
        kind(["a", "b"], **options).session(["a", None, "b"] * 100)
    protocol = kind(Domain(["a", "b"], missing="public"), **options)
    run = protocol.simulate(["a", None, "b"] * 100)
    assert run.estimate.n == 200
    for promise in (*protocol.guarantee.promises, *run.guarantee.promises):
        assert WHO_ANSWERED in promise.assuming
    assert WHO_ANSWERED not in str(kind(["a", "b"], **options).guarantee)


@numbers
def test_numbers_with_gaps_are_treated_alike(answers) -> None:
    with pytest.raises(AnswerError, match="1 of 3 answers are missing"):
        Domain(2).encode(answers)
    assert Domain(2, missing="value").encode(answers).tolist() == [0, 2, 1]
    assert Domain(2, missing="public").encode(answers).tolist() == [0, 1]


@numbers
def test_measurements_with_gaps_are_treated_alike(answers) -> None:
    edges = [0, 0.5, 2]
    with pytest.raises(AnswerError, match="missing"):
        Domain(edges=edges).encode(answers)
    assert Domain(edges=edges, missing="value").encode(answers).tolist() == [0, 2, 1]
    assert Domain(edges=edges, missing="public").encode(answers).tolist() == [0, 1]


@pytest.mark.parametrize("missing", ["drop", "ignore", None, True, ""])
def test_there_is_no_other_way(missing) -> None:
    with pytest.raises(ParameterError, match="refuse"):
        Domain(2, missing=missing)


def test_a_guarantee_says_nothing_of_missing_answers_unless_declared() -> None:
    for missing in ("refuse", "value"):
        mechanism = CATEGORICAL["grr"](Domain(2, missing=missing), epsilon=1.0)
        assert WHO_ANSWERED not in mechanism.guarantee.promises[0].assuming


def test_the_declaration_is_part_of_the_study() -> None:
    digests = set()
    for missing in ("refuse", "value", "public"):
        question = CATEGORICAL["grr"](Attribute("q", ["a", "b"], missing=missing), epsilon=1.0)
        digests.add(Study("s", (question,)).digest)
        digests.add(question.digest)
    assert len(digests) == 6


def test_asking_keeps_the_rule() -> None:
    with pytest.raises(AnswerError, match="missing"):
        ask(["a", None], values=["a", "b"], epsilon=1.0)
    estimate = ask(["a", None], values=["a", "b"], epsilon=1.0, missing="value")
    assert list(estimate.labels) == ["a", "b", NO_ANSWER]
    assert ask(["a", None], values=["a", "b"], epsilon=1.0, missing="public").n == 1
