"""One run between parties with a process for each role, timed."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import time
from collections.abc import Callable
from typing import Any

from sottovoce.transport import Role
from sottovoce.transport.keys import KeyPair, Party, Roster
from sottovoce.transport.network import Address, serve, take_part
from sottovoce.transport.post import Seat

#: A study, and a table for every party.
Case = tuple[Any, dict[str, Any]]


def time_roles_apart(build: Callable[..., Case], arguments: tuple[Any, ...]) -> float:
    """Seconds of a run with a process for each role, from the first message to the last.

    Processes of the roles are there, with their data and with compiled kernels, before the clock
    starts. Those that an engine starts beside them are not.
    """
    study, _ = build(*arguments)
    names = ("curator", *["dealer"] * study.dealer, *study.parties)
    keys = {name: KeyPair.generate() for name in names}
    roles = {"curator": Role.CURATOR, "dealer": Role.DEALER}
    roster = Roster(
        tuple(
            Party(n, roles.get(n, Role.PARTY), keys[n].public, relay=n == "curator") for n in names
        )
    )
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(len(names)), context.Queue()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secrets = {name: pair._secret for name, pair in keys.items()}
    processes = [
        context.Process(
            target=_play, args=(n, build, arguments, roster, secrets, port, ready, results)
        )
        for n in names
    ]
    for process in processes:
        process.start()
    seconds = results.get(timeout=600)
    for process in processes:
        process.join()
    return float(seconds)


def _play(name, build, arguments, roster, secrets, port, ready, results) -> None:  # type: ignore[no-untyped-def]
    study, frames = build(*arguments)
    pairs = {other: KeyPair(secret) for other, secret in secrets.items()}
    public = {other: pair.verify_key for other, pair in pairs.items()}
    seat = Seat(roster, roster.bind(study.digest), pairs[name])
    if getattr(study, "engine", None) is None or study.dealer:
        study.simulate(first_rows(frames))  # kernels are compiled
    rounds, url = study.message_rounds, f"http://127.0.0.1:{port}"
    if name == "curator":
        machine = study.curator_machine(pairs[name], public)
        ready.wait()
        start = time.perf_counter()
        played = asyncio.run(serve(machine, rounds, seat, address=Address("127.0.0.1", port)))
        study.outcome(played.state)
        results.put(time.perf_counter() - start)
        return
    if name == "dealer":
        machine = study.dealer_machine(pairs[name], public)
    else:
        machine = study.party_machine(name, frames[name], pairs[name], public)
    ready.wait()
    time.sleep(0.05)  # until the curator listens
    asyncio.run(take_part(machine, rounds, seat, url, timeout=600))


def first_rows(frames: dict[str, Any]) -> dict[str, Any]:
    """A hundred rows of every party."""
    return {party: {n: c[:100] for n, c in frame.items()} for party, frame in frames.items()}
