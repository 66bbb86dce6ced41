"""From a column or a table to an estimate in one line, and what is refused on the way."""

from __future__ import annotations

import dataclasses

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.errors import AnswerError, ParameterError

BINS = sv.Attribute.bins("age", [0, 40, 120])
TABLE = {"smokes": ["yes", "no"] * 500, "age": [20, 70] * 500}


def test_numbers_give_a_mean():
    estimate = sv.ask([30.0] * 5000, values=sv.Range("age", 0, 120), epsilon=10.0)
    assert estimate.labels == ("mean",)
    assert abs(estimate.values[0] - 30) < 5  # more than 10 standard errors


def test_levels_of_numbers():
    level = ["strong", "weak"] * 500
    menu = {"strong": 1.0, "weak": 4.0}
    assert sv.ask([3] * 1000, values=sv.Range("n", 0, 5), levels=menu, level=level).n == 1000


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_gives_a_joint_table(kind):
    known = {"smokes": ["yes", "no"], "age": BINS}
    table = sv.ask(kind(TABLE), values=known, epsilon=10.0)
    assert table.names == ["smokes", "age"]
    assert abs(float(table.table[0, 0]) - 0.5) < 0.1
    assert table.marginal(["age"]).n == 1000


def test_a_schema_will_do():
    schema = sv.Schema([sv.Attribute("smokes", ["yes", "no"]), BINS])
    assert sv.ask(TABLE, values=schema, epsilon=4.0).names == ["smokes", "age"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"values": {"smokes": ["yes", "no"]}}, "one epsilon for each attribute"),
        ({"values": {"smokes": BINS}, "epsilon": 1.0}, "Attribute of the same name"),
        ({"values": ["yes", "no"]}, "give epsilon=1.0"),
    ],
)
def test_what_is_refused(options, reason):
    with pytest.raises(ParameterError, match=reason):
        sv.ask(TABLE, **options)


def test_bounds_that_were_meant_as_a_range_are_recognised():
    with pytest.raises(AnswerError, match=r"give values=sv\.Range\('name', 0, 120\)"):
        sv.ask([30, 40] * 50, values=(0, 120), epsilon=1.0)
    for values in ((0, 1), ("a", "b"), (0, 60, 120)):
        with pytest.raises(AnswerError) as refusal:
            sv.ask([30, 40] * 50, values=values, epsilon=1.0)
        assert "Range" not in str(refusal.value)


# --- the wrong object ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def collections():
    grr = sv.GRR(["a", "b"], epsilon=1.0)
    records = sv.Records([sv.Attribute("x", ["a", "b"])], epsilon_average=1.0)
    return [
        (grr, ["a", "b"], grr.estimate),
        (sv.Sampled(grr, rate=0.5), ["a", "b"], sv.Sampled(grr, rate=0.5).estimate),
        (records, {"x": ["a", "b"]}, lambda counts: records.marginal(counts, ["x"])),
    ]


def test_answers_reports_and_counts_are_not_mixed_up(collections):
    for collection, answers, estimate in collections:
        reports = collection.randomise(answers)
        counts = collection.aggregate(reports)
        with pytest.raises(ParameterError, match=r"if these are answers, randomise them first"):
            collection.aggregate(answers)
        with pytest.raises(ParameterError, match=r"aggregate\(randomise\(answers\)\)"):
            estimate(answers)
        with pytest.raises(ParameterError, match=r"these are reports: count them first"):
            estimate(reports)
        with pytest.raises(ParameterError, match="counted already"):
            collection.aggregate(counts)
        for randomised in (reports, counts):
            with pytest.raises(AnswerError, match="randomised already"):
                collection.randomise(randomised)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_a_table_where_a_column_is_expected(kind):
    with pytest.raises(AnswerError, match=r"is a table, so choose one of its columns") as error:
        sv.GRR(["secret", "other"], epsilon=1.0).randomise(kind({"x": ["secret"]}))
    assert "secret" not in str(error.value)


def test_dir_lists_the_public_names_alone():
    assert dir(sv) == sorted(sv.__all__)


def test_labels_stand_for_codes():
    domain = sv.Attribute("smokes", [1, 2, 9], wording=["yes", "no", "refused"], missing="value")
    assert domain.labels == ("yes", "no", "refused", "no answer")
    assert domain.encode([9, None, 1]).tolist() == [2, 3, 0]
    estimate = sv.ask([1, 2, 9] * 100, values=domain, epsilon=4.0)
    assert tuple(estimate.labels) == domain.labels
    assert dataclasses.replace(domain, missing="refuse").labels == ("yes", "no", "refused")
    plain = sv.Attribute("smokes", [1, 2, 9], missing="value")
    assert plain != domain
    assert "labels" not in plain.canonical(), "the digest of studies without labels is the same"
    for wording, reason in [
        (["a", "b"], "2 labels for 3 values"),
        (["a", "b", "a"], "labels must differ"),
        (["a", "b", ""], "empty or not text"),
        (["a", "b", "no answer"], "given twice: 'no answer'"),
        ("abc", "give a list"),
    ]:
        with pytest.raises(ParameterError, match=reason):
            sv.Attribute("smokes", [1, 2, 9], wording=wording, missing="value")
