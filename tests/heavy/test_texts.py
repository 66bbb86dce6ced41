"""Answers as symbols: any form of a column, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sottovoce.domain.text import Text
from sottovoce.errors import AnswerError, ParameterError

pytestmark = pytest.mark.fast

WORDS = ["abc", "", "c", "bb"]
ROWS = [[1, 2, 3], [0, 0, 0], [3, 0, 0], [2, 2, 0]]
TEXT = Text("word", "abc", 3)


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.array,
        lambda words: np.array(words, object),
        pd.Series,
        lambda words: pd.Series(words, dtype="category"),
        lambda words: pd.Series(words, dtype="string"),
        pl.Series,
        pa.array,
        lambda words: pa.chunked_array([pa.array(words[:2]), pa.array(words[2:])]),
        lambda words: pa.array(words).dictionary_encode(),
    ],
)
def test_every_form_of_a_column(form) -> None:
    assert TEXT.symbols(form(WORDS)).tolist() == ROWS


def test_symbols_become_texts_again() -> None:
    assert TEXT.decode_symbols(np.array(ROWS)) == WORDS
    wide = Text("word", [chr(0x1F600 + k) for k in range(300)], 2)
    texts = [wide.alphabet[299] + wide.alphabet[0], wide.alphabet[7], ""]
    assert wide.decode_symbols(wide.symbols(texts)) == texts


def test_many_people_are_coded_in_blocks() -> None:
    words = ["ab", "c"] * 50_000
    rows = TEXT.symbols(words)
    assert np.array_equal(rows[::2], np.tile([1, 2, 0], (50_000, 1)))
    words[70_001] = "x"
    with pytest.raises(AnswerError, match="row 70001"):
        TEXT.symbols(words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a", "abca"], r"'abca' \(row 1\) has more than 3 symbols.*longer='cut'"),
        (["a", "aXa"], r"'aXa' \(row 1\) has a character outside the alphabet.*other="),
        (["a\0b"], "null character"),
        (["a", None], "row 1 is missing.*empty text"),
        (["a", float("nan")], "row 1 is missing"),
        (["a", 5], r"the answer 5 \(row 1\) is not a text"),
        (np.array([1, 2]), "is not a text"),
        ("abc", "one column"),
        ([["a"], ["b"]], "is not a text"),
    ],
)
def test_what_cannot_be_coded_is_refused(words, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        TEXT.symbols(words)


def test_public_rules_for_longer_texts_and_other_characters() -> None:
    cut = Text("word", "abc", 3, longer="cut")
    assert cut.decode_symbols(cut.symbols(["abcabc", "ab"])) == ["abc", "ab"]
    other = Text("word", "abc", 3, other="?")
    assert other.decode_symbols(other.symbols(["aXé", "?"])) == ["a??", "?"]
    assert Text("word", "abc?", 3, other="?").alphabet == "abc?"


@pytest.mark.parametrize(
    ("alphabet", "length", "options"),
    [
        ("", 3, {}),
        ("aa", 3, {}),
        (["ab"], 3, {}),
        (5, 3, {}),
        ("a\0", 3, {}),
        ("a\ud800", 3, {}),
        ("ab", 0, {}),
        ("ab", 256, {}),
        ("ab", 2.5, {}),
        ("ab", True, {}),
        ("ab", 3, {"longer": "drop"}),
        ("ab", 3, {"other": "??"}),
        ([chr(k) for k in range(0x10000, 0x20000)], 3, {}),
    ],
)
def test_alphabets_that_are_refused(alphabet, length, options) -> None:
    with pytest.raises(ParameterError):
        Text("word", alphabet, length, **options)


def test_pickles_are_small() -> None:
    TEXT.symbols(WORDS)
    sent = pickle.dumps(TEXT)
    assert len(sent) < 1000
    assert pickle.loads(sent) == TEXT
