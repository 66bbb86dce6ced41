"""Counting on a Dask cluster of worker processes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sottovoce as sv
from sottovoce import errors, testing
from sottovoce.cli import main
from sottovoce.collect import counting
from sottovoce.errors import MissingExtraError, ParameterError, SeededError, TransportError
from sottovoce.records.joint.evidence import FewTogetherWarning
from sottovoce.scale import clusters
from sottovoce.scale.dask import on_dask

from .datasets import kinds, reports_of, write

pytest.importorskip("distributed", reason="the extra dask is not installed")

STUDY = """\
format = 1
title = "How we get to work"

[[question]]
name = "commute"
values = 3
mechanism = "grr"
epsilon = 1.0
"""


@pytest.mark.parametrize("kind", kinds())
def test_the_same_bytes(every_kind, small_parts, client, kind) -> None:
    collection, folder, whole = every_kind[kind]
    assert sv.scale.aggregate(collection, folder, engine=client).to_bytes() == whole.to_bytes()


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    tmp_path, monkeypatch, client
) -> None:
    monkeypatch.setattr(counting, "_WHOLE", 0)
    monkeypatch.setattr(counting, "part_rows", lambda collection: 2000)
    collection = sv.OLH(20_000, epsilon=1.0)  # takes some time to count
    reports = collection.randomise(np.arange(40_000) % 20_000)
    write(tmp_path / "a.svr", reports, pieces=20)
    pids = client.run(os.getpid)
    killed: list[int] = []

    @contextmanager
    def kill(label: str, total: int):
        def done(size: int) -> None:
            if not killed:  # some parts are counted, most are not
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)
                assert size < total / 2

        yield done

    total = sv.scale.aggregate(collection, tmp_path, engine=client, progress=kill)
    assert killed
    client.wait_for_workers(2, timeout=60)
    assert killed[0] not in client.run(os.getpid).values()
    assert total.to_bytes() == collection.aggregate(reports).to_bytes()


def test_a_worker_that_dies_while_what_all_need_is_copied_changes_nothing(
    grr, client, monkeypatch
) -> None:
    collection, folder, whole = grr

    def interrupted(futures) -> None:
        raise AssertionError  # as Dask's scheduler does then

    monkeypatch.setattr(client, "replicate", interrupted)
    assert sv.scale.aggregate(collection, folder, engine=client) == whole


def test_tasks_with_large_results_are_given_out_as_others_end(
    tmp_path, small_parts, monkeypatch, client
) -> None:
    collection = sv.GRR(5, epsilon=1.0)
    reports = reports_of(collection, 3000)
    write(tmp_path / "a.svr", reports, pieces=15)
    monkeypatch.setattr("sottovoce.scale.dataset._TABLES", 0)  # so that a task has one part
    monkeypatch.setattr("sottovoce.scale.dask._MOST_BYTES", 0)
    given: list[int] = []
    gave = client.map

    def watched(task, first, items, **options):
        given.append(len(items))
        return gave(task, first, items, **options)

    monkeypatch.setattr(client, "map", watched)
    total = sv.scale.aggregate(collection, tmp_path, engine=client)
    assert total == collection.aggregate(reports)
    assert given == [4]  # for two workers; the other eleven follow one by one


def test_errors_of_workers_are_ours(grr, client) -> None:
    collection, folder, whole = grr
    (folder / "cut.svr").write_bytes((folder / "date=2025-06-01" / "a.svr").read_bytes()[:-5])
    with pytest.warns(errors.SkippedWarning, match=r"cut\.svr.*too early"):
        assert sv.scale.aggregate(collection, folder, engine=client, skip_bad=True) == whole
    (folder / "cut.svr").unlink()
    with testing.seeded(1) as source:
        write(folder / "seeded.svr", collection.randomise([1] * 50, source=source))
    with pytest.raises(SeededError):
        sv.scale.aggregate(collection, folder, engine=client)


def test_candidates_are_counted_on_workers_as_here(tmp_path, small_parts, client) -> None:
    collection = sv.OLH(1 << 31, epsilon=1.0)
    reports = collection.randomise(np.arange(500) % 7)
    write(tmp_path / "a.parquet", reports)
    (tmp_path / "values.txt").write_text("6\n0\n12345678\n")
    options = {"candidates": tmp_path / "values.txt"}
    here = sv.scale.count_dataset(collection, tmp_path, **options).aggregate
    there = sv.scale.count_dataset(collection, tmp_path, engine=client, **options).aggregate
    expected = collection.aggregate(reports, values=[6, 0, 12345678])
    assert here.to_bytes() == there.to_bytes() == expected.to_bytes()
    direct = sv.scale.aggregate(collection, tmp_path, engine=client, values=[6, 0, 12345678])
    assert direct.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize(("version", "said"), [("0.0", "Sottovoce 0.0"), ("", "no Sottovoce")])
def test_a_worker_without_this_version_is_refused_before_it_hangs(
    grr, client, monkeypatch, version, said
) -> None:
    collection, folder, _ = grr
    run = client.run

    def elsewhere(function, **options):
        return dict.fromkeys(run(function, **options), version)

    monkeypatch.setattr(client, "run", elsewhere)
    with pytest.raises(TransportError, match=rf"the Dask worker tcp://.* has {said}, and"):
        sv.scale.aggregate(collection, folder, engine=client)


def test_whatever_a_worker_raises_is_one_of_our_errors(grr, client, monkeypatch) -> None:
    def fail(job, parts):
        raise KeyError("what")

    collection, folder, _ = grr
    monkeypatch.setattr("sottovoce.scale.dataset.count_task", fail)
    with pytest.raises(TransportError, match=r"a Dask worker failed \(KeyError: 'what'\)"):
        sv.scale.aggregate(collection, folder, engine=client)


def test_a_closed_client_is_an_error_of_ours(grr, client) -> None:
    collection, folder, _ = grr
    closed = type(client)(client.scheduler.address)
    closed.close()
    with pytest.raises(TransportError):
        sv.scale.aggregate(collection, folder, engine=closed)


def test_many_joint_tables_are_the_same_as_one_by_one(client) -> None:
    records = sv.Records([sv.Attribute(name, 2) for name in "abc"], epsilon_average=4.0)
    answers = {name: np.arange(600) % (k + 2) % 2 for k, name in enumerate("abc")}
    counts = records.aggregate(records.randomise(answers))
    pairs = ["ab", "bc"]
    here = sv.scale.joint_tables(records, counts, pairs, method="em-full")
    there = sv.scale.joint_tables(records, counts, pairs, engine=client, method="em-full")
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(one.std_error, other.std_error, rtol=1e-6, atol=1e-9)
    known = replace(records, public=True)  # then chance does not decide about the warning
    few = known.aggregate(known.randomise({name: [0, 1] * 30 for name in "abc"}))
    with pytest.warns(FewTogetherWarning, match="hardly more than a guess"):
        sv.scale.joint_tables(known, few, pairs, engine=client, method="em-full")
    with pytest.raises(ParameterError, match="no method"):
        sv.scale.joint_tables(records, counts, pairs, engine=client, method="best")
    with pytest.raises(ParameterError, match="or None to estimate here"):
        sv.scale.joint_tables(records, counts, pairs, engine="spark")


def test_workers_that_do_not_start_say_what_a_script_needs(monkeypatch) -> None:
    def fail(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", fail)
    refused = pytest.raises(TransportError, match='below `if __name__ == "__main__":`')
    with refused, clusters.connected("dask"):
        pass


SCRIPT = """\
import os, time
from sottovoce import scale

if __name__ == "__main__":
    try:
        with scale.connected("dask") as client:
            print(*client.run(os.getpid).values(), flush=True)
            client.submit(time.sleep, 60).result()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_ends_workers_without_their_traces(tmp_path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with socket.socket() as taken:
        with suppress(OSError):  # somebody else has it
            taken.bind(("127.0.0.1", 8787))  # of Dask's dashboard
            taken.listen()
        process = subprocess.Popen(
            [sys.executable, tmp_path / "script.py"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        pids = list(map(int, process.stdout.readline().split()))
        assert pids
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        said, warned = process.communicate(timeout=120)
    assert (said, warned, process.returncode) == ("interrupted\n", "", 0)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_clusters_that_are_not_there(client, monkeypatch) -> None:
    monkeypatch.setattr(clusters, "PATIENCE", 2.0)
    for address in (
        *("sc://127.0.0.1:1/;token=hidden", "sc://127.0.0.1:1;use_ssl=true;token=hidden"),
        *("sc://127.0.0.1:1/?token=hidden", "sc://name:hidden@127.0.0.1:1"),
    ):
        with (
            pytest.raises(TransportError, match=r"no cluster answers at 'sc://127\.0\.0\.1:1'"),
            clusters.connected("spark", address),
        ):
            pass
    said = clusters._reason(ValueError("Parameter 'token=ab==' should"), "sc://host/;token=ab==")
    assert said == "Parameter '' should"
    for engine in clusters.CLUSTERS:
        for address in (
            "tcp://127.0.0.1:1",
            "127.0.0.1:1",
            "sc://127.0.0.1:1",
            "tcp://x.invalid:1",
        ):
            with (
                pytest.raises(TransportError, match="no cluster answers at"),
                clusters.connected(engine, address),
            ):
                pass
    with pytest.raises(ParameterError, match="'dask', 'spark'"), clusters.connected("ray"):
        pass

    class Empty:
        asynchronous = False

        def wait_for_workers(self, n: int, timeout: float) -> None:
            raise TimeoutError

        def cancel(self, futures: object) -> None:
            pass

    with pytest.raises(TransportError, match="no workers"):
        list(on_dask(Empty(), print, sv.GRR(2, epsilon=1.0), [None]))
    Empty.__module__, Empty.__name__ = "distributed", "Client"
    records = sv.Records([sv.Attribute(name, 2) for name in "ab"], epsilon_average=4.0)
    counts = records.aggregate(records.randomise({"a": [0, 1], "b": [1, 0]}))
    with pytest.raises(TransportError, match="no workers"):
        sv.scale.joint_tables(records, counts, ["ab"], engine=Empty())


def test_an_engine_that_is_none_says_how_to_get_one(grr, client) -> None:
    collection, folder, _ = grr
    for engine, hint in (
        ("dask", "scale.connected('dask', address)"),
        ("cuda", "with scale.counting('cuda')"),
        (client.cluster, "or None for the cores of this machine"),
    ):
        with pytest.raises(ParameterError, match=re.escape(hint)):
            sv.scale.aggregate(collection, folder, engine=engine)


def test_a_port_of_something_else_is_no_scheduler(monkeypatch) -> None:
    monkeypatch.setattr(clusters, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # Dask's client would wait for ever
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(TransportError, match=r"no cluster answers at .* \(timed out\)"),
            clusters.connected("dask", address),
        ):
            pass


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("spark", "pyspark")])
def test_a_missing_extra_says_what_to_install(monkeypatch, engine, package) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    said = rf"pip install 'sottovoce\[{engine}\]'"
    with pytest.raises(MissingExtraError, match=said), clusters.connected(engine):
        pass


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path, monkeypatch, client):
    """Run the command on the cluster."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    collection = sv.Study.load("study.toml").mechanism()
    for k in range(3):
        write(Path(f"reports/{k}.parquet"), reports_of(collection, seed=k))
    address = client.scheduler.address

    def call(*more: str):
        words = ["aggregate", "reports/*.parquet", "--study", "study.toml", "--engine", "dask"]
        return CliRunner().invoke(main, [*words, "--cluster", address, *more])

    return call


def test_the_command_counts_on_a_cluster(command, tmp_path) -> None:
    result = command("--out", "counts.sva")
    assert result.exit_code == 0, result.output
    assert "1,800 reports counted in counts.sva" in result.stdout
    words = ["aggregate", "reports", "--study", "study.toml", "--out", "here.sva"]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert Path("here.sva").read_bytes() == Path("counts.sva").read_bytes()


def test_the_command_looks_files_up_once(command, monkeypatch) -> None:
    # Of a store, each name that is looked up is a request.
    monkeypatch.setattr("sottovoce.scale.dataset.files_of", None)
    assert command("--out", "counts.sva").exit_code == 0


def test_the_command_names_what_cannot_be_read(command) -> None:
    Path("reports/bad.parquet").write_bytes(b"PAR1")
    write(Path("reports/other.parquet"), reports_of(sv.GRR(5, epsilon=2.0)))
    result = command("--out", "counts.sva")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: 2 of 5 files cannot be read, and nothing was counted")
    assert "bad.parquet" in result.stderr
    assert "other.parquet" in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not Path("counts.sva").exists()
    result = command("--out", "counts.sva", "--skip-bad")
    assert "1,800 reports counted" in result.stdout
    assert result.stdout.count("skipped") == 2
    result = command("--out", "counts.sva", "--skip-bad", "--force", "--json")
    about = json.loads(result.stdout)
    assert (about["files"], about["reports"], len(about["skipped"])) == (3, 1800, 2)


def test_a_cluster_needs_an_engine_of_several_machines(command) -> None:
    result = command("--out", "counts.sva", "--engine", "cpu")
    assert result.exit_code == 1
    assert "--cluster is for --engine dask or spark" in result.stderr


@pytest.mark.parametrize("twice", [False, True])
def test_ctrl_c_ends_what_runs_on_spark_though_its_handler_fails(twice: bool) -> None:
    calls = []

    def cancel_jobs(*_: object) -> None:
        calls.append("cancel")
        if twice and len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        raise ConnectionError("Java is busy")

    before = signal.signal(signal.SIGINT, cancel_jobs)
    try:
        for _ in range(2):  # the jobs of a later count are cancelled, too
            with pytest.raises(KeyboardInterrupt), clusters._ctrl_c_ends():
                signal.raise_signal(signal.SIGINT)
        assert calls == ["cancel"] * 2
        assert signal.getsignal(signal.SIGINT) is cancel_jobs
    finally:
        signal.signal(signal.SIGINT, before)
