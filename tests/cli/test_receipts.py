"""Nobody's answer is randomised twice by accident, whatever happens in between."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sottovoce import Study
from sottovoce.contract.reports import read_batches

from .conftest import STUDY

SAME = "the same reports were returned"


def receipts() -> list[Path]:
    return sorted(Path("receipts").glob("*/receipt.json"))


def content(path: str) -> bytes:
    mechanism = Study.load("study.toml").mechanism()
    return b"".join(
        column.tobytes()
        for batch in read_batches(path, expect=mechanism)
        for column in batch.columns.values()
    )


def test_the_same_command_gives_the_same_bytes(folder, randomised):
    assert SAME not in randomised().stdout
    first = Path("reports.svr").read_bytes()
    said = " ".join(randomised().stdout.split())
    assert SAME in said
    assert "the guarantee is unchanged" in said
    assert Path("reports.svr").read_bytes() == first
    randomised(out="other.svr")
    assert Path("other.svr").read_bytes() == first
    Path("reports.svr").unlink()
    randomised()
    assert Path("reports.svr").read_bytes() == first


def test_the_same_reports_in_the_other_form(folder, randomised):
    randomised()
    for _ in range(2):  # the second time it is there already
        randomised(out="reports.parquet")
        assert content("reports.parquet") == content("reports.svr")
    Path("reports.svr").unlink()
    randomised(out="back.svr")
    assert content("back.svr") == content("reports.parquet")


def test_the_other_way_round(folder, randomised):
    randomised(out="reports.parquet")
    randomised(out="reports.svr")
    assert content("reports.parquet") == content("reports.svr")


def test_what_a_receipt_holds(folder, randomised):
    randomised()
    (path,) = receipts()
    about = json.loads(path.read_text())
    assert about["format"] == 2
    assert about["mechanism"] == "grr"
    assert about["mechanism_digest"] == Study.load("study.toml").mechanism().digest.hex()
    assert len(about["answers"]) == 64
    assert about["column"] == "commute"
    assert about["inputs"] == [str(folder / "answers.csv")]
    assert about["rows"] == 1000
    (release,) = about["releases"]
    assert len(release["day"]) == len("2026-11-15"), "never to the second"
    assert release["kept"] == "reports-1.svr"
    kept = path.parent / "reports-1.svr"
    assert kept.read_bytes() == Path("reports.svr").read_bytes()
    assert not kept.samefile("reports.svr"), "changing the output must not change what is kept"


def test_receipts_are_private(folder, randomised):
    randomised()
    (path,) = receipts()
    private = (Path("receipts"), path.parent, path, Path("receipts/key"))
    modes = [stat.S_IMODE(p.stat().st_mode) for p in private]
    assert modes == [0o700, 0o700, 0o600, 0o600]


def test_the_output_has_an_ordinary_mode(folder, randomised):
    before = os.umask(0o022)
    try:
        randomised()
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("reports.svr").stat().st_mode) == 0o644


def test_again_is_a_second_release_and_says_so(folder, randomised, json_of):
    randomised()
    first = Path("reports.svr").read_bytes()
    said = randomised("--again", "--force").stdout
    assert Path("reports.svr").read_bytes() != first
    assert "release 2 of the same answers" in said
    assert "ε = 2 for each answer, against anyone who sees the reports after 2 releases" in said
    (path,) = receipts()
    about = json.loads(path.read_text())
    assert len(about["releases"]) == 2
    assert about["guarantee"]["promises"][0]["epsilon"] == 2.0
    assert [release["kept"] for release in about["releases"]] == ["", "reports-2.svr"]
    assert sorted(p.name for p in path.parent.iterdir()) == ["receipt.json", "reports-2.svr"]
    usual = ("randomise", "answers.csv", "--study", "study.toml", "--out", "third.svr")
    about = json_of(*usual, "--again")
    assert about["releases"] == 3
    assert about["guarantee"]["promises"][0]["epsilon"] == 3.0
    about = json_of(*usual)
    assert (about["fresh"], about["releases"]) == (False, 3)


def test_again_the_first_time_is_the_first_release(folder, randomised):
    said = randomised("--again").stdout
    assert "ε = 1 for each answer" in said
    assert "releases together" not in said


def test_an_existing_output_is_kept_unless_it_is_the_same(folder, randomised):
    randomised()
    Path("precious.svr").write_text("precious")
    assert "exists already" in randomised(out="precious.svr", code=1).stderr
    assert Path("precious.svr").read_text() == "precious"
    assert "exists already" in randomised("--again", code=1).stderr
    randomised("--force", out="precious.svr")
    assert Path("precious.svr").read_bytes() == Path("reports.svr").read_bytes()
    randomised("--force")
    names = {path.name for path in folder.iterdir()}
    assert not [name for name in names if name.startswith(".")], "a temporary name is left"


@pytest.mark.parametrize("damage", ["gone", "altered"])
def test_kept_reports_that_are_damaged(folder, randomised, damage):
    randomised()
    (kept,) = Path("receipts").glob("*/reports-1.svr")
    data = kept.read_bytes()
    kept.unlink()
    if damage == "altered":
        kept.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    said = randomised(out="other.svr", code=1).stderr
    assert "are gone" in said if damage == "gone" else "were altered" in said
    assert "--again" in said
    assert not Path("other.svr").exists()
    assert "2 releases together" in randomised("--again", out="other.svr").stdout


def test_a_changed_file_is_refused_without_again(folder, randomised, json_of):
    randomised()
    with Path("answers.csv").open("a") as stream:
        stream.write("1000,car\n")
    said = randomised(out="new.svr", code=1).stderr
    assert "begins with the 1,000 people of" in said
    assert "released twice" in said
    assert len(receipts()) == 1
    said = randomised("--again", out="new.svr").stdout
    assert "after 2 releases together" in said
    assert "people who are in every version" in " ".join(said.split())
    assert len(receipts()) == 2
    about = json_of("randomise", "answers.csv", "--study", "study.toml", "--out", "b.svr")
    assert (about["fresh"], about["releases"]) == (False, 2)


def test_a_copy_of_the_file_is_the_same_answers(folder, run, randomised):
    randomised()
    Path("copy.csv").write_bytes(Path("answers.csv").read_bytes())
    said = run("randomise", "copy.csv", "--study", "study.toml", "--out", "copy.svr").stdout
    assert SAME in " ".join(said.split())
    assert Path("copy.svr").read_bytes() == Path("reports.svr").read_bytes()
    (path,) = receipts()
    assert len(json.loads(path.read_text())["inputs"]) == 2
    Path("copy.csv").write_text("commute\ncar\n")
    usual = ("randomise", "copy.csv", "--study", "study.toml", "--out", "c.svr")
    assert "has changed since" in run(*usual, code=1).stderr


def test_another_study_is_noted(folder, run, randomised):
    randomised()
    Path("study.toml").write_text(STUDY.replace("How we", "Where we"))
    said = " ".join(randomised(out="other.svr").stdout.split())
    assert "randomised under 'How we get to work' too" in said
    assert len(receipts()) == 2


def test_a_failed_run_leaves_no_receipt(folder, randomised):
    Path("answers.csv").write_text("commute\nbus\n")
    randomised(code=1)
    assert [path.name for path in Path("receipts").iterdir()] == ["key"]


def test_a_broken_receipt_is_not_overwritten(folder, randomised):
    randomised()
    (path,) = receipts()
    for text in ("{", "[]", '{"format": 1}', '{"format": 2}', '{"format": 2, "releases": 3}'):
        path.write_text(text)
        said = randomised("--again", out="other.svr", code=1).stderr
        assert "cannot be read" in said
        assert path.read_text() == text


def test_receipts_that_cannot_be_kept(folder, randomised):
    Path("file").write_text("")
    said = randomised("--receipts", "file/receipts", code=1).stderr
    assert "choose a folder with --receipts" in said
    assert not Path("reports.svr").exists()


def test_where_receipts_are_kept(folder, randomised, monkeypatch):
    randomised("--receipts", "mine")
    assert list(Path("mine").glob("*/receipt.json"))
    monkeypatch.delenv("SOTTOVOCE_RECEIPTS")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    randomised(out="b.svr")
    assert list(Path("state/sottovoce/receipts").glob("*/receipt.json"))
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(folder / "home"))
    randomised(out="c.svr")
    assert list(Path("home/.local/state/sottovoce/receipts").glob("*/receipt.json"))


def test_a_user_without_a_home(folder, randomised, monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("SOTTOVOCE_RECEIPTS")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert "choose a folder with --receipts" in randomised(code=1).stderr


# --- crashes ----------------------------------------------------------------------------------

CRASH = """
import os, sys
from sottovoce.cli import main
from sottovoce.collect import ledger, release

def die(*arguments, **options):
    os._exit(9)

{patch}
main(["randomise", "answers.csv", "--study", "study.toml", "--out", "reports.svr"])
"""


def crash(patch: str) -> None:
    code = CRASH.format(patch=patch)
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9


def test_a_crash_before_the_receipt_has_released_nothing(folder, randomised):
    crash("ledger.Entry.write = die")
    assert not Path("reports.svr").exists()
    (orphan,) = Path("receipts").glob("*/reports-1.svr")
    drawn = orphan.read_bytes()
    assert "release  1" in randomised().stdout.replace("   ", "  ")
    assert Path("reports.svr").read_bytes() != drawn, "nobody saw it, so it is drawn anew"
    assert len(json.loads(receipts()[0].read_text())["releases"]) == 1


def test_a_crash_while_drawing_leaves_no_rubbish_for_long(folder, randomised):
    crash("from sottovoce.contract import reports\nreports.ReportWriter.__exit__ = die")
    assert list(Path("receipts").glob("*/.sottovoce-*.part"))
    randomised()
    assert sorted(p.name for p in receipts()[0].parent.iterdir()) == [
        "receipt.json",
        "reports-1.svr",
    ]


def test_a_crash_after_the_receipt_gives_the_recorded_reports(folder, randomised):
    crash("release.place = die")
    assert not Path("reports.svr").exists()
    (kept,) = Path("receipts").glob("*/reports-1.svr")
    drawn = kept.read_bytes()
    assert SAME in " ".join(randomised().stdout.split())
    assert Path("reports.svr").read_bytes() == drawn


def test_an_output_that_fails_keeps_the_drawn_reports(folder, randomised, monkeypatch):
    from sottovoce.collect import release
    from sottovoce.errors import FileError

    def full(kept, out, replace):
        raise FileError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(release, "place", full)
        assert "drawn and kept" in randomised(code=1).stderr
    assert SAME in " ".join(randomised().stdout.split())


def test_two_runs_at_once_draw_once(folder):
    def one(k: int) -> None:
        arguments = ["answers.csv", "--study", "study.toml", "--out", f"r{k}.svr"]
        subprocess.run(
            [sys.executable, "-m", "sottovoce.cli", "randomise", *arguments],
            check=True,
            capture_output=True,
        )

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(one, range(3)))
    assert len({Path(f"r{k}.svr").read_bytes() for k in range(3)}) == 1
    assert len(json.loads(receipts()[0].read_text())["releases"]) == 1
