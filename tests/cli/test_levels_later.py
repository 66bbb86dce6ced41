"""Reports at several levels: receipts, counts, estimates and audits of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .conftest import STUDY
from .menus import GIVEN, MENU, SAME, USUAL, rows, write


@pytest.fixture
def menu(folder):
    """A study with two levels, and 1,200 people of whom 400 chose the strong one."""
    Path("study.toml").write_text(MENU)
    write(rows())
    return folder


# --- receipts ---------------------------------------------------------------------------------


def test_the_same_command_gives_the_same_bytes(menu, run):
    run(*GIVEN)
    first = Path("r.svr").read_bytes()
    said = run(*GIVEN[:-1], "again.svr", "--guarantee").stdout
    assert SAME in " ".join(said.split())
    assert "strong 400 0.5" in " ".join(said.split()), "people are remembered"
    assert Path("again.svr").read_bytes() == first


def test_other_levels_are_a_second_release(menu, run, fails, json_of):
    run(*GIVEN)
    other = (*GIVEN[:-3], "strong", "--out", "other.svr")
    said = fails(*other)
    assert "with level: column 'privacy', and now level: 'strong' for everyone" in said
    assert "--again" in said
    assert not Path("other.svr").exists()
    about = json_of(*other, "--again")
    assert (about["fresh"], about["releases"]) == (True, 2)
    # Nobody's level is known for both releases, so the weakest one counts twice.
    assert [p["epsilon"] for p in about["guarantee"]["promises"]] == [4.0]
    assert any("whatever levels people had" in note for note in about["notes"])
    assert json_of(*other)["fresh"] is False
    assert "and now level: column 'privacy'" in fails(*GIVEN)


def test_again_with_the_same_levels_doubles_each_promise(menu, json_of):
    json_of(*GIVEN)
    about = json_of(*GIVEN[:-1], "second.svr", "--again")
    assert [p["epsilon"] for p in about["guarantee"]["promises"]] == [1.0, 4.0]


def test_a_file_whose_levels_changed_is_another_file(menu, fails, json_of):
    json_of(*GIVEN)
    write([(mode, "strong") for mode, _ in rows()])
    assert "or holds other choices" in fails(*GIVEN[:-1], "new.svr")
    about = json_of(*GIVEN[:-1], "new.svr", "--again")
    assert [p["epsilon"] for p in about["guarantee"]["promises"]] == [4.0]


def test_another_study_without_levels_is_noted(menu, run):
    run(*GIVEN)
    Path("study.toml").write_text(STUDY.replace("How we", "Where we"))
    said = run("randomise", "answers.csv", *USUAL, "--out", "plain.svr").stdout
    assert "randomised under 'How we get to work' too" in " ".join(said.split())


def test_receipts_of_before_levels_can_be_read(folder, run, randomised):
    randomised()
    (path,) = Path("receipts").glob("*/receipt.json")
    about = json.loads(path.read_text())
    for release in about["releases"]:
        del release["choices"], release["counts"]
    path.write_text(json.dumps(about))
    assert SAME in " ".join(randomised().stdout.split())


# --- aggregate, estimate ----------------------------------------------------------------------


@pytest.fixture
def reports(menu, run):
    """Reports of 30,000 people, in both forms and as counts."""
    write(rows(30_000))
    run(*GIVEN)
    run(*GIVEN[:-1], "r.parquet")
    run("aggregate", "r.svr", *USUAL, "--out", "c.sva")
    return "r.svr"


def test_counts_know_their_levels(reports, run, json_of):
    said = run("aggregate", "r.parquet", *USUAL, "--out", "d.sva").stdout
    assert "strong 10,000, normal 20,000" in said
    assert Path("d.sva").read_bytes() == Path("c.sva").read_bytes()
    about = json_of("aggregate", "c.sva", *USUAL, "--out", "e.sva")
    assert about["tables"]["asked"] == about["tables"]["reported"] == [10_000, 20_000]


def test_the_default_shrinks_and_says_what_it_leans_on(reports, run, json_of):
    about = json_of("estimate", "c.sva", *USUAL)
    assert about["method"] == "james-stein"
    assert about["biased"] is True
    assert "shrunk towards each other" in about["assuming"]
    assert about["people"] == about["reports"] == 30_000
    for row, truth in zip(about["values"], (0.5, 0.25, 0.25), strict=True):
        assert abs(row["estimate"] - truth) < 8 * row["std_error"]
    said = " ".join(run("estimate", "c.sva", *USUAL, "--guarantee").stdout.split())
    assert "30,000 reports, grr at 2 levels, epsilon 0.5 to 2; james-stein, biased" in said
    assert "Assuming: estimates of the groups are shrunk towards each other" in said
    assert "strong 10,000 0.5 1.65 63 %" in said


def test_each_level_on_its_own(reports, run, json_of):
    said = run("estimate", "c.sva", *USUAL, "--levels").stdout
    assert "Each level on its own" in said
    assert "people 10,000 20,000 car" in " ".join(said.split())
    levels = json_of("estimate", "c.sva", *USUAL, "--levels")["levels"]
    assert [(row["level"], row["epsilon"], row["people"]) for row in levels] == [
        ("strong", 0.5, 10_000),
        ("normal", 2.0, 20_000),
    ]
    assert levels[0]["values"][0]["std_error"] > 3 * levels[1]["values"][0]["std_error"]
    assert "levels" not in json_of("estimate", "c.sva", *USUAL)


def test_many_values_get_a_table_per_level(menu, run):
    Path("study.toml").write_text(MENU.replace('["car", "bike", "foot"]', "20"))
    write([(f"{k % 20}", "strong" if k % 2 else "normal") for k in range(4000)])
    run(*GIVEN)
    said = run("estimate", "r.svr", *USUAL, "--levels").stdout
    assert "strong: 2,000 people" in said
    assert "normal: 2,000 people" in said


@pytest.mark.filterwarnings("default::sottovoce.errors.AlikeWarning")
def test_a_weighted_method_warns_in_one_line(reports, run):
    result = run("estimate", "c.sva", *USUAL, "--method", "pooled")
    assert result.stderr.startswith("warning: 'pooled' weighs the groups as if")
    assert result.stderr.count("\n") == 1
    assert "Assuming: people of all groups answer alike" in result.stdout
    assert "pooled, biased\n" in result.stdout
    assert run("estimate", "c.sva", *USUAL, "--method", "post-stratified").stderr == ""


def test_an_unknown_method_lists_those_there_are(reports, fails):
    said = fails("estimate", "c.sva", *USUAL, "--method", "mle")
    assert "'random-effects', 'post-stratified', 'pooled'" in said


def test_projected(reports, json_of):
    about = json_of("estimate", "c.sva", *USUAL, "--project", "--plot", "p.png")
    assert sum(row["estimate"] for row in about["values"]) == pytest.approx(1)
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_levels_and_rates_that_are_not_there(reports, fails, folder):
    assert "no rates to show" in fails("estimate", "c.sva", *USUAL, "--rate")
    shutil.copy("study.toml", "menu.toml")
    Path("study.toml").write_text(STUDY)
    assert "no levels to show" in fails("estimate", "c.sva", *USUAL, "--levels")


@pytest.mark.parametrize("name", ["r.svr", "r.parquet", "c.sva"])
@pytest.mark.parametrize("how", ["cut", "trailing", "empty"])
def test_damaged_files_are_refused_by_name(reports, fails, name, how):
    data = Path(name).read_bytes()
    damaged = {"cut": data[:-5], "trailing": data + b"\0", "empty": b""}[how]
    Path(name).write_bytes(damaged)
    assert f"'{name}'" in fails("estimate", name, *USUAL)


def test_another_menu_is_another_study(reports, fails):
    Path("study.toml").write_text(MENU.replace("normal = 2", "normal = 1.5"))
    for name in ("r.svr", "r.parquet", "c.sva"):
        assert f"'{name}'" in fails("estimate", name, *USUAL)


def test_too_few_people_are_warned_about_once(menu, run):
    write(rows(8))
    run(*GIVEN)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("estimate", "r.svr", *USUAL, "--levels")
    assert result.stderr.count("too few") == result.stderr.count("\n") == 1


def test_labels_cannot_steer_the_terminal(menu, run):
    Path("study.toml").write_text(MENU.replace("strong", '"\\u001b[31mstrong"'))
    write([(mode, level.replace("strong", "\x1b[31mstrong")) for mode, level in rows()])
    said = run(*GIVEN).stdout + run("estimate", "r.svr", *USUAL, "--levels").stdout
    said += run("study", "show", "study.toml").stdout + run("guarantee", *USUAL).stdout
    assert "\x1b" not in said


# --- audit ------------------------------------------------------------------------------------


def test_every_level_is_audited(menu, run, json_of):
    usual = ("audit", *USUAL, "--trials", "20000", "--confidence", "0.9999999")
    about = json_of(*usual)
    assert [row["choice"] for row in about["findings"]] == ["level 'strong'", "level 'normal'"]
    assert about["broken"] is False
    assert "At level 'strong': epsilon is at least" in run(*usual).stdout
