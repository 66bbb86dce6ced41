"""Runs between separate processes: the result of one process, and no number after a death."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sottovoce.testing import seeded

from .stage import LIMIT, PEOPLE, PROTOCOLS, SEED

ROOT = Path(__file__).parents[2]


RUNS: dict[str, dict[str, int]] = {
    "tss": {},
    "committee": {},
    "dpds": {},
    "letter": {},
    "tss without a host": {"host-2": 3},  # it has the shares, and sends no sums
    "binomial without a helper": {"helper-1": 2},
    "dpds without a host": {"host-0": 0},
}
Ends = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ends]:
    """How every party of every run ended; those that were killed are not there."""
    folder = tmp_path_factory.mktemp("runs")
    command = [sys.executable, "-m", "tests.transport.stage", str(folder), json.dumps(RUNS)]
    stage = subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    try:
        _, errors = stage.communicate(timeout=len(RUNS) * LIMIT)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(stage.pid, signal.SIGKILL)  # whoever is left of it
        stage.wait()
    assert stage.returncode == 0, errors
    return {
        run: {path.stem: json.loads(path.read_text()) for path in (folder / run).glob("*.json")}
        for run in RUNS
    }


def in_one_process(name: str) -> list[int]:
    protocol = PROTOCOLS[name]
    with seeded(SEED) as source:
        counts = protocol.simulate(PEOPLE, source=source).aggregate
        values: list[int] = counts.tables[protocol.counts.table].tolist()
    return values


@pytest.mark.parametrize(
    ("name", "last"),
    [("tss", "s2"), ("committee", "s2"), ("dpds", "aggregator"), ("letter", "aggregator")],
)
def test_separate_processes_give_the_result_of_one(
    name: str, last: str, ended: dict[str, Ends]
) -> None:
    ends = ended[name]
    assert len(ends) == {"tss": 6, "committee": 6, "dpds": 8, "letter": 5}[name]
    assert not any("error" in end for end in ends.values()), ends
    assert all(end["refused"] == [] == end["missing"] for end in ends.values())
    assert ends[last]["counts"] == in_one_process(name)
    assert ends[last]["people"] == PEOPLE.size


def test_a_host_of_elected_users_that_is_killed_leaves_no_number(ended: dict[str, Ends]) -> None:
    ends = ended["tss without a host"]
    assert "host-2" not in ends
    assert "ShareError: no result, since 5 of 5 items have no total" in ends["s2"]["error"]
    assert "counts" not in ends["s2"]
    assert ends["s1"]["missing"] == ["host-2 (round 4)"]


def test_a_helper_that_is_killed_leaves_no_number(ended: dict[str, Ends]) -> None:
    ends = ended["binomial without a helper"]
    assert "helper-1" not in ends
    assert "ShareError: no result, since 5 of 5 items" in ends["aggregator"]["error"]
    assert "no sum of helper 1" in ends["aggregator"]["error"]


def test_a_host_that_is_killed_before_it_sends_is_left_out_and_said(ended: dict[str, Ends]) -> None:
    ends = ended["dpds without a host"]
    assert ends["aggregator"]["people"] == PEOPLE.size - 50
    assert ends["aggregator"]["missing"] == ["host-0 (round 1)"]
