"""Exact coverage of the intervals, rare and empty items included: no simulation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats
from scipy.stats import binom, norm

import sottovoce as sv
from sottovoce import testing
from sottovoce.contract.aggregate import Aggregate
from sottovoce.contract.route import AddedNoise, Route
from sottovoce.errors import EstimateError
from sottovoce.estimate.count_intervals import CountInterval, GroupedCountInterval
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.intervals import ScoreInterval
from sottovoce.promise import LDP, Guarantee, Promise
from sottovoce.secure.counts import TrueCounts

S = sv.secure
LEAST = 0.93


def coverage(
    truth: int, law: np.ndarray, low: np.ndarray, high: np.ndarray, people: int = 1
) -> float:
    inside = (low * people <= truth + 1e-9) & (truth - 1e-9 <= high * people)
    return float(law[inside].sum())


@pytest.mark.parametrize("kept", [0.02, 0.1, 0.286, 0.5, 0.9, 0.99])
def test_thinned_counts(kept: float) -> None:
    counts = np.arange(400)
    low, high = CountInterval(counts, 1, kept=kept)(0.95)
    for truth in [*range(30), 50, 100, 300]:
        law = binom.pmf(counts, truth, kept)
        assert coverage(truth, law, low, high) >= 0.95 - 1e-9
    assert (low <= counts).all() or kept < 1
    if kept == 0.1:
        assert (low[0], high[0]) == (0, 35)


@pytest.mark.parametrize(
    ("count", "kept"), [(3_000_000, 0.001), (1_000_000, 0.0001), (2_000_000_000, 0.9)]
)
def test_counts_of_very_many_holders(count: int, kept: float) -> None:
    """There the interval is almost the normal one: an integer of 32 bits must not overflow."""
    ends = np.array(CountInterval(np.array([count]), 1, kept=kept)(0.95))[:, 0]
    deviations = (ends - count / kept) * kept / np.sqrt(count * (1 - kept))
    np.testing.assert_allclose(deviations, [-norm.ppf(0.975), norm.ppf(0.975)], atol=0.003)


def test_a_normal_interval_would_fail() -> None:
    """The planted fault: Wald covers one holder as often as they are sampled."""
    counts, kept = np.arange(50), 0.1
    half = 1.96 * np.sqrt(counts * 0.9) / 0.1
    law = binom.pmf(counts, 1, kept)
    assert coverage(1, law, counts / kept - half, counts / kept + half) == pytest.approx(kept)


@pytest.mark.parametrize(("dummies", "kept"), [(37, 0.5), (100, 0.571), (20, 0.1)])
def test_dummies(dummies: int, kept: float) -> None:
    counts = np.arange(500)
    low, high = CountInterval(counts, 1, kept=kept, dummies=dummies)(0.95)
    for truth in (0, 1, 2, 5, 20, 100):
        law = binom.pmf(counts, truth + dummies, kept)
        assert coverage(truth, law, low, high) >= 0.95 - 1e-9


@pytest.mark.parametrize("coins", [10, 62, 63, 115, 400])
def test_binomial_noise(coins: int) -> None:
    counts = np.arange(coins + 50)
    low, high = CountInterval(counts, 1, coins=coins)(0.95)
    for truth in (0, 1, 40):
        law = binom.pmf(counts - truth, coins, 0.5)
        assert coverage(truth, law, low, high) >= 0.95 - 1e-9
    if coins == 62:
        assert coverage(0, binom.pmf(counts, 62, 0.5), low, high) == pytest.approx(0.970, abs=1e-3)


def test_noise_on_a_sample() -> None:
    counts = np.arange(160)
    low, high = CountInterval(counts, 1, kept=0.4, coins=62)(0.95)
    for truth in (0, 1, 3, 10, 60):
        law = np.convolve(binom.pmf(np.arange(98), truth, 0.4), binom.pmf(np.arange(63), 62, 0.5))
        assert coverage(truth, law[:160], low, high) >= 0.95 - 1e-9


@pytest.mark.parametrize("variance", [0.6, 3.0, 29.0])
def test_gaussian_noise(variance: float) -> None:
    k = np.arange(-80, 81)
    law = norm.cdf(k + 0.5, scale=variance**0.5) - norm.cdf(k - 0.5, scale=variance**0.5)
    low, high = CountInterval(k, 1, variance=variance + 1 / 12)(0.95)
    assert coverage(0, law, low, high) >= 0.95


@pytest.mark.parametrize(("kept", "threshold"), [(0.3, 14), (0.632, 46)])
def test_suppressed_cells(kept: float, threshold: int) -> None:
    counts = np.arange(300)
    shown = np.where(counts < threshold, 0, counts)
    low, high = CountInterval(shown, 1, kept=kept, threshold=threshold)(0.95)
    for truth in (0, 1, 5, 20, 45, 60, 100, 200):
        law = binom.pmf(counts, truth, kept)
        # A suppressed cell spans everything that may have been suppressed.
        assert coverage(truth, law, low, high) >= 0.95 - 1e-9
    assert (low[0], high[0] >= threshold / kept) == (0, True)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("kept", [0.1, 0.4, 0.8])
def test_sums_over_groups(groups: int, kept: float) -> None:
    """With equal rates the sum of the groups' counts is all that matters: enumerated."""
    counts = np.arange(400)
    zero = np.zeros_like(counts)
    parts = tuple(CountInterval(counts if k == 0 else zero, 100, kept=kept) for k in range(groups))
    people = 100 * groups
    low, high = GroupedCountInterval(counts / kept / people, parts)(0.95)
    for truth in [*range(12), 20, 40, 100]:
        law = binom.pmf(counts, truth, kept)
        assert coverage(truth, law, low, high, people) >= LEAST


def test_sums_with_a_suppressed_group_hold() -> None:
    parts = (
        CountInterval(np.array([0, 30]), 100, kept=0.3, threshold=14),
        CountInterval(np.array([10, 0]), 300, kept=0.5),
    )
    low, high = GroupedCountInterval(np.array([0.05, 0.25]), parts)(0.95)
    alone = [part(0.975) for part in parts]
    assert np.allclose(low, 0.25 * alone[0].low + 0.75 * alone[1].low)
    assert np.allclose(high, 0.25 * alone[0].high + 0.75 * alone[1].high)


def test_estimates_of_runs_have_these_intervals() -> None:
    values = [0] * 30 + [1] * 2
    with testing.seeded(9) as source:
        for protocol in (
            S.DPDS(3, rate=0.4),
            S.TSS(3, rate=0.4, report=0.67, collusion=1),
            S.BinomialNoise(3, epsilon=1.0),
            S.Dummies(3, rate=0.4, epsilon=1.0),
            S.Suppressed(3, rate=0.4, epsilon=1.0, neighbours="add-remove"),
            S.DPDG(3, epsilon=1.0),
        ):
            run = protocol.simulate(values, source=source)
            counts, route = run.aggregate.dense("support"), run.aggregate.route
            expected = CountInterval(
                counts,
                32,
                kept=protocol.kept,
                dummies=protocol.arrived(32, None) if isinstance(protocol, S.Dummies) else 0,
                coins=protocol.arrived(32, None) if isinstance(protocol, S.BinomialNoise) else 0,
                variance=route.noise.variance if isinstance(protocol, S.DPDG) else 0.0,
                threshold=route.threshold,
            )(0.95)
            low, high = run.estimate.interval()
            assert (low <= expected.low + 1e-12).all() or run.estimate.biased
            if not run.estimate.biased:
                assert np.allclose([low, high], expected)
            else:
                assert (low[2], run.estimate.values[2]) == (0, 0)
                assert "suppressed" in run.estimate.assuming


def test_levels_show_the_interval_of_the_sum() -> None:
    menu = S.Grouped({"a": S.DPDS(3, rate=0.2), "b": S.DPDS(3, rate=0.6)})
    with testing.seeded(9) as source:
        run = menu.simulate([0, 1] * 100, level=["a"] * 60 + ["b"] * 140, source=source)
        counts = [run.runs[name].aggregate.dense("support") for name in "ab"]
        middle = counts[0] / 0.2 + counts[1] / 0.6
        spread = (counts[0] + 3) * 0.8 / 0.04 + (counts[1] + 3) * 0.4 / 0.36
        half = norm.isf(0.025) * np.sqrt(spread)
        low, high = run.estimate.raw.interval()
    assert np.allclose(low, np.floor(middle - half) / 200)
    assert np.allclose(high, np.ceil(middle + half) / 200)


def counted(counts: list[int], people: int, **about: object) -> Estimate:
    """The estimate from counts that a protocol returned."""
    mechanism = TrueCounts(len(counts))
    route = Route("some", Guarantee((Promise(LDP, 1.0),)), **about)
    table = {mechanism.table: np.array(counts, np.int64)}
    aggregate = Aggregate(mechanism.id, mechanism.digest, table, people, people, route=route)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mechanism.estimate(aggregate)


def holds(estimate: Estimate, truth: np.ndarray) -> np.ndarray:
    """Whether the intervals of a mean, a median and a contrast contain the truth."""
    mean, lead = estimate.mean([0, 1]).interval(), estimate.contrast({0: 1, 1: 10}).interval()
    median, half = estimate.median(), 0 if truth[0] >= 0.5 else 1
    return np.array(
        [
            mean.low[0] - 1e-9 <= truth[1] <= mean.high[0] + 1e-9,
            lead.low[0] - 1e-9 <= truth @ [1, 10] <= lead.high[0] + 1e-9,
            median.low <= half <= median.high,
        ]
    )


@pytest.mark.parametrize(("people", "holders"), [(10, 10), (10, 9), (20, 11), (100, 97)])
@pytest.mark.parametrize("kept", [0.1, 0.4])
def test_means_medians_and_contrasts_of_thinned_counts(
    people: int, holders: int, kept: float
) -> None:
    truth = np.array([holders, people - holders]) / people
    covered = np.zeros(3)
    laws = [binom.pmf(np.arange(k + 1), k, kept) for k in (holders, people - holders)]
    for first, second in np.argwhere(np.outer(*laws) > 1e-5).tolist():
        chance = laws[0][first] * laws[1][second]
        covered += chance * holds(counted([first, second], people, kept=kept), truth)
    assert (covered >= LEAST).all(), covered


@pytest.mark.parametrize("kept", [0.01, 0.3, 0.99])
@pytest.mark.parametrize("confidence", [0.99, 0.999, 1 - 0.05 / 1000])
def test_sums_over_groups_hold_at_high_confidence(kept: float, confidence: float) -> None:
    """A few holders who were counted, or a few who were not, are skewed."""
    groups, people = 2, 2000
    for holders in (1, 5, 25, 60, 2000):
        counts = np.arange(holders + 1)
        parts = (
            CountInterval(counts, people, kept=kept),
            CountInterval(0 * counts, people, kept=kept),
        )
        values = counts / kept / (groups * people)
        low, high = GroupedCountInterval(values, parts)(confidence)
        truth = holders / (groups * people)
        outside = (low > truth + 1e-12) | (truth > high + 1e-12)
        wrong = binom.pmf(counts, holders, kept)[outside].sum()
        assert wrong <= 1.1 * (1 - confidence), holders


@pytest.mark.parametrize("fraction", [0.6, 0.95, 1.0])
@pytest.mark.parametrize(("people", "kept"), [(10, 0.3), (20, 0.9), (60, 1.0)])
def test_thinned_counts_of_a_sample(people: int, kept: float, fraction: float) -> None:
    """Drawn from a population, so that a value may be held by nobody who was asked."""
    truth = np.array([fraction, 1 - fraction])
    covered = np.zeros(5)
    for first, second in np.argwhere(np.add.outer(*[np.arange(people + 1)] * 2) <= people).tolist():
        law = multinomial(
            [first, second, people - first - second], people, [*kept * truth, 1 - kept]
        )
        if law < 1e-5:
            continue
        drawn = counted([first, second], people, kept=kept).for_population()
        low, high = drawn.interval()
        inside = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
        covered += law * np.concatenate([inside, holds(drawn, truth)])
    assert (covered >= LEAST).all(), covered


def multinomial(counts: list[int], people: int, law: list[float]) -> float:
    return float(scipy.stats.multinomial.pmf(counts, people, law))


def test_suppressed_counts_have_no_mean_or_median() -> None:
    few = counted([30, 0], 60, kept=0.5, threshold=5)
    whole = sv.combine([few, counted([0, 30], 60, kept=0.5, threshold=5)], method="post-stratified")
    for estimate in (few, whole):
        for summary in (Estimate.mean, Estimate.median):
            with pytest.raises(EstimateError, match="covariance"):
                summary(estimate)


def test_counts_and_local_reports_together() -> None:
    """Each has its own noise as a function of the truth, and so has the sum."""
    local = sv.GRR(2, epsilon=6.0)
    with testing.seeded(3) as source:
        one = local.estimate(local.aggregate(local.randomise([0] * 40, source=source)))
    noise = AddedNoise("binomial", 62 / 4, 31, 31.0)
    for other in (counted([60, 0], 60, kept=0.5), counted([91, 31], 60, noise=noise)):
        low, high = sv.combine([one, other], method="post-stratified").interval()
        assert low[1] < 0 < high[1]
        assert isinstance(
            sv.combine([one, other], method="post-stratified").own_interval, ScoreInterval
        )
