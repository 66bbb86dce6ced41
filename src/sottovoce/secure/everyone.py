"""A secure sum to the letter of Algorithm 2: every user sends one share to every user.

Round 1   user i splits their vector into n shares and sends share k to user k
Round 2   user k, who has exactly one share of everyone, sends the sum of them to the aggregator
End       the aggregator adds the n sums

Any users but one learn nothing from the shares; one missing share leaves a uniform total, so that
every user must have arrived everyone, and the aggregator all users. It costs n² N elements.

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..randomness import Source
from ..sharing import Elements, PrimeField, additive
from ..transport import Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import Columns, check_batch
from .receiving import Bits, Outcome, empty_bits, name_some, unpack

_BLOCK = 1 << 22  # elements shared at a time
REPEATED, TOO_FEW, OTHERS = -1, -2, -3
#: Why somebody sends no sum, where it is not that somebody's share is missing.
WHY = {
    REPEATED: "two shares of one sender",
    TOO_FEW: "shares of fewer people than the promise needs",
    OTHERS: "shares of other people than the coins were used for",
}


@dataclass(frozen=True, eq=False)
class Gathered:
    """Sums over the senders that were arrived, one row per receiver."""

    totals: Elements
    seen: Bits
    repeated: NDArray[np.bool_]
    closed: int = -1

    @classmethod
    def empty(cls, receivers: int, width: int, senders: int) -> Gathered:
        """Nobody was arrived."""
        totals = np.zeros((receivers, width), np.uint64)
        return cls(totals, empty_bits(receivers, senders), np.zeros(receivers, bool))

    def add(
        self, field: PrimeField, shares: Elements, slot: NDArray[np.int64], who: NDArray[np.int64]
    ) -> Gathered:
        """With more shares; a sender's second one is not added, and marks its receiver."""
        from ..kernels import field as kernel

        totals, seen, repeated = self.totals.copy(), self.seen.copy(), self.repeated.copy()
        kernel.add_once(field.check(shares), slot, who, field.word, seen, totals, repeated)
        return replace(self, totals=totals, seen=seen, repeated=repeated)


@dataclass(frozen=True, eq=False)
class SharingUsers(Machine[Gathered]):
    """Users who share vectors with all users; `secrets` has a row per member."""

    members: range
    people: int
    field: PrimeField
    secrets: Elements
    source: Source
    role: Role = Role.USER

    @property
    def _width(self) -> int:
        return int(self.secrets.shape[1])

    def start(self) -> Gathered:
        return Gathered.empty(len(self.members), self._width, self.people)

    def step(self, state: Gathered, inbox: Inbox) -> tuple[Gathered, Outbox]:
        added = 0
        for batch in inbox.batches:
            columns = {"share": (np.uint64, (self._width,))}
            check_batch(batch, 1, state.closed, Role.USER, self.people, columns)
            slot = batch.receiver - self.members.start
            if ((slot < 0) | (slot >= len(self.members))).any():
                raise WireError("a share is for one user; these came to nobody or to everyone")
            state = state.add(self.field, batch.payload["share"], slot, batch.sender)
            added += len(batch) * self._width
        if inbox.closed is None:
            return state, Outbox(added=added)
        state = replace(state, closed=inbox.closed)
        drawn = len(self.members) * (self.people - 1) * self._width
        if inbox.closed == 0:
            return state, Outbox(self._shares(), sampled=drawn, added=drawn)
        if inbox.closed == 1:
            # The first share of a sum is not added to anything.
            return state, Outbox(self._sums(state), added=-len(self.members) * self._width)
        return state, Outbox()

    def _shares(self) -> Iterator[Batch]:
        block = max(1, _BLOCK // (self.people * self._width))
        everyone = np.arange(self.people)
        for start in range(0, len(self.members), block):
            secrets = self.secrets[start : start + block]
            shares = additive.share(self.field, secrets, self.people, source=self.source)
            mine = np.arange(start, start + len(secrets)) + self.members.start
            yield Batch(
                "share",
                1,
                Role.USER,
                Role.USER,
                np.tile(mine, self.people),
                np.repeat(everyone, len(mine)),
                {"share": shares.reshape(-1, self._width)},
            )

    def _sums(self, state: Gathered) -> Iterator[Batch]:
        arrived = unpack(state.seen, self.people)
        whole = arrived.all(axis=1) & ~state.repeated
        mine = np.arange(len(self.members)) + self.members.start
        to = np.zeros(len(mine), np.int64)
        payload = {"sum": state.totals[whole]}
        yield Batch("sum", 2, Role.USER, Role.AGGREGATOR, mine[whole], to[whole], payload)
        if not whole.all():
            first = np.where(state.repeated, REPEATED, arrived.argmin(axis=1))[~whole]
            lost = {"missing": first.astype(np.int64)}
            yield Batch("incomplete", 2, Role.USER, Role.AGGREGATOR, mine[~whole], to[~whole], lost)


@dataclass(frozen=True, eq=False)
class Adding:
    """What an aggregator has arrived."""

    gathered: Gathered
    notes: tuple[str, ...] = ()
    groups: dict[int, bytes] | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, eq=False)
class Aggregator(Machine[Adding]):
    """Adds one vector of each of `parts` senders of one role, or names why it cannot.

    Attributes
    ----------
    grouped : int
        With helpers: of so many people each says whose shares its sum is of; they must agree.
    """

    parts: int
    field: PrimeField
    width: int
    sent_by: Role
    number: int
    grouped: int = 0
    role: Role = Role.AGGREGATOR
    members: range = range(1)

    def start(self) -> Adding:
        return Adding(Gathered.empty(1, self.width, self.parts), groups={})

    def step(self, state: Adding, inbox: Inbox) -> tuple[Adding, Outbox]:
        added = 0
        for batch in inbox.batches:
            closed = state.gathered.closed
            if batch.kind == "incomplete":
                lost: Columns = {"missing": (np.int64, ())}
                check_batch(batch, self.number, closed, self.sent_by, self.parts, lost)
                state = replace(state, notes=(*state.notes, *self._incomplete(batch)))
                continue
            columns: Columns = {"sum": (np.uint64, (self.width,))}
            if self.grouped:
                columns = {**columns, "senders": (np.uint8, (-(-self.grouped // 8),))}
            check_batch(batch, self.number, closed, self.sent_by, self.parts, columns)
            groups = dict(state.groups or {})
            if self.grouped:
                rows = batch.payload["senders"]
                groups |= {int(k): row.tobytes() for k, row in zip(batch.sender, rows, strict=True)}
            slot = np.zeros(len(batch), np.int64)
            gathered = state.gathered.add(self.field, batch.payload["sum"], slot, batch.sender)
            state = replace(state, gathered=gathered, groups=groups)
            added += len(batch) * self.width
        if inbox.closed is None:
            return state, Outbox(added=added)
        state = replace(state, gathered=replace(state.gathered, closed=inbox.closed))
        if inbox.closed == self.number:
            state, added = replace(state, outcome=self._finish(state)), -self.width
        return state, Outbox(added=added)

    def _incomplete(self, batch: Batch) -> list[str]:
        name, rows = self.sent_by.value, zip(batch.sender, batch.payload["missing"], strict=True)
        return [
            f"{name} {who} has {WHY.get(int(what), f'no share of {what}')}"
            for who, what in list(rows)[:5]
        ]

    def _finish(self, state: Adding) -> Outcome:
        arrived = unpack(state.gathered.seen, self.parts)[0]
        notes = list(state.notes)
        if not arrived.all():
            notes.append(f"no sum of {name_some(np.flatnonzero(~arrived), self.sent_by.value)}")
        if state.gathered.repeated[0]:
            notes.append(f"two sums of one {self.sent_by.value}")
        groups = set((state.groups or {}).values())
        if len(groups) > 1:
            notes.append("the helpers added up shares of different people")
        if notes:
            return Outcome(None, dict.fromkeys(range(self.width), "; ".join(notes)))
        senders = np.ones(self.parts, bool)
        if self.grouped:
            bits = np.frombuffer(next(iter(groups)), np.uint8)
            senders = unpack(bits, self.grouped)
        return Outcome(state.gathered.totals[0], {}, senders)
