"""Combinations and means of very few reports: exact coverage, by every outcome."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy.signal import convolve2d
from scipy.stats import multinomial

import sottovoce as sv
from sottovoce.contract.aggregate import Aggregate
from sottovoce.estimate import contrasts, ordered
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.intervals import ScoreInterval
from sottovoce.mechanisms.linear import LinearMechanism
from sottovoce.testing import seeded

from .enumerate import estimates
from .exact import LEAST, count_law, holders

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")

FEW_REPORTS = (
    *(sv.GRR(d, epsilon=epsilon) for d in (4, 6) for epsilon in (0.1, 0.5, 2.0)),
    *(sv.SubsetSelection(4, epsilon=epsilon) for epsilon in (1.0, 3.0)),
    *(sv.OUE(3, epsilon=epsilon) for epsilon in (0.5, 6.0)),
    *(sv.HadamardResponse(4, epsilon=epsilon) for epsilon in (0.5, 4.0)),
    *(sv.ProjectiveGeometryResponse(4, epsilon=epsilon, order=2) for epsilon in (0.5, 10.0)),
    sv.LIP(prior=[0.7, 0.2, 0.1], epsilon=2.0),
)
COMBINATIONS = ((1, 2, 3), (1, 1, -1), (1, -0.5, -0.5), (1, -1, 0))


def combinations(estimate: Estimate) -> np.ndarray:
    labels = estimate.labels[:3]
    rows = (dict(zip(labels, row, strict=True)) for row in COMBINATIONS)
    return np.array([estimate.contrast(row).interval() for row in rows])[:, :, 0]


def means(estimate: Estimate) -> np.ndarray:
    """Of scores 0, 1, 2, …, and of 0, 0.2 and 10; everyone has one."""
    rows = (scores(len(estimate.labels), skewed) for skewed in (False, True))
    return np.array([estimate.mean(row).interval() for row in rows])[:, :, 0]


def scores(size: int, skewed: bool) -> list[float]:
    return [0.0, 0.2, *[10.0] * (size - 2)] if skewed else np.arange(float(size)).tolist()


def least_coverage(
    mechanism: LinearMechanism,
    people: int,
    weights: np.ndarray,
    interval: Callable[[Estimate], np.ndarray] = combinations,
) -> float:
    """The least over combinations and over all answers of so many people."""
    law = np.array(mechanism.channel().matrix, float)
    reports = mechanism.every_report()
    outputs = range(len(reports))
    single = [mechanism.aggregate(reports[y : y + 1]) for y in outputs]
    ends = {}
    for outcome in itertools.combinations_with_replacement(outputs, people):
        ends[outcome] = interval(mechanism.estimate(sum(single[y] for y in outcome)))
    least = 1.0
    for answers in itertools.combinations_with_replacement(range(len(law)), people):
        true = weights @ np.bincount(answers, minlength=len(law)) / people
        covered = np.zeros(len(weights))
        for outcome in itertools.product(outputs, repeat=people):
            chance = np.prod([law[x, y] for x, y in zip(answers, outcome, strict=True)])
            low, high = ends[tuple(sorted(outcome))].T
            covered += chance * ((low - 1e-9 <= true) & (true <= high + 1e-9))
        least = min(least, float(covered.min()))
    return least


def combination_coverage(mechanism: LinearMechanism, people: int) -> float:
    rest = np.zeros((len(COMBINATIONS), mechanism.domain.size - 3))
    return least_coverage(mechanism, people, np.hstack([COMBINATIONS, rest]))


def mean_coverage(mechanism: LinearMechanism, people: int) -> float:
    size = mechanism.domain.size
    weights = np.array([scores(size, skewed) for skewed in (False, True)])
    return least_coverage(mechanism, people, weights, means)


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("mechanism", FEW_REPORTS, ids=lambda m: f"{m.words}, {m.domain.size}")
def test_means_of_very_few_reports_cover_exactly(mechanism: LinearMechanism, people: int) -> None:
    assert mean_coverage(mechanism, people) >= LEAST


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("mechanism", FEW_REPORTS, ids=lambda m: f"{m.words}, {m.domain.size}")
def test_combinations_of_very_few_reports_cover_exactly(
    mechanism: LinearMechanism, people: int
) -> None:
    assert combination_coverage(mechanism, people) >= LEAST


def test_planted_fault_combinations_by_correlations_at_the_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ScoreInterval, "needs_testing", lambda self, reports: False)
    monkeypatch.setattr(contrasts, "_contrast_variance", lambda *terms: np.zeros(1))
    monkeypatch.setattr(ordered, "_combination", lambda *terms: None)
    assert combination_coverage(FEW_REPORTS[4], 1) < 0.7
    assert combination_coverage(sv.ProjectiveGeometryResponse(4, epsilon=0.5, order=2), 1) < 0.7
    assert mean_coverage(sv.HadamardResponse(3, epsilon=4.0), 2) < 0.9
    assert part_coverage(sv.HadamardResponse(3, epsilon=10.0), (1, 2, 2)) < 0.9


def part_coverage(mechanism: LinearMechanism, answers: tuple[int, ...]) -> float:
    """Of the mean of those who hold one of the first values, where some are estimated to."""
    numbers, held = {0: 0.0, 1: 1.0}, [x for x in answers if x < 2]
    covered = known = 0.0
    for chance, estimate in estimates(mechanism, answers):
        if estimate.values[:2].sum() > 0:
            low, high = estimate.mean(numbers).interval()
            covered += chance * (low[0] - 1e-9 <= np.mean(held) <= high[0] + 1e-9)
            known += chance
    return covered / known


@pytest.mark.parametrize("answers", [(0,), (1, 2), (0, 0, 1), (1, 2, 2), (0, 1, 2)])
@pytest.mark.parametrize(
    "mechanism",
    [
        sv.HadamardResponse(3, epsilon=10.0),
        sv.OUE(3, epsilon=10.0),
        sv.GRR(3, epsilon=1.0),
        sv.LIP([0, 1, 2], prior=[0.7, 0.2, 0.1], epsilon=2.0),
    ],
    ids=lambda mechanism: mechanism.words,
)
def test_means_of_some_of_few_reports_cover_exactly(
    mechanism: LinearMechanism, answers: tuple[int, ...]
) -> None:
    assert part_coverage(mechanism, answers) >= LEAST


def test_many_reports_are_not_tested_at_the_most_noise() -> None:
    mechanism = sv.GRR(5, epsilon=3.0)
    few, many = (
        mechanism.estimate(mechanism.aggregate(mechanism.randomise([0] * n))) for n in (20, 21)
    )
    width = [float(np.ptp(e.contrast({3: 1, 4: -1}).interval())) for e in (few, many)]
    assert width[1] < width[0]


def unequal_weights_coverage(people: int, held: tuple[int, int], confidence: float) -> float:
    """Of f_0 + 2 f_1, where so many hold these values and all others hold one of 98 others."""
    mechanism = sv.GRR(100, epsilon=0.5)
    p, q = float(mechanism.p), float(mechanism.q)
    laws = ((p, q), (q, p), (q, q))
    true = (held[0] + 2 * held[1]) / people
    chances = np.ones((1, 1))
    for many, (first, second) in zip((*held, people - sum(held)), laws, strict=True):
        size = range(many + 1)
        each = [1 - first - second, first, second]
        own = [[multinomial.pmf([many - a - b, a, b], many, each) for b in size] for a in size]
        chances = convolve2d(chances, np.array(own))
    covered = 0.0
    for (a, b), chance in np.ndenumerate(chances):
        if a + b <= people:
            tables = {mechanism.table: np.array([a, b, people - a - b, *[0] * 97])}
            counts = Aggregate(mechanism.id, mechanism.digest, tables, people, people)
            low, high = mechanism.estimate(counts).contrast({0: 1, 1: 2}).interval(confidence)
            covered += chance * (low[0] - 1e-9 <= true <= high[0] + 1e-9)
    return covered


HELD = ((20, 1), (20, 0), (7, 7), (0, 0))


@pytest.mark.parametrize("held", HELD)
def test_unequal_weights_of_rare_counts_cover_exactly(held: tuple[int, int]) -> None:
    assert unequal_weights_coverage(21, held, 0.99) >= 0.985


def test_planted_fault_weights_put_together_from_intervals_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contrasts, "_contrast_variance", lambda *terms: np.zeros(1))
    assert max(unequal_weights_coverage(21, held, 0.99) for held in HELD[:2]) < 0.95


def rare_score_coverage(d: int, epsilon: float, people: int) -> float:
    """The least over how many have the only score that is not 0: few of their reports say so."""
    mechanism = sv.GRR(d, epsilon=epsilon)
    laws = {held: count_law(mechanism, people, held) for held in holders(people)}
    covered = dict.fromkeys(laws, 0.0)
    for c in range(people + 1):
        if max(law[c] for law in laws.values()) > 1e-9:
            tables = {mechanism.table: np.array([people - c, *[0] * (d - 2), c])}
            counts = Aggregate(mechanism.id, mechanism.digest, tables, people, people)
            low, high = mechanism.estimate(counts).mean([*[0] * (d - 1), 10]).interval()
            for held, law in laws.items():
                inside = low[0] - 1e-9 <= 10 * held / people <= high[0] + 1e-9
                covered[held] += float(law[c]) * inside
    return min(covered.values())


RARE_SCORES = ((100, 0.5, 50), (1000, 3.0, 30), (1000, 1.0, 300), (10, 2.0, 30))


@pytest.mark.parametrize("setting", RARE_SCORES)
def test_means_of_rare_scores_cover_exactly(setting: tuple[int, float, int]) -> None:
    assert rare_score_coverage(*setting) >= LEAST


def test_means_cover_where_noise_is_only_bounded() -> None:
    """One of 100 values decides, and nobody holds it; at .93 this fails for 1 seed in 30,000."""
    mechanism, missed = sv.ProjectiveGeometryResponse(100, epsilon=2.0), 0
    with seeded(5) as source:
        for _ in range(80):
            reports = mechanism.randomise(np.zeros(210, int), source=source)
            mean = mechanism.estimate(mechanism.aggregate(reports)).mean([*[0] * 99, 10])
            low, high = mean.interval()
            missed += not low[0] <= 0 <= high[0]
    assert missed < 17


MANY_SCORES = [sv.HadamardResponse(d, epsilon=1.0) for d in (900, 1500)]


def misses_of_many_scores(mechanism: LinearMechanism) -> int:
    """Of 80 seeded runs, how many miss the mean of 210 people who all have the lowest score."""
    missed = 0
    with seeded(5) as source:
        for _ in range(80):
            reports = mechanism.randomise(np.zeros(210, int), source=source)
            mean = mechanism.estimate(mechanism.aggregate(reports)).mean(
                range(1, mechanism.domain.size + 1)
            )
            low, high = mean.interval()
            missed += not low[0] <= 1 <= high[0]
    return missed


@pytest.mark.parametrize("mechanism", MANY_SCORES, ids=lambda m: m.domain.size)
def test_means_of_many_scores_cover(mechanism: LinearMechanism) -> None:
    # At a coverage of .93 this fails for one seed in 30,000; the planted fault misses 3 in 10.
    assert misses_of_many_scores(mechanism) < 17


def test_planted_fault_noise_of_means_at_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered, "_combination", lambda *terms: None)
    assert all(misses_of_many_scores(mechanism) >= 17 for mechanism in MANY_SCORES)
    assert max(rare_score_coverage(*setting) for setting in RARE_SCORES[:3]) < 0.6


@pytest.mark.parametrize("kind", [sv.HadamardResponse, sv.ProjectiveGeometryResponse])
@pytest.mark.parametrize("size", [2, 7, 30])
def test_scores_and_their_noise_are_those_of_the_channel(kind: type, size: int) -> None:
    mechanism = kind(size, epsilon=1.5)
    weights = np.random.default_rng(size).normal(size=(3, size))
    reports = mechanism.every_report()
    single = [mechanism.tally(reports[y : y + 1]) for y in range(len(reports))]
    alone = np.stack([mechanism.debias(counts, 1) for counts in single], axis=1)
    law = np.array(mechanism.channel().matrix, float)
    scores = weights @ alone
    noise = (scores**2) @ law.T - (scores @ law.T) ** 2
    apart = mechanism.scores_of(weights) - scores  # a constant has no noise
    assert np.ptp(apart, axis=1) == pytest.approx(0, abs=1e-9)
    assert mechanism.noise_of(mechanism.scores_of(weights)) == pytest.approx(noise)


@pytest.mark.parametrize("kind", [sv.HadamardResponse, sv.OUE])
def test_quantiles_that_look_at_some_values_only_reach_a_little_farther(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = kind(400, epsilon=3.0)
    answers = np.minimum(np.random.default_rng(1).exponential(60, 20_000), 399).astype(int)
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomise(answers)))
    every = [estimate.quantile(q) for q in (0.01, 0.25, 0.5, 0.9, 0.999)]
    monkeypatch.setattr(ordered, "_MOST_SUMMED", 0)
    monkeypatch.setattr(ordered, "_MOST_SCORED", 0)  # 64 of the 399 values that count
    for exact in every:
        rough = estimate.quantile(exact.q)
        assert rough.value == exact.value
        assert exact.low - 7 <= rough.low <= exact.low
        assert exact.high <= rough.high <= exact.high + 7
