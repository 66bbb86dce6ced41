"""Runs between processes: three parties and a curator, what they release, and what stops them.

Processes that must die at a certain moment kill themselves there, so that no test depends on time.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .party_runs import COLUMNS, PARTIES, PEOPLE, ROWS, Folder, result_of

pytestmark = pytest.mark.slow

SUMMED = len(PARTIES) * PEOPLE


@pytest.fixture
def hospitals(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path, ROWS)
    folder.prepare()
    yield folder
    folder.stop()


def assert_released(about: Any, folder: Folder, people: int) -> None:
    """Everybody's smoking is right up to noise that comes up less than once in 10^8 runs."""
    (table,) = about["tables"]
    assert table["people"] == people
    assert table["attributes"][:2] == ["smoker", "age"]
    smokers = sum(row["estimate"] for row in table["values"] if row["smoker"] == "yes")
    assert abs(smokers - 0.5) < 0.2
    page = (folder.path / "report.html").read_text()
    assert about["study"] in page
    assert all(f"in the data of {party}" in page for party in PARTIES)


def test_three_hospitals_and_an_institute(hospitals: Folder) -> None:
    curator, address = hospitals.curator("--report", "report.html", "--out", "sums.sva")
    parties = [hospitals.join(party, address) for party in PARTIES]
    about = result_of(curator)
    assert_released(about, hospitals, SUMMED)
    assert about["spent"] == {"A": 0.5, "B": 1.0, "C": 2.0}
    assert (about["refused"], about["too_late"], about["dropped"]) == ([], [], [])
    assert about["bytes_received"] > 0
    for path in about["aggregates"]:
        assert (hospitals.path / path).read_bytes().startswith(b"SVAG")
    for party, process in zip(PARTIES, parties, strict=True):
        said = result_of(process)
        assert said["session"] == about["session"]
        assert (said["data_set"], said["receipt"], said["left"]) == (party, True, 0.0)
        (charge,) = hospitals.budgets()[party]["charges"]
        receipt = json.loads(bytes.fromhex(charge["receipt"]))
        assert receipt["spent"] == {"A": "1/2", "B": "1", "C": "2"}
    # The budget is spent: a second run is refused before anybody hears of it.
    again = result_of(hospitals.join("A", address), code=1)
    assert "0 of its budget of 0.5 is left" in again
    assert "nothing was sent" in again


def test_the_same_over_mutual_tls_with_a_rehearsal(hospitals: Folder) -> None:
    curator, address = hospitals.curator("--tls", "--dry-run", "--report", "report.html")
    assert address.startswith("https://")
    dry = ("--dry-run", "--rows", "200")
    parties = [hospitals.join(party, address, *dry) for party in PARTIES]
    about = result_of(curator)
    assert_released(about, hospitals, 600)
    assert about["rehearsal"]
    assert "Rehearsal" in (hospitals.path / "report.html").read_text()
    for process in parties:
        assert result_of(process)["spent"] == 0.0
    assert hospitals.budgets() == {}


def test_a_party_that_dies_leaves_no_release(hospitals: Folder) -> None:
    began = time.monotonic()
    result_of(hospitals.start("plan", "study.toml"))
    patience = 2 + 4 * (time.monotonic() - began)  # however busy the machine is
    files = ("--report", "report.html", "--out", "sums.sva")
    curator, address = hospitals.curator(*files, "--wait", f"{patience:.1f}")
    dies = killed_at(hospitals, "HttpOffice", 2, *join_arguments("C", address))
    survivors = [hospitals.join(party, address) for party in "AB"]
    assert dies.wait(60) == -signal.SIGKILL
    said = result_of(curator, code=1)
    assert "masked vector of 'C' is missing" in said
    assert "Too late: C" in said
    assert not (hospitals.path / "report.html").exists()
    assert not list(hospitals.path.glob("*.sva"))
    for process in survivors:
        said = result_of(process, code=1)
        assert "without a result" in said
        assert "charged all the same" in said
    spent = {data: account["spent"] for data, account in hospitals.budgets().items()}
    assert spent == {"A": 0.5, "B": 1.0, "C": 2.0}


def test_party_and_curator_go_on_after_they_were_killed(hospitals: Folder) -> None:
    port = free_port()
    options = ("study.toml", "--port", str(port), "--report", "report.html")
    first = killed_at(hospitals, "LocalOffice", 2, "curator", *options)
    address = f"127.0.0.1:{port}"
    dies = killed_at(hospitals, "HttpOffice", 2, *join_arguments("C", address))
    others = [hospitals.join(party, address) for party in "AB"]
    assert first.wait(60) == -signal.SIGKILL
    curator, _ = hospitals.curator("--report", "report.html", port=port)
    assert dies.wait(60) == -signal.SIGKILL
    assert hospitals.budgets()["C"]["spent"] == 2.0
    (hospitals.path / "C2.csv").write_text((hospitals.path / "C.csv").read_text() + "p,no,20,\n")
    changed = hospitals.start(*join_arguments("C", address), "--data", "C2.csv")
    assert "began with other data" in result_of(changed, code=1)
    parties = [*others, hospitals.join("C", address)]
    about = result_of(curator)
    assert_released(about, hospitals, SUMMED)
    for process in parties:
        assert result_of(process)["session"] == about["session"]
    for account in hospitals.budgets().values():
        assert len(account["charges"]) == 1  # the run was continued, not repeated
        assert account["charges"][0]["receipt"]


def test_a_result_that_could_not_be_printed_is_printed_later(hospitals: Folder) -> None:
    with Path("/dev/full").open("w") as full:
        curator, address = hospitals.curator(stdout=full)
    parties = [hospitals.join(party, address) for party in PARTIES]
    session = {result_of(process)["session"] for process in parties}
    assert curator.wait(90) == 1
    assert curator.stderr is not None
    assert "No space left on device" in curator.stderr.read()
    again, _ = hospitals.curator()
    about = result_of(again)
    assert {about["session"]} == session
    assert about["tables"][0]["people"] == SUMMED
    assert all(len(account["charges"]) == 1 for account in hospitals.budgets().values())


def test_another_study_ends_the_run_and_both_digests_are_named(hospitals: Folder) -> None:
    text = (hospitals.path / "study.toml").read_text()
    (hospitals.path / "other.toml").write_text(text.replace("three hospitals", "3 hospitals"))
    curator, address = hospitals.curator()
    to = ("--party", "B", "--curator", address, "--data", "B.csv")
    said = result_of(hospitals.start("join", "other.toml", *to), code=1)
    ended = result_of(curator, code=1)
    mine, theirs = (
        result_of(hospitals.start("plan", name))["digest"] for name in ("other.toml", "study.toml")
    )
    for line in (said, ended):
        assert mine[:12] in line
        assert theirs[:12] in line
    assert hospitals.budgets() == {}


def test_columns_with_a_dealer(tmp_path: Path) -> None:
    folder = Folder(tmp_path, COLUMNS)
    folder.prepare()
    try:
        curator, address = folder.curator("--report", "report.html", "--out", "sums.sva")
        dealer = folder.start("dealer", "study.toml", "--curator", address)
        parties = [folder.join(party, address) for party in PARTIES]
        about = result_of(curator)
        assert_released(about, folder, PEOPLE)
        assert result_of(dealer)["session"] == about["session"]
        for process in parties:
            assert result_of(process)["receipt"]
        assert {account["left"] for account in folder.budgets().values()} == {0.0}
    finally:
        folder.stop()


def test_the_sums_are_opened_without_a_party_that_dropped_out(tmp_path: Path) -> None:
    study = ROWS.replace("collusion = 1", "collusion = 1\ndropouts = 1")
    folder = Folder(tmp_path, study.replace("C = 2.0", "C = 2.0\nD = 2.0"), (*PARTIES, "D"))
    folder.prepare()
    try:
        curator, address = folder.curator("--report", "report.html", "--wait", "8")
        parties = [folder.join(party, address) for party in PARTIES]
        # D has shared its keys and dies before it sends its masked vector.
        lost = killed_at(folder, "HttpOffice", 3, *join_arguments("D", address))
        about = result_of(curator)
        assert about["dropped"] == ["D"]
        assert any(late.startswith("D (round ") for late in about["too_late"])
        assert_released(about, folder, SUMMED)
        for process in parties:
            assert result_of(process)["receipt"]
        lost.wait()
        assert lost.returncode == -signal.SIGKILL
    finally:
        folder.stop()


@pytest.mark.parametrize(
    ("study", "people"),
    [
        (COLUMNS.replace('"dealer"', '"mpyc"'), PEOPLE),
        (ROWS.replace('split = "rows"', 'split = "rows"\nnoise = "oblivious"'), SUMMED),
    ],
    ids=["columns", "oblivious noise over rows"],
)
def test_runs_with_mpyc(tmp_path: Path, study: str, people: int) -> None:
    pytest.importorskip("mpyc", reason="the engine mpyc is not installed")
    addresses = [f'{name} = "127.0.0.1:{free_port()}"' for name in (*PARTIES, "curator")]
    table = "\n".join(["[addresses]", *addresses, "", "[budgets]"])
    study = study.replace("collusion = 1\n", "").replace("[budgets]", table)
    folder = Folder(tmp_path, study)
    folder.prepare()
    try:
        curator, address = folder.curator("--report", "report.html")
        for party in PARTIES:
            folder.join(party, address)
        assert_released(result_of(curator), folder, people)
    finally:
        folder.stop()


# --- helpers -------------------------------------------------------------------------------------


def join_arguments(party: str, address: str) -> tuple[str, ...]:
    to = ("--party", party, "--data", f"{party}.csv", "--curator", address)
    return ("join", "study.toml", *to, "--timeout", "60")


def killed_at(folder: Folder, office: str, number: int, *arguments: str) -> subprocess.Popen[str]:
    """A command that dies (kill -9) when it is about to say that it is done with a round."""
    module = {"HttpOffice": "client", "LocalOffice": "office"}[office]
    code = f"""
import os, signal
from sottovoce.transport import {module}
from sottovoce.cli import main
real = {module}.{office}.done
async def done(self, number):
    if number == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
    await real(self, number)
{module}.{office}.done = done
main()
"""
    environment = {**os.environ, "SOTTOVOCE_BUDGETS": str(folder.path / "budgets")}
    process = subprocess.Popen(
        [sys.executable, "-c", code, "parties", *arguments],
        cwd=folder.path,
        env=environment,
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    folder.started.append(process)
    return process


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
