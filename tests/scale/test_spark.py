"""Counting on Spark with executors in processes of their own, through Spark Connect and without.

`make peers` runs these: pyspark is too large for the environment of all other tests.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import errors, testing
from sottovoce.collect import counting
from sottovoce.errors import DigestError, EstimateError, ParameterError, SeededError
from sottovoce.scale import clusters

from .datasets import kinds, reports_of, write

# Spark's own client does not close the sockets through which results arrive.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("kind", kinds())
def test_the_same_bytes_through_connect(every_kind, connect, kind) -> None:
    collection, folder, whole = every_kind[kind]
    total = sv.scale.aggregate(collection, folder, engine=connect)
    assert total.to_bytes() == whole.to_bytes()


def executors() -> list[int]:
    """The processes below this one that run Spark's tasks."""
    parents, names = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            )
            names[int(folder.name)] = (folder / "cmdline").read_bytes()
        except OSError:
            continue  # ended meanwhile

    def ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and ours(parents[pid]))

    return [pid for pid in names if b"CoarseGrainedExecutorBackend" in names[pid] and ours(pid)]


def test_an_executor_that_is_killed_in_the_middle_changes_nothing(
    tmp_path, monkeypatch, classic
) -> None:
    monkeypatch.setattr(counting, "_WHOLE", 0)
    monkeypatch.setattr(counting, "part_rows", lambda collection: 2000)
    collection = sv.OLH(20_000, epsilon=1.0)
    reports = collection.randomise(np.arange(48_000) % 20_000)
    write(tmp_path / "a.parquet", reports, pieces=24)
    killed: list[int] = []

    @contextmanager
    def kill(label: str, total: int):
        def done(size: int) -> None:
            if not killed:
                killed.append(executors()[0])
                os.kill(killed[0], signal.SIGKILL)
                assert size < total / 2

        yield done

    total = sv.scale.aggregate(collection, tmp_path, engine=classic, progress=kill)
    assert killed
    assert total.to_bytes() == collection.aggregate(reports).to_bytes()


@pytest.mark.skipif(not shutil.which("java"), reason="there is no Java, which Spark needs")
def test_a_master_that_spark_does_not_know_is_an_error_of_ours() -> None:
    pytest.importorskip("pyspark")
    program = (
        "from sottovoce import scale\n"
        "try:\n"
        "    scale.connected('spark', 'local[x]').__enter__()\n"
        "except scale.clusters.TransportError as error:\n"
        "    print(error)\n"
    )
    # Without what the session of the other tests has set.
    clean = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=clean)
    assert run.stdout.startswith("Spark does not start (Could not parse Master URL: 'local[x]');")


@pytest.mark.parametrize("session", ["connect", "classic"])
def test_a_session_of_the_process_is_neither_taken_for_another_nor_stopped(
    request, session
) -> None:
    own = request.getfixturevalue(session)
    refused = pytest.raises(ParameterError, match="has a Spark session already; pass it")
    with refused, clusters.connected("spark", "local[7]"):
        pass
    assert own.range(3).count() == 3


@pytest.mark.parametrize("session", ["connect", "classic"])
def test_errors_of_executors_are_ours(grr, request, session) -> None:
    collection, folder, whole = grr
    engine = request.getfixturevalue(session)
    write(folder / "other.svr", reports_of(sv.GRR(5, epsilon=2.0)))
    with pytest.raises(DigestError, match=r"1 of 4 files cannot be read.*other\.svr"):
        sv.scale.aggregate(collection, folder, engine=engine)
    with pytest.warns(errors.SkippedWarning, match=r"other\.svr"):
        assert sv.scale.aggregate(collection, folder, engine=engine, skip_bad=True) == whole
    with testing.seeded(1) as source:
        write(folder / "other.svr", collection.randomise([1] * 50, source=source))
    with pytest.raises(SeededError):
        sv.scale.aggregate(collection, folder, engine=engine)


@pytest.mark.parametrize("session", ["connect", "classic"])
def test_joint_tables_are_the_same_as_here(request, session) -> None:
    records = sv.Records([sv.Attribute(name, 2) for name in "abc"], epsilon_average=4.0)
    answers = {name: np.arange(600) % (k + 2) % 2 for k, name in enumerate("abc")}
    counts = records.aggregate(records.randomise(answers))
    pairs, engine = ["ab", "bc"], request.getfixturevalue(session)
    here = sv.scale.joint_tables(records, counts, pairs, method="em-full")
    there = sv.scale.joint_tables(records, counts, pairs, engine=engine, method="em-full")
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(one.std_error, other.std_error, rtol=1e-6, atol=1e-9)
        assert (one.labels, one.assuming, one.n) == (other.labels, other.assuming, other.n)
    faint = replace(records, public=True, epsilon_average=0.05)
    few = faint.aggregate(faint.randomise({name: [0, 1] * 30 for name in "abc"}))
    with pytest.raises(EstimateError, match="almost pure noise"):
        sv.scale.joint_tables(faint, few, pairs, engine=engine)


def test_progress_through_connect_advances_task_by_task(tmp_path, monkeypatch, connect) -> None:
    monkeypatch.setattr(counting, "_WHOLE", 0)
    monkeypatch.setattr(counting, "part_rows", lambda collection: 1000)
    monkeypatch.setattr("sottovoce.scale.dataset._PARTS", 1)
    collection = sv.OLH(20_000, epsilon=1.0)
    reports = collection.randomise(np.arange(6000) % 20_000)
    write(tmp_path / "a.parquet", reports, pieces=6)
    times: list[float] = []

    @contextmanager
    def record(label: str, total: int):
        yield lambda size: times.append(time.monotonic())

    def slowly(job, parts):
        time.sleep(2)
        return [counting.count_part(job, part) for part in parts]

    monkeypatch.setattr("sottovoce.scale.dataset.count_task", slowly)
    assert sv.scale.aggregate(collection, tmp_path, engine=connect, progress=record).reports == 6000
    assert len(times) == 6
    assert times[-1] - times[0] > 3  # two executors do three rounds of two seconds
