"""A party that seals whatever it likes cannot bring another down: messages are taken or refused.

Messages of a real run are altered in all the ways that the wire can carry, and shown to every
machine in every round. Whatever a machine raises beyond a refusal would end its process. The
machines' loops are compiled without checks, so that a wrong index would write anywhere; a message
to everyone where one receiver is expected has done so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sottovoce.errors import ShareError, WireError
from sottovoce.testing import seeded
from sottovoce.transport import EVERYONE, Batch, Inbox, Machine, Role, drive

from . import stage

KINDS = ("x", "share", "sum", "have", "committee", "elected", "items", "agreed", "incomplete")


def altered(batch: Batch, machine: Machine[Any], rng: np.random.Generator) -> Iterator[Batch]:
    n = len(batch)
    name = str(rng.choice(sorted(batch.payload)))
    column = batch.payload[name]
    largest = True if column.dtype == bool else np.iinfo(column.dtype).max
    random = rng.integers(0, 1 << 31, column.shape).astype(column.dtype)
    changes: list[dict[str, Any]] = [
        {},
        {"kind": str(rng.choice(KINDS))},
        {"sequence": rng.integers(-(1 << 62), 1 << 62, n)},
        {"sequence": rng.integers(-3, 300, n)},
        {"round": int(rng.integers(1, 6))},
        {"payload": {**batch.payload, name: random}},
        {"payload": {**batch.payload, name: np.full(column.shape, largest, column.dtype)}},
        {"payload": {**batch.payload, name: column[..., None]}},
        {"payload": {k: v for k, v in batch.payload.items() if k != name}},
        {"payload": {**batch.payload, "more": column}},
        {"sent_by": machine.role},
    ]
    about = {
        "kind": batch.kind,
        "round": batch.round,
        "sent_by": batch.sent_by,
        "sender": batch.sender,
        "payload": batch.payload,
        "sequence": batch.order,
    }
    for change in changes:
        for receiver in (machine.members.start, machine.members.stop - 1, EVERYONE):
            to = np.full(n, receiver)
            yield Batch(**{**about, **change, "sent_to": machine.role, "receiver": to})
    rows = np.zeros(3, np.int64)
    yield Batch(**{**about, "sent_to": machine.role, "receiver": to}).select(rows)


@pytest.mark.parametrize("name", stage.PROTOCOLS)
def test_altered_messages_are_refused_or_taken(name: str) -> None:
    protocol, rng = stage.PROTOCOLS[name], np.random.default_rng(1)
    roster, _ = stage.cast(protocol)
    with seeded(1) as source:
        parts = [stage.part_of(protocol, roster, party.id, source) for party in roster]
    machines, rounds = [part.machine for part in parts], parts[0].rounds
    kinds = {(b.kind, tuple(b.payload)): b for b in drive(machines, rounds).views.batches}
    states, refused, shown = [machine.start() for machine in machines], 0, 0
    for closing in range(rounds + 1):
        sent: list[Batch] = []
        for k, machine in enumerate(machines):
            states[k], outbox = machine.step(states[k], Inbox(closed=closing))
            sent += list(outbox.batches)
            for batch in kinds.values():
                for message in altered(batch, machine, rng):
                    shown += 1
                    try:
                        machine.step(states[k], Inbox((message,)))
                    except (ShareError, WireError):
                        refused += 1
        for batch in sent:
            for k, machine in enumerate(machines):
                mine = batch.for_members(machine.members)
                if machine.role is batch.sent_to and len(mine):
                    states[k], _ = machine.step(states[k], Inbox((mine,)))
    assert states[[part.last for part in parts].index(True)].outcome.totals is not None
    assert 0 < refused < shown


def test_a_share_to_everyone_is_refused_before_it_is_added() -> None:
    protocol = stage.PROTOCOLS["letter"]
    roster, _ = stage.cast(protocol)
    with seeded(1) as source:
        machine = stage.part_of(protocol, roster, "host-1", source).machine
    state, _ = machine.step(machine.start(), Inbox(closed=0))
    share = {"share": np.zeros((1, 5), np.uint64)}
    for receiver in (EVERYONE, 0, 100):  # host-1 has users 50 to 99
        to = np.array([receiver])
        batch = Batch("share", 1, Role.USER, Role.USER, np.array([0]), to, share)
        with pytest.raises(WireError, match="is for one user"):
            machine.step(state, Inbox((batch,)))
