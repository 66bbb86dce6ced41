"""Protocols against the ideal functionality: the same coins give the same counts, exactly."""

from __future__ import annotations

import pickle
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

import sottovoce as sv
from sottovoce import testing
from sottovoce.contract.aggregate import Aggregate
from sottovoce.errors import EstimateError, GuaranteeError, MergeError, ParameterError
from sottovoce.secure.committee import quorum
from sottovoce.secure.protocol import Prepared, Protocol, aggregate_of
from sottovoce.secure.selection import coins, elect, reported_sets
from sottovoce.transport import Batch, Envelope, Role, decode_batch, drive, encode_batch

S = sv.secure
ITEMS = ["car", "bike", "train", "foot"]


def answers(n: int) -> list[str]:
    return [ITEMS[(k * k + k // 3) % 3] for k in range(n)]  # nobody walks


def ideal(protocol: Protocol, prepared: Prepared) -> list[int]:
    """What a trusted party would count of what people drew."""
    rows = prepared.rows if prepared.sets is None else prepared.rows * prepared.sets
    return protocol.scale(rows.sum(axis=0), len(rows)).tolist()


PROTOCOLS = {
    "dpcs": lambda: S.DPCS(ITEMS, rate=0.4),
    "dpcs*": lambda: S.DPCS(ITEMS, rate=0.4, shared=True),
    "dpds": lambda: S.DPDS(ITEMS, rate=0.4),
    "dpds, 2 helpers": lambda: S.DPDS(ITEMS, rate=0.4, helpers=2),
    "dpds, 3 helpers": lambda: S.DPDS(ITEMS, rate=1.0, helpers=3),
    "dpdg": lambda: S.DPDG(ITEMS, epsilon=1.0, delta=1e-5),
    "dpdg, helpers": lambda: S.DPDG(ITEMS, epsilon=1.0, delta=1e-5, helpers=2),
    "binomial": lambda: S.BinomialNoise(ITEMS, epsilon=1.0, delta=1e-5, collusion=1),
    "dummies": lambda: S.Dummies(ITEMS, rate=0.3, epsilon=1.0, delta=1e-5, helpers=2),
    "tss": lambda: S.TSS(ITEMS, rate=0.5, report=0.5),
    "tss adaptive": lambda: S.TSS(ITEMS, rate=0.5, report=0.5, selection="adaptive", gamma=3),
    "tss'": lambda: S.TSS(ITEMS, rate=0.5, report=0.5, collusion=1),
    "tss, all items": lambda: S.TSS(ITEMS, rate=0.5, report=1.0, collusion=1),
    "committee": lambda: S.TSS(ITEMS, rate=0.5, report=0.5, collusion=1, committee=2),
}


@pytest.mark.parametrize("people", [2, 3, 5, 40])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_run_is_the_ideal_functionality(name: str, people: int) -> None:
    protocol = PROTOCOLS[name]()
    with testing.seeded(people) as source:
        session = protocol.session(answers(people), source=source)
        run = session.run()
        assert session._prepared is not None
        assert run.aggregate.dense("support").tolist() == ideal(protocol, session._prepared)
        assert run.aggregate.people == people
        again = Aggregate.from_bytes(run.aggregate.to_bytes(), expect=protocol.counts)
        assert again == run.aggregate == pickle.loads(pickle.dumps(run.aggregate))


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if not name.startswith("dpcs")])
def test_hosts_of_some_users_and_bytes_in_between_change_nothing(name: str) -> None:
    protocol, hosts, people = PROTOCOLS[name](), [range(4), range(4, 5), range(5, 12)], 12
    codes = protocol.domain.encode(answers(people))
    envelope = Envelope(bytes(32), bytes(16))

    def over_the_wire(batch: Batch) -> list[Batch]:
        return [decode_batch(encode_batch(batch, envelope), expect=envelope)]

    with testing.seeded(17) as source:
        setting, parts, machines = protocol.setting(people, source), [], []
        for host in hosts:
            drawn = protocol.prepare(
                codes[host.start : host.stop], source, first=host.start, people=people
            )
            parts.append(drawn)
            machines.append(protocol.users_machine(drawn, host, setting))
        machines += protocol.server_machines(setting)
        driven = drive(machines, protocol.message_rounds(people), tamper=over_the_wire)
        outcome = driven.states[-1].outcome
        counts = aggregate_of(protocol, outcome, people, 1, True).dense("support")
    rows = np.concatenate([part.rows for part in parts])
    sets = None if parts[0].sets is None else np.concatenate([part.sets for part in parts])
    assert counts.tolist() == ideal(protocol, Prepared(rows, sets))


def test_with_the_same_coins_dpds_is_dpcs() -> None:
    results = []
    for protocol in (
        S.DPCS(ITEMS, rate=0.4),
        S.DPCS(ITEMS, rate=0.4, shared=True),
        S.DPDS(ITEMS, rate=0.4),
        S.DPDS(ITEMS, rate=0.4, helpers=3),
    ):
        with testing.seeded(11) as source:
            results.append(protocol.simulate(answers(200), source=source).estimate.values)
    assert all(np.array_equal(results[0], other) for other in results)


def test_the_last_server_sees_only_sums_and_shares() -> None:
    protocol = S.DPDS(ITEMS, rate=0.4, helpers=2)
    with testing.seeded(1) as source:
        run = protocol.simulate(answers(30), source=source)
    assert {batch.kind for batch in run.views.of(Role.AGGREGATOR)} == {"sum"}
    assert {batch.kind for batch in run.views.of(Role.HELPER)} == {"share", "have"}


# --- estimates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("selection", "gamma"), [("uniform", None), ("adaptive", 2.718281828)])
def test_tss_is_unbiased_with_the_stated_total_error(selection: str, gamma: float | None) -> None:
    """300 runs of 60 people, committee of one; q = p p_χ, total L2 = (1 − q)/(n q)."""
    codes, runs = np.repeat(np.arange(5), 12), 300
    protocol = S.TSS(5, rate=0.5, report=0.4, selection=selection, gamma=gamma)
    truth, q = np.full(5, 0.2), protocol.kept
    estimates = []
    with testing.seeded(4) as source:
        for _ in range(runs):
            prepared = protocol.prepare(codes, source)
            estimates.append(np.array(ideal(protocol, prepared)) / (q * 60))
    values = np.array(estimates)
    errors = ((values - truth) ** 2).sum(axis=1)
    expected = (1 - q) / (60 * q)
    assert abs(errors.mean() / expected - 1) < 5.5 * errors.std() / expected / runs**0.5
    assert (np.abs(values.mean(axis=0) - truth) < 5.5 * values.std(axis=0) / runs**0.5).all()
    # The planted fault: α instead of p_χ would be seen.
    if gamma:
        wrong = values * protocol.design.own_item / protocol.design.fraction
        assert (np.abs(wrong.mean(axis=0) - truth) > 5.5 * wrong.std(axis=0) / runs**0.5).any()


def test_the_plug_in_error_is_that_of_thinned_counts() -> None:
    protocol = S.DPCS(ITEMS, rate=0.25)
    with testing.seeded(1) as source:
        run = protocol.simulate(answers(400), source=source)
        counts = run.aggregate.dense("support")
        assert np.allclose(run.estimate.variance, counts * 0.75 / 0.25**2 / 400**2)
        assert np.allclose(run.estimate.values, counts / 100)
        assert np.allclose(np.diag(run.estimate.covariance), run.estimate.variance)


def test_noise_is_taken_off_and_variance_is_that_of_the_coins_that_came() -> None:
    protocol = S.BinomialNoise(ITEMS, epsilon=1.0, delta=1e-5, collusion=2, helpers=2)
    assert protocol.needed == 115
    with testing.seeded(1) as source:
        run = protocol.simulate(answers(400), source=source)
    noise = run.aggregate.route.noise
    assert (noise.mean, noise.variance, noise.bound) == (117 / 2, 117 / 4, 117)
    counts = run.aggregate.dense("support")
    assert np.allclose(run.estimate.values, (counts - 58.5) / 400)
    assert np.allclose(run.estimate.variance, 117 / 4 / 400**2)


def test_few_people_toss_several_coins_each() -> None:
    protocol = S.BinomialNoise(ITEMS, epsilon=1.0, delta=1e-5, collusion=2)
    tossers = protocol.tossers(10)
    assert (tossers.users, tossers.each) == (10, 15)
    assert (tossers.users - 2) * tossers.each >= protocol.needed
    with pytest.raises(ParameterError, match="toss"):
        protocol.tossers(2)


def test_dpdg_adds_the_noise_that_its_account_needs() -> None:
    protocol = S.DPDG(ITEMS, epsilon=1.0, delta=1e-5, collusion=100)
    shares = protocol.shares(300)
    # (Gσ)²/(n − φ) in units of counts, with Δ² = 2
    needed = 2 * sv.accounting.sigma_analytic(1.0, 1e-5) ** 2
    assert shares.law.variance * 200 / shares.step**2 == pytest.approx(needed, rel=1e-3)
    assert float(shares.law.sigma) >= 2.5
    assert shares.step % 2 == 1
    with testing.seeded(2) as source:
        run = protocol.simulate(answers(300), source=source)
    # Everyone's noise is there: it grew by n/(n − φ).
    assert run.aggregate.route.noise.variance == pytest.approx(
        needed * 300 / 200 + 1 / 12, rel=0.01
    )


def test_dpdg_is_unbiased_with_its_variance() -> None:
    protocol = S.DPDG(2, epsilon=1.0, delta=1e-3, neighbours="add-remove")
    codes, estimates = np.zeros(50, np.int64), []
    with testing.seeded(3) as source:
        for _ in range(400):
            estimates.append(ideal(protocol, protocol.prepare(codes, source)))
    values = np.array(estimates, float)
    variance = protocol.noise(50, np.ones(50, bool)).variance
    assert (np.abs(values.mean(axis=0) - [50, 0]) < 5.5 * (variance / 400) ** 0.5).all()
    assert (np.abs(values.var(axis=0) / variance - 1) < 5.5 * (2 / 400) ** 0.5).all()


# --- selection ---------------------------------------------------------------------------------


def sets_law(items: int, reported: int, gamma: float, own: int, inside: bool) -> dict[int, float]:
    """Definition 3.1, corrected; sets as bit masks."""
    if not inside:
        gamma = 1.0
    z = gamma * comb(items - 1, reported - 1) + comb(items - 1, reported)
    masks = [m for m in range(1 << items) if bin(m).count("1") == reported]
    return {m: (gamma if m >> own & 1 else 1.0) / z for m in masks}


@pytest.mark.parametrize("gamma", [1.0, 2.0, 7.5])
@pytest.mark.parametrize("inside", [True, False])
def test_sets_follow_the_corrected_definition(gamma: float, inside: bool) -> None:
    """Chi-square over all sets, seeded; γ off by a tenth must fail."""
    n, items, reported, own = 40_000, 5, 2, 3
    with testing.seeded(8) as source:
        codes, sampled = np.full(n, own), np.full(n, inside)
        sets = reported_sets(codes, sampled, items, reported, gamma, source)
    assert (sets.sum(axis=1) == reported).all()
    masks = (sets << np.arange(items)).sum(axis=1)
    counts = {m: int((masks == m).sum()) for m in sets_law(items, reported, gamma, own, inside)}
    limit = chi2.isf(1e-9, len(counts) - 1)

    def distance(tested: float) -> float:
        law = sets_law(items, reported, tested, own, inside)
        return sum((counts[m] - n * p) ** 2 / (n * p) for m, p in law.items())

    assert distance(gamma) < limit
    if inside and gamma > 1:
        assert distance(gamma * 1.2) > limit


def test_elections_are_uniform_and_without_replacement() -> None:
    with testing.seeded(5) as source:
        drawn = np.array([elect(4, 2, source) for _ in range(12_000)])
        assert sorted(elect(9, 9, source).tolist()) == list(range(9))
    assert (drawn[:, 0] != drawn[:, 1]).all()
    pairs = np.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16)
    pairs = pairs[pairs > 0]
    assert pairs.size == 12
    assert ((pairs - 1000) ** 2 / 1000).sum() < chi2.isf(1e-9, 11)


def test_coins_have_the_stated_rate() -> None:
    with testing.seeded(6) as source:
        heads = coins(0.3, 200_000, source).sum()
        assert coins(1.0, 5, source).all()
    assert abs(heads - 60_000) < 5.5 * (200_000 * 0.21) ** 0.5
    assert abs(heads - 62_000) > 5.5 * (200_000 * 0.21) ** 0.5


# --- levels ------------------------------------------------------------------------------------


def test_levels_are_runs_of_their_own() -> None:
    menu = S.Grouped(
        {
            "strong": S.DPDS(ITEMS, rate=0.2, count=30, delta=1e-2),
            "weak": S.BinomialNoise(ITEMS, epsilon=2.0),
        }
    )
    level = ["strong", "weak", "weak"] * 100
    with testing.seeded(7) as source:
        run = menu.simulate(answers(300), level=level, method="post-stratified", source=source)
        parts = [run.runs[name].estimate for name in ("strong", "weak")]
        expected = (100 * parts[0].values + 200 * parts[1].values) / 300
        assert np.allclose(run.estimate.values, expected)
    units = {(p.unit.level, p.against.value) for p in menu.guarantee.promises}
    assert ("strong", "aggregator") in units
    assert ("weak", "aggregator") in units
    with pytest.raises(ParameterError, match="no level"):
        menu.simulate(["car"], level=["medium"])
    with pytest.raises(ParameterError, match="different values"):
        S.Grouped({"a": S.DPDS(2, rate=0.5), "b": S.DPDS(3, rate=0.5)})


# --- what is refused ---------------------------------------------------------------------------


def test_true_answers_are_never_reports() -> None:
    with pytest.raises(GuaranteeError, match="never sent"):
        S.TrueCounts(ITEMS).randomise(["car"])
    assert not S.TrueCounts(ITEMS).guarantee.promises


def test_counts_of_different_runs_merge_only_if_they_came_about_alike() -> None:
    with testing.seeded(7) as source:
        runs = [
            p.simulate(answers(60), source=source).aggregate
            for p in (
                S.DPCS(ITEMS, rate=0.3),
                S.DPCS(ITEMS, rate=0.3),
                S.DPCS(ITEMS, rate=0.4),
                S.Suppressed(ITEMS, rate=0.3, epsilon=1.0, neighbours="add-remove"),
            )
        ]
        both = runs[0] + runs[1]
        assert both.people == 120
    for other in runs[2:]:
        with pytest.raises(MergeError):
            runs[0] + other
    with pytest.raises(MergeError, match="suppressed"):
        runs[3] + runs[3]
    with testing.seeded(7), pytest.raises(EstimateError):
        sv.GRR(ITEMS, epsilon=1.0)._estimate_routed(runs[3], runs[3].route, "unbiased")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: S.DPDS(ITEMS),
        lambda: S.DPDS(ITEMS, rate=0.4, epsilon=1.0),
        lambda: S.DPDS(ITEMS, epsilon=1.0),
        lambda: S.DPDS(ITEMS, rate=1.5),
        lambda: S.DPDS(ITEMS, rate=0.4, helpers=1),
        lambda: S.DPDS(ITEMS, rate=0.4, neighbours="friends"),
        lambda: S.TSS(ITEMS, rate=0.4, report=0.5, gamma=2.0),
        lambda: S.TSS(ITEMS, rate=0.4, report=0.5, selection="adaptive"),
        lambda: S.TSS(ITEMS, rate=0.4, report=0.5, selection="best"),
        lambda: S.TSS(ITEMS, rate=0.4, report=0.0),
        lambda: S.TSS(ITEMS, rate=0.4, report=0.5, committee=4),
        lambda: S.TSS(ITEMS, rate=0.4, report=0.5, collusion=4, committee=4),
        lambda: S.DPDG(ITEMS, epsilon=1.0, collusion=0),
        lambda: S.DPDG(ITEMS, epsilon=1.0).simulate(["car"]),
        lambda: S.BinomialNoise(ITEMS, epsilon=1.0, rate=0.5),
        lambda: S.Dummies(ITEMS, epsilon=1.0, rate=1.0),
        lambda: S.DPDS(ITEMS, rate=0.4, users=3).simulate(["car"]),
        lambda: S.TSS(ITEMS, rate=0.4, report=0.5, collusion=2).simulate(["car", "bike"]),
        lambda: S.Grouped({}),
    ],
)
def test_wrong_parameters_are_refused(wrong: object) -> None:
    with pytest.raises(ParameterError):
        wrong()  # type: ignore[operator]


def test_small_integers_of_numpy_overflow_nowhere() -> None:
    shares = S.DPDS(3, rate=0.4, helpers=np.uint8(3))
    with testing.seeded(1) as source:
        assert shares.simulate(np.arange(300) % 3, source=source).aggregate.people == 300
    committee = S.TSS(5, rate=0.5, report=0.4, collusion=np.uint8(100), committee=200)
    assert quorum(200, committee.phi or 0) == 151
    with pytest.raises(ParameterError, match="cannot agree"):
        S.TSS(5, rate=0.5, report=0.4, collusion=np.uint8(200), committee=200)
