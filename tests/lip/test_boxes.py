"""A prior known only within bounds: the promise holds over all of them, and wastes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import GRR, LIP
from sottovoce.accounting.information import lip_level, lip_level_box

N = 3000


def boxes(n: int, seed: int, most: int = 8) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Random bounds around a random prior, some of them at 0 and 1, and an epsilon."""
    rng = np.random.default_rng(seed)
    collected = []
    for _ in range(n):
        d = int(rng.integers(2, most + 1))
        p = rng.dirichlet(np.full(d, rng.choice([0.2, 1.0, 5.0])))
        width = rng.choice([0.01, 0.1, 0.5])
        low = np.clip(p - width * rng.random(d), 0, 1)
        high = np.clip(p + width * rng.random(d), 0, 1)
        low[rng.random(d) < 0.1] = 0
        high[rng.random(d) < 0.1] = 1
        collected.append((low, high, float(np.exp(rng.uniform(np.log(0.05), np.log(8))))))
    return collected


BOXES = boxes(N, seed=3)


def inside(low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random prior within the bounds, often at a corner."""
    p, order = low.copy(), rng.permutation(low.size)
    free = 1 - p.sum()
    for x in order:
        share = min(free, high[x] - low[x]) * (1 if rng.random() < 0.7 else rng.random())
        p[x] += share
        free -= share
    for x in order:
        share = min(free, high[x] - p[x])
        p[x] += share
        free -= share
    return p / p.sum()


def test_3000_boxes_hold_exactly() -> None:
    for low, high, epsilon in BOXES:
        mechanism = LIP(prior_low=low, prior_high=high, epsilon=epsilon)
        level = lip_level_box(mechanism.matrix, low, high)
        assert epsilon - 1e-9 <= level <= epsilon + 1e-12


def test_every_prior_within_holds() -> None:
    rng = np.random.default_rng(4)
    for low, high, epsilon in BOXES[:500]:
        matrix = LIP(prior_low=low, prior_high=high, epsilon=epsilon).matrix
        for _ in range(10):
            assert lip_level(matrix, inside(low, high, rng)) <= epsilon + 1e-12


def test_a_channel_made_for_the_middle_alone_is_noticed() -> None:
    # The planted fault: trusting one prior where only bounds are known.
    broken = 0
    for low, high, epsilon in BOXES[:500]:
        known = LIP(prior_low=low, prior_high=high, epsilon=epsilon)
        trusting = LIP(prior=list(known.known.middle), epsilon=epsilon)
        broken += lip_level_box(trusting.matrix, low, high) > epsilon + 1e-9
    assert broken > 450


def test_the_level_over_a_box_is_that_of_its_worst_corner() -> None:
    rng = np.random.default_rng(5)
    for low, high, epsilon in BOXES[:60]:
        matrix = LIP(prior=list(inside(low, high, rng)), epsilon=epsilon).matrix
        worst = max(lip_level(matrix, inside(low, high, rng)) for _ in range(60))
        assert worst <= lip_level_box(matrix, low, high) + 1e-12
        if low.size == 2:
            ends = [[low[0], 1 - low[0]], [high[0], 1 - high[0]], [1 - low[1], low[1]],
                    [1 - high[1], high[1]]]  # fmt: skip
            at = [p for p in ends if (low - 1e-12 <= p).all() and (p <= high + 1e-12).all()]
            exact = max(lip_level(matrix, np.clip(p, 0, 1)) for p in at)
            assert exact == pytest.approx(lip_level_box(matrix, low, high), abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_knowing_nothing_is_randomised_response(d: int) -> None:
    for known in ({}, {"prior_low": [0] * d, "prior_high": [1] * d}):
        mechanism = LIP(d, epsilon=1.3, **known)
        assert mechanism.matrix == pytest.approx(GRR(d, epsilon=1.3).channel().matrix, abs=1e-15)
        assert mechanism.guarantee == GRR(d, epsilon=1.3).guarantee
        assert mechanism.parameters == {"epsilon": 1.3, "variant": "optimal"}


def test_between_a_prior_and_nothing_the_error_rises() -> None:
    p = np.array([0.5, 0.3, 0.2])
    errors = []
    for width in (0.0, 0.05, 0.1, 0.2, 0.4, 1.0):
        low, high = np.clip(p - width, 0, 1), np.clip(p + width, 0, 1)
        errors.append(LIP(prior_low=low, prior_high=high, epsilon=1.0).total_variance())
    assert errors == sorted(errors)
    assert errors[0] == pytest.approx(LIP(prior=p, epsilon=1.0).total_variance())
    assert errors[-1] == pytest.approx(GRR(3, epsilon=1.0).total_variance())


def test_bounds_that_are_one_distribution_but_for_rounding() -> None:
    # 0.1 + 0.2 + 0.7 is not 1 in floats; the box must still contain what it names.
    for p in ([0.1, 0.2, 0.7], [1 / 3] * 3, [0.3, 0.7], [0.7, 0.1, 0.1, 0.1]):
        mechanism = LIP(prior_low=p, prior_high=p, epsilon=1.0)
        same = LIP(prior=p, epsilon=1.0)
        assert mechanism.matrix == pytest.approx(same.matrix, abs=1e-12)
        low, high = mechanism.known.bounds
        assert all(a <= b for a, b in zip(low, high, strict=True))
        assert sum(low) <= 1 <= sum(high)


def test_corners_that_no_distribution_reaches_cost_nothing() -> None:
    loose = LIP(prior_low=[0.4, 0.3, 0.2], prior_high=[1.0, 1.0, 1.0], epsilon=1.0)
    tight = LIP(prior_low=[0.4, 0.3, 0.2], prior_high=[0.5, 0.4, 0.3], epsilon=1.0)
    assert loose.matrix == pytest.approx(tight.matrix, abs=1e-12)


def test_one_number_each_bounds_the_probability_of_yes() -> None:
    mechanism = LIP(prior_low=0.05, prior_high=0.2, epsilon=1.0)
    assert mechanism.domain.labels == ("yes", "no")
    assert mechanism.prior_low == pytest.approx((0.05, 0.8))
    assert mechanism.prior_high == pytest.approx((0.2, 0.95))
    level = lip_level_box(mechanism.matrix, mechanism.prior_low, mechanism.prior_high)
    assert level == pytest.approx(1.0, abs=1e-9)
