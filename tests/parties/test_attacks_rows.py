"""Attacks on sums over rows: all that the curator and t parties see, and faults that must show."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import testing
from sottovoce.errors import ParameterError
from sottovoce.noise import Polya
from sottovoce.parties import Horizontal, counting, machines
from sottovoce.parties.blocks import signed
from sottovoce.parties.sums import Block
from sottovoce.sharing import masks
from sottovoce.transport import Role

from .attacks import CELLS, bytes_fit, loss, measured, share_pmf, tables_of
from .tables import SCHEMA, frames
from .test_sums import Sum

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


WIDE = [Block("0/y1", CELLS, 32)]


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

    monkeypatch.setattr(machines, "noise_shares", noise)
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
