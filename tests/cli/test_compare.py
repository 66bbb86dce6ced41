"""Two collections compared, tables as files, and percentages within rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from sottovoce import Study
from sottovoce.contract.aggregate import Aggregate

from .conftest import STUDY
from .test_records import ASK, table  # noqa: F401, a fixture

USUAL = ("--study", "study.toml")
NUMBERS = ["estimate", "std_error", "low", "high"]


@pytest.fixture
def waves(folder: Path, run) -> None:
    """Known counts of two waves of grr at ε = 1, so that nothing here is random."""
    mechanism = Study.load(folder / "study.toml").mechanism()
    for name, counts in (("2025", (400, 300, 300)), ("2026", (500, 250, 250))):
        aggregate = Aggregate(mechanism.id, mechanism.digest, {"support": counts}, 1000, 1000)
        aggregate.save(folder / f"{name}.sva")


def read(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_two_waves(waves, run, json_of) -> None:
    said = run("compare", "2025.sva", "2026.sva", *USUAL).stdout
    result, guarantee = said.rstrip().rsplit("\n\n", 1)
    assert "How we get to work: commute, 2026 − 2025" in result
    assert "Differences are 2026 − 2025 in percentage points." in result
    assert guarantee == (
        "ε = 2 for each answer, against anyone who sees the reports, for someone who may be in "
        "both; details: --guarantee"
    )
    about = json_of("compare", "2025.sva", "2026.sva", *USUAL)
    mechanism = Study.load("study.toml").mechanism()
    gap = float(mechanism.p - mechanism.q)
    assert about["unit"] == "points"
    assert [row["estimate"] for row in about["values"]] == pytest.approx(
        [0.1 / gap, -0.05 / gap, -0.05 / gap]
    )
    assert about["values"][0]["p_value"] < 0.001 < about["values"][1]["p_value"]
    assert about["test"]["method"] == "max-|z|"
    assert [part["name"] for part in about["parts"]] == ["2025", "2026"]
    # The values' own rows are tidy; the text agrees with them.
    assert f"{100 * about['values'][0]['estimate']:+.1f}" in said


def test_simultaneous_intervals_are_wider_and_say_so(waves, run, json_of) -> None:
    each = json_of("compare", "2025.sva", "2026.sva", *USUAL)["values"]
    every = json_of("compare", "2025.sva", "2026.sva", *USUAL, "--simultaneous")
    assert every["simultaneous"] == "max-|z|"
    for one, all_ in zip(each, every["values"], strict=True):
        assert all_["low"] < one["low"] < one["high"] < all_["high"]
    said = run("estimate", "2025.sva", *USUAL, "--simultaneous").stdout
    assert "The intervals hold for all values at once (max-|z|)." in said


def test_tables_and_pictures(waves, run, fails) -> None:
    run("compare", "2025.sva", "2026.sva", *USUAL, "--csv", "d.csv", "--plot", "d.png", "--sort")
    rows = read("d.csv")
    assert list(rows[0]) == ["value", *NUMBERS, "p_value"]
    assert [row["value"] for row in rows] == ["car", "bike", "foot"]
    assert Path("d.png").read_bytes().startswith(b"\x89PNG")
    assert "exists already" in fails("compare", "2025.sva", "2026.sva", *USUAL, "--csv", "d.csv")
    assert ".csv" in fails("estimate", "2025.sva", *USUAL, "--csv", "d.txt")
    run("estimate", "2025.sva", *USUAL, "--csv", "e.csv", "--plot", "e.png", "--sort")
    about = json.loads(run("estimate", "2025.sva", *USUAL, "--json").stdout)
    assert [float(row["low"]) for row in read("e.csv")] == [row["low"] for row in about["values"]]


def test_what_cannot_be_compared(waves, fails, folder, randomised, run) -> None:
    Path("copy.sva").write_bytes(Path("2025.sva").read_bytes())
    assert "have the same content" in fails("compare", "2025.sva", "copy.sva", *USUAL)
    run("compare", "2025.sva", "copy.sva", *USUAL, "--allow-equal")
    other = STUDY.replace('"foot"', '"tram"')
    Path("other.toml").write_text(other)
    Path("tram.csv").write_text("commute\n" + "car\n" * 400)
    run("randomise", "tram.csv", "--study", "other.toml", "--out", "tram.svr")
    both = (*USUAL, "--study", "other.toml")
    assert "not over the same values (only one has 'foot')" in fails(
        "compare", "2025.sva", "tram.svr", *both
    )
    assert "give two different names" in fails(
        "compare", "2025.sva", "2026.sva", *USUAL, "--names", "a,a"
    )
    assert "--study is given 3 times" in fails(
        "compare", "2025.sva", "2026.sva", *USUAL, *USUAL, *USUAL
    )


def test_another_mechanism_may_have_collected_the_second(waves, run, folder) -> None:
    Path("other.toml").write_text(STUDY.replace('"grr"', '"oue"').replace("1.0", "2.0"))
    run("randomise", "answers.csv", "--study", "other.toml", "--out", "b.svr")
    said = run("compare", "2025.sva", "b.svr", *USUAL, "--study", "other.toml").stdout
    assert "ε = 3 for each answer" in said


def test_two_menus_promise_nothing_to_someone_in_both_but_the_sum(run, folder, json_of) -> None:
    """Whoever chose a level of each menu lost both epsilons: 0.5 + 4 for some."""
    menus = {"strong = 0.5, weak = 2": "strong", "low = 1, high = 4": "low"}
    for name, (levels, chosen) in zip("ab", menus.items(), strict=True):
        menu = STUDY.replace("epsilon = 1.0", f"levels = {{{levels}}}")
        Path(f"{name}.toml").write_text(menu)
        study = ("--study", f"{name}.toml", "--levels", chosen)
        run("randomise", "answers.csv", *study, "--out", f"{name}.svr")
    both = ("compare", "a.svr", "b.svr", "--study", "a.toml", "--study", "b.toml")
    said = run(*both, "--names", "before,after").stdout
    assert "for someone in one of them; for someone in both they add up; details" in said
    assert "may be in both" not in said
    # With one menu for both, someone may choose another level in the second.
    menu = ("--study", "a.toml", "--levels", "weak")
    run("randomise", "answers.csv", *menu, "--again", "--out", "c.svr")
    said = run("compare", "a.svr", "c.svr", "--study", "a.toml").stdout
    assert "ε = 1 (strong), 4 (weak) for each answer" in said
    assert "for someone who may be in both, at the same level; details" in said
    promises = json_of(*both, "--names", "before,after")["guarantee"]["promises"]
    assert {(p["unit"]["group"], p["unit"]["level"], p["epsilon"]) for p in promises} == {
        ("before", "strong", 0.5),
        ("before", "weak", 2.0),
        ("after", "low", 1.0),
        ("after", "high", 4.0),
    }


def test_rows_sum_to_one(table, run, fails) -> None:  # noqa: F811
    run("randomise", "people.csv", *ASK, "--allocation", "equal", "--out", "r.svr")
    both = ("joint", "r.svr", *ASK, "--attribute", "smokes", "--attribute", "age")
    about = json.loads(run(*both, "--given", "age", "--csv", "g.csv", "--json").stdout)
    assert about["given"] == ["age"]
    assert list(about["values"][0]) == ["age", "smokes", *NUMBERS]
    sums: dict[str, float] = {}
    for row in about["values"]:
        sums[row["age"]] = sums.get(row["age"], 0.0) + row["estimate"]
    assert list(sums.values()) == pytest.approx([1.0] * 3)
    assert list(read("g.csv")[0]) == ["age", "smokes", *NUMBERS]
    columns = json.loads(run(*both, "--percent", "columns", "--json").stdout)
    assert columns["values"] == about["values"]
    said = run(*both, "--percent", "rows", "--plot", "h.png").stdout
    assert "Fractions of the people with the same smokes" in said
    # The result comes first, then what it assumes, and the guarantee in the last line.
    assert said.index("fraction") < said.index("Assuming: ") < said.index("details: --guarantee")
    assert said.rstrip().splitlines()[-1].startswith("ε = 9 for all 3 reported answers")
    assert "must be one of the attributes" in fails(*both, "--given", "sport")
    assert "say the same thing twice" in fails(*both, "--given", "age", "--percent", "rows")
    assert "names every attribute" in fails(*both, "--given", "age", "--given", "smokes")


@pytest.mark.parametrize("width", ["40", "80"])
def test_nothing_is_cut_off_on_narrow_screens(waves, run, monkeypatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    for words in (
        ("compare", "2025.sva", "2026.sva", *USUAL),
        ("estimate", "2025.sva", *USUAL),
        ("plan", "--values", "6", "--people", "10000", "--epsilon", "1"),
        ("plan", "--attributes", "4,4,2", "--people", "10000", "--epsilon", "2"),
    ):
        said = run(*words).stdout
        assert "…" not in said
        long = [line for line in said.splitlines() if len(line.rstrip()) > int(width)]
        assert all(line.startswith("ε = ") for line in long)


# --- folders and patterns ------------------------------------------------------------------------


def test_folders_and_patterns_stand_for_their_files(waves, folder, json_of, fails) -> None:
    mechanism = Study.load("study.toml").mechanism()
    for wave, n in (("a", 50), ("b", 60)):
        for part in range(2):
            path = Path(wave, f"date={part}", "reports.svr")
            path.parent.mkdir(parents=True)
            path.write_bytes(mechanism.randomise(["car", "bike"] * (n + part)).to_bytes())
    assert json_of("estimate", "a", *USUAL)["reports"] == 202
    assert json_of("estimate", "a/**/*.svr", "2025.sva", *USUAL)["reports"] == 1202
    assert "no file" in fails("estimate", "a/*.parquet", *USUAL)
    assert "'a/missing.svr'" in fails("estimate", "a/missing.svr", *USUAL)
    about = json_of("compare", "a", "b/*/*.svr", *USUAL, "--names", "a,b")
    assert [part["reports"] for part in about["parts"]] == [202, 242]
    said = fails("compare", "a", "a/date=0", *USUAL)
    assert "'a/date=0/reports.svr' and 'a/date=0/reports.svr' have the same content" in said
    said = fails("estimate", "a", *USUAL, "--csv", "a/date=0/reports.svr", "--force")
    assert "is one of the inputs" in said


def test_reports_and_their_own_counts_are_not_two_collections(
    folder, randomised, run, fails
) -> None:
    randomised()
    run("aggregate", "reports.svr", *USUAL, "--out", "counts.sva")
    for both in (("reports.svr", "counts.sva"), ("counts.sva", "reports.svr")):
        assert "same counts in different forms" in fails("compare", *both, *USUAL)
    run("compare", "reports.svr", "counts.sva", *USUAL, "--allow-equal")


def test_joint_takes_a_folder(table, run, json_of) -> None:  # noqa: F811, the fixture
    Path("reports").mkdir()
    words = ("--allocation", "random", "--out", "reports/r.svr")
    run("randomise", "people.csv", *ASK, *words)
    both = ("--attribute", "age", "--attribute", "smokes")
    assert json_of("joint", "reports", *ASK, *both)["reports"] == len(table)


def test_groups_may_be_named_like_columns(folder, run, randomised):
    randomised()
    randomised("--again", out="second.svr")
    pair = ("compare", "reports.svr", "second.svr", "--study", "study.toml")
    said = run(*pair, "--names", "difference,95 % interval").stdout
    titles = next(line for line in said.splitlines() if line.count("%") >= 2)
    both = "difference 95 % interval"
    assert " ".join(titles.split()) == f"value {both} {both} p"


def test_where_only_some_people_report_the_noise_is_that_of_sampling_too(folder, run):
    asked = ("--question", "commute", "--values", "car,bike,foot", "--epsilon", "4")
    run("study", "new", "half.toml", "--title", "Half", *asked, "--rate", "0.5")
    for out in ("first.svr", "second.svr"):
        again = ("--again",) * (out == "second.svr")
        run("randomise", "answers.csv", "--study", "half.toml", "--out", out, *again)
    said = run("compare", "first.svr", "second.svr", "--study", "half.toml").stdout
    words = "the noise that privacy and sampling add, for the people who were asked."
    assert f"Intervals and p-values measure {words}" in " ".join(said.split())
