"""Durable ingest: how many reports a second are on disk and acknowledged.

``python -m benchmarks.service`` races our service with the same endpoint written with FastAPI,
pydantic and one row per report (`service_rival`), each in a process of its own, with the same
senders in another; then twice the load that it can take, and memory over minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv

from .machine import describe, number, table

VALUES = 6  # as in `service_rival`, which is not imported: it has a process of its own
SIZES = (1, 100, 1000)
GOALS = {1: 2, 100: 6, 1000: 14}
STUDY = sv.Study("Benchmark", (sv.GRR(sv.Attribute("q", VALUES), epsilon=1.0),))


# --- bodies ---------------------------------------------------------------------------------------


def _request(body: bytes, kind: str) -> bytes:
    head = f"POST /api/v1/reports HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def our_bodies(size: int) -> Callable[[], bytes]:
    """Requests with a new id each, as a client would have them ready."""
    question = STUDY.mechanism()
    rest = [question.randomise([k % VALUES] * size).to_bytes() for k in range(8)]
    counter = iter(range(1 << 60))
    return lambda: _request(os.urandom(16) + rest[next(counter) % 8], "application/octet-stream")


def rival_bodies(size: int) -> Callable[[], bytes]:
    """The same in JSON."""
    question = STUDY.mechanism()
    rest = []
    for k in range(8):
        values = question.randomise([k % VALUES] * size).columns["value"].tolist()
        rest.append(json.dumps([{"value": v} for v in values]))
    counter = iter(range(1 << 60))

    def body() -> bytes:
        text = f'{{"id":"{os.urandom(16).hex()}","reports":{rest[next(counter) % 8]}}}'
        return _request(text.encode(), "application/json")

    return body


# --- servers --------------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def server(kind: str, folder: Path, *options: str) -> Iterator[tuple[int, int]]:
    """(port, process id) of a server in a process of its own."""
    port = _free_port()
    study = folder / "study.toml"
    STUDY.save(study, replace=True)
    if kind == "ours":
        command = ["-m", "sottovoce.cli", "serve", str(study), "--port", str(port), "--rate", "0"]
        command += ["--store", str(folder / "store"), *options]
    else:
        command = ["-m", "benchmarks.service_rival", str(folder), str(port)]
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                    break
            except OSError:
                time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(30)


def memory(pid: int) -> float:
    """Resident megabytes."""
    with open(f"/proc/{pid}/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# --- senders --------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What came back."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    size: int = 1
    peak: float = 0.0

    @property
    def reports(self) -> float:
        """Acknowledged reports per second."""
        return self.statuses.get(200, 0) * self.size / self.seconds

    def percentile(self, which: float) -> float:
        """Milliseconds."""
        return float(np.percentile(self.times, which)) * 1e3 if self.times else float("nan")


class _Sender(asyncio.Protocol):
    """One connection: the next request when the last was answered."""

    def __init__(self, body: Callable[[], bytes], tally: Tally, end: float) -> None:
        self._body, self._tally, self._end = body, tally, end
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._buffer = b""
        self._start = time.perf_counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._next()

    def _next(self) -> None:
        if time.perf_counter() > self._end:
            self._transport.close()
            return
        self._start = time.perf_counter()
        self._transport.write(self._body())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        status = int(head[9:12])
        self._tally.statuses[status] = self._tally.statuses.get(status, 0) + 1
        self._tally.times.append(time.perf_counter() - self._start)
        self._buffer = b""
        if b"connection: close" not in head.lower():
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def _send(
    port: int, body: Callable[[], bytes], seconds: float, connections: int, tally: Tally
) -> None:
    loop = asyncio.get_running_loop()
    start = time.perf_counter()
    end = start + seconds

    async def one() -> None:
        while time.perf_counter() < end:
            try:
                _, sender = await loop.create_connection(
                    lambda: _Sender(body, tally, end), "127.0.0.1", port
                )
            except OSError:
                tally.statuses[0] = tally.statuses.get(0, 0) + 1
                await asyncio.sleep(0.1)
                continue
            await sender.done
            await asyncio.sleep(0.01)

    await asyncio.gather(*(one() for _ in range(connections)))
    tally.seconds = time.perf_counter() - start


def load(
    port: int, body: Callable[[], bytes], seconds: float, connections: int, size: int
) -> Tally:
    """Send for some seconds, after a short start that is not counted."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_send(port, body, min(1.0, seconds), connections, Tally()))
        tally = Tally(size=size)
        runner.run(_send(port, body, seconds, connections, tally))
    return tally


# --- the race -------------------------------------------------------------------------------------


def race(seconds: float, connections: int, rounds: int) -> dict[tuple[str, int], Tally]:
    """Both servers at every batch size, in turns; the better round of each counts."""
    best: dict[tuple[str, int], Tally] = {}
    makers = {"ours": our_bodies, "rival": rival_bodies}
    for size in SIZES:
        for _ in range(rounds):
            for kind, make in makers.items():
                with (
                    tempfile.TemporaryDirectory() as folder,
                    server(kind, Path(folder)) as (port, pid),
                ):
                    tally = load(port, make(size), seconds, connections, size)
                    tally.peak = memory(pid)
                if (kind, size) not in best or tally.reports > best[kind, size].reports:
                    best[kind, size] = tally
    return best


def section(best: dict[tuple[str, int], Tally]) -> str:
    """The table."""
    rows = []
    for size in SIZES:
        ours, rival = best["ours", size], best["rival", size]
        rows.append(
            [
                f"{size:,}",
                number(ours.reports),
                number(rival.reports),
                f"{ours.reports / rival.reports:.1f} × (goal {GOALS[size]})",
                f"{ours.percentile(50):.1f} / {ours.percentile(99):.1f}",
                f"{rival.percentile(50):.1f} / {rival.percentile(99):.1f}",
                f"{ours.peak:.0f} / {rival.peak:.0f}",
            ]
        )
    titles = ["reports per submission", "ours, reports/s", "FastAPI, reports/s", "ratio",
              "ours p50 / p99, ms", "FastAPI p50 / p99, ms", "memory, MB"]  # fmt: skip
    return table(titles, rows)


def overload(seconds: float) -> str:
    """Twice the connections that the server allows, each sending without a pause."""
    with (
        tempfile.TemporaryDirectory() as folder,
        server("ours", Path(folder), "--connections", "200") as (port, pid),
    ):
        tally = load(port, our_bodies(1), seconds, 400, 1)
        end = time.perf_counter()
        while True:
            after = load(port, our_bodies(1), 0.2, 4, 1)
            if after.statuses.get(200) and set(after.statuses) == {200}:
                break
        recovered = time.perf_counter() - end
        peak = memory(pid)
    return (
        f"400 connections where 200 are allowed, {seconds:g} s: answers "
        f"{dict(sorted(tally.statuses.items()))}, {number(tally.reports)} reports/s acknowledged, "
        f"serving normally {recovered:.1f} s later, {peak:.0f} MB."
    )


def endurance(minutes: float) -> str:
    """Memory under load, by minute."""
    figures = []
    with tempfile.TemporaryDirectory() as folder, server("ours", Path(folder)) as (port, pid):
        load(port, our_bodies(100), 5, 32, 100)
        for _ in range(max(1, round(minutes * 2))):
            load(port, our_bodies(100), 30 if minutes >= 1 else 60 * minutes, 32, 100)
            figures.append(memory(pid))
    shown = ", ".join(f"{figure:.0f}" for figure in figures)
    return f"Memory over {minutes:g} minutes of batches of 100, every half minute, MB: {shown}."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each run")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=10.0, help="of the memory run")
    options = parser.parse_args()
    print(section(race(options.seconds, options.connections, options.rounds)))
    print(overload(options.seconds))
    if options.minutes:
        print(endurance(options.minutes))
    print(f"Machine: {describe()}.")


if __name__ == "__main__":
    main()
