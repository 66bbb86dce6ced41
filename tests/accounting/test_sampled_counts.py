"""Counts of a secret sample: 60-digit arithmetic, enumeration, figures of the maths page."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from sottovoce.accounting import (
    largest_rate,
    published_count,
    published_sampled_counts,
    sampled_counts,
    sampled_counts_delta,
    sampled_counts_epsilon,
    smallest_count,
    smallest_dummies,
)
from sottovoce.accounting.pairs import SMALLEST
from sottovoce.errors import GuaranteeError, ParameterError

from . import reference
from .exact import binomial, hockey_stick

BOTH = ("add-remove", "substitute")


def exact(epsilon: float, count: int, rate: float, neighbours: str) -> float:
    if neighbours == "substitute":
        return reference.substitute(epsilon, count, rate)
    return max(reference.remove(epsilon, count, rate), reference.add(epsilon, count, rate))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 40, 150])
@pytest.mark.parametrize("rate", [1e-4, 0.1, 0.3934, 0.632, 0.95])
def test_delta_is_that_of_60_digits(neighbours, count, rate):
    for epsilon in (0.0, 0.1, 1.0, 4.0):
        true = exact(epsilon, count, rate, neighbours)
        delta = sampled_counts_delta(epsilon, count, rate, neighbours=neighbours)
        assert true <= delta <= max(true * (1 + 3e-6), SMALLEST)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("count", [2, 7])
@pytest.mark.parametrize("rate", [1e-300, 1e-12, 1e-6, 0.4])
def test_delta_is_not_too_small_where_a_ratio_is_almost_e_to_the_epsilon(neighbours, count, rate):
    """There the weight of an outcome is nothing but round-off."""
    for k in range(count):
        epsilon = abs(math.log(count / (count - k)) + math.log1p(-rate))
        for close in (epsilon, epsilon * (1 - 1e-15), epsilon * (1 - 1e-10)):
            delta = sampled_counts_delta(close, count, rate, neighbours=neighbours)
            assert delta >= exact(close, count, rate, neighbours)


def test_delta_is_exact_for_many_holders():
    for neighbours, epsilon in product(BOTH, (0.03, 0.3)):
        true = exact(epsilon, 600, 0.4, neighbours)
        delta = sampled_counts_delta(epsilon, 600, 0.4, neighbours=neighbours)
        assert true <= delta <= true * (1 + 3e-6)


def enumerated(epsilon: float, a: int, b: int, p: float) -> float:
    """δ of both counts by listing every coin of every holder."""
    laws = []
    for first, second in ((a, b - 1), (a - 1, b)):
        law: dict[tuple[int, int], float] = {}
        for coins in product((0, 1), repeat=first + second):
            key = (sum(coins[:first]), sum(coins[first:]))
            heads = sum(coins)
            law[key] = law.get(key, 0.0) + p**heads * (1 - p) ** (len(coins) - heads)
        laws.append(law)
    return reference.hockey_stick(*laws, epsilon)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_substitution_is_the_enumeration_of_all_coins(count, rate):
    for epsilon in (0.0, 0.4, 1.5):
        true = enumerated(epsilon, count, count, rate)
        assert sampled_counts_delta(epsilon, count, rate) == pytest.approx(true, rel=3e-6)
        # More holders of either item hide better, so equal least counts are the worst case.
        assert enumerated(epsilon, count + 1, count, rate) <= true * (1 + 1e-12)
        assert enumerated(epsilon, count, count + 1, rate) <= true * (1 + 1e-12)


#: ε, claimed δ, βn, true δ add-remove at c and c+1, substitute at c and c+1, smallest counts
TABLE = [
    (0.1, 1e-7, 5.89, (0.0225, 0.0219), (0.0401, 0.0343), (246, 372)),
    (0.1, 1e-3, 3.25, (0.0432, 0.0291), (0.0555, 0.0471), (44, 66)),
    (0.5, 1e-7, 2.12, (0.0874, 0.0713), (0.131, 0.0930), (88, 118)),
    (0.5, 1e-3, 1.17, (0.155, 0.0874), (0.206, 0.131), (24, 32)),
    (1.0, 1e-7, 2.18, (0.253, 0.160), (0.258, 0.175), (81, 98)),
    (1.0, 1e-3, 1.20, (0.400, 0.253), (0.400, 0.258), (26, 30)),
]


@pytest.mark.parametrize(("epsilon", "delta", "beta_n", "zero", "sub", "least"), TABLE)
def test_the_table_of_true_deltas(epsilon, delta, beta_n, zero, sub, least):
    rate = -math.expm1(-epsilon)
    needed = published_count(epsilon, delta, 30, bound="yang-3.1")
    assert round(needed, 2) == beta_n
    c = math.ceil(needed)
    for neighbours, expected, smallest in zip(BOTH, (zero, sub), least, strict=True):
        for count, digits in zip((c, c + 1), expected, strict=True):
            delta_here = sampled_counts_delta(epsilon, count, rate, neighbours=neighbours)
            assert float(f"{delta_here:.3g}") == digits
        assert smallest_count(epsilon, delta, rate, neighbours=neighbours) == smallest


def test_epsilon_at_the_published_counts():
    rate = -math.expm1(-0.1)
    assert f"{sampled_counts_epsilon(1e-7, 7, rate, neighbours='add-remove'):.3g}" == "1.84"
    assert sampled_counts_epsilon(1e-7, 6, rate, neighbours="add-remove") == math.inf
    assert f"{sampled_counts_epsilon(1e-3, 5, rate, neighbours='add-remove'):.3g}" == "0.698"


@pytest.mark.parametrize(
    ("epsilon", "z", "count", "true", "needed"),
    [
        (0.1, 0.0, 256, ("5.9e-08", "2.2e-06"), (246, 372)),
        (0.1, 1.0, 697, ("8.6e-04", "3.5e-03"), (3718, 6867)),
        (1.0, 0.0, 9.7, ("2.0e-02", "2.7e-02"), (81, 98)),
    ],
)
def test_the_second_published_bound(epsilon, z, count, true, needed):
    published = published_count(epsilon, 1e-7, 30, bound="yang-3.2", z=z)
    assert float(f"{published:.{len(str(count).replace('.', ''))}g}") == count
    for neighbours, delta, least in zip(BOTH, true, needed, strict=True):
        claim = published_sampled_counts(
            epsilon, math.ceil(published) + 1, 30, bound="yang-3.2", z=z, neighbours=neighbours
        )
        assert claim.claimed_delta <= 1e-7
        assert f"{claim.true_delta:.1e}" == delta
        assert claim.holds == (delta == "5.9e-08")
        assert smallest_count(epsilon, 1e-7, claim.rate, neighbours=neighbours) == least


def test_the_published_experiment():
    claims = [
        published_sampled_counts(epsilon, 20, 30, bound="yang-3.1", neighbours=neighbours)
        for epsilon in (1.0, 0.1)
        for neighbours in BOTH
    ]
    assert [f"{c.claimed_delta:.1e}" for c in claims] == ["1.2e-22"] * 2 + ["5.9e-16"] * 2
    assert [f"{c.true_delta:.1e}" for c in claims] == ["2.6e-03", "4.9e-03", "5.5e-03", "9.8e-03"]


def test_insiders_are_holders_who_hide_nobody():
    rate = -math.expm1(-0.5)
    deltas = [
        sampled_counts_delta(0.5, 100, rate, neighbours="add-remove", insiders=known)
        for known in (0, 20, 50, 90, 99)
    ]
    assert [f"{delta:.1e}" for delta in deltas] == ["2.0e-08", "2.9e-07", "1.8e-05", "1.3e-02",
                                                    "3.9e-01"]  # fmt: skip
    assert smallest_count(0.5, 1e-5, rate, insiders=7) == smallest_count(0.5, 1e-5, rate) + 7


def test_a_lone_holder_is_seen_with_the_sampling_rate():
    for epsilon in (0.1, 0.5, 1.0):
        rate = -math.expm1(-epsilon)
        delta = sampled_counts_delta(epsilon, 1, rate, neighbours="add-remove")
        assert delta == pytest.approx(rate, rel=2e-6)


def test_best_rates_of_the_maths_page():
    for epsilon, delta, count, zero, sub in [
        (0.5, 1e-5, 33, 0.262, 0.212),
        (0.5, 1e-5, 100, 0.569, 0.479),
        (0.5, 1e-5, 300, 0.809, 0.740),
        (1.0, 1e-5, 33, 0.510, 0.460),
        (1.0, 1e-5, 100, 0.780, 0.741),
        (0.1, 1e-7, 300, 0.119, 0.077),
    ]:
        for neighbours, digits in zip(BOTH, (zero, sub), strict=True):
            rate = largest_rate(epsilon, delta, count, neighbours=neighbours)
            assert round(rate, 3) == digits
            assert sampled_counts_delta(epsilon, count, rate, neighbours=neighbours) <= delta
            above = sampled_counts_delta(epsilon, count, rate * 1.001, neighbours=neighbours)
            assert above > delta


def test_delta_falls_with_the_count_and_grows_with_the_rate():
    for neighbours in BOTH:
        by_count = [
            sampled_counts_delta(0.4, count, 0.37, neighbours=neighbours)
            for count in (1, 2, 3, 5, 8, 20, 100, 1000, 5000)
        ]
        by_rate = [
            sampled_counts_delta(0.4, 60, rate, neighbours=neighbours)
            for rate in np.linspace(0.01, 1.0, 40)
        ]
        assert by_count == sorted(by_count, reverse=True)
        assert by_rate == sorted(by_rate)
        assert by_rate[-1] == 1.0


def test_a_substitution_needs_more_than_a_record_more_or_less():
    for count, rate, epsilon in product((1, 4, 50), (0.1, 0.6), (0.1, 1.0)):
        zero, sub = (
            sampled_counts_delta(epsilon, count, rate, neighbours=neighbours) for neighbours in BOTH
        )
        assert sub >= zero * (1 - 3e-6)


def test_an_underflow_is_never_0():
    assert sampled_counts_delta(0.5, 1_000_000, 0.4) >= SMALLEST
    assert sampled_counts_delta(5.0, 500, 0.01) >= SMALLEST  # 0.01^500 holders at the least
    assert sampled_counts_delta(800.0, 400, 0.1) >= SMALLEST


def test_rounds_are_an_upper_bound_close_to_the_enumeration():
    for count, rate, epsilon in ((4, 0.3, 0.6), (12, 0.2, 0.3)):
        more, fewer = reference.masses(count, rate), [*reference.masses(count - 1, rate), 0]
        true = max(
            float(
                sum(
                    max(0, a1 * a2 * a3 - math.exp(epsilon) * b1 * b2 * b3)
                    for (a1, b1), (a2, b2), (a3, b3) in product(
                        list(zip(first, second, strict=True)), repeat=3
                    )
                )
            )
            for first, second in ((more, fewer), (fewer, more))
        )
        bound = sampled_counts_delta(epsilon, count, rate, neighbours="add-remove", rounds=3)
        assert true <= bound <= true * 1.001


def test_rounds_of_the_maths_page():
    expected = {
        "add-remove": (1.2e-10, 6.2e-8, 4.1e-5, 9.5e-4),
        "substitute": (6.4e-9, 3.9e-6, 7.3e-4, 6.9e-3),
    }
    for neighbours, bounds in expected.items():
        for rounds, bound in zip((1, 2, 5, 10), bounds, strict=True):
            delta_here = sampled_counts_delta(0.5, 100, 0.3, neighbours=neighbours, rounds=rounds)
            # The page's are upper bounds as well; ours are up to 2% below them.
            assert 0.97 * bound <= delta_here <= 1.03 * bound


def test_dummies_are_holders():
    dummies = smallest_dummies(0.5, 1e-5, 0.571, neighbours="add-remove")
    assert dummies == smallest_count(0.5, 1e-5, 0.571, neighbours="add-remove") - 1
    deltas = [
        sampled_counts_delta(0.5, 101, 0.571, neighbours="add-remove", insiders=known)
        for known in (20, 50, 100)
    ]
    assert [f"{delta:.1e}" for delta in deltas] == ["4.4e-05", "5.3e-04", "5.7e-01"]


def test_the_promise_says_what_it_rests_on():
    promise = sampled_counts(100, 0.39, 1e-6, insiders=10)
    assert sampled_counts_delta(promise.epsilon, 90, 0.39) <= 1e-6
    assert "at least 89 holders other than the person" in promise.assuming[0]
    with pytest.raises(GuaranteeError, match="all of them are sampled"):
        sampled_counts(5, 0.39, 1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0},
        {"rate": 0.0},
        {"rate": 1.1},
        {"epsilon": -1.0},
        {"insiders": 100},
        {"neighbours": "both"},
        {"rounds": 0},
    ],
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        sampled_counts_delta(**{"epsilon": 1.0, "count": 100, "rate": 0.3, **wrong})


def test_published_bounds_are_never_a_default():
    with pytest.raises(TypeError):
        published_sampled_counts(1.0, 21, 30)
    with pytest.raises(ParameterError, match="yang"):
        published_sampled_counts(1.0, 21, 30, bound="exact")
    with pytest.raises(ParameterError, match="z is"):
        published_count(1.0, 1e-5, 30, bound="yang-3.1", z=1.0)


def test_the_smallest_deltas_have_a_rate():
    """Half way between two rates whose product underflows."""
    rate = largest_rate(1.0, 1e-300, 10, rounds=100)
    assert 0 < rate <= 1
    assert sampled_counts_delta(1.0, 10, rate, rounds=100) <= 1e-300


def test_published_claims_are_about_counts_that_can_be_compared():
    with pytest.raises(ParameterError, match="from 1 to 1,000,000,000,000"):
        published_sampled_counts(1.0, 10**15, 30, bound="yang-3.1")


def test_a_published_bound_with_practically_everyone_in_the_sample_is_refused() -> None:
    for published in (
        lambda: published_count(0.1, 1e-7, 30, bound="yang-3.2", z=700.0),
        lambda: published_sampled_counts(0.1, 50, 30, bound="yang-3.2", z=20.1),
    ):
        with pytest.raises(ParameterError, match="at most 20"):
            published()


@pytest.mark.parametrize("delta", [1e-320, 1e-308])
def test_a_search_for_a_rate_ends_at_the_smallest_numbers(delta: float) -> None:
    assert 1e-6 < largest_rate(1.0, delta, 100) < 1e-4
    assert 0 < largest_rate(1.0, delta, 1) <= 1.01 * delta


@pytest.mark.parametrize("count", [5, 30, 100])
def test_the_promise_says_that_everyone_counts_for_one_answer_only(count):
    """One coin for two answers moves both counts at once: 126 times the delta for 100 holders."""
    rate, delta = 0.39, 0.05 if count == 5 else 1e-6
    promise = sampled_counts(count, rate, delta, neighbours="add-remove")
    others = binomial(count - 1, rate)
    without = {(i, j): p * q for i, p in enumerate(others) for j, q in enumerate(others)}
    present: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for (i, j), probability in without.items():
        present[i, j] += probability * (1 - rate)
        present[i + 1, j + 1] += probability * rate
    seen = hockey_stick(present, without, promise.epsilon)
    assert seen > 2 * delta
    assert count != 100 or seen == pytest.approx(1.2626e-4, rel=1e-3)
    assert any(words.startswith("everyone counts for one answer") for words in promise.assuming)
