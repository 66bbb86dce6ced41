"""One party's side of a run between machines: the same roles, with a relay in the middle.

`play` moves messages for one machine: it seals what the machine sends to the parties concerned,
opens what arrives, refuses what nobody in the roster can have sent, and closes rounds when the
relay does. `serve` is the party that is also the relay, `take_part` any other.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import ShareError, TransportError, WireError
from .batch import Batch
from .client import HttpOffice
from .machine import Inbox, Machine
from .post import Post, Seat
from .relay import LocalOffice, Office, Patience, Relay
from .server import RelayServer
from .sessions import Sessions

#: Called with the round that was closed and the number of rounds.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Played:
    """A party's run that has ended.

    Attributes
    ----------
    state : object
        The machine's last state.
    refused : tuple of str
        Why messages were refused, where any were.
    missing : tuple of str
        Parties that were too late, and in which round; known to the relay alone.
    times : int
        How often this key has taken part in runs about the same subject.
    """

    state: Any
    refused: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    times: int = 1


async def play(
    machine: Machine[Any],
    rounds: int,
    seat: Seat,
    office: Office,
    *,
    sessions: Sessions | None = None,
    progress: Progress | None = None,
) -> Played:
    """Play one machine to the end.

    Parameters
    ----------
    machine : Machine
        The role; its members must be those of the party in the roster.
    rounds : int
        How many rounds of messages there are.
    seat : Seat
        Which party it is, and of which study.
    office : Office
        The way to the relay.
    sessions : Sessions, optional
        What this key has taken part in.
    progress : callable, optional
        Called whenever a round was closed.
    """
    if (machine.role, machine.members) != (seat.party.role, seat.members):
        raise WireError(f"the machine plays other members than {seat.party.id} of the roster does")
    session = await office.join()
    times = 1 if sessions is None else sessions.note(session)
    table = _Table(machine, Post(seat, session), machine.start())
    for closing in range(rounds + 1):
        await asyncio.to_thread(table.take_own)
        async for parcel in office.collect(closing):
            await asyncio.to_thread(table.take_parcel, parcel, closing)
        sealed = table.close(closing)
        while parcel := await asyncio.to_thread(next, sealed, b""):
            await office.post(parcel)
        try:
            await office.done(closing + 1)
        except TransportError:
            if closing < rounds:
                raise  # after the last round a relay that has gone is no loss
        if progress is not None:
            progress(closing, rounds)
    return Played(table.state, tuple(table.refused), times=times)


@dataclass
class _Table:
    """A machine at work; everything here may take long and runs beside the event loop."""

    machine: Machine[Any]
    post: Post
    state: Any
    refused: list[str] = field(default_factory=list)
    own: list[Batch] = field(default_factory=list)

    def take_own(self) -> None:
        """What the party's members sent to each other never leaves it."""
        for batch in filter(len, self.own):
            self._take(batch)

    def take_parcel(self, parcel: bytes, round_number: int) -> None:
        try:
            batch = self.post.open(parcel, round_number)
        except (ShareError, WireError) as error:
            self.refused.append(str(error))
        else:
            self._take(batch)

    def _take(self, batch: Batch) -> None:
        try:
            self.state, _ = self.machine.step(self.state, Inbox((batch,)))
        except (ShareError, WireError) as error:
            self.refused.append(str(error))

    def close(self, number: int) -> Iterator[bytes]:
        """Close a round; what is sent then, one parcel after the other."""
        self.state, outbox = self.machine.step(self.state, Inbox(closed=number))
        self.own = []
        for batch in outbox.batches:
            if batch.round != number + 1:
                raise WireError(f"{batch.kind!r} of round {batch.round} is sent in {number + 1}")
            if batch.sent_to is self.machine.role:
                self.own.append(batch.for_members(self.machine.members))
            yield from self.post.parcels(batch)


@dataclass(frozen=True)
class Address:
    """Where the relay listens.

    Attributes
    ----------
    host, port : str, int
        Port 0 lets the system choose.
    certificate, key : path, optional
        For TLS; needed unless `host` is this machine.
    """

    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None


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
) -> Played:
    """Be the relay, and play its party's machine.

    Parameters
    ----------
    machine, rounds, seat, sessions, progress
        As in `play`.
    address : Address, optional
        Where to listen; by default on this machine alone.
    patience : Patience, optional
        How long to wait for others.
    listening : callable, optional
        Called with the address once others can join.
    """
    me = seat.party
    if not me.relay:
        raise WireError(f"{me.id} is not the relay of the roster; {seat.roster.relay.id} is")
    at = address or Address()
    relay = Relay(seat.roster, seat.study, os.urandom(16), rounds, patience)
    server = RelayServer(
        relay, seat.tokens(), host=at.host, port=at.port, certificate=at.certificate, key=at.key
    )
    where = await server.start()
    if listening is not None:
        listening(where)
    conducting = asyncio.create_task(relay.conduct())
    try:
        office = LocalOffice(relay, me.id)
        played = await play(machine, rounds, seat, office, sessions=sessions, progress=progress)
        await conducting
    finally:
        conducting.cancel()
        with suppress(asyncio.CancelledError):
            await conducting
        await server.stop()
    late = (f"{name} (round {k})" for name, k in relay.missing.items() if k <= rounds)
    return replace(played, missing=tuple(late))


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
) -> Played:
    """Play a machine with the relay at an address.

    Parameters
    ----------
    machine, rounds, seat, sessions, progress
        As in `play`.
    relay : str
        Such as https://aggregator.example:8443.
    certificate : path, optional
        The only certificate or authority to trust; by default those of the system.
    timeout : float
        Seconds without an answer after which the relay counts as lost.
    """
    office = HttpOffice(relay, seat.token(), seat.study, certificate, timeout)
    try:
        return await play(machine, rounds, seat, office, sessions=sessions, progress=progress)
    finally:
        await office.close()
