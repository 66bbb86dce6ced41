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
from ..sharing import Elements, additive
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Elector(RoundMachine[Reported]):
    """S1. `collusion` is φ, or None for Algorithm 3."""

    reported: int
    collusion: int | None
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
    return set_digest(int(item).to_bytes(8, "little"), pack(senders).tobytes())


@dataclass(frozen=True, eq=False)
class Electorate(Phase):
    """What users know: the elected, the seats that they hold, and what to expect there.

    The seat of user k for item j is j n + k; seats are in ascending order.
    """

    elected: dict[int, Indices] = field(default_factory=dict)
    arrived: Flags | None = None
    expected: dict[int, bytes] = field(default_factory=dict)
    seats: Indices = field(default_factory=lambda: np.empty(0, np.int64))
    gathered: Gathered = field(default_factory=lambda: Gathered.empty(0, 1, 0))


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportingUsers(RoundMachine[Electorate]):
    """Users; rows of `secrets` and `sets` belong to the members."""

    members: range
    secrets: Elements
    sets: Flags
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
            lists = elected_lists(batch, self.items, self.people)
            return replace(state, elected=lists), 0
        if batch.kind == "arrived":
            return replace(state, arrived=unpack(batch.payload["users"][0], self.people)), 0
        if batch.kind == "senders":
            rows = zip(self._seat(batch).tolist(), batch.payload["senders"], strict=True)
            notices = {seat: row.tobytes() for seat, row in rows}
            return replace(state, expected=state.expected | notices), 0
        seat = self._seat(batch)
        known = np.isin(seat, state.seats) & (batch.receiver != EVERYONE)
        if not known.all():
            j = int(batch.order[~known][0])
            raise ShareError(f"a share of item {j} came to somebody who was not elected for it")
        slot, shares = np.searchsorted(state.seats, seat), batch.payload["share"]
        gathered = state.gathered.add(self.field, shares, batch.sender, slot)
        return replace(state, gathered=gathered), len(batch)

    def _seat(self, batch: Batch) -> Indices:
        return batch.order * self.people + batch.receiver

    def close(self, state: Electorate, number: int) -> tuple[Electorate, Outbox]:
        mine = np.arange(len(self.members)) + self.members.start
        if number == 0:
            s1 = np.zeros(len(mine), np.int64)
            notices = Batch("items", 1, Role.USER, Role.S1, mine, s1, {"items": self.sets})
            return state, Outbox((notices,))
        if number == 2:
            sets = self._to_report(state)
            work = sum(int(sets[:, j].sum()) * (ids.size - 1) for j, ids in state.elected.items())
            shares = self._shares(state.elected, sets)
            held = [j * self.people + ids[np.isin(ids, mine)] for j, ids in state.elected.items()]
            seats = np.sort(np.concatenate([state.seats, *held]))
            state = replace(state, seats=seats, gathered=Gathered.empty(seats.size, 1, self.people))
            return state, Outbox(shares, sampled=work, added=work)
        if number == 3:
            # The first share of a sum is not added to anything.
            first = int(state.gathered.seen.any(axis=1).sum())
            return state, Outbox(self._sums(state), added=-first)
        return state, Outbox()

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
        items, who = np.divmod(state.seats, max(1, self.people))
        whole = ~state.gathered.repeated
        for k in np.flatnonzero(whole):
            arrived = unpack(state.gathered.seen[k], self.people)
            whole[k] = state.expected.get(int(state.seats[k])) == sender_digest(items[k], arrived)
        for j in np.unique(items):
            for kind, right in (("sum", True), ("incomplete", False)):
                some = (items == j) & (whole == right)
                payload = {"sum": state.gathered.totals[some]} if right else {}
                if some.any():
                    s2 = np.zeros(some.sum(), np.int64)
                    yield Batch(kind, 4, Role.USER, Role.S2, who[some], s2, payload, items[some])


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

    sums: Gathered  # a row per item
    elected: Flags  # the same
    people: int = 0
    notes: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Summer(RoundMachine[Summed]):
    """S2: adds the sums of all elected users, or names why it cannot."""

    role: Role = Role.S2
    members: range = range(1)

    def start(self) -> Summed:
        nobody = np.zeros((self.items, self.people), bool)
        return Summed(Gathered.empty(self.items, 1, self.people), nobody)

    def forms(self) -> Mapping[str, Form]:
        return {
            "elected": _ELECTED,
            "sum": Form(4, Role.USER, self.people, {"sum": (np.uint64, (1,))}),
            "incomplete": Form(4, Role.USER, self.people, {}),
        }

    def take(self, state: Summed, batch: Batch) -> tuple[Summed, int]:
        if batch.kind == "elected":
            elected = np.zeros_like(state.elected)
            for j, ids in elected_lists(batch, self.items, self.people).items():
                elected[j, ids] = True
            present = int(batch.payload["people"][0]) if len(batch) else 0
            return replace(state, elected=elected, people=present), 0
        known = (batch.order >= 0) & (batch.order < self.items)
        known[known] = state.elected[batch.order[known], batch.sender[known]]
        if not known.all():
            j = int(batch.order[~known][0])
            raise ShareError(f"a sum of item {j} came from somebody who was not elected for it")
        if batch.kind == "incomplete":
            items, first = np.unique(batch.order, return_index=True)
            rows = zip(items.tolist(), batch.sender[first].tolist(), strict=True)
            lost = {j: f"elected user {k} did not get exactly the shares due" for j, k in rows}
            return replace(state, notes=state.notes | lost), 0
        sums = state.sums.add(self.field, batch.payload["sum"], batch.sender, batch.order)
        return replace(state, sums=sums), len(batch)

    def close(self, state: Summed, number: int) -> tuple[Summed, Outbox]:
        if number != 4:
            return state, Outbox()
        first = int(state.sums.seen.any(axis=1).sum())
        return replace(state, outcome=self._outcome(state)), Outbox(added=-first)

    def _outcome(self, state: Summed) -> Outcome:
        if not state.elected.any():
            return self.nothing("S1 elected nobody")
        missing = state.elected & ~unpack(state.sums.seen, self.people)
        failed = {
            int(j): f"no sum of elected user {missing[j].argmax()}"
            for j in np.flatnonzero(missing.any(axis=1))
        }
        failed |= state.notes
        twice = np.flatnonzero(state.sums.repeated).tolist()
        failed |= dict.fromkeys(twice, "two sums of one elected user")
        present = np.arange(self.people) < state.people
        return Outcome(state.sums.totals[:, 0], failed, present)
