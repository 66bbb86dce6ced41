"""Promises by adversary, with the numbers of the maths page and the sentences that they rest on."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import accounting
from sottovoce.accounting.pairs import Pair, shifted
from sottovoce.accounting.search import MARGIN
from sottovoce.errors import GuaranteeError, ParameterError, ShareError
from sottovoce.noise import DiscreteGaussian
from sottovoce.noise.binomial import log_pmf
from sottovoce.promise import DP, LDP, Against, Guarantee, Neighbours
from sottovoce.promise.assumptions import EVERY_ROUND, LEVEL_IS_PUBLIC
from sottovoce.secure.grouped import OF_THIS_LEVEL
from sottovoce.secure.promises import Size
from sottovoce.sharing.seeds import SEED_BYTES
from sottovoce.transport import Batch

S = sv.secure
ITEMS = ["car", "bike", "train", "foot", "bus"]


def by_observer(guarantee: Guarantee) -> dict[Against, tuple[float, float]]:
    return {p.against: (p.epsilon, p.delta) for p in guarantee.promises}


def test_dpds_states_its_assumption() -> None:
    protocol = S.DPDS(ITEMS, rate=0.39, count=100, users=1000, collusion=10)
    promise, shares = protocol.guarantee.promises
    account = accounting.sampled_counts(100, 0.39, 1e-6, insiders=10)
    assert (promise.epsilon, promise.delta) == (account.epsilon, 1e-6)
    assert (promise.notion, promise.against) == (DP, Against.AGGREGATOR)
    text = str(protocol.guarantee)
    assert "every answer has at least 89 holders other than the person" in text.replace("\n  ", " ")
    assert "invented people" in text
    assert "false but well-formed" in text.replace("\n  ", " ")
    assert (shares.against, shares.epsilon, shares.delta) == (Against.COALITION, 0.0, 0.0)
    assert S.DPDS(ITEMS, rate=0.39, count=100, helpers=2).guarantee.promises[1].against is (
        Against.HELPERS
    )


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("kind", [S.DPCS, S.DPDS])
def test_a_rate_is_planned_from_targets(kind, epsilon: float) -> None:
    protocol = kind(ITEMS, epsilon=epsilon, delta=1e-5, count=100, collusion=0)
    # Not a little more, which would be shown as 1.00001.
    assert 0.9999 * epsilon <= protocol.guarantee.promises[0].epsilon <= epsilon
    assert epsilon != 0.5 or round(protocol.rate, 3) == 0.479


def test_without_a_count_nothing_is_promised_and_without_epsilon_it_is_refused() -> None:
    run = S.DPDS(ITEMS, rate=0.4).simulate(["car"] * 20)
    assert not run.guarantee.promises
    assert "lower bound" in run.guarantee.reason
    protocol = S.DPDS(ITEMS, rate=0.4, count=5)
    with pytest.raises(GuaranteeError, match="no epsilon"):
        protocol.simulate(["car"] * 20)


def test_noise_needs_no_assumption_on_the_data() -> None:
    for protocol in (
        S.BinomialNoise(ITEMS, epsilon=1.0, delta=1e-5, collusion=3),
        S.Dummies(ITEMS, epsilon=1.0, delta=1e-5, rate=0.5),
        S.DPDG(ITEMS, epsilon=1.0, delta=1e-5, collusion=5),
    ):
        run = protocol.simulate(["car", "bike"] * 100)
        promise = run.guarantee.promises[0]
        assert (promise.epsilon, promise.delta) == (1.0, 1e-5)
        assert promise.against is Against.AGGREGATOR
        assert not any("every answer has" in sentence for sentence in promise.assuming)


def test_coins_and_dummies_of_the_maths_page() -> None:
    zero = {"neighbours": "add-remove", "epsilon": 1.0, "delta": 1e-5}
    assert S.BinomialNoise(2, **zero).needed == 62
    assert S.BinomialNoise(2, epsilon=1.0, delta=1e-5).needed == 115
    assert S.Suppressed(2, rate=0.3, collusion=0, **zero).threshold == 14
    assert S.Suppressed(2, rate=0.3, collusion=10, **zero).threshold == 24
    assert S.Suppressed(2, rate=0.3, **zero).threshold == 15  # somebody sees the result
    assert S.Suppressed(2, rate=0.3, **zero).guarantee.promises[0].against is Against.RESULT


def test_published_tss_is_certified_with_senders() -> None:
    rate = 1 - math.exp(-0.5)
    # 100 holders whose coins nobody knows: one of the 101 may be who looks.
    parameters = {"rate": rate, "report": 0.4, "count": 101, "delta": 7.7e-5, "collusion": 1}
    shown = S.TSS(30, **parameters)
    promises = by_observer(shown.guarantee)
    assert set(promises) == {Against.SENDERS, Against.S1, Against.COALITION}
    assert promises[Against.SENDERS][0] == pytest.approx(0.5, abs=2e-3)
    assert promises[Against.S1] == (0.0, 0.0)
    kept = S.TSS(30, published=False, **parameters)
    alone = by_observer(kept.guarantee)
    assert set(alone) == {Against.S2, Against.S1, Against.COALITION}
    assert alone[Against.S2][0] < promises[Against.SENDERS][0]
    hidden = S.TSS(30, published=False, committee=5, **parameters)
    assert by_observer(hidden.guarantee)[Against.S2][0] < alone[Against.S2][0]
    assert Against.S1 not in by_observer(hidden.guarantee)


def test_adaptive_selection_shows_epsilon_star() -> None:
    protocol = S.TSS(
        5, rate=0.5, report=0.4, selection="adaptive", gamma=2, collusion=2, count=100, delta=1e-3
    )
    promises = by_observer(protocol.guarantee)
    star = protocol.design.epsilon_star
    assert promises[Against.S1] == promises[Against.COALITION] == (star, 0.0)
    uniform = S.TSS(5, rate=0.5, report=0.4, collusion=2, count=100, delta=1e-3)
    assert promises[Against.SENDERS][0] > by_observer(uniform.guarantee)[Against.SENDERS][0]
    assert all(
        p.notion is LDP for p in protocol.guarantee.promises if p.against is not Against.SENDERS
    )


def test_the_relation_is_typed() -> None:
    protocol = S.BinomialNoise(2, epsilon=1.0, neighbours="add-remove")
    assert protocol.guarantee.promises[0].neighbours is Neighbours.ADD_REMOVE


def test_a_seeded_run_promises_nothing() -> None:
    with sv_seeded(1) as source:
        run = S.BinomialNoise(2, epsilon=1.0).simulate([0, 1] * 20, source=source)
    assert not run.guarantee.promises
    with pytest.raises(sv.SottovoceError, match="seed"):
        S.TrueCounts(2).estimate(run.aggregate)


def sv_seeded(seed: int):  # type: ignore[no-untyped-def]
    from sottovoce import testing

    return testing.seeded(seed)


# --- the account of summed discrete Gaussian noise ---------------------------------------------


@pytest.mark.parametrize("people", [2, 3, 6])
def test_sums_of_discrete_gaussians_are_as_close_to_one_as_stated(people: int) -> None:
    """|log(P(sum)/P(discrete Gaussian))| ≤ 10 Σ e^{−2π²σ²k/(k+1)}, by exact convolution."""
    sigma = 0.6
    k = np.arange(-14, 15)
    one = np.exp(DiscreteGaussian(sigma).log_pmf(k))
    total = one
    for _ in range(people - 1):
        total = np.convolve(total, one)
    reach = len(total) // 2
    near = np.arange(-5, 6)
    ideal = DiscreteGaussian(sigma * people**0.5).log_pmf(near)
    gap = np.abs(np.log(total[near + reach]) - ideal).max()
    order = np.arange(1, people)
    assert 0 < gap <= 10 * np.exp(-2 * np.pi**2 * sigma**2 * order / (order + 1)).sum()


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_the_account_of_gaussian_shares_is_an_upper_bound(neighbours: str) -> None:
    """Against the exact law of a small sum, and close to it."""
    sigma, people, step, epsilon = 1.2, 4, 3, 1.0
    k = np.arange(-20, 21)
    one = np.exp(DiscreteGaussian(sigma).log_pmf(k))
    total = one
    for _ in range(people - 1):
        total = np.convolve(total, one)
    moved = np.concatenate([np.zeros(step), total[:-step]])
    if neighbours == "add-remove":
        exact = np.maximum(total - math.exp(epsilon) * moved, 0).sum()
    else:
        first, second = np.outer(total, moved), np.outer(moved, total)
        exact = np.maximum(first - math.exp(epsilon) * second, 0).sum()
    account = accounting.gaussian_shares_delta(
        epsilon, sigma, people, step=step, neighbours=neighbours
    )
    assert exact <= account <= exact * 1.05
    with pytest.raises(sv.SottovoceError, match="scale"):
        accounting.gaussian_shares_delta(1.0, 0.2, 10)


def test_the_published_share_of_noise_is_far_too_small() -> None:
    """(Gσ/n)² instead of (Gσ)²/n: true δ .998 at ε = 1, δ = 1e-5, n = 1000."""
    sigma = accounting.sigma_analytic(1.0, 1e-5)
    assert accounting.delta_gaussian(1.0, sigma / 1000**0.5) > 0.99
    right = S.DPDG(2, epsilon=1.0, delta=1e-5).shares(1000)
    assert right.delta <= 1e-5
    assert right.delta > 0.9e-5


def test_several_rounds_are_as_strong_as_the_one_with_the_fewest_coins() -> None:
    """Fewer people toss several coins each, so that a later round may have more than needed."""
    protocol = S.BinomialNoise(2, epsilon=4.0, delta=1e-6, neighbours="add-remove")
    sizes = (200, min(range(2, 40), key=lambda people: -_hidden(protocol, people)))
    many, few = (_hidden(protocol, people) for people in sizes)
    assert many == protocol.needed < few
    first, second = (shifted(log_pmf(np.arange(coins + 1), coins, 0.5)) for coins in (many, few))
    exact = first.delta_with(second, protocol.epsilon)
    for people in sizes:
        promise = protocol.promise(people, None, 2).promises[0]
        assert promise.delta >= exact
    assert accounting.binomial_noise_delta(4.0, few, neighbours="add-remove", rounds=2) < exact


def _hidden(protocol: S.BinomialNoise, people: int) -> int:
    who = protocol.tossers(people)
    return (who.users - protocol.collusion) * who.each


@pytest.mark.parametrize(("first", "second"), [(5, 2), (1000, 3), (3, 1000)])
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 20.0])
def test_several_rounds_of_gaussian_noise_compose_the_noise_of_each(
    first: int, second: int, epsilon: float
) -> None:
    """Every number of people has a lattice of its own; the last one alone says too little."""
    protocol = S.DPDG(2, epsilon=epsilon, delta=1e-6, neighbours="add-remove")
    one, other = (_ideal(protocol, people) for people in (first, second))
    exact = one.delta_with(other, epsilon) / MARGIN
    composed = protocol.promise(second, None, 2, (Size(first, first),)).promises[0].delta
    assert exact <= composed <= exact * 1.01
    unknown = protocol.promise(second, None, 2).promises[0].delta
    assert exact <= unknown <= exact * 5


def test_a_session_accounts_for_the_people_of_each_of_its_rounds() -> None:
    protocol = S.DPDG(2, epsilon=4.0, delta=1e-6, neighbours="add-remove")
    session = protocol.session([0, 1, 1, 0, 1])
    session.run()
    with pytest.raises(sv.SottovoceError, match="somebody else must add noise"):
        session.run(present=[True, False, False, False, False])
    promise = session.run(present=[True, True, False, False, False]).guarantee.promises[0]
    assert session.rounds == 2
    exact = _ideal(protocol, 5).delta_with(_ideal(protocol, 2), 4.0) / MARGIN
    assert promise.delta >= exact
    shares = protocol.shares(2)
    noise = {"step": shares.step, "neighbours": "add-remove", "rounds": 2}
    assert accounting.gaussian_shares_delta(4.0, float(shares.law.sigma), 1, **noise) < exact


def test_gaussian_noise_that_all_people_may_know_is_not_promised() -> None:
    with pytest.raises(sv.SottovoceError, match="somebody else must add noise"):
        _ = S.DPDG(2, epsilon=1.0, users=5, collusion=5).guarantee


def _ideal(protocol: S.DPDG, people: int) -> Pair:
    """One discrete Gaussian number in place of the sum; they differ by less than 1e-25."""
    shares = protocol.shares(people)
    law = DiscreteGaussian(float(shares.law.sigma) * (people - protocol.collusion) ** 0.5)
    reach = law.reach(1e-60)
    return shifted(law.log_pmf(np.arange(-reach, reach + 1)), 1e-60, shares.step)


@pytest.mark.parametrize(
    "protocol",
    [
        S.BinomialNoise(2, epsilon=1.0),
        S.DPDG(2, epsilon=1.0),
        S.Dummies(2, rate=0.5, epsilon=1.0, delta=1e-3),
        S.Suppressed(2, rate=0.3, epsilon=1.0, delta=1e-3, neighbours="add-remove"),
        S.DPDS(2, rate=0.4, count=10, delta=1e-2),
        S.DPCS(2, rate=0.4, count=10, delta=1e-2),
        S.TSS(2, rate=0.4, report=0.5, count=10, delta=1e-1),
    ],
    ids=lambda protocol: protocol.name,
)
def test_two_runs_with_the_same_people_are_not_one_promise(protocol: S.Protocol) -> None:
    """Each says that the other adds to it, since neither knows of the other."""
    answers = np.arange(400) % 2
    for run in (protocol.simulate(answers), protocol.simulate(answers)):
        for promise in run.guarantee.promises:
            assert any("another run" in sentence for sentence in promise.assuming)


@pytest.mark.parametrize("kind", [S.DPCS, S.DPDS, partial(S.TSS, report=0.5)])
def test_a_count_that_so_few_people_cannot_reach_promises_nothing(kind) -> None:
    """Four answers with 100 holders each take 397 people: 99 others for each, and the person."""
    about = {"rate": 0.4, "count": 100, "delta": 1e-6}
    with pytest.raises(ParameterError, match="396 people cannot be 100 holders of each of 4"):
        kind(4, users=396, **about)
    assert kind(4, users=397, **about).guarantee.promises
    few = kind(4, **about).simulate(np.arange(396) % 4)
    assert not few.guarantee.promises
    assert "at least 397 people" in few.estimate.guarantee.line()
    assert kind(4, **about).simulate(np.arange(397) % 4).guarantee.promises


def test_people_who_drop_out_may_leave_too_few_for_the_count() -> None:
    """Helpers open no sum of them; a committee does, which then promises nothing."""
    about = {"rate": 0.4, "count": 10, "delta": 1e-2}

    def lost(batch: Batch) -> tuple[Batch, ...]:
        return (batch.select(batch.sender < 18) if batch.kind == "share" else batch,)

    answers = np.arange(20) % 2
    helped = S.DPDS(2, helpers=2, **about)
    assert helped.simulate(answers).guarantee.promises
    with pytest.raises(ShareError, match="fewer people than the promise needs"):
        helped.session(answers).run(tamper=lost)
    committee = S.TSS(2, report=1, collusion=1, committee=3, **about)
    assert committee.simulate(answers).guarantee.promises
    assert not committee.session(answers).run(tamper=lost).guarantee.promises
    session = committee.session(answers)
    assert not session.run(tamper=lost).guarantee.promises
    later = session.run().guarantee  # with fresh coins; what the first one showed stays seen
    assert (session.rounds, later.promises) == (2, ())
    assert "18 people cannot be 10 holders of each of 2" in later.reason


@pytest.mark.parametrize("kind", [S.DPCS, S.DPDS, partial(S.TSS, report=1, collusion=1)])
def test_a_round_with_too_few_people_for_the_count_is_not_forgotten(kind) -> None:
    """One of them gave an answer that nobody else gave, and was seen with probability 0.4."""
    session = kind(2, rate=0.4, count=100, delta=1e-6).session(np.arange(400) % 2)
    assert not session.run(present=np.arange(400) < 5).guarantee.promises
    later = session.run().guarantee
    assert later.reason.startswith("5 people cannot be 100 holders of each of 2 answers")
    enough = kind(2, rate=0.4, count=100, delta=1e-6).session(np.arange(400) % 2)
    enough.run(present=np.arange(400) < 300)
    assert enough.run().guarantee.promises


@pytest.mark.parametrize("kind", [S.BinomialNoise, S.DPDG, partial(S.Dummies, rate=0.4)])
def test_after_several_rounds_those_who_dropped_out_are_among_those_who_may_collude(kind) -> None:
    """Else two who are missing from the first sum and three who collude would leave less noise."""
    protocol = kind(2, epsilon=1.0, delta=1e-5, collusion=3, helpers=2, neighbours="add-remove")

    def lost(batch: Batch) -> tuple[Batch, ...]:
        return (batch.select(batch.sender > 1) if batch.kind == "share" else batch,)

    session = protocol.session(np.arange(40) % 2)
    once = session.run(tamper=lost).guarantee.promises[0].assuming[0]
    assert "beside 2" in once
    assert "at most 1 work together" in once
    twice = session.run(present=np.arange(40) > 0).guarantee.promises[0].assuming
    assert session.rounds == 2
    assert "in every round" in twice[0]
    assert "drop out" in twice[0]
    assert "beside" not in twice[0]
    assert EVERY_ROUND in twice


def test_levels_say_that_holders_at_other_levels_hide_nobody() -> None:
    """100 holders of every answer are 50 at each of two levels, who hide one another alone."""
    level = S.DPDS(2, rate=0.4, count=100, delta=1e-6)
    menu = S.Grouped({"a": level, "b": level})
    run = menu.simulate([0, 0, 1, 1] * 100, level=["a", "b"] * 200)
    kept = accounting.sampled_counts_epsilon(1e-6, 50, 0.4, insiders=1)
    for guarantee in (menu.guarantee, run.guarantee, run.estimate.guarantee):
        assert guarantee.promises[0].epsilon < 0.7 * kept
        for promise in guarantee.promises:
            assert {OF_THIS_LEVEL, LEVEL_IS_PUBLIC} <= {*promise.assuming}
    assert OF_THIS_LEVEL not in level.guarantee.promises[0].assuming


@pytest.mark.parametrize("kind", [partial(S.DPDS, rate=0.4, count=50), partial(S.DPDG, epsilon=1)])
def test_promises_of_helpers_say_that_they_rest_on_a_cipher(kind) -> None:
    """There are more vectors than seeds: who could try all of these would know the vector."""
    for helpers in (0, 2):
        protocol = kind(9, delta=1e-3, helpers=helpers)
        assert protocol.field(1000).modulus ** 9 > 2 ** (8 * SEED_BYTES)
        for promise in protocol.guarantee.promises:
            assert any("AES-256" in words for words in promise.assuming) == (helpers > 0)
