"""A file that is something else is named, with the command that comes first."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .workbooks import write_workbook

STUDY_OPTION = ("--study", "study.toml")


@pytest.fixture
def files(folder, run, randomised):
    randomised()
    randomised(out="reports.parquet")
    run("aggregate", "reports.svr", *STUDY_OPTION, "--out", "counts.sva")
    pq.write_table(pa.table({"commute": ["car"]}), "answers.parquet")
    write_workbook("answers.xlsx", {"Data": [["commute"], ["car"]]})
    return folder


@pytest.mark.parametrize("name", ["answers.csv", "answers.parquet", "answers.xlsx"])
@pytest.mark.parametrize("command", ["aggregate", "estimate", "joint"])
def test_answers_where_reports_are_expected(files, fails, name, command):
    more = {"aggregate": ("--out", "x.sva"), "joint": ("--attribute", "a", "--attribute", "b")}.get(
        command, ()
    )
    if command == "joint":
        Path("study.toml").write_text(
            'format = 1\ntitle = "T"\n[[records]]\nname = "r"\nepsilon_average = 1.0\n'
            '[[records.attribute]]\nname = "a"\nvalues = 2\n'
            '[[records.attribute]]\nname = "b"\nvalues = 2\n'
        )
    said = fails(command, name, *STUDY_OPTION, *more)
    assert f"'{name}' is a table of answers, not reports: run `sottovoce randomise {name}" in said


@pytest.mark.parametrize("command", ["aggregate", "estimate"])
def test_a_study_where_reports_are_expected(files, fails, command):
    more = ("--out", "x.sva") if command == "aggregate" else ()
    said = fails(command, "study.toml", *STUDY_OPTION, *more)
    assert "'study.toml' is a study, not reports; give it with --study" in said


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("reports.svr", "holds reports: these answers are randomised already; run `sottovoce est"),
        ("reports.parquet", "holds reports: these answers are randomised already"),
        ("counts.sva", "holds counts of reports, not answers; run `sottovoce estimate counts.sva"),
        ("study.toml", "is a study, not a table of answers; give it with --study"),
    ],
)
def test_what_is_not_answers(files, fails, name, reason):
    assert reason in fails("randomise", name, *STUDY_OPTION, "--out", "x.svr")


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"$FL2@(#) SPSS DATA FILE", "an SPSS file"),
        (b"<stata_dta><header><release>118</release>", "a Stata file"),
        (b"\x72\x02\x01\x00\x05\x00", "a Stata file"),
        (b"\0" * 12 + b"\xc2\xea\x81\x60\xb3\x14", "a SAS file"),
        (b'[\n {"commute": "car"}]', "JSON"),
        (b'{"commute": "car"}\n{"commute": "bike"}', "JSON"),
        (b"<html><body><table>", "HTML"),
        (b"\xef\xbb\xbf<!DOCTYPE html>", "HTML"),
    ],
)
def test_files_of_other_programs_are_named(folder, fails, start, what):
    Path("answers.xls").write_bytes(start)
    said = fails("randomise", "answers.xls", *STUDY_OPTION, "--out", "x.svr")
    assert f"'answers.xls' is {what}; save the table as CSV, Parquet or .xlsx" in said


@pytest.mark.parametrize("header", ["$FLAG", "<18", "{age}", "[0]", "rsq", '"{x}"'])
def test_columns_with_odd_names_are_read(folder, run, header):
    Path("odd.csv").write_text(f"{header},commute\n1,car\n")
    assert "1 report" in run("randomise", "odd.csv", *STUDY_OPTION, "--out", "x.svr").stdout


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("answers.csv", "is a table, not a study; make a study with `sottovoce study new`"),
        ("answers.xlsx", "is a table, not a study"),
        ("reports.svr", "holds reports, not a study; name the study that they were made under"),
        ("counts.sva", "holds counts, not a study"),
    ],
)
def test_what_is_not_a_study(files, fails, name, reason):
    assert reason in fails("estimate", "counts.sva", "--study", name)
    assert reason in fails("study", "show", name)
    assert reason in fails("randomise", "answers.csv", "--study", name, "--out", "x.svr")


def test_a_study_with_an_error_is_still_judged_as_one(folder, fails):
    Path("bad.toml").write_text('title = "T"\n[question]\nname = "x"\n')
    assert "format is None" in fails("study", "check", "bad.toml")
    Path("bad.toml").write_text("# a comment\nformat = 1\ntitle =\n")
    assert "not valid TOML" in fails("study", "check", "bad.toml")


# --- messages speak of options ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("study new n.toml --title T --question q --values a,b --epsilon 0", "--epsilon is 0.0; "),
        (
            "study new n.toml --title T --question q --range 0 1 --missing value --epsilon 1",
            "--missing value; for numbers allowed are 'refuse' and 'public'",
        ),
        ("study new n.toml --title T --question q --values a,b --epsilon 1 --rate 2", "--rate is"),
        (
            "study new n.toml --title T --records r --attribute a=2 --epsilon 1 --floor 3",
            "--floor is 3.0; it must be from 0 to",
        ),
        (
            "study new n.toml --title T --question q --values yes --values no --epsilon 1",
            "(several are separated by commas, such as yes,no); between 2 and 2^31",
        ),
        ("plan", "give one of --values, --range and --attributes"),
        (
            "plan --values 4 --epsilon 1",
            "give two of --people, --epsilon (or --levels) and --error",
        ),
        ("plan --values 1 --epsilon 1 --people 9", "--values is 1; it must be a whole number"),
        ("plan --values 4 --epsilon 1 --error 2", "--error is 2; the standard error of a fraction"),
        (
            "plan --values 4 --traffic 9 --people 9 --error 0.1",
            "give --people and --epsilon (or --levels) with it, and no --rate",
        ),
        (
            "plan --values 4 --count 9 --people 99 --epsilon 1",
            "give --values, one --epsilon for everyone and a --delta above 0",
        ),
        (
            "estimate reports.svr --study study.toml --quantiles 50%",
            "--quantiles is '50%'; give a number, or several separated by commas, such as 0.25,0.5",
        ),
        ("plan --values 4 --epsilon 1 --people 0", "--people is 0"),
        ("estimate reports.svr --study study.toml --confidence 2", "--confidence is 2.0"),
    ],
)
def test_messages_name_options(files, run, line, reason):
    result = run(*line.split(), code=1)
    assert reason in result.stderr


def test_a_missing_answer_points_to_an_option(folder, fails):
    Path("a.csv").write_text("commute,n\ncar,1\n,2\n")
    said = fails("randomise", "a.csv", *STUDY_OPTION, "--out", "r.svr")
    assert "begin a study with --missing value" in said
    assert "--missing public" in said


def test_where_records_are_made(run):
    said = run("records", "new", "x.toml", code=2).stderr
    assert "sottovoce study new FILE --records NAME --attribute" in said.replace("\n", " ")


STUDIES = {
    "people": '[[question]]\nname = "q"\nvalues = 2\nmechanism = "grr"\nepsilon = 1.0\n',
    "parties": '[protocol]\nsplit = "rows"\n[budgets]\nA = 1.0\nB = 1.0\n'
    '[[attribute]]\nname = "a"\nvalues = 2\n',
    "secure": '[question]\nname = "q"\nvalues = 2\n[protocol]\nname = "binomial"\nepsilon = 1.0\n',
}


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_of_another_kind_is_named_with_the_commands_that_read_it(folder, fails, kind):
    title = "" if kind == "secure" else 'title = "T"\n'
    Path("other.toml").write_text(f"format = 1\n{title}{STUDIES[kind]}")
    readers = {"people": "`sottovoce randomise`", "parties": "`sottovoce parties`"}
    command = {"people": ("study", "show"), "parties": ("parties", "plan")}
    for other in STUDIES.keys() - {kind}:
        said = fails(*command.get(other, ("secure", "check")), "other.toml")
        assert f"it is for {readers.get(kind, '`sottovoce secure`')}" in said


def test_who_declares_a_question_with_options_is_referred_to_them(folder, fails):
    words = ("secure", "run", "a.csv", "--column", "q", "--epsilon", "1", "--values")
    Path("a.csv").write_text('q,x\na,1\n"",2\nb,3\n')
    said = fails(*words, "a,b")
    assert 'add --missing value ("no answer" is then a value like the others)' in said
    assert "begin a study" not in said
    assert "public" not in said
    said = fails(*words, "a,c", "--missing", "value")
    assert "the answer 'b' is not among the 2 values 'a', 'c'; correct the file, or add it" in said
    said = fails(*words, "a,b", "--missing", "value", "--protocol", "dpds")
    assert "--count" in said
    assert "--protocol binomial" in said
