"""A run between machines: the same roles, with a relay in the middle.

`play` moves messages for one machine: it seals what the machine sends to the parties concerned,
opens what arrives, refuses what nobody in the roster can have sent, and closes rounds when the
relay does. `serve` is the party that is also the relay, `take_part` any other.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ParameterError, WireError
from .client import HttpOffice
from .http import is_loopback
from .journal import open_journal
from .machine import Machine
from .office import LocalOffice
from .playing import Played, Progress, play
from .post import Seat
from .relay import Patience, Relay
from .server import RelayServer
from .sessions import Sessions
from .tls import file_server, pinned_client, pinned_server

__all__ = ["Address", "Patience", "Played", "Progress", "play", "serve", "take_part"]


@dataclass(frozen=True)
class Address:
    """Where the relay listens.

    Attributes
    ----------
    host, port : str, int
        Port 0 lets the system choose.
    certificate, key : path, optional
        For TLS; needed unless `host` is this machine, or the roster has certificates.
    tls : bool, optional
        Whether to use the certificates of the roster; by default wherever it has them and `host`
        is not this machine.
    """

    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    tls: bool | None = None


async def serve(
    machine: Machine[Any],
    rounds: int,
    seat: Seat,
    *,
    address: Address | None = None,
    patience: Patience | None = None,
    sessions: Sessions | None = None,
    listening: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    journal: Path | None = None,
    joined: Callable[[bytes], None] | None = None,
    finished: Callable[[Played], None] | None = None,
) -> Played:
    """Be the relay, and play its party's machine.

    Parameters
    ----------
    machine, rounds, seat, sessions, progress, joined, finished
        As in `play`.
    address : Address, optional
        Where to listen; by default on this machine alone.
    patience : Patience, optional
        How long to wait for others.
    listening : callable, optional
        Called with the address once others can join.
    journal : path, optional
        The file that the machine is resumed from after a crash; beside it, with the ending
        `.relay`, is that of the relay. The others carry on if they find it at the same address.
    """
    me = seat.party
    if not me.relay:
        raise WireError(f"{me.id} is not the relay of the roster; {seat.roster.relay.id} is")
    at = address or Address()
    beside = None if journal is None else journal.with_name(f"{journal.name}.relay")
    kept = open_journal(beside, seat, journal="relay", rounds=rounds)
    try:
        relay = Relay(seat.roster, seat.study, os.urandom(16), rounds, patience, kept)
        server = RelayServer(relay, seat, host=at.host, port=at.port, tls=_server_tls(at, seat))
        where = await server.start()
        if listening is not None:
            listening(where)
        tasks = (
            asyncio.create_task(relay.conduct()),
            asyncio.create_task(
                play(
                    machine,
                    rounds,
                    seat,
                    LocalOffice(relay, me.id),
                    sessions=sessions,
                    progress=progress,
                    journal=journal,
                    joined=joined,
                    finished=finished,
                )
            ),
        )
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            await relay.tell_aborted()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await server.stop()
            if kept is not None and relay.aborted is not None:
                kept.end()
        if tasks[1].cancelled():
            await tasks[0]  # the relay has failed
        played = await tasks[1]
        if kept is not None:
            kept.end()
    finally:
        if kept is not None:
            kept.close()
    late = (f"{name} (round {k})" for name, k in relay.missing.items() if k <= rounds)
    return replace(played, missing=tuple(late), refused=(*played.refused, *relay.strangers))


def _server_tls(at: Address, seat: Seat) -> ssl.SSLContext | None:
    if at.certificate is not None:
        if seat.roster.certified:
            raise _two_certificates()
        return file_server(at.certificate, at.key)
    pinned = seat.roster.certified and not is_loopback(at.host) if at.tls is None else at.tls
    return pinned_server(seat) if pinned else None


def _two_certificates() -> ParameterError:
    return ParameterError(
        "the roster pins everyone's certificate, so no certificate file is needed; leave it out"
    )


async def take_part(
    machine: Machine[Any],
    rounds: int,
    seat: Seat,
    relay: str,
    *,
    certificate: Path | None = None,
    timeout: float = 60.0,
    sessions: Sessions | None = None,
    progress: Progress | None = None,
    journal: Path | None = None,
    data: str = "",
    joined: Callable[[bytes], None] | None = None,
    finished: Callable[[Played], None] | None = None,
) -> Played:
    """Play a machine with the relay at an address.

    Parameters
    ----------
    machine, rounds, seat, sessions, progress, journal, data, joined, finished
        As in `play`.
    relay : str
        Such as https://aggregator.example:8443. With https and certificates in the roster, both
        sides show theirs and trust no other.
    certificate : path, optional
        For a roster without certificates: the only one, or the only authority, to trust; by
        default those of the system.
    timeout : float
        Seconds without an answer after which the relay counts as lost.
    """
    if certificate is not None and seat.roster.certified:
        raise _two_certificates()
    tls = pinned_client(seat) if seat.roster.certified else None
    office = HttpOffice(relay, seat.token(), seat.study, certificate, timeout, tls)
    try:
        return await play(
            machine,
            rounds,
            seat,
            office,
            sessions=sessions,
            progress=progress,
            journal=journal,
            data=data,
            joined=joined,
            finished=finished,
        )
    finally:
        await office.close()
