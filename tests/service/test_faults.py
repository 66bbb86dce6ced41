"""Crashes, full and read-only disks, a lost database, replays, nonsense, and nothing kept of it."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sottovoce.service.stores import Store
from tests.service.clusters import Cluster
from tests.service.faults import (
    STUDY,
    Sent,
    Server,
    ask,
    check,
    fuzz,
    kill_often,
    load,
    server_process,
)
from tests.service.studies import body

pytestmark = pytest.mark.slow


def connection_to(server: Server) -> closing[http.client.HTTPConnection]:
    return closing(http.client.HTTPConnection(*server.where, timeout=30))


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not recover"
        time.sleep(0.1)


def test_killed_under_load_nothing_acknowledged_is_lost(address: str) -> None:
    sent = kill_often(address, 3)
    assert sent.acknowledged


def test_a_store_that_acknowledges_too_early_would_be_noticed(tmp_path: Path) -> None:
    """The twin: something is acknowledged that is not in the store."""
    sent = kill_often(tmp_path, 1)
    sent.note(os.urandom(16), 1, 200)
    with pytest.raises(AssertionError, match="lost"):
        check(tmp_path, sent)


def test_replays_count_once(address: str) -> None:
    data = body(STUDY, 5)
    sent = Sent()

    def once(_: int) -> int:
        with connection_to(server) as one:
            return ask(one, data)

    with server_process(address) as server:
        with ThreadPoolExecutor(32) as pool:
            statuses = list(pool.map(once, range(132)))
        sent.note(data, 5, 200)
    with server_process(address) as server:
        statuses.append(once(0))
    assert set(statuses) == {200}
    assert check(address, sent) == (1, 5)


def fill(server: Server, sent: Sent) -> None:
    """Send until the disk is full."""
    with connection_to(server) as one:
        for _ in range(2000):
            data = body(STUDY, 2000)
            status = ask(one, data)
            sent.note(data, 2000, status)
            if status != 200:
                assert status == 503
                return
    raise AssertionError("the disk was never full")


def recover(server: Server, sent: Sent) -> None:
    with connection_to(server) as one:

        def works() -> bool:
            data = body(STUDY, 1)
            status = ask(one, data)
            sent.note(data, 1, status)
            return status == 200

        wait_until(works)


def test_a_full_disk_acknowledges_nothing_and_recovers(tmp_path: Path) -> None:
    sent = Sent()
    with server_process(tmp_path, file_size=400_000) as server:
        fill(server, sent)
        with connection_to(server) as one:
            one.request("GET", "/health")
            answer = one.getresponse()
            assert answer.status == 503
            assert answer.getheader("retry-after")
        os.kill(server.process.pid, signal.SIGUSR1)
        recover(server, sent)
    check(tmp_path, sent)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB that can be made read-only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_small_and_a_read_only_disk(small_disk: Path, tmp_path: Path) -> None:
    sent = Sent()
    where = small_disk / "collection"
    filler = small_disk / "filler"
    filler.write_bytes(bytes(3_000_000))
    with server_process(where) as server:
        recover(server, sent)
        fill(server, sent)
        filler.unlink()
        recover(server, sent)
    check(where, sent)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(EOFError), server_process(where, log=tmp_path / "log"):
        pass
    assert "cannot use" in (tmp_path / "log").read_text()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with server_process(where) as server:
        recover(server, sent)
    check(where, sent)


def test_a_disk_that_turns_read_only(
    tmp_path: Path, opened: Callable[..., Store], address: str
) -> None:
    """As after an error of the device: writes fail, reads work."""
    from sottovoce.service.collector import STORED, Collector, Entry
    from sottovoce.service.stores import StoreError
    from tests.service.studies import submission

    store = opened(STUDY.digest)
    collector = Collector(STUDY, store)
    entry = Entry(submission(STUDY, 3))
    sqlite = not address.startswith("postgresql")
    store.execute("PRAGMA query_only = 1" if sqlite else "SET default_transaction_read_only = on")
    with pytest.raises(StoreError):
        collector.commit([entry])
    store.execute("PRAGMA query_only = 0" if sqlite else "SET default_transaction_read_only = off")
    assert collector.commit([entry]) == [STORED]
    assert collector.people("commute") == 3


def test_postgresql_killed_in_mid_commit(cluster: Cluster) -> None:
    sent = Sent()
    with server_process(cluster.address) as server:
        for _ in range(2):
            with load(server, sent):
                time.sleep(0.4)
                cluster.kill()
                time.sleep(0.2)
            cluster.start()
            recover(server, sent)
    assert sent.statuses[503]
    assert not sent.statuses.get(500)
    check(cluster.address, sent)
    import psycopg

    with psycopg.connect(cluster.address, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA sottovoce_{STUDY.digest.hex()[:24]} CASCADE")


def test_nonsense_gets_no_5xx_and_no_memory(tmp_path: Path) -> None:
    with server_process(tmp_path) as server:
        fuzz(server, 300, 0)
        before = server.memory()
        statuses = fuzz(server, 3000, 1)
        assert server.memory() - before < 50e6
        assert statuses[200]
        assert statuses[422]
        assert statuses.get(0, 0) < 300


CANARY_AGENT, CANARY_CODE = "canary-user-agent-5150", "CANARY-CODE-5151"
CANARY_PATH = "/canary-path-5152?answer=canary-answer-5153"


def test_nothing_about_a_sender_is_stored_logged_or_measured(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with server_process(tmp_path / "store", log=log) as server:
        identifier = b"canary-id-51554x"
        headers = {"user-agent": CANARY_AGENT, "sottovoce-code": CANARY_CODE,
                   "x-forwarded-for": "203.0.113.51", "referer": "canary-referer"}  # fmt: skip
        with connection_to(server) as one:
            assert ask(one, body(STUDY, 2, identifier=identifier), headers) == 200
            assert ask(one, b"canary-body" * 3, headers) == 422
            for path in (CANARY_PATH, "/metrics"):
                one.request("GET", path, headers=headers)
                one.getresponse().read()
            one.request("GET", "/metrics", headers={"authorization": f"Bearer {server.token}"})
            metrics = one.getresponse().read()
        with socket.create_connection(server.where, timeout=20) as raw:
            raw.sendall(b"canary \x00 no HTTP at all\r\n\r\n")
            assert b" 400 " in raw.recv(65536)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    kept += metrics
    assert log.read_bytes() == b""
    for canary in (b"anary", b"ANARY", b"127.0.0.1", b"203.0.113", server.token.encode()):
        assert canary not in kept
    assert b"sottovoce_healthy" in kept
