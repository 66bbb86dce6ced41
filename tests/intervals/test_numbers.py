"""Intervals for numbers cover the truth, also for few reports, large epsilon and answers at bounds.

Where it can be, coverage is exact: every table of counts is enumerated with its probability and
estimated.
"""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage_numbers import answers, mean_coverage, populations, width_ratio
from sottovoce import Duchi, Hybrid, Piecewise, Sampled, combine, testing
from sottovoce.contract.aggregate import Aggregate
from sottovoce.errors import ParameterError
from sottovoce.estimate.likelihood import smoothed_em
from sottovoce.mechanisms.numeric_distribution import BINS

LEAST = 0.93


def counted(mechanism, table) -> Aggregate:
    (name,) = mechanism.grids
    counts = np.array(table, np.int64)
    n = int(counts.sum())
    return Aggregate(mechanism.id, mechanism.digest, {name: counts}, n, n)


def exact_coverage(mechanism, position: float, n: int, interval) -> float:
    """Of n answers at one position, by enumeration of all tables."""
    grid = mechanism.finest
    below = min(int(position * grid.steps), grid.steps - 1)
    up = position * grid.steps - below
    law = (1 - up) * np.array(grid.law(below), float) + up * np.array(grid.law(below + 1), float)
    covered = 0.0
    for cuts in itertools.combinations(range(n + law.size - 1), law.size - 1):
        edges = (-1, *cuts, n + law.size - 1)
        table = [b - a - 1 for a, b in itertools.pairwise(edges)]
        probability = stats.multinomial.pmf(table, n, law)
        if probability > 1e-9:
            low, high = interval(mechanism, counted(mechanism, table))
            covered += probability * (low - 1e-9 <= position <= high + 1e-9)
    return covered


def of_estimate(mechanism, counts):
    low, high = mechanism.estimate(counts).interval()
    return low[0], high[0]


def collapsing(mechanism, counts):
    """The interval that this one replaced: without noise where all reports agree."""
    grid, table = mechanism.finest, counts.tables["bits"]
    mean, square = (float(table @ s) / counts.reports for s in (grid.scores, grid.scores**2))
    least = min(float(mechanism.variance_at([0, 0.5, 1]).min()), square)
    half = 1.96 * math.sqrt(max(square - mean**2, least) / counts.reports)
    return mean - half, mean + half


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0, 20.0])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("position", [0.0, 0.02, 0.5])
def test_the_mean_from_one_bit_each_is_covered(epsilon, n, position) -> None:
    mechanism = Duchi((0, 1), epsilon=epsilon)
    assert exact_coverage(mechanism, position, n, of_estimate) >= 0.95 - 1e-6


def test_an_interval_that_collapses_at_a_bound_is_noticed() -> None:
    assert exact_coverage(Duchi((0, 1), epsilon=6.0), 0.0, 100, collapsing) < LEAST


@pytest.mark.parametrize("epsilon", [3.0, 6.0])
@pytest.mark.parametrize("position", [0.0, 0.02, 0.25, 0.5])
def test_the_mean_from_a_coarse_grid_is_covered(epsilon, position) -> None:
    mechanism = Piecewise((0, 1), epsilon=epsilon, steps=2)
    assert exact_coverage(mechanism, position, 8, of_estimate) >= LEAST


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [(Piecewise((0, 1), epsilon=e), n) for e in (1.0, 3.0, 6.0) for n in (1, 5, 20, 100, 1000)]
    + [(Hybrid((0, 1), epsilon=e), 100) for e in (1.0, 3.0, 6.0)]
    + [(Hybrid((0, 1), epsilon=e, steps=16), n) for e in (3.0, 6.0) for n in (5, 20)],
    ids=lambda v: f"{v.id}-{v.epsilon:g}" if isinstance(v, (Piecewise, Hybrid)) else str(v),
)
def test_the_mean_is_covered_whatever_the_answers(mechanism, n) -> None:
    for name, population in populations(n, mechanism.steps):
        assert mean_coverage(mechanism, population) >= LEAST, name


def difference_coverage(epsilon: float, n: int, positions, interval) -> float:
    """Of the difference of two means from one bit each, exactly."""
    mechanism = Duchi((0, 1), epsilon=epsilon)
    every = [
        [mechanism.estimate(counted(mechanism, [n - k, k])) for k in range(n + 1)] for _ in range(2)
    ]
    grid = mechanism.finest
    laws = [
        stats.binom.pmf(range(n + 1), n, float((1 - x) * grid.law(0)[1] + x * grid.law(1)[1]))
        for x in map(Fraction, positions)
    ]
    covered = 0.0
    for (a, first), (b, second) in itertools.product(*map(enumerate, every)):
        low, high = interval(first, second)
        inside = low[0] - 1e-9 <= positions[0] - positions[1] <= high[0] + 1e-9
        covered += laws[0][a] * laws[1][b] * inside
    return covered


def within_bounds(first, second):
    """The planted fault: the parts' intervals end at the bounds, as if their noise did."""
    (l1, u1), (l2, u2) = first.interval(), second.interval()
    a, b, middle = first.values, second.values, first.values - second.values
    return middle - np.hypot(a - l1, u2 - b), middle + np.hypot(u1 - a, b - l2)


@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
@pytest.mark.parametrize("positions", [(0, 0), (0.5, 0.5), (1, 0), (0.25, 0.75)])
@pytest.mark.parametrize("n", [3, 5, 12])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_differences_of_means_of_few_reports_are_covered(epsilon, n, positions) -> None:
    shown = difference_coverage(epsilon, n, positions, lambda a, b: (a - b).interval())
    assert shown >= LEAST


@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
def test_a_difference_whose_noise_ends_at_the_bounds_is_noticed() -> None:
    assert difference_coverage(0.25, 5, (0.5, 0.5), within_bounds) < LEAST


def levels_coverage(epsilon: float, n: int, position, interval) -> float:
    """Of the mean of two levels of n people each, all with one answer, exactly."""
    levels = [Duchi((0, 1), epsilon=e) for e in (epsilon, 2 * epsilon)]
    parts, laws = [], []
    for mechanism in levels:
        up, down = mechanism.finest.law(1)[1], mechanism.finest.law(0)[1]
        chance = float(Fraction(position) * up + (1 - Fraction(position)) * down)
        parts.append([mechanism.estimate(counted(mechanism, [n - k, k])) for k in range(n + 1)])
        laws.append(stats.binom.pmf(range(n + 1), n, chance))
    covered = 0.0
    for (a, first), (b, second) in itertools.product(*map(enumerate, parts)):
        low, high = interval(combine([first, second]))
        covered += laws[0][a] * laws[1][b] * (low[0] - 1e-9 <= position <= high[0] + 1e-9)
    return covered


@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
@pytest.mark.parametrize("position", [0, 0.5, 1])
@pytest.mark.parametrize("n", [1, 3, 10])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_the_mean_over_levels_of_few_people_is_covered(epsilon, n, position) -> None:
    assert levels_coverage(epsilon, n, position, lambda e: e.interval()) >= LEAST


@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
def test_planted_fault_the_normal_interval_over_levels() -> None:
    def normal(estimate):
        half = 1.96 * estimate.raw.std_error
        return estimate.raw.values - half, estimate.raw.values + half

    assert levels_coverage(2.0, 3, 0.5, normal) < LEAST


def test_the_mean_of_those_who_reported_is_covered_at_a_bound() -> None:
    """300 runs from one seed: the share covered has a standard error of .013."""
    mechanism, answers = Sampled(Piecewise((0, 1), epsilon=6.0), rate=0.5), np.zeros(80)
    shown = normal = 0
    with testing.seeded(3) as source:
        for _ in range(300):
            counts = mechanism.aggregate(mechanism.randomise(answers, source=source))
            estimate = mechanism.estimate(counts)
            shown += bool(estimate.interval().low[0] <= 0 <= estimate.interval().high[0])
            normal += bool(abs(estimate.values[0]) <= 1.96 * estimate.std_error[0])
    assert shown / 300 >= LEAST
    assert normal / 300 < LEAST - 0.04  # the planted fault


def test_answers_that_do_not_vary_by_rounding_have_an_interval() -> None:
    """Of reports that all agree, the variance of the draw came out as −2e-14, and had no root."""
    sampled = Sampled(Duchi((0, 1), epsilon=0.05), rate=0.5)
    for every in range(1, 12):
        with testing.seeded(every) as source:
            counts = sampled.aggregate(sampled.randomise([0.0] * 5, source=source))
            if counts.reports:
                low, high = sampled.estimate(counts, method="hajek-ipw").interval()
                assert low[0] <= high[0]


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
def test_of_many_reports_the_interval_is_no_wider_than_the_normal_one(kind) -> None:
    for epsilon in (1.0, 3.0):
        assert width_ratio(kind((0, 1), epsilon=epsilon), 100_000, 0.3) < 1.02


@pytest.mark.parametrize("answers", [(0, 2), (0, 0, 2), (1, 1), (0, 1, 2, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 15.0])
def test_the_variance_is_that_of_the_people_and_unbiased(epsilon, answers) -> None:
    """Exactly, for answers on the grid, where rounding adds nothing to be subtracted."""
    mechanism = Piecewise((0, 1), epsilon=epsilon, steps=2)
    grid, n = mechanism.finest, len(answers)
    laws = [np.array(grid.law(a), float) for a in answers]
    expected = 0.0
    for cells in itertools.product(range(grid.cells), repeat=n):
        counts = counted(mechanism, np.bincount(cells, minlength=grid.cells))
        value = mechanism.estimate(counts, method="variance").values[0]
        expected += math.prod(law[c] for law, c in zip(laws, cells, strict=True)) * value
    subtracted = grid.rounding * 2 / 3 * (1 - 1 / n)
    assert expected + subtracted == pytest.approx(np.var(np.array(answers) / 2), abs=1e-9)


def test_rounding_to_a_coarse_grid_is_not_taken_for_spread() -> None:
    mechanism = Piecewise((0, 1), epsilon=20.0, steps=2)
    column = (np.arange(40_000) + 0.5) / 40_000
    with testing.seeded(1) as source:
        counts = mechanism.aggregate(mechanism.randomise(column, source=source))
        estimate = mechanism.estimate(counts, method="variance")
    assert abs(estimate.values[0] - 1 / 12) < 0.005
    low, high = estimate.interval()
    assert low[0] <= 1 / 12 <= high[0]


@pytest.fixture(scope="module")
def shapes():
    """Distributions estimated from seeded reports, with the truth."""
    mechanism, rng = Piecewise((0, 1), epsilon=2.0), np.random.default_rng(8)
    results = []
    for seed, shape in enumerate(("uniform", "spikes", "bimodal", "beta")):
        column = answers(shape, 2000, rng)
        true = np.histogram(column, np.linspace(0, 1, BINS + 1))[0] / column.size
        with testing.seeded(seed) as source:
            counts = mechanism.aggregate(mechanism.randomise(column, source=source))
            results.append((true, mechanism.estimate(counts, method="distribution"), counts))
    return results


def coverage(shapes, interval) -> float:
    hits = []
    for true, estimate, _ in shapes:
        low, high = interval(estimate)
        hits.append((low - 1e-9 <= true) & (true <= high + 1e-9))
    return float(np.mean(hits))


def test_bins_are_covered(shapes) -> None:
    assert coverage(shapes, lambda e: e.interval()) >= LEAST


def test_intervals_that_are_too_narrow_are_noticed(shapes) -> None:
    def narrow(estimate):
        low, high = estimate.interval()
        middle, half = (low + high) / 2, (high - low) / 2
        return middle - 0.3 * half, middle + 0.3 * half

    assert coverage(shapes, narrow) < LEAST


def test_smoothing_helps_where_the_answers_are_smooth(shapes) -> None:
    true, estimate, counts = shapes[0]
    laws = Piecewise((0, 1), epsilon=2.0).finest.bin_laws(np.linspace(0, 1, BINS + 1))
    raw = smoothed_em(counts.tables["cells"], laws, np.ones(BINS), (0.0, 0)).values
    assert np.abs(estimate.values - true).sum() / 2 < 0.1 < np.abs(raw - true).sum() / 2


def test_spikes_are_not_smoothed_away(shapes) -> None:
    assert shapes[1][1].error(shapes[1][0]).tv < 0.2


def test_estimates_with_intervals_of_their_own_can_be_pickled(shapes) -> None:
    estimate = pickle.loads(pickle.dumps(shapes[0][1]))
    assert np.array_equal(estimate.interval().low, shapes[0][1].interval().low)


@pytest.mark.parametrize(
    "bounds", [(-1e300, 1e300), (0, 1e-200), (0, 5e-324), (0, 10**400), (0, 1e155)], ids=str
)
@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
def test_bounds_beyond_arithmetic_are_refused(kind, bounds) -> None:
    with pytest.raises(ParameterError, match="bounds"):
        kind(bounds, epsilon=1.0)
