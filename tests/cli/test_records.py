"""``sottovoce records``: from a table to a heat map, and everything that can be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

RECORDS = """\
title = "Health and habits"
epsilon_average = 3.0

[[attribute]]
name = "smokes"
values = ["yes", "no"]

[[attribute]]
name = "age"
edges = [0, 30, 60, inf]

[[attribute]]
name = "sport"
values = 3
missing = "public"
"""
ASK = ("--records", "records.toml")


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
    words = ("records", "randomise", name, *ASK, "--allocation", "random", "--out", "r.svr")
    said = json.loads(run(*words, "--json").stdout)
    assert (said["people"], said["reports"], said["fresh"]) == (2000, 2000, True)
    assert said["guarantee"]["promises"][0]["epsilon"] == 9.0
    own = json.loads(
        run("records", "marginal", "r.svr", *ASK, "--attribute", "sport", "--json").stdout
    )
    assert own["reports"] == 1600
    assert len(own["values"]) == 3
    both = ("--attribute", "smokes", "--attribute", "age", "--plot", "heat.png")
    found = json.loads(run("records", "joint", "r.svr", *ASK, *both, "--json").stdout)
    assert found["steps"] is None
    assert 0 <= found["mutual_information"]["low"] <= found["mutual_information"]["estimate"]
    assert found["values"][0]["value"] == "yes | [0, 30)"
    assert sum(row["estimate"] for row in found["values"]) == pytest.approx(1)
    assert Path("heat.png").read_bytes().startswith(b"\x89PNG")
    text = run("records", "joint", "r.svr", *ASK, *both, "--force").stdout
    assert "Health and habits: smokes × age" in text
    assert "without regard to the answers" in " ".join(text.split())
    three = ("--attribute", "sport", "--method", "em-ll2", "--stop", "3")
    three = run("records", "joint", "r.svr", *ASK, *both[:4], *three)
    assert "3 steps" in three.stdout


def test_the_same_answers_are_not_released_twice_by_accident(run, fails, table) -> None:
    words = ("records", "randomise", "people.csv", *ASK, "--out")
    run(*words, "a.svr")
    again = json.loads(run(*words, "b.svr", "--json").stdout)
    assert not again["fresh"]
    assert Path("a.svr").read_bytes() == Path("b.svr").read_bytes()
    assert "second release" in fails(*words, "c.svr", "--allocation", "random")
    said = json.loads(run(*words, "d.svr", "--allocation", "random", "--again", "--json").stdout)
    assert said["releases"] == 2
    assert said["guarantee"]["promises"][0]["epsilon"] == 18.0
    table.iloc[1:].to_csv("people.csv", index=False)
    assert "has changed since" in fails(*words, "e.svr")
    assert "hold the same" in fails(
        "records", "marginal", "a.svr", "b.svr", *ASK, "--attribute", "age"
    )


def test_budgets_from_columns(run, fails, table) -> None:
    table["sport"] = table["sport"].fillna(0)
    for name, budget in (("smokes", 4.0), ("age", 2.0), ("sport", np.nan)):
        table[f"epsilon_{name}"] = budget
    table.to_csv("people.csv", index=False)
    words = ("records", "randomise", "people.csv", *ASK, "--allocation", "columns", "--out")
    run(*words, "r.svr")
    said = fails("records", "marginal", "r.svr", *ASK, "--attribute", "sport")
    assert "nobody reported 'sport'" in said
    table.drop(columns="epsilon_age").to_csv("people.csv", index=False)
    assert "epsilon_age" in fails(*words, "s.svr", "--again")


def test_counts_are_saved_merged_and_estimated(run, fails, table) -> None:
    words = ("records", "randomise", "people.csv", *ASK, "--out")
    run(*words, "a.svr")
    table.sample(frac=0.5, random_state=1).to_csv("more.csv", index=False)
    run("records", "randomise", "more.csv", *ASK, "--out", "b.parquet")
    said = run("records", "aggregate", "a.svr", *ASK, "--out", "a.sva").stdout
    assert "2,000 records counted in a.sva" in said
    merged = ("records", "aggregate", "a.sva", "b.parquet", *ASK, "--out", "all.sva", "--json")
    about = json.loads(run(*merged).stdout)
    assert (about["files"], about["reports"]) == (2, 3000)
    assert 0 < about["different"] <= 3000

    def found(command: str, *files: str) -> list[object]:
        asked = ("--attribute", "smokes") + ("--attribute", "age") * (command == "joint")
        about = json.loads(run("records", command, *files, *ASK, *asked, "--json").stdout)
        return [about["reports"], about["values"]]

    for command in ("marginal", "joint"):
        assert found(command, "all.sva") == found(command, "a.svr", "b.parquet")
        assert found(command, "all.sva") == found(command, "b.parquet", "a.sva")
    asked = ("a.svr", "a.sva", *ASK, "--attribute", "age")
    assert "'a.svr' come to the counts in 'a.sva'" in fails("records", "marginal", *asked)
    run("records", "marginal", *asked, "--allow-equal")
    assert "exists already" in fails("records", "aggregate", "a.svr", *ASK, "--out", "a.sva")
    Path("records.toml").write_text(RECORDS.replace("Health", "Wealth"))
    assert "another study" in fails("records", "marginal", "a.sva", *ASK, "--attribute", "age")
    said = fails("estimate", "a.sva", "--study", "study.toml")
    assert "'a.sva' holds counts of records; use sottovoce records" in said
    run("randomise", "answers.csv", "--study", "study.toml", "--out", "s.svr")
    run("aggregate", "s.svr", "--study", "study.toml", "--out", "s.sva")
    said = fails("records", "marginal", "s.sva", *ASK, "--attribute", "age")
    assert "'s.sva' holds counts of one question; use sottovoce estimate" in said


def test_attributes_and_promise_are_shown_before_anyone_answers(run, table) -> None:
    said = run("records", "show", "records.toml").stdout
    assert "3: [0, 30), [30, 60), [60, inf]" in said
    assert "3 on average for each reported attribute" in said
    assert "epsilon = 9" in said
    about = json.loads(run("records", "show", "records.toml", "--json").stdout)
    assert [one["name"] for one in about["attributes"]] == ["smokes", "age", "sport"]
    assert about["guarantee"]["promises"][0]["epsilon"] == 9.0
    Path("records.toml").write_text(RECORDS.replace("[[", "public = true\nfloor = 0.7\n[[", 1))
    said = run("records", "show", "records.toml").stdout
    assert "at least 0.7 for each" in said
    assert "sent along" in said


def test_studies_and_files_of_records_are_told_apart(fails, table, folder) -> None:
    study = ("--study", "records.toml")
    for words in (
        ("study", "check", "records.toml"),
        ("study", "show", "records.toml"),
        ("guarantee", *study),
        ("audit", *study),
        ("randomise", "answers.csv", *study, "--out", "r.svr"),
        ("aggregate", "r.svr", *study, "--out", "r.sva"),
        ("estimate", "r.svr", *study),
    ):
        assert "is a file of records, not a study; use sottovoce records show" in fails(*words)
    for words in (
        ("show", "study.toml"),
        ("randomise", "people.csv", "--records", "study.toml", "--out", "r.svr"),
        ("marginal", "r.svr", "--records", "study.toml", "--attribute", "age"),
    ):
        assert "this is a study, not a file of records" in fails("records", *words)


def test_what_the_command_cannot_do_is_said_in_its_own_words(run, fails, table) -> None:
    run("records", "randomise", "people.csv", *ASK, "--out", "r.svr")
    both = ("--attribute", "smokes", "--attribute", "age")
    said = fails("records", "marginal", "r.svr", *ASK, *both)
    assert "--attribute is given 2 times, 'smokes', 'age'; give one" in said
    three = (*both, "--attribute", "sport", "--method", "kronecker")
    said = fails("records", "joint", "r.svr", *ASK, *three)
    assert "use --method model-average" in said
    assert "force" not in said


@pytest.mark.filterwarnings("always::UserWarning")
def test_warnings_are_in_the_json(run, table) -> None:
    table.iloc[:190].to_csv("few.csv", index=False)
    run("records", "randomise", "few.csv", *ASK, "--out", "r.svr")
    both = ("--attribute", "smokes", "--attribute", "age", "--json")
    result = run("records", "joint", "r.svr", *ASK, *both)
    warned = json.loads(result.stdout)["warnings"]
    assert "'smokes' and 'age'" in warned[0]
    assert "190" in warned[0]
    assert result.stderr == "".join(f"warning: {line}\n" for line in warned)
    table.to_csv("many.csv", index=False)
    run("records", "randomise", "many.csv", *ASK, "--out", "m.svr")
    assert json.loads(run("records", "joint", "m.svr", *ASK, *both).stdout)["warnings"] == []
    one = ("--attribute", "smokes", "--json")
    assert json.loads(run("records", "marginal", "m.svr", *ASK, *one).stdout)["warnings"] == []


def about(attribute: str = "", *, top: str = "epsilon_average = 2.0") -> str:
    return f'title = "T"\n{top}\n{attribute}'


def one(*lines: str) -> str:
    return about("[[attribute]]\n" + "\n".join(lines))


NAMED, PLAIN = 'name = "a"', 'values = ["x", "y"]'
WRONG = {
    "no TOML": ("[[", "no TOML file"),
    "a key": (RECORDS.replace("title", "titel"), "'titel' means nothing"),
    "an attribute's key": (RECORDS.replace("missing", "absent"), "'absent' means nothing"),
    "no epsilon": (RECORDS.replace("epsilon_average = 3.0", ""), "no 'epsilon_average'"),
    "epsilon": (RECORDS.replace("3.0", "0"), "epsilon is 0"),
    "no name": (RECORDS.replace('name = "age"', ""), "needs a name"),
    "no title": (RECORDS.replace("Health and habits", " "), "must be a text"),
    "a list of names": (about('attribute = ["a"]'), "attribute is ['a']; every attribute begins"),
    "a number of them": (about("attribute = 5"), "attribute is 5; every attribute begins"),
    "one table": (about(f"[attribute]\n{NAMED}\n{PLAIN}"), "begins with [[attribute]]"),
    "none": (about("attribute = []"), "at least one attribute"),
    "a name that is none": (one("name = 5", PLAIN), "attribute 1: an attribute needs a name"),
    "values of text": (one(NAMED, 'values = "xy"'), "attribute 1 ('a'): the values are 'xy'"),
    "values nested": (one(NAMED, 'values = [["x"], ["y"]]'), "['x'] cannot be a value"),
    "too many values": (one(NAMED, f"values = {10**30}"), "too large"),
    "edges of text": (one(NAMED, 'edges = "123"'), "edges is '123'; edges are a list of numbers"),
    "edges of texts": (one(NAMED, 'edges = ["1", "2", "3"]'), "edges are a list of numbers"),
    "edges of truths": (one(NAMED, "edges = [false, true, 2]"), "edges are a list of numbers"),
    "edges too large": (one(NAMED, f"edges = [0, 1, {10**400}]"), "too large"),
    "values and edges": (one(NAMED, PLAIN, "edges = [0, 1, 2]"), "needs values or edges; give one"),
    "neither": (one(NAMED), "needs values or edges; give one"),
    "missing": (one(NAMED, PLAIN, "missing = 5"), "missing=5; allowed are"),
    **{
        f"epsilon {given}": (RECORDS.replace("3.0", given), "epsilon is")
        for given in ('"2"', "true", "nan", "[1]", "inf")
    },
    "floor": (RECORDS.replace("[[", "floor = true\n[[", 1), "floor is True"),
    "public": (RECORDS.replace("[[", "public = 1\n[[", 1), "public is 1"),
}


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG)
def test_wrong_files_of_attributes(fails, table, text: str, says: str) -> None:
    Path("records.toml").write_text(text)
    assert says in fails("records", "randomise", "people.csv", *ASK, "--out", "r.svr")
    assert not Path("r.svr").exists()
