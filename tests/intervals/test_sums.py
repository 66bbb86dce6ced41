"""Sums of values and quantiles of few reports: exact coverage, and the noise they are tested at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.contract.aggregate import Aggregate
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.intervals import Ends, ScoreInterval, Terms
from sottovoce.mechanisms.linear import LinearMechanism
from sottovoce.mechanisms.mechanism import Mechanism
from sottovoce.testing import seeded

from .enumerate import estimates
from .exact import LEAST
from .test_differences import table_law

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")

SIZE = 6
TRUTHS = ((5, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 5), (1, 1, 1, 1, 1, 0), (4, 0, 0, 0, 0, 1))
Change = Callable[[Estimate], Estimate]


def as_shown(estimate: Estimate) -> Estimate:
    return estimate


def at_the_estimate(estimate: Estimate) -> Estimate:
    """The planted fault: the noise of sums by the covariance at the estimate."""
    return replace(estimate, _interval=replace(estimate.own_interval, pairs=None, most=None))


def coverage(epsilon: float, truth: tuple[int, ...], change: Change) -> dict[str, float]:
    mechanism, n = sv.GRR(SIZE, epsilon=epsilon), sum(truth)
    fractions = np.array(truth) / n
    covered = {"two": 0.0, "three": 0.0, "lowest": 0.0, "median": 0.0, "highest": 0.0}
    for table, chance in table_law(mechanism, truth).items():
        counts = {mechanism.table: np.array(table)}
        estimate = mechanism.estimate(Aggregate(mechanism.id, mechanism.digest, counts, n, n))
        estimate = change(estimate)
        for name, many in (("two", 2), ("three", 3)):
            low, high = estimate.contrast(dict.fromkeys(range(many), 1)).interval()
            true = fractions[:many].sum()
            covered[name] += chance * (low[0] - 1e-9 <= true <= high[0] + 1e-9)
        for name, q in (("lowest", 0.05), ("median", 0.5), ("highest", 0.95)):
            shown = estimate.quantile(q)
            true = int(np.argmax(np.cumsum(fractions) >= q - 1e-12))
            covered[name] += chance * (shown.low <= true <= shown.high)
    return covered


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_sums_and_quantiles_of_few_reports_cover_exactly(
    epsilon: float, truth: tuple[int, ...]
) -> None:
    covered = coverage(epsilon, truth, as_shown)
    assert min(covered.values()) >= LEAST, covered


def test_planted_fault_noise_at_the_estimate_does_not_cover() -> None:
    # Contrasts that cannot be tested take the worst case of so few reports; quantiles do not.
    assert coverage(1.0, TRUTHS[1], at_the_estimate)["lowest"] < LEAST


NOT_PURE = (
    sv.HadamardResponse(4, epsilon=1.0),
    sv.LIP(prior=[0.7, 0.1, 0.1, 0.1], variant="opt-ldp", epsilon=0.5),
    sv.LIP(prior=[0.7, 0.1, 0.1, 0.1], variant="optimal", epsilon=2.0),
)


def sum_coverage(mechanism: LinearMechanism, answers: tuple[int, ...], change: Change) -> float:
    """Of the first two values' sum, over every outcome."""
    covered, true = 0.0, np.mean(np.array(answers) < 2)
    first = dict.fromkeys(mechanism.domain.labels[:2], 1)
    for chance, estimate in estimates(mechanism, answers):
        low, high = change(estimate).contrast(first).interval()
        covered += chance * (low[0] - 1e-9 <= true <= high[0] + 1e-9)
    return covered


@pytest.mark.parametrize("answers", [(0, 0, 0, 0), (3, 3, 3, 3), (0, 1, 2, 3), (0, 0, 0, 3)])
@pytest.mark.parametrize("mechanism", NOT_PURE, ids=lambda mechanism: mechanism.words)
def test_sums_cover_where_their_noise_is_only_bounded(
    mechanism: LinearMechanism, answers: tuple[int, ...]
) -> None:
    assert sum_coverage(mechanism, answers, as_shown) >= LEAST


def of_half_the_noise(estimate: Estimate) -> Estimate:
    """The planted fault: the most noise of a combination is too little."""
    own = estimate.own_interval

    def most(weights: np.ndarray, ends: Ends) -> Terms:
        base, slope, _ = own.most(weights, ends)
        return base / 2, slope / 2, np.zeros(len(weights))

    return replace(estimate, _interval=replace(own, most=most))


@pytest.mark.parametrize("mechanism", NOT_PURE[:2], ids=["hadamard", "lip"])
def test_planted_faults_in_the_noise_of_other_mechanisms(mechanism: LinearMechanism) -> None:
    assert sum_coverage(mechanism, (0, 0, 0, 0), of_half_the_noise) < LEAST


@pytest.mark.parametrize(
    "mechanism",
    [*NOT_PURE, sv.ProjectiveGeometryResponse(8, epsilon=2.0)],
    ids=lambda mechanism: mechanism.words,
)
def test_the_noise_of_a_sum_does_not_exceed_its_line(mechanism: LinearMechanism) -> None:
    size, n = mechanism.domain.size, 50
    values = np.arange(size)
    weights = np.array([values < size // 2, values % 3 == 0, values, values % 3 - 1], float)
    ends = weights.min(axis=1), weights.max(axis=1)
    span = ends[1] - ends[0]
    rng = np.random.default_rng(2)
    for truth in (*np.eye(size), *rng.dirichlet(np.ones(size), 5)):
        noise = np.diag(weights @ mechanism.covariance(truth, n) @ weights.T) / span**2
        line = mechanism.sum_line(truth, n, weights, ends)
        assert line is not None
        assert (line[0] + line[1] * (weights @ truth - ends[0]) / span >= noise * (1 - 1e-9)).all()


# --- the line of a sum, against the covariance --------------------------------------------------


def estimated(mechanism: Mechanism, **options: list[str] | list[float]) -> Estimate:
    answers = np.arange(600) % 7 % mechanism.domain.size
    with seeded(4) as source:
        reports = mechanism.randomise(answers, source=source, **options)
        return mechanism.estimate(mechanism.aggregate(reports))


@pytest.mark.parametrize(
    "mechanism",
    [
        sv.GRR(5, epsilon=1.0),
        sv.OUE(5, epsilon=1.0),
        sv.SUE(5, epsilon=1.0),
        sv.OLH(5, epsilon=1.0),
        sv.SubsetSelection(5, epsilon=1.0),
        sv.Sampled(sv.GRR(5, epsilon=1.0), rate=0.5),
    ],
    ids=lambda mechanism: mechanism.words,
)
def test_the_noise_of_a_sum_is_that_of_the_covariance(mechanism: Mechanism) -> None:
    estimate = estimated(mechanism)
    chosen = np.array([[1.0, 1, 0, 0, 0], [0, 1, 0, 1, 1], [1, 0, 0, 0, 0]])
    own, covariance = estimate.own_interval, estimate.covariance
    assert isinstance(own, ScoreInterval)
    assert covariance is not None
    line = own.sums(chosen)
    assert line is not None
    f = chosen @ estimate.values
    noise = line.base + line.slope * f + np.asarray(line.draw) * f * (1 - f)
    assert noise == pytest.approx(np.diag(chosen @ covariance @ chosen.T), rel=1e-9)


@pytest.mark.parametrize("population", [False, True])
def test_a_sum_of_one_value_over_levels_has_its_interval(population: bool) -> None:
    menu = sv.Levels.of(sv.GRR, 5, {"strong": 0.5, "weak": 3.0})
    estimate = estimated(menu, level=["strong", "weak"] * 300).raw
    assert estimate is not None
    if population:
        estimate = estimate.for_population(5000)
    own = estimate.own_interval
    assert isinstance(own, ScoreInterval)
    ones = own.sums(np.eye(5))
    assert ones is not None
    assert np.allclose(ones(0.95), own(0.95), rtol=1e-12)
    most = own.sums(1 - np.eye(5))
    assert most is not None
    # The estimates of randomised response sum to one, so all others are one less the value.
    low, high = most(0.95)
    assert np.allclose([1 - high, 1 - low], own(0.95), atol=0.02)


def test_options_chosen_together_have_no_sum() -> None:
    question = sv.Options("tools", ["R", "Python", "SAS"], most=2)
    mechanism = sv.ChooseAll(question, epsilon=2.0)
    answers = [["R"], ["R", "Python"], []] * 100
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomise(answers)))
    own = estimate.own_interval
    assert isinstance(own, ScoreInterval)
    assert own.sums(np.ones((1, 3))) is None
