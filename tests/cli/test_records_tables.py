"""Tables of records: what is missing, what is a value, what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from .test_records import ASK, RECORDS

WORDS = ("randomise", "people.csv", *ASK, "--out", "r.svr")
PLAIN = """\
format = 1
title = "Words that look missing"

[[records]]
name = "r"
epsilon_average = 3.0

[[records.attribute]]
name = "country"
values = ["NA", "null", "NaN", "nan", "DE"]

[[records.attribute]]
name = "n"
values = 3
missing = "value"
"""


def people(text: str) -> None:
    Path("people.csv").write_text(text)


@pytest.fixture
def table(folder: Path) -> pd.DataFrame:
    Path("records.toml").write_text(RECORDS)
    frame = pd.DataFrame({"smokes": ["yes", "no"] * 50, "age": 40, "sport": 1})
    frame.to_csv("people.csv", index=False)
    return frame


def shares(run, name: str) -> dict[str, float]:
    said = run("estimate", "r.svr", *ASK, "--attribute", name, "--json").stdout
    return {str(row["value"]): row["estimate"] for row in json.loads(said)["values"]}


def test_words_that_look_missing_are_values(run, folder) -> None:
    Path("records.toml").write_text(PLAIN.replace("3.0", "10.0"))
    people("country,n\n" + "NA,0\nnull,1\nNaN,2\nnan,\n" * 500)
    run(*WORDS)
    assert shares(run, "country")["NA"] == pytest.approx(0.25, abs=0.1)
    assert shares(run, "n")["no answer"] == pytest.approx(0.25, abs=0.1)


def test_only_an_empty_cell_is_missing(fails, folder) -> None:
    Path("records.toml").write_text(PLAIN)
    people("country,n\nNA,0\n,1\n")
    assert "column 'country', row 2 (header not counted): there is no answer" in fails(*WORDS)
    people("country,n\nNA,0\nDE,NA\n")
    assert "column 'n', row 2 (header not counted): 'NA' is not a whole number" in fails(*WORDS)


def test_an_empty_text_is_a_value_only_where_it_is_declared(run, fails, folder) -> None:
    Path("records.toml").write_text(PLAIN.replace('"DE"', '""').replace("3.0", "10.0"))
    people("country,n\n" + ",0\nNA,\n" * 1000)
    run(*WORDS)
    assert shares(run, "country")[""] == pytest.approx(0.5, abs=0.1)
    assert shares(run, "n")["no answer"] == pytest.approx(0.5, abs=0.1)


def test_budgets_may_say_that_there_is_none(run, fails, table) -> None:
    rows = "yes,40,1,9,NA,null\n" * 5 + "no,40,1,9,nan,\n" * 5
    people("smokes,age,sport,epsilon_smokes,epsilon_age,epsilon_sport\n" + rows)
    Path("records.toml").write_text(RECORDS.replace("3.0", "9.0"))
    run(*WORDS, "--allocation", "columns")
    said = fails("estimate", "r.svr", *ASK, "--attribute", "age")
    assert "nobody reported 'age'" in said


def test_columns_that_are_not_there_or_there_twice(fails, table) -> None:
    people("smokes,age,sport,smokes\nyes,40,1,no\n")
    assert "has 2 columns named 'smokes'; rename all but one" in fails(*WORDS)
    table.drop(columns="age").to_csv("people.csv", index=False)
    said = fails(*WORDS)
    assert "has no column 'age'; it has 'smokes', 'sport'; every attribute needs" in said
    table.to_csv("people.csv", index=False)
    said = fails(*WORDS, "--allocation", "columns")
    assert "has no column 'epsilon_smokes'" in said
    assert "epsilon_NAME" in said


def test_wrong_parquet_tables(fails, table) -> None:
    words = (*WORDS[:1], "people.parquet", *WORDS[2:])
    table.drop(columns="age").to_parquet("people.parquet")
    assert "has no column 'age'; it has 'smokes', 'sport'" in fails(*words)
    table.assign(age="old").to_parquet("people.parquet")
    assert "the column 'age' holds" in fails(*words)


def test_wrong_answers(fails, table) -> None:
    table.assign(smokes="maybe").to_csv("people.csv", index=False)
    said = "column 'smokes', row 1 (header not counted): the answer 'maybe' is not among"
    assert said in fails(*WORDS)
    table.assign(age="old").to_csv("people.csv", index=False)
    assert "'old' is not a number, and its values are numbers" in fails(*WORDS)
    people("smokes,age,sport\n")
    assert "nobody has answered yet" in fails(*WORDS)


def test_budgets_that_are_wrong(fails, table) -> None:
    people("smokes,age,sport,epsilon_smokes,epsilon_age,epsilon_sport\nyes,40,1,2,2,9\n")
    said = fails(*WORDS, "--allocation", "columns")
    assert "'people.csv' (header not counted): person 1 divides 13" in said
    people("smokes,age,sport,epsilon_smokes,epsilon_age,epsilon_sport\nyes,40,1,much,2,9\n")
    said = fails(*WORDS, "--allocation", "columns")
    assert "'much' is not a number, and epsilons are numbers" in said


def test_a_cut_file_is_the_inputs_fault(fails, folder) -> None:
    Path("records.toml").write_text(RECORDS)
    rng = np.random.default_rng(1)
    rows = "".join(f"yes,{age},1\n" for age in rng.integers(0, 90, 20_000))
    whole = gzip.compress(f"smokes,age,sport\n{rows}".encode())
    Path("people.csv.gz").write_bytes(whole[: len(whole) // 2])
    said = fails(*WORDS[:1], "people.csv.gz", *WORDS[2:])
    assert "'people.csv.gz' cannot be read as a table: its gzip compression is broken" in said
    assert not Path("r.svr").exists()


OTHER = "under 'Another title' too: for these people the promises of all these studies add up"
STUDY = """\
format = 1
title = "Smoking alone"

[[question]]
name = "smokes"
values = ["yes", "no"]
mechanism = "grr"
epsilon = 1.0
"""


def notes(run, *words: str) -> str:
    return " ".join(json.loads(run(*words, "--json").stdout)["notes"])


def test_releases_under_another_file_of_records_are_said(run, table) -> None:
    assert notes(run, *WORDS) == ""
    Path("records.toml").write_text(RECORDS.replace("Health and habits", "Another title"))
    said = notes(run, *WORDS, "--force")
    assert "Some of these columns were randomised under 'Health and habits' too" in said
    Path("records.toml").write_text(RECORDS)
    assert OTHER in " ".join(run(*WORDS, "--force").stdout.split())
    alone = RECORDS[: RECORDS.index("[[records.")]
    alone += '[[records.attribute]]\nname = "id"\nvalues = 9\n'
    Path("records.toml").write_text(alone.replace("Health", "Only"))
    table.assign(id=1).to_csv("people.csv", index=False)
    assert notes(run, *WORDS, "--force") == ""  # other columns, and another file


def test_releases_of_a_column_alone_and_in_records_are_said(run, table) -> None:
    Path("study.toml").write_text(STUDY)
    alone = ("randomise", "people.csv", "--study", "study.toml", "--out", "s.svr")
    assert notes(run, *alone) == ""
    assert "under 'Smoking alone' too" in notes(run, *WORDS)
    said = notes(run, *alone)
    assert "Some of these columns were randomised under 'Health and habits' too" in said
    Path("study.toml").write_text(STUDY.replace('"smokes"', '"age"').replace('["yes", "no"]', "99"))
    assert "'Health and habits' too" in notes(run, *alone[:-1], "t.svr")
    assert "Smoking alone" not in notes(run, *alone[:-1], "t.svr")


def test_a_column_cannot_hold_answers_and_epsilons(run) -> None:
    text = (
        'format = 1\ntitle = "T"\n[[records]]\nname = "r"\nepsilon_average = 2.0\n'
        '[[records.attribute]]\nname = "x"\nvalues = 2\n'
        '[[records.attribute]]\nname = "epsilon_x"\nvalues = [1, 3]\n'
    )
    Path("twice.toml").write_text(text)
    Path("t.csv").write_text("x,epsilon_x,epsilon_epsilon_x\n" + "0,1,3\n1,3,1\n" * 50)
    line = ("randomise", "t.csv", "--study", "twice.toml", "--out", "t.svr")
    result = run(*line, "--allocation", "columns", code=1)
    assert "would hold answers as well as the epsilons of 'x'" in result.stderr
    assert not Path("t.svr").exists()
