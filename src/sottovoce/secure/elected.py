"""Two-stage sampling with elected users (Algorithms 3 and 4).

Round 1   user i tells S1 which items they report, A_i
Round 2   S1 elects m'_j = max(φ + 1, m_j) distinct users for every item j that m_j people report
          (m_j without φ), publishes them to users and S2, tells users whose items arrived, and each
          elected user by a digest from whom shares will come
Round 3   user i sends a share of their answer to j to every elected user of j, for j in A_i
Round 4   an elected user who has exactly one share of exactly these senders sends the sum to S2
End       S2 adds the sums of all m'_j elected users (the printed Algorithm 4 stops at m_j, which
          leaves a uniform total where m_j < φ + 1)

Elected users are drawn without replacement; with replacement some would hold two shares.

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", Algorithms 3, 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..randomness import Source
from ..sharing import Elements, PrimeField, additive
from ..transport import EVERYONE, Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import Columns, check_batch
from .everyone import Gathered
from .receiving import pack, set_digest, unpack
from .selection import Flags, elect

_DIGEST = 32
_BLOCK = 1 << 22  # shares made at a time


@dataclass(frozen=True, eq=False)
class Reported:
    """Which items S1 received, a row per user, and from whom."""

    sets: Flags
    arrived: Flags
    repeated: Flags
    closed: int = -1


@dataclass(frozen=True, eq=False)
class Elector(Machine[Reported]):
    """S1. `collusion` is φ, or None for Algorithm 3; `exactly` are the only permitted senders."""

    people: int
    items: int
    reported: int
    collusion: int | None
    source: Source
    exactly: bytes | None = None
    role: Role = Role.S1
    members: range = range(1)

    def start(self) -> Reported:
        nobody = np.zeros(self.people, bool)
        return Reported(np.zeros((self.people, self.items), bool), nobody, nobody)

    def step(self, state: Reported, inbox: Inbox) -> tuple[Reported, Outbox]:
        for batch in inbox.batches:
            columns = {"items": (np.bool_, (self.items,))}
            check_batch(batch, 1, state.closed, Role.USER, self.people, columns)
            rows = batch.payload["items"]
            wrong = rows.sum(axis=1) != self.reported
            if wrong.any():
                raise WireError(
                    f"user {int(batch.sender[wrong][0])} reports {int(rows[wrong][0].sum())} items;"
                    f" everyone reports {self.reported}"
                )
            sets, arrived = state.sets.copy(), state.arrived.copy()
            counts = np.bincount(batch.sender, minlength=self.people)
            repeated = state.repeated | (counts > 1) | (state.arrived & (counts > 0))
            sets[batch.sender], arrived[batch.sender] = rows, True
            state = replace(state, sets=sets, arrived=arrived, repeated=repeated)
        if inbox.closed is None:
            return state, Outbox()
        state = replace(state, closed=inbox.closed)
        if inbox.closed != 1:
            return state, Outbox()
        present = state.arrived & ~state.repeated
        few = int(present.sum()) <= (self.collusion or 0)  # they might all work together
        if few or self.exactly not in (None, pack(present).tobytes()):
            return state, Outbox()
        return state, Outbox(self._elections(state.sets & present[:, None], present))

    def _elections(self, sets: Flags, present: Flags) -> Iterator[Batch]:
        chosen, item, digests = [], [], []
        for j in range(self.items):
            senders = sets[:, j]
            seats = int(senders.sum())
            if self.collusion is not None:
                seats = max(self.collusion + 1, seats)
            # A user whose items did not arrive is not elected; other seats stay empty.
            who = np.flatnonzero(present)
            seats = min(seats, who.size)
            chosen.append(who[elect(who.size, seats, self.source)])
            item.append(np.full(seats, j))
            digest = np.frombuffer(sender_digest(j, senders), np.uint8)
            digests.append(np.broadcast_to(digest, (seats, _DIGEST)))
        ids, order = np.concatenate(chosen), np.concatenate(item)
        s1, people = np.zeros(ids.size, np.int64), int(present.sum())
        lists = {"elected": ids, "people": np.full(ids.size, people)}
        everyone = np.full(ids.size, EVERYONE)
        yield Batch("elected", 2, Role.S1, Role.USER, s1, everyone, lists, order)
        yield Batch("elected", 2, Role.S1, Role.S2, s1, s1, lists, order)
        arrived, one = {"users": pack(present)[None]}, np.zeros(1, np.int64)
        yield Batch("arrived", 2, Role.S1, Role.USER, one, np.array([EVERYONE]), arrived)
        expected = {"senders": np.concatenate(digests)}
        yield Batch("senders", 2, Role.S1, Role.USER, s1, ids, expected, order)


def sender_digest(item: int, senders: Flags) -> bytes:
    """What S1 and an elected user compare: who shares an item."""
    return set_digest(item.to_bytes(8, "little"), pack(senders).tobytes())


@dataclass(frozen=True, eq=False)
class Seats:
    """The elected users of one item among a machine's members, in ascending order."""

    who: NDArray[np.int64]
    gathered: Gathered


@dataclass(frozen=True, eq=False)
class Electorate:
    """What users know: the elected, the seats that they hold, and what to expect there."""

    elected: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    arrived: Flags | None = None
    expected: dict[tuple[int, int], bytes] = field(default_factory=dict)
    seats: dict[int, Seats] = field(default_factory=dict)
    closed: int = -1


@dataclass(frozen=True, eq=False)
class ReportingUsers(Machine[Electorate]):
    """Users; rows of `secrets` and `sets` belong to the members."""

    members: range
    people: int
    field: PrimeField
    secrets: Elements
    sets: Flags
    source: Source
    role: Role = Role.USER

    @property
    def _items(self) -> int:
        return int(self.sets.shape[1])

    def start(self) -> Electorate:
        return Electorate()

    def step(self, state: Electorate, inbox: Inbox) -> tuple[Electorate, Outbox]:
        added = 0
        for batch in inbox.batches:
            state, more = self._hear(state, batch)
            added += more
        if inbox.closed is None:
            return state, Outbox(added=added)
        state = replace(state, closed=inbox.closed)
        if inbox.closed == 0:
            mine, s1 = self._mine, np.zeros(len(self.members), np.int64)
            notices = Batch("items", 1, Role.USER, Role.S1, mine, s1, {"items": self.sets})
            return state, Outbox((notices,))
        if inbox.closed == 2:
            state = self._seated(state)
            sets = self._to_report(state)
            work = sum(int(sets[:, j].sum()) * (ids.size - 1) for j, ids in state.elected.items())
            return state, Outbox(self._shares(state), sampled=work, added=work)
        if inbox.closed == 3:
            return state, Outbox(self._sums(state), added=-self._first(state))
        return state, Outbox()

    @property
    def _mine(self) -> NDArray[np.int64]:
        return np.arange(len(self.members)) + self.members.start

    def _hear(self, state: Electorate, batch: Batch) -> tuple[Electorate, int]:
        if batch.kind == "elected":
            columns = {"elected": (np.int64, ()), "people": (np.int64, ())}
            check_batch(batch, 2, state.closed, Role.S1, 1, columns)
            return replace(state, elected=elected_lists(batch, self._items, self.people)), 0
        if batch.kind == "arrived":
            bits: Columns = {"users": (np.uint8, (-(-self.people // 8),))}
            check_batch(batch, 2, state.closed, Role.S1, 1, bits)
            return replace(state, arrived=unpack(batch.payload["users"][0], self.people)), 0
        if batch.kind == "senders":
            check_batch(batch, 2, state.closed, Role.S1, 1, {"senders": (np.uint8, (_DIGEST,))})
            rows = zip(batch.order, batch.receiver, batch.payload["senders"], strict=True)
            notices = {(int(j), int(k)): row.tobytes() for j, k, row in rows}
            return replace(state, expected=state.expected | notices), 0
        check_batch(batch, 3, state.closed, Role.USER, self.people, {"share": (np.uint64, (1,))})
        seats = dict(state.seats)
        for j in np.unique(batch.order).tolist():
            part = batch if (batch.order == j).all() else batch.select(batch.order == j)
            if j not in seats or not np.isin(part.receiver, seats[j].who).all():
                raise ShareError(f"a share of item {j} came to somebody who was not elected for it")
            slot = np.searchsorted(seats[j].who, part.receiver)
            shares = part.payload["share"]
            gathered = seats[j].gathered.add(self.field, shares, slot, part.sender)
            seats[j] = Seats(seats[j].who, gathered)
        return replace(state, seats=seats), len(batch)

    def _seated(self, state: Electorate) -> Electorate:
        seats = {}
        for j, ids in state.elected.items():
            here = np.sort(ids[(ids >= self.members.start) & (ids < self.members.stop)])
            seats[j] = Seats(here, Gathered.empty(here.size, 1, self.people))
        return replace(state, seats=seats)

    def _to_report(self, state: Electorate) -> Flags:
        """Only those whom S1 arrived send shares; nobody expects others."""
        if state.arrived is None:
            return np.zeros_like(self.sets)
        return self.sets & state.arrived[self.members.start : self.members.stop, None]

    def _shares(self, state: Electorate) -> Iterator[Batch]:
        sets = self._to_report(state)
        for j, elected in state.elected.items():
            reporters = np.flatnonzero(sets[:, j])
            block = max(1, _BLOCK // max(1, elected.size))
            for start in range(0, reporters.size, block):
                some = reporters[start : start + block]
                secret = self.secrets[some, j]
                shares = additive.share(self.field, secret, elected.size, source=self.source)
                yield Batch(
                    "share",
                    3,
                    Role.USER,
                    Role.USER,
                    np.tile(some + self.members.start, elected.size),
                    np.repeat(elected, some.size),
                    {"share": shares.reshape(-1, 1)},
                    np.full(shares.size, j),
                )

    def _first(self, state: Electorate) -> int:
        """Sums with at least one share: its first share is not added to anything."""
        return sum(int(s.gathered.seen.any(axis=1).sum()) for s in state.seats.values())

    def _sums(self, state: Electorate) -> Iterator[Batch]:
        for j, seats in state.seats.items():
            if not seats.who.size:
                continue
            arrived = unpack(seats.gathered.seen, self.people)
            whole = np.array(
                [
                    state.expected.get((j, int(who))) == sender_digest(j, row)
                    for who, row in zip(seats.who, arrived, strict=True)
                ]
            )
            whole &= ~seats.gathered.repeated
            for kind, some in (("sum", whole), ("incomplete", ~whole)):
                ids = seats.who[some]
                payload = {"sum": seats.gathered.totals[some]} if kind == "sum" else {}
                if ids.size:
                    s2, item = np.zeros(ids.size, np.int64), np.full(ids.size, j)
                    yield Batch(kind, 4, Role.USER, Role.S2, ids, s2, payload, item)


def elected_lists(batch: Batch, items: int, people: int) -> dict[int, NDArray[np.int64]]:
    """The elected users of every item, in the order of their shares; refused where no election."""
    lists = {}
    for j in range(items):
        ids = batch.payload["elected"][batch.order == j]
        if np.unique(ids).size != ids.size or ((ids < 0) | (ids >= people)).any():
            raise WireError(f"S1 elected somebody twice, or who is not on the roster, for item {j}")
        lists[j] = ids
    return lists
