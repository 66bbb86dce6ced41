"""One party at play: a machine, its journal, and the way to the relay.

With a journal a party that crashed goes on where it was. For every round that it closed, the
journal has the parcels that came (sealed, as they came), what the party's members sent to each
other, and the sealed parcels that it sent, all of it on disk before the first of them leaves. A
restarted process shows the machine the same messages again, sends the last parcels again, byte for
byte, and carries on. It never seals anew, and never draws new randomness for what was sent: a
machine's state may depend only on what arrived, what it sent to itself included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import AnswerError, FileError, ShareError, SottovoceError, TransportError, WireError
from .journal import Journal, Record, open_journal
from .machine import Machine
from .office import Office, RunOverError
from .post import Post, Seat
from .sessions import Sessions
from .table import MachineError, Table
from .wire import decode_batch, encode_batch

#: Called with the round that was closed and the number of rounds.
Progress = Callable[[int, int], None]

_RECEIVED, _OWN, _SENT, _CLOSED = b"r", b"o", b"s", b"c"


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
    session : bytes
        Of the run.
    bytes_sent, bytes_received : int
        Sealed parcels to and from other parties; what had to be sent again counts once.
    """

    state: Any
    refused: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    times: int = 1
    session: bytes = b""
    bytes_sent: int = 0
    bytes_received: int = 0


async def play(
    machine: Machine[Any],
    rounds: int,
    seat: Seat,
    office: Office,
    *,
    sessions: Sessions | None = None,
    progress: Progress | None = None,
    journal: Path | None = None,
    data: str = "",
    joined: Callable[[bytes], None] | None = None,
    finished: Callable[[Played], None] | None = None,
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
    journal : path, optional
        The file that a run between organisations is resumed from after a crash.
    data : str
        A fingerprint of the machine's data; a run goes on with the same data only.
    joined : callable, optional
        Called with the session before anything is sent; after a restart with the same one again.
    finished : callable, optional
        Called with the result before the journal ends: a crash before it returns can be resumed.

    Raises
    ------
    TransportError
        Where the relay cannot be reached or refuses, or somebody has ended the run for everyone.
    """
    if (machine.role, machine.members) != (seat.party.role, seat.members):
        raise WireError(f"the machine plays other members than {seat.party.id} of the roster does")
    about = {"party": seat.party.id, "rounds": rounds} | ({"data": data} if data else {})
    kept = open_journal(journal, seat, journal="party", **about)
    try:
        player = _Player(machine, rounds, seat, office, kept, progress)
        played = await player.play(sessions, joined)
        await office.leave()
        if finished is not None:
            finished(played)
        if kept is not None:
            kept.end()
        return played
    except RunOverError:
        if kept is not None:
            kept.end()
        raise
    except MachineError as failure:
        if kept is not None:
            kept.end()
        with suppress(TransportError):  # then the others will find out by waiting
            await office.abort(_reason(failure.error))
        raise failure.error from None
    except (ShareError, WireError) as error:
        if seat.party.relay:  # nobody can go on without it
            await office.abort(_reason(error))
            if kept is not None:
                kept.end()
        raise
    finally:
        if kept is not None:
            kept.close()


def _reason(error: SottovoceError) -> str:
    """What others learn; never what could be about this party's rows or files."""
    if isinstance(error, (AnswerError, FileError)):
        return f"its own data or files cannot be used ({type(error).__name__})"
    return str(error)


@dataclass
class _Player:
    machine: Machine[Any]
    rounds: int
    seat: Seat
    office: Office
    journal: Journal | None
    progress: Progress | None
    sent: int = 0
    received: int = 0

    async def play(
        self, sessions: Sessions | None, joined: Callable[[bytes], None] | None
    ) -> Played:
        closings = [] if self.journal is None else _closings(self.journal)
        resumed = None if self.journal is None else self.journal.session
        if resumed is None or len(closings) <= self.rounds:
            session = await self.office.join()
            times = self._note(session, sessions)
        else:
            session = resumed  # nothing is needed from the relay any more
            times = 1 if sessions is None else sessions.note(session, resumed=True)
        if joined is not None:
            joined(session)
        table = Table(self.machine, Post(self.seat, session), self.machine.start())
        for number, records in enumerate(closings):
            await asyncio.to_thread(self._replay, table, number, records)
            self._say(number)
        if closings:
            await self._send(closings[-1], len(closings) - 1)
        for number in range(len(closings), self.rounds + 1):
            await self._round(table, number)
            self._say(number)
        return Played(
            table.state,
            tuple(table.refused),
            times=times,
            session=session,
            bytes_sent=self.sent,
            bytes_received=self.received,
        )

    def _note(self, session: bytes, sessions: Sessions | None) -> int:
        resumed = False
        if self.journal is not None:
            self.journal.check_session(session)
            resumed = self.journal.session is not None
        if sessions is not None and not resumed and session in sessions:
            return sessions.note(session)  # refused
        if self.journal is not None and not resumed:
            # Before the session is noted: a crash in between must not lock the party out.
            self.journal.begin(session)
            resumed = True
        return 1 if sessions is None else sessions.note(session, resumed=resumed)

    def _say(self, number: int) -> None:
        if self.progress is not None:
            self.progress(number, self.rounds)

    async def _round(self, table: Table, number: int) -> None:
        await asyncio.to_thread(table.take_own)
        async for parcel in self.office.collect(number):
            self.received += len(parcel)
            if self.journal is not None:
                self.journal.append(_RECEIVED, parcel)
            await asyncio.to_thread(table.take_parcel, parcel, number)
        if self.journal is not None:
            await self._send(await asyncio.to_thread(self._keep, table, number), number)
            return
        sealed = table.close(number)
        while parcel := await asyncio.to_thread(next, sealed, b""):
            self.sent += len(parcel)
            await self.office.post(parcel)
        await self._done(number)

    def _keep(self, table: Table, number: int) -> list[Record]:
        """Close a round; everything that is sent then is on disk when this returns."""
        journal = self.journal
        if journal is None:
            return []
        kept = []
        for parcel in table.close(number):
            self.sent += len(parcel)
            kept.append(journal.append(_SENT, parcel))
        for batch in filter(len, table.own):
            journal.append(_OWN, encode_batch(batch, table.post.envelope))
        journal.append(_CLOSED, b"")
        journal.sync()
        return kept

    def _replay(self, table: Table, number: int, records: list[Record]) -> None:
        journal = self.journal
        if journal is None:
            return
        table.take_own()
        own = []
        for record in records:
            if record.kind == _RECEIVED:
                self.received += record.size
                table.take_parcel(journal.read(record), number)
            elif record.kind == _SENT:
                self.sent += record.size
            elif record.kind == _OWN:
                own.append(decode_batch(journal.read(record), expect=table.post.envelope))
        table.close_again(number, own)

    async def _send(self, records: list[Record], number: int) -> None:
        for record in records:
            if record.kind == _SENT and self.journal is not None:
                await self.office.post(self.journal.read(record))
        await self._done(number)

    async def _done(self, number: int) -> None:
        try:
            await self.office.done(number + 1)
        except RunOverError:
            raise
        except TransportError:
            if number < self.rounds:
                raise  # after the last round a relay that has gone is no loss


def _closings(journal: Journal) -> list[list[Record]]:
    """The records of every round that was closed; what came of an open one is asked for again."""
    closings: list[list[Record]] = []
    reached = 0
    for k, record in enumerate(journal.records):
        if record.kind == _CLOSED:
            closings.append(journal.records[reached:k])
            reached = k + 1
    journal.drop_after(reached)
    return closings
