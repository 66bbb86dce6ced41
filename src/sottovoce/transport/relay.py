"""The relay: sealed parcels from everyone to everyone, round by round.

A round closes when all who take part have said that they are done with it, or when time is up. A
party that was not done is out of the run from then on, and nothing of what it sent in that round
is delivered: its messages reach all receivers or none. Parcels are handed out after the round has
closed, by sender and not as they came in.

A parcel is accepted once. The same bytes again get the same answer, so that a sender who got none
may repeat them; other bytes under the same name are refused.

Anybody in the roster can end the run for everyone, with a reason. It ends before it begins where
nobody would have the result.

The relay keeps neither times nor the order of arrival, and writes no log. It is trusted to deliver:
what it can break by dropping messages is the result, never the secrecy of a share. With a journal,
which is meant for runs between organisations, the sealed parcels are in a private file until the
run has ended, in the order of arrival; what was accepted is on disk before the sender has an
answer, so that a relay that was killed goes on in the same session.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ..errors import TransportError, WireError
from .batch import Role
from .journal import Journal, NoJournal
from .keys import Roster
from .office import RunOverError
from .sealing import Head, check_head, read_head

#: Bytes of one parcel, at most.
MOST_BYTES = 1 << 26
#: Bytes that one party may send in one round.
MOST_ROUND_BYTES = 1 << 32
#: Characters of the reason for which somebody ends a run.
MOST_REASON = 500
#: Who has the result of a run with people's hosts.
_RECIPIENTS = (Role.AGGREGATOR, Role.S2)
_TELL_SECONDS = 20.0
_MOST_STRANGERS = 16
_PARCEL, _DONE, _CLOSED, _ABORTED = b"p", b"d", b"c", b"a"


@dataclass
class Patience:
    """How long the relay waits, in seconds."""

    gathering: float = 600.0  # for all parties to join
    round: float = 600.0  # for all parties to be done with a round


class Relay:
    """The mailboxes of one session; every parcel must name its study and session.

    A journal has everything that a restarted relay needs; the session in it goes on.
    """

    def __init__(
        self,
        roster: Roster,
        study: bytes,
        session: bytes,
        rounds: int,
        patience: Patience | None = None,
        journal: Journal | NoJournal | None = None,
    ) -> None:
        self.roster, self.study, self.session, self.rounds = roster, study, session, rounds
        self.patience = patience or Patience()
        self.closed = -1  # later parcels of this round are ignored; 0: the run has begun
        self.missing: dict[str, int] = {}  # who is out, and since which round
        self._order = {party.id: k for k, party in enumerate(roster)}
        self._reached: dict[str, int] = {}  # the last round that a party is done with
        self._boxes: dict[tuple[str, int], dict[tuple[int, int], bytes]] = {}
        self._sorted: dict[tuple[str, int], list[bytes]] = {}  # of rounds that are closed
        self._seen: dict[tuple[str, str, int, int], bytes] = {}
        self._sent: dict[tuple[str, int], int] = {}
        self._changed = asyncio.Condition()
        self.aborted: str | None = None  # who has ended the run, and why
        self.over = False
        self.strangers: list[str] = []  # who came with another study
        self.informed: set[str] = set()  # who knows that it was ended
        self._turned_away: set[str] = set()  # who ended it by coming with another study
        self._journal = journal or NoJournal()
        self._syncing, self._synced = asyncio.Lock(), 0  # records that are on disk
        if self._journal.session is None:
            self._journal.begin(session)
        else:
            self.session = self._journal.session
            self._replay()

    def _replay(self) -> None:
        for record in self._journal.records:
            body = self._journal.read(record)
            if record.kind == _PARCEL:
                self._store(body, read_head(body), _digest(body))
                continue
            if record.kind == _ABORTED:
                self.aborted = body.decode()
                continue
            number, _, name = body.decode().partition(" ")
            if record.kind == _DONE:
                self._mark_done(name, int(number))
            else:
                self._leave_behind(int(number))
                self.closed = int(number)

    async def keep(self) -> None:
        """Return when everything that was accepted is on disk, where there is a journal."""
        written = len(self._journal.records)
        async with self._syncing:
            if self._synced < written:  # else somebody else has seen to it in the meantime
                reached = len(self._journal.records)
                await asyncio.to_thread(self._journal.sync)
                self._synced = reached

    async def conduct(self) -> None:
        """Close one round after the other; returns when all who are left have the last one."""
        for closing in range(self.closed + 1, self.rounds + 2):
            seconds = self.patience.round if closing else self.patience.gathering
            await self._wait_for(partial(self._all_done, closing), seconds)
            if closing == 0:
                await self._check_recipient()
            if self.aborted is not None:
                break
            # From here on nothing more comes from those who are late, whatever is written next.
            self._journal.append(_CLOSED, f"{closing}".encode())
            self._leave_behind(closing)
            await self.keep()
            self.closed = closing
            await self._notify()
        self.over = True
        await self._notify()

    async def _check_recipient(self) -> None:
        """End a run before it begins where nobody would have the result.

        Whoever has it counts how often people drew coins: coins of a run without it would be
        missing from the promise of the next.
        """
        recipients = [one.id for one in self.roster if one.role in _RECIPIENTS]
        absent = [name for name in recipients if name not in self._reached]
        if absent:
            await self._end(
                f"the run was ended before anything was sent: {', '.join(absent)}, who would have "
                "the result, did not come"
            )

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _all_done(self, number: int) -> bool:
        if self.aborted is not None:
            return True
        present = (name for name in self._order if name not in self.missing)
        return all(self._reached.get(name, -1) >= number for name in present)

    def _leave_behind(self, closing: int) -> None:
        for name in self._order:
            if name not in self.missing and self._reached.get(name, -1) < closing:
                self.missing[name] = closing
                for (_, number), box in self._boxes.items():
                    if number >= closing:
                        for key in [key for key in box if key[0] == self._order[name]]:
                            del box[key]

    async def _wait_for(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        async with self._changed:
            try:
                await asyncio.wait_for(self._changed.wait_for(condition), seconds)
            except TimeoutError:
                return False
        return True

    def _refuse_over(self, name: str) -> None:
        if self.aborted is not None:
            raise RunOverError(self.aborted)
        if name in self.missing:
            number = self.missing[name]
            when = f"went on after round {number}" if number else "began"
            raise RunOverError(f"{name} was too late: the run {when} without it")

    async def join(self, name: str) -> bytes:
        """A party takes part."""
        self._refuse_over(name)
        if name not in self._reached:
            await self._set_done(name, 0)
        return self.session

    async def abort(self, name: str, reason: str) -> None:
        """A party ends the run for everyone."""
        if name not in self.missing:
            await self._end(f"{name} ended the run: {reason}")

    async def _end(self, reason: str) -> None:
        if self.aborted is None and not self.over:
            short = reason[:MOST_REASON]
            self.aborted = "".join(c if c.isprintable() else " " for c in short)
            self._journal.append(_ABORTED, self.aborted.encode())
            await self._notify()
            await self.keep()

    async def tell_aborted(self) -> None:
        """Where the run was ended by somebody: return when all who are left know, or time is up."""
        if self.aborted is None:
            return
        left = {name for name, reached in self._reached.items() if reached <= self.rounds}
        left = (left | self._turned_away) - {*self.missing, self.roster.relay.id}
        end = time.monotonic() + _TELL_SECONDS
        while not left <= self.informed and time.monotonic() < end:
            await asyncio.sleep(0.02)

    async def wait_over(self) -> None:
        """Return when all who are left have the last round."""
        await self._wait_for(lambda: self.over, None)
        if self.aborted is not None:
            raise RunOverError(self.aborted)

    async def refuse_study(self, name: str | None, study: str) -> str:
        """Somebody came with another study; why that is refused.

        Between organisations everyone is needed: where one of them has another study, the run ends
        before it begins. Elsewhere it goes on without them, and the relay reports it.
        """
        reason = (
            f"{name or 'a party'} has the study {study[:12]}, and the relay "
            f"{self.study.hex()[:12]}: protocol, parameters or roster differ; compare the files"
        )
        if reason not in self.strangers and len(self.strangers) < _MOST_STRANGERS:
            self.strangers.append(reason)
        if name is not None and self.closed < 0 and self.roster.count(Role.PARTY):
            self._turned_away.add(name)
            await self._end(f"the run was ended: {reason}")
        return reason

    def accept(self, name: str, parcel: bytes) -> None:
        """Take a parcel; refused if none of this run from this party, too late, or too much."""
        if len(parcel) > MOST_BYTES:
            raise WireError(f"a parcel from {name} has more than {MOST_BYTES:,} bytes; refused")
        head = read_head(parcel)
        check_head(head, self.roster, self.study, self.session)
        if head.sender != name:
            raise WireError(f"{head.name} was sent by {name}; refused")
        key, digest = head.place, _digest(parcel)
        if key in self._seen:
            if self._seen[key] == digest:
                return
            raise WireError(f"{head.name} was there already with other content; refused")
        self._refuse_over(name)
        expected = self._reached.get(name, -1) + 1
        if head.round != expected or not 1 <= head.round <= min(self.closed + 1, self.rounds):
            raise TransportError(f"{head.name} does not belong to the round that is open; refused")
        if self._sent.get((name, head.round), 0) + len(parcel) > MOST_ROUND_BYTES:
            raise WireError(f"{name} sent more than {MOST_ROUND_BYTES:,} bytes in one round")
        self._journal.append(_PARCEL, parcel)
        self._store(parcel, head, digest)

    def _store(self, parcel: bytes, head: Head, digest: bytes) -> None:
        name = head.sender
        self._seen[head.place] = digest
        self._sent[name, head.round] = self._sent.get((name, head.round), 0) + len(parcel)
        box = self._boxes.setdefault((head.receiver, head.round), {})
        box[self._order[name], head.sequence] = parcel

    async def done(self, name: str, round_number: int) -> None:
        """A party has sent everything of a round, and needs nothing of the round before it."""
        reached = self._reached.get(name, -1)
        if round_number <= reached:
            return
        self._refuse_over(name)
        if round_number != reached + 1 or round_number > self.closed + 1:
            raise TransportError(f"{name} is done with round {round_number}, which is not open")
        await self._set_done(name, round_number)

    async def _set_done(self, name: str, round_number: int) -> None:
        self._journal.append(_DONE, f"{round_number} {name}".encode())
        self._mark_done(name, round_number)
        await self._notify()
        await self.keep()

    def _mark_done(self, name: str, round_number: int) -> None:
        self._reached[name] = round_number
        self._boxes.pop((name, round_number - 1), None)
        self._sorted[name, round_number - 1] = []

    async def parcel(self, name: str, round_number: int, k: int, wait: float) -> bytes | None:
        """The k-th parcel to a party in a round that is closed; empty where there are no more.

        None where the round is not closed after so many seconds.
        """
        closed = await self._wait_for(
            lambda: self.closed >= round_number or self.aborted is not None, wait
        )
        if not closed:
            return None
        self._refuse_over(name)
        if (name, round_number) not in self._sorted:
            box = self._boxes.pop((name, round_number), {})
            self._sorted[name, round_number] = [box[key] for key in sorted(box)]
        parcels = self._sorted[name, round_number]
        return parcels[k] if k < len(parcels) else b""


def _digest(parcel: bytes) -> bytes:
    return hashlib.sha256(parcel).digest()
