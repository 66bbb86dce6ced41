"""Intervals of frequencies: exactly where a value's estimate depends on one count."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from sottovoce import GRR, LIP, OUE, SUE, HadamardResponse, Levels, Sampled, SubsetSelection
from sottovoce.contract.aggregate import Aggregate
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.intervals import ScoreInterval, normal_quantile, steps_beyond
from sottovoce.mechanisms.linear import LinearMechanism
from sottovoce.testing import seeded

from .exact import LEAST, least_coverage, normal, shown

PEOPLE = (1, 2, 3, 5, 10, 20, 100)
EPSILONS = (0.1, 1.0, 3.0, 6.0, 20.0)


@pytest.mark.parametrize("kind", [GRR, OUE, SUE, SubsetSelection], ids=lambda kind: kind.id)
@pytest.mark.parametrize("d", [2, 3, 10, 1000])
def test_pure_mechanisms_cover_every_number_of_holders(kind: type, d: int) -> None:
    for epsilon in EPSILONS:
        mechanism = kind(d, epsilon=epsilon)
        for n in PEOPLE:
            assert least_coverage(mechanism, n) >= LEAST, (epsilon, n)


#: 99 %, 99.9 %, and what each of a hundred and of a thousand values needs for all to hold at once.
HIGH = (0.99, 0.999, 1 - 0.05 / 100, 1 - 0.05 / 1000)


@pytest.mark.parametrize("confidence", HIGH)
@pytest.mark.parametrize("kind", [GRR, OUE, SUE, SubsetSelection], ids=lambda kind: kind.id)
@pytest.mark.parametrize("d", [2, 10, 1000])
def test_high_confidence_holds_where_noise_is_rare(kind: type, d: int, confidence: float) -> None:
    """Noise that a few reports have is skewed: its far tail is longer than the normal one."""
    for epsilon, n in product((1.0, 4.0, 8.0, 10.0), (3, 30, 300)):
        mechanism = kind(d, epsilon=epsilon)
        wrong = 1 - least_coverage(mechanism, n, partial(shown, confidence=confidence))
        assert wrong <= 1.02 * (1 - confidence), (epsilon, n)


def test_planted_fault_a_step_for_95_percent_is_too_short_for_more() -> None:
    def short(estimate: Estimate) -> tuple[np.ndarray, np.ndarray]:
        own = estimate.own_interval
        assert isinstance(own, ScoreInterval)
        return replace(own, step=own.step / steps_beyond(normal_quantile(0.999)))(0.999)

    assert 1 - least_coverage(SUE(10, epsilon=10.0), 3, short) > 10 * 0.001


@pytest.mark.parametrize("d", [100, 1000])
def test_simultaneous_intervals_hold_where_noise_is_rare(d: int) -> None:
    """Everyone has one value, and a few reports are noise: they fell outside in 9 of 10 runs."""
    mechanism, n, runs = GRR(d, epsilon=8.0), 1000, 40
    counts = np.random.default_rng(d).multinomial(
        n, [float(mechanism.p)] + [float(mechanism.q)] * (d - 1), size=runs
    )
    each = mechanism.score_interval(mechanism.debias(counts, n), counts, n)
    low, high = each(1 - 0.05 / d)
    truth = np.eye(d)[0]
    held = ((low <= truth + 1e-12) & (truth <= high + 1e-12)).all(axis=1)
    assert held.sum() >= 29  # of 40 at .95: fewer once in 1e6


def test_planted_fault_the_normal_interval_does_not_cover() -> None:
    assert least_coverage(OUE(3, epsilon=6.0), 10, normal) < 0.6
    assert least_coverage(GRR(10, epsilon=6.0), 60, normal) < LEAST


def repeated(mechanism: LinearMechanism, answers: np.ndarray, runs: int, seed: int) -> np.ndarray:
    """How often each value's interval holds, over many draws of the same people's reports."""
    n, truth = len(answers), np.bincount(answers, minlength=mechanism.domain.size) / len(answers)
    inside = np.zeros(mechanism.domain.size)
    with seeded(seed) as source, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reports = mechanism.randomise(np.tile(answers, runs), source=source)
        group = np.repeat(np.arange(runs, dtype=np.uint32), n)
        _, tables = mechanism.count_by(reports, group, runs)
        for run in range(runs):
            own = {name: table[run] for name, table in tables.items()}
            aggregate = Aggregate(mechanism.id, mechanism.digest, own, n, n)
            low, high = mechanism.estimate(aggregate).interval()
            inside += (low <= truth + 1e-12) & (truth <= high + 1e-12)
    return inside / runs


#: Of 1,000 runs at .95, fewer than .91 are inside once in 1e8 settings (binomial).
ENOUGH, RUNS = 0.91, 1000


@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize(
    "mechanism",
    [
        HadamardResponse(10, epsilon=0.5),
        HadamardResponse(3, epsilon=10.0),
        LIP(prior=[0.97, 0.01, 0.01, 0.01], epsilon=1.0),
        LIP(prior=[0.4, 0.3, 0.2, 0.1], variant="a-optimal", epsilon=4.0),
        LIP(prior=[0.2, 0.3, 0.5], variant="opt-ldp", epsilon=2.0),
    ],
    ids=lambda m: f"{m.id}-{getattr(m, 'variant', '')}-{m.epsilon:g}",
)
def test_linear_mechanisms_cover(mechanism: LinearMechanism, n: int) -> None:
    for answers in (np.zeros(n, int), np.arange(n) % mechanism.domain.size):
        assert repeated(mechanism, answers, RUNS, seed=n).min() >= ENOUGH


@pytest.mark.parametrize(
    ("mechanism", "choice"),
    [
        (Levels.of(GRR, 4, {"a": 0.5, "b": 2, "c": 6}), "level"),
        (Levels.of(OUE, 4, {"a": 0.5, "b": 2, "c": 6}), "level"),
        (Sampled(OUE(3, epsilon=4.0), rate=0.5), None),
        (Sampled(GRR(3, epsilon=4.0), rate=[0.3, 0.8]), "rate"),
    ],
    ids=["levels-grr", "levels-oue", "sampled-oue", "rates-grr"],
)
def test_ways_to_take_part_cover(mechanism: Levels, choice: str | None) -> None:
    n, runs = 60, 300
    levels, rates = list(mechanism.menu), list(mechanism.rates)
    options = {
        "level": {"level": [levels[k % len(levels)] for k in range(n)] if levels else None},
        "rate": {"rate": [rates[k % len(rates)] for k in range(n)]},
        None: {},
    }[choice]
    answers = np.minimum(np.arange(n) // 2 % 7, 1)  # few people hold the first value
    truth = np.bincount(answers, minlength=mechanism.domain.size) / n
    inside = np.zeros(mechanism.domain.size)
    with seeded(11) as source, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(runs):
            reports = mechanism.randomise(answers, source=source, **options)
            low, high = mechanism.estimate(mechanism.aggregate(reports)).interval()
            inside += (low <= truth + 1e-12) & (truth <= high + 1e-12)
    assert (inside / runs).min() >= 0.88  # of 300 at .95: once in 1e6
