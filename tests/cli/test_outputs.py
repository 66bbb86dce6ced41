"""Outputs: --force replaces plain files, and nothing else."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

import pytest

from .test_records import ASK, RECORDS

NEW = ("--title", "T", "--question", "q", "--values", "a,b", "--epsilon", "1")
USUAL = ("--study", "study.toml")


@pytest.fixture
def commands(folder, randomised) -> dict[str, tuple[str, ...]]:
    """Commands that write a file; its name comes last."""
    randomised()
    Path("records.toml").write_text(RECORDS)
    Path("people.csv").write_text("smokes,age,sport\n" + "yes,40,1\nno,50,\n" * 50)
    return {
        "study": ("study", "new", *NEW, "--force"),
        "randomise": ("randomise", "answers.csv", *USUAL, "--force", "--out"),
        "again": ("randomise", "answers.csv", *USUAL, "--force", "--again", "--out"),
        "aggregate": ("aggregate", "reports.svr", *USUAL, "--force", "--out"),
        "estimate": ("estimate", "reports.svr", *USUAL, "--force", "--plot"),
        "plan": ("plan", "--values", "4", "--people", "99", "--epsilon", "1", "--force", "--plot"),
        "records": ("randomise", "people.csv", *ASK, "--force", "--out"),
    }


def ending(command: str) -> str:
    return {"estimate": ".png", "plan": ".png", "aggregate": ".sva"}.get(command, ".svr")


def test_pipes_and_devices_stay_what_they_are(commands, fails) -> None:
    for name, words in commands.items():
        pipe = Path(f"{name}-pipe{ending(name)}")
        os.mkfifo(pipe)
        assert f"{str(pipe)!r} is not a plain file; name a file" in fails(*words, str(pipe))
        assert stat.S_ISFIFO(pipe.lstat().st_mode)
        link = Path(f"{name}-link{ending(name)}")
        link.symlink_to(pipe)
        assert "is not a plain file" in fails(*words, str(link))
        assert link.is_symlink()


def test_links_stay_links_and_their_targets_are_replaced(commands, run) -> None:
    for name, words in commands.items():
        link, target = Path(f"{name}-link{ending(name)}"), Path(f"{name}-target")
        target.write_bytes(b"old")
        link.symlink_to(target)
        run(*words, str(link))
        assert link.is_symlink(), name
        assert target.read_bytes() != b"old", name


@pytest.mark.parametrize("out", ["x.txt", "-", "x"])
def test_names_say_what_they_hold(commands, fails, out: str) -> None:
    for name in ("randomise", "records"):
        said = fails(*commands[name], out)
        assert f"the format of {out!r} is not clear" in said
        assert "must end in .svr or .parquet" in said
    assert "must end in .sva" in fails(*commands["aggregate"], out)
    assert not Path(out).exists()


def test_a_link_to_what_is_there_needs_force(commands, fails) -> None:
    Path("target.svr").write_bytes(b"old")
    Path("link.svr").symlink_to("target.svr")
    words = [word for word in commands["randomise"] if word != "--force"]
    assert "exists already" in fails(*words, "link.svr")
    assert Path("target.svr").read_bytes() == b"old"


def test_the_next_command_can_be_run_where_names_have_blanks(folder, run) -> None:
    shown = run("study", "new", "our study.toml", *NEW).stdout
    Path("answers.csv").write_text("q\na\nb\n")
    following = shlex.split(shown.split("Next: sottovoce ")[1])
    assert following[3] == "our study.toml"
    run(*following)


@pytest.mark.parametrize("width", ["0", "1"])
def test_results_are_printed_whatever_the_terminal_says_of_its_width(
    commands, run, monkeypatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    said = run("study", "show", "study.toml").stdout
    assert "grr, epsilon = 1" in " ".join(said.split())
    assert "95 %" in " ".join(run("estimate", "reports.svr", *USUAL).stdout.split())
