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
    assert found["steps"] >= 0
    assert 0 <= found["mutual_information"]["low"] <= found["mutual_information"]["estimate"]
    assert found["values"][0]["value"] == "yes | [0, 30)"
    assert sum(row["estimate"] for row in found["values"]) == pytest.approx(1)
    assert Path("heat.png").read_bytes().startswith(b"\x89PNG")
    text = run("records", "joint", "r.svr", *ASK, *both, "--force").stdout
    assert "Health and habits: smokes × age" in text
    assert "without regard to the answers" in " ".join(text.split())
    three = run("records", "joint", "r.svr", *ASK, *both[:4], "--attribute", "sport", "--stop", "3")
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


WRONG = {
    "no TOML": ("[[", "no TOML file"),
    "a key": (RECORDS.replace("title", "titel"), "'titel' means nothing"),
    "an attribute's key": (RECORDS.replace("missing", "absent"), "'absent' means nothing"),
    "no epsilon": (RECORDS.replace("epsilon_average = 3.0", ""), "no 'epsilon_average'"),
    "epsilon": (RECORDS.replace("3.0", "0"), "epsilon is 0"),
    "no name": (RECORDS.replace('name = "age"', ""), "needs a name"),
    "no title": (RECORDS.replace("Health and habits", " "), "must be a text"),
}


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG)
def test_wrong_files_of_attributes(fails, table, text: str, says: str) -> None:
    Path("records.toml").write_text(text)
    assert says in fails("records", "randomise", "people.csv", *ASK, "--out", "r.svr")
    assert not Path("r.svr").exists()
