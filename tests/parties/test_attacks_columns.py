"""Attacks on tables over split columns: old seeds delivered again, and a party that lies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.parties import machines
from sottovoce.transport import Inbox
from sottovoce.transport.keys import KeyPair

from .columns import opened, split, study

ROWS = 40


class Session:
    """One session of a curator who also relays, and delivers what suits it."""

    def __init__(self):
        schemas, self.frames, _ = split((2, 3), ROWS)
        self.study = study(schemas, method="sav")
        self.keys = {name: KeyPair.generate() for name in ("A", "B", "curator")}

    def play(self, dealt=None):
        """Every party starts anew, up to what it opens; the dealer's old messages instead of new.

        Returns
        -------
        sent : list of Batch
        states : list
        """
        public = {name: pair.verify_key for name, pair in self.keys.items()}
        machines = [
            self.study.party_machine(name, self.frames[name], self.keys[name], public)
            for name in "AB"
        ]
        machines.append(self.study.dealer_machine())
        states, arriving, sent = [machine.start() for machine in machines], [], []
        for number in range(3):
            leaving = []
            for i, machine in enumerate(machines):
                for batch in arriving:
                    mine = batch.for_members(machine.members)
                    if batch.sent_to is machine.role and len(mine):
                        try:
                            states[i], _ = machine.step(states[i], Inbox((mine,)))
                        except sv.errors.ShareError:
                            continue  # refused, as a player does
                states[i], outbox = machine.step(states[i], Inbox(closed=number))
                leaving += list(outbox.batches)
            if dealt is not None:
                leaving = [b for b in leaving if b.kind not in ("seed", "correction")]
                leaving += [b for b in dealt if b.round == number + 1]
            arriving = leaving
            sent += leaving
        return sent, states


def _opened_by_a(sent):
    return [b.payload["words"][0] for b in sent if b.kind == "open" and b.sender.tolist() == [0]]


def _dealt(sent):
    return [b for b in sent if b.kind in ("seed", "correction")]


def test_a_party_that_starts_again_opens_nothing_under_an_old_seed():
    session = Session()
    first, _ = session.play()
    second, states = session.play(_dealt(first))
    assert len(_opened_by_a(first)) == 1
    assert _opened_by_a(second) == []
    assert all("seed is missing" in state.failed for state in states[:2])


def test_without_that_check_the_old_seed_shows_rows(monkeypatch):
    """The fault: A samples anew, and the difference of what it opens is rows of A in clear."""
    monkeypatch.setattr(machines.ColumnsParty, "_check_dealt", lambda *arguments: None)
    session = Session()
    first, _ = session.play()
    second, _ = session.play(_dealt(first))
    (one,), (other,) = _opened_by_a(first), _opened_by_a(second)
    difference = (one - other).astype(np.int32)
    rows = np.flatnonzero(difference.any(axis=1))
    codes = session.frames["A"]["a"][np.argsort(session.frames["A"]["person_id"])]
    assert rows.size > 0
    assert np.abs(difference[rows]).argmax(axis=1).tolist() == codes[rows].tolist()


@pytest.mark.parametrize("method", ["mv", "pbs-gls"])
def test_a_party_that_alters_what_it_opens_singles_out_a_row_so_the_promise_says_so(method):
    """A adds 400 to one row of its matrix; where B's count rises by 400 is that row's value."""
    schemas, frames, _ = split((2, 3), 1000)
    row, amount = 7, 400

    def lie(batch):
        if batch.kind == "open" and batch.sender.tolist() == [0]:
            words = batch.payload["words"].copy()
            words[0, row, 0] += np.uint32(amount)
            batch = replace(batch, payload={**batch.payload, "words": words})
        return (batch,)

    run = study(schemas, method=method).simulate(frames, tamper=lie)
    codes = frames["B"]["b"][np.argsort(frames["B"]["person_id"].astype(str))]
    whole = next(cells for cells in opened(run).values() if cells.size == 6)
    assert whole.reshape(2, 3)[0].argmax() == codes[row]  # 400 against noise of scale 4 per share
    for promise in run.guarantee.promises:
        assert any("send what the protocol says" in one for one in promise.assuming)


def test_masked_sums_over_rows_do_not_need_that_assumption():
    schema = [sv.Attribute("ward", 4)]
    rows = sv.parties.Horizontal(schema, ["ward"], {"A": 1, "B": 1, "C": 1})
    for promise in rows.guarantee.promises:
        assert not any("send what the protocol says" in one for one in promise.assuming)
