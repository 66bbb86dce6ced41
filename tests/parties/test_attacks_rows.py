"""Attacks on sums over rows: all that the curator and t parties see, and faults that must show."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from sottovoce import testing
from sottovoce.errors import ParameterError, ShareError
from sottovoce.noise import Polya
from sottovoce.parties import Horizontal, counting
from sottovoce.parties.blocks import signed
from sottovoce.parties.double_masking import (
    FIELD,
    DoublyMaskedSum,
    bytes_of,
    survivors_message,
)
from sottovoce.parties.hellos import SumDesign
from sottovoce.parties.sums import Block
from sottovoce.sharing import masks, shamir
from sottovoce.transport import Role, drive
from sottovoce.transport.keys import KeyPair

from .attacks import loss, measured, share_pmf
from .tables import SCHEMA, frames
from .test_sums import STUDY, Sum

# Budgets that round badly: 64 (ε − .11) is 8.96, 25.6 and 120.96.
ODD = {"A": 0.11, "B": 0.25, "C": 0.51, "D": 2.0, "E": 0.11}
CASES = [
    (parties, collusion, dropouts)
    for parties in (2, 3, 4, 5)
    for collusion in range(1, parties)
    for dropouts in range((parties - 1 - collusion) // 2 + 1)
]


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
@pytest.mark.parametrize(("parties", "collusion", "dropouts"), CASES)
def test_every_party_loses_at_most_its_promise(parties, collusion, dropouts, neighbours):
    study = Horizontal(
        SCHEMA,
        ["smoker", "ward"],
        {name: ODD[name] for name in "ABCDE"[:parties]},
        collusion=collusion,
        dropouts=dropouts,
        neighbours=neighbours,
    )
    names, promised = study.parties, study.costs_of(None)
    for party in names[:2]:
        others = [name for name in names if name != party]
        # Fewer shares protect less, and shares are alike: the largest coalitions and drop-outs.
        for gone in range(study.dropouts + 1):
            colluders = others[: study.collusion]
            present = [name for name in names if name not in others[len(others) - gone :]]
            epsilon = measured(study, party, colluders, present)
            assert epsilon <= float(promised[party]) + 1e-9
        assert promised[party] <= study.budgets[party]
    # The bound is reached: nothing is charged for nothing.
    last = names[1]
    others = [name for name in names if name != last]
    stay = others[: len(others) - study.dropouts]
    epsilon = measured(study, last, stay[: study.collusion], [last, *stay])
    assert epsilon == pytest.approx(float(promised[last]), abs=1e-9)


def test_one_colluder_more_than_tolerated_breaks_the_promise():
    study = Horizontal(SCHEMA, ["smoker"], dict.fromkeys("ABC", 1.0), collusion=1)
    assert measured(study, "A", ["B"]) == pytest.approx(1.0, abs=1e-9)
    assert measured(study, "A", ["B", "C"]) == pytest.approx(2.28, abs=0.01)


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_secret_sampling_costs_each_party_its_budget(neighbours):
    study = Horizontal(
        SCHEMA, ["smoker"], {"A": 0.1, "B": 1.0}, method="sah", neighbours=neighbours
    )
    ((release,),) = study.releases(None)
    assert release.kept["B"] == 1
    p, width = float(release.kept["A"]), 120
    law = share_pmf(release.scale, 1, width)
    k = slice(width - 40, width + 41)
    kept, lost = p * np.roll(law, 1)[k] + (1 - p) * law[k], law[k]
    if neighbours == "add-remove":
        epsilon = np.abs(np.log(kept / lost)).max()
    else:  # one cell loses the record and another gets it; which row is kept is one coin
        both = np.log(p * np.outer(np.roll(law, 1)[k], law[k]) + (1 - p) * np.outer(law[k], law[k]))
        epsilon = np.abs(both - both.T).max()
    assert epsilon == pytest.approx(0.1, abs=1e-9)
    assert float(study.costs_of(None)["A"]) == pytest.approx(0.1)


# --- views --------------------------------------------------------------------------------------


def bytes_fit(*words):
    """p-value of the lowest bytes being uniform, alone and in pairs of neighbouring vectors."""
    values = []
    for word in words:
        values.append(stats.chisquare(np.bincount(word.astype(np.uint8), minlength=256)).pvalue)
    for one, two in combinations(words, 2):
        pair = (one & 15).astype(int) * 16 + (two & 15).astype(int)
        values.append(stats.chisquare(np.bincount(pair, minlength=256)).pvalue)
    return min(values)


CELLS = 20_000
WIDE = [Block("0/y1", CELLS, 32)]


def tables_of(parties):
    generator = np.random.default_rng(3)
    return [[generator.poisson(2.0, CELLS)] for _ in range(parties)]


def seeded_sum(parties, blocks=WIDE, seed=1):
    with testing.seeded(seed) as source, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.parties.test_sums.SYSTEM", source)
        return Sum(parties, blocks)


def test_masked_vectors_are_uniform_given_their_sum():
    # What a simulator sends who knows the sum alone: uniform vectors that add up to it.
    between, tables = seeded_sum(3), tables_of(3)
    words = [batch.payload["words32"][0] for batch in between.masked(tables)]
    assert bytes_fit(*words[:2]) > 1e-4  # seeded: the same p-value in every run
    assert bytes_fit(*words[1:]) > 1e-4
    assert signed(words[0] + words[1] + words[2]).tolist() == sum(t[0] for t in tables).tolist()
    with testing.seeded(2) as source:
        drawn = np.empty((2, CELLS), np.uint32)
        source.fill(drawn)
    simulated = [*drawn, sum(t[0] for t in tables).astype(np.uint32) - drawn[0] - drawn[1]]
    assert bytes_fit(*simulated[:2]) > 1e-4
    # Planted faults: no mask, and a mask that two parties of three have in common.
    assert bytes_fit(*(t[0].astype(np.uint32) for t in tables[:2])) < 1e-100
    assert bytes_fit(words[0], words[0] + tables[1][0].astype(np.uint32)) < 1e-100


def test_curator_and_one_party_see_the_sum_of_the_others_alone():
    between, tables = seeded_sum(3), tables_of(3)
    words = [batch.payload["words32"][0].copy() for batch in between.masked(tables)]
    held, session = between.states[2], between.members[2].session(between.states[2])
    context = between.design.context(session, WIDE[0])
    for k in (0, 1):  # C takes its own masks away
        common = {2: masks.agree(held.secret, held.hellos[k].key)}
        masks.add_pairwise(words[k], context, k, common, remove=True)
    assert bytes_fit(words[0]) > 1e-4
    assert bytes_fit(words[1]) > 1e-4
    assert signed(words[0] + words[1]).tolist() == (tables[0][0] + tables[1][0]).tolist()


def test_the_curator_gets_nothing_but_hellos_masked_vectors_and_unmasking():
    kinds = {}
    for dropouts in (0, 1):
        study = Horizontal(SCHEMA, ["ward"], dict.fromkeys("ABCD", 1.0), dropouts=dropouts)
        run = study.simulate(frames(study.parties))
        kinds[dropouts] = [b.kind for b in run.views.of(Role.CURATOR)]
        parties = {b.kind for b in run.views.of(Role.PARTY)}
        assert "masked" not in parties
        if not dropouts:
            assert parties == {"hello", "kept", "receipt"}
    assert kinds[0] == ["hello"] * 4 + ["masked"] * 4
    assert kinds[1] == ["hello"] * 4 + ["masked"] * 4 + ["unmask"] * 4


# --- faults that must show ----------------------------------------------------------------------


def test_one_keystream_for_two_releases_shows_a_partys_counts():
    between, tables = seeded_sum(2), tables_of(2)
    zeros = [np.zeros(CELLS, int)]
    first = between.members[0].mask(between.states[0], WIDE, tables[0])[0].payload["words32"][0]
    second = between.members[0].mask(between.states[0], WIDE, zeros)[0].payload["words32"][0]
    assert signed(first - second).tolist() == tables[0][0].tolist()
    # So two releases of one run have different blocks, and blocks of one name are refused.
    other = [Block("0/y2", CELLS, 32)]
    second = between.members[0].mask(between.states[0], other, zeros)[0].payload["words32"][0]
    assert bytes_fit(first - second) > 1e-4
    with pytest.raises(ParameterError, match="one keystream is never used twice"):
        between.members[0].mask(between.states[0], WIDE * 2, [tables[0][0]] * 2)


def test_a_session_key_that_is_used_again_shows_what_changed():
    tables, changed = tables_of(2), tables_of(2)
    changed[0][0][5] += 1
    same = [seeded_sum(2, seed=1), seeded_sum(2, seed=1)]  # a copied generator
    words = [
        between.masked(vectors)[0].payload["words32"][0]
        for between, vectors in zip(same, (tables, changed), strict=True)
    ]
    assert np.flatnonzero(words[1] - words[0]).tolist() == [5]
    fresh = seeded_sum(2, seed=2).masked(changed)[0].payload["words32"][0]
    assert bytes_fit(fresh - words[0]) > 1e-4


def test_fresh_noise_on_an_identical_retry_costs_the_budget_again():
    law = share_pmf(2, 1, 120)
    once = loss([law], 1, 2, 50)
    k = slice(70, 171)
    pair = np.log(np.outer(law[k], law[k]))
    moved = np.log(np.outer(np.roll(law, 1)[k], np.roll(law, 1)[k]))
    assert once == pytest.approx(1.0)
    assert 2 * np.abs(pair - moved).max() == pytest.approx(2.0)


def test_a_restart_with_the_survivors_under_the_same_noise_shows_one_party():
    # K = 10, t = 2, ε = .1: the difference of two sums is one party's counts with one share.
    study = Horizontal(SCHEMA, ["smoker"], dict.fromkeys("ABCDEFGHIJ", 0.1), collusion=2)
    ((release,),) = study.releases(None)
    assert (release.scale, release.honest) == (20, 8)
    share = share_pmf(20, 8, 1200)
    assert loss([share], 1, 2, 400) == pytest.approx(4.08, abs=0.005)
    assert measured(study, "A", "BC") == pytest.approx(0.1, abs=1e-9)


def test_a_new_run_draws_new_noise_and_new_masks(monkeypatch):
    drawn = []

    def noise(release, party, source):
        drawn.append(counting.noise_shares(release, party, source))
        return drawn[-1]

    monkeypatch.setitem(counting.NOISE, "shares", noise)
    study = Horizontal(SCHEMA, ["stage", "ward"], {"A": 0.1, "B": 0.1}, method="mh")
    runs = [study.simulate(frames("AB")) for _ in range(2)]
    assert len({share.tobytes() for share in drawn}) == 4
    sent = [b for run in runs for b in run.views.of(Role.CURATOR) if b.kind == "masked"]
    assert len({b.payload["session"].tobytes() for b in sent}) == 2
    assert len({b.payload["words32"].tobytes() for b in sent}) == 4


@pytest.mark.parametrize(
    ("parties", "honest", "epsilon"),
    [(2, 1, 2.28), (5, 4, 1.38), (5, 1, 4.15), (10, 9, 1.17), (10, 1, 5.57)],
)
def test_shares_of_one_kth_lose_what_the_page_says(parties, honest, epsilon):
    # party-marginals.md (i): nominal ε = 1, noise divided by K although some collude.
    share = share_pmf(2, parties, 120)
    assert loss([share] * honest, 1, 2, 50) == pytest.approx(epsilon, abs=0.005)


def test_no_colluder_at_all_is_refused():
    for options in ({}, {"dropouts": 1}):
        with pytest.raises(ParameterError, match="whoever sees the result can subtract"):
            Horizontal(SCHEMA, ["ward"], dict.fromkeys("ABCDE", 1), collusion=0, **options)
    assert (
        Polya(2, 1).variance
        == Horizontal(SCHEMA, ["ward"], dict.fromkeys("AB", 1), method="mh")
        .releases(None)[0][0]
        .share_law.variance
    )


# --- a curator who lies about drop-outs ---------------------------------------------------------


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

    monkeypatch.setitem(counting.NOISE, "shares", noise)
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
    states = [member.start() for member in members]
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
