"""The relay: sealed parcels from everyone to everyone, round by round.

A round closes when all who take part have said that they are done with it, or when time is up. A
party that was not done is out of the run from then on, and nothing of what it sent in that round
is delivered: its messages reach all receivers or none. Parcels are handed out after the round has
closed, by sender and not as they came in.

A parcel is accepted once. The same bytes again get the same answer, so that a sender who got none
may repeat them; other bytes under the same name are refused.

The relay keeps neither times nor the order of arrival, and writes no log. It is trusted to deliver:
what it can break by dropping messages is the result, never the secrecy of a share.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from ..errors import TransportError, WireError
from .keys import Roster
from .sealing import check_head, read_head

#: Bytes of one parcel, at most.
MOST_BYTES = 1 << 26
#: Bytes that one party may send in one round.
MOST_ROUND_BYTES = 1 << 32


class Office(Protocol):
    """How a party reaches the relay: by calls in one process, or over HTTP."""

    async def join(self) -> bytes:
        """Take part; the session that is run."""

    async def post(self, parcel: bytes) -> None:
        """Send a parcel; again and again, until it is there or refused."""

    async def done(self, round_number: int) -> None:
        """Say that everything of a round was sent."""

    def collect(self, round_number: int) -> AsyncIterator[bytes]:
        """All parcels to this party, once the round is closed."""


@dataclass
class Patience:
    """How long the relay waits, in seconds.

    Attributes
    ----------
    gathering : float
        For all parties to join.
    round : float
        For all parties to be done with a round.
    """

    gathering: float = 600.0
    round: float = 600.0


class Relay:
    """The mailboxes of one session.

    Parameters
    ----------
    roster : Roster
        All parties.
    study, session : bytes
        What is run; every parcel must say the same.
    rounds : int
        How many rounds there are.
    patience : Patience, optional
        When to go on without those who are missing.
    """

    def __init__(
        self,
        roster: Roster,
        study: bytes,
        session: bytes,
        rounds: int,
        patience: Patience | None = None,
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

    async def conduct(self) -> None:
        """Close one round after the other; returns when all who are left have the last one."""
        for closing in range(self.rounds + 2):
            seconds = self.patience.round if closing else self.patience.gathering
            await self._wait_for(partial(self._all_done, closing), seconds)
            self._leave_behind(closing)
            async with self._changed:
                self.closed = closing
                self._changed.notify_all()

    def _all_done(self, number: int) -> bool:
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

    def _refuse_missing(self, name: str) -> None:
        if name in self.missing:
            number = self.missing[name]
            when = f"went on after round {number}" if number else "began"
            raise TransportError(f"{name} was too late: the run {when} without it")

    async def join(self, name: str) -> bytes:
        """A party takes part."""
        self._refuse_missing(name)
        async with self._changed:
            self._reached.setdefault(name, 0)
            self._changed.notify_all()
        return self.session

    def accept(self, name: str, parcel: bytes) -> None:
        """Take a parcel from a party.

        Raises
        ------
        WireError, TransportError
            For what is no parcel of this run from this party, comes too late, or is too much.
        """
        if len(parcel) > MOST_BYTES:
            raise WireError(f"a parcel from {name} has more than {MOST_BYTES:,} bytes; refused")
        head = read_head(parcel)
        check_head(head, self.roster, self.study, self.session)
        if head.sender != name:
            raise WireError(f"{head.name} was sent by {name}; refused")
        key = (head.sender, head.receiver, head.round, head.sequence)
        digest = hashlib.sha256(parcel).digest()
        if key in self._seen:
            if self._seen[key] == digest:
                return
            raise WireError(f"{head.name} was there already with other content; refused")
        self._refuse_missing(name)
        expected = self._reached.get(name, -1) + 1
        if head.round != expected or not 1 <= head.round <= min(self.closed + 1, self.rounds):
            raise TransportError(f"{head.name} does not belong to the round that is open; refused")
        total = self._sent.get((name, head.round), 0) + len(parcel)
        if total > MOST_ROUND_BYTES:
            raise WireError(f"{name} sent more than {MOST_ROUND_BYTES:,} bytes in one round")
        self._sent[name, head.round] = total
        self._seen[key] = digest
        box = self._boxes.setdefault((head.receiver, head.round), {})
        box[self._order[name], head.sequence] = parcel

    async def done(self, name: str, round_number: int) -> None:
        """A party has sent everything of a round, and needs nothing of the round before it."""
        reached = self._reached.get(name, -1)
        if round_number <= reached:
            return
        self._refuse_missing(name)
        if round_number != reached + 1 or round_number > self.closed + 1:
            raise TransportError(f"{name} is done with round {round_number}, which is not open")
        async with self._changed:
            self._reached[name] = round_number
            self._sorted[name, round_number - 1] = []
            self._changed.notify_all()

    async def parcel(self, name: str, round_number: int, k: int, wait: float) -> bytes | None:
        """The k-th parcel to a party in a round that is closed; empty where there are no more.

        None where the round is not closed after so many seconds.
        """
        if not await self._wait_for(lambda: self.closed >= round_number, wait):
            return None
        self._refuse_missing(name)
        if (name, round_number) not in self._sorted:
            box = self._boxes.pop((name, round_number), {})
            self._sorted[name, round_number] = [box[key] for key in sorted(box)]
        parcels = self._sorted[name, round_number]
        return parcels[k] if k < len(parcels) else b""


class LocalOffice:
    """The relay's own party."""

    def __init__(self, relay: Relay, name: str) -> None:
        self._relay, self._name = relay, name

    async def join(self) -> bytes:
        return await self._relay.join(self._name)

    async def post(self, parcel: bytes) -> None:
        self._relay.accept(self._name, parcel)

    async def done(self, round_number: int) -> None:
        await self._relay.done(self._name, round_number)

    async def collect(self, round_number: int) -> AsyncIterator[bytes]:
        k = 0
        while True:
            parcel = await self._relay.parcel(self._name, round_number, k, 3600.0)
            if parcel is None:
                continue
            if not parcel:
                return
            yield parcel
            k += 1
