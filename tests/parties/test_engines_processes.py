"""Engines in processes of their own: exact, equal to `dealer`, and noise that nobody draws."""

from __future__ import annotations

import importlib.util
import math
import os
from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import MissingExtraError, ParameterError, ShareError
from sottovoce.noise import DiscreteLaplace
from sottovoce.parties import Horizontal
from sottovoce.parties.engines import COMPARED, engine_of
from sottovoce.parties.engines.cheetah import VARIABLE
from sottovoce.parties.oblivious import Coins, delta
from sottovoce.parties.products import Plan, Product

from .columns import opened, split, study, without_noise

needs_mpyc = pytest.mark.skipif(
    importlib.util.find_spec("mpyc") is None, reason="mpyc is not installed: pip install mpyc"
)
needs_spu = pytest.mark.skipif(
    not os.environ.get(VARIABLE), reason=f"{VARIABLE} does not name a Python with SPU"
)

ENGINES = [
    pytest.param("mpyc", (3, 2), marks=needs_mpyc),
    pytest.param("mpyc", (2, 4, 3), marks=needs_mpyc),
    pytest.param("mpyc", (2, 3, 2, 2), marks=needs_mpyc),
    pytest.param("mpyc", (2, 2, 3, 2, 2), marks=needs_mpyc),
    pytest.param("cheetah", (3, 2), marks=needs_spu),
    pytest.param("cheetah", (2, 4, 3), marks=needs_spu),
    pytest.param("cheetah", (2, 3, 2, 2), marks=needs_spu),
    pytest.param("cheetah", (2, 2, 3, 2, 2), marks=needs_spu),
]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "sizes"), ENGINES)
def test_the_same_sums_as_with_a_dealer(engine, sizes, monkeypatch):
    without_noise(monkeypatch)
    schemas, frames, table = split(sizes, 50)
    sums = opened(study(schemas, engine=engine).simulate(frames))
    dealt = opened(study(schemas).simulate(frames))
    assert sums["level-1"].tolist() == table.ravel().tolist()
    assert {name: cells.tolist() for name, cells in sums.items()} == {
        name: cells.tolist() for name, cells in dealt.items()
    }


@needs_mpyc
@pytest.mark.slow
def test_oblivious_noise_through_mpyc():
    """It stays within its reach; the law of its digits is tested exactly below."""
    schemas, frames, table = split((2, 2), 50)
    v = study(schemas, engine="mpyc", noise="oblivious", method="mv")
    run = v.simulate(frames)
    reach = v.coins[0].reach
    assert np.abs(opened(run)["y"] - table.ravel()).max() <= reach
    assert run.guarantee.promises[0].delta == delta(Fraction(1, 2), v.coins) < 2**-60


def test_digits_have_the_law_of_discrete_laplace_noise():
    """Exact: the law of all digits together, against α^|k| (1 − α)/(1 + α)."""
    coins = Coins(4, Fraction(1, 2))
    whole = 1 << coins.precision
    law = {0: Fraction(1)}
    for j, digit in enumerate(coins.digits):
        p = Fraction(digit, whole)
        law = {k: chance * (1 - p) for k, chance in law.items()} | {
            k + (1 << j): chance * p for k, chance in law.items()
        }
    total = {}
    for k, first in law.items():
        for m, second in law.items():
            total[k - m] = total.get(k - m, 0.0) + float(first) * float(second)
    exact = DiscreteLaplace(Fraction(1, 2))
    for k in range(-8, 9):
        assert math.isclose(total[k], math.exp(exact.log_pmf(k)), rel_tol=1e-12)
    assert coins.miss < 2**-65
    # The fault: one digit fewer, and the tail is missing.
    assert 2 * coins.cells * math.exp(-(2 ** (coins.count - 1)) * 2) > 2**-67


def test_oblivious_noise_counts_once():
    schemas, _, _ = split((2, 2, 2), 10)
    shares = study(schemas).releases(None)[0][0]
    assert shares.variance == pytest.approx(3 * DiscreteLaplace(shares.scale).variance)
    if importlib.util.find_spec("mpyc") is not None:
        one = study(schemas, engine="mpyc", noise="oblivious").releases(None)[0][0]
        assert one.variance == DiscreteLaplace(one.scale).variance


def test_honest_majority_is_all_that_mpyc_protects():
    schemas, _, _ = split((2, 2, 2, 2), 10)
    assert study(schemas, engine="mpyc").collusion == 1  # and the curator: 2 of 5
    with pytest.raises(ParameterError, match="at most 1 of them"):
        study(schemas, engine="mpyc", collusion=2)
    (promise, *_) = study(schemas, engine="mpyc").guarantee.promises
    assert any("fewer than half" in sentence for sentence in promise.assuming)
    assert any("at most one other party works" in sentence for sentence in promise.assuming)
    # Two parties and the curator: any two of them are a majority, so nobody may collude.
    (promise, *_) = study(split((2, 2), 10)[0], engine="mpyc").guarantee.promises
    assert promise.assuming[0].startswith("no party works with the curator")


@needs_mpyc
def test_addresses_on_other_machines_are_refused():
    names = ["A", "B"]
    engine = engine_of("mpyc", addresses=("10.0.0.1:9000", "127.0.0.1:9001", "127.0.0.1:9002"))
    with pytest.raises(ParameterError, match="in clear"):
        engine.party(0, names)
    with pytest.raises(ParameterError, match="needs one for each"):
        engine_of("mpyc").party(0, names)


def test_addresses_come_from_the_study():
    schemas, _, _ = split((2, 2), 10)
    at = {"A": "127.0.0.1:9100", "B": "127.0.0.1:9200", "curator": "127.0.0.1:9300"}
    assert study(schemas, engine="mpyc", addresses=at).engine.addresses == tuple(at.values())
    assert study(schemas, engine="cheetah", addresses=at).engine.addresses == (
        "127.0.0.1:9100", "127.0.0.1:9101", "127.0.0.1:9200", "127.0.0.1:9201"
    )  # fmt: skip
    with pytest.raises(ParameterError, match="'curator' are missing"):
        study(schemas, engine="mpyc", addresses={"A": at["A"], "B": at["B"]})
    with pytest.raises(ParameterError, match="host:port"):
        study(schemas, engine="mpyc", addresses={**at, "B": "9200"})
    with pytest.raises(ParameterError, match="no processes"):
        study(schemas, addresses=at)


def test_engines_that_are_not_installed_say_how(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(MissingExtraError, match=VARIABLE):
        engine_of("cheetah").here(2).party(0, ["A", "B"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="sottovoce\\[mpyc\\]"):
        engine_of("mpyc").here(2).party(0, ["A", "B"])


@needs_mpyc
def test_a_process_that_fails_or_is_gone_leaves_no_result(monkeypatch):
    plan = Plan((2, 2), 4, 32, (Product("table", {}, (0,)),))
    member = engine_of("mpyc").here(2).party(0, ["A", "B"])
    with pytest.raises(ShareError, match="cannot be resumed"):
        member.close(member.start(), COMPARED + 1, plan, [np.zeros(4, np.int64)])
    monkeypatch.setattr(type(member.engine), "command", lambda engine: ["false"])
    member.close(member.start(), COMPARED, plan, [np.zeros(4, np.int64)])
    with pytest.raises(ShareError, match="failed"):
        member.close(member.start(), COMPARED + 1, plan, [np.zeros(4, np.int64)])


ROWS = [sv.Attribute("ward", 3)]


@needs_mpyc
@pytest.mark.slow
def test_sums_over_rows_with_noise_that_nobody_draws():
    frames = {"A": {"ward": [0, 0, 1, 2]}, "B": {"ward": [2, 2, 1]}, "C": {"ward": [0, 1, 1]}}
    h = Horizontal(ROWS, ["ward"], {"A": 8, "B": 8, "C": 8}, noise="oblivious", method="mh")
    run = h.simulate(frames)
    assert np.abs(opened(run)["y1"] - [3, 4, 3]).max() <= h.coins[0].reach
    assert run.refused == ()
    assert [promise.epsilon for promise in run.guarantee.promises] == [8] * 3
    assert all(0 < promise.delta < 2**-50 for promise in run.guarantee.promises)


def test_oblivious_noise_over_rows_counts_once_and_needs_a_majority():
    budgets = dict.fromkeys("ABCD", 1)
    shares = Horizontal(ROWS, ["ward"], budgets, method="mh").releases(None)[0][0]
    one = Horizontal(ROWS, ["ward"], budgets, method="mh", noise="oblivious")
    assert shares.variance == pytest.approx(4 * one.releases(None)[0][0].variance)
    assert one.collusion == 1
    with pytest.raises(ParameterError, match="at most 1 of them"):
        Horizontal(ROWS, ["ward"], budgets, noise="oblivious", collusion=2)
    with pytest.raises(ParameterError, match="dropouts=0"):
        Horizontal(ROWS, ["ward"], budgets, noise="oblivious", dropouts=1)


def test_a_study_with_another_method_keeps_its_addresses():
    budgets = dict.fromkeys("ABC", 1)
    addresses = {name: f"127.0.0.1:{9100 + k}" for k, name in enumerate([*"ABC", "curator"])}
    h = Horizontal(ROWS, ["ward"], budgets, noise="oblivious", addresses=addresses)
    assert h.with_method("mh").engine == h.engine
    assert h.engine.addresses == tuple(addresses.values())
