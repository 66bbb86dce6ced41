"""A sum through helpers, as small as a protocol can be: for the tests of what carries it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import ShareError
from sottovoce.randomness import Source
from sottovoce.testing import seeded
from sottovoce.transport import Batch, Inbox, Machine, Outbox, Role
from sottovoce.transport.keys import KeyPair, Party, Roster

ROUNDS = 2
VALUES = np.arange(1, 12, dtype=np.uint64)
TOTAL = int(VALUES.sum())


@dataclass(frozen=True, eq=False)
class Users(Machine[int]):
    members: range
    values: NDArray[np.uint64]
    helpers: int
    source: Source
    role: Role = Role.USER

    def start(self) -> int:
        return 0

    def step(self, state: int, inbox: Inbox) -> tuple[int, Outbox]:
        if inbox.closed != 0:
            return state, Outbox()
        shares = np.empty((self.helpers, len(self.members)), np.uint64)
        self.source.fill(shares)
        shares[-1] = self.values - shares[:-1].sum(axis=0, dtype=np.uint64)  # mod 2^64
        mine = np.array(self.members, np.int64)
        batches = [
            Batch("share", 1, Role.USER, Role.HELPER, mine, np.full(mine.size, k), {"share": share})
            for k, share in enumerate(shares)
        ]
        return state, Outbox(tuple(batches))


@dataclass(frozen=True)
class Sum:
    total: int = 0
    people: int = 0
    arrived: frozenset[int] = frozenset()
    result: int | None = None
    failed: str = ""


@dataclass(frozen=True, eq=False)
class Adds(Machine[Sum]):
    """A helper in round 1, the aggregator in round 2."""

    role: Role
    index: int = 0
    helpers: int = 0

    @property
    def members(self) -> range:  # type: ignore[override]
        return range(self.index, self.index + 1)

    def start(self) -> Sum:
        return Sum()

    def step(self, state: Sum, inbox: Inbox) -> tuple[Sum, Outbox]:
        for batch in inbox.batches:
            if frozenset(batch.sender.tolist()) & state.arrived:
                raise ShareError("a share came twice")
            total = int(batch.payload["share"].sum(dtype=np.uint64))
            if batch.round == 2 and state.arrived and state.people != int(batch.order[0]):
                raise ShareError("helpers have different people")
            people = len(batch) + state.people if batch.round == 1 else int(batch.order[0])
            arrived = state.arrived | frozenset(batch.sender.tolist())
            state = Sum((state.total + total) % 2**64, people, arrived)
        if self.role is Role.HELPER and inbox.closed == 1:
            me, to = np.array([self.index]), np.zeros(1, np.int64)
            payload = {"share": np.array([state.total], np.uint64)}
            sent = Batch(
                "sum", 2, Role.HELPER, Role.AGGREGATOR, me, to, payload, np.array([state.people])
            )
            return state, Outbox((sent,))
        if self.role is Role.AGGREGATOR and inbox.closed == 2:
            lost = sorted(set(range(self.helpers)) - state.arrived)
            if lost:
                return replace(state, failed=f"no sum of helper {lost}"), Outbox()
            return replace(state, result=state.total), Outbox()
        return state, Outbox()


def cast(hosts: list[int], helpers: int) -> tuple[Roster, dict[str, KeyPair]]:
    """A roster with an aggregator, helpers and hosts of so many users, and everyone's keys."""
    names = ["curator", *(f"helper-{k}" for k in range(helpers))]
    names += [f"host-{k}" for k in range(len(hosts))]
    keys = {name: KeyPair.generate() for name in names}
    parties = [Party("curator", Role.AGGREGATOR, keys["curator"].public, relay=True)]
    parties += [Party(n, Role.HELPER, keys[n].public) for n in names if n.startswith("helper")]
    parties += [
        Party(f"host-{k}", Role.USER, keys[f"host-{k}"].public, users=n)
        for k, n in enumerate(hosts)
    ]
    return Roster(tuple(parties)), keys


def machine(
    roster: Roster, name: str, values: NDArray[np.uint64], source: Source
) -> Machine[int] | Machine[Sum]:
    """The machine of a party."""
    party, members = roster.party(name), roster.members(name)
    helpers = roster.count(Role.HELPER)
    if party.role is Role.USER:
        mine = values[members.start : members.stop]
        return Users(members, mine, helpers, source)
    return Adds(party.role, members.start, helpers)


def machines(roster: Roster, seed: int) -> dict[str, Machine[Any]]:
    parts = {}
    for k, party in enumerate(roster):
        with seeded(seed + k) as source:
            parts[party.id] = machine(roster, party.id, VALUES, source)
    return parts
