"""Vertical: opened sums are the true counts, in the order asked; whatever differs is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import AnswerError, ParameterError, ShareError
from sottovoce.parties.vertical import Vertical
from sottovoce.promise import Against, Protected
from sottovoce.transport import Role

from .columns import opened, split, study, without_noise

SIZES = [(3, 2), (2, 5, 3), (2, 3, 2, 4), (2, 2, 3, 2, 2)]


@pytest.mark.parametrize("sizes", SIZES)
def test_every_team_opens_the_true_counts(sizes, monkeypatch):
    without_noise(monkeypatch)
    schemas, frames, table = split(sizes, 60)
    run = study(schemas).simulate(frames)
    sums = opened(run)
    assert len(sums) == len(sizes)  # budgets rise, so every party opens one level more
    for i in range(len(sizes)):
        expected = table.sum(axis=tuple(range(i)))
        assert sums[f"level-{i + 1}"].tolist() == expected.ravel().tolist()
    assert run.refused == ()


def test_several_attributes_of_a_party_act_as_one_and_keep_the_order_asked(monkeypatch):
    without_noise(monkeypatch)
    random, rows = np.random.default_rng(3), 80
    age, sex, ward = (random.integers(0, size, rows) for size in (2, 3, 4))
    keys = [f"p{k}" for k in range(rows)]
    hospital = sv.Schema([sv.Attribute("age", 2), sv.Attribute("sex", 3)])
    clinic = sv.Schema([sv.Attribute("ward", 4), sv.Attribute("unasked", 2)])
    study = Vertical({"A": hospital, "B": clinic}, ["sex", "ward", "age"], {"A": 1, "B": 1})
    assert study.held == {"A": ("sex", "age"), "B": ("ward",)}
    frames = {
        "A": {"person_id": keys, "age": age, "sex": sex},
        "B": {"person_id": keys[::-1], "ward": ward[::-1]},
    }
    table = np.zeros((3, 4, 2))
    np.add.at(table, (sex, ward, age), 1)
    estimate = study.simulate(frames).estimate
    assert estimate.name == "sex × ward × age"
    assert np.allclose(estimate.table, table / rows)


def test_overlapping_attributes_are_resolved_by_the_caller_or_refused(monkeypatch):
    without_noise(monkeypatch)
    both = sv.Schema([sv.Attribute("age", 2), sv.Attribute("ward", 3)])
    other = sv.Schema([sv.Attribute("age", 2), sv.Attribute("sex", 2)])
    budgets = {"A": 1, "B": 1}
    with pytest.raises(ParameterError, match="holds="):
        Vertical({"A": both, "B": other}, ["age", "ward", "sex"], budgets)
    chosen = Vertical({"A": both, "B": other}, ["age", "ward", "sex"], budgets, holds={"age": "B"})
    assert chosen.held == {"A": ("ward",), "B": ("age", "sex")}
    with pytest.raises(ParameterError, match="leave them out"):
        Vertical({"A": both, "B": other}, ["ward"], budgets)
    with pytest.raises(ParameterError, match="does not have"):
        Vertical({"A": both, "B": other}, ["ward", "sex"], budgets, holds={"ward": "B"})
    with pytest.raises(ParameterError, match="no party"):
        Vertical({"A": both, "B": other}, ["height"], budgets)


def test_rows_are_aligned_by_key_whatever_its_type(monkeypatch):
    without_noise(monkeypatch)
    schemas, frames, table = split((2, 3), 40)
    frames["B"]["person_id"] = frames["B"]["person_id"].astype(str)
    run = study(schemas).simulate(frames)
    assert opened(run)["level-1"].tolist() == table.ravel().tolist()


def test_other_people_stop_the_run_and_the_parties_are_named():
    schemas, frames, _ = split((2, 3, 2), 40)
    fewer = {name: column[1:] for name, column in frames["C"].items()}
    with pytest.raises(ShareError, match=r"different numbers of rows \('A' 40, 'B' 40, 'C' 39\)"):
        study(schemas).simulate({**frames, "C": fewer})
    keys = frames["B"]["person_id"].copy()
    keys[0] = 7
    others = {**frames["B"], "person_id": keys}
    with pytest.raises(ShareError, match=r"'A' and 'C'; 'B'"):
        study(schemas).simulate({**frames, "B": others})


def test_bad_keys_and_missing_values_are_refused():
    schemas, frames, _ = split((2, 3), 10)
    v = study(schemas)

    def replaced(row, value, column="person_id"):
        cells = list(frames["A"][column])
        cells[row] = value
        return {**frames["A"], column: cells}

    assert v.check("A", frames["A"]) == 10
    for table, reason in [
        (replaced(3, frames["A"]["person_id"][4]), "more than once"),
        (replaced(3, None), "row 3 is missing"),
        (replaced(3, float("nan")), "row 3 is missing"),
        (replaced(3, ""), "row 3 is missing"),
        (replaced(3, 1.5), "whole numbers"),
        (replaced(3, True), "whole numbers"),
        (replaced(3, None, "a"), "'a'"),
        ({"a": [0, 1]}, "person_id"),
    ]:
        with pytest.raises(AnswerError, match=reason):
            v.check("A", table)
    counted = {"A": sv.Schema([sv.Attribute("a", 2, missing="value")]), "B": schemas["B"]}
    assert Vertical(counted, ["a", "b"], {"A": 1, "B": 1}).check("A", replaced(3, None, "a")) == 10
    public = {"A": sv.Schema([sv.Attribute("a", 2, missing="public")]), "B": schemas["B"]}
    with pytest.raises(ParameterError, match="missing='value'"):
        Vertical(public, ["a", "b"], {"A": 1, "B": 1})


def test_curator_and_dealer_see_nothing_of_the_alignment_or_the_columns():
    schemas, frames, _ = split((2, 3, 2), 40)
    views = study(schemas).simulate(frames).views
    assert {batch.kind for batch in views.of(Role.CURATOR)} == {"hello", "masked"}
    (rows,) = {batch.kind for batch in views.of(Role.DEALER)}
    assert rows == "rows"
    assert {b.kind for b in views.of(Role.PARTY, 0)} == {
        "hello", "kept", "contribution", "digest", "seed", "open", "receipt"
    }  # fmt: skip


def test_messages_that_are_lost_or_altered_leave_no_result():
    schemas, frames, _ = split((2, 3, 2), 40)

    def lose(kind):
        return lambda batch: () if batch.kind == kind else (batch,)

    def alter(batch):
        if batch.kind != "open":
            return (batch,)
        words = batch.payload["words"] + np.uint32(1 << 30)
        payload = {**batch.payload, "words": words}
        return (type(batch)(batch.kind, batch.round, batch.sent_by, batch.sent_to, batch.sender,
                            batch.receiver, payload, batch.order),)  # fmt: skip

    for kind in ("contribution", "digest", "seed", "correction", "open", "masked"):
        with pytest.raises(ShareError, match=r"missing|not take part"):
            study(schemas).simulate(frames, tamper=lose(kind))
    with pytest.raises(ShareError, match="outside what these rows can give"):
        study(schemas).simulate(frames, tamper=alter)
    # Twice is refused, and counted once.
    run = study(schemas).simulate(
        frames, tamper=lambda batch: (batch, batch) if batch.kind == "open" else (batch,)
    )
    assert any("twice" in reason for reason in run.refused)


def test_promises_for_each_party_and_for_a_whole_person():
    schemas, _, _ = split((2, 3, 2), 10)
    v = study(schemas)
    *parties, person = v.guarantee.promises
    assert [promise.epsilon for promise in parties] == [0.5, 1.5, 2.5]
    assert [promise.unit.group for promise in parties] == ["A", "B", "C"]
    assert all(promise.unit.protects is Protected.PARTY_RECORD for promise in parties)
    assert person.epsilon == 2.5
    assert person.unit.protects is Protected.RECORD
    assert {promise.against for promise in v.guarantee.promises} == {Against.PARTIES}
    assert any("dealer" in sentence for sentence in person.assuming)
    # A colluding party knows its own columns, which are a part of the whole person.
    assert any("knows its own columns" in sentence for sentence in person.assuming)
    assert not any("own columns" in s for promise in parties for s in promise.assuming)
    assert v.costs_of(None) == {"A": Fraction(1, 2), "B": Fraction(3, 2), "C": Fraction(5, 2)}
    mv = v.with_method("mv").guarantee.promises
    assert [promise.epsilon for promise in mv] == [0.5] * 4
    gaussian = Vertical(
        schemas, ["a", "b", "c"], {"A": 0.3, "B": 0.5, "C": 0.5}, method="pbs-gaussian"
    ).guarantee.promises
    assert [promise.delta > 0 for promise in gaussian] == [True] * 4
    assert gaussian[-1].epsilon == 0.5


def test_the_curator_signs_a_receipt_and_plans_say_what_is_sent():
    schemas, frames, _ = split((2, 3, 2), 40)
    run, plan = study(schemas).simulate(frames), study(schemas).plan(40)
    assert dict(run.receipt.spent) == {
        "A": Fraction(1, 2),
        "B": Fraction(3, 2),
        "C": Fraction(5, 2),
    }
    opened_bytes = sum(
        batch.payload["words"].nbytes for batch in run.views.batches if batch.kind == "open"
    )
    assert opened_bytes == 4 * 40 * (2 + 2 + 2 * (2 * 2 + 3))  # the largest domain comes last
    assert plan.bytes >= opened_bytes
    assert plan.rounds == study(schemas).message_rounds == 6
    assert 0 < plan.standard_errors[0] < 1


def test_intervals_cover_and_estimates_are_near_the_counts():
    schemas, frames, table = split((3, 4), 4000)
    with testing.seeded(5) as source:
        run = study(schemas).simulate(frames, source=source)
        estimate = run.estimate
        interval = estimate.interval(0.999)
    truth = table.ravel() / 4000
    assert np.abs(estimate.values - truth).max() < 0.01
    assert ((interval.low <= truth) & (truth <= interval.high)).all()
    assert not run.guarantee.promises  # seeded: nothing is promised


def test_large_matrices_travel_in_parts(monkeypatch):
    from sottovoce.parties.engines import dealer

    without_noise(monkeypatch)
    monkeypatch.setattr(dealer, "_PART_BYTES", 64)
    schemas, frames, table = split((2, 3, 2), 37)
    run = study(schemas).simulate(frames)
    assert opened(run)["level-1"].tolist() == table.ravel().tolist()


def test_what_cannot_be_is_refused_at_construction():
    schemas, frames, _ = split((2, 3), 10)
    for options, reason in [
        ({"engine": "abacus"}, "engines are"),
        ({"method": "sjs"}, "split columns"),
        ({"noise": "none"}, "noise is"),
        ({"noise": "oblivious"}, "mpyc"),
        ({"collusion": 0}, "collusion is 0"),
        ({"collusion": 2}, "collusion is 2"),
        ({"key": "a"}, "no attribute"),
        ({"key": ""}, "key is"),
    ]:
        with pytest.raises(ParameterError, match=reason):
            study(schemas, **options)
    with pytest.raises(ParameterError, match="one of each"):
        Vertical(schemas, ["a", "b"], {"A": 1, "C": 1})
    with pytest.raises(ParameterError, match="one table for each"):
        study(schemas).simulate({"A": frames["A"]})
    with pytest.raises(ParameterError, match="no party 'X'"):
        study(schemas).check("X", frames["A"])
    names = {"A": schemas["A"], "B": schemas["B"]}
    assert study(schemas).digest != Vertical(names, ["b", "a"], {"A": 0.5, "B": 1.5}).digest
    assert study(schemas).digest != study(schemas, key="id").digest
