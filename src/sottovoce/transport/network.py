"""A run between machines: the same roles, with a relay in the middle.

`play` moves messages for one machine: it seals what the machine sends to the parties concerned,
opens what arrives, refuses what nobody in the roster can have sent, and closes rounds when the
relay does. `serve` is the party that is also the relay, `take_part` any other; both take the
options of `Playing`.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from ..errors import ParameterError, WireError
from .client import HttpOffice
from .http import is_loopback
from .journal import open_journal
from .machine import Machine
from .office import LocalOffice
from .playing import Played, Playing, Progress, play
from .post import Seat
from .relay import Patience, Relay
from .server import RelayServer
from .tls import file_server, pinned_client, pinned_server

__all__ = ["Address", "Patience", "Played", "Progress", "play", "serve", "take_part"]


@dataclass(frozen=True)
class Address:
    """Where the relay listens.

    Certificates of the roster are used wherever it has them and `host` is not this machine, unless
    `tls` says otherwise.
    """

    host: str = "127.0.0.1"
    port: int = 0  # lets the system choose
    certificate: Path | None = None  # needed beyond this machine, where the roster has none
    key: Path | None = None
    tls: bool | None = None


async def serve(
    machine: Machine[Any],
    rounds: int,
    seat: Seat,
    *,
    address: Address | None = None,
    patience: Patience | None = None,
    listening: Callable[[str], None] | None = None,
    **options: Unpack[Playing],
) -> Played:
    """Be the relay, by default on this machine alone, and play its party's machine.

    `listening` is called with the address once others can join. Beside the journal, with the ending
    `.relay`, is that of the relay; after a crash the others carry on if they find it at the same
    address.
    """
    me = seat.party
    if not me.relay:
        raise WireError(f"{me.id} is not the relay of the roster; {seat.roster.relay.id} is")
    at, journal = address or Address(), options.get("journal")
    beside = None if journal is None else journal.with_name(f"{journal.name}.relay")
    with closing(open_journal(beside, seat, journal="relay", rounds=rounds)) as kept:
        relay = Relay(seat.roster, seat.study, os.urandom(16), rounds, patience, kept)
        server = RelayServer(relay, seat, host=at.host, port=at.port, tls=_server_tls(at, seat))
        where = await server.start()
        if listening is not None:
            listening(where)

        def complete(played: Played) -> Played:
            late = (f"{name} (round {k})" for name, k in relay.missing.items() if k <= rounds)
            refused = (*played.refused, *relay.strangers)
            return replace(played, missing=tuple(late), refused=refused)

        if finished := options.get("finished"):
            options["finished"] = lambda played: finished(complete(played))
        office = LocalOffice(relay, me.id)
        tasks = (
            asyncio.create_task(relay.conduct()),
            asyncio.create_task(play(machine, rounds, seat, office, **options)),
        )
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            await relay.tell_aborted()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await server.stop()
            if relay.aborted is not None:
                kept.end()
        if tasks[1].cancelled():
            await tasks[0]  # the relay has failed
        played = await tasks[1]
        kept.end()
    return complete(played)


def _server_tls(at: Address, seat: Seat) -> ssl.SSLContext | None:
    _refuse_two(at.certificate, seat)
    if at.certificate is not None:
        return file_server(at.certificate, at.key)
    pinned = seat.roster.certified and not is_loopback(at.host) if at.tls is None else at.tls
    return pinned_server(seat) if pinned else None


def _refuse_two(certificate: Path | None, seat: Seat) -> None:
    if certificate is not None and seat.roster.certified:
        raise ParameterError(
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
    **options: Unpack[Playing],
) -> Played:
    """Play a machine with the relay at an address, such as https://aggregator.example:8443.

    With https and certificates in the roster, both sides show theirs and trust no other. Otherwise
    `certificate` is the only one, or the only authority, to trust; by default those of the system.
    After `timeout` seconds without an answer the relay counts as lost.
    """
    _refuse_two(certificate, seat)
    tls = pinned_client(seat) if seat.roster.certified else None
    office = HttpOffice(relay, seat.token(), seat.study, certificate, timeout, tls)
    try:
        return await play(machine, rounds, seat, office, **options)
    finally:
        await office.close()
