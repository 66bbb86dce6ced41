"""Two-stage sampling with a fixed committee: Shamir shares, so that drop-outs do no harm.

Round 1   S1 elects K users once and publishes them
Round 2   user i sends every member a Shamir share (threshold φ + 1) of each item in A_i
Round 3   members tell each other from whom they have which items, and a random number each
Round 4   each member sends the members a digest of whom all have who spoke in round 3
Round 5   a member who has the same digest from at least Q = ⌊(K + φ)/2⌋ + 1 members opens: it sends
          S2 the sums over these people, once
End       S2 reconstructs from sums of one digest, at least φ + 1; all others must agree with them

Two sets of Q members share an honest one even if φ members say different things to different
people, and an honest member sends one digest: two sets of senders are never both opened. Sending
sum and digest together would not do: two groups of φ + 1 members could open two sums, and their
difference is somebody's answer. A run survives K − Q members who drop out. S2 does not learn m_j.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..randomness import Source
from ..sharing import Elements, PrimeField, shamir
from ..transport import EVERYONE, Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import Columns, check_batch
from .receiving import Outcome
from .selection import elect

DIGEST_BYTES = 32
_NOBODY = -1


def quorum(committee: int, collusion: int) -> int:
    """Q: how many members must agree on the senders."""
    return (committee + collusion) // 2 + 1


@dataclass(frozen=True, eq=False)
class CommitteeElector(Machine[int]):
    """S1, who elects the committee and learns nothing else."""

    people: int
    committee: int
    source: Source
    role: Role = Role.S1
    members: range = range(1)

    def start(self) -> int:
        return _NOBODY

    def step(self, state: int, inbox: Inbox) -> tuple[int, Outbox]:
        if inbox.closed != 0:
            return state if inbox.closed is None else inbox.closed, Outbox()
        ids = elect(self.people, self.committee, self.source)
        s1 = np.zeros(ids.size, np.int64)
        everyone, seat = np.full(ids.size, EVERYONE), np.arange(ids.size)
        lists = {"member": ids}
        return 0, Outbox(
            (
                Batch("committee", 1, Role.S1, Role.USER, s1, everyone, lists, seat),
                Batch("committee", 1, Role.S1, Role.S2, s1, s1, lists, seat),
            )
        )


def committee_seats(batch: Batch, committee: int, people: int) -> NDArray[np.int64]:
    """The members in the order of their points; refused where that is no committee."""
    ids = batch.payload["member"][np.argsort(batch.order)]
    if ids.size != committee or np.unique(ids).size != ids.size or ids.max() >= people:
        raise WireError(f"S1 published no committee of {committee} different users")
    return np.asarray(ids)


@dataclass(frozen=True, eq=False)
class Opened:
    """What S2 has received: sum, number of people and digest by member."""

    seats: NDArray[np.int64] | None = None
    sums: dict[int, tuple[Elements, int, bytes]] = field(default_factory=dict)
    repeated: frozenset[int] = frozenset()
    closed: int = -1
    outcome: Outcome | None = None


@dataclass(frozen=True, eq=False)
class CommitteeSummer(Machine[Opened]):
    """S2, who reconstructs the sums."""

    people: int
    items: int
    committee: int
    collusion: int
    field: PrimeField
    role: Role = Role.S2
    members: range = range(1)

    def start(self) -> Opened:
        return Opened()

    def step(self, state: Opened, inbox: Inbox) -> tuple[Opened, Outbox]:
        for batch in inbox.batches:
            state = self._hear(state, batch)
        if inbox.closed is None:
            return state, Outbox()
        state = replace(state, closed=inbox.closed)
        if inbox.closed == 5:
            state = replace(state, outcome=self._finish(state))
        return state, Outbox()

    def _hear(self, state: Opened, batch: Batch) -> Opened:
        if batch.kind == "committee":
            check_batch(batch, 1, state.closed, Role.S1, 1, {"member": (np.int64, ())})
            return replace(state, seats=committee_seats(batch, self.committee, self.people))
        columns: Columns = {
            "sum": (np.uint64, (self.items,)),
            "people": (np.int64, ()),
            "digest": (np.uint8, (DIGEST_BYTES,)),
        }
        check_batch(batch, 5, state.closed, Role.USER, self.people, columns)
        if state.seats is None or not np.isin(batch.sender, state.seats).all():
            raise WireError("a sum came from somebody who is not in the committee")
        rows = self.field.check(batch.payload["sum"])
        received = {
            int(who): (row, int(people), digest.tobytes())
            for who, row, people, digest in zip(
                batch.sender, rows, batch.payload["people"], batch.payload["digest"], strict=True
            )
        }
        again = frozenset(received) & frozenset(state.sums)
        return replace(state, sums=state.sums | received, repeated=state.repeated | again)

    def _finish(self, state: Opened) -> Outcome:
        everything = range(self.items)
        seats = [] if state.seats is None else state.seats.tolist()
        usable = {who: s for who, s in state.sums.items() if who not in state.repeated}
        kinds = {(people, digest) for _, people, digest in usable.values()}
        if len(kinds) > 1:
            return Outcome(None, dict.fromkeys(everything, "members speak of different senders"))
        if len(usable) <= self.collusion:
            why = f"{len(usable)} members opened a sum; {self.collusion + 1} are needed"
            return Outcome(None, dict.fromkeys(everything, why))
        points = [seats.index(who) + 1 for who in usable]
        rows = np.stack([row for row, _, _ in usable.values()])
        totals, failed = np.zeros(self.items, np.uint64), {}
        for j in everything:
            try:
                totals[j] = shamir.reconstruct(
                    self.field, points, rows[:, j], threshold=self.collusion + 1
                )
            except ShareError as error:
                failed[j] = str(error)
        ((present, _),) = kinds
        return Outcome(totals, failed, np.arange(self.people) < present)
