"""Runs in which processes are killed and started again: `python -m tests.transport.crashing`.

One process per party, over TLS on loopback. A process counts what it does that could be interrupted
(writes and syncs of its journals, requests, parcels that it accepts), and kills itself at the
numbers that it was given, one per start; in the middle of a write, half of the record is written.
At −1 it does so just after the relay has answered its first parcel, and has not noted that yet.
Whoever was killed is started again. Everything that reaches the relay as a parcel is written down.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sottovoce.transport import journal
from sottovoce.transport.client import HttpOffice
from sottovoce.transport.journal import Journal
from sottovoce.transport.keys import KeyPair, Roster
from sottovoce.transport.network import Address, Patience, Played, serve, take_part
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import Relay
from sottovoce.transport.sealing import read_head
from sottovoce.transport.sessions import Sessions

from .pads import ROUNDS, cast, machine

LIMIT = 30.0
PROTOCOL = bytes(32)


class Fate:
    """Counts, and strikes at one number."""

    def __init__(self, strike: int | None) -> None:
        self.count, self.strike = 0, strike

    def event(self, last_words: Callable[[], object] = lambda: None) -> None:
        self.count += 1
        if self.count == self.strike:
            last_words()
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, folder: Path) -> None:
        """Put itself between the code and the system."""
        write, sync = Journal._write, Journal.sync
        ask, accept = HttpOffice._ask_once, Relay.accept

        def watched_write(self_: Journal, kind: bytes, body: bytes) -> Any:
            raw = b"".join(journal._parts(kind, body))
            self.event(lambda: os.write(self_._file, raw[: len(raw) // 2]))
            record = write(self_, kind, body)
            self.event()
            return record

        def watched_sync(self_: Journal) -> None:
            self.event()
            sync(self_)
            self.event()

        async def watched_ask(self_: HttpOffice, method: str, path: str, body: bytes) -> Any:
            self.event()
            answer = await ask(self_, method, path, body)
            if path == "parcel" and self.strike == -1:
                self.count = -2  # so that this is the event that strikes
            self.event()
            return answer

        def watched_accept(self_: Relay, name: str, parcel: bytes) -> None:
            line = f"{read_head(parcel).name}: {hashlib.sha256(parcel).hexdigest()}\n"
            with (folder / "parcels").open("a") as stream:
                stream.write(line)
            self.event()
            accept(self_, name, parcel)

        Journal._write, Journal.sync = watched_write, watched_sync  # type: ignore[method-assign]
        HttpOffice._ask_once = watched_ask  # type: ignore[method-assign]
        Relay.accept = watched_accept  # type: ignore[method-assign]


def play(roster: Roster, keys: KeyPair, folder: Path, port: int) -> Played:
    seat = Seat(roster, roster.bind(PROTOCOL), keys)
    name = seat.party.id
    part = machine(roster, name)
    options: dict[str, Any] = {
        "journal": folder / f"{name}.journal",
        "sessions": Sessions(folder / f"{name}.sessions", bytes(32)),
    }

    async def run() -> Played:
        if seat.party.relay:
            at = Address(port=port, tls=True)
            patience = Patience(20.0, 20.0)
            return await serve(part, ROUNDS, seat, address=at, patience=patience, **options)
        where = f"https://127.0.0.1:{port}"
        return await take_part(part, ROUNDS, seat, where, timeout=15.0, **options)

    return asyncio.run(run())


def start(roster: Roster, keys: KeyPair, folder: Path, port: int, strike: int | None) -> int:
    child = os.fork()
    if child:
        return child
    name, fate = roster.holder(keys).id, Fate(strike)
    fate.watch(folder)
    try:
        played = play(roster, keys, folder, port)
        end: dict[str, Any] = {
            "total": played.state.total,
            "refused": played.refused,
            "missing": played.missing,
            "bytes": [played.bytes_sent, played.bytes_received],
            "times": played.times,
        }
    except Exception as error:
        end = {"error": f"{type(error).__name__}: {error}"}
    end["events"] = fate.count
    (folder / f"{name}.json").write_text(json.dumps(end))
    os._exit(0)


def perform(folder: Path, deaths: dict[str, list[int]]) -> None:
    """One run, until everyone has ended."""
    folder.mkdir()
    roster, keys = cast(3)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def launch(name: str) -> int:
        strikes = deaths.get(name, [])
        return start(roster, keys[name], folder, port, strikes.pop(0) if strikes else None)

    running = {launch(party.id): party.id for party in roster}
    end_time = time.monotonic() + LIMIT
    while running and time.monotonic() < end_time:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            time.sleep(0.005)
            continue
        name = running.pop(child)
        if os.WIFSIGNALED(status):
            with (folder / "deaths").open("a") as stream:
                stream.write(f"{name}\n")
            running[launch(name)] = name
    for child in running:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    for run, deaths in json.loads(sys.argv[2]).items():
        perform(Path(sys.argv[1]) / run, deaths)
