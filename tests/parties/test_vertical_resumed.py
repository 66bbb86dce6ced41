"""What a machine does depends on arrived messages alone, so that it resumes after a crash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sottovoce.errors import ShareError
from sottovoce.transport import Inbox, Machine, Outbox, Role, drive
from sottovoce.transport.keys import KeyPair

from .columns import opened, split, study, without_noise


@dataclass(frozen=True, eq=False)
class Crashing(Machine[tuple]):
    """A machine that forgets everything after every step, and replays what has arrived."""

    inner: Machine[Any]

    @property
    def role(self):
        return self.inner.role

    @property
    def members(self):
        return self.inner.members

    def start(self):
        return ()

    def step(self, state, inbox):
        history, current, outbox = (*state, inbox), self.inner.start(), Outbox()
        for one in history:  # replayed steps draw other randomness, and what they send is dropped
            current, outbox = self.inner.step(current, one)
        return history, outbox

    def last(self, history):
        current = self.inner.start()
        for one in history:
            current, _ = self.inner.step(current, one)
        return current


@pytest.mark.parametrize("method", ["pbs-gls", "sav"])
def test_every_role_may_crash_after_every_step(method, monkeypatch):
    without_noise(monkeypatch)
    schemas, frames, table = split((2, 3, 2), 40)
    v = study(schemas, method=method)
    keys = {name: KeyPair.generate() for name in (*v.parties, "curator")}
    public = {name: pair.verify_key for name, pair in keys.items()}
    machines = [v.party_machine(name, frames[name], keys[name], public) for name in v.parties]
    machines += [v.dealer_machine(), v.curator_machine(keys["curator"], public)]
    crashing = [Crashing(machine) for machine in machines]
    driven = drive(crashing, v.message_rounds, views=True)
    assert driven.refused == ()
    states = [one.last(history) for one, history in zip(crashing, driven.states, strict=True)]
    assert all(state.receipt is not None for state in states[:3])
    sums = opened(v.outcome(states[-1]))
    if method == "pbs-gls":
        assert sums["level-1"].tolist() == table.ravel().tolist()
        return
    kept = np.ones(40, bool)
    for batch in driven.views.of(Role.PARTY):
        if batch.kind == "sample":  # drawn once: what is replayed is what arrived
            kept &= np.unpackbits(batch.payload["bits"][0], count=40, bitorder="little") == 1
    assert sums["sampled"].sum() == kept.sum()


def test_a_machine_that_keeps_coins_to_itself_would_be_noticed(monkeypatch):
    """The fault: a sample that is drawn anew in every step instead of being remembered."""
    from sottovoce.parties import machines
    from sottovoce.randomness import SYSTEM

    without_noise(monkeypatch)

    def forgetful(codes, bits):
        fresh = np.empty(len(codes), np.uint8)
        SYSTEM.fill(fresh)
        return np.where(fresh < 128, codes, -1)

    monkeypatch.setattr(machines, "keep", forgetful)
    schemas, frames, _ = split((2, 3, 2), 40)
    with pytest.raises(ShareError, match="outside what these rows can give"):
        study(schemas).simulate(frames)  # E is of one sample, and the product of another


def test_late_messages_are_refused():
    schemas, frames, _ = split((2, 3), 20)
    v = study(schemas)
    keys = {name: KeyPair.generate() for name in (*v.parties, "curator")}
    public = {name: pair.verify_key for name, pair in keys.items()}
    machine = v.party_machine("A", frames["A"], keys["A"], public)
    state, outbox = machine.step(machine.start(), Inbox(closed=0))
    contribution = next(b for b in outbox.batches if b.kind == "contribution")
    state, _ = machine.step(state, Inbox(closed=1))
    assert "did not take part" in state.failed
    with pytest.raises(ShareError, match="late"):
        machine.step(state, Inbox((contribution,)))
