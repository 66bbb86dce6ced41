"""Records: from a table to a heat map, and everything that can be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sottovoce import Study

from .conftest import STUDY

RECORDS = """\
format = 1
title = "Health and habits"

[[records]]
name = "health"
epsilon_average = 3.0

[[records.attribute]]
name = "smokes"
values = ["yes", "no"]

[[records.attribute]]
name = "age"
edges = [0, 30, 60, inf]

[[records.attribute]]
name = "sport"
values = 3
missing = "public"
"""
ASK = ("--study", "records.toml")


@pytest.fixture
def table(folder: Path) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, 2000)
    sport = pd.array(rng.integers(0, 3, 2000), dtype="Int64")
    sport[::5] = pd.NA
    smokes = np.where(rng.random(2000) < age / 100, "no", "yes")
    frame = pd.DataFrame({"id": range(2000), "smokes": smokes, "age": age, "sport": sport})
    frame.to_csv("people.csv", index=False)
    frame.to_parquet("people.parquet")
    Path("records.toml").write_text(RECORDS)
    return frame


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_from_a_table_to_a_joint_distribution(run, table, name: str) -> None:
    words = ("randomise", name, *ASK, "--allocation", "random", "--out", "r.svr")
    said = json.loads(run(*words, "--json").stdout)
    assert (said["people"], said["reports"], said["fresh"]) == (2000, 2000, True)
    # One answer may have all of it; its average, 3, is promised to nobody.
    assert [p["epsilon"] for p in said["guarantee"]["promises"]] == [9.0, 9.0]
    own = json.loads(run("estimate", "r.svr", *ASK, "--attribute", "sport", "--json").stdout)
    assert own["reports"] == 1600
    assert len(own["values"]) == 3
    both = ("--attribute", "smokes", "--attribute", "age", "--plot", "heat.png")
    output = json.loads(run("joint", "r.svr", *ASK, *both, "--json").stdout)
    assert output["steps"] is None
    assert 0 <= output["mutual_information"]["low"] <= output["mutual_information"]["estimate"]
    assert (output["values"][0]["smokes"], output["values"][0]["age"]) == ("yes", "[0, 30)")
    assert sum(row["estimate"] for row in output["values"]) == pytest.approx(1)
    assert Path("heat.png").read_bytes().startswith(b"\x89PNG")
    text = run("joint", "r.svr", *ASK, *both, "--force").stdout
    assert "Health and habits: smokes × age" in text
    assert "ε = 9 for all 3 reported answers of a person together, ε = 9 for each answer" in text
    full = run("joint", "r.svr", *ASK, *both[:4], "--guarantee").stdout
    assert "without regard to the answers" in " ".join(full.split())
    three = run(
        "joint",
        "r.svr",
        *ASK,
        *both[:4],
        "--attribute",
        "sport",
        "--method",
        "em-ll2",
        "--stop",
        "3",
    )
    assert "3 steps" in three.stdout


def test_the_same_answers_are_not_released_twice_by_accident(run, fails, table) -> None:
    words = ("randomise", "people.csv", *ASK, "--out")
    assert "ε = 3 for each answer" in run(*words, "a.svr").stdout  # divided equally
    again = json.loads(run(*words, "b.svr", "--json").stdout)
    assert not again["fresh"]
    assert Path("a.svr").read_bytes() == Path("b.svr").read_bytes()
    assert "second release" in fails(*words, "c.svr", "--allocation", "random")
    said = json.loads(run(*words, "d.svr", "--allocation", "random", "--again", "--json").stdout)
    assert said["releases"] == 2
    assert said["guarantee"]["promises"][0]["epsilon"] == 18.0
    table.iloc[1:].to_csv("people.csv", index=False)
    assert "has changed since" in fails(*words, "e.svr")
    assert "have the same content" in fails(
        "estimate", "a.svr", "b.svr", *ASK, "--attribute", "age"
    )


def test_budgets_from_columns(run, fails, table) -> None:
    table["sport"] = table["sport"].fillna(0)
    for name, budget in (("smokes", 4.0), ("age", 2.0), ("sport", np.nan)):
        table[f"epsilon_{name}"] = budget
    table.to_csv("people.csv", index=False)
    words = ("randomise", "people.csv", *ASK, "--allocation", "columns", "--out")
    run(*words, "r.svr")
    said = fails("estimate", "r.svr", *ASK, "--attribute", "sport")
    assert "nobody reported 'sport'" in said
    table.drop(columns="epsilon_age").to_csv("people.csv", index=False)
    assert "epsilon_age" in fails(*words, "s.svr", "--again")


def test_counts_are_saved_merged_and_estimated(run, fails, table) -> None:
    words = ("randomise", "people.csv", *ASK, "--out")
    run(*words, "a.svr")
    table.sample(frac=0.5, random_state=1).to_csv("more.csv", index=False)
    run("randomise", "more.csv", *ASK, "--out", "b.parquet")
    said = run("aggregate", "a.svr", *ASK, "--out", "a.sva").stdout
    assert "2,000 reports counted in a.sva" in said
    merged = ("aggregate", "a.sva", "b.parquet", *ASK, "--out", "all.sva", "--json")
    about = json.loads(run(*merged).stdout)
    assert (about["files"], about["reports"]) == (2, 3000)
    assert 0 < about["different"]["patterns"] <= 3000

    def found(command: str, *files: str) -> list[object]:
        asked = ("--attribute", "smokes") + ("--attribute", "age") * (command == "joint")
        about = json.loads(run(command, *files, *ASK, *asked, "--json").stdout)
        return [about["reports"], about["values"]]

    for command in ("estimate", "joint"):
        assert found(command, "all.sva") == found(command, "a.svr", "b.parquet")
        assert found(command, "all.sva") == found(command, "b.parquet", "a.sva")
    asked = ("a.svr", "a.sva", *ASK, "--attribute", "age")
    assert "'a.svr' give the counts in 'a.sva'" in fails("estimate", *asked)
    run("estimate", *asked, "--allow-equal")
    assert "exists already" in fails("aggregate", "a.svr", *ASK, "--out", "a.sva")
    Path("records.toml").write_text(RECORDS.replace("Health", "Wealth"))
    assert "another study" in fails("estimate", "a.sva", *ASK, "--attribute", "age")
    for name in ("a.svr", "a.sva"):
        said = fails("estimate", name, "--study", "study.toml")
        assert "these belong to 'pmoue', but 'grr' is expected" in said
    run("randomise", "answers.csv", "--study", "study.toml", "--out", "s.svr")
    run("aggregate", "s.svr", "--study", "study.toml", "--out", "s.sva")
    for name in ("s.svr", "s.sva"):
        said = fails("estimate", name, *ASK, "--attribute", "age")
        assert "these belong to 'grr', but 'pmoue' is expected" in said


def test_attributes_and_promise_are_shown_before_anyone_answers(run, table) -> None:
    said = run("study", "show", "records.toml").stdout
    assert "3: [0, 30), [30, 60), [60, inf]" in said
    assert "epsilon = 3 on average" in said
    assert "ε = 9 for all 3 reported answers" in said
    assert "epsilon = 9" in run("study", "show", "records.toml", "--guarantee").stdout
    about = json.loads(run("study", "show", "records.toml", "--json").stdout)
    (one,) = about["records"]
    assert about["questions"] == []
    assert [attribute["name"] for attribute in one["attributes"]] == ["smokes", "age", "sport"]
    assert (one["name"], one["epsilon_average"], one["public"]) == ("health", 3.0, False)
    assert about["guarantee"]["promises"][0]["epsilon"] == 9.0
    text = RECORDS.replace("epsilon_average", "public = true\nfloor = 0.7\nepsilon_average", 1)
    Path("records.toml").write_text(text)
    said = run("study", "show", "records.toml").stdout
    assert "at least 0.7 for each" in said
    assert "sent along" in said
    assert "1 set of records" in run("study", "check", "records.toml").stdout


def test_a_new_study_of_records(run, fails, folder) -> None:
    new = ("study", "new", "new.toml", "--title", "T", "--records", "health", "--epsilon", "2")
    attributes = ("--attribute", "smokes=yes,no", "--attribute", "age=bins:0,30,60,inf")
    run(*new, *attributes, "--public", "--floor", "0.5")
    (records,) = Study.load("new.toml")
    assert records.words == "pmoue of 2 attributes, epsilon = 2 on average, at least 0.5 for each"
    assert [list(one.labels) for one in records.attributes] == [
        ["yes", "no"],
        ["[0, 30)", "[30, 60)", "[60, inf]"],
    ]
    assert "one of --question and --records" in run(*new, "--question", "q", code=2).stderr
    assert "--records needs --epsilon" in run(*new, code=2).stderr
    both = run(*new, *attributes, "--levels", "a=1", code=2).stderr
    assert "--records needs --epsilon or --levels" in both
    menu = ("--levels", "strong=1,weak=3", "--rate", "0.5", "--force")
    run(*new[:-2], *attributes, *menu)
    (records,) = Study.load("new.toml")
    assert (dict(records.levels), records.rate) == ({"strong": 1.0, "weak": 3.0}, 0.5)
    shown = ("estimate", "none.svr", "--study", "new.toml", "--attribute", "smokes", "--levels")
    assert "not shown one by one" in fails(*shown)
    question = ("study", "new", "q.toml", "--title", "T", "--question", "q", "--values", "2")
    assert "--attribute goes with --records" in run(*question, *attributes, code=2).stderr
    assert "such as smokes=yes,no" in fails(*new, "--attribute", "smokes", "--force")


def test_questions_and_records_in_one_study(run, fails, json_of, table) -> None:
    question = STUDY.split("\n\n", 1)[1]
    Path("both.toml").write_text(RECORDS + "\n" + question)
    study = Study.load("both.toml")
    assert study.names == ("commute", "health")
    assert Study.from_toml(study.to_toml()) == study
    assert study.digest != Study.load("records.toml").digest
    both = ("--study", "both.toml")
    promises = json_of("guarantee", *both)["guarantee"]["promises"]
    assert [promise["epsilon"] for promise in promises] == [10.0]
    assert "name one of 'commute', 'health'" in fails(
        "randomise", "people.csv", *both, "--out", "a.svr"
    )
    health, commute = (*both, "--question", "health"), (*both, "--question", "commute")
    run("randomise", "people.csv", *health, "--out", "h.svr")
    run("randomise", "answers.csv", *commute, "--out", "c.svr")
    said = run("aggregate", "h.svr", *health, "--out", "h.sva").stdout
    assert "--question health --attribute NAME" in said
    assert json_of("estimate", "h.sva", *health, "--attribute", "age")["people"] == 2000
    assert json_of("estimate", "c.svr", *commute)["people"] == 1000
    assert "are records; say which attribute" in fails("estimate", "h.sva", *health)
    assert "has no attributes, and 'age' was given" in fails(
        "estimate", "c.svr", *commute, "--attribute", "age"
    )
    assert "is one question" in fails("joint", "c.svr", *commute, "--attribute", "commute")
    assert "leave --column out" in fails(
        "randomise", "people.csv", *health, "--column", "age", "--out", "x.svr"
    )
    assert "leave --allocation out" in fails(
        "randomise", "answers.csv", *commute, "--allocation", "equal", "--out", "x.svr"
    )
    assert "has no levels" in fails(
        "randomise", "people.csv", *health, "--levels", "age", "--out", "x.svr"
    )
    trials = ("--trials", "20000", "--confidence", "0.9999999")
    findings = json_of("audit", *both, *trials)["findings"]
    assert findings[0]["question"] == "commute"
    assert {row["promise"]["epsilon"] for row in findings} >= {1.0, 9.0}
    assert {row["question"] for row in findings} == {"commute", "health"}
    said = run("audit", *health, *trials[:2]).stdout
    assert ": health\n" in said
    assert "Distinguished best: (" in said
    assert "{'" not in said


@pytest.mark.parametrize("values", ["0:40:60", "bins:0,40:60", "bins:5,1", "1", "a,,b", "bins:"])
def test_a_slip_in_an_attribute_names_it_and_shows_how_it_is_written(fails, values) -> None:
    words = ("--title", "T", "--records", "r", "--epsilon", "1", "--attribute", f"age={values}")
    said = fails("study", "new", "slip.toml", *words)
    assert f"--attribute 'age={values}': " in said
    assert "values are written as age=a,b,c and bins of a number as age=bins:0,18,65,inf" in said
    assert "--values" not in said
    assert "--edges" not in said


def test_what_the_command_cannot_do_is_said_in_its_own_words(run, fails, table) -> None:
    run("randomise", "people.csv", *ASK, "--out", "r.svr")
    both = ("--attribute", "smokes", "--attribute", "age")
    said = fails("estimate", "r.svr", *ASK, *both)
    assert "--attribute is given 2 times, 'smokes', 'age'; give one" in said
    three = (*both, "--attribute", "sport", "--method", "kronecker")
    said = fails("joint", "r.svr", *ASK, *three)
    assert "use --method model-average" in said
    assert "force" not in said


@pytest.mark.filterwarnings("always::UserWarning")
def test_warnings_are_in_the_json(run, table) -> None:
    table.iloc[:190].to_csv("few.csv", index=False)
    run("randomise", "few.csv", *ASK, "--out", "r.svr")
    both = ("--attribute", "smokes", "--attribute", "age", "--json")
    result = run("joint", "r.svr", *ASK, *both)
    warned = json.loads(result.stdout)["warnings"]
    assert "'smokes' and 'age'" in warned[0]
    assert "190" in warned[0]
    assert result.stderr == "".join(f"warning: {line}\n" for line in warned)
    table.to_csv("many.csv", index=False)
    run("randomise", "many.csv", *ASK, "--out", "m.svr", "--again")
    assert json.loads(run("joint", "m.svr", *ASK, *both).stdout)["warnings"] == []
    one = ("--attribute", "smokes", "--json")
    assert json.loads(run("estimate", "m.svr", *ASK, *one).stdout)["warnings"] == []


NAMED, PLAIN = 'name = "a"', 'values = ["x", "y"]'
HEAD = 'format = 1\ntitle = "T"\n[[records]]\nname = "r"\nepsilon_average = 2.0\n'


def one(*lines: str) -> str:
    return HEAD + "[[records.attribute]]\n" + "\n".join(lines)


WRONG = {
    "no TOML": ("[[", "not valid TOML"),
    "a key": (RECORDS.replace("title", "titel"), "unknown entries 'titel'"),
    "a key of records": (
        RECORDS.replace("epsilon_average", "epsilon"),
        "unknown entries 'epsilon'",
    ),
    "an attribute's key": (RECORDS.replace("missing", "absent"), "unknown entries 'absent'"),
    "no epsilon": (RECORDS.replace("epsilon_average = 3.0", ""), "lacks epsilon_average"),
    "epsilon": (RECORDS.replace("3.0", "0"), "epsilon is 0"),
    "no name": (RECORDS.replace('name = "age"', ""), "needs a name"),
    "no name of records": (RECORDS.replace('name = "health"', ""), "records 1 lacks name"),
    "an empty name": (RECORDS.replace('"health"', '" "'), "the name of records is ' '"),
    "no title": (RECORDS.replace("Health and habits", " "), "needs a title"),
    "one table of records": (
        RECORDS.replace("[[records]]", "[records]"),
        "write [[records]] above",
    ),
    "a list of names": (HEAD + 'attribute = ["a"]', "attribute is ['a']; every attribute begins"),
    "a number of them": (HEAD + "attribute = 5", "attribute is 5; every attribute begins"),
    "one table": (f"{HEAD}[records.attribute]\n{NAMED}\n{PLAIN}", "with [[records.attribute]]"),
    "none": (HEAD + "attribute = []", "at least one attribute"),
    "a name that is none": (one("name = 5", PLAIN), "attribute 1: an attribute needs a name"),
    "values of text": (one(NAMED, 'values = "xy"'), "attribute 1 ('a'): the values are 'xy'"),
    "values nested": (one(NAMED, 'values = [["x"], ["y"]]'), "['x'] cannot be a value"),
    "too many values": (one(NAMED, f"values = {10**30}"), "values is too large"),
    "edges of text": (one(NAMED, 'edges = "123"'), "edges is '123'; edges are a list of numbers"),
    "edges of texts": (one(NAMED, 'edges = ["1", "2", "3"]'), "edges are a list of numbers"),
    "edges of truths": (one(NAMED, "edges = [false, true, 2]"), "edges are a list of numbers"),
    "edges too large": (one(NAMED, f"edges = [0, 1, {10**400}]"), "too large"),
    "values and edges": (one(NAMED, PLAIN, "edges = [0, 1, 2]"), "needs values or edges; give one"),
    "neither": (one(NAMED), "needs values or edges; give one"),
    "missing": (one(NAMED, PLAIN, "missing = 5"), "missing=5; allowed are"),
    "records twice": (one(NAMED, PLAIN) + "\n" + HEAD.split("\n", 2)[2], "lacks attribute"),
    "the same name": (
        one(NAMED, PLAIN) + "\n" + one(NAMED, PLAIN).split("\n", 2)[2],
        "two questions named 'r'",
    ),
    **{
        f"epsilon {given}": (RECORDS.replace("3.0", given), "epsilon is")
        for given in ('"2"', "true", "nan", "[1]", "inf")
    },
    "floor": (RECORDS.replace("epsilon_", "floor = true\nepsilon_", 1), "floor is True"),
    "public": (RECORDS.replace("epsilon_", "public = 1\nepsilon_", 1), "public is 1"),
}


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG)
def test_wrong_files_of_attributes(fails, table, text: str, says: str) -> None:
    Path("records.toml").write_text(text)
    assert says in fails("randomise", "people.csv", *ASK, "--out", "r.svr")
    assert not Path("r.svr").exists()
