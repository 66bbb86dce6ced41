"""The demo: the whole way, on simulated people."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import wrap

import pytest

from sottovoce.cli.demo import CHOSEN, MENU, PEOPLE, PERCENTAGES, _blocks, _counts


def test_the_demo_tells_the_whole_story(folder, run):
    said = run("demo").stdout
    for part in (
        "simulated people",
        "Ana    very strong  bicycle  ",
        "the report says",
        "95 % interval",
        "truth",
        "intervals cover the truth",
        "sure at most",
        "63 %",
        "99 %",
        "percentage points",
        "ε = 0.5 (very strong), 1 (strong), 2 (normal), 4 (weak) for each answer",
        "sottovoce study new --help",
        "sottovoce-demo.png",
    ):
        assert part in said
    assert "which level someone chose is public" not in said
    assert "which level someone chose is public" in " ".join(
        run("demo", "--guarantee").stdout.split()
    )
    assert Path("sottovoce-demo.png").read_bytes().startswith(b"\x89PNG")
    run("demo")  # its own picture may be drawn again


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_demo_fits_one_screen(folder, run, monkeypatch, width: int):
    monkeypatch.setenv("COLUMNS", str(width))
    said = run("demo").stdout
    lines = [part for line in said.splitlines() for part in wrap(line, width) or [""]]
    assert len(lines) <= 40
    assert "…" not in said  # nothing is cut off
    assert max(len(line.rstrip()) for line in said.splitlines()) <= width


def test_every_run_has_its_own_noise(folder, json_of):
    assert json_of("demo")["values"] != json_of("demo")["values"]


def test_json(folder, json_of):
    about = json_of("demo", "--people", "50000", "--plot", "d.svg")
    assert about["people"] == 50000
    assert about["plot"] == "d.svg"
    assert [row["truth"] for row in about["values"]] == [n / 100 for n in PERCENTAGES.values()]
    for row in about["values"]:
        # 8 standard errors, which are estimates themselves: fails less than once in 10^9 runs
        assert abs(row["estimate"] - row["truth"]) < 8 * row["std_error"]
    assert {example["name"] for example in about["examples"]} == {"Ana", "Ben", "Chidi", "Dora"}
    assert about["method"] == "james-stein"
    assert "shrunk towards each other" in about["assuming"]
    assert [row["level"] for row in about["levels"]] == list(MENU)
    assert sum(row["people"] for row in about["levels"]) == 50000
    epsilons = [promise["epsilon"] for promise in about["guarantee"]["promises"]]
    assert epsilons == list(MENU.values())


def test_people_choose_with_public_shares():
    levels = [level for _, block in _blocks(_counts(20_000)) for level in block]
    for level, of_ten in CHOSEN.items():
        # 560 is 8 standard deviations or more of a binomial: fails less than once in 10^14 runs
        assert abs(levels.count(level) - 2000 * of_ten) < 560
    assert sum(CHOSEN.values()) == 10
    assert {level for level, _ in PEOPLE.values()} <= set(MENU)


def test_a_hundred_people_are_enough_for_a_demo(folder, run):
    assert "6 intervals cover the truth" in run("demo", "--people", "100").stdout


@pytest.mark.parametrize("people", [100, 101, 12_345, 1_000_000])
def test_everyone_is_counted(people):
    assert sum(_counts(people).values()) == people


def test_a_picture_that_was_asked_for_must_come(folder, fails, run):
    Path("there.png").write_text("precious")
    assert "exists already" in fails("demo", "--plot", "there.png")
    assert ".png, .svg, .pdf" in fails("demo", "--plot", "x.txt")
    run("demo", "--plot", "there.png", "--force")
    run("demo", "--people", "1", code=2)


def test_without_matplotlib_the_demo_goes_on(folder, run, fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "No picture: a picture needs the package 'matplotlib'" in " ".join(
        run("demo").stdout.split()
    )
    assert "pip install" in fails("demo", "--plot", "x.png")


def test_where_nothing_can_be_written_the_demo_goes_on(folder, run):
    Path("sottovoce-demo.png").mkdir()
    assert "No picture: " in run("demo").stdout
