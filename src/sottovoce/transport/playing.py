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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ..errors import (
    AnswerError,
    FileError,
    ParameterError,
    ShareError,
    SottovoceError,
    TransportError,
    WireError,
)
from .batch import Batch
from .journal import Journal, NoJournal, Record, open_journal
from .machine import Inbox, Machine, Outbox
from .office import Office, RunOverError
from .post import Post, Seat
from .relay import MOST_BYTES
from .sessions import Sessions
from .wire import decode_batch, encode_batch

#: Called with the round that was closed and the number of rounds.
Progress = Callable[[int, int], None]

_RECEIVED, _OWN, _SENT, _CLOSED = b"r", b"o", b"s", b"c"


@dataclass(frozen=True)
class Played:
    """A party's run that has ended."""

    state: Any  # the machine's last one
    refused: tuple[str, ...] = ()  # why messages were refused, where any were
    missing: tuple[str, ...] = ()  # who was too late in which round; known to the relay alone
    times: int = 1  # how often this key has taken part in runs about the same subject
    session: bytes = b""
    bytes_sent: int = 0  # sealed, to other parties; what had to be sent again counts once
    bytes_received: int = 0


class Playing(TypedDict, total=False):
    """What may be given to whoever plays a machine."""

    sessions: Sessions | None  # what this key has taken part in
    progress: Progress | None  # called whenever a round was closed
    journal: Path | None  # the file that a run between organisations is resumed from after a crash
    data: str  # a fingerprint of the machine's data; a run goes on with the same data only
    # Called with the session before anything is sent; after a restart with the same one again.
    joined: Callable[[bytes], None] | None
    # Called with the result before the journal ends: a crash before it returns can be resumed.
    finished: Callable[[Played], None] | None


async def play(
    machine: Machine[Any], rounds: int, seat: Seat, office: Office, **options: Unpack[Playing]
) -> Played:
    """Play one machine, whose members are those of the party in the roster, to the end.

    A `TransportError` says that the relay cannot be reached or refuses, or that somebody has ended
    the run for everyone.
    """
    if (machine.role, machine.members) != (seat.party.role, seat.members):
        raise WireError(f"the machine plays other members than {seat.party.id} of the roster does")
    about: dict[str, Any] = {"party": seat.party.id, "rounds": rounds}
    if data := options.get("data"):
        about["data"] = data
    with closing(open_journal(options.get("journal"), seat, journal="party", **about)) as kept:
        try:
            player = _Player(machine, rounds, seat, office, kept, options.get("progress"))
            played = await player.play(options.get("sessions"), options.get("joined"))
            await office.leave()
            if finished := options.get("finished"):
                finished(played)
            kept.end()
            return played
        except RunOverError:
            kept.end()
            raise
        except MachineError as failure:
            kept.end()
            with suppress(TransportError):  # then the others will find out by waiting
                await office.abort(_reason(failure.error))
            raise failure.error from None
        except (ShareError, WireError) as error:
            if seat.party.relay:  # nobody can go on without it
                await office.abort(_reason(error))
                kept.end()
            raise


def _reason(error: SottovoceError) -> str:
    """What others learn; never what could be about this party's rows or files."""
    if isinstance(error, (AnswerError, FileError)):
        return f"its own data or files cannot be used ({type(error).__name__})"
    return str(error)


class MachineError(Exception):
    """A machine cannot go on; the run ends for everyone."""

    def __init__(self, error: SottovoceError) -> None:
        self.error = error


@dataclass
class _Player:
    machine: Machine[Any]
    rounds: int
    seat: Seat
    office: Office
    journal: Journal | NoJournal
    progress: Progress | None
    refused: list[str] = field(default_factory=list)
    own: list[Batch] = field(default_factory=list)  # between the party's members; never leaves it
    sent: int = 0
    received: int = 0

    async def play(
        self, sessions: Sessions | None, joined: Callable[[bytes], None] | None
    ) -> Played:
        closings, resumed = _closings(self.journal), self.journal.session
        if resumed is None or len(closings) <= self.rounds:
            session = await self.office.join()
            times = self._note(session, sessions)
        else:
            session = resumed  # nothing is needed from the relay any more
            times = 1 if sessions is None else sessions.note(session, resumed=True)
        if joined is not None:
            joined(session)
        self.post, self.state = Post(self.seat, session), self.machine.start()
        for number, records in enumerate(closings):
            await asyncio.to_thread(self._replay, number, records)
            self._say(number)
        if closings:
            await self._send(closings[-1], len(closings) - 1)
        for number in range(len(closings), self.rounds + 1):
            await self._round(number)
            self._say(number)
        refused, counted = tuple(self.refused), (self.sent, self.received)
        return Played(self.state, refused, (), times, session, *counted)

    def _note(self, session: bytes, sessions: Sessions | None) -> int:
        self.journal.check_session(session)
        if self.journal.session is None:
            if sessions is not None and session in sessions:
                return sessions.note(session)  # refused
            # Before the session is noted: a crash in between must not lock the party out.
            self.journal.begin(session)
        resumed = self.journal.session is not None
        return 1 if sessions is None else sessions.note(session, resumed=resumed)

    def _say(self, number: int) -> None:
        if self.progress is not None:
            self.progress(number, self.rounds)

    async def _round(self, number: int) -> None:
        await asyncio.to_thread(self._take_own)
        async for parcel in self.office.collect(number):
            self.received += len(parcel)
            self.journal.append(_RECEIVED, parcel)
            await asyncio.to_thread(self._take_parcel, parcel, number)
        if isinstance(self.journal, Journal):
            await self._send(await asyncio.to_thread(self._keep, self.journal, number), number)
            return
        sealed = self._close(number)
        while parcel := await asyncio.to_thread(next, sealed, b""):
            self.sent += len(parcel)
            await self.office.post(parcel)
        await self._done(number)

    # --- the machine at work: this may take long and runs beside the event loop ------------------

    def _take_own(self) -> None:
        for batch in filter(len, self.own):
            self._take(batch)

    def _take_parcel(self, parcel: bytes, number: int) -> None:
        try:
            batch = self.post.open(parcel, number)
        except (ShareError, WireError) as error:
            self.refused.append(str(error))
        else:
            self._take(batch)

    def _take(self, batch: Batch) -> None:
        try:
            self._step(Inbox((batch,)))
        except (ShareError, WireError) as error:
            self.refused.append(str(error))

    def _step(self, inbox: Inbox) -> Outbox:
        with _ending_the_run():
            self.state, outbox = self.machine.step(self.state, inbox)
        return outbox

    def _close(self, number: int) -> Iterator[bytes]:
        """Close a round; what is sent then, one parcel after the other."""
        batches, self.own = iter(self._step(Inbox(closed=number)).batches), []
        while True:
            with _ending_the_run():
                batch = next(batches, None)
            if batch is None:
                return
            if batch.round != number + 1:
                raise WireError(f"{batch.kind!r} of round {batch.round} is sent in {number + 1}")
            if batch.sent_to is self.machine.role:
                self.own.append(batch.for_members(self.machine.members))
            for parcel in self.post.parcels(batch):
                if len(parcel) > MOST_BYTES:
                    raise MachineError(
                        ParameterError(
                            f"a message {batch.kind!r} has {len(parcel):,} bytes, and "
                            f"{MOST_BYTES:,} are allowed; a protocol divides larger ones into "
                            "several rows"
                        )
                    )
                yield parcel

    # --- the journal -----------------------------------------------------------------------------

    def _keep(self, journal: Journal, number: int) -> list[Record]:
        """Close a round; everything that is sent then is on disk when this returns."""
        kept = []
        for parcel in self._close(number):
            self.sent += len(parcel)
            kept.append(journal.append(_SENT, parcel))
        for batch in filter(len, self.own):
            journal.append(_OWN, encode_batch(batch, self.post.envelope))
        journal.append(_CLOSED, b"")
        journal.sync()
        return kept

    def _replay(self, number: int, records: list[Record]) -> None:
        """Close a round after a restart: what the machine would send now is never looked at."""
        self._take_own()
        own = []
        for record in records:
            if record.kind == _RECEIVED:
                self.received += record.size
                self._take_parcel(self.journal.read(record), number)
            elif record.kind == _SENT:
                self.sent += record.size
            elif record.kind == _OWN:
                own.append(decode_batch(self.journal.read(record), expect=self.post.envelope))
        self._step(Inbox(closed=number))
        self.own = own

    async def _send(self, records: list[Record], number: int) -> None:
        for record in records:
            if record.kind == _SENT:
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


@contextmanager
def _ending_the_run() -> Iterator[None]:
    """What a machine raises ends the run, unless it is about messages."""
    try:
        yield
    except (ShareError, WireError):
        raise
    except SottovoceError as error:
        raise MachineError(error) from error


def _closings(journal: Journal | NoJournal) -> list[list[Record]]:
    """The records of every round that was closed; what came of an open one is asked for again."""
    closings: list[list[Record]] = []
    reached = 0
    for k, record in enumerate(journal.records):
        if record.kind == _CLOSED:
            closings.append(list(journal.records[reached:k]))
            reached = k + 1
    journal.drop_after(reached)
    return closings
