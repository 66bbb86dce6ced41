"""A curator who lies about drop-outs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sottovoce import testing
from sottovoce.errors import ShareError
from sottovoce.parties import Horizontal, machines
from sottovoce.parties.blocks import signed
from sottovoce.parties.double_masking import FIELD, DoublyMaskedSum, bytes_of, survivors_message
from sottovoce.parties.sums import Block, Held, SumDesign
from sottovoce.sharing import masks, shamir
from sottovoce.transport import Role, drive
from sottovoce.transport.keys import KeyPair

from .attacks import CELLS, bytes_fit, tables_of
from .tables import SCHEMA, frames
from .test_sums import STUDY


def opened_masks(run_batches, design):
    """Whose seed and whose fresh secret the curator can reconstruct from what it received."""
    seeds, secrets = {}, {}
    for batch in run_batches:
        if batch.kind != "unmask":
            continue
        for k, survives in enumerate(batch.payload["present"][0]):
            target = seeds if survives else secrets
            target.setdefault(k, {})[int(batch.sender[0])] = batch.payload["shares"][0][k]
    enough = design.threshold
    return (
        {k for k, rows in seeds.items() if len(rows) >= enough},
        {k for k, rows in secrets.items() if len(rows) >= enough},
    )


def lying_run(study, claims, colluders=()):
    """A run in which the curator tells every party its own survivor set."""
    data = frames(study.parties)
    keys = {name: KeyPair.generate() for name in (*study.parties, "curator")}
    public = {name: pair.verify_key for name, pair in keys.items()}
    machines = [study.party_machine(n, data[n], keys[n], public) for n in study.parties]
    machines.append(study.curator_machine(keys["curator"], public))

    people, session = range(len(data)), []

    def survivors(k):
        return [c for c in people if c not in claims[k]]

    def lie(batch):
        if batch.kind == "masked":
            session.append(batch.payload["session"][0].tobytes())
        if batch.kind == "survivors":
            flags = [np.isin(people, survivors(k))[None] for k in people]
            return [alter(batch, k, present=flags[k]) for k in people]
        if batch.kind == "agree" and batch.sender[0] in colluders:
            # Colluders sign for everyone whatever set that party was told.
            signer = keys[study.parties[batch.sender[0]]]
            messages = [
                survivors_message(study.sum_design, session[0], survivors(k)) for k in people
            ]
            signed_sets = [np.frombuffer(signer.sign(m), np.uint8)[None] for m in messages]
            return [alter(batch, k, signature=signed_sets[k]) for k in people]
        return [batch]

    def alter(batch, receiver, **payload):
        return replace(batch, receiver=np.array([receiver]), payload=payload)

    return drive(machines, study.message_rounds, tamper=lie), data


@pytest.mark.parametrize("colluders", [(), (2, 3)])
@pytest.mark.parametrize("split", [1, 2, 3, 4])
def test_a_curator_who_claims_different_drop_outs_opens_nobody(split, colluders):
    # To some parties everyone survived, to the others E dropped out; C and D may sign both.
    study = Horizontal(SCHEMA, ["ward"], dict.fromkeys("ABCDE", 1.0), dropouts=1, collusion=2)
    claims = [() if k < split else (4,) for k in range(4)] + [()]
    driven, _ = lying_run(study, claims, colluders)
    seeds, secrets = opened_masks(driven.views.of(Role.CURATOR), study.sum_design)
    assert not seeds & secrets
    honest = [k for k in range(5) if k not in colluders]
    unmasking = [b for b in driven.views.of(Role.CURATOR) if b.kind == "unmask"]
    sets = {b.payload["present"].tobytes() for b in unmasking if b.sender[0] in honest}
    assert len(sets) <= 1
    if split < 3:
        with pytest.raises(ShareError, match="did not help to unmask"):
            study.outcome(driven.states[-1])
    else:  # four of five agreed that everyone survived: that one sum is opened
        assert study.outcome(driven.states[-1]).dropped == ()


def test_with_a_lower_threshold_the_same_lie_opens_a_partys_vector(monkeypatch):
    # The planted fault: two of five are enough to agree, so that two sets go through.
    study = Horizontal(
        SCHEMA, ["ward"], dict.fromkeys("ABCDE", 1.0), dropouts=1, collusion=2, method="mh"
    )
    design = study.sum_design
    monkeypatch.setattr(SumDesign, "threshold", 2)
    sent = {}

    def noise(release, party, source):
        sent[party] = np.zeros(release.cells, np.int64)
        return sent[party]

    monkeypatch.setattr(machines, "noise_shares", noise)
    driven, data = lying_run(study, [(), (), (4,), (4,), ()])
    view = driven.views.of(Role.CURATOR)
    seeds, secrets = opened_masks(view, design)
    assert 4 in seeds & secrets
    words, hellos = {}, {}
    shares = {True: {}, False: {}}
    for batch in view:
        k = int(batch.sender[0])
        if batch.kind == "masked":
            words[k], session = batch.payload["words32"][0], batch.payload["session"][0].tobytes()
        elif batch.kind == "hello":
            hellos[k] = batch.payload["key"][0].tobytes()
        else:
            shares[bool(batch.payload["present"][0][4])][k] = batch.payload["shares"][0][4]
    seed, secret = (
        bytes_of(
            shamir.reconstruct(
                FIELD, [k + 1 for k in rows], np.stack(list(rows.values())), threshold=2
            )
        )
        for rows in (shares[True], shares[False])
    )
    vector, context = words[4].copy(), design.context(session, study.blocks({"A": 1})[0])
    masks.add_own(vector, context, 4, seed, remove=True)
    common = {k: masks.agree(secret, hellos[k]) for k in range(4)}
    masks.add_pairwise(vector, context, 4, common, remove=True)
    counts = np.bincount(data["E"]["ward"], minlength=3)
    assert signed(vector).tolist() == counts.tolist()


def test_a_vector_that_comes_late_stays_hidden_under_its_own_mask():
    # E's vector arrives after it was declared dropped and its pairwise masks were opened.
    cells, late = [Block("0/y1", CELLS, 32)], tables_of(1)[0]
    design = SumDesign(STUDY, tuple("ABCDE"), 1, 3, 1, 2)
    keys = [KeyPair.generate() for _ in range(5)]
    verify = tuple(pair.verify_key for pair in keys)
    members = [DoublyMaskedSum(design, k, keys[k], verify) for k in range(5)]
    states = [Held() for _ in members]
    with testing.seeded(6) as source:
        for k, member in enumerate(members):
            hello, _, kept = member.hello(1, source)
            states[k] = member.take(states[k], kept)
            states = [m.take(s, hello) for m, s in zip(members, states, strict=True)]
        for k, member in enumerate(members):
            _, (shares,) = member.close(states[k], 1, source)
            for i, other in enumerate(members):
                one = shares.for_members(range(i, i + 1))
                states[i] = other.take(states[i], one)
    vector = members[4].mask(states[4], cells, late)[0].payload["words32"][0].copy()
    session = members[4].session(states[4])
    context = design.context(session, cells[0])
    common = {k: masks.agree(states[4].secret, states[4].hellos[k].key) for k in range(4)}
    masks.add_pairwise(vector, context, 4, common, remove=True)
    assert bytes_fit(vector) > 1e-4
    # Its own mask is all that hides it: with the seed as well the counts are there.
    masks.add_own(vector, context, 4, states[4].seed, remove=True)
    assert signed(vector).tolist() == late[0].tolist()


def test_a_late_vector_is_refused_and_not_in_the_sum():
    study = Horizontal(SCHEMA, ["ward"], dict.fromkeys("ABCDE", 1.0), dropouts=1)
    held = []

    def late(batch):
        if batch.kind == "masked" and batch.sender[0] == 4:
            held.append(batch)
            return []
        return [*held, batch] if batch.kind == "unmask" else [batch]

    run = study.simulate(frames(study.parties), tamper=late)
    assert run.dropped == ("E",)
    assert any("came late" in why for why in run.refused)
