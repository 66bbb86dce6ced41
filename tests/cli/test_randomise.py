"""Reading true answers: every form of file, and everything that can be wrong with one."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce import Study
from sottovoce.contract.reports import read_batches

from .conftest import STUDY


def study(**entries: object) -> None:
    """Overwrite the study's only question."""
    usual = {"name": "commute", "values": ["car", "bike", "foot"], "mechanism": "oue"}
    settings = {**usual, "epsilon": 20.0, **entries}
    if "edges" in entries:
        del settings["values"]
    lines = "".join(
        f"{key} = {json.dumps(value).replace('Infinity', 'inf')}\n"
        for key, value in settings.items()
    )
    Path("study.toml").write_text(f'format = 1\ntitle = "Test"\n\n[[question]]\n{lines}')


def supports(path: str = "reports.svr") -> list[int]:
    """How many reports support each value; with epsilon 20 OUE reports half of the truth."""
    mechanism = Study.load("study.toml").mechanism()
    parts = [mechanism.aggregate(batch) for batch in read_batches(path, expect=mechanism)]
    return sum(parts).tables["support"].tolist()


# --- what can be read -------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["reports.svr", "reports.parquet"])
def test_reports_are_written_and_counted(folder, randomised, out):
    said = randomised(out=out).stdout
    assert "1,000 reports" in said
    assert "epsilon = 1" in said
    assert "sottovoce estimate" in said
    assert sum(supports(out)) == 1000


def test_json(folder, json_of):
    about = json_of("randomise", "answers.csv", "--study", "study.toml", "--out", "r.svr")
    assert about["people"] == about["reports"] == 1000
    assert about["fresh"] is True
    assert about["releases"] == 1
    assert about["guarantee"]["promises"][0]["epsilon"] == 1.0
    assert Path(about["receipt"]).exists()


def test_the_truth_is_not_in_the_output(folder, randomised):
    randomised(out="reports.parquet")
    assert pq.read_schema("reports.parquet").names == ["value"]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "dictionary.parquet"])
def test_every_form_of_input_gives_the_same_people(folder, run, name):
    study()
    answers = ["car"] * 3000 + ["bike"] * 1000
    text = "commute,other\n" + "".join(f"{answer},1\n" for answer in answers)
    if name == "a.csv":
        Path(name).write_text(text)
    elif name == "a.csv.gz":
        Path(name).write_bytes(gzip.compress(text.encode()))
    else:
        column = pa.array(answers)
        if name.startswith("dictionary"):
            column = column.dictionary_encode()
        pq.write_table(pa.table({"other": [1] * 4000, "commute": column}), name)
    run("randomise", name, "--study", "study.toml", "--out", "reports.svr")
    car, bike, foot = supports()
    assert 1300 < car < 1700
    assert 400 < bike < 600
    assert foot < 5


def test_a_gzipped_file_needs_no_special_name(folder, run):
    Path("a").write_bytes(gzip.compress(b"commute\ncar\n", mtime=0))
    run("randomise", "a", "--study", "study.toml", "--out", "reports.svr")


def test_text_is_never_taken_for_numbers(folder, run):
    study(values=["007", "7"])
    Path("a.csv").write_text("commute\n" + "007\n" * 2000)
    run("randomise", "a.csv", "--study", "study.toml", "--out", "reports.svr")
    assert supports()[0] > 800
    assert supports()[1] < 5


def test_whole_numbers(folder, run):
    study(values=[3, 5])
    Path("a.csv").write_text("commute\n" + " 3 \n5\n" * 1000)
    run("randomise", "a.csv", "--study", "study.toml", "--out", "reports.svr")
    assert min(supports()) > 400


def test_numbers_in_bins(folder, run):
    study(edges=[0, 18, 65, float("inf")], missing="value")
    Path("a.csv").write_text("commute\n" + "1.5\n70\n\n18\n" * 1000)
    run("randomise", "a.csv", "--study", "study.toml", "--out", "reports.svr")
    assert min(supports()) > 400
    pq.write_table(pa.table({"commute": [1.5, 70.0, None, 18.0] * 1000}), "a.parquet")
    run("randomise", "a.parquet", "--study", "study.toml", "--out", "p.svr")
    assert min(supports("p.svr")) > 400


@pytest.mark.parametrize(
    "text",
    [
        "commute\n" + "car\n\n" * 1000,  # one column: an empty line is an empty cell
        "commute,n\n" + "car,1\n,2\n" * 1000,
        "commute,n\n" + 'car,1\n"",2\n' * 1000,
    ],
)
def test_an_empty_cell_is_a_missing_answer(folder, run, text):
    study(missing="value")
    Path("a.csv").write_text(text)
    about = run("randomise", "a.csv", "--study", "study.toml", "--out", "reports.svr", "--json")
    assert json.loads(about.stdout)["people"] == 2000
    assert supports()[3] > 400


def test_publicly_missing_people_are_left_out(folder, run):
    study(missing="public")
    Path("a.csv").write_text("commute,n\ncar,1\n,2\nbike,3\n")
    about = run("randomise", "a.csv", "--study", "study.toml", "--out", "r.svr", "--json")
    about = json.loads(about.stdout)
    assert (about["people"], about["reports"]) == (3, 2)


def test_lines_within_quotes_and_a_byte_order_mark(folder, run):
    Path("a.csv").write_bytes('\ufeffcommute,note\ncar,"a\nb, c"\nbike,"x"\n'.encode())
    about = run("randomise", "a.csv", "--study", "study.toml", "--out", "r.svr", "--json")
    assert json.loads(about.stdout)["people"] == 2


def test_batches_are_neither_tiny_nor_huge(folder, run):
    Path("a.csv").write_text("commute,pad\n" + f"car,{'x' * 60}\n" * 300_000)
    run("randomise", "a.csv", "--study", "study.toml", "--out", "r.svr")
    mechanism = Study.load("study.toml").mechanism()
    sizes = [len(batch) for batch in read_batches("r.svr", expect=mechanism)]
    assert sizes == [1 << 18, 300_000 - (1 << 18)]


def test_one_of_several_questions(folder, run, fails):
    other = '\n[[question]]\nname = "age"\nvalues = 3\nmechanism = "grr"\nepsilon = 1.0\n'
    Path("study.toml").write_text(STUDY + other)
    Path("a.csv").write_text("commute,years\ncar,0\nbike,2\n")
    usual = ("randomise", "a.csv", "--study", "study.toml", "--out", "r.svr")
    assert "'commute', 'age'" in fails(*usual)
    assert "no column 'age'; it has 'commute', 'years'" in fails(*usual, "--question", "age")
    run(*usual, "--question", "age", "--column", "years")


# --- what is refused --------------------------------------------------------------------------


def refused(fails, content: bytes | str, *more: str) -> str:
    """What is said of a file; nothing must be left behind."""
    if isinstance(content, str):
        content = content.encode()
    Path("a.csv").write_bytes(content)
    before = set(Path().rglob("*"))
    said = fails("randomise", "a.csv", "--study", "study.toml", "--out", "r.svr", *more)
    assert set(Path().rglob("*")) - before <= {Path("receipts"), Path("receipts/key")}
    return said


def test_no_such_file(folder, fails):
    usual = ("--study", "study.toml", "--out", "r.svr")
    assert "cannot read 'no.csv': No such file" in fails("randomise", "no.csv", *usual)
    assert "not a plain file" in fails("randomise", ".", *usual)
    assert "cannot read 'no.toml'" in fails(
        "randomise", "answers.csv", "--study", "no.toml", "--out", "r.svr"
    )


def test_unreadable(folder, fails, monkeypatch):
    original = os.open

    def denied(path, *arguments, **options):
        if str(path).endswith("answers.csv"):
            raise PermissionError(13, "Permission denied")
        return original(path, *arguments, **options)

    monkeypatch.setattr(os, "open", denied)  # root, who may run the tests, can read everything
    usual = ("--study", "study.toml", "--out", "r.svr")
    assert "cannot read 'answers.csv': Permission denied" in fails(
        "randomise", "answers.csv", *usual
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"commute\n", "nobody has answered"),
        (b"commute", "nobody has answered"),
        (b"id,mode\n1,car\n", "has no column 'commute'; it has 'id', 'mode'; choose one with"),
        (b"id;commute\n1;car\n", "if ';' separates the cells, add --separator ';'"),
        (b"commute,commute\ncar,car\n", "has 2 columns named 'commute'"),
        (b"commute\ncar\nbus\n", "row 2 (header not counted): the answer 'bus' is not among the 3"),
        (b"commute,n\ncar,1\n,2\n", "row 2 (header not counted): there is no answer"),
        (b"commute\ncar\nNaN\n", "the answer 'NaN' is not among"),
        (b"commute,n\ncar,1\ncar\n", "the number of cells is 1, and the header names 2 columns"),
        (b"commute\n\xff\xfe\n", "UTF-8; for files of older spreadsheet programs add --encoding"),
        (b"commute\n\xe9\n", "or convert it: iconv -f latin1 -t utf-8 a.csv > converted.csv"),
        (b"\xff\xfecommute\n", "not text in UTF-8 but in UTF-16; add --encoding utf-16"),
        (b'commute\n"' + b"x" * 5_000_000, "is a quote not closed?"),
        (b"\x1f\x8bnonsense", "a.csv"),
        (gzip.compress(b"commute\n" + b"car\n" * 100, mtime=0)[:-12], "a.csv"),
        (b"PAR1 and nothing else", "cannot be read as a table"),
        (b"PK\x03\x04....", "is a damaged workbook"),
        (b"SVAG....", "counts of reports"),
    ],
)
def test_files_that_are_not_answers(folder, fails, content, reason):
    assert reason in refused(fails, content)


def test_row_numbers_are_those_of_the_file(folder, fails):
    many = "commute\n" + "car\n" * 400_000
    assert "row 400,001 " in refused(fails, many + "bus\ncar\n")
    assert "row 400,001 " in refused(fails, many + "\ncar\n")


def test_cells_that_are_no_numbers(folder, fails):
    study(values=[3, 5])
    assert "row 2 (header not counted): '3.5' is not a whole number" in refused(
        fails, "commute\n3\n3.5\n5\n"
    )
    assert "the answer 4 is not among the 2 values 3, 5" in refused(fails, "commute\n3\n4\n")
    assert "row 300,002 (header not counted): 'x' is not a whole" in refused(
        fails, "commute\n" + "3\n" * 300_001 + "x\n"
    )
    study(edges=[0, 18, 65])
    assert "'old' is not a number" in refused(fails, "commute\n3\nold\n")
    assert "row 2 (header not counted): the answer 66.0 is not among the bins" in refused(
        fails, "commute\n3\n66\n"
    )
    assert "row 1 (header not counted): there is no answer" in refused(fails, "commute\nnan\n")


def test_whole_numbers_as_a_data_frame_with_gaps_writes_them(folder, run, fails):
    study(values=[3, 5], missing="value")
    Path("a.csv").write_text("commute\n3.0\n\n5\n 5.0\n")
    run("randomise", "a.csv", "--study", "study.toml", "--out", "a.svr")
    Path("b.csv").write_text("commute\n3\n\n5\n5\n")
    said = fails("randomise", "b.csv", "--study", "study.toml", "--out", "b.svr")
    assert "holds the same answers as" in said
    assert "row 2 (header not counted): '5.5' is not a whole number" in refused(
        fails, "commute\n3.0\n5.5\n"
    )
    study(values=[3, 1 << 53])
    assert "'9007199254740993.0' is not a whole number" in refused(
        fails, "commute\n3.0\n9007199254740993.0\n"
    )


def test_parquet_columns_of_the_wrong_kind(folder, fails):
    usual = ("randomise", "a.parquet", "--study", "study.toml", "--out", "r.svr")
    pq.write_table(pa.table({"commute": [1, 2]}), "a.parquet")
    assert "holds int64, and the question asks for text" in fails(*usual)
    pq.write_table(pa.table({"commute": pa.array([None, None])}), "a.parquet")
    assert "row 1 (header not counted): there is no answer" in fails(*usual)
    study(values=[1, 2])
    pq.write_table(pa.table({"commute": ["1"]}), "a.parquet")
    assert "holds string, and the question asks for whole numbers" in fails(*usual)
    pq.write_table(pa.table({"commute": np.array([1.0, 1.5])}), "a.parquet")
    assert "the answer 1.5 is not among" in fails(*usual)
    pq.write_table(pa.table({"commute": pa.array([Decimal("1.50")])}), "a.parquet")
    assert "is not among the 2 values 1, 2" in fails(*usual)
    pq.write_table(pa.table({"commute": pa.array(["a"]).dictionary_encode()}), "a.parquet")
    assert "holds categories of string, and the question asks for whole numbers" in fails(*usual)
    assert "no column 'x'" in fails(*usual, "--column", "x")


def test_mixed_values_cannot_be_in_a_column(folder, fails):
    study(values=["a", 1])
    assert "mix text and whole numbers" in refused(fails, "commute\na\n")


def test_nobody_answered(folder, fails):
    study(missing="public")
    assert "nothing to report" in refused(fails, "commute,n\n,1\n,2\n")


def test_reports_are_not_randomised_again(folder, run, fails, randomised):
    for out in ("r.svr", "r.parquet"):
        randomised(out=out)
        said = fails("randomise", out, "--study", "study.toml", "--out", "again.svr")
        assert "randomised already" in said


def test_a_bad_study(folder, fails):
    Path("study.toml").write_text(STUDY.replace("1.0", "100.0"))
    usual = ("randomise", "answers.csv", "--study", "study.toml", "--out", "r.svr")
    assert "'study.toml': question 1 ('commute'): epsilon is 100.0" in fails(*usual)


def test_an_unknown_question(folder, fails):
    usual = ("randomise", "answers.csv", "--study", "study.toml", "--out", "r.svr")
    said = fails(*usual, "--question", "x")
    assert "'x'" in said
    assert "'commute'" in said


# --- where it goes ----------------------------------------------------------------------------


def test_outputs_that_are_refused(folder, fails):
    usual = ("randomise", "answers.csv", "--study", "study.toml", "--out")
    assert "is one of the inputs" in fails(*usual, "answers.csv", "--force")
    assert "is one of the inputs" in fails(*usual, "study.toml", "--force")
    assert "is one of the inputs" in fails(*usual, "../" + folder.name + "/answers.csv", "--force")
    os.link("answers.csv", "link.csv")
    assert "is one of the inputs" in fails(*usual, "link.csv", "--force")
    assert "no folder 'no'" in fails(*usual, "no/r.svr")
    assert "is a folder" in fails(*usual, ".")
    Path("there.svr").write_text("precious")
    assert "exists already; choose another name, or add --force" in fails(*usual, "there.svr")
    assert Path("there.svr").read_text() == "precious"
    assert not list(Path("receipts").glob("*/*"))


def test_force_replaces(folder, randomised):
    Path("reports.svr").write_text("old")
    randomised("--force")
    assert sum(supports()) == 1000


@pytest.mark.parametrize("form", ["svr", "parquet"])
def test_a_full_disk_leaves_nothing(folder, form, randomised):
    randomised("--receipts", "elsewhere")  # so that no kernel has to be compiled and stored below
    Path("a.csv").write_text("commute\n" + "car\n" * 600_000)
    arguments = ["randomise", "a.csv", "--study", "study.toml", "--out", f"out/r.{form}"]
    Path("out").mkdir()
    result = subprocess.run(
        [sys.executable, "-m", "sottovoce.cli", *arguments],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)),
    )
    assert result.returncode == 1, result.stderr
    assert result.stderr.startswith("error: could not write")
    assert result.stderr.count("\n") == 1
    assert "File too large" in result.stderr
    assert not list(Path("out").iterdir())
    assert not list(Path("receipts").glob("*/*"))


def test_a_file_that_changes_while_it_is_read(folder, randomised, monkeypatch):
    from sottovoce.collect.source import Source

    original = Source.batches

    def meddled(*arguments):
        yield from original(*arguments)
        Path("answers.csv").write_text("commute\nfoot\n")

    monkeypatch.setattr(Source, "batches", meddled)
    assert "changed while it was read" in randomised(code=1).stderr
    assert not Path("reports.svr").exists()
    assert not list(Path("receipts").glob("*/*"))
