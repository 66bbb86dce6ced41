"""Tables as they come out of spreadsheet programs: what is nearly right is named as such."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from .workbooks import write_workbook

USUAL = ("--study", "study.toml", "--out", "r.svr")


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (" car", "differs from 'car' only in blanks or invisible characters"),
        ("car\u00a0", "differs from 'car' only in blanks or invisible characters"),
        ("ca\u200br", "differs from 'car' only in blanks or invisible characters"),
        ("CAR", "differs from 'car' only in capital letters"),
        ("boat", ""),
    ],
)
def test_an_answer_that_looks_like_a_value(folder, fails, cell, why):
    Path("a.csv").write_text(f"id,commute\n1,{cell}\n", encoding="utf-8")
    words = fails("randomise", "a.csv", *USUAL)
    assert why in words
    assert ("differs" in words) == bool(why)


@pytest.mark.parametrize("cell", ["NA", " n/a", "NaN", "null", ".", "#N/A"])
def test_what_other_programs_write_for_no_answer(folder, run, fails, cell):
    advice = "if it means that there is no answer, give an empty cell instead"
    Path("a.csv").write_text(f"id,commute,age\n1,{cell},{cell}\n")
    assert advice in fails("randomise", "a.csv", *USUAL)
    run("study", "new", "age.toml", "--title", "A", "--question", "age", "--range", "0", "99",
        "--epsilon", "1")  # fmt: skip
    if cell != "NaN":  # a number to the reader, which is not there
        assert advice in fails("randomise", "a.csv", "--study", "age.toml", "--out", "r.svr")


def test_the_same_letter_encoded_in_two_ways(folder, run, fails):
    run("study", "new", "v.toml", "--title", "V", "--question", "how", "--values", "vélo,auto",
        "--epsilon", "1")  # fmt: skip
    Path("a.csv").write_text(unicodedata.normalize("NFD", "id,how\n1,vélo\n"), encoding="utf-8")
    words = fails("randomise", "a.csv", "--study", "v.toml", "--out", "r.svr")
    assert "only in how its accents are encoded (Unicode NFC or NFD)" in words


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\n\ncommute\ncar\n", "the first line is blank; it must name the columns"),
        ("sep=;\nid;commute\n1;car\n", "remove the first line, which is for spreadsheet programs"),
        ("Survey 2025,\nid,commute\n1,car\n", "remove what is above the row that names"),
    ],
)
def test_a_first_line_that_does_not_name_the_columns(folder, fails, text, why):
    Path("a.csv").write_text(text)
    assert why in fails("randomise", "a.csv", *USUAL)


def test_a_title_above_the_table_of_a_workbook(folder, fails):
    write_workbook("a.xlsx", {"S": [["Survey 2025", None], ["id", "commute"], [1, "car"]]})
    assert "remove what is above the row that names" in fails("randomise", "a.xlsx", *USUAL)


def test_utf_16_is_recognised(folder, fails):
    Path("a.csv").write_bytes("commute\ncar\n".encode("utf-16"))
    words = fails("randomise", "a.csv", *USUAL)
    assert words.endswith("in UTF-16; add --encoding utf-16\n")


def test_a_comma_between_thousands_is_not_a_decimal_comma(folder, run, fails):
    run("study", "new", "n.toml", "--title", "N", "--question", "n", "--range", "0", "9000",
        "--epsilon", "1")  # fmt: skip
    Path("a.csv").write_text('n\n"1,000"\n')
    words = fails("randomise", "a.csv", "--study", "n.toml", "--out", "r.svr")
    assert words.endswith("for a decimal comma (a comma between thousands must go)\n")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("a.csv", ("--sheet", "S")),
        ("a.xlsx", ("--separator", ";")),
        ("a.xlsx", ("--encoding", "latin-1")),
        ("a.parquet", ("--separator", ";")),
        ("a.parquet", ("--sheet", "S")),
    ],
)
def test_no_option_is_ignored(folder, fails, name, option):
    import pyarrow as pa
    from pyarrow import parquet

    Path("a.csv").write_text("commute\ncar\n")
    write_workbook("a.xlsx", {"S": [["commute"], ["car"]]})
    parquet.write_table(pa.table({"commute": ["car"]}), "a.parquet")
    words = fails("randomise", name, *USUAL, *option)
    assert f"{option[0]} has no meaning for {name!r}" in words


def test_no_option_of_a_study_is_ignored(folder, fails):
    new = ("study", "new", "n.toml", "--title", "N", "--question", "q", "--epsilon", "1")
    words = fails(*new, "--values", "a,b", "--separator", ";")
    assert "--separator has no meaning for a study without --codebook" in words
    Path("codes.json").write_text('{"1": "yes", "2": "no"}')
    words = fails(*new, "--codebook", "codes.json", "--sheet", "S")
    assert "--sheet has no meaning for 'codes.json'" in words


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_row_of_another_length_that_is_not_utf8_is_named_without_a_traceback(folder, fails):
    Path("odd.csv").write_bytes(b"id,commute\n1,car\n2,b\xffke,more\n3,foot\n")
    said = fails("randomise", "odd.csv", "--study", "study.toml", "--out", "x.svr")
    assert "'odd.csv', row 2 (header not counted): the number of cells is 3" in said
