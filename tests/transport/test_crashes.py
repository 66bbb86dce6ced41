"""Processes that are killed at any moment go on where they were, and nothing is drawn twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from .crashing import LIMIT

ROOT = Path(__file__).parents[2]
# A party does 56 things that can be interrupted, the curator with its relay more than 105, in this
# order but for the requests that have to be repeated.
_PICK = random.Random(14)
RUNS: dict[str, dict[str, list[int]]] = {
    "nobody": {},
    **{f"B at {k}": {"B": [k]} for k in sorted(_PICK.sample(range(1, 52), 4))},
    **{f"curator at {k}": {"curator": [k]} for k in sorted(_PICK.sample(range(1, 105), 4))},
    **{f"{name} after sending": {name: [-1]} for name in "AB"},
    "everyone, some twice": {"A": [20], "B": [31, 9], "C": [44], "curator": [61, 40]},
}
DEADLINE = len(RUNS) * LIMIT / 2


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which all runs have ended."""
    folder = tmp_path_factory.mktemp("crashes")
    command = [sys.executable, "-m", "tests.transport.crashing", str(folder), json.dumps(RUNS)]
    stage = subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    try:
        _, errors = stage.communicate(timeout=DEADLINE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(stage.pid, signal.SIGKILL)  # whoever is left of it
        stage.wait()
    assert (stage.returncode, errors) == (0, "")
    return folder


def ends(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


@pytest.mark.parametrize("run", RUNS)
def test_the_result_is_that_of_a_run_without_a_crash(run: str, ended: Path) -> None:
    parties = ends(ended / run)
    assert sorted(parties) == ["A", "B", "C", "curator"]
    for name, end in parties.items():
        assert "error" not in end, (name, end)
        assert (end["total"], end["refused"], end["missing"], end["times"]) == (111, [], [], 1)
        assert end["bytes"] == ends(ended / "nobody")[name]["bytes"]
    deaths = ended / run / "deaths"
    killed = sorted(deaths.read_text().split()) if deaths.exists() else []
    assert killed == sorted(name for name, strikes in RUNS[run].items() for _ in strikes)


def test_what_is_sent_again_is_sent_byte_for_byte(ended: Path) -> None:
    repeated = set()
    for run in RUNS:
        contents = defaultdict(list)
        for line in (ended / run / "parcels").read_text().splitlines():
            name, digest = line.rsplit(": ", 1)
            contents[name].append(digest)
        assert len(contents) == 9
        assert all(len(set(digests)) == 1 for digests in contents.values())
        if any(len(digests) > 1 for digests in contents.values()):
            repeated.add(run)
    assert {"A after sending", "B after sending"} <= repeated


def test_journals_are_private_and_keep_nothing_after_the_end(ended: Path) -> None:
    journals = list(ended.glob("*/*.journal*"))
    assert len(journals) == 5 * len(RUNS)
    for path in journals:
        assert path.stat().st_mode & 0o077 == 0
        assert path.stat().st_size < 300
