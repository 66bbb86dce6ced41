"""Answers as people have them: every kind of column gives the same codes or the same refusal."""

from __future__ import annotations

import sys
from itertools import chain

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sottovoce import Attribute, Domain, Range
from sottovoce.errors import AnswerError, ParameterError

TEXT = ["b", "a", "c", "b"]
EXPECTED = [1, 0, 2, 1]
WORDS = Domain(["a", "b", "c"])

TEXTS = {
    "list": TEXT,
    "tuple": tuple(TEXT),
    "generator": (word for word in TEXT),
    "dict view": dict(zip(range(4), TEXT, strict=True)).values(),
    "numpy unicode": np.array(TEXT),
    "numpy object": np.array(TEXT, object),
    "numpy big-endian unicode": np.array(TEXT, ">U3"),
    "numpy strided": np.array(TEXT)[::-1][::-1],
    "pandas str": pd.Series(TEXT),
    "pandas object": pd.Series(TEXT, dtype=object),
    "pandas category": pd.Series(TEXT, dtype="category"),
    "pandas category in another order": pd.Series(pd.Categorical(TEXT, ["c", "b", "a", "z"])),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas index": pd.Index(TEXT),
    "pandas with an index of its own": pd.Series(TEXT, index=[9, 3, 3, 1]),
    "polars": pl.Series(TEXT),
    "polars categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "polars enum": pl.Series(TEXT, dtype=pl.Enum(["c", "a", "b"])),
    "arrow": pa.array(TEXT),
    "arrow large": pa.array(TEXT, pa.large_string()),
    "arrow view": pa.array(TEXT, pa.string_view()),
    "arrow chunked": pa.chunked_array([TEXT[:1], [], TEXT[1:]]),
    "arrow dictionary": pa.array(TEXT).dictionary_encode(),
    "arrow chunks of different dictionaries": pa.chunked_array(
        [pa.array(TEXT[:2]).dictionary_encode(), pa.array(TEXT[2:]).dictionary_encode()]
    ),
    "arrow slice": pa.array(["z", *TEXT, "z"])[1:5],
}


@pytest.mark.parametrize("answers", TEXTS.values(), ids=TEXTS.keys())
def test_text_columns(answers) -> None:
    codes = WORDS.encode(answers)
    assert codes.tolist() == EXPECTED
    assert codes.dtype == np.uint8


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("kind", INTEGERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("values", [3, [2, 0, 1], range(3)], ids=repr)
def test_every_integer_type(kind, order: str, values) -> None:
    array = np.array([2, 0, 1, 1], np.dtype(kind).newbyteorder(order))
    domain = Domain(values)
    expected = [list(domain.labels).index(v) for v in (2, 0, 1, 1)]
    assert domain.encode(array).tolist() == expected
    assert domain.encode(array[::-1]).tolist() == expected[::-1]
    strided = np.repeat(array, 2)[::2]
    assert domain.encode(strided).tolist() == expected
    frozen = array.copy()
    frozen.flags.writeable = False
    assert domain.encode(frozen).tolist() == expected


@pytest.mark.parametrize("kind", INTEGERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("values", [3, [2, 0, 1]], ids=repr)
def test_every_integer_type_outside(kind, values) -> None:
    # The largest and smallest that the type holds: no wrapping back into the range.
    for bad in {np.iinfo(kind).max, np.iinfo(kind).min} - {0}:
        answers = np.array([0, bad, 1], kind)
        for column in (answers, pd.Series(answers), pl.Series(answers), pa.array(answers)):
            with pytest.raises(AnswerError, match=rf"{bad} \(row 1\)"):
                Domain(values).encode(column)


NUMBERS = {
    "list": [2, 0, 1],
    "list of numpy": [np.int16(2), np.uint8(0), np.int64(1)],
    "list of whole floats": [2.0, 0, 1],
    "numpy float": np.array([2.0, 0.0, 1.0]),
    "numpy float32": np.array([2, 0, 1], np.float32),
    "numpy float16": np.array([2, 0, 1], np.float16),
    "numpy object": np.array([2, 0, 1], object),
    "pandas int": pd.Series([2, 0, 1]),
    "pandas Int64": pd.Series([2, 0, 1], dtype="Int64"),
    "pandas UInt8": pd.Series([2, 0, 1], dtype="UInt8"),
    "pandas category of numbers": pd.Series([2, 0, 1], dtype="category"),
    "polars i8": pl.Series([2, 0, 1], dtype=pl.Int8),
    "polars u64": pl.Series([2, 0, 1], dtype=pl.UInt64),
    "arrow": pa.chunked_array([[2], [0, 1]]),
    "arrow dictionary": pa.array([2, 0, 1]).dictionary_encode(),
    "range": range(2, -1, -1),
}


@pytest.mark.parametrize("answers", [*NUMBERS.values()][:-1], ids=[*NUMBERS.keys()][:-1])
def test_number_columns(answers) -> None:
    assert Domain(3).encode(answers).tolist() == [2, 0, 1]
    assert Domain([1, 2, 0]).encode(answers).tolist() == [1, 2, 0]


def test_a_range_is_a_column() -> None:
    assert Domain(3).encode(NUMBERS["range"]).tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    "answers",
    [np.array([True, False]), [True, False], pd.Series([True, False]), pl.Series([True, False])],
    ids=["numpy", "list", "pandas", "polars"],
)
def test_booleans_are_zero_and_one(answers) -> None:
    assert Domain(2).encode(answers).tolist() == [1, 0]


@pytest.mark.parametrize("frame", ["polars", "Int64", "arrow"])
def test_large_numbers_beside_gaps_are_not_rounded(frame: str) -> None:
    # As floats the two values would be the same.
    labels = [1 << 53, (1 << 53) + 1]
    answers = [labels[1], None, labels[0]]
    column = {
        "polars": pl.Series(answers, dtype=pl.Int64),
        "Int64": pd.Series(answers, dtype="Int64"),
        "arrow": pa.array(answers, pa.int64()),
    }[frame]
    assert Domain(labels, missing="value").encode(column).tolist() == [1, 2, 0]


@pytest.mark.parametrize("frame", ["polars", "pandas"])
def test_large_numbers_beside_gaps_are_not_rounded_without_pyarrow(
    frame: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [1 << 53, (1 << 53) + 1]
    answers = [labels[1], None, labels[0]]
    column = {
        "polars": pl.Series(answers, dtype=pl.Int64),
        "pandas": pd.Series(answers, dtype="Int64"),
    }[frame]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert Domain(labels, missing="value").encode(column).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    "nobody",
    [[], (), np.array([], np.int64), np.array([], object), pd.Series([], dtype=object),
     pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.Int64), pa.array([], pa.string())],
    ids=lambda v: f"{type(v).__module__}.{type(v).__name__}",
)  # fmt: skip
def test_nobody_is_allowed(nobody) -> None:
    for domain in (Domain(3), WORDS, Domain(edges=[0, 1, 2])):
        codes = domain.encode(nobody)
        assert codes.shape == (0,)
        assert codes.dtype == np.uint8


def test_codes_have_the_smallest_type() -> None:
    for size, kind in ((2, "u1"), (256, "u1"), (257, "<u2"), (65_536, "<u2"), (65_537, "<u4")):
        codes = Domain(size).encode(np.array([0, size - 1]))
        assert codes.dtype == np.dtype(kind)
        assert codes.tolist() == [0, size - 1]


@pytest.mark.parametrize("most", [1, 3, 8, 1000])
def test_blocks_are_the_codes_in_parts(most: int) -> None:
    for domain, answers in ((Domain(300), np.arange(300)), (WORDS, TEXT * 10)):
        n, blocks = domain.blocks(answers, most=most)
        wanted = domain.encode(answers).tolist()
        for longer, parts in ((1, [slice(0, n)]), (8, [slice(0, 7), slice(7, n)])):
            codes = np.full(n, 9999)
            for where, part in chain.from_iterable(map(blocks, parts)):
                assert part.size <= longer * most  # in threads more at a time
                codes[where] = part
            assert codes.tolist() == wanted


def test_a_wrong_answer_in_a_late_block_is_named_by_its_row() -> None:
    answers = np.zeros(200_000, np.int64)
    answers[150_001] = 7
    n, blocks = Domain(5).blocks(answers)
    with pytest.raises(AnswerError, match=r"7 \(row 150001\)"):
        list(blocks(slice(0, n)))


UNKNOWN = {
    "list": ["a", "z", "y"],
    "numpy": np.array(["a", "z", "y"]),
    "pandas": pd.Series(["a", "z", "y"]),
    "category": pd.Series(pd.Categorical(["a", "z", "y"], ["unused", "y", "z", "a"])),
    "polars": pl.Series(["a", "z", "y"]),
}


@pytest.mark.parametrize("answers", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_answer_is_named_with_what_is_allowed(answers) -> None:
    with pytest.raises(AnswerError) as caught:
        WORDS.encode(answers)
    message = str(caught.value)
    assert "'z' (row 1)" in message
    assert "'a', 'b', 'c'" in message
    assert "2 distinct unknown answers" in message


@pytest.mark.parametrize("answers", [[0, 9, 5], np.array([0, 9, 5]), pd.Series([0, 9, 5])])
def test_an_unknown_number_is_named_by_its_own_row(answers) -> None:
    for domain in (Domain(3), Domain([0, 1, 7])):
        with pytest.raises(AnswerError, match=r"9 \(row 1\)"):
            domain.encode(answers)


def test_a_long_list_of_values_is_shortened_in_messages() -> None:
    with pytest.raises(AnswerError, match="0, 1, 2, 3, 4, 5, …"):
        Domain(1_000_000).encode([1_000_000])


@pytest.mark.parametrize(
    "answers",
    ["text", b"bytes", 7, 1.5, None, True, {"a": 1}, np.array(3), np.zeros((2, 2)), np.float64(1)],
    ids=repr,
)
def test_what_is_no_column_is_refused(answers) -> None:
    with pytest.raises(AnswerError, match="one column"):
        Domain(3).encode(answers)


def test_a_whole_frame_is_refused() -> None:
    for frame in (pd.DataFrame({"x": ["a"], "y": ["b"]}), pl.DataFrame({"x": ["a"], "y": ["b"]})):
        with pytest.raises(AnswerError):
            WORDS.encode(frame)


def test_a_column_that_is_refused_does_not_show_everyones_answers() -> None:
    for answers in ({"commute": ["a"] * 1000}, "a," * 1000, {f"text {k}" for k in range(1000)}):
        with pytest.raises(AnswerError, match="one column") as caught:
            WORDS.encode(answers)
        assert len(str(caught.value)) < 300


#: Columns whose stored numbers are not their answers: months and durations since an epoch.
STORED = {
    "pandas period": pd.Series(pd.period_range("1970-01", periods=2, freq="M")),
    "pandas timedelta": pd.Series(np.array([0, 1], "m8[ns]")),
    "numpy timedelta": np.array([0, 1], "m8[ns]"),
    "numpy datetime": np.array([0, 1], "M8[ns]"),
    "polars object": pl.Series([object(), object()], dtype=pl.Object),
}


@pytest.mark.parametrize("answers", STORED.values(), ids=STORED)
def test_periods_and_durations_are_no_numbers(answers) -> None:
    with pytest.raises(AnswerError, match=r"the answer [^\d'b]"):
        Domain(3).encode(answers)
    with pytest.raises(AnswerError, match="must be numbers"):
        Range("minutes", 0, 120, clip=True).positions(answers)


def test_integers_of_128_bits_are_read() -> None:
    answers = pl.Series([2, 0, None], dtype=pl.Int128)
    assert Domain(3, missing="value").encode(answers).tolist() == [2, 0, 3]


def test_categories_of_polars_are_no_numbers() -> None:
    with pytest.raises(AnswerError, match="the answer '1' is text"):
        Range("x", 0, 1).positions(pl.Series(["1"], dtype=pl.Categorical))


@pytest.mark.parametrize("answer", [[0], {"a": 1}, 0.5, "0", b"a", 10**30, float("inf")], ids=repr)
def test_strange_answers_are_refused_and_named(answer) -> None:
    with pytest.raises(AnswerError, match=r"row 1") as caught:
        Domain(3).encode([0, answer])
    assert repr(answer) in str(caught.value)


LISTS = [["a"], ["b", "c"], []]
NESTED = {
    "pyarrow list": (pa.array(LISTS), "list<.*string>"),
    "pyarrow struct": (pa.array([{"k": "a"}]), "struct<k: string>"),
    "pyarrow lists of one length": (pa.array([["a"]], pa.list_(pa.string(), 1)), "fixed_size_list"),
    "polars": (pl.Series(LISTS), "list<"),
    "pandas": (pd.Series(LISTS), r"list<|answer \['a'\]"),  # pandas 2 does not speak Arrow
    "arrays": ([np.array(["a"]), np.array(["b", "c"])], "array"),
    "arrays of one length": ([np.array([1.0]), np.array([2.0])], "array"),
}


@pytest.mark.parametrize(
    "domain",
    [Domain(["a", "b"], missing="value"), Domain(edges=[0, 1, 2], missing="value")],
    ids=["values", "bins"],
)
@pytest.mark.parametrize(("answers", "says"), NESTED.values(), ids=NESTED)
def test_several_answers_in_one_are_not_a_missing_one(answers, says: str, domain) -> None:
    with pytest.raises(AnswerError, match=says):
        domain.encode(answers)


@pytest.mark.parametrize(
    "answers", [[0, 7], np.array([0, 7]), pa.array([0, 7]), [0, None]], ids=str
)
def test_rows_of_a_larger_table_are_named(answers) -> None:
    for rows in (range(40, 42), np.array([3, 41])):
        with pytest.raises(AnswerError, match="row 41"):
            Domain(3).coded(answers, rows=rows)
    with pytest.raises(AnswerError, match="-5, at row 41"):
        Domain(edges=[0, 1, 2]).coded([1, -5], rows=range(40, 42))


def test_decode_inverts_encode() -> None:
    for domain, answers in ((WORDS, TEXT), (Domain(3, missing="value"), [0, None, 2])):
        back = domain.decode(domain.encode(answers))
        assert back == [("no answer" if a is None else a) for a in answers]


class TestBins:
    AGE = Attribute.bins("age", [0, 18, 65, float("inf")])

    def test_edges_belong_to_the_upper_bin_and_the_last_is_closed(self) -> None:
        below = np.nextafter(18, 0)
        assert self.AGE.encode([0, below, 18, 64.9, 65, 1e308]).tolist() == [0, 0, 1, 1, 2, 2]
        assert self.AGE.encode([float("inf")]).tolist() == [2]
        assert Domain(edges=[0, 1, 2]).encode([2, 1, 0]).tolist() == [1, 1, 0]

    def test_minus_infinity_is_an_edge_too(self) -> None:
        domain = Domain(edges=[float("-inf"), 0, float("inf")])
        assert domain.encode([float("-inf"), -1, 0, float("inf")]).tolist() == [0, 0, 1, 1]

    @pytest.mark.parametrize("bad", [-0.001, -1, float("-inf")])
    def test_outside_is_refused_with_the_edges(self, bad: float) -> None:
        with pytest.raises(AnswerError, match=r"1 of 2 numbers .*row 1.*widen"):
            self.AGE.encode([5.0, bad])

    @pytest.mark.parametrize(("bad", "shown"), [(-5, "-5"), (-0.1, "-0.1"), (-1 / 3, repr(-1 / 3))])
    def test_a_number_outside_is_shown_as_people_write_it(self, bad: float, shown: str) -> None:
        with pytest.raises(AnswerError, match=f"the first, {shown}, at row 0.*go from 0 to 2;"):
            Domain(edges=[0, 1, 2]).encode([bad])

    @pytest.mark.parametrize(
        "answers",
        [[1, 20.5], (1, 20.5), np.array([1, 20.5], np.float32), np.array([1, 20], np.uint8),
         np.array([1, 20], ">i8"), pd.Series([1, 20.5]), pd.Series([1, 20], dtype="Int64"),
         pl.Series([1.0, 20.5]), pa.array([1, 20]), np.array([1, 20.5], object)],
        ids=lambda v: f"{type(v).__module__}.{type(v).__name__}",
    )  # fmt: skip
    def test_every_kind_of_number(self, answers) -> None:
        assert self.AGE.encode(answers).tolist() == [0, 1]

    @pytest.mark.parametrize(
        "answers",
        [
            ["1"],
            np.array(["1"]),
            pd.Series(["1"]),
            [1, "x"],
            np.array(["2020-01-01"], "M8[D]"),
            np.array([1j]),
        ],
    )
    def test_text_is_no_number(self, answers) -> None:
        with pytest.raises(AnswerError, match="numbers"):
            self.AGE.encode(answers)

    def test_labels_say_the_edges(self) -> None:
        assert self.AGE.labels == ("[0, 18)", "[18, 65)", "[65, inf]")
        assert Domain(edges=[0.1, 0.25, 1e20]).labels[1] == "[0.25, 1e+20]"

    @pytest.mark.parametrize(
        "edges",
        [[], [1], [1, 2], [1, 1, 2], [2, 1, 0], [0, float("nan"), 1], "abc", 5, [0, "x", 1],
         [0, None, 2]],
        ids=repr,
    )  # fmt: skip
    def test_bad_edges_are_refused(self, edges) -> None:
        with pytest.raises(ParameterError, match="edges"):
            Domain(edges=edges)


@pytest.mark.parametrize("answers", [{"a", "b"}, frozenset("ab"), {"a": 1}.keys()])
def test_sets_are_no_column_of_answers(answers) -> None:
    """They have no order, and people who answer alike would count once."""
    with pytest.raises(AnswerError, match="one entry per person"):
        Domain(["a", "b"]).encode(answers)


@pytest.mark.parametrize(
    ("values", "answer", "why"),
    [
        (["1", "2"], 1, "the value '1' is text, and the answer is a number"),
        (["1", "2"], 1.0, "the value '1' is text, and the answer is a number"),
        ([1, 2], "1", "the value 1 is a number, and the answer is text"),
        (3, "2", "the value 2 is a number, and the answer is text"),
        (["yes", "no"], "Yes ", "it differs from 'yes' only in capital letters"),
    ],
)
def test_an_answer_of_another_type_says_so(values: object, answer: object, why: str) -> None:
    with pytest.raises(AnswerError, match=why):
        Domain(values).encode([answer])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "answer"), [(3, "9"), (2**31, "²"), ([1, 2], 3), (["a", "b"], b"a")]
)
def test_other_answers_are_only_refused(values: object, answer: object) -> None:
    with pytest.raises(AnswerError) as refusal:
        Domain(values).encode([answer])  # type: ignore[arg-type]
    assert "and the answer is" not in str(refusal.value)
