"""A folder with a study, answers and a private place for receipts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sottovoce.cli import main

STUDY = """\
format = 1
title = "How we get to work"

[[question]]
name = "commute"
values = ["car", "bike", "foot"]
mechanism = "grr"
epsilon = 1.0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", str(tmp_path / "receipts"))
    (tmp_path / "study.toml").write_text(STUDY)
    people = ["car", "bike", "foot", "car"] * 250
    rows = "".join(f"{k},{answer}\n" for k, answer in enumerate(people))
    (tmp_path / "answers.csv").write_text(f"id,commute\n{rows}")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Callable[..., Result]:
    """Run a command in the folder and check its exit code."""

    def call(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        everything = result.output + repr(result.exception)
        assert result.exit_code == code, everything
        if code:
            assert result.stdout == "", everything
            assert "Traceback" not in result.stderr
        return result

    return call


@pytest.fixture
def fails(run: Callable[..., Result]) -> Callable[..., str]:
    """Run a command that must fail as a user's error; gives the one line it says."""

    def call(*arguments: str) -> str:
        said = run(*arguments, code=1).stderr
        assert said.startswith("error: ")
        assert said.count("\n") == 1
        return said

    return call


@pytest.fixture
def json_of(run: Callable[..., Result]) -> Callable[..., Any]:
    def call(*arguments: str) -> Any:
        result = run(*arguments, "--json")
        assert result.stderr == ""
        return json.loads(result.stdout)

    return call


@pytest.fixture
def randomised(run: Callable[..., Result]) -> Callable[..., Result]:
    """`randomise answers.csv` with the usual options; more may follow."""

    def call(*more: str, out: str = "reports.svr", code: int = 0) -> Result:
        usual = ("randomise", "answers.csv", "--study", "study.toml", "--out", out)
        return run(*usual, *more, code=code)

    return call
