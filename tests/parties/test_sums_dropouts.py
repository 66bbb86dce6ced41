"""Double masking: exact sums of those who stay, one set of survivors, and nothing for fewer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sottovoce import testing
from sottovoce.errors import ParameterError, ShareError
from sottovoce.parties.double_masking import FIELD, bytes_of, elements_of
from sottovoce.parties.sums import SumDesign
from sottovoce.sharing import shamir
from sottovoce.transport import Envelope, Inbox, Role, decode_batch, drive, encode_batch
from sottovoce.transport.keys import KeyPair

from .tables import frames, known_noise, plain_table
from .test_horizontal import study


def lose(kind, *members):
    """Messages of one kind from some members get lost."""

    def tamper(batch):
        return [] if batch.kind == kind and batch.sender[0] in members else [batch]

    return tamper


@pytest.mark.parametrize(("parties", "dropouts", "gone"), [(4, 1, [0]), (5, 1, [2]), (5, 1, [])])
def test_sums_are_exactly_those_of_the_survivors(parties, dropouts, gone, monkeypatch):
    drawn = known_noise(monkeypatch)
    h = study(parties, ["smoker", "ward"], dropouts=dropouts)
    data = frames(h.parties)
    run = h.simulate(data, tamper=lose("masked", *gone))
    stay = [party for k, party in enumerate(h.parties) if k not in gone]
    assert run.dropped == tuple(party for party in h.parties if party not in stay)
    assert run.receipt.parties == tuple(stay)
    for aggregate, release in zip(run.aggregates, h.releases(None)[0], strict=True):
        shares = drawn[release.name, release.cells]
        plain = sum(
            release.weights.get(party, 0) * plain_table(data[party], ["smoker", "ward"]).reshape(-1)
            + shares[party]
            for party in stay
        )
        assert aggregate.dense(release.name).tolist() == plain.tolist()
        kept = len(stay) / release.shares
        assert aggregate.route.noise.variance == pytest.approx(release.variance * kept)
    assert run.aggregates[0].people == sum(len(data[party]["ward"]) for party in stay)
    # A party that dropped out has spent its budget, and keeps its promise.
    assert [p.unit.group for p in run.guarantee.promises] == list(h.parties)


def test_one_more_may_be_silent_later_only_within_the_bound():
    h = study(5, dropouts=1)
    run = h.simulate(frames(h.parties), tamper=lose("unmask", 3))
    assert run.dropped == ()
    run = h.simulate(frames(h.parties), tamper=lose("agree", 3))
    assert run.dropped == ()

    def both(batch):
        one = list(lose("masked", 1)(batch))
        return [late for b in one for late in lose("unmask", 3)(b)]

    with pytest.raises(ShareError, match="'D' did not help to unmask, and 4 parties are needed"):
        h.simulate(frames(h.parties), tamper=both)


def test_too_few_survivors_open_nothing():
    h = study(5, dropouts=1)
    kinds = []

    def lost(batch):
        kinds.append(batch.kind)
        return lose("masked", 1, 2)(batch)

    with pytest.raises(ShareError, match="masked vectors of 'B', 'C' are missing, and only 1 may"):
        h.simulate(frames(h.parties), tamper=lost)
    assert not {"survivors", "agree", "unmask", "receipt"} & set(kinds)


def test_a_party_without_everyones_key_shares_sends_no_vector():
    h = study(4, dropouts=1)
    sent = []

    def lost(batch):
        sent.append((batch.kind, int(batch.sender[0])))
        if batch.kind != "shares" or batch.sender[0] != 2:
            return [batch]
        return [batch.select(batch.receiver != 0)]

    run = h.simulate(frames(h.parties), tamper=lost)
    assert run.dropped == ("A",)
    assert ("masked", 0) not in sent


@pytest.mark.parametrize("which", ["shares", "unmask"])
def test_altered_key_shares_are_noticed_and_open_nothing(which):
    h = study(4, dropouts=1)

    def altered(batch):
        if batch.kind != which or batch.sender[0] != 1:
            return [batch]
        wrong = batch.payload["shares"].copy()
        # Not one of the lowest bits: X25519 ignores three of a secret, and nothing would be wrong.
        wrong[(2, 1, 0) if which == "shares" else (0, 0, 0)] ^= np.uint64(1 << 10)
        return [replace(batch, payload={**batch.payload, "shares": wrong})]

    message = "key shares of '[AB]' (do not fit|are not of the key that it announced)"
    gone = lose("masked", 0)
    with pytest.raises(ShareError, match=message):
        h.simulate(frames(h.parties), tamper=lambda b: [x for y in altered(b) for x in gone(y)])


def test_survivor_sets_that_a_party_cannot_accept_are_refused():
    h = study(5, dropouts=1)

    def claim(*flags):
        def tamper(batch):
            if batch.kind != "survivors":
                return [batch]
            return [replace(batch, payload={"present": np.array([flags], bool)})]

        return tamper

    with pytest.raises(ShareError, match=r"names 3 survivors; 4 are needed"):
        h.simulate(frames(h.parties), tamper=claim(1, 1, 1, 0, 0))
    with pytest.raises(ShareError, match="says that 'A' dropped out"):
        h.simulate(frames(h.parties), tamper=claim(0, 1, 1, 1, 1))


def test_secrets_travel_through_the_field_and_back():
    secret = bytes(range(250, 256)) + bytes([255] * 26)
    shares = shamir.share(FIELD, elements_of(secret), 5, threshold=3)
    for points in ([1, 2, 3], [2, 4, 5]):
        rows = shares[[k - 1 for k in points]]
        assert bytes_of(shamir.reconstruct(FIELD, points, rows, threshold=3)) == secret


@pytest.mark.parametrize(
    ("parties", "dropouts", "collusion", "allowed"),
    [(3, 1, 1, False), (4, 1, 1, True), (4, 1, 2, False), (7, 2, 2, True), (7, 2, 3, False)],
)
def test_thresholds_that_let_two_sets_through_are_refused(parties, dropouts, collusion, allowed):
    names = tuple("ABCDEFG"[:parties])

    def build():
        return SumDesign(bytes(32), names, 1, 3, dropouts, collusion)

    if allowed:
        assert 2 * build().threshold > parties + collusion
    else:
        with pytest.raises(ParameterError, match="two different sets"):
            build()


@pytest.mark.parametrize("dropouts", [0, 1])
def test_a_party_that_starts_again_from_its_messages_goes_on_as_before(dropouts):
    # The state after every round follows from what arrived, messages to oneself included.
    h, data = study(4, dropouts=dropouts), frames("ABCD")
    keys = {name: KeyPair.generate() for name in (*h.parties, "curator")}
    public = {name: pair.verify_key for name, pair in keys.items()}

    def party(name, source=None):
        return h.party_machine(name, data[name], keys[name], public, source=source)

    machines = [*map(party, h.parties), h.curator_machine(keys["curator"], public)]
    driven = drive(machines, h.message_rounds)
    journal = driven.views.of(Role.PARTY, 1)
    with testing.seeded(1) as source:  # what a restarted process would draw is not used
        again = party("B", source)
        state = again.start()
        for closing in range(h.message_rounds + 1):
            for batch in journal:
                if batch.round == closing:
                    state, _ = again.step(state, Inbox((batch,)))
            state, outbox = again.step(state, Inbox(closed=closing))
            if dropouts and closing == h.sum_design.masked + 2:
                (unmask,) = outbox.batches
    assert state.receipt == driven.states[1].receipt
    assert state.held.hellos == driven.states[1].held.hellos
    assert state.held.secret == driven.states[1].held.secret
    if dropouts:
        (sent,) = (
            b for b in driven.views.of(Role.CURATOR) if b.kind == "unmask" and b.sender[0] == 1
        )
        assert (sent.payload["shares"] == unmask.payload["shares"]).all()


@pytest.mark.parametrize("dropouts", [0, 1])
def test_every_message_survives_the_wire(dropouts):
    envelope = Envelope(bytes(32), bytes(16))

    def sent(batch):
        return [decode_batch(encode_batch(batch, envelope), expect=envelope)]

    h = study(4, dropouts=dropouts)
    run = h.simulate(frames(h.parties), tamper=sent)
    assert run.refused == ()
    assert run.receipt.parties == h.parties
