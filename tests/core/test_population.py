"""Errors for a population: exactly the covariance over samples of people and their noise."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy.stats import binom, multinomial

import sottovoce as sv
from sottovoce import testing
from sottovoce.contract.aggregate import Aggregate
from sottovoce.errors import EstimateError, ParameterError

from ..intervals.enumerate import estimates, samples

POPULATION = [0, 0, 0, 1, 2]


def moments(mechanism, n, size, stated):
    """Mean, covariance, and mean stated covariance over all samples and all reports."""
    mean, second, claimed = 0.0, 0.0, 0.0
    for chance, people in samples(POPULATION, n, replace=size is None):
        for noise, estimate in estimates(mechanism, people):
            p = chance * noise
            mean += p * estimate.values
            second += p * np.outer(estimate.values, estimate.values)
            claimed += p * stated(estimate)
    return mean, second - np.outer(mean, mean), claimed


def for_population(size):
    return lambda estimate: estimate.for_population(size).covariance


KINDS = [sv.GRR(3, epsilon=1.0), sv.OUE(3, epsilon=2.0), sv.SubsetSelection(3, epsilon=1.5)]


@pytest.mark.parametrize("mechanism", KINDS, ids=lambda m: m.id)
@pytest.mark.parametrize("size", [None, 5])
@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
def test_the_covariance_is_that_of_samples_and_noise(mechanism, size):
    mean, true, claimed = moments(mechanism, 3, size, for_population(size))
    assert mean == pytest.approx(np.array([0.6, 0.2, 0.2]))
    assert claimed == pytest.approx(true, abs=1e-12)


@pytest.mark.parametrize(
    "fault",
    [
        lambda e: e.covariance,  # the noise alone
        lambda e: e.covariance + (np.diag(e.values) - np.outer(e.values, e.values)) / e.n,
        lambda e: 2 * e.for_population(5).covariance - e.covariance,  # the sampling twice
        lambda e: e.for_population().covariance,  # no finite population correction
    ],
)
@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
def test_a_covariance_that_counts_wrongly_is_noticed(fault):
    _, true, claimed = moments(KINDS[0], 3, 5, fault)
    assert np.abs(claimed - true).max() > 1e-3


def test_if_everyone_was_asked_nothing_is_added():
    m = sv.GRR(3, epsilon=2.0)
    estimate = m.estimate(m.aggregate(m.randomise([0, 1, 2, 0] * 50)))
    assert estimate.for_population(200).covariance == pytest.approx(estimate.covariance)
    assert estimate.for_population(200).interval().low == pytest.approx(estimate.interval().low)


def least_coverage(epsilon, n, change):
    """Over true fractions of a population of which n people are drawn, computed exactly."""
    m = sv.GRR(2, epsilon=epsilon)
    p, q = float(m.p), float(m.q)
    ends = []
    for c in range(n + 1):
        counts = np.array([c, n - c])
        estimate = m.estimate(Aggregate(m.id, m.digest, {m.table: counts}, n, n))
        ends.append([end[0] for end in change(estimate).interval()])
    low, high = np.array(ends).T
    return min(
        float(binom.pmf(np.arange(n + 1), n, q + (p - q) * f)[(low <= f) & (f <= high)].sum())
        for f in (0.0, 0.01, 0.05, 0.2, 0.5, 0.9)
    )


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0, 20.0])
@pytest.mark.parametrize("n", [10, 200])
@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
def test_fractions_of_the_population_are_covered(epsilon, n):
    assert least_coverage(epsilon, n, lambda e: e.for_population()) >= 0.93


def test_an_interval_for_the_people_asked_does_not_cover_the_population():
    assert least_coverage(6.0, 200, lambda e: e) < 0.5


@pytest.mark.parametrize("kind", [sv.Duchi, sv.Piecewise, sv.Hybrid])
def test_the_mean_of_a_number_has_the_variance_of_people_added(kind):
    answers = np.tile([0.0, 20.0, 100.0], 20_000)
    m = kind((0, 100), epsilon=4.0)
    with testing.seeded(3) as source:
        estimate = m.estimate(m.aggregate(m.randomise(answers, source=source)))
        added = estimate.for_population().variance - estimate.variance
    wide = 100 * 40 - 40**2  # one bit carries no information on the spread: the most it can be
    expected = wide if kind is sv.Duchi else answers.var()
    assert added[0] * answers.size == pytest.approx(expected, rel=0.1)
    low, high = estimate.interval()
    lower, higher = estimate.for_population().interval()
    assert lower[0] < low[0] < high[0] < higher[0]


def test_a_mean_score_can_be_taken_before_or_after():
    m = sv.GRR([1, 2, 3, 4, 5], epsilon=2.0)
    estimate = m.estimate(m.aggregate(m.randomise([1, 2, 3, 3, 4, 5] * 500)))
    before, after = (
        estimate.mean().for_population(10_000),
        estimate.for_population(10_000).mean(),
    )
    assert before.variance == pytest.approx(after.variance, rel=1e-9)
    assert before.values == pytest.approx(after.values)


# --- strata ---------------------------------------------------------------------------------------


def strata():
    m = sv.GRR(["yes", "no"], epsilon=2.0)
    with testing.seeded(5) as source:
        return {
            name: m.estimate(m.aggregate(m.randomise(["yes"] * a + ["no"] * b, source=source)))
            for name, a, b in (("north", 900, 100), ("south", 300, 700))
        }


def test_strata_are_weighted_by_their_size_in_the_population():
    parts, sizes = strata(), {"north": 90_000, "south": 10_000}
    whole = sv.stratified(parts, population=sizes)
    weights = {"north": 0.9, "south": 0.1}
    expected = sum(weights[name] * part.values for name, part in parts.items())
    assert whole.values == pytest.approx(expected)
    total = sum(
        weights[name] ** 2 * part.for_population(sizes[name]).covariance
        for name, part in parts.items()
    )
    assert whole.covariance == pytest.approx(total)
    assert whole.std_error == pytest.approx(np.sqrt(np.diag(total)))
    assert (whole.population, whole.n) == (100_000, 2000)
    low, high = whole.interval()
    assert low[0] < 0.84 < high[0]
    assert pickle.loads(pickle.dumps(whole)).interval().low == pytest.approx(low)


def test_weights_have_any_unit_and_no_correction():
    parts = strata()
    ours = sv.stratified(parts, weights={"north": 9, "south": 1})
    same = sv.stratified(parts, weights={"north": 0.9, "south": 0.1})
    large = sv.stratified(parts, population={"north": 9 * 10**12, "south": 10**12})
    assert ours.covariance == pytest.approx(same.covariance)
    assert ours.covariance == pytest.approx(large.covariance)
    assert math.isinf(ours.population)


def test_every_stratum_keeps_its_promise():
    m, n = sv.GRR(2, epsilon=2.0), sv.GRR(2, epsilon=3.0)
    parts = {"a": m.estimate(m.aggregate(m.randomise([0] * 900)))}
    parts["b"] = n.estimate(n.aggregate(n.randomise([1] * 900)))
    whole = sv.stratified(parts, weights={"a": 1, "b": 2})
    assert sorted(promise.epsilon for promise in whole.guarantee.promises) == [2.0, 3.0]


def test_means_of_numbers_are_stratified_too():
    m = sv.Piecewise((0, 100), epsilon=4.0)
    with testing.seeded(6) as source:
        parts = {
            name: m.estimate(m.aggregate(m.randomise([x, x + 30] * 5000, source=source)))
            for name, x in (("a", 5), ("b", 45))
        }
        whole = sv.stratified(parts, weights={"a": 3, "b": 1})
    assert whole.values[0] == pytest.approx(30, abs=2)
    noise = (9 * parts["a"].variance[0] + parts["b"].variance[0]) / 16
    drawn = (9 + 1) / 16 * 15**2 / 10_000
    assert whole.variance[0] == pytest.approx(noise + drawn, rel=0.1)


def test_options_of_which_several_apply_have_errors_and_no_covariance():
    question = sv.ChooseAll(sv.Options("tools", ["R", "Python", "SAS"], most=2), epsilon=4.0)
    estimate = question.estimate(question.aggregate(question.randomise([["R"], []] * 1000)))
    ours = estimate.for_population()
    assert (ours.variance >= estimate.variance).all()
    assert ours.variance[0] > estimate.variance[0] + 1e-5
    assert ours.covariance is None
    with pytest.raises(EstimateError, match="several"):
        estimate.mean([1, 2, 3])


# --- refusals -------------------------------------------------------------------------------------


def test_what_has_no_error_for_a_population_is_refused():
    parts = strata()
    once = parts["north"].for_population()
    with pytest.raises(EstimateError, match="already"):
        once.for_population()
    with pytest.raises(ParameterError, match="1,000 people asked"):
        parts["north"].for_population(999)
    with pytest.raises(ParameterError, match="one of population"):
        sv.stratified(parts)
    with pytest.raises(ParameterError, match="differs in"):
        sv.stratified(parts, weights={"north": 1})
    with pytest.raises(ParameterError, match="above 0"):
        sv.stratified(parts, weights={"north": 1, "south": -1})
    m = sv.Piecewise((0, 1), epsilon=2.0)
    counts = m.aggregate(m.randomise(np.linspace(0, 1, 500)))
    with pytest.raises(EstimateError, match="unbiased"):
        m.estimate(counts, method="variance").for_population()


def test_a_projected_estimate_keeps_its_values_and_gets_the_errors():
    projected = strata()["north"].project()
    ours = projected.for_population()
    assert ours.values == pytest.approx(projected.values)
    assert (ours.variance > projected.variance).all()
    assert "random sample" in ours.assuming


# --- few people whose answers agree ---------------------------------------------------------------


def everyone_counted(n, fractions):
    """The chance of every sample of n people, and its estimate where reports have no noise."""
    mechanism = sv.GRR(3, epsilon=20.0)
    for a in range(n + 1):
        for b in range(n - a + 1):
            counts = np.array([a, b, n - a - b])
            chance = multinomial.pmf(counts, n, fractions)
            if chance > 1e-9:
                aggregate = Aggregate(mechanism.id, mechanism.digest, {"support": counts}, n, n)
                yield chance, mechanism.estimate(aggregate)


def inside(interval, truth):
    return bool(interval.low[0] - 1e-9 <= truth <= interval.high[0] + 1e-9)


RARE = [(n, [1 - rare - 0.01, 0.01, rare]) for n, rare in ((2, 0.3), (5, 0.2), (20, 0.06))]


@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
@pytest.mark.parametrize(("n", "fractions"), [*RARE, (8, [0.48, 0.04, 0.48])])
def test_the_mean_of_a_population_is_covered_though_all_answers_may_agree(n, fractions):
    scores = [1.0, 2.0, 5.0]
    truth, covered, fault = float(np.dot(fractions, scores)), 0.0, 0.0
    for chance, e in everyone_counted(n, fractions):
        mean = e.mean(scores).for_population()
        low, high = mean.interval()
        other = e.for_population().mean(scores).interval()
        np.testing.assert_allclose((low, high), other)
        covered += chance * inside(mean.interval(), truth)
        half = 1.96 * mean.std_error[0] + 2 / n
        fault += chance * (abs(mean.values[0] - truth) <= half)
    assert covered >= 0.93
    if fractions[2] < 0.4:
        assert fault < 0.93  # the error at the estimate alone


@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_the_median_of_a_population_is_covered_for_few_people(n):
    fractions = [0.49, 0.02, 0.49]  # the median is the second value
    covered = 0.0
    for chance, e in everyone_counted(n, fractions):
        median = e.for_population().median()
        covered += chance * (median.low <= 1 <= median.high)
    assert covered >= 0.93


def test_the_mean_of_a_part_varies_with_the_people_in_it():
    mechanism = sv.GRR(3, epsilon=20.0)
    counts = np.array([50, 50, 900])
    aggregate = Aggregate(mechanism.id, mechanism.digest, {"support": counts}, 1000, 1000)
    e = mechanism.estimate(aggregate)
    for mean in (e.mean({0: 0, 1: 1}).for_population(), e.for_population().mean({0: 0, 1: 1})):
        # Of the 100 people who have a score, not of the 1000.
        assert mean.std_error[0] == pytest.approx(math.sqrt(0.25 / 100), rel=0.01)


def test_strata_that_agree_leave_room_for_those_who_were_not_asked():
    mechanism = sv.GRR(2, epsilon=20.0)
    counts = (mechanism.id, mechanism.digest, {"support": np.array([20, 0])}, 20, 20)
    parts = {
        name: mechanism.estimate(Aggregate(*counts)).mean([1, 0]) for name in ("north", "south")
    }
    low, _ = sv.stratified(parts, weights={"north": 1, "south": 1}).interval()
    assert low[0] < 0.025 ** (1 / 40)  # Clopper and Pearson's end for 40 of 40


@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
def test_a_sample_that_agrees_leaves_room_for_people_who_stayed_silent():
    collection = sv.Sampled(sv.GRR(2, epsilon=20.0), rate=0.1)
    with testing.seeded(1) as source:
        reports = collection.randomise([0] * 200, source=source)
        e = collection.estimate(collection.aggregate(reports))
    assert e.mean([1, 0]).interval().low[0] <= e.interval().low[0] + 0.01
