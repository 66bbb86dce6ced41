"""Answers as people have them: other separators, encodings and decimal signs, and workbooks."""

from __future__ import annotations

import gzip
import sys
import zipfile
from pathlib import Path

import pytest

from sottovoce import Study
from sottovoce.collect.answers import Answers
from sottovoce.collect.columns import Columns, Wanted
from sottovoce.collect.dialect import Dialect
from sottovoce.domain.values import Attribute
from sottovoce.errors import AnswerError

from .workbooks import write_workbook

USUAL = ("--study", "study.toml", "--out", "r.svr")
SIZE = """\
format = 1
title = "Sizes"

[[question]]
name = "größe"
values = ["klein", "groß"]
mechanism = "grr"
epsilon = 1.0
"""


@pytest.fixture
def sizes(folder):
    Path("study.toml").write_text(SIZE, encoding="utf-8")
    return "größe;n\n" + "klein;1\ngroß;2\n" * 50


def read(path: str, domain: Attribute, dialect: Dialect = Dialect()) -> list[object]:  # noqa: B008
    wanted = {domain.name: Answers(Path(path), domain.name, domain).wanted}
    chunks = Columns(Path(path), wanted, dialect=dialect).chunks(100, lambda done: None)
    return [cell for _, chunk in chunks for cell in chunk[domain.name].to_pylist()]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_semicolon_file_in_any_encoding(sizes, json_of, encoding, zipped):
    data = sizes.encode(encoding)
    Path("a.csv").write_bytes(gzip.compress(data) if zipped else data)
    about = json_of("randomise", "a.csv", *USUAL, "--separator", ";", "--encoding", encoding)
    assert (about["people"], about["reports"]) == (100, 100)


def test_what_was_read_is_what_was_written(folder):
    Path("a.csv").write_bytes('size|x\n"a|b"|1\nü|2\n'.encode("latin-1"))
    domain = Attribute("size", ["a|b", "ü"])
    assert read("a.csv", domain, Dialect("|", "latin-1")) == ["a|b", "ü"]


@pytest.mark.parametrize("sign", ["tab", "\t", "\\t"])
def test_tabs(folder, json_of, sign):
    Path("a.csv").write_text("id\tcommute\n1\tcar\n2\tbike\n")
    assert json_of("randomise", "a.csv", *USUAL, "--separator", sign)["people"] == 2


def test_a_decimal_comma(folder, fails):
    Path("a.csv").write_text("n;age\n1;3,5\n2;18\n")
    ages = Attribute.bins("age", [0, 18, 65])
    assert read("a.csv", ages, Dialect(";", decimal=",")) == [3.5, 18.0]
    Path("study.toml").write_text(SIZE.replace('values = ["klein", "groß"]', "edges = [0, 18, 65]"))
    said = fails("randomise", "a.csv", *USUAL, "--separator", ";", "--column", "age")
    assert "'3,5' is not a number" in said
    assert said.endswith("correct the file, or add --decimal , for a decimal comma\n")
    said = fails("randomise", "a.csv", *USUAL, "--decimal", ",")
    assert "--decimal and --separator are both ','" in said


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--separator", ";;"), "--separator is ';;'; it must be one sign"),
        (("--separator", "a"), "--separator is 'a'"),
        (("--separator", '"'), "one sign"),
        (("--encoding", "latin-99"), "--encoding is 'latin-99', which is not known"),
        (("--encoding", "base64"), "is not known; common ones are utf-8, latin-1"),
        (("--encoding", "ascii", "--separator", ";"), "not text in ascii; give the right"),
        (("--encoding", "utf-16", "--separator", ";"), "not text in utf-16"),
        ((), "is not text in UTF-8; for files of older spreadsheet programs add --encoding latin"),
        (("--encoding", "latin-1"), "if ';' separates the cells, add --separator ';'"),
        (("--encoding", "latin-1", "--separator", "|"), "add --separator ';'"),
    ],
)
def test_what_to_do_about_a_file_that_is_read_wrongly(sizes, fails, options, reason):
    Path("a.csv").write_bytes(sizes.encode("latin-1"))
    assert reason in fails("randomise", "a.csv", *USUAL, *options)


def test_a_broken_cell_is_named_with_the_way_out(folder, fails):
    Path("my file.csv").write_bytes("id;commute\n1;car\n2;caf\xe9\n".encode("latin-1"))
    said = fails("randomise", "my file.csv", *USUAL, "--separator", ";")
    assert "column 'commute', row 2 (header not counted): not text in UTF-8" in said
    assert "iconv -f latin1 -t utf-8 'my file.csv' > converted.csv" in said


def test_rows_of_another_length_are_counted_with_the_separator(folder, fails):
    Path("a.csv").write_text("id;commute\n1;car\n2,bike\n")
    said = fails("randomise", "a.csv", *USUAL, "--separator", ";")
    assert "row 2 (header not counted): the number of cells is 1" in said
    assert "a cell with ';' in it stands in double quotes" in said


# --- workbooks --------------------------------------------------------------------------------


def test_a_workbook(folder, json_of):
    rows = [["id", "commute"], *([k, answer] for k, answer in enumerate(["car", "foot"] * 50))]
    write_workbook("a.xlsx", {"Data": rows})
    assert json_of("randomise", "a.xlsx", *USUAL)["people"] == 100


def test_the_same_answers_in_a_workbook_are_not_released_twice(folder, json_of, randomised):
    randomised()
    people = ["car", "bike", "foot", "car"] * 250
    write_workbook("b.xlsx", {"Data": [["commute"], *([answer] for answer in people)]})
    about = json_of("randomise", "b.xlsx", "--study", "study.toml", "--out", "b.svr")
    assert about["fresh"] is False
    assert Path("b.svr").read_bytes() == Path("reports.svr").read_bytes()


def test_cells_of_a_workbook(folder):
    rows = [["n", "word", "flag"], [31, "007", True], [None, None, None], [3.5, "a", False]]
    write_workbook("a.xlsx", {"Data": rows})
    words = Attribute("word", ["007", "a"], missing="value")
    assert read("a.xlsx", words) == ["007", None, "a"]
    assert read("a.xlsx", Attribute.bins("n", [0, 18, 65], missing="value")) == [31.0, None, 3.5]
    assert read("a.xlsx", Attribute("flag", ["TRUE", "FALSE"], missing="value")) == [
        "TRUE",
        None,
        "FALSE",
    ]
    write_workbook("b.xlsx", {"Data": [["code"], [1], [2], ["1"]]})
    assert read("b.xlsx", Attribute("code", [1, 2])) == [1, 2, 1]
    assert read("b.xlsx", Attribute("code", ["1", "2"])) == ["1", "2", "1"]


def test_sheets_are_chosen_by_name(folder, json_of, fails):
    write_workbook("a.xlsx", {"Notes": [["about"], ["x"]], "Data": [["commute"], ["car"]]})
    said = fails("randomise", "a.xlsx", *USUAL)
    assert "has no column 'commute'; it has 'about'" in said
    assert "this is the sheet 'Notes', another can be chosen with --sheet: 'Data'" in said
    assert json_of("randomise", "a.xlsx", *USUAL, "--sheet", "Data")["people"] == 1
    assert "has no sheet 'X'; it has 'Notes', 'Data'" in fails(
        "randomise", "a.xlsx", *USUAL, "--sheet", "X"
    )
    write_workbook("b.xlsx", {"Empty": []})
    assert "the sheet 'Empty' is empty" in fails("randomise", "b.xlsx", *USUAL)


def test_refusals_name_the_row_of_a_workbook(folder, fails):
    write_workbook("a.xlsx", {"Data": [["commute"], ["car"], ["bus"]]})
    said = fails("randomise", "a.xlsx", *USUAL)
    assert "column 'commute', row 2 (header not counted): the answer 'bus'" in said


def test_levels_from_a_workbook(folder, json_of):
    Path("study.toml").write_text(
        'format = 1\ntitle = "T"\n[[question]]\nname = "commute"\nvalues = ["car", "bike"]\n'
        'mechanism = "grr"\nlevels = {strong = 0.5, weak = 2}\n'
    )
    write_workbook("a.xlsx", {"D": [["commute", "p"], ["car", "strong"], ["bike", "weak"]]})
    about = json_of("randomise", "a.xlsx", *USUAL, "--levels", "p")
    assert [level["people"] for level in about["levels"]] == [1, 1]


def test_without_the_reader_the_message_says_how_to_get_it(folder, fails, monkeypatch):
    write_workbook("a.xlsx", {"Data": [["commute"], ["car"]]})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert "pip install 'sottovoce[xlsx]'" in fails("randomise", "a.xlsx", *USUAL)


def test_zip_files_that_are_no_workbooks(folder, fails):
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("a.csv", "commute\ncar\n")
    assert "cannot be read as a workbook" in fails("randomise", "a.zip", *USUAL)


def test_a_workbook_that_unpacks_to_too_much_is_refused(folder, fails, monkeypatch):
    monkeypatch.setattr("sottovoce.collect.workbooks._MOST_BYTES", 100)
    write_workbook("a.xlsx", {"Data": [["commute"], ["car"]]})
    assert "at most 100 are read" in fails("randomise", "a.xlsx", *USUAL)


# --- other commands that read tables ------------------------------------------------------------


def test_secure_protocols_read_the_same_files(sizes, json_of):
    Path("a.csv").write_bytes(sizes.encode("latin-1"))
    usual = ("--column", "größe", "--values", "klein,groß", "--epsilon", "1")
    about = json_of("secure", "run", "a.csv", *usual, "--separator", ";", "--encoding", "latin-1")
    assert about["people"] == 100


def test_three_commands_from_a_workbook_to_an_estimate(folder, run):
    rows = [["commute"], *([answer] for answer in ["car", "foot", "car", "bike"] * 500)]
    write_workbook("survey.xlsx", {"Data": rows})
    new = ("--title", "T", "--question", "commute", "--values", "car,bike,foot", "--epsilon", "4")
    run("study", "new", "my.toml", *new)
    run("randomise", "survey.xlsx", "--study", "my.toml", "--out", "r.svr")
    said = run("estimate", "r.svr", "--study", "my.toml").stdout
    assert "2,000 reports" in said
    assert Study.load("my.toml").names == ("commute",)


@pytest.mark.parametrize("cell", ["secret", "1,5"])
def test_where_cells_are_not_quoted_no_message_repeats_one(tmp_path, cell) -> None:
    path, ages = tmp_path / "people.csv", Attribute.bins("age", [0, 40, 120])
    path.write_text(f'age\n12\n"{cell}"\n')
    for quoted in (True, False):
        wanted = {"age": Answers(path, "age", ages, quoted=quoted).wanted}
        with pytest.raises(AnswerError, match=r"row 2 .*is not a number") as error:
            list(Columns(path, wanted).chunks(100, lambda done: None))
        assert (cell in str(error.value)) == quoted
        assert ("decimal comma" in str(error.value)) == (quoted and "," in cell)


@pytest.mark.parametrize("bad", [b"b\xffke", b"bike,car"])
def test_an_empty_line_of_the_only_column_is_a_row(tmp_path, bad) -> None:
    path, wanted = tmp_path / "people.csv", {"commute": Wanted("text")}
    for start, row in ((b"commute\ncar\n\n\n", 4), (b"\xef\xbb\xbfcommute\ncar\n", 2)):
        path.write_bytes(start + bad + b"\n")
        with pytest.raises(AnswerError, match=rf"row {row} \(header not counted\)"):
            list(Columns(path, wanted).chunks(100, lambda done: None))
    path.write_bytes(b"n,commute\n1,car\n\n\n2," + bad + b"\n")  # here it is none
    with pytest.raises(AnswerError, match=r"row 2 \(header not counted\)"):
        list(Columns(path, wanted).chunks(100, lambda done: None))
