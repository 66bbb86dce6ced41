"""Never let a name, path, message, log or file size outside the participant's side depend on true
answers (digests included: short inputs can be recovered from an unsalted hash).
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from sottovoce.cli import main

STUDY = """\
format = 1
title = "One answer"

[[question]]
name = "ill"
values = ["yes", "nay"]
mechanism = "grr"
epsilon = 1.0
"""


def randomise(folder: Path, answers: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple:
    """What the command says, and the names and sizes of all that it leaves behind."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", "receipts")
    Path("study.toml").write_text(STUDY)
    Path("answers.csv").write_text("\n".join(["ill", *answers, ""]))
    command = ["randomise", "answers.csv", "--study", "study.toml", "--out", "reports.svr"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    again = CliRunner().invoke(main, command)
    files = {file.relative_to(folder): file for file in folder.rglob("*") if file.is_file()}
    return result.output + again.output, files


def names_of(files: dict[Path, Path]) -> set[str]:
    return {part for file in files for part in file.parts}


def test_nothing_that_is_left_behind_follows_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"a": ["yes"], "b": ["nay"], "c": ["yes"]}
    runs = [randomise(tmp_path / name, one, monkeypatch) for name, one in answers.items()]
    plain = [re.sub("[0-9a-f]{16}/", "RANDOM/", "".join(text.split())) for text, _ in runs]
    assert plain[0] == plain[1]
    assert "yes" not in plain[0]
    sizes = [sorted(file.stat().st_size for file in files.values()) for _, files in runs]
    assert sizes[0] == sizes[1]
    # A name that the answers decide would be the same for the same answers.
    names = [names_of(files) for _, files in runs]
    assert len(names[0] - names[2]) == len(names[0] - names[1]) > 0


def test_a_name_is_drawn_anew_also_under_the_same_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    randomise(tmp_path / "a", ["yes"], monkeypatch)
    (first,) = Path("receipts").glob("*/receipt.json")
    shutil.rmtree(first.parent)
    Path("reports.svr").unlink()
    command = ["randomise", "answers.csv", "--study", "study.toml", "--out", "reports.svr"]
    assert CliRunner().invoke(main, command).exit_code == 0
    (second,) = Path("receipts").glob("*/receipt.json")
    assert first != second


def test_no_name_is_a_hash_of_short_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, files = randomise(tmp_path / "a", ["yes"], monkeypatch)
    names = " ".join(names_of(files))
    content = Path("answers.csv").read_bytes()
    guesses = [content, b"yes", b"yes\n", b"ill\nyes", b"\x00", b"\x01", b"0", b"1", b"illyes"]
    for guess in guesses:
        for kind in ("sha256", "sha1", "md5", "blake2b", "sha512"):
            assert hashlib.new(kind, guess).hexdigest()[:12] not in names
