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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import ShareError, WireError
from ..randomness import Source
from ..sharing import Elements, PrimeField, additive
from ..transport import EVERYONE, Batch, Outbox, Role
from .receiving import (
    BLOCK,
    DIGEST_BYTES,
    ONE,
    Flags,
    Form,
    Gathered,
    Indices,
    Kept,
    Outcome,
    Phase,
    RoundMachine,
    pack,
    set_digest,
    unpack,
)
from .selection import elect

_ELECTED = Form(2, Role.S1, 1, {"elected": (np.int64, ()), "people": (np.int64, ())})


@dataclass(frozen=True, eq=False)
class Reported(Phase):
    """Which items S1 received, a row per user."""

    sets: Kept


@dataclass(frozen=True, eq=False)
class Elector(RoundMachine[Reported]):
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
        return Reported(Kept.empty((self.people,), bool, (self.items,)))

    def forms(self) -> Mapping[str, Form]:
        return {"items": Form(1, Role.USER, self.people, {"items": (np.bool_, (self.items,))})}

    def take(self, state: Reported, batch: Batch) -> tuple[Reported, int]:
        rows = batch.payload["items"]
        wrong = rows.sum(axis=1) != self.reported
        if wrong.any():
            raise WireError(
                f"user {int(batch.sender[wrong][0])} reports {int(rows[wrong][0].sum())} items;"
                f" everyone reports {self.reported}"
            )
        return replace(state, sets=state.sets.add(batch.sender, rows)), 0

    def close(self, state: Reported, number: int) -> tuple[Reported, Outbox]:
        if number != 1:
            return state, Outbox()
        present = state.sets.once
        state = replace(state, opened=pack(present).tobytes())
        few = int(present.sum()) <= (self.collusion or 0)  # they might all work together
        if few or self.exactly not in (None, state.opened):
            return state, Outbox()
        return state, Outbox(self._elections(state.sets.values & present[:, None], present))

    def _elections(self, sets: Flags, present: Flags) -> Iterator[Batch]:
        # A user whose items did not arrive is not elected; other seats stay empty.
        who = np.flatnonzero(present)
        chosen, item, digests = [], [], []
        for j in range(self.items):
            seats = int(sets[:, j].sum())
            if self.collusion is not None:
                seats = max(self.collusion + 1, seats)
            seats = min(seats, who.size)
            chosen.append(who[elect(who.size, seats, self.source)])
            item.append(np.full(seats, j))
            digest = np.frombuffer(sender_digest(j, sets[:, j]), np.uint8)
            digests.append(np.broadcast_to(digest, (seats, DIGEST_BYTES)))
        ids, order = np.concatenate(chosen), np.concatenate(item)
        s1, everyone = np.zeros(ids.size, np.int64), np.full(ids.size, EVERYONE)
        lists = {"elected": ids, "people": np.full(ids.size, who.size)}
        yield Batch("elected", 2, Role.S1, Role.USER, s1, everyone, lists, order)
        yield Batch("elected", 2, Role.S1, Role.S2, s1, s1, lists, order)
        arrived = {"users": pack(present)[None]}
        yield Batch("arrived", 2, Role.S1, Role.USER, ONE, np.array([EVERYONE]), arrived)
        expected = {"senders": np.concatenate(digests)}
        yield Batch("senders", 2, Role.S1, Role.USER, s1, ids, expected, order)


def sender_digest(item: int, senders: Flags) -> bytes:
    """What S1 and an elected user compare: who shares an item."""
    return set_digest(item.to_bytes(8, "little"), pack(senders).tobytes())


@dataclass(frozen=True, eq=False)
class Seats:
    """The elected users of one item among a machine's members, in ascending order."""

    who: Indices
    gathered: Gathered


@dataclass(frozen=True, eq=False)
class Electorate(Phase):
    """What users know: the elected, the seats that they hold, and what to expect there."""

    elected: dict[int, Indices] = field(default_factory=dict)
    arrived: Flags | None = None
    expected: dict[tuple[int, int], bytes] = field(default_factory=dict)
    seats: dict[int, Seats] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ReportingUsers(RoundMachine[Electorate]):
    """Users; rows of `secrets` and `sets` belong to the members."""

    members: range
    people: int
    field: PrimeField
    secrets: Elements
    sets: Flags
    source: Source
    role: Role = Role.USER

    def start(self) -> Electorate:
        return Electorate()

    def forms(self) -> Mapping[str, Form]:
        bits, digest = (np.uint8, (-(-self.people // 8),)), (np.uint8, (DIGEST_BYTES,))
        return {
            "elected": _ELECTED,
            "arrived": Form(2, Role.S1, 1, {"users": bits}),
            "senders": Form(2, Role.S1, 1, {"senders": digest}),
            "share": Form(3, Role.USER, self.people, {"share": (np.uint64, (1,))}),
        }

    def take(self, state: Electorate, batch: Batch) -> tuple[Electorate, int]:
        if batch.kind == "elected":
            lists = elected_lists(batch, int(self.sets.shape[1]), self.people)
            return replace(state, elected=lists), 0
        if batch.kind == "arrived":
            return replace(state, arrived=unpack(batch.payload["users"][0], self.people)), 0
        if batch.kind == "senders":
            rows = zip(batch.order, batch.receiver, batch.payload["senders"], strict=True)
            notices = {(int(j), int(k)): row.tobytes() for j, k, row in rows}
            return replace(state, expected=state.expected | notices), 0
        seats = dict(state.seats)
        for j in np.unique(batch.order).tolist():
            part = batch if (batch.order == j).all() else batch.select(batch.order == j)
            if j not in seats or not np.isin(part.receiver, seats[j].who).all():
                raise ShareError(f"a share of item {j} came to somebody who was not elected for it")
            slot = np.searchsorted(seats[j].who, part.receiver)
            shares = part.payload["share"]
            gathered = seats[j].gathered.add(self.field, shares, part.sender, slot)
            seats[j] = Seats(seats[j].who, gathered)
        return replace(state, seats=seats), len(batch)

    def close(self, state: Electorate, number: int) -> tuple[Electorate, Outbox]:
        if number == 0:
            mine = np.arange(len(self.members)) + self.members.start
            s1 = np.zeros(len(mine), np.int64)
            notices = Batch("items", 1, Role.USER, Role.S1, mine, s1, {"items": self.sets})
            return state, Outbox((notices,))
        if number == 2:
            sets = self._to_report(state)
            work = sum(int(sets[:, j].sum()) * (ids.size - 1) for j, ids in state.elected.items())
            shares = self._shares(state.elected, sets)
            return self._seated(state), Outbox(shares, sampled=work, added=work)
        if number == 3:
            # The first share of a sum is not added to anything.
            first = sum(int(s.gathered.seen.any(axis=1).sum()) for s in state.seats.values())
            return state, Outbox(self._sums(state), added=-first)
        return state, Outbox()

    def _seated(self, state: Electorate) -> Electorate:
        seats = {}
        for j, ids in state.elected.items():
            here = np.sort(ids[(ids >= self.members.start) & (ids < self.members.stop)])
            seats[j] = Seats(here, Gathered.empty(here.size, 1, self.people))
        return replace(state, seats=seats)

    def _to_report(self, state: Electorate) -> Flags:
        """Only those whose items reached S1 send shares; nobody expects others."""
        if state.arrived is None:
            return np.zeros_like(self.sets)
        return self.sets & state.arrived[self.members.start : self.members.stop, None]

    def _shares(self, lists: Mapping[int, Indices], sets: Flags) -> Iterator[Batch]:
        for j, elected in lists.items():
            reporters = np.flatnonzero(sets[:, j])
            block = max(1, BLOCK // max(1, elected.size))
            for start in range(0, reporters.size, block):
                some = reporters[start : start + block]
                secret = self.secrets[some, j]
                shares = additive.share(self.field, secret, elected.size, source=self.source)
                sender = np.tile(some + self.members.start, elected.size)
                receiver, item = np.repeat(elected, some.size), np.full(shares.size, j)
                payload = {"share": shares.reshape(-1, 1)}
                yield Batch("share", 3, Role.USER, Role.USER, sender, receiver, payload, item)

    def _sums(self, state: Electorate) -> Iterator[Batch]:
        for j, seats in state.seats.items():
            arrived = unpack(seats.gathered.seen, self.people)
            due = [
                state.expected.get((j, int(who))) == sender_digest(j, row)
                for who, row in zip(seats.who, arrived, strict=True)
            ]
            whole = np.array(due, bool) & ~seats.gathered.repeated
            for kind, some in (("sum", whole), ("incomplete", ~whole)):
                ids = seats.who[some]
                payload = {"sum": seats.gathered.totals[some]} if kind == "sum" else {}
                if ids.size:
                    s2, item = np.zeros(ids.size, np.int64), np.full(ids.size, j)
                    yield Batch(kind, 4, Role.USER, Role.S2, ids, s2, payload, item)


def elected_lists(batch: Batch, items: int, people: int) -> dict[int, Indices]:
    """The elected users of every item, in the order of their shares; refused where no election."""
    lists = {}
    for j in range(items):
        ids = batch.payload["elected"][batch.order == j]
        if np.unique(ids).size != ids.size or ((ids < 0) | (ids >= people)).any():
            raise WireError(f"S1 elected somebody twice, or who is not on the roster, for item {j}")
        lists[j] = ids
    return lists


@dataclass(frozen=True, eq=False)
class Summed(Phase):
    """What S2 has: who was elected, the sums by item, and why some are missing."""

    elected: dict[int, Indices] = field(default_factory=dict)
    people: int = 0
    sums: dict[int, Gathered] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Summer(RoundMachine[Summed]):
    """S2: adds the sums of all elected users, or names why it cannot."""

    people: int
    items: int
    field: PrimeField
    role: Role = Role.S2
    members: range = range(1)

    def start(self) -> Summed:
        return Summed()

    def forms(self) -> Mapping[str, Form]:
        return {
            "elected": _ELECTED,
            "sum": Form(4, Role.USER, self.people, {"sum": (np.uint64, (1,))}),
            "incomplete": Form(4, Role.USER, self.people, {}),
        }

    def take(self, state: Summed, batch: Batch) -> tuple[Summed, int]:
        if batch.kind == "elected":
            lists = elected_lists(batch, self.items, self.people)
            present = int(batch.payload["people"][0]) if len(batch) else 0
            return replace(state, elected=lists, people=present), 0
        lost = batch.kind == "incomplete"
        sums, notes = dict(state.sums), dict(state.notes)
        for j in np.unique(batch.order).tolist():
            part = batch.select(batch.order == j)
            if not np.isin(part.sender, state.elected.get(j, np.empty(0, np.int64))).all():
                raise ShareError(f"a sum of item {j} came from somebody who was not elected for it")
            if lost:
                notes[j] = f"elected user {int(part.sender[0])} did not get exactly the shares due"
                continue
            gathered = sums.get(j) or Gathered.empty(1, 1, self.people)
            sums[j] = gathered.add(self.field, part.payload["sum"], part.sender)
        return replace(state, sums=sums, notes=notes), 0 if lost else len(batch)

    def close(self, state: Summed, number: int) -> tuple[Summed, Outbox]:
        if number != 4:
            return state, Outbox()
        first = sum(bool(gathered.seen.any()) for gathered in state.sums.values())
        return replace(state, outcome=self._outcome(state)), Outbox(added=-first)

    def _outcome(self, state: Summed) -> Outcome:
        failed = dict(state.notes)
        totals = np.zeros(self.items, np.uint64)
        for j in range(self.items):
            if not state.elected:
                failed[j] = "S1 elected nobody"
                continue
            elected = state.elected[j]
            gathered = state.sums.get(j) or Gathered.empty(1, 1, self.people)
            arrived = unpack(gathered.seen, self.people)[0]
            missing = elected[~arrived[elected]]
            if j not in failed and missing.size:
                failed[j] = f"no sum of elected user {int(missing[0])}"
            if gathered.repeated[0]:
                failed[j] = "two sums of one elected user"
            totals[j] = gathered.totals[0, 0]
        return Outcome(totals, failed, np.arange(self.people) < state.people)
