"""A sum of parties' numbers under pads, as small as a protocol with parties can be.

Round 1: every party draws a pad, and sends it to the next party and to itself. Round 2: it sends
its number, plus its own pad, minus the pad that it received. Round 3: the curator tells everyone
the total, in which all pads cancel: only if each was drawn once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sottovoce.errors import ShareError
from sottovoce.randomness import SYSTEM
from sottovoce.transport import EVERYONE, Batch, Inbox, Machine, Outbox, Role
from sottovoce.transport.keys import KeyPair, Party, Roster

ROUNDS = 3


def batch(kind: str, number: int, to: tuple[Role, int], by: tuple[Role, int], value: int) -> Batch:
    sender, receiver = np.array([by[1]], np.int64), np.array([to[1]], np.int64)
    payload = {"value": np.array([value % 2**64], np.uint64)}
    return Batch(kind, number, by[0], to[0], sender, receiver, payload)


@dataclass(frozen=True)
class State:
    pads: dict[int, int] = field(default_factory=dict)
    total: int | None = None


@dataclass(frozen=True, eq=False)
class Holder(Machine[State]):
    """A party with a number."""

    index: int
    number: int
    parties: int
    role: Role = Role.PARTY

    @property
    def members(self) -> range:  # type: ignore[override]
        return range(self.index, self.index + 1)

    def start(self) -> State:
        return State()

    def step(self, state: State, inbox: Inbox) -> tuple[State, Outbox]:
        for sent in inbox.batches:
            value = int(sent.payload["value"][0])
            if sent.kind == "total":
                state = replace(state, total=value)
            elif int(sent.sender[0]) in state.pads:
                raise ShareError("a pad came twice")
            else:
                state = replace(state, pads={**state.pads, int(sent.sender[0]): value})
        me, after = (Role.PARTY, self.index), (self.index + 1) % self.parties
        if inbox.closed == 0:
            drawn = np.empty(1, np.uint64)
            SYSTEM.fill(drawn)
            pad = int(drawn[0])
            sent_to = (after, self.index)
            return state, Outbox([batch("pad", 1, (Role.PARTY, k), me, pad) for k in sent_to])
        if inbox.closed == 1:
            before = (self.index - 1) % self.parties
            masked = self.number + state.pads[self.index] - state.pads[before]
            return state, Outbox([batch("masked", 2, (Role.CURATOR, 0), me, masked)])
        return state, Outbox()


@dataclass(frozen=True, eq=False)
class Curator(Machine[State]):
    parties: int
    role: Role = Role.CURATOR
    members: range = range(1)

    def start(self) -> State:
        return State()

    def step(self, state: State, inbox: Inbox) -> tuple[State, Outbox]:
        for sent in inbox.batches:
            pads = {**state.pads, int(sent.sender[0]): int(sent.payload["value"][0])}
            state = replace(state, pads=pads)
        if inbox.closed == 2:
            if len(state.pads) < self.parties:
                raise ShareError("no total: a party is missing")
            total = sum(state.pads.values()) % 2**64
            sent = batch("total", 3, (Role.PARTY, EVERYONE), (Role.CURATOR, 0), total)
            return replace(state, total=total), Outbox([sent])
        return state, Outbox()


def cast(parties: int, *, certified: bool = True) -> tuple[Roster, dict[str, KeyPair]]:
    """A curator and parties A, B, …, with their keys."""
    names = ["curator", *"ABCDEF"[:parties]]
    keys = {name: KeyPair.generate() for name in names}
    entries = [
        Party(
            name,
            Role.PARTY if k else Role.CURATOR,
            keys[name].public,
            relay=not k,
            certificate=keys[name].certificate(name) if certified else None,
        )
        for k, name in enumerate(names)
    ]
    return Roster(tuple(entries)), keys


def machine(roster: Roster, name: str) -> Machine[State]:
    """The machine of a party; A has the number 1, B 10, C 100."""
    parties = roster.count(Role.PARTY)
    if roster.party(name).role is Role.CURATOR:
        return Curator(parties)
    index = roster.members(name).start
    return Holder(index, 10**index, parties)
