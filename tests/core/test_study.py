"""Studies: TOML there and back, digests that notice everything, and questions kept apart."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import (
    GRR,
    OUE,
    Aggregate,
    Attribute,
    Duchi,
    Piecewise,
    Range,
    Records,
    Reports,
    Study,
)
from sottovoce.errors import DigestError, FileError, ParameterError, StudyError
from tests.laws.entries import CATEGORICAL, NUMERIC

TITLE = st.text(min_size=1).filter(str.strip)
LABEL = st.one_of(st.text(), st.integers())
EDGES = st.lists(st.floats(allow_nan=False), min_size=3, max_size=6, unique=True).map(sorted)
EPSILON = st.floats(min_value=1e-9, max_value=20)
MISSING = st.sampled_from(["refuse", "value", "public"])


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    missing = draw(MISSING)
    form = draw(st.sampled_from(["size", "labels", "edges"]))
    if form == "edges":
        return Attribute.bins(name, draw(EDGES), missing=missing)
    if form == "size":
        return Attribute(name, draw(st.integers(2, 10**6)), missing=missing)
    labels = draw(st.lists(LABEL, min_size=2, max_size=6, unique=True))
    kept = [label for label in labels if label != "no answer"]
    return Attribute(name, kept if len(kept) > 1 else ["yes", "no"], missing=missing)


@st.composite
def studies(draw: st.DrawFn) -> Study:
    names = draw(st.lists(TITLE, min_size=1, max_size=3, unique=True))
    kinds = st.sampled_from([GRR, OUE])
    questions = [draw(kinds)(draw(attributes(name)), epsilon=draw(EPSILON)) for name in names]
    return Study(draw(TITLE), tuple(questions))


@given(studies())
def test_toml_there_and_back(study: Study) -> None:
    text = study.to_toml()
    back = Study.from_toml(text)
    assert back == study
    assert back.digest == study.digest
    assert back.to_toml() == text
    assert tomllib.loads(text)["title"] == study.title


@given(study=studies())
def test_saving_keeps_every_character(study: Study, tmp_path: Path) -> None:
    study.save(tmp_path / "study.toml", replace=True)
    assert Study.load(tmp_path / "study.toml") == study


BASE = """
format = 1
title = "How we get to work"

[[question]]
name = "commute"
values = ["car", "bike"]
missing = "value"
mechanism = "oue"
epsilon = 1.0

[[question]]
name = "age"
edges = [0, 18, 65, inf]
mechanism = "grr"
epsilon = 0.5
"""

CHANGES = [
    ('"How we get to work"', '"How we get to Work"'),
    ('name = "commute"', 'name = "Commute"'),
    ('["car", "bike"]', '["bike", "car"]'),
    ('["car", "bike"]', '["car", "bikes"]'),
    ('["car", "bike"]', '["car", "bike", "foot"]'),
    ('["car", "bike"]', "2"),
    ('missing = "value"', 'missing = "refuse"'),
    ('missing = "value"', 'missing = "public"'),
    ('mechanism = "oue"', 'mechanism = "sue"'),
    ("epsilon = 1.0", "epsilon = 1.0000000000000002"),
    ("epsilon = 0.5", "epsilon = 0.25"),
    ("[0, 18, 65, inf]", "[0, 18, 65, 100]"),
    ("[0, 18, 65, inf]", "[0, 18.000000000000004, 65, inf]"),
    ('mechanism = "grr"', 'mechanism = "grr"\nmissing = "value"'),
]


@pytest.mark.parametrize(("old", "new"), CHANGES, ids=[new for _, new in CHANGES])
def test_every_change_is_another_study(old: str, new: str) -> None:
    assert old in BASE
    base, other = Study.from_toml(BASE), Study.from_toml(BASE.replace(old, new))
    assert other.digest != base.digest
    # Even the questions that did not change are bound to the study that they belong to.
    for mine, theirs in zip(base, other, strict=True):
        assert mine.digest != theirs.digest


def test_the_order_of_questions_matters() -> None:
    base = Study.from_toml(BASE)
    turned = Study(base.title, base.unbound[::-1])
    assert turned.digest != base.digest


def test_spelling_the_same_thing_otherwise_is_the_same_study() -> None:
    base = Study.from_toml(BASE)
    same = BASE.replace('"car"', "'car'").replace("1.0", "1").replace("[0, 18,", "[0.0, 18.0,")
    assert Study.from_toml(same).digest == base.digest
    assert Study.from_toml("# a remark\n" + BASE).digest == base.digest


QUESTION = '[[question]]\nname = "q"\nvalues = 2\nmechanism = "grr"\nepsilon = 1.0\n'
HEAD = 'format = 1\ntitle = "t"\n'

BAD = {
    "not TOML": ("format = ", "not valid TOML"),
    "no format": ('title = "t"\n' + QUESTION, "format is None"),
    "another format": (HEAD.replace("1", "2") + QUESTION, "format is 2"),
    "format as text": (HEAD.replace("1", '"1"') + QUESTION, "format is '1'"),
    "no title": ("format = 1\n" + QUESTION, "title"),
    "empty title": (HEAD.replace('"t"', '" "') + QUESTION, "title"),
    "title as number": (HEAD.replace('"t"', "3") + QUESTION, "title"),
    "no question": (HEAD, "asks nothing"),
    "one table": (HEAD + QUESTION.replace("[[question]]", "[question]"), "asks nothing"),
    "a list of numbers": (HEAD + "question = [1]", "question 1 is 1"),
    "unknown entry": (HEAD + "colour = 1\n" + QUESTION, "'colour'"),
    "unknown question entry": (HEAD + QUESTION + "delta = 1", r"question 1 \('q'\).*'delta'"),
    "no name": (HEAD + QUESTION.replace('name = "q"\n', ""), "question 1 lacks name"),
    "no mechanism": (HEAD + QUESTION.replace('mechanism = "grr"\n', ""), "lacks mechanism"),
    "no epsilon": (HEAD + QUESTION.replace("epsilon = 1.0\n", ""), "lacks epsilon"),
    "no values": (HEAD + QUESTION.replace("values = 2\n", ""), "lacks values"),
    "both": (HEAD + QUESTION + "edges = [0, 1, 2]", "give one"),
    "unknown mechanism": (HEAD + QUESTION.replace("grr", "laplace"), r"'laplace'.*'grr'"),
    "mechanism as list": (HEAD + QUESTION.replace('"grr"', '["grr"]'), "mechanism"),
    "mechanism as number": (HEAD + QUESTION.replace('"grr"', "1"), "mechanism"),
    "epsilon as text": (HEAD + QUESTION.replace("1.0", '"1"'), "epsilon is '1'"),
    "epsilon too large": (HEAD + QUESTION.replace("1.0", "21"), "epsilon is 21"),
    "epsilon nan": (HEAD + QUESTION.replace("1.0", "nan"), "epsilon is nan"),
    "epsilon true": (HEAD + QUESTION.replace("1.0", "true"), "epsilon is True"),
    "one value": (HEAD + QUESTION.replace("= 2", '= ["a"]'), "1 value"),
    "values twice": (HEAD + QUESTION.replace("= 2", '= ["a", "a"]'), "'a'"),
    "values as text": (HEAD + QUESTION.replace("= 2", '= "ab"'), "'ab'"),
    "values as table": (HEAD + QUESTION.replace("= 2", "= {a = 1, b = 2}"), "list"),
    "values nested": (HEAD + QUESTION.replace("= 2", "= [[1], [2]]"), r"\[1\]"),
    "values as dates": (HEAD + QUESTION.replace("= 2", "= [2020-01-01, 2021-01-01]"), "date"),
    "values of floats": (HEAD + QUESTION.replace("= 2", "= [0.5, 1.5]"), "0.5"),
    "edges as number": (HEAD + QUESTION.replace("values = 2", "edges = 3"), "edges"),
    "edges falling": (HEAD + QUESTION.replace("values = 2", "edges = [3, 2, 1]"), "increase"),
    "range of one": (HEAD + QUESTION.replace("values = 2", "range = [1]"), "range"),
    "range as text": (HEAD + QUESTION.replace("values = 2", 'range = "ab"'), "range"),
    "range falling": (HEAD + QUESTION.replace("values = 2", "range = [2, 1]"), "increasing"),
    "range of text": (HEAD + QUESTION.replace("values = 2", 'range = ["a", "b"]'), "bounds"),
    "range for values": (HEAD + QUESTION.replace("values = 2", "range = [0, 1]"), r"question 1"),
    "values for numbers": (HEAD + QUESTION.replace("grr", "duchi"), "bounds"),
    "clip without range": (HEAD + QUESTION + "clip = true", "clip"),
    "clip as text": (
        HEAD
        + QUESTION.replace("grr", "duchi").replace("values = 2", 'range = [0, 1]\nclip = "no"'),
        "clip",
    ),
    "missing otherwise": (HEAD + QUESTION + 'missing = "drop"', "'drop'"),
    "missing as list": (HEAD + QUESTION + 'missing = ["value"]', "missing="),
    "name as number": (HEAD + QUESTION.replace('"q"', "7"), "name"),
    "two of one name": (HEAD + QUESTION + QUESTION, "'q'"),
}


@pytest.mark.parametrize(("text", "says"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_a_contract_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=f"(?s){says}"):
        Study.from_toml(text)
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=r"s\.toml"):
        Study.load(tmp_path / "s.toml")


def test_files_that_are_no_text_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match="UTF-8"):
        Study.load(tmp_path / "s.toml")
    with pytest.raises(FileError, match=r"no\.toml"):
        Study.load(tmp_path / "no.toml")


def test_a_study_file_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    study = Study.from_toml(BASE)
    study.save(path)
    with pytest.raises(FileError, match="exists already"):
        Study("another", study.unbound).save(path)
    assert Study.load(path) == study
    Study("another", study.unbound).save(path, replace=True)
    assert Study.load(path).title == "another"


class TestQuestions:
    study = Study.from_toml(BASE)

    def test_they_are_found_by_name(self) -> None:
        assert len(self.study) == 2
        assert [m.id for m in self.study] == ["oue", "grr"]
        assert self.study.mechanism("age").domain.name == "age"
        with pytest.raises(ParameterError, match="'commute', 'age'"):
            self.study.mechanism()
        with pytest.raises(ParameterError, match="'shoes'"):
            self.study.mechanism("shoes")

    def test_the_only_one_needs_no_name(self) -> None:
        single = Study("t", (GRR(Attribute("q", 2), epsilon=1.0),))
        assert single.mechanism().digest == single.mechanism("q").digest
        assert single.guarantee == single.unbound[0].guarantee

    def test_reports_of_one_are_refused_under_another(self) -> None:
        # Two questions with the same values and mechanism, so that only the binding differs.
        twins = Study(
            "t", tuple(GRR(Attribute(name, 3), epsilon=1.0) for name in ("before", "after"))
        )
        before, after = twins
        reports = before.randomise([0, 1, 2])
        with pytest.raises(DigestError):
            after.aggregate(reports)
        with pytest.raises(DigestError):
            Reports.from_bytes(reports.to_bytes(), expect=after)
        counts = before.aggregate(reports)
        with pytest.raises(DigestError):
            after.estimate(counts)
        assert Reports.from_bytes(reports.to_bytes(), expect=twins).digest == before.digest
        assert Aggregate.from_bytes(counts.to_bytes(), expect=twins) == counts

    def test_reports_without_the_study_are_refused(self) -> None:
        unbound = self.study.unbound[1]
        reports = unbound.randomise([1, 2])
        with pytest.raises(DigestError, match="How we get to work"):
            Reports.from_bytes(reports.to_bytes(), expect=self.study)

    def test_the_whole_route(self) -> None:
        mechanism = self.study.mechanism("commute")
        answers = ["car", None, "bike", "car"] * 2000
        data = mechanism.randomise(answers).to_bytes()
        counts = self.study.mechanism("commute").aggregate(
            Reports.from_bytes(data, expect=self.study)
        )
        estimate = mechanism.estimate(counts)
        assert estimate.name == "commute"
        assert list(estimate.labels) == ["car", "bike", "no answer"]
        assert np.abs(estimate.values - [0.5, 0.25, 0.25]).max() < 10 * estimate.std_error.max()

    def test_the_guarantee_is_for_all_answers_together(self) -> None:
        assert self.study.guarantee.epsilon == 1.5
        assert "all answers" in str(self.study.guarantee)


def test_what_is_no_question_is_refused() -> None:
    for wrong in (GRR(3, epsilon=1.0), "q", None):
        with pytest.raises(StudyError, match="named Attribute"):
            Study("t", (wrong,))
    with pytest.raises(StudyError, match="at least one"):
        Study("t", ())


@pytest.mark.parametrize("kind", NUMERIC.values(), ids=NUMERIC)
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("missing", ["refuse", "public"])
def test_questions_about_numbers(kind, clip: bool, missing: str) -> None:
    question = kind(Range("q", -0.1, 1e50, clip=clip, missing=missing), epsilon=0.7)
    study = Study("t", (question,))
    back = Study.from_toml(study.to_toml())
    assert back == study
    assert back.digest == study.digest


def test_every_part_of_a_range_is_in_the_digest() -> None:
    ranges = [
        Range("q", 0, 1),
        Range("r", 0, 1),
        Range("q", 0, 2),
        Range("q", -1, 1),
        Range("q", 0, 1, clip=True),
        Range("q", 0, 1, missing="public"),
    ]
    assert len({Study("t", (Duchi(r, epsilon=1.0),)).digest for r in ranges}) == len(ranges)


def test_a_study_keeps_every_parameter() -> None:
    study = Study("t", (Piecewise(Range("q", 0, 1), epsilon=1.0, steps=64),))
    assert Study.from_toml(study.to_toml()) == study


@pytest.mark.parametrize("kind", CATEGORICAL.values(), ids=CATEGORICAL)
def test_every_mechanism_can_be_written_in_a_study(kind) -> None:
    study = Study("t", (kind(Attribute("q", 5), epsilon=0.7),))
    assert Study.from_toml(study.to_toml()) == study


def test_collections_are_bound_once_and_found_by_their_digest() -> None:
    records = Records([Attribute("a", 2), Attribute("b", 3)], epsilon_average=1.0, name="both")
    study = Study("t", (records, GRR(Attribute("q", 2), epsilon=1.0)))
    assert study.names == ("q", "both")
    assert study.collection("both") is study.collection("both")
    for one in study:
        assert study.match(one.id, one.digest) is one
    with pytest.raises(DigestError):
        study.match(records.id, records.digest)  # not bound to the study
    with pytest.raises(ParameterError, match="are records"):
        study.mechanism("both")
    assert study.guarantee.epsilon == 3.0
    assert Study.from_toml(study.to_toml()) == study
    renamed = Study("t", (study.unbound[0], replace(records, name="other")))
    assert renamed.digest != study.digest


@pytest.mark.parametrize("text", ["\ud800", "car\udcff"])
def test_what_no_file_can_hold_is_refused_before_anything_is_written(tmp_path, text) -> None:
    for study in (
        Study(text, (GRR(Attribute("q", 2), epsilon=1.0),)),
        Study("t", (GRR(Attribute("q", [text, "b"]), epsilon=1.0),)),
    ):
        with pytest.raises(StudyError, match="no file can hold"):
            study.save(tmp_path / "study.toml")
    assert not list(tmp_path.iterdir())


def test_one_question_that_is_not_in_a_list() -> None:
    with pytest.raises(StudyError, match="questions are a list of them; GRR was given"):
        Study("t", GRR(Attribute("a", ["x", "y"]), epsilon=1.0))  # type: ignore[arg-type]
