"""Secure protocols in a plan: known figures, errors and costs of real runs, refusals."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import sottovoce as sv
from sottovoce import testing
from sottovoce.accounting.two_stage import TwoStage
from sottovoce.cli import main
from sottovoce.contract.design import Requirement
from sottovoce.errors import GuaranteeError, ParameterError
from sottovoce.promise import LDP, Against
from sottovoce.secure.designs import designs, largest_first_rate, role_costs, std_error
from sottovoce.secure.promises import ONCE

S = sv.secure
SAMPLING = {"dpds", "tss"}

# Mean squared error times 1e5 for n = 1000 and N = 30, at the same true (epsilon, delta): with
# 33 and 20 holders of every value, and of the analytic Gaussian.
FAIR = [
    ("substitute", 0.1, 1e-7, "1054", "10671", "342"),
    ("substitute", 0.5, 1e-5, "12.4", "23.6", "9.89"),
    ("substitute", 1.0, 1e-5, "3.92", "7.22", "2.78"),
    ("add-remove", 1.0, 1e-5, "3.21", "6.16", "1.39"),
    ("add-remove", 0.1, 1e-3, "44.7", "98.1", "30.3"),
]


def offers(neighbours="substitute", **changes):
    asked = Requirement(d=30, bounds=None, n=1000, levels={"everyone": 1.0}, error=None, delta=1e-5)
    asked = dataclasses.replace(asked, **changes)
    return {x.name: x for x in designs(asked, neighbours=neighbours)}


def agrees(value: float, printed: str) -> bool:
    """To the printed digits; 6.16 stands for 6.1547, so that half a digit is not quite enough."""
    decimals = len(printed.partition(".")[2])
    return abs(value - float(printed)) <= 0.6 * 10**-decimals


@pytest.mark.parametrize(("neighbours", "epsilon", "delta", "many", "few", "gaussian"), FAIR)
def test_the_fair_comparison(neighbours, epsilon, delta, many, few, gaussian):
    for count, printed in ((33, many), (20, few)):
        levels = {"everyone": epsilon}
        offered = offers(neighbours, levels=levels, delta=delta, count=count)
        assert agrees(1e5 * offered["dpds"].std_error ** 2, printed)
    # DPDG has somebody's noise more than the Gaussian alone, and rounds to whole people.
    step = S.DPDG(30, epsilon=epsilon, delta=delta, neighbours=neighbours).shares(1000).step
    rounding = (1 - step**-2) / 12 / 1000**2
    assert agrees(1e5 * (offered["dpdg"].std_error ** 2 - rounding) * 999 / 1000, gaussian)
    # Noise is best here, Gaussian or binomial.
    errors = {name: x.std_error for name, x in offered.items()}
    assert min(errors, key=errors.__getitem__) not in SAMPLING
    assert errors["binomial-noise"] == pytest.approx(errors["dpdg"], rel=0.06)


def test_ranked_beside_local_mechanisms_at_the_same_privacy():
    plan = sv.plan(d=30, n=1000, epsilon=1, delta=1e-5, count=33)
    names = [x.name for x in plan]
    assert names[:5] == ["dpdg", "binomial-noise", "dpds", "tss", "subset"]
    assert [x.std_error for x in plan] == sorted(x.std_error for x in plan)
    for design in plan:
        first = design.guarantee.promises[0]
        assert 0.99 < first.epsilon <= 1
        assert first.delta == (1e-5 if design.costs else 0)
        assert (first.notion is LDP) == (not design.costs)
    assert {x.name for x in plan if x.provided} == SAMPLING
    for x in plan:
        if x.provided:
            others = 31 if x.name == "tss" else 32  # who sees the result knows their own coin
            assert f"at least {others} holders other than" in x.guarantee.promises[0].assuming[0]
    # What the protocols assume when they run is not left out of the plan.
    secure = [x.guarantee.promises for x in plan if x.costs]
    assert all(ONCE in promise.assuming for promises in secure for promise in promises)
    tss = plan.designs[3].guarantee.promises[0]
    assert tss.against is Against.SENDERS  # not S2 alone: the result is published


def test_words_name_the_winner_of_this_requirement():
    plan = sv.plan(d=30, n=1000, epsilon=1, delta=1e-5, count=33)
    words = plan.verdict()
    first = "Here dpdg has the lowest error; in multiples of it: binomial-noise 1.0"
    assert words.startswith(first)
    assert "dpds 1.18" in words
    assert "subset 11" in words
    assert words.endswith("dpds and tss promise holds only if every value has at least 33 holders.")
    assert words in str(plan)
    assert "aggregator" in str(plan)
    fewest = sv.plan(d=30, epsilon=1, error=0.003, delta=1e-5)
    assert fewest.verdict().startswith("Here dpdg needs the fewest people;")
    assert sv.plan(d=30, n=1000, epsilon=1).verdict() == ""


def test_without_a_least_count_nothing_is_sampled():
    plan = sv.plan(d=30, n=1000, epsilon=1, delta=1e-5)
    assert {x.name for x in plan if x.costs} == {"dpdg", "binomial-noise"}
    assert not any(x.provided for x in plan)


def test_without_a_delta_plans_are_as_before():
    assert offers(delta=0.0) == {}
    assert offers(bounds=(0, 1), d=None) == {}
    assert offers(levels={"a": 1.0, "b": 2.0}) == {}
    assert not any("costs" in row for row in sv.plan(d=4, n=1000, epsilon=1).rows())


def test_a_sample_that_shows_answers_in_clear_is_not_offered():
    """With few holders the best rate is about delta: nobody is hidden, some are just not seen."""
    offered = offers(levels={"everyone": 0.1}, delta=1e-3, count=2)
    assert set(offered) == {"dpdg", "binomial-noise"}


def test_collusion_costs_holders_and_noise():
    alone, among = offers(count=33), offers(count=33, collusion=5)
    for name in alone:
        assert among[name].std_error > alone[name].std_error
    assert among["dpds"].std_error == pytest.approx(offers(count=28)["dpds"].std_error)


def test_the_number_of_people_is_the_fewest():
    asked = {"n": None, "error": 0.003, "count": 20}
    for name, design in offers(**asked).items():
        assert design.std_error <= 0.003
        if design.n > 600:  # of whom 20 hold each value
            assert offers(n=design.n - 1, count=20)[name].std_error > 0.003


@pytest.mark.parametrize("count", [1, 20, 33, 200])
@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_the_rate_of_two_stage_sampling_is_the_largest(count, neighbours):
    rate = largest_first_rate(1.0, 1e-5, count, 12, 5, neighbours, 0)
    deltas = [
        TwoStage(p, 12, 5).delta_with_output(1.0, count, neighbours=neighbours)
        for p in (rate, 1.01 * rate)
    ]
    assert deltas[0] <= 1e-5
    assert deltas[1] > 1e-5


def test_an_epsilon_that_does_not_hold_is_not_promised():
    protocol = S.TSS(12, rate=0.5, report=0.4, count=33, delta=1e-5)
    with pytest.raises(GuaranteeError, match="does not hold"):
        protocol.promise_at(0.5)


def small_protocols():
    same = {"epsilon": 1.0, "delta": 1e-3}
    return [
        S.DPDS(5, count=60, helpers=2, **same),
        S.TSS(5, rate=0.6, report=0.4),
        S.DPDG(5, helpers=2, **same),
        S.BinomialNoise(5, helpers=2, **same),
    ]


@pytest.mark.parametrize("protocol", small_protocols(), ids=lambda p: p.name)
def test_predicted_errors_are_met(protocol):
    """Seeded runs of the real protocol; half as many people would be noticed."""
    answers = np.repeat(np.arange(5), [150, 60, 60, 65, 65])
    truth = np.bincount(answers) / answers.size
    with testing.seeded(13) as source:
        runs = [protocol.simulate(answers, source=source, views=False) for _ in range(60)]
    estimates = np.array([run.aggregate.dense("support") for run in runs], float)
    noise = runs[0].aggregate.route.noise
    mean = 0.0 if noise is None else noise.mean
    squares = ((estimates - mean) / (protocol.kept * answers.size) - truth) ** 2
    ratio = squares.mean() / std_error(protocol, answers.size) ** 2
    assert 0.75 < ratio < 1.33
    assert squares.mean() / std_error(protocol, answers.size // 2) ** 2 < 0.75


@pytest.mark.parametrize(
    "protocol",
    [S.DPDS(12, rate=0.4), S.DPDS(12, rate=0.4, helpers=3), S.DPDG(12, epsilon=1.0)],
    ids=["users", "helpers", "dpdg"],
)
def test_costs_are_those_of_a_run(protocol):
    n = 60
    with testing.seeded(5) as source:
        costs = protocol.simulate(np.arange(n) % 12, source=source).costs
    members = {"user": n, "helper": 3, "aggregator": 1}
    size = protocol.field(n).element_bytes
    for name, predicted in role_costs(protocol, n).items():
        actual = next(cost for role, cost in costs.items() if role.value == name)
        assert actual.elements == members[name] * predicted.elements
        assert actual.added == members[name] * predicted.additions
        assert actual.bytes + size * actual.elements == members[name] * predicted.sent


def test_costs_of_two_stage_sampling():
    """N = 12, M = 5, n = 300: published as 1246 additions and 633 elements, also by simulation."""
    protocol, n = S.TSS(12, rate=0.5, report=5 / 12), 300
    predicted = role_costs(protocol, n)
    assert round(predicted["user"].additions) == 1246
    assert round(predicted["user"].elements) == 633
    with testing.seeded(1) as source:
        costs = protocol.simulate(np.arange(n) % 12, source=source, views=False).costs
    actual = {role.value: cost for role, cost in costs.items()}
    assert actual["user"].elements / n == pytest.approx(predicted["user"].elements, rel=0.02)
    assert actual["user"].added / n == pytest.approx(predicted["user"].additions, rel=0.02)
    assert actual["s2"].added == predicted["s2"].additions
    assert actual["s1"].bytes == predicted["s1"].sent


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": 34}, "cannot be at least 34 holders of each of 30"),
        ({"count": 0}, "count is 0"),
        ({"count": 33, "delta": 0.0}, "a delta above 0"),
        ({"count": 33, "rate": 0.5}, "neither rate nor traffic"),
        ({"collusion": 3, "delta": 0.0}, "a delta above 0"),
        ({"collusion": -1}, "collusion is -1"),
        ({"count": 10, "collusion": 10}, "at least one holder"),
    ],
)
def test_refusals(changes, words):
    asked = {"d": 30, "n": 1000, "epsilon": 1, "delta": 1e-5} | changes
    with pytest.raises(ParameterError, match=words):
        sv.plan(**asked)


def test_on_the_command_line():
    words = ["plan", "--values=30", "--people=1000", "--epsilon=1", "--delta=1e-5", "--count=33"]
    shown = CliRunner().invoke(main, words)
    assert shown.exit_code == 0, shown.output
    assert "Here dpdg has the lowest error" in shown.output
    about = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    best, local = about["designs"][0], about["designs"][-1]
    assert best["costs"]["user"] == {"elements": 30000, "sent": 120000, "additions": 59940}
    assert "costs" not in local
    assert math.isclose(best["std_error"], 0.00529, rel_tol=1e-2)
