"""Never infer labels, bins, ranges or minimum counts from private data without an explicit
public_data=True.
"""

from __future__ import annotations

import pandas as pd
import pytest

from sottovoce import Domain, ask
from sottovoce.errors import AnswerError, ParameterError
from tests.laws.entries import CATEGORICAL

ANSWERS = ["b", "a", "b"]


def test_values_are_not_read_off_the_answers() -> None:
    with pytest.raises(ParameterError, match="public_data=True"):
        ask(ANSWERS, epsilon=1.0)
    with pytest.raises(ParameterError, match="public_data=True"):
        Domain.infer(ANSWERS)


@pytest.mark.parametrize("almost", [1, "yes", "True", None, [True]])
def test_only_true_itself_allows_it(almost) -> None:
    with pytest.raises(ParameterError, match="public_data=True"):
        Domain.infer(ANSWERS, public_data=almost)


def test_a_category_type_declares_nothing() -> None:
    # The categories of a column were usually read off its data.
    with pytest.raises(ParameterError, match="public_data=True"):
        ask(pd.Series(ANSWERS, dtype="category"), epsilon=1.0)


def test_with_the_declaration_it_works() -> None:
    assert Domain.infer(ANSWERS, public_data=True).labels == ("a", "b")
    assert Domain.infer([3, 1, None, 3], public_data=True).labels == (1, 3)
    assert list(ask(ANSWERS, epsilon=1.0, public_data=True).labels) == ["a", "b"]


@pytest.mark.parametrize("kind", CATEGORICAL.values(), ids=CATEGORICAL)
def test_an_answer_outside_the_values_never_widens_them(kind) -> None:
    mechanism = kind(["a", "b"], epsilon=1.0)
    with pytest.raises(AnswerError, match="'c'"):
        mechanism.randomise(["a", "c"])
    assert mechanism.domain.size == 2


def test_a_number_outside_the_bins_never_widens_them() -> None:
    with pytest.raises(AnswerError, match="outside the bins"):
        Domain(edges=[0, 1, 2]).encode([0.5, 2.5])
