"""The users' side of a committee: everyone shares, and members agree before they open.

`committee` says what happens in which round, and why a quorum of members must agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ShareError, WireError
from ..randomness import Source
from ..sharing import Elements, PrimeField, shamir
from ..transport import Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import Columns, check_batch
from . import committee as rules
from .committee import DIGEST_BYTES, committee_seats
from .receiving import pack, set_digest, unpack
from .selection import Flags

_SALT = 16


@dataclass(frozen=True, eq=False)
class Desk:
    """What one member holds: shares by person and item, and what the others said."""

    shares: Elements
    have: Flags
    repeated: Flags
    salt: bytes
    arrived: dict[int, tuple[Flags, bytes]] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)
    agreed: Flags | None = None
    digest: bytes = b""


@dataclass(frozen=True, eq=False)
class Committee:
    """What users know, and the desks of those who are members; `opened` as in `Held`."""

    seats: NDArray[np.int64] | None = None
    desks: dict[int, Desk] = field(default_factory=dict)
    closed: int = -1
    opened: bytes | None = None


@dataclass(frozen=True, eq=False)
class CommitteeUsers(Machine[Committee]):
    """Users, some of whom may be members; rows of `secrets` and `sets` belong to the members."""

    members: range
    people: int
    committee: int
    collusion: int
    field: PrimeField
    secrets: Elements
    sets: Flags
    reported: int
    source: Source
    exactly: bytes | None = None
    role: Role = Role.USER

    @property
    def _items(self) -> int:
        return int(self.sets.shape[1])

    @property
    def _bits(self) -> int:
        return -(-self._items * self.people // 8)

    def start(self) -> Committee:
        return Committee()

    def step(self, state: Committee, inbox: Inbox) -> tuple[Committee, Outbox]:
        for batch in inbox.batches:
            state = self._hear(state, batch)
        if inbox.closed is None:
            return state, Outbox()
        state = replace(state, closed=inbox.closed)
        if state.seats is None:
            return state, Outbox()
        if inbox.closed == 1:
            work = int(self.sets.sum()) * self.collusion
            shares = self._shares(state.seats)
            return self._seated(state), Outbox(shares, sampled=work, added=work * self.committee)
        if inbox.closed == 2:
            return state, Outbox(self._have(state))
        if inbox.closed == 3:
            state = replace(state, desks={k: self._agree(d) for k, d in state.desks.items()})
            return state, Outbox(self._digests(state))
        if inbox.closed == 4:
            return self._open(state)
        return state, Outbox()

    def _seated(self, state: Committee) -> Committee:
        desks = {}
        seats = np.empty(0, np.int64) if state.seats is None else state.seats
        for who in seats.tolist():
            if who in self.members:
                salt = np.empty(_SALT, np.uint8)
                self.source.fill(salt)
                shape = (self.people, self._items)
                nothing = np.zeros(shape, bool)
                desks[who] = Desk(np.zeros(shape, np.uint64), nothing, nothing, salt.tobytes())
        return replace(state, desks=desks)

    def _shares(self, seats: NDArray[np.int64]) -> Iterator[Batch]:
        row, item = np.nonzero(self.sets)
        shares = shamir.share(
            self.field,
            self.secrets[row, item],
            self.committee,
            threshold=self.collusion + 1,
            source=self.source,
        )
        sender = row.astype(np.int64) + self.members.start
        for who, of_member in zip(seats.tolist(), shares, strict=True):
            to = np.full(sender.size, who)
            payload = {"share": of_member[:, None]}
            yield Batch("share", 2, Role.USER, Role.USER, sender, to, payload, item)

    def _hear(self, state: Committee, batch: Batch) -> Committee:
        if batch.kind == "committee":
            check_batch(batch, 1, state.closed, Role.S1, 1, {"member": (np.int64, ())})
            return replace(state, seats=committee_seats(batch, self.committee, self.people))
        desks = dict(state.desks)
        if not np.isin(batch.receiver, list(desks)).all():
            raise ShareError(f"{batch.kind!r} came to somebody who is not in the committee")
        if batch.kind == "share":
            columns: Columns = {"share": (np.uint64, (1,))}
            check_batch(batch, 2, state.closed, Role.USER, self.people, columns)
            if ((batch.order < 0) | (batch.order >= self._items)).any():
                raise WireError(f"user {int(batch.sender[0])} sent a share of an unknown item")
        elif batch.kind == "have":
            columns = {"have": (np.uint8, (self._bits,)), "salt": (np.uint8, (_SALT,))}
            self._check_member(state, batch, 3, columns)
        else:
            self._check_member(state, batch, 4, {"digest": (np.uint8, (DIGEST_BYTES,))})
        for who in np.unique(batch.receiver).tolist():
            desks[who] = self._take(desks[who], batch.for_members(range(who, who + 1)))
        return replace(state, desks=desks)

    def _check_member(self, state: Committee, batch: Batch, number: int, columns: Columns) -> None:
        check_batch(batch, number, state.closed, Role.USER, self.people, columns)
        if state.seats is None or not np.isin(batch.sender, state.seats).all():
            raise WireError(f"{batch.kind!r} came from somebody who is not in the committee")

    def _take(self, desk: Desk, batch: Batch) -> Desk:
        if batch.kind == "have":
            rows = zip(batch.sender, batch.payload["have"], batch.payload["salt"], strict=True)
            shape = (self.people, self._items)
            notices = {
                int(k): (unpack(bits, self.people * self._items).reshape(shape), salt.tobytes())
                for k, bits, salt in rows
            }
            return replace(desk, arrived=notices | desk.arrived)  # what was said first counts
        if batch.kind == "agreed":
            digests = {
                int(k): digest.tobytes()
                for k, digest in zip(batch.sender, batch.payload["digest"], strict=True)
            }
            return replace(desk, digests=digests | desk.digests)
        shares, have, repeated = desk.shares.copy(), desk.have.copy(), desk.repeated.copy()
        at = batch.sender, batch.order
        times = np.zeros_like(shares, np.int64)
        np.add.at(times, at, 1)
        repeated |= (times > 1) | (have & (times > 0))
        shares[at], have[at] = self.field.check(batch.payload["share"])[:, 0], True
        return replace(desk, shares=shares, have=have, repeated=repeated)

    def _have(self, state: Committee) -> Iterator[Batch]:
        seats = np.empty(0, np.int64) if state.seats is None else state.seats
        for who, desk in state.desks.items():
            bits = pack((desk.have & ~desk.repeated).reshape(-1))
            salt = np.frombuffer(desk.salt, np.uint8)
            payload = {
                "have": np.tile(bits, (seats.size, 1)),
                "salt": np.tile(salt, (seats.size, 1)),
            }
            me = np.full(seats.size, who)
            yield Batch("have", 3, Role.USER, Role.USER, me, seats, payload)

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

    def _digests(self, state: Committee) -> Iterator[Batch]:
        seats = np.empty(0, np.int64) if state.seats is None else state.seats
        for who, desk in state.desks.items():
            if desk.agreed is None:
                continue
            row = np.frombuffer(desk.digest, np.uint8)
            payload = {"digest": np.tile(row, (seats.size, 1))}
            yield Batch("agreed", 4, Role.USER, Role.USER, np.full(seats.size, who), seats, payload)

    def _open(self, state: Committee) -> tuple[Committee, Outbox]:
        batches, added, opened = [], 0, state.opened
        for who, desk in state.desks.items():
            same = sum(digest == desk.digest for digest in desk.digests.values())
            if desk.agreed is None or same < rules.quorum(self.committee, self.collusion):
                continue
            senders = np.asarray(desk.agreed.any(axis=1))
            if self.exactly not in (None, pack(senders).tobytes()):
                continue
            if (desk.agreed & ~(desk.have & ~desk.repeated)).any():
                continue  # this member itself lacks a share; the others can do without it
            totals = self.field.add_rows(np.where(desk.agreed, desk.shares, np.uint64(0)))
            payload = {
                "sum": totals[None],
                "people": np.array([int(senders.sum())]),
                "digest": np.frombuffer(desk.digest, np.uint8)[None],
            }
            s2 = np.zeros(1, np.int64)
            batches.append(Batch("sum", 5, Role.USER, Role.S2, np.array([who]), s2, payload))
            added += int(np.maximum(desk.agreed.sum(axis=0) - 1, 0).sum())
            opened = pack(senders).tobytes()
        return replace(state, opened=opened), Outbox(tuple(batches), added=added)
