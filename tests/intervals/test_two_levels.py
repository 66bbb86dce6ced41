"""Intervals over two levels, exactly: a value may be held at one of them alone."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest

from sottovoce import GRR, OUE, Levels
from sottovoce.estimate.intervals import NoiseLines, ScoreInterval, fit_noise_line
from sottovoce.mechanisms.categorical import PureMechanism
from sottovoce.testing import seeded

from .exact import LEAST, count_law, holders


def alike(lines: NoiseLines, parts: np.ndarray, weights: np.ndarray) -> ScoreInterval:
    """The planted fault: the noise as if a value were as frequent at both levels."""
    squares = weights**2
    terms = (squares @ getattr(lines, name) for name in ("base", "slope", "draw"))
    return ScoreInterval(weights @ parts, *terms, (weights[:, None] * lines.step).max(axis=0))


def least_coverage(levels: list[PureMechanism], people: list[int], interval: object) -> float:
    """The least exact coverage over how many people hold a value at either level."""
    counts = np.meshgrid(*(np.arange(n + 1) for n in people), indexing="ij")
    each = [
        level.score_interval(level.debias(count.ravel(), n), count.ravel(), n)
        for level, count, n in zip(levels, counts, people, strict=True)
    ]
    weights = np.array(people) / sum(people)
    low, high = interval(NoiseLines.of(each), np.stack([one.values for one in each]), weights)(0.95)
    covered = []
    for held in product(*map(holders, people)):
        laws = (count_law(*one) for one in zip(levels, people, held, strict=True))
        truth = sum(held) / sum(people)
        inside = (low <= truth + 1e-12) & (truth <= high + 1e-12)
        covered.append(float(np.outer(*laws).ravel()[inside].sum()))
    return min(covered)


@pytest.mark.parametrize("people", [(10, 90), (100, 100), (90, 10)], ids=str)
@pytest.mark.parametrize("epsilons", [(1.0, 8.0), (3.0, 10.0), (4.0, 4.0)], ids=str)
@pytest.mark.parametrize("kind", [GRR, OUE], ids=lambda kind: kind.id)
def test_values_held_at_one_level_alone_are_covered(
    kind: type, epsilons: tuple[float, float], people: tuple[int, int]
) -> None:
    levels = [kind(10, epsilon=epsilon) for epsilon in epsilons]
    assert least_coverage(levels, list(people), NoiseLines.combine) >= LEAST


def test_planted_fault_levels_taken_to_be_alike_are_not() -> None:
    levels = [GRR(10, epsilon=epsilon) for epsilon in (3.0, 10.0)]
    assert least_coverage(levels, [20, 180], alike) < 0.8


def test_a_line_is_seen_in_variances_that_were_computed_from_the_estimates() -> None:
    values = np.array([0.5, 0.3, 0.15, 0.05])
    for a, b, g in ((0.1, 0.2, 0.0), (0.0, 0.4, 0.0), (0.1, -0.05, 0.0), (0.01, 0.2, 0.3)):
        line = fit_noise_line(values, a + b * values + g * values * (1 - values))
        assert line is not None
        assert (line.base, line.slope, line.draw) == pytest.approx((a, b, g), abs=1e-12)


@pytest.mark.parametrize(
    ("values", "variance"),
    [
        ([0.5, 0.3, 0.15, 0.04, 0.01], [0.1, 0.3, 0.2, 0.5, 0.1]),  # no function of the values
        ([0.5, 0.5], [0.1, 0.2]),  # two points always lie on a line
        ([0.25] * 4, [0.1] * 4),  # and one point on many
    ],
)
def test_no_line_is_seen_where_there_is_none(values: list[float], variance: list[float]) -> None:
    assert fit_noise_line(np.array(values), np.array(variance)) is None


@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("method", ["pooled", "yang-variance", "unweighted"])
def test_weighted_estimates_of_few_people_hold_where_levels_are_alike(method: str, n: int) -> None:
    """One value everyone has, so that two values are at 0 and 1; and rare ones."""
    menu, runs = Levels.of(GRR, 4, {"a": 2.0, "b": 8.0}), 300
    rng = np.random.default_rng(n)
    sizes = [n - n // 2, n // 4, n // 5, n // 20]
    for people in (np.zeros(n, int), np.repeat(np.arange(4), sizes)):
        truth = np.bincount(people, minlength=4) / n
        held = np.zeros(5)
        with seeded(n) as source, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(runs):
                answers = rng.permutation(people)
                reports = menu.randomise(answers, level=["a", "b"] * (n // 2), source=source)
                estimate = menu.estimate(menu.aggregate(reports), method=method)
                low, high = estimate.interval()
                lead = estimate.contrast({estimate.labels[0]: 1, estimate.labels[1]: -1}).interval()
                difference = truth[0] - truth[1]
                held[:4] += (low <= truth + 1e-12) & (truth <= high + 1e-12)
                held[4] += lead.low[0] <= difference + 1e-12 and difference <= lead.high[0] + 1e-12
        assert (held / runs).min() >= 0.88  # of 300 at .95: once in 1e6
