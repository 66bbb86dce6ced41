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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..sharing import Elements, shamir
from ..transport import EVERYONE, Batch, Outbox, Role
from .receiving import (
    DIGEST_BYTES,
    ONE,
    Flags,
    Form,
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

_SALT = 16
_COMMITTEE = Form(1, Role.S1, 1, {"member": (np.int64, ())})
_DIGEST = (np.uint8, (DIGEST_BYTES,))


def quorum(committee: int, collusion: int) -> int:
    """Q: how many members must agree on the senders."""
    return (committee + collusion) // 2 + 1


@dataclass(frozen=True, eq=False, kw_only=True)
class CommitteeElector(RoundMachine[Phase]):
    """S1, who elects the committee and learns nothing else."""

    committee: int
    role: Role = Role.S1
    members: range = range(1)

    def close(self, state: Phase, number: int) -> tuple[Phase, Outbox]:
        if number != 0:
            return state, Outbox()
        ids = elect(self.people, self.committee, self.source)
        s1, everyone = np.zeros(ids.size, np.int64), np.full(ids.size, EVERYONE)
        seat, lists = np.arange(ids.size), {"member": ids}
        return state, Outbox(
            (
                Batch("committee", 1, Role.S1, Role.USER, s1, everyone, lists, seat),
                Batch("committee", 1, Role.S1, Role.S2, s1, s1, lists, seat),
            )
        )


def committee_seats(batch: Batch, committee: int, people: int) -> Indices:
    """The members in the order of their points; refused where that is no committee."""
    ids = batch.payload["member"][np.argsort(batch.order)]
    different = ids.size == np.unique(ids).size == committee
    if not different or ids.min() < 0 or ids.max() >= people:
        raise WireError(f"S1 published no committee of {committee} different users")
    return np.asarray(ids)


@dataclass(frozen=True, eq=False)
class Desk:
    """What one member holds: shares by person and item, and what the others said."""

    shares: Kept
    salt: bytes
    arrived: dict[int, tuple[Flags, bytes]] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)
    agreed: Flags | None = None
    digest: bytes = b""


@dataclass(frozen=True, eq=False)
class Committee(Phase):
    """What users know, and the desks of those who are members."""

    seats: Indices | None = None
    desks: dict[int, Desk] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class CommitteeUsers(RoundMachine[Committee]):
    """Users, some of whom may be members; rows of `secrets` and `sets` belong to the members."""

    members: range
    committee: int
    collusion: int
    secrets: Elements
    sets: Flags
    reported: int
    role: Role = Role.USER

    def start(self) -> Committee:
        return Committee()

    def forms(self) -> Mapping[str, Form]:
        bits = (np.uint8, (-(-self.people * self.items // 8),))
        have = {"have": bits, "salt": (np.uint8, (_SALT,))}
        return {
            "committee": _COMMITTEE,
            "share": Form(2, Role.USER, self.people, {"share": (np.uint64, (1,))}),
            "have": Form(3, Role.USER, self.people, have),
            "agreed": Form(4, Role.USER, self.people, {"digest": _DIGEST}),
        }

    def take(self, state: Committee, batch: Batch) -> tuple[Committee, int]:
        if batch.kind == "committee":
            return replace(state, seats=committee_seats(batch, self.committee, self.people)), 0
        desks = dict(state.desks)
        if not np.isin(batch.receiver, list(desks)).all():
            raise ShareError(f"{batch.kind!r} came to somebody who is not in the committee")
        if batch.kind == "share":
            if ((batch.order < 0) | (batch.order >= self.items)).any():
                raise WireError(f"user {int(batch.sender[0])} sent a share of an unknown item")
        elif state.seats is None or not np.isin(batch.sender, state.seats).all():
            raise WireError(f"{batch.kind!r} came from somebody who is not in the committee")
        for who in np.unique(batch.receiver).tolist():
            desks[who] = self._put(desks[who], batch.for_members(range(who, who + 1)))
        return replace(state, desks=desks), 0

    def _put(self, desk: Desk, batch: Batch) -> Desk:
        """One member's desk with more messages; of two notices what was said first counts."""
        if batch.kind == "share":
            shares = self.field.check(batch.payload["share"])[:, 0]
            return replace(desk, shares=desk.shares.add((batch.sender, batch.order), shares))
        if batch.kind == "have":
            rows = zip(batch.sender, batch.payload["have"], batch.payload["salt"], strict=True)
            cells = desk.shares.arrived.size
            notices = {
                int(k): (unpack(bits, cells).reshape(self.people, self.items), salt.tobytes())
                for k, bits, salt in rows
            }
            return replace(desk, arrived=notices | desk.arrived)
        said = zip(batch.sender, batch.payload["digest"], strict=True)
        digests = {int(k): digest.tobytes() for k, digest in said}
        return replace(desk, digests=digests | desk.digests)

    def close(self, state: Committee, number: int) -> tuple[Committee, Outbox]:
        seats, desks = state.seats, state.desks
        if seats is None:
            return state, Outbox()
        if number == 1:
            work = int(self.sets.sum()) * self.collusion
            desks = {who: self._desk() for who in seats.tolist() if who in self.members}
            outbox = Outbox(self._shares(seats), sampled=work, added=work * self.committee)
            return replace(state, desks=desks), outbox
        if number == 2:
            have = {
                who: {"have": pack(d.shares.once.reshape(-1)), "salt": np.frombuffer(d.salt, "u1")}
                for who, d in desks.items()
            }
            return state, Outbox(_notices("have", 3, seats, have))
        if number == 3:
            desks = {who: self._agree(desk) for who, desk in desks.items()}
            digests = {
                who: {"digest": np.frombuffer(desk.digest, np.uint8)}
                for who, desk in desks.items()
                if desk.agreed is not None
            }
            return replace(state, desks=desks), Outbox(_notices("agreed", 4, seats, digests))
        return self._open(state) if number == 4 else (state, Outbox())

    def _desk(self) -> Desk:
        salt = np.empty(_SALT, np.uint8)
        self.source.fill(salt)
        return Desk(Kept.empty((self.people, self.items), np.uint64), salt.tobytes())

    def _shares(self, seats: Indices) -> Iterator[Batch]:
        row, item = np.nonzero(self.sets)
        secrets, threshold = self.secrets[row, item], self.collusion + 1
        shares = shamir.share(
            self.field, secrets, self.committee, threshold=threshold, source=self.source
        )
        sender = row.astype(np.int64) + self.members.start
        for who, of_member in zip(seats.tolist(), shares, strict=True):
            to, payload = np.full(sender.size, who), {"share": of_member[:, None]}
            yield Batch("share", 2, Role.USER, Role.USER, sender, to, payload, item)

    def _agree(self, desk: Desk) -> Desk:
        """Whom all members who spoke have, with the same items and as many as everyone reports."""
        if not desk.arrived:
            return desk
        tables = [table for table, _ in desk.arrived.values()]
        same = np.all([(table == tables[0]).all(axis=1) for table in tables], axis=0)
        same &= tables[0].sum(axis=1) == self.reported
        agreed = np.asarray(tables[0] & np.asarray(same)[:, None])
        salts = b"".join(salt for _, (_, salt) in sorted(desk.arrived.items()))
        return replace(desk, agreed=agreed, digest=set_digest(salts, pack(agreed).tobytes()))

    def _open(self, state: Committee) -> tuple[Committee, Outbox]:
        batches, added, opened = [], 0, state.opened
        for who, desk in state.desks.items():
            same = sum(digest == desk.digest for digest in desk.digests.values())
            if desk.agreed is None or same < quorum(self.committee, self.collusion):
                continue
            senders = np.asarray(desk.agreed.any(axis=1))
            if self.exactly not in (None, pack(senders).tobytes()):
                continue
            if (desk.agreed & ~desk.shares.once).any():
                continue  # this member itself lacks a share; the others can do without it
            payload = {
                "sum": self.field.add_rows(np.where(desk.agreed, desk.shares.values, 0))[None],
                "people": np.array([int(senders.sum())]),
                "digest": np.frombuffer(desk.digest, np.uint8)[None],
            }
            batches.append(Batch("sum", 5, Role.USER, Role.S2, np.array([who]), ONE, payload))
            added += int(np.maximum(desk.agreed.sum(axis=0) - 1, 0).sum())
            opened = pack(senders).tobytes()
        return replace(state, opened=opened), Outbox(tuple(batches), added=added)


def _notices(
    kind: str, number: int, seats: Indices, rows: Mapping[int, Mapping[str, NDArray[Any]]]
) -> Iterator[Batch]:
    """What each of some members tells all members."""
    for who, columns in rows.items():
        payload = {name: np.tile(row, (seats.size, 1)) for name, row in columns.items()}
        yield Batch(kind, number, Role.USER, Role.USER, np.full(seats.size, who), seats, payload)


@dataclass(frozen=True, eq=False)
class Opened(Phase):
    """What S2 has received: sum, number of people and digest by member."""

    seats: Indices | None = None
    sums: dict[int, tuple[Elements, int, bytes]] = field(default_factory=dict)
    repeated: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False, kw_only=True)
class CommitteeSummer(RoundMachine[Opened]):
    """S2, who reconstructs the sums."""

    committee: int
    collusion: int
    role: Role = Role.S2
    members: range = range(1)

    def start(self) -> Opened:
        return Opened()

    def forms(self) -> Mapping[str, Form]:
        columns = {"sum": (np.uint64, (self.items,)), "people": (np.int64, ()), "digest": _DIGEST}
        return {"committee": _COMMITTEE, "sum": Form(5, Role.USER, self.people, columns)}

    def take(self, state: Opened, batch: Batch) -> tuple[Opened, int]:
        if batch.kind == "committee":
            return replace(state, seats=committee_seats(batch, self.committee, self.people)), 0
        if state.seats is None or not np.isin(batch.sender, state.seats).all():
            raise WireError("a sum came from somebody who is not in the committee")
        sums = self.field.check(batch.payload["sum"])
        rows = zip(
            batch.sender, sums, batch.payload["people"], batch.payload["digest"], strict=True
        )
        received = {int(k): (row, int(people), d.tobytes()) for k, row, people, d in rows}
        again = frozenset(received) & frozenset(state.sums)
        return replace(state, sums=state.sums | received, repeated=state.repeated | again), 0

    def close(self, state: Opened, number: int) -> tuple[Opened, Outbox]:
        if number == 5:
            state = replace(state, outcome=self._outcome(state))
        return state, Outbox()

    def _outcome(self, state: Opened) -> Outcome:
        seats = [] if state.seats is None else state.seats.tolist()
        usable = {who: s for who, s in state.sums.items() if who not in state.repeated}
        kinds = {(people, digest) for _, people, digest in usable.values()}
        if len(kinds) > 1:
            return self.nothing("members speak of different senders")
        if len(usable) <= self.collusion:
            why = f"{len(usable)} members opened a sum; {self.collusion + 1} are needed"
            return self.nothing(why)
        points = [seats.index(who) + 1 for who in usable]
        rows = np.stack([row for row, _, _ in usable.values()])
        totals, failed = np.zeros(self.items, np.uint64), {}
        for j in range(self.items):
            try:
                totals[j] = shamir.reconstruct(
                    self.field, points, rows[:, j], threshold=self.collusion + 1
                )
            except ShareError as error:
                failed[j] = str(error)
        ((present, _),) = kinds
        return Outcome(totals, failed, np.arange(self.people) < present)
