"""Rows split between parties: exact sums, budgets in the open, promises, receipts, clear errors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.checks import float_above
from sottovoce.errors import AnswerError, EstimateError, ParameterError, SeededError, ShareError
from sottovoce.noise import DiscreteLaplace
from sottovoce.parties import Horizontal, curator
from sottovoce.parties.methods.registry import ROWS
from sottovoce.parties.receipts import Receipt
from sottovoce.promise import Against, Neighbours, Protected
from sottovoce.transport import Role

from .tables import BUDGETS, SCHEMA, frames, known_noise, plain_table

MARGINALS = [["smoker", "stage"], ["ward"], ["stage", "ward", "smoker"]]


def study(parties=3, attributes=("smoker", "ward"), **options):
    budgets = {name: BUDGETS[name] for name in "ABCDE"[:parties]}
    return Horizontal(SCHEMA, list(attributes), budgets, **options)


@pytest.mark.parametrize("parties", [2, 3, 4, 5])
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_sums_without_their_noise_are_the_plain_tables(parties, neighbours, monkeypatch):
    drawn = known_noise(monkeypatch)
    h = study(parties, MARGINALS, neighbours=neighbours)
    data = frames(h.parties)
    run = h.simulate(data)
    every = [
        (names, r) for names, rs in zip(h.marginals, h.releases(None), strict=True) for r in rs
    ]
    assert [r.name for _, r in every] == ["y1", "y2", "y1", "y1", "y2"]  # three cells need no y2
    for aggregate, (names, release) in zip(run.aggregates, every, strict=True):
        plain = sum(
            release.weights.get(party, 0) * plain_table(data[party], names) for party in h.parties
        )
        noise = sum(drawn[release.name, release.cells].values())
        assert (aggregate.dense(release.name) - noise).tolist() == plain.reshape(-1).tolist()


@pytest.mark.parametrize("method", ROWS)
@pytest.mark.parametrize("options", [{}, {"dropouts": 1}, {"neighbours": "add-remove"}], ids=str)
def test_every_method_gives_a_labelled_table_within_the_budgets(method, options):
    if method == "mm-random" and "neighbours" in options:
        with pytest.raises(ParameterError, match="numbers of rows to be public"):
            study(4, method=method, **options)  # before anything is spent
        return
    h = study(4, ["ward", "smoker"], method=method, **options)
    run = h.simulate(frames(h.parties, 400))
    table = run.estimate
    assert table.names == ["ward", "smoker"]
    assert table.values.size == 6
    assert table.values.sum() == pytest.approx(1)
    assert (table.values >= -1e-12).all()
    low, high = table.interval()
    assert ((low <= table.values + 1e-9) & (table.values <= high + 1e-9)).all()
    for party, promise in zip(h.parties, run.guarantee.promises, strict=True):
        assert promise.epsilon == h.spent()[party] <= BUDGETS[party] * (1 + 1e-15)


def test_one_promise_for_each_party_with_what_is_really_spent():
    h = study(3)
    promises = h.simulate(frames(h.parties)).guarantee.promises
    assert [p.unit.group for p in promises] == ["A", "B", "C"]
    # y1 costs everyone .1, y2 costs ⌊64 (ε − .1)⌋/64 more.
    exact = [Fraction(1, 10) + Fraction(a, 64) for a in (0, 25, 57)]
    assert list(h.costs_of(None).values()) == exact
    assert [p.epsilon for p in promises] == [float_above(epsilon) for epsilon in exact]
    for promise in promises:
        assert promise.against is Against.PARTIES
        assert promise.delta == 0
        assert promise.unit.protects is Protected.PARTY_RECORD
        assert promise.neighbours is Neighbours.SUBSTITUTION
        assert any("at most 2 other parties work with the curator" in a for a in promise.assuming)
        assert any("sum of what these parties spend" in a for a in promise.assuming)
    hidden = study(3, neighbours="add-remove").guarantee.promises[0]
    assert hidden.unit.protects is Protected.PARTICIPATION
    assert hidden.neighbours is Neighbours.ADD_REMOVE


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_promises_say_that_they_hold_for_one_row_of_each_person(rows, neighbours):
    """All rows of one person move as many counts as there are of them."""
    h = study(2, method="mh", neighbours=neighbours)
    ((release,),) = h.releases(None)
    law = DiscreteLaplace(release.scale)
    here, there = law.log_pmf([0, 0]), law.log_pmf([rows, -rows])
    lost = float((here - there)[: 2 if neighbours == "substitution" else 1].sum())
    promise = h.guarantee.promises[0]
    assert lost == pytest.approx(rows * promise.epsilon)
    assert (lost <= promise.epsilon * (1 + 1e-9)) == (rows == 1)
    assert any("nobody has more than one row" in sentence for sentence in promise.assuming)


def test_routes_carry_the_noise_and_cost_of_each_release():
    h = study(3, ["smoker", "ward"], collusion=1)
    run = h.simulate(frames(h.parties))
    (releases,) = h.releases(None)
    for aggregate, release in zip(run.aggregates, releases, strict=True):
        noise = aggregate.route.noise
        assert noise.law == "discrete-laplace"
        assert noise.variance == release.variance
    alone = [[p.epsilon for p in a.route.guarantee.promises] for a in run.aggregates]
    assert alone == [[0.1] * 3, [0, 25 / 64, 57 / 64]]
    assert run.aggregates[0].people == 40 + 47 + 54
    # With one colluder of three, two shares make up the noise and three are in the sum.
    assert releases[0].variance == pytest.approx(1.5 * 799.8334, rel=1e-6)


def test_marginals_divide_the_budget_in_the_open():
    equal = study(2, [["smoker"], ["ward"]], method="mh")
    assert equal.fractions == (Fraction(1, 2),) * 2
    assert [d.budgets["B"] for d in equal.designs(None)] == [Fraction(1, 4)] * 2
    by_name = study(2, [["smoker"], ["ward"]], fractions={"ward": 0.25, ("smoker",): 0.75})
    assert by_name.fractions == (Fraction(3, 4), Fraction(1, 4))
    part = study(2, [["smoker"], ["ward"]], fractions=[0.5, 0.25], method="independent")
    assert part.costs_of(None) == {"A": Fraction(3, 40), "B": Fraction(3, 8)}
    run = equal.simulate(frames(equal.parties))
    assert [table.names for table in run.estimates] == [["smoker"], ["ward"]]
    with pytest.raises(EstimateError, match="2 tables"):
        run.estimate  # noqa: B018


@pytest.mark.parametrize("dropouts", [0, 1])
def test_the_receipt_is_signed_and_says_what_was_spent(dropouts):
    h = study(4, dropouts=dropouts)
    run = h.simulate(frames(h.parties))
    receipt = run.receipt
    assert receipt.study == h.digest
    assert receipt.parties == h.parties
    assert receipt.spent["B"] == Fraction(1, 10) + Fraction(25, 64)
    assert type(receipt).from_bytes(receipt.to_bytes()) == receipt
    for change in ({"sums": bytes(32)}, {"spent": {**receipt.spent, "A": Fraction(0)}}):
        forged = replace(receipt, **change)
        assert forged.message != receipt.message
    batch = run.views.of(Role.PARTY, 2)[-1]
    assert batch.kind == "receipt"
    assert batch.payload["text"][0].tobytes() == receipt.to_bytes()


def test_a_receipt_of_other_costs_or_another_signature_is_refused():
    h = study(2)

    def altered(batch):
        if batch.kind != "receipt":
            return [batch]
        text = batch.payload["text"][0].tobytes().replace(b'"1/10"', b'"1/99"')
        changed = {"text": np.frombuffer(text, np.uint8)[None]}
        return [replace(batch, payload=changed)]

    run = h.simulate(frames(h.parties), tamper=altered)
    assert len(run.refused) == 2
    assert "not signed by the curator" in run.refused[0]


@pytest.mark.parametrize("dropouts", [0, 1])
def test_a_receipt_that_leaves_a_party_out_is_refused(dropouts, monkeypatch):
    h = study(4, dropouts=dropouts)

    class Fewer(Receipt):
        def signed(self, keys):
            return Receipt.signed(replace(self, parties=self.parties[:-1]), keys)

    monkeypatch.setattr(curator, "Receipt", Fewer)
    run = h.simulate(frames(h.parties))
    assert len(run.refused) == 4
    assert all("other costs or parties" in reason for reason in run.refused)


def test_seeded_runs_repeat_and_promise_nothing():
    h = study(2)
    with testing.seeded(5) as source:
        first = h.simulate(frames(h.parties), source=source)
    with testing.seeded(5) as source:
        again = h.simulate(frames(h.parties), source=source)
    assert first.estimate.values.tolist() == again.estimate.values.tolist()
    assert first.guarantee.promises == ()
    assert first.aggregates[0].seeded
    with pytest.raises(SeededError):
        h.simulate(frames(h.parties), source=source)


def test_a_plan_spends_nothing_and_is_met():
    h = study(3, ["smoker", "ward"], collusion=1)
    data = frames(h.parties, 4000)
    plan = h.plan({name: h.check(name, data[name]) for name in h.parties})
    run = h.simulate(data)
    assert dict(plan.spent) == h.spent()
    assert plan.rounds == h.message_rounds == 3
    assert run.estimate.std_error == pytest.approx([plan.standard_errors[0]] * 6, rel=0.2)
    sent = sum(cost.bytes + 8 * cost.elements for cost in run.costs.values())
    assert plan.bytes == pytest.approx(sent, rel=0.3)
    assert len(plan.releases) == 2
    assert "smoker × ward: y1, 6 cells" in plan.releases[0]


def test_a_plan_needs_rows_of_every_party():
    h = study(3)
    assert h.plan(100) == h.plan(dict.fromkeys(h.parties, 100))
    nine = dict.fromkeys(h.parties, 9)
    for rows in (0, {**nine, "A": 0}, {**nine, "B": "9"}):
        with pytest.raises(ParameterError, match="it must be a whole number of at least 1"):
            h.plan(rows)
    hidden = study(3, neighbours="add-remove")
    assert hidden.plan({**nine, "A": 0}).spent == hidden.plan(9).spent
    with pytest.raises(ParameterError, match="all rows is 0"):
        hidden.plan(0)
    with pytest.raises(ParameterError, match="give a number for each of"):
        h.plan({"A": 10})


def test_digests_differ_in_every_public_parameter():
    base = study(3)
    others = [
        study(4),
        study(3, ["ward", "smoker"]),
        study(3, [["smoker"], ["ward"]]),
        study(3, [["smoker"], ["ward"]], fractions=[0.5, 0.4]),
        study(3, collusion=1),
        study(4, dropouts=1),
        study(3, neighbours="add-remove"),
        study(3, method="mh"),
        Horizontal(SCHEMA, ["smoker", "ward"], {"A": 0.1, "C": 1.0, "B": 0.5}),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == len(others) + 1
    assert base.digest == study(3).digest


WRONG = [
    ({"budgets": {"A": 1}}, "at least 2"),
    ({"budgets": {"A": 0, "B": 1}}, "budget of 'A'.*above 0"),
    ({"budgets": {"A": 0.1, "B": 21}}, "budget of 'B'.*at most 20"),
    ({"budgets": {"A": float("nan"), "B": 1}}, "budget of 'A'"),
    ({"budgets": {"A": "1", "B": 1}}, "budget of 'A'"),
    ({"budgets": {"A": True, "B": 1}}, "budget of 'A'"),
    ({"budgets": {"curator": 1, "B": 1}}, "not 'curator'"),
    ({"budgets": {"": 1, "B": 1}}, "named ''"),
    ({"budgets": [1, 2]}, "give the epsilon of each party"),
    ({"attributes": ["smoker", "age"]}, "no attribute 'age'"),
    ({"attributes": "smoker"}, "list of names"),
    ({"attributes": []}, "no attributes|list of"),
    ({"attributes": [["smoker"], []]}, "one marginal"),
    ({"attributes": ["smoker", "smoker"]}, "each once"),
    ({"attributes": [["smoker", "ward"], ["ward", "smoker"]]}, "same attributes"),
    ({"collusion": 0}, "from 1 to 1"),
    ({"collusion": 2}, "from 1 to 1"),
    ({"collusion": "1"}, "collusion is '1'; it must be a whole number"),
    ({"collusion": 1.5}, "whole number"),
    ({"collusion": True}, "whole number"),
    ({"dropouts": 1}, "at least 4 parties"),
    ({"dropouts": -1}, "from 0 on"),
    ({"neighbours": "both"}, "'substitution'"),
    ({"method": "best"}, "'sjs'"),
    ({"noise": "none"}, "can come from"),
    ({"fractions": [0.5]}, None),
    ({"fractions": [0.5, 0.5]}, "2 fractions for 1"),
    ({"fractions": [1.5]}, "at most 1"),
    ({"fractions": [0]}, "above 0"),
    ({"fractions": {"age": 1}}, "each marginal"),
    ({"attributes": [["smoker"], ["ward"]], "fractions": [0.6, 0.6]}, "must not exceed 1"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=str)
def test_wrong_studies_are_refused_with_what_is_allowed(change, message):
    options = {"attributes": ["smoker", "ward"], "budgets": {"A": 0.1, "B": 1}, **change}
    attributes, budgets = options.pop("attributes"), options.pop("budgets")
    if message is None:
        Horizontal(SCHEMA, attributes, budgets, **options)
        return
    with pytest.raises(ParameterError, match=message):
        Horizontal(SCHEMA, attributes, budgets, **options)


def test_drop_outs_and_collusion_that_break_the_threshold_are_refused():
    budgets = dict.fromkeys("ABCDE", 1)
    assert Horizontal(SCHEMA, ["ward"], budgets, dropouts=1).collusion == 2
    with pytest.raises(ParameterError, match="two different sets"):
        Horizontal(SCHEMA, ["ward"], budgets, dropouts=1, collusion=3)
    with pytest.raises(ParameterError, match="whoever sees the result"):
        Horizontal(SCHEMA, ["ward"], budgets, collusion=0)


def test_wrong_tables_are_refused_by_party_and_row():
    h, good = study(2), frames(["A", "B"])
    for change, message in (
        ({"ward": [0, 1, 7]}, "'B'.*'ward'.*7"),
        ({"ward": [0, 1, None]}, "'B'.*missing"),
        ({"ward": [0.0, 1.0, float("nan")]}, "'B'.*missing"),
        ({"ward": [0, 1]}, "'B'.*different lengths"),
    ):
        bad = {"smoker": ["yes", "no", "no"], **change}
        with pytest.raises(AnswerError, match=message):
            h.simulate({**good, "B": bad})
    for bad, message in (
        ({"smoker": ["yes"]}, "'B'.*no column 'ward'"),
        ({"smoker": [], "ward": []}, "'B'.*no rows"),
        ("b.csv", "'B'.*a table is a data frame"),
    ):
        with pytest.raises(AnswerError, match=message):
            h.check("B", bad)
    with pytest.raises(ParameterError, match="one table for each of"):
        h.simulate({"A": good["A"]})
    with pytest.raises(ParameterError, match="no party 'C'"):
        h.check("C", good["A"])
    schema = [sv.Attribute("smoker", ["yes", "no"], missing="public")]
    with pytest.raises(ParameterError, match="missing='value'"):
        Horizontal(schema, ["smoker"], {"A": 1, "B": 1})


def test_data_frames_of_any_kind_count_alike():
    pandas = pytest.importorskip("pandas")
    h, data = study(2, ["stage", "smoker"]), frames(["A", "B"])
    data["A"] = pandas.DataFrame(data["A"]).set_index("ward", drop=False).sort_index()
    with testing.seeded(3) as source:
        first = h.simulate(data, source=source)
    data["A"] = {name: list(column) for name, column in data["A"].items()}
    with testing.seeded(3) as source:
        again = h.simulate(data, source=source)
    assert first.aggregates[0] == again.aggregates[0]


def test_a_missing_hello_stops_everyone_before_anything_is_spent():
    h = study(3)
    seen = []

    def lost(batch):
        seen.append(batch.kind)
        return [] if batch.kind == "hello" and batch.sender[0] == 1 else [batch]

    with pytest.raises(ShareError, match="'B' did not say hello"):
        h.simulate(frames(h.parties), tamper=lost)
    assert "masked" not in seen


@pytest.mark.parametrize("said", [0, -1, (1 << 40) + 1])
def test_numbers_of_rows_that_nobody_has_stop_the_run(said):
    h = study(3)

    def told(batch):
        payload = dict(batch.payload)
        if batch.kind == "hello" and batch.sender[0] == 1:
            payload["rows"] = np.array([said])
        return [replace(batch, payload=payload)]

    with pytest.raises(ShareError, match=r"'B' (sent no number|did not say hello)"):
        h.simulate(frames(h.parties), tamper=told)


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_sums_under_masks_that_do_not_cancel_are_no_result(neighbours):
    h = study(3, neighbours=neighbours)

    def told(batch):
        payload = dict(batch.payload)
        if batch.kind == "hello" and batch.sender[0] == 1:
            payload["key"] = payload["key"] ^ np.uint8(1)  # everyone hears of a key that B has not
        return [replace(batch, payload=payload)]

    with pytest.raises(ShareError, match="outside what these rows can give"):
        h.simulate(frames(h.parties), tamper=told)


def test_numbers_of_rows_are_published_only_where_they_are_public():
    for neighbours, shown in (("substitution", [40, 47]), ("add-remove", [-1, -1])):
        run = study(2, neighbours=neighbours).simulate(frames(["A", "B"]))
        hellos = [b for b in run.views.of(Role.CURATOR) if b.kind == "hello"]
        assert [int(b.payload["rows"][0]) for b in hellos] == shown
    h = study(2, neighbours="add-remove")

    def told(batch):
        payload = dict(batch.payload)
        if batch.kind == "hello" and batch.sender[0] == 1:
            payload["rows"] = np.array([47])
        return [replace(batch, payload=payload)]

    with pytest.raises(ShareError, match="'B' sent its number of rows, against the study"):
        h.simulate(frames(["A", "B"]), tamper=told)


def test_reached_lazily():
    assert sv.parties.Horizontal is Horizontal
    code = (
        "import sottovoce, sys; print([m for m in sys.modules if 'parties' in m or 'numba' in m])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
