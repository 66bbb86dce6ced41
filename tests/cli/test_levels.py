"""Everyone chooses a level: from the study's menu to the reports, and what can go wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce import Levels, Study
from sottovoce.collect import source
from sottovoce.collect.columns import Columns
from sottovoce.contract.reports import read_batches

from .conftest import STUDY
from .menus import GIVEN, MENU, USUAL, rows, write


@pytest.fixture
def menu(folder):
    """A study with two levels, and 1,200 people of whom 400 chose the strong one."""
    Path("study.toml").write_text(MENU)
    write(rows())
    return folder


def levels_in(path: str) -> list[int]:
    mechanism = Study.load("study.toml").mechanism()
    ways = [mechanism.headcount(batch)[1] for batch in read_batches(path, expect=mechanism)]
    return np.sum(ways, axis=0).tolist()


# --- study ------------------------------------------------------------------------------------

NEW = ("study", "new", "new.toml", "--title", "T", "--question", "q", "--values", "a,b,c")


def test_a_new_study_with_levels(folder, run, json_of):
    said = run(*NEW, "--levels", "very strong = 0.5, normal=2").stdout
    assert "at 2 levels, epsilon 0.5 to 2" in said
    assert "very strong 0.5, normal 2" in said
    assert "--levels COLUMN" in said
    (mechanism,) = Study.load("new.toml").unbound
    assert isinstance(mechanism, Levels)
    assert {name: m.epsilon for name, m in mechanism.menu.items()} == {
        "very strong": 0.5,
        "normal": 2.0,
    }
    run("study", "check", "new.toml")
    (question,) = json_of("study", "show", "new.toml")["questions"]
    assert question["levels"] == {"very strong": 0.5, "normal": 2.0}


def test_one_kind_for_all_levels_with_the_least_error(folder, run, json_of):
    run(*NEW, "--levels", "a=0.5,b=4", "--mechanism", "oue")
    (advice,) = json_of("study", "check", "new.toml")["advice"]
    assert "less error than oue" in advice
    run(*NEW, "--levels", "a=0.5,b=4", "--force")
    assert json_of("study", "check", "new.toml")["advice"] == []


def test_show_predicts_the_error_of_levels(folder, run, json_of):
    run(*NEW, "--levels", "a=1,b=1", "--mechanism", "grr")
    levels = json_of("study", "show", "new.toml", "--people", "1000")["questions"][0]
    run(*NEW, "--epsilon", "1", "--mechanism", "grr", "--force")
    plain = json_of("study", "show", "new.toml", "--people", "1000")["questions"][0]
    assert levels["std_error"] == pytest.approx(plain["std_error"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("strong", "strong=0.5,normal=2"),
        ("strong=", "strong=0.5,normal=2"),
        ("=1", "strong=0.5,normal=2"),
        ("", "strong=0.5,normal=2"),
        ("a=1,,b=2", "strong=0.5,normal=2"),
        ("a=x", "strong=0.5,normal=2"),
        ("a=1,a=2", "names 'a' twice"),
        ("a=0", "level 'a': epsilon is 0.0"),
        ("a=21", "level 'a': epsilon is 21.0"),
        ("a=nan", "level 'a': epsilon is nan"),
    ],
)
def test_menus_that_are_refused(folder, fails, text, reason):
    assert reason in fails(*NEW, "--levels", text)
    assert not Path("new.toml").exists()


def test_a_study_has_one_epsilon_or_levels(folder, run):
    assert "one of --epsilon and --levels" in run(*NEW, code=2).stderr
    both = ("--epsilon", "1", "--levels", "a=1")
    assert "one of --epsilon and --levels" in run(*NEW, *both, code=2).stderr


def test_the_guarantee_has_a_line_per_level(menu, run, json_of):
    said = run("guarantee", *USUAL, "--releases", "2").stdout
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "strong 1 2.72 74 %" in lines
    assert "normal 4 54.6 99 %" in lines
    assert "which level someone chose is public" in said
    promises = json_of("guarantee", *USUAL)["guarantee"]["promises"]
    assert [promise["epsilon"] for promise in promises] == [0.5, 2.0]
    other = '\n[[question]]\nname = "age"\nvalues = 3\nmechanism = "oue"\nlevels = {x = 1, y = 2}\n'
    Path("study.toml").write_text(MENU + other)
    (promise,) = json_of("guarantee", *USUAL)["guarantee"]["promises"]
    assert promise["epsilon"] == 4.0
    two = json_of("guarantee", *USUAL, "--question", "age")["guarantee"]["promises"]
    assert [promise["epsilon"] for promise in two] == [1.0, 2.0]


# --- randomise --------------------------------------------------------------------------------


def test_a_column_of_levels(menu, run, json_of):
    said = run(*GIVEN, "--guarantee").stdout
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "How we get to work: 1,200 reports in r.svr" in lines
    assert "question commute: grr at 2 levels, epsilon 0.5 to 2" in lines
    assert "level column 'privacy'" in lines
    assert "strong 400 0.5 1.65 63 %" in lines
    assert "normal 800 2 7.39 89 %" in lines
    assert levels_in("r.svr") == [400, 800]
    short = run(*GIVEN).stdout
    assert "ε = 0.5 (strong), 2 (normal) for each answer, against anyone who sees" in short
    about = json_of(*GIVEN)
    assert about["people"] == about["reports"] == 1200
    assert about["design"] == "grr at 2 levels, epsilon 0.5 to 2"
    assert about["levels"] == [
        {"level": "strong", "people": 400, "reports": 400},
        {"level": "normal", "people": 800, "reports": 800},
    ]


def test_one_level_for_everyone(menu, run):
    said = run(*GIVEN[:-3], "strong", "--out", "r.svr").stdout
    assert "'strong' for everyone" in said
    assert levels_in("r.svr") == [1200, 0]


def test_a_menu_of_one_needs_no_choice(menu, run):
    Path("study.toml").write_text(MENU.replace(", normal = 2", ""))
    about = json.loads(run("randomise", "answers.csv", *USUAL, "--out", "r.svr", "--json").stdout)
    assert about["levels"] == [{"level": "strong", "people": 1200, "reports": 1200}]


@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet", "dictionary.parquet"])
def test_every_form_of_file(menu, run, name):
    modes, levels = (list(column) for column in zip(*rows(), strict=True))
    if name.endswith("gz"):
        Path(name).write_bytes(gzip.compress(Path("answers.csv").read_bytes()))
    else:
        chosen = pa.array(levels)
        chosen = chosen.dictionary_encode() if name.startswith("d") else chosen
        pq.write_table(pa.table({"privacy": chosen, "commute": modes}), name)
    run("randomise", name, *USUAL, "--levels", "privacy", "--out", "r.svr")
    assert levels_in("r.svr") == [400, 800]


def test_levels_keep_to_their_people_over_many_chunks(menu, run, json_of):
    """Everyone who chose the loud level answers otherwise; at epsilon 20 this shows."""
    Path("study.toml").write_text(MENU.replace("normal = 2", "normal = 20"))
    people = [("car", "strong"), ("foot", "normal"), ("foot", "normal")] * 110_000
    write(people)
    about = json_of(*GIVEN)
    assert [row["people"] for row in about["levels"]] == [110_000, 220_000]
    levels = json_of("estimate", "r.svr", *USUAL, "--levels")["levels"]
    assert [row["values"][2]["estimate"] for row in levels] == pytest.approx([0, 1], abs=0.1)
    assert levels[1]["values"][2]["estimate"] == pytest.approx(1, abs=1e-4)


def test_people_who_publicly_did_not_answer_need_no_level(menu, run, json_of):
    Path("study.toml").write_text(MENU.replace("mechanism", 'missing = "public"\nmechanism'))
    write([("car", "strong"), ("", ""), ("foot", "normal")])
    about = json_of(*GIVEN)
    assert (about["people"], about["reports"]) == (3, 2)
    assert [row["people"] for row in about["levels"]] == [1, 1]


def test_numbers_have_levels_too(menu, run, json_of):
    text = MENU.replace('values = ["car", "bike", "foot"]', "range = [0, 10]")
    Path("study.toml").write_text(text.replace("grr", "hybrid"))
    write([(f"{k % 11}", "strong" if k % 3 else "normal") for k in range(30_000)])
    json_of(*GIVEN)
    about = json_of("estimate", "r.svr", *USUAL, "--levels")
    (mean,) = about["values"]
    assert abs(mean["estimate"] - 5) < 8 * mean["std_error"]
    assert len(about["levels"]) == 2
    assert "±" in run("estimate", "r.svr", *USUAL, "--levels").stdout


def test_what_is_said_where_levels_are_missing(menu, fails, run):
    usual = ("randomise", "answers.csv", *USUAL, "--out", "r.svr")
    assert "give --levels with the column" in fails(*usual)
    said = fails(*usual, "--levels", "private")
    assert "no such column in 'answers.csv', which has 'commute', 'privacy'" in said
    assert "which has 'strong', 'normal'" in said
    assert "holds the answers" in fails(*usual, "--levels", "commute")
    Path("study.toml").write_text(STUDY)
    assert "'commute' has no levels, so --levels privacy" in fails(*usual, "--levels", "privacy")
    assert not list(Path("receipts").glob("*/receipt.json"))


def test_a_column_named_like_a_level(menu, fails):
    write(rows(), head="commute,strong")
    usual = ("randomise", "answers.csv", *USUAL, "--out", "r.svr")
    assert "also a level of the study; rename" in fails(*usual, "--levels", "strong")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("car,loud", "row 1,201 (header not counted): there is no level 'loud'; the study has"),
        ("car,", "row 1,201 (header not counted): there is no level, and everyone needs one of"),
        ("car,Strong", "there is no level 'Strong'; the study has 'strong', 'normal'; correct"),
        ("bus,strong", "row 1,201 (header not counted): the answer 'bus'"),
        ("car", "the number of cells is 1, and the header names 2 columns"),
        ('car,"' + 5000 * "x" + '"', "there is no level '" + 59 * "x" + "…; the study has"),
        ('car,"' + 3_000_000 * "x", "is a quote not closed?"),
        ("car,strong\xff", "UTF-8"),
    ],
    ids=lambda text: text[:20],
)
def test_rows_that_are_refused(menu, fails, line, reason):
    with Path("answers.csv").open("a", encoding="latin-1") as stream:
        stream.write(line + "\n")
    before = set(Path().rglob("*"))
    assert reason in fails(*GIVEN)
    assert set(Path().rglob("*")) - before <= {Path("receipts"), Path("receipts/key")}


def test_rows_are_counted_through_the_whole_file(menu, fails):
    write([*rows(300_000), ("car", "loud")])
    assert "column 'privacy', row 300,001 " in fails(*GIVEN)


def test_a_level_column_of_numbers(menu, fails):
    pq.write_table(pa.table({"commute": ["car"], "privacy": [1]}), "a.parquet")
    usual = ("randomise", "a.parquet", *USUAL, "--levels", "privacy", "--out", "r.svr")
    assert "the column 'privacy' holds int64, and levels are text" in fails(*usual)


def test_truncated_files(menu, fails):
    data = Path("answers.csv").read_bytes()
    Path("answers.csv").write_bytes(gzip.compress(data)[:-12])
    assert "answers.csv" in fails(*GIVEN)
    pq.write_table(pa.table({"commute": ["car"] * 9, "privacy": ["strong"] * 9}), "a.parquet")
    Path("answers.csv").write_bytes(Path("a.parquet").read_bytes()[:-20])
    assert "cannot be read as a table" in fails(*GIVEN)
    Path("answers.csv").write_bytes(b"")
    assert "is empty" in fails(*GIVEN)
    write([])
    assert "nobody has answered" in fails(*GIVEN)


@pytest.mark.parametrize(("most", "readings"), [(0, 2), (1 << 27, 1)])
def test_answers_that_do_not_fit_are_read_again(menu, json_of, monkeypatch, most, readings):
    calls = []
    chunks = Columns.chunks

    def counted(columns, rows, done):
        calls.append(rows)
        return chunks(columns, min(rows, 500), done)

    monkeypatch.setattr(Columns, "chunks", counted)
    monkeypatch.setattr(source, "_MOST_CHECKED", most)
    about = json_of(*GIVEN)
    assert (about["people"], about["reports"]) == (1200, 1200)
    assert levels_in("r.svr") == [400, 800]
    assert len(calls) == readings
