"""Crashes, full disks and nonsense, in small for the tests and in full as a command.

``python -m tests.service.faults`` kills a server under load a hundred times, replays, and sends a
million fuzzed requests; it prints what it found and fails on the first wrong answer.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import multiprocessing
import os
import random
import resource
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import sottovoce as sv
from sottovoce.service.ingest import Limits
from sottovoce.service.server import Settings, serving
from sottovoce.service.stores import open_store
from sottovoce.service.submission import key_of, most_bytes
from tests.service.studies import body, commute

STUDY = commute()
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["sottovoce.service.server", "sottovoce.mechanisms.grr"])


# --- a server that can be killed ------------------------------------------------------------------


def _serve(where: str, tell: Connection, file_size: int | None, log: str | None) -> None:
    if log is not None:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
    if file_size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        # The disk has room again.
        loop.add_signal_handler(signal.SIGUSR1, _lift_limit)
        limits = Limits(most_bytes(STUDY), rate=0.0, connections=4000)
        async with serving(STUDY, Settings(where, port=0, limits=limits)) as server:
            tell.send((server.address, server.token))
            await stop.wait()

    asyncio.run(run())


def _lift_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@dataclass
class Server:
    """A server in a process of its own."""

    process: Any
    address: str
    token: str

    @property
    def where(self) -> tuple[str, int]:
        host, port = self.address.removeprefix("http://").split(":")
        return host, int(port)

    def kill(self) -> None:
        """As a power cut would, as far as a process can be."""
        self.process.kill()
        self.process.join(20)

    def memory(self) -> int:
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm") as stream:
            return int(stream.read().split()[1]) * resource.getpagesize()


@contextmanager
def server_process(
    where: str | Path, *, file_size: int | None = None, log: Path | None = None
) -> Iterator[Server]:
    """A server; killed at the end unless it has ended."""
    own, theirs = _CONTEXT.Pipe()
    arguments = (str(where), theirs, file_size, None if log is None else str(log))
    process = _CONTEXT.Process(target=_serve, args=arguments)
    process.start()
    theirs.close()  # so that the end of the process is noticed
    try:
        if not own.poll(60):
            raise RuntimeError("the server did not start")
        yield Server(process, *own.recv())
    finally:
        if process.is_alive():
            process.terminate()
            process.join(20)
        if process.is_alive():
            process.kill()
            process.join()


# --- load -----------------------------------------------------------------------------------------


@dataclass
class Sent:
    """Submissions by key: how many people, and whether they were acknowledged."""

    people: dict[bytes, int] = field(default_factory=dict)
    acknowledged: set[bytes] = field(default_factory=set)
    statuses: dict[int, int] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def note(self, data: bytes, people: int, status: int) -> None:
        with self.guard:
            key = key_of(data[:16])
            self.people[key] = people
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status == 200:
                self.acknowledged.add(key)


def ask(
    connection: http.client.HTTPConnection, data: bytes, headers: dict[str, str] | None = None
) -> int:
    """Post once; 0 where there was no answer."""
    try:
        connection.request("POST", "/api/v1/reports", data, headers or {})
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0
    return answer.status


@contextmanager
def load(server: Server, sent: Sent, senders: int = 6) -> Iterator[None]:
    """Senders who post one submission after another while the block runs."""
    stop = threading.Event()
    ready = [(n, body(STUDY, n)) for n in (1, 1, 1, 2, 50)]

    def work() -> None:
        connection = http.client.HTTPConnection(*server.where, timeout=20)
        while not stop.is_set():
            people, data = random.choice(ready)
            data = os.urandom(16) + data[16:]
            sent.note(data, people, ask(connection, data))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(senders)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def check(where: str | Path, sent: Sent, study: sv.Study = STUDY) -> tuple[int, int]:
    """Everything acknowledged is there, and everything there is there once.

    Returns (submissions, people) in the store.
    """
    store = open_store(where, study.digest, create=False)
    try:
        store.check()
        with store.transaction():
            keys = [key for rows in store.all_submissions() for key, _ in rows]
            people = sum(n for _, _, n, _ in store.hours())
    finally:
        store.close()
    lost = sent.acknowledged - set(keys)
    if lost:
        raise AssertionError(f"{len(lost)} acknowledged submissions are lost")
    unknown = set(keys) - set(sent.people)
    expected = sum(sent.people[key] for key in keys)
    if unknown or len(keys) != len(set(keys)) or people != expected:
        raise AssertionError(f"{people} people are counted; {expected} sent them")
    return len(keys), people


def kill_often(where: str | Path, times: int) -> Sent:
    """Kill a server under load at random moments, and look at the store after each."""
    sent = Sent()
    for _ in range(times):
        with server_process(where) as server, load(server, sent):
            time.sleep(random.uniform(0.02, 0.5))
            server.kill()
        check(where, sent)
    return sent


# --- nonsense -------------------------------------------------------------------------------------

PATHS = (
    "/api/v1/reports", "/api/v1/reports", "/api/v1/reports", "/api/v1/study", "/api/v1/aggregate",
    "/api/v1/estimate?question=%00&confidence=nan", "/results?key=x&pair=9.9", "/results/1/x",
    "/static/../../etc/passwd", "/static/%2e%2e/x", "/metrics", "/health", "/", "//", "/%ff%fe",
)  # fmt: skip
METHODS = ("POST", "POST", "POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH")


def mutate(data: bytes, chance: random.Random) -> bytes:
    """A submission with something wrong with it, or not."""
    out = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 2, 8))):
        kind = chance.randrange(5)
        where = chance.randrange(len(out) + 1)
        if kind == 0 and out:
            out[where % len(out)] = chance.randrange(256)
        elif kind == 1:
            del out[where:]
        elif kind == 2:
            out[where:where] = chance.randbytes(chance.randrange(1, 40))
        elif kind == 3:
            out[16 : 16 + chance.randrange(1, 20)] = chance.randbytes(chance.randrange(1, 20))
        else:
            out[24:32] = chance.choice((0, 1, 2**16, 2**31, 2**63, 2**64 - 1)).to_bytes(8, "little")
    return bytes(out)


def _raw(server: Server, data: bytes, chance: random.Random) -> int:
    """A request that may not even be HTTP; 0 where there was no answer."""
    head = (
        b"POST /api/v1/reports HTTP/1.1\r\nHost: x\r\n"
        + chance.choice((b"Content-Length: %d\r\n" % len(data), b"Transfer-Encoding: chunked\r\n",
                         b"Content-Length: 5\r\nContent-Length: 6\r\n", b"Connection: upgrade\r\n",
                         b"Content-Length: -1\r\n", b""))
        + b"\r\n"
    )  # fmt: skip
    message = bytearray(head + data + head + data)
    for _ in range(chance.randrange(4)):
        message[chance.randrange(len(head))] = chance.randrange(256)
    try:
        with socket.create_connection(server.where, timeout=20) as connection:
            connection.sendall(message)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
    except OSError:
        return 0
    words = answer.split(b" ", 2)
    return int(words[1]) if len(words) > 2 and words[1].isdigit() else 0


def slow_connections(server: Server, many: int) -> float:
    """Open connections that send a little and then nothing; seconds until all are cut off."""
    start = time.monotonic()
    waiting = []
    openings = (b"", b"GET / HT", b"POST /api/v1/reports HTTP/1.1\r\nhost: x\r\ncontent-length: 99"
                b"\r\n\r\nabc")  # fmt: skip
    for k in range(many):
        connection = socket.create_connection(server.where, timeout=30)
        with suppress(OSError):
            connection.sendall(openings[k % 3])
        waiting.append(connection)
    for connection in waiting:
        with suppress(OSError):
            while connection.recv(65536):
                continue
        connection.close()
    return time.monotonic() - start


def fuzz(server: Server, requests: int, seed: int) -> dict[int, int]:
    """Send nonsense; the statuses that came back. Raises on 5xx."""
    chance = random.Random(seed)
    good = [body(STUDY, n) for n in (1, 3, 40)]
    connection = http.client.HTTPConnection(*server.where, timeout=20)
    statuses: dict[int, int] = {}
    headers = (
        {}, {}, {"content-type": "text/plain"}, {"sottovoce-code": "x" * 100},
        {"authorization": "Bearer \xff"}, {"cookie": "sottovoce-analyst=;;;=,"},
        {"accept": "text/html"}, {"content-encoding": "gzip"}, {"range": "bytes=0-"},
        {"expect": "100-continue"}, {"x": "\x00".replace("\x00", "y" * 5000)},
    )  # fmt: skip
    for k in range(requests):
        data = mutate(chance.choice(good), chance)
        if k % 10 == 0:
            status = _raw(server, data, chance)
            statuses[status] = statuses.get(status, 0) + 1
            if status >= 500:
                raise AssertionError(f"a malformed request gave {status}")
            continue
        method, path = chance.choice(METHODS), chance.choice(PATHS)
        try:
            connection.request(method, path, data, dict(chance.choice(headers)))
            answer = connection.getresponse()
            answer.read()
            status = answer.status
        except (OSError, http.client.HTTPException):
            connection.close()
            status = 0
        statuses[status] = statuses.get(status, 0) + 1
        if status >= 500:
            raise AssertionError(f"{method} {path} with {data[:64].hex()} gave {status}")
    connection.close()
    return statuses


def main() -> None:
    """Everything in full."""
    parser = argparse.ArgumentParser(prog="python -m tests.service.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--fuzz", type=int, default=1_000_000)
    parser.add_argument("--store", help="postgresql://…; by default SQLite in a temporary folder")
    options = parser.parse_args()
    if options.kills:
        with tempfile.TemporaryDirectory() as folder:
            where = options.store or folder
            start = time.monotonic()
            sent = kill_often(where, options.kills)
            submissions, people = check(where, sent)
            print(
                f"{options.kills} kills in {time.monotonic() - start:.0f} s: "
                f"{len(sent.acknowledged):,} acknowledged of {len(sent.people):,} sent, "
                f"{submissions:,} stored, {people:,} people"
            )
    with tempfile.TemporaryDirectory() as folder, server_process(folder) as server:
        seconds = slow_connections(server, 2000)
        print(f"2,000 slow connections are cut off after {seconds:.1f} s")
        fuzz(server, 2000, 0)
        before, start = server.memory(), time.monotonic()
        statuses = fuzz(server, options.fuzz, 1)
        grown = (server.memory() - before) / 1e6
        print(
            f"{options.fuzz:,} fuzzed requests in {time.monotonic() - start:.0f} s: statuses "
            f"{dict(sorted(statuses.items()))}; memory grew by {grown:.1f} MB"
        )
        if grown > 50:
            raise AssertionError("memory grew by more than 50 MB")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
