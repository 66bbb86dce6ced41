"""Sums and quantiles inside levels and rates, of mechanisms whose noise is only bounded: exact."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.estimate import Estimate
from sottovoce.mechanisms.linear import LinearMechanism
from sottovoce.participation.sample import Sample

from .enumerate import estimates
from .exact import LEAST

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")

Change = Callable[[Estimate], Estimate]
SIZE = 4
KINDS = [sv.HadamardResponse, sv.ProjectiveGeometryResponse]


def as_shown(estimate: Estimate) -> Estimate:
    return estimate


def at_the_estimate(estimate: Estimate) -> Estimate:
    """The planted fault: the noise of sums by the covariance at the estimate."""
    return replace(estimate, _interval=replace(estimate.own_interval, groups=None, most=None))


def two_levels(kind: type, epsilon: float, answers: tuple[int, int]) -> Iterator:
    """One person at each of two levels."""
    parts = [
        estimates(kind(SIZE, epsilon=e), [answer])
        for e, answer in zip((epsilon, 2 * epsilon), answers, strict=True)
    ]
    for (one, first), (other, second) in itertools.product(*map(list, parts)):
        yield one * other, sv.combine([first, second], method="post-stratified")


def sampled(mechanism: LinearMechanism, answers: tuple[int, ...]) -> Iterator:
    """People who report with a probability of one half, if anybody does."""
    law = np.array(mechanism.channel().matrix, float)
    silent, chances = len(law[0]), defaultdict(float)
    law = np.hstack([law / 2, np.full((len(law), 1), 0.5)])
    for outcome in itertools.product(range(silent + 1), repeat=len(answers)):
        chance = np.prod([law[a, y] for a, y in zip(answers, outcome, strict=True)])
        chances[tuple(sorted(y for y in outcome if y < silent))] += chance
    chances.pop(())
    total = sum(chances.values())
    for outcome, chance in chances.items():
        counts = np.bincount(outcome, minlength=silent)[None]
        people = (np.array([len(answers)]), np.array([len(outcome)]))
        rate = np.array([0.5])
        sample = Sample(mechanism, rate, *people, {mechanism.table: counts}, mechanism.guarantee)
        yield chance / total, sample.estimate("hajek")


def coverage(outcomes: Iterator, answers: tuple[int, ...], change: Change) -> dict[str, float]:
    fractions = np.bincount(answers, minlength=SIZE) / len(answers)
    median = int(np.argmax(np.cumsum(fractions) >= 0.5))
    covered = dict.fromkeys(("two", "three", "median", "mean"), 0.0)
    for chance, whole in outcomes:
        estimate = change(whole)
        for name, many in (("two", 2), ("three", 3)):
            low, high = estimate.contrast(dict.fromkeys(range(many), 1)).interval()
            inside = low[0] - 1e-9 <= fractions[:many].sum() <= high[0] + 1e-9
            covered[name] += chance * inside
        quantile = estimate.median()
        covered["median"] += chance * (quantile.low <= median <= quantile.high)
        low, high = estimate.mean(range(SIZE)).interval()
        inside = low[0] - 1e-9 <= fractions @ np.arange(SIZE) <= high[0] + 1e-9
        covered["mean"] += chance * inside
    return covered


@pytest.mark.parametrize("answers", [(0, 0), (3, 3), (0, 3), (1, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_sums_over_levels_cover_exactly(
    kind: type, epsilon: float, answers: tuple[int, int]
) -> None:
    covered = coverage(two_levels(kind, epsilon, answers), answers, as_shown)
    assert min(covered.values()) >= LEAST, covered


@pytest.mark.parametrize("answers", [(0, 0, 0), (3, 3, 3), (0, 1, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_sums_of_those_who_report_cover_exactly(
    kind: type, epsilon: float, answers: tuple[int, ...]
) -> None:
    covered = coverage(sampled(kind(SIZE, epsilon=epsilon), answers), answers, as_shown)
    assert min(covered.values()) >= LEAST, covered


def test_planted_fault_noise_at_the_estimate_inside_levels_and_rates() -> None:
    levels = two_levels(sv.HadamardResponse, 4.0, (0, 3))
    assert coverage(levels, (0, 3), at_the_estimate)["median"] < LEAST
    rates = sampled(sv.HadamardResponse(SIZE, epsilon=0.5), (0, 0, 0))
    assert coverage(rates, (0, 0, 0), at_the_estimate)["median"] < 0.8
    rates = sampled(sv.ProjectiveGeometryResponse(SIZE, epsilon=0.5), (0, 0, 0))
    assert coverage(rates, (0, 0, 0), at_the_estimate)["mean"] < 0.9
