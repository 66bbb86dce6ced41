"""Yes/no answers: the optimum, its level, and what was published about it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sottovoce import LIP
from sottovoce.accounting.information import ldp_level, leakage, lip_level
from sottovoce.errors import ParameterError
from sottovoce.mechanisms.prior_channels import exact_lip
from sottovoce.published.information_privacy import flips, yes_error
from tests.laws.laws import power

from . import binary

P1, EPSILON = binary.cases(3000, seed=6)
E = math.e


def levels(mechanism: LIP) -> list[float]:
    return [round(promise.epsilon, 3) for promise in mechanism.guarantee.promises]


# --- the optimum ---------------------------------------------------------------------------------


def ours() -> np.ndarray:
    return np.array([float(yes_error(p, e)) for p, e in zip(P1, EPSILON, strict=True)])


def test_the_optimum_is_the_best_corner_in_3000_cases() -> None:
    gap = ours() - binary.best_corner(P1, EPSILON)
    assert np.abs(gap).max() <= 1e-12


def test_a_worse_channel_is_noticed() -> None:
    # Randomised response is allowed and worse, if only a little where the prior is skewed.
    response = np.array(
        [float(yes_error(p, e, "opt-ldp")) for p, e in zip(P1, EPSILON, strict=True)]
    )
    gap = response - binary.best_corner(P1, EPSILON)
    assert gap.min() > -1e-12
    assert (gap > 1e-12).mean() > 0.95


def test_the_level_is_never_above_epsilon_and_wastes_nothing_in_3000_cases() -> None:
    for p, e in zip(P1.tolist(), EPSILON.tolist(), strict=True):
        mechanism = LIP(2, prior=p, epsilon=e)
        assert exact_lip(mechanism.integers, mechanism.known.exact) <= power(e)
        level = lip_level(mechanism.matrix, mechanism.centre)
        assert e - 1e-9 <= level <= e + 1e-12
        assert ldp_level(mechanism.matrix) <= 2 * e + 1e-12
        assert leakage(mechanism.matrix, mechanism.centre) <= e * math.tanh(e / 2) + 1e-12


def test_theorem_2_is_over_its_level_just_where_the_prior_is_skewed() -> None:
    # The planted fault of the test above: what was published, in the same 3,000 cases.
    for p, e in zip(P1.tolist(), EPSILON.tolist(), strict=True):
        mechanism = LIP(2, prior=p, epsilon=e, variant="jiang-theorem2")
        inside = 1 / (math.exp(e) + 1) <= min(p, 1 - p)
        assert (mechanism.lip_epsilon <= e + 1e-9) == inside
        true = max(
            e,
            math.log((1 - (1 - p) / math.exp(e)) / p),
            math.log((1 - p / math.exp(e)) / (1 - p)),
        )
        assert mechanism.lip_epsilon == pytest.approx(true, rel=1e-9)


def test_the_channel_that_is_drawn_has_the_closed_form() -> None:
    for p, e in zip(P1.tolist()[:300], EPSILON.tolist()[:300], strict=True):
        q0, q1 = flips(p, e, "optimal")
        expected = [[1 - q1, q1], [q0, 1 - q0]]  # the first value is yes
        assert LIP(2, prior=p, epsilon=e).matrix == pytest.approx(np.array(expected), abs=1e-15)


def test_the_three_cases_of_the_closed_form() -> None:
    for p in (0.01, 0.1, 0.25):
        q0, q1 = flips(p, 1.0, "optimal")
        assert q1 == pytest.approx(1 / (E + 1))
        assert q0 == pytest.approx((1 - E * p) / ((1 - p) * (E + 1)))
        mse = p * (1 - p) - p**2 * (E - 1) ** 2 / E
        assert float(yes_error(p, 1.0)) == pytest.approx(mse)
        mirrored = [float(q) for q in flips(1 - p, 1.0, "optimal")]
        assert mirrored == pytest.approx([float(q1), float(q0)])
    for p in (1 / (E + 1), 0.4, 0.5):
        assert [float(q) for q in flips(p, 1.0, "optimal")] == pytest.approx([p / E, (1 - p) / E])
        mse = p * (1 - p) * (2 / E - 1 / E**2)
        assert float(yes_error(p, 1.0)) == pytest.approx(mse)


# --- known numbers -------------------------------------------------------------------------------

#: (P1, ε): Theorem 2, true LIP, LDP, true ε/2-LIP, gain of LIP over LDP
TABLE = {
    (0.01, 1): (0.005944, 0.009791, 0.009795, 0.009874, 0.0003),
    (0.01, 4): (0.000359, 0.004638, 0.006509, 0.009348, 0.29),
    (0.01, 8): (0.000007, 0.000007, 0.000325, 0.004638, 0.98),
    (0.1, 1): (0.05404, 0.07914, 0.08199, 0.08745, 0.035),
    (0.1, 2): (0.02271, 0.03476, 0.06011, 0.07914, 0.42),
    (0.5, 1): (0.1501, 0.1501, 0.1966, 0.2113, 0.24),
}


@pytest.mark.parametrize(("p", "epsilon"), TABLE)
def test_errors_of_the_table(p: float, epsilon: float) -> None:
    published, lip, ldp, half, gain = TABLE[p, epsilon]
    close = 0.5 * 10 ** -(6 if p == 0.01 else 4) * 1.01
    assert float(yes_error(p, epsilon, "jiang-theorem2")) == pytest.approx(published, abs=close)
    assert float(yes_error(p, epsilon)) == pytest.approx(lip, abs=close)
    assert float(yes_error(p, epsilon, "opt-ldp")) == pytest.approx(ldp, abs=close)
    assert float(yes_error(p, epsilon / 2)) == pytest.approx(half, abs=close)
    realised = 1 - float(yes_error(p, epsilon)) / float(yes_error(p, epsilon, "opt-ldp"))
    assert realised == pytest.approx(gain, abs=0.006)
    for variant, expected in (("optimal", lip), ("opt-ldp", ldp)):
        # The mechanism's own error is the total over both values, twice that of their number.
        mechanism = LIP(prior=p, epsilon=epsilon, variant=variant)
        assert mechanism.mmse_error() / 2 == pytest.approx(expected, abs=close)


@pytest.mark.parametrize(
    ("p", "level"), [(0.01, 1.018), (0.1, 1.212), (0.5, 1.490), (0.3, 1.906), (1 / (E + 1), 2.0)]
)
def test_levels_without_a_prior(p: float, level: float) -> None:
    mechanism = LIP(prior=p, epsilon=1.0)
    assert levels(mechanism) == [1.0, level]
    assert ldp_level(mechanism.matrix) == pytest.approx(mechanism.ldp_epsilon, abs=1e-12)
    assert LIP(prior=0.5, epsilon=1.0).ldp_epsilon == pytest.approx(math.log(2 * E - 1))


def test_randomised_response_at_the_prior_free_level_is_never_worse() -> None:
    # LIP helps only those who accept a promise that depends on the prior.
    assert float(yes_error(0.3, 1.906219, "opt-ldp")) == pytest.approx(0.1038, abs=5e-5)
    assert float(yes_error(0.3, 1.0)) == pytest.approx(0.1261, abs=5e-5)
    for p, e in zip(P1.tolist()[:500], EPSILON.tolist()[:500], strict=True):
        level = LIP(prior=p, epsilon=e).ldp_epsilon
        assert yes_error(p, level, "opt-ldp") <= yes_error(p, e) * (1 + 1e-9)


def test_the_gain_is_largest_where_the_rarer_answer_has_one_in_e_plus_one() -> None:
    p = np.linspace(0.001, 0.5, 5000)
    gain = 1 - yes_error(p, 1.0) / yes_error(p, 1.0, "opt-ldp")
    assert p[np.argmax(gain)] == pytest.approx(1 / (E + 1), abs=1e-3)
    assert gain[0] < 1e-4


def test_the_gap_does_not_grow_with_the_skew() -> None:
    def gap(p: float, variant: str) -> float:
        return float(yes_error(p, 1.0, "opt-ldp") - yes_error(p, 1.0, variant))

    assert gap(0.5, "optimal") == pytest.approx(0.0465, abs=5e-5)
    assert gap(0.01, "optimal") == pytest.approx(3.3e-6, abs=5e-8)
    assert gap(0.01, "jiang-theorem2") == pytest.approx(0.0039, abs=5e-5)


# --- what was published, and is wrong ------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "epsilon", "level"),
    [(0.01, 0.1, 2.344), (0.01, 0.5, 3.688), (0.01, 1, 4.152), (0.01, 2, 4.461),
     (0.1, 0.5, 1.513), (0.1, 1, 1.900), (0.1, 2, 2.173)],
)  # fmt: skip
def test_theorem_2_states_its_true_level(p: float, epsilon: float, level: float) -> None:
    mechanism = LIP(prior=p, epsilon=epsilon, variant="jiang-theorem2")
    assert levels(mechanism)[0] == pytest.approx(level, abs=6e-4)
    assert lip_level(mechanism.matrix, [p, 1 - p]) == pytest.approx(mechanism.lip_epsilon)
    assert mechanism.lip_epsilon > epsilon


def test_theorem_2_at_one_in_a_hundred_multiplies_belief_by_64() -> None:
    mechanism = LIP(prior=0.01, epsilon=1.0, variant="jiang-theorem2")
    q = mechanism.matrix
    seen = 0.01 * q[0, 0] + 0.99 * q[1, 0]
    assert q[0, 0] / seen == pytest.approx(63.58, abs=0.005)
    assert levels(mechanism) == [4.152, 5.152]
    assert "4.15" in str(mechanism.guarantee)


def test_theorem_2_with_an_impossible_answer_is_refused() -> None:
    for p in (0, 1):
        with pytest.raises(ParameterError, match="with certainty"):
            LIP(prior=p, epsilon=1.0, variant="jiang-theorem2")


def equation_23(p: float, epsilon: float) -> float:
    """The error of the symmetric channel as published."""
    e = math.exp(epsilon)
    top = (1 - p) * (2 * e - e * p - 2 * p + 1) ** 2
    return p * (1 - p) - p * top / (e**2 - 2 * e * p + e)


def symmetric_error(p: float, epsilon: float) -> float:
    """P_1 P_0 − a² (1 − a) (E − 1)² / (E (1 − 2a + a E)), a = min(P_1, P_0)."""
    a, e = min(p, 1 - p), math.exp(epsilon)
    return p * (1 - p) - a**2 * (1 - a) * (e - 1) ** 2 / (e * (1 - 2 * a + a * e))


def test_equation_23_is_negative() -> None:
    for epsilon in (1e-9, 0.5, 1.0, 4.0):
        assert equation_23(0.5, epsilon) == pytest.approx(-0.3125)
    assert symmetric_error(0.5, 1e-9) == pytest.approx(0.25)  # nothing said: the prior's own


def test_the_symmetric_channel_and_its_corrected_error() -> None:
    assert float(yes_error(0.1, 1.0, "symmetric")) == pytest.approx(0.08088, abs=5e-6)
    for p, e in zip(P1.tolist()[:500], EPSILON.tolist()[:500], strict=True):
        q, again = flips(p, e, "symmetric")
        a = min(p, 1 - p)
        assert q == again == pytest.approx((1 - a) / (math.exp(e) + 1 - 2 * a))
        correct = symmetric_error(p, e)
        assert float(yes_error(p, e, "symmetric")) == pytest.approx(correct, abs=1e-12)
        assert yes_error(p, e, "symmetric") >= yes_error(p, e) - 1e-15
        mechanism = LIP(2, prior=p, epsilon=e, variant="symmetric")
        assert mechanism.matrix[0, 1] == pytest.approx(float(q), abs=1e-15)
        assert e - 1e-9 <= lip_level(mechanism.matrix, mechanism.centre) <= e + 1e-12


def test_half_epsilon_never_beats_randomised_response() -> None:
    for p, e in zip(P1.tolist(), EPSILON.tolist(), strict=True):
        assert yes_error(p, e / 2) >= yes_error(p, e, "opt-ldp") * (1 - 1e-12)
    # The published formulas cross, which is how the claim came about.
    assert yes_error(0.01, 3.5, "jiang-theorem2") < yes_error(0.01, 7.0, "opt-ldp")
    assert yes_error(0.01, 4.0, "jiang-theorem2") > yes_error(0.01, 8.0, "opt-ldp")


def test_lip_is_never_worse_than_ldp_at_the_same_epsilon() -> None:
    for p, e in zip(P1.tolist(), EPSILON.tolist(), strict=True):
        assert yes_error(p, e) < yes_error(p, e, "opt-ldp")


def test_example_1_redone() -> None:
    # P1 = .1, N = 100: RR unbiased 100 E / (E − 1)², and by posterior means 8.20 and 7.91.
    response = LIP(prior=0.1, epsilon=1.0, variant="context-free-ldp")
    assert 100 * float(response.variance([0.1, 0.9], 1)[0]) == pytest.approx(92.1, abs=0.05)
    assert 100 * float(yes_error(0.1, 1.0, "opt-ldp")) == pytest.approx(8.20, abs=0.005)
    assert 100 * float(yes_error(0.1, 1.0)) == pytest.approx(7.91, abs=0.005)

    def printed(e: float) -> float:
        # (10 E − 1) / .64: flips mistaken for (p − q)², so that it grows with ε.
        return (10 * e - 1) / 0.64

    assert printed(E) == pytest.approx(40.9, abs=0.05)
    assert printed(math.exp(2)) > printed(E)
