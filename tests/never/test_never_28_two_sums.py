"""Never open two sums over different sets of senders with the same coins; the sender set is
agreed before any sum is sent, and every member opens one sum per item.
"""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import ShareError
from sottovoce.secure import committee as committees
from sottovoce.sharing import shamir
from sottovoce.transport import Batch, Driven, Role, drive

PEOPLE, SIZE, PHI, VICTIM = 6, 6, 1, 5


def equivocate(seed: int) -> tuple[Driven, np.ndarray]:
    """A colluding member tells half of the committee that it has the victim's share, half not."""
    protocol = sv.secure.TSS(2, rate=1.0, report=1.0, collusion=PHI, committee=SIZE)
    codes = np.array([0, 1, 0, 1, 0, seed % 2])
    seats: list[int] = []
    digests: dict[int, np.ndarray] = {}

    def tamper(batch: Batch) -> list[Batch]:
        if batch.kind == "committee":
            seats[:] = batch.payload["member"].tolist()
        if batch.kind == "have" and int(batch.sender[0]) == seats[0]:
            have = batch.payload["have"].copy()
            for row, to in enumerate(batch.receiver.tolist()):
                if to in seats[SIZE // 2 :]:
                    bits = np.unpackbits(have[row], bitorder="little")
                    bits[VICTIM * 2 : VICTIM * 2 + 2] = 0
                    have[row] = np.packbits(bits, bitorder="little")
            return [Batch("have", 3, Role.USER, Role.USER, batch.sender, batch.receiver,
                          {**batch.payload, "have": have})]  # fmt: skip
        if batch.kind == "agreed":
            digests[int(batch.sender[0])] = batch.payload["digest"][0]
            if int(batch.sender[0]) == seats[-1]:
                # It also echoes to everyone what they want to hear.
                return [batch, *echoes()]
        return [batch]

    def echoes() -> list[Batch]:
        rows = [digests[k] for k in seats]
        me, to = np.full(SIZE, seats[0]), np.array(seats)
        return [Batch("agreed", 4, Role.USER, Role.USER, me, to, {"digest": np.array(rows)})]

    def own_digest_is_lost(batch: Batch) -> list[Batch]:
        if batch.kind == "agreed" and int(batch.sender[0]) == seats[0]:
            digests[seats[0]] = batch.payload["digest"][0]
            return []
        return tamper(batch)

    with testing.seeded(seed) as source:
        prepared = protocol.prepare(codes, source)
        machines = protocol.machines(prepared, protocol.setting(PEOPLE, source))
        rounds = protocol.message_rounds(PEOPLE)
        return drive(machines, rounds, tamper=own_digest_is_lost), codes


def opened_sets(driven: Driven) -> set[bytes]:
    sums = [b for b in driven.views.of(Role.S2) if b.kind == "sum"]
    return {b.payload["digest"][0].tobytes() for b in sums}


@pytest.mark.parametrize("seed", range(4))
def test_a_committee_opens_one_set_even_if_a_member_says_two_things(seed: int) -> None:
    driven, _ = equivocate(seed)
    assert len(opened_sets(driven)) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_without_a_quorum_the_victims_answer_would_be_seen(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault: φ + 1 members who agree are enough to open."""
    monkeypatch.setattr(committees, "quorum", lambda size, collusion: collusion + 1)
    driven, codes = equivocate(seed)
    assert len(opened_sets(driven)) == 2
    totals = {}
    field = sv.secure.TSS(2, rate=1.0, report=1.0, collusion=PHI, committee=SIZE).field(PEOPLE)
    seats = driven.states[-1].seats.tolist()
    for digest in opened_sets(driven):
        rows = {
            seats.index(who) + 1: row
            for who, (row, _, own) in driven.states[-1].sums.items()
            if own == digest
        }
        points = sorted(rows)[: PHI + 1]
        shares = np.stack([rows[k] for k in points])
        people = next(n for _, n, own in driven.states[-1].sums.values() if own == digest)
        totals[people] = shamir.reconstruct(field, points, shares, threshold=PHI + 1)
    victim = field.decode(totals[PEOPLE]) - field.decode(totals[PEOPLE - 1])
    assert int(victim.argmax()) == codes[VICTIM]


def test_a_run_with_other_senders_has_other_coins() -> None:
    protocol = sv.secure.DPDS(2, rate=0.5)
    with testing.seeded(2) as source:
        session = protocol.session([0, 1] * 40, source=source)
        first = session.run()
        rows = session._prepared.rows
        fewer = np.arange(80) > 0
        second = session.run(present=fewer)
        assert not np.array_equal(session._prepared.rows, rows[fewer])
        assert session.rounds == 2
    assert first.aggregate.people == second.aggregate.people + 1


def test_used_coins_are_opened_over_the_identical_senders_only() -> None:
    protocol = sv.secure.DPDS(2, rate=0.5, helpers=2)

    def lost(batch: Batch) -> list[Batch]:
        return [batch.select(batch.sender != 3)] if batch.kind == "share" else [batch]

    with testing.seeded(2) as source:
        session = protocol.session([0, 1] * 40, source=source)
        session.run()
        with pytest.raises(ShareError):
            session.run(tamper=lost)


def test_coins_of_a_run_that_was_interrupted_are_not_used_again() -> None:
    """By then the sum without one person may have been opened; the next run would open another."""
    protocol = sv.secure.DPDS(2, rate=0.5, helpers=2)

    def interrupted(batch: Batch) -> list[Batch]:
        if batch.kind == "sum" and int(batch.sender[0]) == 1:
            raise KeyboardInterrupt
        return [batch.select(batch.sender != 3)] if batch.kind == "share" else [batch]

    with testing.seeded(2) as source:
        session = protocol.session([0, 1] * 40, source=source)
        with pytest.raises(KeyboardInterrupt):
            session.run(tamper=interrupted)
        rows = session._prepared.rows
        session.run()
        assert not np.array_equal(session._prepared.rows, rows)
        assert session.rounds == 2
