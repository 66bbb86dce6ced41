"""LIP among levels and under sampling: personal epsilons, personal priors, personal rates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sottovoce import LIP, Levels, Sampled, audit, testing
from sottovoce.errors import GuaranteeError, ParameterError
from sottovoce.promise import LDP
from sottovoce.promise import LIP as LIP_NOTION

P = [0.5, 0.3, 0.2]
OTHER = [0.1, 0.3, 0.6]
UNCLEAR = LIP(prior=[0.9, 0.05, 0.05], epsilon=1.0, variant="mmse-optimal")

MENUS = {
    "epsilons": Levels.of(LIP, 3, {"strong": 0.5, "weak": 3.0}, prior=P),
    "priors": Levels({"north": LIP(prior=P, epsilon=1.0), "south": LIP(prior=OTHER, epsilon=1.0)}),
    "variants": Levels(
        {
            "box": LIP(prior_low=[0.2, 0.1, 0.0], prior_high=[0.8, 0.5, 0.5], epsilon=1.0),
            "response": LIP(prior=P, epsilon=2.0, variant="opt-ldp"),
            "optimised": LIP(prior=P, epsilon=1.0, variant="a-optimal"),
        }
    ),
}
menus = pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS.keys())


def people(levels: int, n: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    """Answers, and a level each; who chose another level answers otherwise."""
    rng = np.random.default_rng(1)
    level = rng.integers(0, levels, n)
    shares = np.array([P, OTHER, [0.2, 0.6, 0.2]])
    answers = np.array([rng.choice(3, p=shares[k]) for k in level])
    return answers, level


def collected(menu: Levels, rounds: int, method: str, *, swapped: bool = False) -> np.ndarray:
    """Estimates of the same people again and again, from seeded reports."""
    answers, level = people(len(menu.menu))
    names = np.array(list(menu.menu))
    estimates = []
    with testing.seeded(3) as source:
        for _ in range(rounds):
            reports = menu.randomise(answers, level=names[level].tolist(), source=source)
            if swapped:
                columns = {**reports.columns, "way": 1 - reports.columns["way"]}
                reports = replace(reports, columns=columns)
            estimates.append(menu.estimate(menu.aggregate(reports), method=method).values)
    return np.array(estimates)


def off_by(found: np.ndarray, truth: np.ndarray) -> float:
    """How many standard errors the mean is from the truth, at most."""
    deviation = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return float(np.abs((found.mean(axis=0) - truth) / deviation).max())


@menus
def test_the_sum_over_people_with_different_channels_is_unbiased(menu: Levels) -> None:
    answers, _ = people(len(menu.menu))
    truth = np.bincount(answers, minlength=3) / answers.size
    estimates = collected(menu, 300, "post-stratified")
    assert off_by(estimates, truth) < 4.5


def test_reports_taken_for_those_of_another_level_are_noticed() -> None:
    menu = MENUS["priors"]
    answers, _ = people(2)
    truth = np.bincount(answers, minlength=3) / answers.size
    assert off_by(collected(menu, 300, "post-stratified", swapped=True), truth) > 10


@menus
@pytest.mark.parametrize("method", ["hybrid", "post-stratified", "adaptive"])
def test_levels_are_combined(menu: Levels, method: str) -> None:
    answers, level = people(len(menu.menu), 30_000)
    names = np.array(list(menu.menu))
    reports = menu.randomise(answers, level=names[level].tolist())
    estimate = menu.estimate(menu.aggregate(reports), method=method)
    truth = np.bincount(answers, minlength=3) / answers.size
    # Twelve standard errors: not a test of the law, which is exact elsewhere, but of the route.
    assert np.abs(estimate.values - truth).max() < 12 * estimate.std_error.max() + 0.05
    assert estimate.guarantee == menu.guarantee
    assert set(menu.estimates(menu.aggregate(reports))) == set(menu.menu)
    assert not any(e.biased for e in menu.estimates(menu.aggregate(reports)).values())


@menus
def test_everyone_is_told_what_a_prior_of_their_own_reveals(menu: Levels) -> None:
    for name in menu.menu:
        mine = [p for p in menu.guarantee.promises if p.unit.level == name]
        assert LDP in {promise.notion for promise in mine}
        for promise in mine:
            if promise.notion == LIP_NOTION:
                assert any("prior of their own" in words for words in promise.assuming)
                assert any("which level someone chose is public" in w for w in promise.assuming)


def test_a_strong_level_does_not_lower_the_account_of_a_weak_one() -> None:
    menu = MENUS["epsilons"]
    weak = [p for p in menu.guarantee.times(3).promises if p.unit.level == "weak"]
    own = menu.menu["weak"].guarantee.times(3)
    assert [p.epsilon for p in weak] == [p.epsilon for p in own.promises]


@pytest.mark.parametrize("rate", [0.5, [0.2, 0.8]])
@pytest.mark.parametrize(
    "inner",
    [LIP(prior=P, epsilon=1.0), LIP(prior=P, epsilon=1.0, variant="a-optimal"),
     LIP(prior=P, epsilon=2.0, variant="opt-ldp")],
    ids=["optimal", "a-optimal", "opt-ldp"],
)  # fmt: skip
def test_sampling_is_unbiased_where_it_says_so(inner: LIP, rate: float | list[float]) -> None:
    sampled = Sampled(inner, rate=rate)
    answers = np.repeat([0, 1, 2], [500, 400, 300])
    truth = np.bincount(answers) / answers.size
    rates = None if isinstance(rate, float) else np.tile(rate, answers.size // 2)
    by_method: dict[str, list[np.ndarray]] = {
        name: [] for name, method in sampled.methods.items() if not method.biased
    }
    assert "horvitz-thompson" in by_method
    with testing.seeded(5) as source:
        for _ in range(200):
            reports = sampled.randomise(answers, rate=rates, source=source)
            counts = sampled.aggregate(reports)
            for name, found in by_method.items():
                estimate = sampled.estimate(counts, method=name)
                assert not estimate.biased
                found.append(estimate.values)
    for found in by_method.values():
        assert off_by(np.array(found), truth) < 5


def test_sampling_that_forgets_who_was_not_asked_is_noticed() -> None:
    # The planted twin: the plain estimate where rates follow the answers.
    sampled = Sampled(LIP(prior=P, epsilon=2.0), rate=[0.2, 0.8])
    answers = np.tile(np.repeat([0, 1, 2], [500, 400, 300]), 2)
    rates = np.where(np.arange(answers.size) % 4 == 0, 0.2, 0.8)
    rates[answers == 0] = np.where(np.arange((answers == 0).sum()) % 4 == 0, 0.8, 0.2)
    truth = np.bincount(answers) / answers.size
    by_name = {"hajek": [], "post-stratified": []}
    with testing.seeded(6) as source:
        for _ in range(150):
            counts = sampled.aggregate(sampled.randomise(answers, rate=rates, source=source))
            for name, values in by_name.items():
                values.append(sampled.estimate(counts, method=name).values)
    assert off_by(np.array(by_name["post-stratified"]), truth) < 5
    assert off_by(np.array(by_name["hajek"]), truth) > 10


def test_levels_under_sampling_and_sampled_levels() -> None:
    answers, level = people(2, 20_000)
    names = np.array(["strong", "weak"])[level].tolist()
    for wrapped in (
        Sampled(MENUS["epsilons"], rate=0.5),
        Levels({name: Sampled(m, rate=0.5) for name, m in MENUS["epsilons"].menu.items()}),
    ):
        estimate = wrapped.estimate(wrapped.aggregate(wrapped.randomise(answers, level=names)))
        truth = np.bincount(answers, minlength=3) / answers.size
        assert np.abs(estimate.values - truth).max() < 12 * estimate.std_error.max() + 0.05
        assert len(wrapped.guarantee.promises) == 4


def test_what_cannot_be_inverted_is_no_level_and_not_sampled() -> None:
    with pytest.raises(ParameterError, match="no unbiased estimate"):
        Levels({"a": LIP(3, epsilon=1.0), "b": UNCLEAR})
    with pytest.raises(ParameterError, match="no unbiased estimate"):
        Sampled(UNCLEAR, rate=0.5)


def test_audits_test_the_promise_without_a_prior() -> None:
    # Two answers say nothing of a promise under a prior; its epsilon would be "broken" at once.
    mechanism = LIP(prior=0.3, epsilon=1.0)
    (finding,) = audit(mechanism, trials=200_000, confidence=1 - 1e-8)
    assert finding.promise.notion == LDP
    assert 1.0 < finding.epsilon < mechanism.ldp_epsilon
    with pytest.raises(ParameterError, match="under a prior"):
        audit(mechanism, promise=mechanism.guarantee.promises[0])


def test_whatever_level_was_chosen_the_largest_prior_free_epsilon_is_stated() -> None:
    """The level with the larger LIP epsilon may be the one with the smaller prior-free epsilon."""
    skewed = LIP(["yes", "no"], prior=[0.02, 0.98], epsilon=1.2)
    even = LIP(["yes", "no"], prior=[1 / (1 + math.e), math.e / (1 + math.e)], epsilon=1.0)
    assert even.ldp_epsilon > 1.9 > 1.3 > skewed.ldp_epsilon
    (promise,) = Levels({"skewed": skewed, "even": even}).guarantee_at().promises
    assert promise.notion == LDP
    assert promise.epsilon == even.ldp_epsilon


def test_the_loss_by_rates_that_follow_answers_counts_without_the_prior() -> None:
    even = LIP(["yes", "no"], prior=[1 / (1 + math.e), math.e / (1 + math.e)], epsilon=1.0)
    with pytest.raises(GuaranteeError, match=r"the true epsilon is 4\.2, not 2"):
        Sampled(even, rate={"yes": 0.1, "no": 0.9})
