"""True levels of any channel, repeated reports, leakage, and what composes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from sottovoce import LIP, OUE
from sottovoce.accounting.information import (
    ldp_level,
    leakage,
    lip_level,
    lip_level_box,
    lip_level_repeated,
    lip_repeated_bound,
    log_up,
    unary_level,
)
from sottovoce.errors import GuaranteeError, ParameterError
from sottovoce.promise import LDP
from sottovoce.promise import LIP as LIP_NOTION

from . import binary

E = math.e


def by_hand(channel: np.ndarray, prior: np.ndarray) -> float:
    """Definition 3, cell by cell."""
    seen = prior @ channel
    return max(
        abs(math.log(channel[x, y] / seen[y])) for x, y in product(*map(range, channel.shape))
    )


def test_levels_by_hand() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        q = rng.dirichlet(np.ones(4), 3)
        p = rng.dirichlet(np.full(3, 0.3))
        assert lip_level(q, p) == pytest.approx(by_hand(q, p), abs=1e-12)
        assert lip_level(q, p) <= ldp_level(q) + 1e-12
        assert ldp_level(q) <= 2 * lip_level(q, p) + 1e-12
        assert leakage(q, p) <= lip_level(q, p) * math.tanh(lip_level(q, p) / 2) + 1e-12


def test_an_impossible_answer_counts_too() -> None:
    # Otherwise the half of the promise that needs no prior would fail for those who give it.
    q = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert lip_level(q, [1.0, 0.0]) == pytest.approx(math.log(9))
    assert ldp_level(q) == pytest.approx(math.log(9))


def test_reports_that_rule_an_answer_out_have_no_level() -> None:
    q = [[1.0, 0.0], [0.5, 0.5]]
    for level in (
        lip_level(q, [0.5, 0.5]),
        lip_level_box(q, [0, 0], [1, 1]),
        ldp_level(q),
        lip_level_repeated(q, [0.5, 0.5], 3),
    ):
        assert level == math.inf
    unused = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]
    assert lip_level(unused, [0.5, 0.5]) == ldp_level(unused) == 0.0
    assert lip_level_repeated(unused, [0.5, 0.5], 2) == pytest.approx(0.0, abs=1e-15)


#: Channel made for P1 at ε = 1, level where the prior is really f.
WRONG = {
    0.1: {0.01: 1.189, 0.05: 1.100, 0.2: 0.927, 0.5: 0.779, 0.9: 1.139},
    0.3: {0.01: 1.851, 0.5: 1.352},
}


@pytest.mark.parametrize("p", WRONG)
def test_levels_under_a_wrong_prior(p: float) -> None:
    mechanism = LIP(prior=p, epsilon=1.0)
    for f, level in WRONG[p].items():
        assert lip_level(mechanism.matrix, [f, 1 - f]) == pytest.approx(level, abs=6e-4)
    for f in np.linspace(0, 1, 101):
        assert lip_level(mechanism.matrix, [f, 1 - f]) <= mechanism.ldp_epsilon + 1e-12


# --- several reports of one answer ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "levels"),
    [(1 / (E + 1), {1: 1.0, 2: 2.735, 3: 4.69, 5: 8.69}),
     (0.5, {1: 1.0, 2: 2.336, 3: 3.79, 5: 6.76})],
)  # fmt: skip
def test_two_reports_may_cost_2_74(p: float, levels: dict[int, float]) -> None:
    mechanism = LIP(prior=p, epsilon=1.0)
    for k, level in levels.items():
        exact = lip_level_repeated(mechanism.matrix, mechanism.centre, k)
        assert exact == pytest.approx(level, abs=6e-3 if k > 2 else 6e-4)
        safe = lip_repeated_bound(1.0, mechanism.ldp_epsilon, k)
        assert exact <= safe + 1e-12
        if k > 1:
            assert exact > k  # kε would be a lie
        under, free = mechanism.guarantee.times(k).promises
        assert under.epsilon == pytest.approx(safe)
        assert free.epsilon == pytest.approx(k * mechanism.ldp_epsilon)


def test_repeated_reports_by_hand() -> None:
    rng = np.random.default_rng(2)
    for k in (1, 2, 3):
        q, p = rng.dirichlet(np.ones(3), 2), np.array([0.2, 0.8])
        rows = [
            [math.prod(q[x, y] for y in ys) for ys in product(range(3), repeat=k)] for x in (0, 1)
        ]
        assert lip_level_repeated(q, p, k) == pytest.approx(by_hand(np.array(rows), p), abs=1e-12)


def test_the_safe_bound_is_safe_in_many_cases() -> None:
    for p, e in zip(*(side.tolist()[:300] for side in binary.cases(300, seed=9)), strict=True):
        mechanism = LIP(2, prior=p, epsilon=e)
        for k in (2, 3, 7):
            exact = lip_level_repeated(mechanism.matrix, mechanism.centre, k)
            assert exact <= lip_repeated_bound(e, mechanism.ldp_epsilon, k) + 1e-9
            under = mechanism.guarantee.times(k).promises[0]
            assert exact <= under.epsilon + 1e-9


def test_too_many_patterns_are_refused() -> None:
    q = LIP(prior=[0.1] * 10, epsilon=1.0).matrix
    with pytest.raises(ParameterError, match="lip_repeated_bound"):
        lip_level_repeated(q, [0.1] * 10, 20)
    with pytest.raises(ParameterError, match="lip_repeated_bound"):
        lip_level_repeated([[0.6, 0.4], [0.4, 0.6]], [0.5, 0.5], 100_000)
    for wrong in (0, -1, True, 2.0, "2"):
        with pytest.raises(ParameterError, match="times"):
            lip_level_repeated([[0.6, 0.4], [0.4, 0.6]], [0.5, 0.5], wrong)


# --- what composes -------------------------------------------------------------------------------


def test_levels_under_a_prior_are_not_added_up() -> None:
    one, other = LIP(prior=0.1, epsilon=1.0).guarantee, LIP(prior=0.3, epsilon=1.0).guarantee
    total = one + other
    assert [promise.notion for promise in total.promises] == [LDP]
    free = [guarantee.promises[1].epsilon for guarantee in (one, other)]
    assert total.epsilon == pytest.approx(sum(free))
    with_other_mechanism = one + OUE(2, epsilon=0.5).guarantee
    assert with_other_mechanism.epsilon == pytest.approx(free[0] + 0.5)


def test_a_promise_under_a_prior_alone_cannot_be_added() -> None:
    from sottovoce import Guarantee

    alone = Guarantee(LIP(prior=0.1, epsilon=1.0).guarantee.promises[:1])
    with pytest.raises(GuaranteeError, match="do not add up"):
        alone + alone
    assert alone.times(3).epsilon == 5.0


# --- one bit per value ---------------------------------------------------------------------------


def test_one_bit_per_value_costs_the_two_largest() -> None:
    # The exact channel of bits for three values, each flipped as its own LIP at 1 says.
    priors = [0.2, 0.3, 0.5]
    bits = [LIP(2, prior=p, epsilon=1.0).matrix for p in priors]
    rows = []
    for x in range(3):
        laws = [bits[v][0 if v == x else 1] for v in range(3)]
        rows.append([math.prod(law[y] for law, y in zip(laws, ys, strict=True))
                     for ys in product((0, 1), repeat=3)])  # fmt: skip
    exact = ldp_level(np.array(rows))
    bound = unary_level([ldp_level(bit) for bit in bits])
    assert exact <= bound + 1e-12
    assert bound == pytest.approx(sum(sorted(ldp_level(bit) for bit in bits)[1:]))
    assert lip_level(np.array(rows), priors) > 1.0  # no bit's own level bounds it
    for wrong in ([1.0], [[1.0, 2.0]], [1.0, -1.0], [1.0, math.nan]):
        with pytest.raises(ParameterError, match="levels"):
            unary_level(wrong)


def test_the_unary_variant_is_refused_with_the_reason() -> None:
    with pytest.raises(ParameterError, match=r"one bit per value is not offered.*unary_level"):
        LIP(3, epsilon=1.0, variant="unary")


# --- what is no channel, and rounding ------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [[[0.5, 0.6], [0.5, 0.5]], [[1.5, -0.5], [0.5, 0.5]], [0.5, 0.5], [], [[math.nan, 1], [0, 1]]],
    ids=str,
)
def test_what_is_no_channel_is_refused(wrong: list) -> None:
    with pytest.raises(ParameterError, match="channel"):
        ldp_level(wrong)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([0.6, 0.6], [1, 1]),
        ([0, 0], [0.4, 0.4]),
        ([0.5, 0.2], [0.4, 1]),
        ([0], [1]),
        ([0, 0], [1, 2]),
    ],
    ids=str,
)
def test_what_are_no_bounds_is_refused(low: list, high: list) -> None:
    with pytest.raises(ParameterError, match="bounds"):
        lip_level_box([[0.6, 0.4], [0.4, 0.6]], low, high)


def test_logarithms_are_never_rounded_down() -> None:
    from decimal import Context, Decimal
    from fractions import Fraction

    rng = np.random.default_rng(4)
    for _ in range(300):
        ratio = 1 + Fraction(int(rng.integers(1, 10**9)), int(rng.integers(1, 10**12)))
        up = log_up(ratio)
        true = Context(prec=80).ln(
            Context(prec=80).divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
        )
        assert Decimal(math.nextafter(up, 0)) < true <= Decimal(up)
    assert log_up(Fraction(1)) == 0.0


def test_both_promises_are_always_there() -> None:
    for p in (0.0, 0.01, 0.5):
        notions = [promise.notion for promise in LIP(prior=p, epsilon=1.0).guarantee.promises]
        assert notions == [LIP_NOTION, LDP]
