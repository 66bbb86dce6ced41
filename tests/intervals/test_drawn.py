"""Intervals where people are drawn: they report at rates, or are a sample of a population."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multinomial

from sottovoce import (
    GRR,
    LIP,
    OUE,
    Aggregate,
    Duchi,
    Estimate,
    HadamardResponse,
    Levels,
    Mechanism,
    Piecewise,
    ProjectiveGeometryResponse,
    Sampled,
)
from sottovoce.testing import seeded

from .exact import LEAST, Intervals, normal, shown

#: Of 300 runs at .95, fewer than .88 are inside once in 1e6 settings (binomial).
ENOUGH, RUNS = 0.88, 300


def least_coverage(mechanism: Mechanism, method: str | None, *, of: Intervals) -> float:
    """How often the interval of a value holds, the lowest of all values: 24 people, few alike."""
    n, d = 24, mechanism.domain.size
    answers = np.where(np.arange(n) < 3, 1, np.arange(n) // 4 % d)
    levels, rates = list(mechanism.menu), list(mechanism.rates)
    options: dict[str, list] = {}
    if levels:
        options["level"] = [levels[k % len(levels)] for k in range(n)]
    if len(rates) > 1:
        options["rate"] = [rates[k // 2 % len(rates)] for k in range(n)]
    truth, inside, done = np.bincount(answers, minlength=d) / n, np.zeros(d), 0
    with seeded(12) as source, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(RUNS):
            counts = mechanism.aggregate(mechanism.randomise(answers, source=source, **options))
            asked, reported = mechanism.turnout(counts)
            if method is None and (reported == 0)[asked > 0].any():
                continue  # refused: nothing is known of some people
            low, high = of(mechanism.estimate(counts, method=method))
            inside += (low <= truth + 1e-12) & (truth <= high + 1e-12)
            done += 1
    assert done > 0.9 * RUNS
    return float((inside / done).min())


DESIGNS = [
    Sampled(HadamardResponse(6, epsilon=8.0), rate=0.5),
    Sampled(HadamardResponse(6, epsilon=1.0), rate=[0.4, 0.9]),
    Sampled(ProjectiveGeometryResponse(6, epsilon=4.0), rate=0.5),
    Sampled(ProjectiveGeometryResponse(6, epsilon=8.0), rate=[0.4, 0.9]),
    Sampled(LIP(prior=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], epsilon=4.0), rate=[0.4, 0.9]),
    Sampled(Levels.of(HadamardResponse, 6, {"a": 1.0, "b": 6.0}), rate=0.7),
]


def name(m: Mechanism) -> str:
    return f"{m.bound[0].id}-{m.bound[0].epsilon:g}-{len(m.menu)}-{len(m.rates)}"


@pytest.mark.parametrize("mechanism", DESIGNS, ids=name)
def test_mechanisms_that_are_not_pure_cover_under_rates(mechanism: Mechanism) -> None:
    assert least_coverage(mechanism, None, of=shown) >= ENOUGH


@pytest.mark.parametrize("mechanism", [m for m in DESIGNS if m.bound[0].epsilon > 1], ids=name)
def test_planted_fault_normal_intervals_under_rates(mechanism: Mechanism) -> None:
    assert least_coverage(mechanism, None, of=normal) < ENOUGH


WEIGHTED = ["horvitz-thompson", "hajek-ipw", "biswas-c-hat", "biswas-g", "biswas-t"]
FEW = [GRR(6, epsilon=6.0), OUE(6, epsilon=8.0)]


@pytest.mark.parametrize("mechanism", FEW, ids=lambda m: m.id)
@pytest.mark.parametrize("method", WEIGHTED)
def test_weighted_sums_cover_though_nobody_at_a_rate_may_report(
    mechanism: Mechanism, method: str
) -> None:
    sampled = Sampled(mechanism, rate=[0.15, 0.9])
    assert least_coverage(sampled, method, of=shown) >= ENOUGH
    assert least_coverage(sampled, method, of=normal) < ENOUGH


ONE_AT_THE_TOP = np.r_[1.0, np.zeros(23)]
SKEWED = np.linspace(0, 1, 24) ** 6
NUMBERS = {
    "one rate, one bit": (Sampled(Duchi((0, 1), epsilon=12.0), rate=0.4), ONE_AT_THE_TOP),
    "one rate": (Sampled(Piecewise((0, 1), epsilon=12.0, steps=4), rate=0.4), ONE_AT_THE_TOP),
    "rates": (Sampled(Duchi((0, 1), epsilon=8.0), rate=[0.4, 0.9]), ONE_AT_THE_TOP),
    "levels": (Levels.of(Duchi, (0, 1), {"a": 5.0, "b": 12.0}), SKEWED[1::4]),
    "levels and a rate": (
        Sampled(Levels.of(Duchi, (0, 1), {"a": 5.0, "b": 12.0}), rate=0.5),
        ONE_AT_THE_TOP,
    ),
}


def mean_coverage(
    mechanism: Mechanism, answers: np.ndarray, method: str | None, *, of: Intervals
) -> float:
    """How often the interval of a mean of numbers holds."""
    levels, rates = list(mechanism.menu), list(mechanism.rates)
    each: dict[str, list] = {}
    if levels:
        each["level"] = [levels[k % len(levels)] for k in range(answers.size)]
    if len(rates) > 1:
        each["rate"] = [rates[k // 2 % len(rates)] for k in range(answers.size)]
    inside = done = 0
    with seeded(7) as source, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(RUNS):
            counts = mechanism.aggregate(mechanism.randomise(answers, source=source, **each))
            asked, reported = mechanism.turnout(counts)
            if (reported == 0)[asked > 0].any():
                continue
            low, high = of(mechanism.estimate(counts, method=method))
            inside += bool(low[0] - 1e-9 <= answers.mean() <= high[0] + 1e-9)
            done += 1
    assert done > 0.9 * RUNS
    return inside / done


@pytest.mark.parametrize("design", NUMBERS)
def test_means_cover_though_those_with_extreme_numbers_may_not_report(design: str) -> None:
    mechanism, answers = NUMBERS[design]
    assert mean_coverage(mechanism, answers, None, of=shown) >= ENOUGH
    assert mean_coverage(mechanism, answers, None, of=normal) < ENOUGH  # the planted fault


@pytest.mark.parametrize("method", ["hajek", "hajek-ipw", "horvitz-thompson", "adaptive"])
def test_so_do_all_estimators_of_means_over_rates(method: str) -> None:
    mechanism, answers = NUMBERS["rates"]
    assert mean_coverage(mechanism, answers, method, of=shown) >= ENOUGH


@pytest.mark.parametrize("of", [shown, normal])
def test_means_of_a_population_with_rare_extreme_numbers(of: Intervals) -> None:
    m = Piecewise((0, 1), epsilon=12.0, steps=4)
    rng, inside = np.random.default_rng(3), 0
    with seeded(9) as source:
        for _ in range(RUNS):
            answers = (rng.random(12) < 0.1).astype(float)
            estimate = m.estimate(m.aggregate(m.randomise(answers, source=source)))
            low, high = of(estimate.for_population())
            inside += bool(low[0] - 1e-9 <= 0.1 <= high[0] + 1e-9)
    assert (inside / RUNS >= ENOUGH) == (of is shown)


def test_many_rates_have_an_interval_from_bernstein() -> None:
    """Of very many rates the exact noise of each would take too long."""
    rates = [round(0.2 + 0.05 * k, 2) for k in range(12)]
    sampled = Sampled(Duchi((0, 1), epsilon=3.0), rate=rates)
    answers = np.resize([0.1, 0.9, 0.4], 2400)
    with seeded(5) as source:
        reports = sampled.randomise(answers, rate=np.resize(rates, 2400), source=source)
        estimate = sampled.estimate(sampled.aggregate(reports))
    low, high = estimate.interval()
    width = 2 * 1.959964 * estimate.std_error[0]
    assert width < high[0] - low[0] < 1.3 * width


def blind(estimate: Estimate) -> tuple[np.ndarray, np.ndarray]:
    """The planted fault: people in the block are those who were asked, drawn or not."""
    return replace(estimate, _interval=replace(estimate.own_interval, least=None)).interval()


def population_coverage(m: HadamardResponse, n: int, f: float, of: Intervals) -> float:
    """Exactly, for a fraction f of a population whose others are all in other blocks."""
    own, other = m._in_block
    agree = f * float(m.p) + (1 - f) * other / 2
    disagree = f * (own - float(m.p)) + (1 - f) * other / 2
    covered = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            chance = multinomial.pmf([a, b, n - a - b], n, [agree, disagree, 1 - agree - disagree])
            if chance < 1e-9:
                continue
            tables = {"agreement": np.array([a, b])}
            counts = Aggregate(m.id, m.digest, tables, n, n, candidates=np.array([0]))
            low, high = of(m.estimate(counts).for_population())
            covered += chance * float(low[0] - 1e-12 <= f <= high[0] + 1e-12)
    return covered


@pytest.mark.parametrize("epsilon", [4.0, 8.0, 20.0])
def test_hadamard_response_covers_the_fraction_of_a_population(epsilon: float) -> None:
    m = HadamardResponse(10, epsilon=epsilon)
    for n, f in ((10, 0.2), (40, 0.05), (40, 0.5)):
        assert population_coverage(m, n, f, shown) >= LEAST


def test_planted_fault_the_block_of_those_who_were_asked() -> None:
    assert population_coverage(HadamardResponse(10, epsilon=20.0), 40, 0.05, blind) < 0.9


@pytest.mark.parametrize("weights", [(1, 0, 10), (-1, 0, 10), (0, 1, 10), (2, 3, 0)], ids=str)
@pytest.mark.parametrize(("n", "epsilon"), [(25, 4.0), (100, 6.0), (1000, 8.0)])
@pytest.mark.parametrize("rate", [None, 0.5])
def test_contrasts_where_nearly_all_answer_alike(
    rate: float | None, n: int, epsilon: float, weights: tuple[int, ...]
) -> None:
    """Exact. A rare report of a value seems to go with one less of the value that all hold."""
    mechanism = GRR(3, epsilon=epsilon)
    sampled = None if rate is None else Sampled(mechanism, rate=rate)
    used, covered, left = {v: w for v, w in enumerate(weights) if w}, 0.0, 1.0
    p, q = float(mechanism.p), float(mechanism.q)
    for rare in np.argwhere(np.add.outer(np.arange(7), np.arange(7)) < 7).tolist():
        counts = np.array([n - sum(rare), *rare])
        law = float(multinomial.pmf(counts, n, [p, q, q]))
        left -= law
        if sampled is None:
            plain = Aggregate(mechanism.id, mechanism.digest, {"support": counts}, n, n)
            estimate = mechanism.estimate(plain).for_population()
        else:  # half of those asked reported
            tables = {"asked": [2 * n], "reported": [n], "0/support": counts[None]}
            about = {key: np.array(table) for key, table in tables.items()}
            aggregate = Aggregate(sampled.id, sampled.digest, about, 2 * n, n)
            estimate = sampled.estimate(aggregate)
        low, high = estimate.contrast(used).interval()
        covered += law * bool(low[0] <= weights[0] <= high[0])
    assert covered + left >= LEAST
    assert left < 1e-3
