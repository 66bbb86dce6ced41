"""Differences and contrasts: exact coverage where an estimate depends on one count."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, norm

import sottovoce as sv
from sottovoce import GRR, OUE, Levels, SubsetSelection
from sottovoce.contract.aggregate import Aggregate
from sottovoce.errors import EstimateError, ParameterError
from sottovoce.estimate.contrasts import DRAWN_APART, Contrast
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.intervals import Interval
from sottovoce.estimate.simultaneous import largest_deviations, simultaneous
from sottovoce.mechanisms.categorical import PureMechanism
from sottovoce.promise import LDP, Guarantee, Promise, Unit
from sottovoce.testing import seeded

from .exact import LEAST, count_law, holders

Ends = tuple[np.ndarray, np.ndarray]


def at_counts(mechanism: PureMechanism, counts: np.ndarray, n: int) -> Estimate:
    aggregate = Aggregate(mechanism.id, mechanism.digest, {"support": counts}, n, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mechanism.estimate(aggregate, method="unbiased")


def one_count(mechanism: PureMechanism, n: int) -> tuple[np.ndarray, ...]:
    """Value, variance and interval of one value's estimate, for every count from 0 to n."""
    parts = [at_counts(mechanism, np.full(mechanism.domain.size, c), n) for c in range(n + 1)]
    rows = [
        (part.values[0], part.variance[0], *(end[0] for end in part.interval())) for part in parts
    ]
    return tuple(np.array(rows).T)


def pairs(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> list[Estimate]:
    """Every count of the first with every count of the second, as values of two estimates."""
    places = np.meshgrid(np.arange(first[0].size), np.arange(second[0].size), indexing="ij")
    estimates = []
    for columns, index in zip((first, second), places, strict=True):
        values, variance, low, high = (column[index.ravel()] for column in columns)
        estimates.append(
            Estimate(
                values=values,
                spread=variance,
                n=1,
                labels=tuple(range(values.size)),
                guarantee=Guarantee((Promise(LDP, 1.0),)),
                _interval=partial(lambda ends, _: ends, Interval(low, high)),
            )
        )
    return estimates


def shown(difference: Contrast) -> Ends:
    return difference.interval()


def normal(difference: Contrast) -> Ends:
    """The normal approximation at the estimates: the planted fault."""
    half = 1.96 * difference.std_error
    return difference.values - half, difference.values + half


def least_coverage(
    first: PureMechanism,
    n: int,
    second: PureMechanism,
    m: int,
    interval: Callable[[Contrast], Ends] = shown,
) -> float:
    """The least exact coverage of f − g over how many of n and of m people hold a value."""
    a, b = pairs(one_count(first, n), one_count(second, m))
    low, high = interval(a - b)
    least = 1.0
    for i in holders(n):
        for j in holders(m):
            law = np.outer(count_law(first, n, i), count_law(second, m, j)).ravel()
            truth = i / n - j / m
            inside = (low <= truth + 1e-12) & (truth <= high + 1e-12)
            least = min(least, float(law[inside].sum()))
    return least


@pytest.mark.parametrize("kind", [GRR, OUE, SubsetSelection], ids=lambda kind: kind.id)
@pytest.mark.parametrize("d", [2, 10])
def test_differences_cover_exactly(kind: type, d: int) -> None:
    for epsilon, other in ((0.1, 0.1), (1.0, 1.0), (3.0, 3.0), (6.0, 6.0), (20.0, 1.0), (6.0, 0.5)):
        first, second = kind(d, epsilon=epsilon), kind(d, epsilon=other)
        for n, m in ((1, 1), (2, 5), (10, 10), (5, 40), (40, 40)):
            assert least_coverage(first, n, second, m) >= LEAST, (epsilon, other, n, m)


def test_planted_fault_the_normal_interval_of_a_difference_does_not_cover() -> None:
    mechanism = OUE(3, epsilon=6.0)
    assert least_coverage(mechanism, 10, mechanism, 10, normal) < 0.7


# --- contrasts of one estimate, and whole tables ------------------------------------------------


def table_law(mechanism: PureMechanism, truth: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The exact law of GRR's counts when so many people hold each value."""
    p, q = float(mechanism.p), float(mechanism.q)
    law = {(0,) * len(truth): 1.0}
    for value, people in enumerate(truth):
        for _ in range(people):
            step: dict[tuple[int, ...], float] = {}
            for counts, chance in law.items():
                for k in range(len(truth)):
                    after = tuple(c + (j == k) for j, c in enumerate(counts))
                    step[after] = step.get(after, 0.0) + chance * (p if k == value else q)
            law = step
    return law


TRUTHS = ((12, 0, 0), (6, 6, 0), (4, 4, 4), (10, 1, 1), (7, 3, 2))
WEIGHTS = ({0: 1, 1: -1}, {0: 1, 1: 1}, {0: 1, 1: -0.5, 2: -0.5}, {0: 1, 1: 2, 2: 3})


def test_contrasts_and_simultaneous_intervals_cover_exactly() -> None:
    alone = []
    for epsilon in (2.0, 6.0):
        mechanism = GRR(3, epsilon=epsilon)
        counts = list(table_law(mechanism, TRUTHS[0]))
        estimates = [at_counts(mechanism, np.array(row), 12) for row in counts]
        ends = [
            np.array([estimate.contrast(weights).interval() for estimate in estimates])[:, :, 0]
            for weights in WEIGHTS
        ]
        whole = np.array([estimate.interval(simultaneous=True) for estimate in estimates])
        each = np.array([estimate.interval() for estimate in estimates])
        for truth in TRUTHS:
            law = table_law(mechanism, truth)
            chance, fractions = np.array([law[row] for row in counts]), np.array(truth) / 12
            for weights, both in zip(WEIGHTS, ends, strict=True):
                target = sum(w * fractions[v] for v, w in weights.items())
                inside = (both[:, 0] <= target + 1e-12) & (target <= both[:, 1] + 1e-12)
                assert chance @ inside >= LEAST, (epsilon, truth, weights)
            covered = [
                ((x[:, 0] <= fractions + 1e-12) & (fractions <= x[:, 1] + 1e-12)).all(axis=1)
                for x in (whole, each)
            ]
            assert chance @ covered[0] >= LEAST, (epsilon, truth)
            alone.append(chance @ covered[1])
    # The planted fault: intervals for one value each do not hold together.
    assert min(alone) < LEAST


def test_the_critical_value_is_sidak_for_independent_values_and_none_for_one_value() -> None:
    each, method = simultaneous(0.95, 20, np.eye(20))
    assert method == "max-|z|"
    assert 0.95 ** (1 / 20) - 1e-3 < each <= 0.95 ** (1 / 20)
    alike, _ = simultaneous(0.95, 20, np.ones((20, 20)))
    assert 0.95 <= alike < 0.955
    assert simultaneous(0.95, 20, None) == (1 - 0.05 / 20, "Bonferroni")
    assert simultaneous(0.95, 1, None) == (0.95, "a single value")
    r = 0.6 * np.ones((3, 3)) + 0.4 * np.eye(3)
    largest = largest_deviations(r)
    # P(max |Z| > 2), by one-dimensional integration over the common part of Z.
    x, w = np.polynomial.hermite_e.hermegauss(80)
    low, high = ((end - np.sqrt(0.6) * x) / np.sqrt(0.4) for end in (-2, 2))
    inside = (norm.cdf(high) - norm.cdf(low)) ** 3 @ w / np.sqrt(2 * np.pi)
    chance = 1 - float(inside)
    # Five and a half standard errors: false once in 2e7 matrices.
    assert abs((largest > 2).mean() - chance) < 5.5 * (chance / largest.size) ** 0.5


# --- what differences are -----------------------------------------------------------------------


def survey(fractions: dict[str, float], n: int, epsilon: float, seed: int) -> Estimate:
    people = [label for label, part in fractions.items() for _ in range(round(part * n))]
    mechanism = GRR(sv.Attribute("agree", list(fractions)), epsilon=epsilon)
    with seeded(seed) as source:
        counts = mechanism.aggregate(mechanism.randomise(people, source=source))
        return replace(mechanism.estimate(counts), guarantee=mechanism.guarantee)


@pytest.fixture(scope="module")
def waves() -> tuple[Estimate, Estimate]:
    return (
        survey({"yes": 0.5, "no": 0.3, "unsure": 0.2}, 4000, 1.0, 1),
        survey({"yes": 0.7, "no": 0.2, "unsure": 0.1}, 3000, 2.0, 2),
    )


def test_variances_of_a_difference_add_up(waves: tuple[Estimate, Estimate]) -> None:
    first, second = waves
    change = second - first
    assert isinstance(change, Contrast)
    assert change.unit == "points"
    assert change.name == "agree"
    np.testing.assert_allclose(change.values, second.values - first.values)
    np.testing.assert_allclose(change.variance, first.variance + second.variance)
    assert change.covariance is not None
    np.testing.assert_allclose(np.diag(change.covariance), change.variance)
    assert change.n == change.reports == 7000
    with pytest.raises(EstimateError, match="not a number of people"):
        _ = change.counts
    np.testing.assert_allclose((first - second).interval().low, -change.interval().high)
    again = pickle.loads(pickle.dumps(change))
    np.testing.assert_array_equal(again.interval(), change.interval())


def test_a_p_value_is_where_the_interval_reaches_zero(waves: tuple[Estimate, Estimate]) -> None:
    change = waves[1] - waves[0]
    test = change.test()
    for k, p in enumerate(test.p_values.tolist()):
        if p > 1e-12:
            low, high = (end[k] for end in change.interval(1 - p))
            assert min(abs(low), abs(high)) < 1e-4
    assert (test.p_values < 0.05).tolist() == [
        low > 0 or high < 0 for low, high in zip(*change.interval(), strict=True)
    ]
    assert test.p_value >= test.p_values.min()
    assert test.p_value <= 3 * test.p_values.min() + 1e-12
    assert test.method == "max-|z|"
    frame = change.to_frame()
    assert list(frame.columns) == ["value", "estimate", "std_error", "low", "high", "p_value"]


def test_a_difference_of_biased_estimates_keeps_the_unbiased_interval() -> None:
    menu = Levels.of(GRR, 4, {"a": 0.5, "b": 2.0})
    estimates = []
    for seed in (1, 2):
        with seeded(seed) as source, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            levels = ["a", "b"] * 1000
            reports = menu.randomise(np.arange(2000) % 4, level=levels, source=source)
            estimates.append(menu.estimate(menu.aggregate(reports)))
    first, second = estimates
    change = first - second
    assert change.biased
    assert change.raw is not None
    assert first.raw is not None
    assert second.raw is not None
    plain = (first.raw - second.raw).interval()
    low, high = change.interval()
    np.testing.assert_allclose(low, np.minimum(plain.low, change.values))
    np.testing.assert_allclose(high, np.maximum(plain.high, change.values))
    with seeded(3):  # the covariance is computed on demand, from seeded reports
        np.testing.assert_array_equal(change.test().p_values, change.raw.test().p_values)
        one = first.project().contrast({0: 1})
        np.testing.assert_allclose(one.values, first.project().values[:1])


def test_a_contrast_uses_the_covariance(waves: tuple[Estimate, Estimate]) -> None:
    first, _ = waves
    lead = first.contrast({"yes": 1, "no": -1})
    matrix, factors = first.covariance, np.array([1, -1, 0])
    assert matrix is not None
    np.testing.assert_allclose(lead.variance, factors @ matrix @ factors)
    assert lead.labels == ("yes − no",)
    assert lead.unit == "points"
    known = first.contrast({"yes": 1, "no": 1})
    assert known.unit == "fraction"
    # yes + no is 1 − unsure, with the interval of a single value.
    np.testing.assert_allclose(known.interval().low[0], 1 - first.interval().high[2])
    np.testing.assert_allclose(known.std_error[0], first.std_error[2])
    mean = first.contrast({"yes": 2, "unsure": 1})
    assert mean.unit == ""
    assert mean.labels == ("2 yes + unsure",)
    everyone = first.contrast(dict.fromkeys(first.labels, 1.0))
    np.testing.assert_allclose(everyone.interval(), 1.0)
    # Of a difference of differences, too.
    other = survey({"yes": 0.5, "no": 0.3, "unsure": 0.2}, 400, 1.0, 3)
    np.testing.assert_allclose(
        ((first - other).contrast({"yes": 1})).variance, (first.variance + other.variance)[:1]
    )


def test_without_a_covariance_a_contrast_assumes_the_worst(
    waves: tuple[Estimate, Estimate],
) -> None:
    blind = replace(waves[0], _covariance=None, values=waves[0].values + 1e-6)
    lead = blind.contrast({"yes": 1, "no": -1})
    np.testing.assert_allclose(lead.std_error, blind.std_error[:2].sum())
    assert blind.simultaneous().method == "Bonferroni"


def test_what_has_no_difference_is_refused(waves: tuple[Estimate, Estimate]) -> None:
    first, second = waves
    for same in (first, first.project(), replace(first, name="again")):
        with pytest.raises(EstimateError, match="the same reports"):
            _ = first - same
    scores = {label: k for k, label in enumerate(first.labels)}
    other = {label: -k for k, label in enumerate(first.labels)}
    for one, same in (
        (first.mean(scores), first.mean(other)),
        (first.contrast({"yes": 1}), first.contrast({"yes": 1})),
        (first - second, second - first),
    ):
        with pytest.raises(EstimateError, match="the same reports"):
            _ = one - same
    with pytest.raises(EstimateError, match="only one has 'maybe'"):
        _ = first - survey({"yes": 0.5, "no": 0.3, "maybe": 0.2}, 100, 8.0, 3)
    with pytest.raises(TypeError):
        _ = first - 0.5  # type: ignore[operator]
    with pytest.raises(ParameterError, match="there is no value 'maybe'"):
        first.contrast({"maybe": 1})
    with pytest.raises(ParameterError, match="weights are"):
        second.contrast({})


def refused(first: Estimate, second: Estimate) -> bool:
    """Whether their difference is refused, as that of the same reports."""
    try:
        _ = first - second
    except EstimateError as error:
        return "the same reports" in str(error)
    return False


@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
def test_two_estimates_of_the_same_counts_have_no_difference() -> None:
    mechanism, menu = GRR(3, epsilon=1.0), Levels.of(GRR, 3, {"a": 1.0, "b": 2.0})
    counts, other = (mechanism.aggregate(mechanism.randomise([0, 1, 2] * 5)) for _ in range(2))
    for same in (counts, counts + other, replace(counts)):
        assert refused(mechanism.estimate(counts), mechanism.estimate(same))
        with pytest.raises(EstimateError, match="the same reports"):
            sv.combine([mechanism.estimate(counts), mechanism.estimate(same)])
    assert refused(mechanism.estimate(counts), mechanism.estimate(counts, method="mle"))
    assert not refused(mechanism.estimate(counts), mechanism.estimate(other))
    chosen = menu.aggregate(menu.randomise([0, 1, 2, 0] * 5, level=["a", "b"] * 10))
    parts = menu.estimates(chosen)
    assert not refused(parts["a"], parts["b"])  # reports of different people
    assert refused(parts["a"], menu.estimates(chosen)["a"])
    assert refused(menu.estimate(chosen), parts["a"])
    assert refused(menu.estimate(chosen), menu.estimate(chosen))
    sampled = sv.Sampled(mechanism, rate=0.9)
    drawn = sampled.aggregate(sampled.randomise([0, 1, 2] * 10))
    assert refused(sampled.estimate(drawn), sampled.estimate(drawn))
    numbers = sv.Piecewise(sv.Range("income", 0, 1), epsilon=1.0)
    sums = numbers.aggregate(numbers.randomise([0.1, 0.2, 0.7]))
    assert refused(numbers.estimate(sums), numbers.estimate(sums))
    # Counts that were stored and read again are counts of their own.
    assert not refused(
        mechanism.estimate(counts), mechanism.estimate(pickle.loads(pickle.dumps(counts)))
    )


def test_merged_counts_keep_a_limited_number_of_marks() -> None:
    one = Aggregate("grr", b"", {"support": np.zeros(2, np.int64)}, 0, 0)
    assert one.marks_of() == (one + one).marks_of()
    few, many = (sum((replace(one, _marks=()) for _ in range(n)), one) for n in (200, 300))
    assert len(few.marks_of()) == 201
    assert len(many.marks_of()) < 201


def test_the_guarantee_of_a_difference(waves: tuple[Estimate, Estimate]) -> None:
    first, second = waves
    assert (first - second).guarantee.epsilon == 3.0  # for someone who may be in both
    levels = [replace(e, guarantee=e.guarantee) for e in waves]
    level = Guarantee((replace(first.guarantee.promises[0], unit=Unit(level="strong")),))
    apart = (replace(levels[0], guarantee=level) - second).guarantee
    assert [p.unit.group for p in apart.promises] == [
        "the first collection",
        "the second collection",
    ]
    other = Guarantee((replace(first.guarantee.promises[0], unit=Unit(level="weak")),))
    # Somebody may be in both, and have chosen a level of each menu.
    two = (replace(levels[0], guarantee=level) - replace(second, guarantee=other)).guarantee
    assert [(p.unit.group, p.unit.level) for p in two.promises] == [
        ("the first collection", "strong"),
        ("the second collection", "weak"),
    ]
    none = Guarantee.none("seeded")
    assert not (replace(levels[0], guarantee=none) - second).guarantee.promises


def test_a_difference_for_a_population_assumes_independent_samples() -> None:
    """Of people who all change their answer the errors add up, and not only their squares."""
    m, n, held, held_wider = GRR(2, epsilon=20.0), 50, 0.0, 0.0
    for k, chance in enumerate(binom.pmf(np.arange(n + 1), n, 0.5)):
        waves = [at_counts(m, np.array(counts), n) for counts in ((k, n - k), (n - k, k))]
        first, second = (wave.for_population() for wave in waves)
        change = first - second  # the fractions of the population are equal
        low, high = change.interval()
        held += chance * (low[0] <= 0 <= high[0])
        held_wider += chance * (abs(change.values[0]) <= 1.42 * (high[0] - low[0]) / 2)
        assert DRAWN_APART in change.assuming
        assert DRAWN_APART not in (waves[0] - waves[1]).assuming
    assert held < 0.9
    assert held_wider >= LEAST
