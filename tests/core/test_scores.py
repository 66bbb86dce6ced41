"""Means and medians of ordered answers: unbiased, with exact errors, covered for few reports."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.contract.aggregate import Aggregate
from sottovoce.errors import EstimateError, ParameterError

from ..intervals.enumerate import estimates

LIKERT = ["no", "rather no", "neutral", "rather yes", "yes"]
useless = pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")


def moments(mechanism, answers, stated):
    chances, means, claims = zip(
        *((p, e.mean([1, 2, 7]).values[0], stated(e)) for p, e in estimates(mechanism, answers)),
        strict=True,
    )
    mean = np.dot(chances, means)
    return mean, np.dot(chances, (np.array(means) - mean) ** 2), np.dot(chances, claims)


@useless
@pytest.mark.parametrize("kind", [sv.GRR, sv.OUE, sv.SUE, sv.SubsetSelection])
def test_the_mean_is_unbiased_and_its_variance_exact(kind):
    mechanism = kind(3, epsilon=1.5)
    mean, true, claimed = moments(
        mechanism, [0, 1, 1], lambda e: float(e.mean([1, 2, 7]).covariance[0, 0])
    )
    assert mean == pytest.approx(5 / 3)
    assert claimed == pytest.approx(true, rel=1e-9)


@useless
def test_a_variance_without_the_covariances_is_noticed():
    def fault(estimate):
        return float(np.square([-3, -2, 3]) @ estimate.variance)

    _, true, claimed = moments(sv.GRR(3, epsilon=1.5), [0, 1, 1], fault)
    assert abs(claimed / true - 1) > 0.05


# --- coverage, exactly ----------------------------------------------------------------------------


def tables(n, size):
    for cuts in itertools.combinations(range(n + size - 1), size - 1):
        yield tuple(b - a - 1 for a, b in itertools.pairwise((-1, *cuts, n + size - 1)))


def law(mechanism, people):
    """The law of the counts of randomised response for so many people with each value."""
    p, q = float(mechanism.p), float(mechanism.q)
    whole = {(0,) * len(people): 1.0}
    for value, k in enumerate(people):
        chances = [p if v == value else q for v in range(len(people))]
        part = {t: stats.multinomial.pmf(t, k, chances) for t in tables(k, len(people))}
        merged: dict[tuple[int, ...], float] = {}
        for (a, x), (b, y) in itertools.product(whole.items(), part.items()):
            key = tuple(map(sum, zip(a, b, strict=True)))
            merged[key] = merged.get(key, 0.0) + x * y
        whole = merged
    return whole


def exact_coverage(epsilon, people, covers):
    m, n = sv.GRR([1, 2, 3], epsilon=epsilon), sum(people)
    covered = 0.0
    for table, chance in law(m, people).items():
        if chance > 1e-9:
            counts = {m.table: np.array(table, np.int64)}
            covered += chance * covers(m.estimate(Aggregate(m.id, m.digest, counts, n, n)))
    return covered


def mean_covers(people, interval):
    true = np.dot(people, [1, 2, 3]) / sum(people)

    def covers(estimate):
        low, high = interval(estimate.mean())
        return low[0] - 1e-9 <= true <= high[0] + 1e-9

    return covers


FEW = [(0, 20, 0), (6, 0, 6), (9, 3, 0), (10, 1, 1)]


@useless
@pytest.mark.parametrize("people", FEW)
@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_the_mean_and_the_median_of_few_reports_are_covered(epsilon, people):
    assert exact_coverage(epsilon, people, mean_covers(people, lambda m: m.interval())) >= 0.945
    middle = 1 + int(np.argmax(np.cumsum(people) * 2 >= sum(people)))

    def covers(estimate):
        median = estimate.median()
        return median.low <= middle <= median.high

    assert exact_coverage(epsilon, people, covers) >= 0.945


@useless
def test_the_normal_interval_would_not_cover():
    def normal(mean):
        half = 1.96 * mean.std_error
        return mean.values - half, mean.values + half

    assert min(exact_coverage(6.0, people, mean_covers(people, normal)) for people in FEW) < 0.93


# --- use ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opinions():
    m = sv.GRR(sv.Attribute("agree", LIKERT, missing="value"), epsilon=4.0)
    answers = [*LIKERT * 2000, *["yes"] * 2000, *[None] * 3000]
    return m.estimate(m.aggregate(m.randomise(answers)))


def test_values_without_a_score_are_left_out(opinions):
    mean = opinions.mean({label: k for k, label in enumerate(LIKERT, 1)})
    low, high = mean.interval(0.9999999)
    assert mean.labels == ("mean",)
    assert low[0] < (15 * 2000 + 5 * 2000) / 12_000 < high[0] < low[0] + 0.5
    assert not mean.fractions
    assert mean.name == "agree"


def test_the_ratio_says_so_where_nobody_may_have_a_score():
    m = sv.GRR(["a", "b", "c"], epsilon=0.5)
    few = Aggregate(m.id, m.digest, {m.table: np.array([14, 14, 12])}, 40, 40)
    with pytest.warns(UserWarning, match="too few"):
        estimate = m.estimate(few)
    low, high = estimate.mean({"a": 0, "b": 1}).interval()
    assert (low[0], high[0]) == (0.0, 1.0)


def test_scores_may_be_numbers_in_order_or_the_values_themselves():
    m = sv.GRR([1, 2, 5], epsilon=3.0)
    estimate = m.estimate(m.aggregate(m.randomise([1, 2, 5] * 3000)))
    assert estimate.mean().values == pytest.approx(estimate.mean([1, 2, 5]).values)
    assert estimate.mean([11, 12, 15]).values == pytest.approx(estimate.mean().values + 10)
    assert estimate.mean().covariance == pytest.approx(estimate.mean([0, 1, 4]).covariance)
    assert estimate.project().mean().values == pytest.approx(estimate.mean().values)


def test_a_quantile_names_values_in_order():
    m = sv.GRR(LIKERT, epsilon=4.0)
    estimate = m.estimate(m.aggregate(m.randomise(LIKERT[:1] * 8000 + LIKERT[2:] * 3000)))
    assert estimate.quantile(0.9) == (0.9, "yes", "yes", "yes", 0.95)
    assert estimate.median().value == "neutral"
    assert estimate.median(confidence=0.999).confidence == 0.999
    assert str(estimate.quantile(0.2)) == "20 % quantile: no (95 % interval no to no)"


def test_wrong_scores_and_fractions_are_refused(opinions):
    for wrong, words in (
        (None, "not numbers"),
        ([1, 2], "2 scores"),
        ({"maybe": 1}, "'maybe'"),
        ({}, "empty"),
        ([1, 2, 3, 4, 5, "x"], "must be numbers"),
        ([1, 2, 3, 4, 5, float("nan")], "finite"),
    ):
        with pytest.raises(ParameterError, match=words):
            opinions.mean(wrong)
    for q in (0, 1, 1.5, True, "half"):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            opinions.quantile(q)
    m = sv.Duchi((0, 1), epsilon=1.0)
    number = m.estimate(m.aggregate(m.randomise([0.5] * 100)))
    with pytest.raises(EstimateError, match="distribution"):
        number.median()
    pair = sv.Records([sv.Attribute("a", 2), sv.Attribute("b", 2)], epsilon_average=2)
    counts = pair.aggregate(pair.randomise({"a": [0, 1] * 500, "b": [0, 1] * 500}))
    with pytest.raises(EstimateError, match="has no order"):
        pair.joint(counts, ["a", "b"]).median()


@useless
@pytest.mark.parametrize("answers", [[0, 0, 0], [0, 0, 1], [2, 2, 2], [0, 0, 2]])
def test_people_whom_the_reports_miss_are_allowed_for(answers):
    """With one bit for the truth, which is 1 half of the time, reports may show nobody at all."""
    mechanism, scores = sv.OUE(3, epsilon=20.0), [1, 2, 7]
    mean, median = np.mean([scores[x] for x in answers]), sorted(answers)[1]
    covered, ordered, fault = 0.0, 0.0, 0.0
    for chance, e in estimates(mechanism, answers):
        estimate = e.mean(scores)
        (low,), (high,) = estimate.interval()
        covered += chance * (low <= mean <= high)
        middle = e.median()
        ordered += chance * (middle.low <= median <= middle.high)
        half = 1.96 * estimate.std_error[0] + 1 / 3 * 6  # at the estimate alone
        fault += chance * (abs(estimate.values[0] - mean) <= half)
    assert min(covered, ordered) >= 0.93
    if len(set(answers)) == 1:
        assert fault < 0.93
