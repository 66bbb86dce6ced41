"""Adding to a study, and values from a code book."""

from __future__ import annotations

from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce import Study

from .conftest import STUDY
from .workbooks import write_workbook

AGE = ("--question", "age", "--range", "0", "120", "--epsilon", "1")


def test_a_question_and_records_are_added(folder, run):
    Path("study.toml").write_text(STUDY + "# asked since 2019\n")
    before = Study.load("study.toml")
    said = run("study", "add", "study.toml", *AGE).stdout
    assert "How we get to work: age was added to study.toml" in said
    flowed = " ".join(said.split())
    assert f"reports made under the digest {before.digest.hex()[:12]}… are not counted" in flowed
    assert "--study study.toml --question age --out" in said
    run("study", "add", "study.toml", "--records", "r", "--attribute", "a=x,y", "--epsilon", "2")
    run("study", "add", "study.toml", "--question", "late", "--values", "3", "--epsilon", "1")
    study = Study.load("study.toml")
    assert study.names == ("commute", "age", "late", "r")
    assert study.unbound[0] == before.unbound[0]
    assert Path("study.toml").read_text().startswith(STUDY + "# asked since 2019\n")


def test_adding_as_json(folder, json_of):
    before = Study.load("study.toml").digest.hex()
    about = json_of("study", "add", "study.toml", *AGE)
    assert about["digest_before"] == before
    assert about["digest"] == Study.load("study.toml").digest.hex() != before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--question", "commute", "--values", "a,b", "--epsilon", "1"), "two questions named"),
        (("--question", "q", "--values", "a", "--epsilon", "1"), "1 value"),
    ],
)
def test_what_cannot_be_added_leaves_the_file_alone(folder, fails, options, reason):
    assert reason in fails("study", "add", "study.toml", *options)
    assert Path("study.toml").read_text() == STUDY


def test_a_file_that_cannot_be_appended_to(folder):
    inline = STUDY.replace("[[question]]\n", "question = [{").replace('"commute"\n', '"commute", ')
    one_line = inline.replace("]\nmech", "], mech").replace('"grr"\n', '"grr", ').strip() + "}]\n"
    Path("inline.toml").write_text(one_line)
    study = Study.load("inline.toml")
    with pytest.raises(ValueError, match="TOML"):
        study.add_to_file("inline.toml", sv.GRR(sv.Attribute("other", 3), epsilon=1.0))
    assert Path("inline.toml").read_text() == one_line


# --- code books ---------------------------------------------------------------------------------

BOOK = "variable,value,label\nsmokes,1,yes\n,2,no\n,9,refused\nregion,N,north\nregion,S,\n"


def new(*more: str) -> tuple[str, ...]:
    return ("study", "new", "new.toml", "--title", "T", "--epsilon", "1", *more)


def attribute(name: str = "smokes"):
    return Study.load("new.toml").mechanism(name).domain


@pytest.mark.parametrize("kind", ["csv", "latin-1", "xlsx", "json", "toml"])
def test_values_and_labels_from_a_code_book(folder, run, kind):
    words = {"smokes": {"1": "ja", "2": "weiß nicht"}}
    more = ()
    if kind == "json":
        Path("book.json").write_text('{"smokes": {"1": "ja", "2": "weiß nicht"}, "x": ["a", "b"]}')
    elif kind == "toml":
        Path("book.toml").write_text('x = ["a", "b"]\n[smokes]\n1 = "ja"\n2 = "weiß nicht"\n')
    elif kind == "xlsx":
        rows = [["Variable", "Value", "Label"], ["smokes", 1, "ja"], [None, 2, "weiß nicht"]]
        write_workbook("book.xlsx", {"Codes": rows})
    else:
        text = "value;label\n1;ja\n2;weiß nicht\n"
        Path(f"book.{kind}").write_bytes(text.encode("utf-8" if kind == "csv" else kind))
        more = ("--separator", ";", *(("--encoding", kind) if kind != "csv" else ()))
    run(*new("--question", "smokes", "--codebook", f"book.{kind}", *more))
    assert list(attribute().values) == [1, 2]
    assert attribute().labels == tuple(words["smokes"].values())


def test_labels_are_shown_and_codes_are_read(folder, run, json_of):
    Path("book.csv").write_text(BOOK)
    run(*new("--question", "smokes", "--codebook", "book.csv"))
    assert "3: 1 yes, 2 no, 9 refused" in run("study", "show", "new.toml").stdout
    question = json_of("study", "show", "new.toml")["questions"][0]
    assert (question["values"], question["codes"]) == (["yes", "no", "refused"], [1, 2, 9])
    Path("a.csv").write_text("smokes\n" + "1\n2\n9\n" * 1000)
    run("randomise", "a.csv", "--study", "new.toml", "--out", "r.svr")
    rows = json_of("estimate", "r.svr", "--study", "new.toml")["values"]
    assert [row["value"] for row in rows] == ["yes", "no", "refused"]


def test_records_take_all_variables_or_those_that_are_named(folder, run):
    Path("book.csv").write_text(BOOK)
    run(*new("--records", "r", "--codebook", "book.csv"))
    records = Study.load("new.toml").collection("r")
    assert [one.labels for one in records.attributes] == [
        ("yes", "no", "refused"),
        ("north", "S"),  # a value without a label is called what it is
    ]
    more = ("--attribute", "region", "--attribute", "age=bins:0,18,99", "--force")
    run(*new("--records", "r", "--codebook", "book.csv", *more))
    assert [one.name for one in Study.load("new.toml").collection("r").attributes] == [
        "region",
        "age",
    ]


def test_a_study_with_labels_reads_back(folder, run):
    Path("book.csv").write_text(BOOK)
    run(*new("--records", "r", "--codebook", "book.csv", "--missing", "value"))
    study = Study.load("new.toml")
    assert Study.from_toml(study.to_toml()) == study
    other = study.to_toml().replace('"refused"', '"rejected"')
    assert Study.from_toml(other).digest != study.digest, "people rely on the labels"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("b.csv", "code,label\n1,a\n", "has the columns 'code', 'label'; a code book needs value"),
        ("b.csv", "value,label\n1,a\n2\n", "row 2 (header not counted): the number of cells is 1"),
        ("b.csv", "value,label\n", "has no values"),
        ("b.csv", "value,label\n1,a\n2,a\n", "labels must differ; given twice: 'a'"),
        ("b.csv", "value,label\n1,a\n1,b\n", "values must differ"),
        ("b.csv", "variable,value\nx,1\nx,2\n", "has no variable 'smokes'; it has 'x'"),
        ("b.json", "{", "is not valid JSON"),
        ("b.json", '{"smokes": {"1": [2]}}', "a list of values, or a mapping from values to"),
        ("b.json", "3", "a list of values, or a mapping"),
        ("b.toml", "x =", "not valid TOML"),
    ],
)
def test_code_books_that_are_refused(folder, fails, name, text, reason):
    Path(name).write_text(text)
    assert reason in fails(*new("--question", "smokes", "--codebook", name))
    assert not Path("new.toml").exists()


def test_reports_are_no_code_book(folder, fails, randomised):
    randomised()
    assert "holds reports" in fails(*new("--question", "q", "--codebook", "reports.svr"))


def test_a_code_book_is_one_of_several_ways(folder, run):
    Path("book.csv").write_text(BOOK)
    said = run(*new("--question", "q", "--values", "2", "--codebook", "book.csv"), code=2).stderr
    assert "give one of --values, --edges, --range, --codebook and --alphabet" in said
    said = run(*new("--records", "r"), code=2).stderr
    assert "or a --codebook with" in said
