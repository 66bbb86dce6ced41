"""Paper 003, "Context-aware Data Aggregation with Localized Information Privacy"."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from sottovoce import LIP
from sottovoce.accounting.information import ldp_level, lip_level, lip_level_repeated
from sottovoce.published.information_privacy import flips, yes_error
from tests.lip.test_accounts import by_hand
from tests.lip.test_binary import equation_23, symmetric_error

from .errata import Numbers, Paper

PAPER = Paper(
    "003",
    "Localized information privacy (LIP)",
    'Jiang, Li and Tandon, "Context-aware Data Aggregation with Localized Information Privacy". '
    "P₁ is the prior probability of yes, and errors are those of one person's answer.",
)


@PAPER.entry(
    "L1",
    claim="Theorem 2, Corollary 1, (19) and (21): q₀ = P₁/e^ε, q₁ = (1 − P₁)/e^ε is ε-LIP and "
    "optimal for every prior.",
    verdict="wrong",
    example="""Outside 1/(e^ε + 1) ≤ P₁ ≤ e^ε/(e^ε + 1) it is not ε-LIP: two of the four
    constraints are dropped in the proof. P₁ = {prior:g}, ε = {epsilon:g}: a report of yes makes
    yes {factor:.1f} times as likely, so the true level is {level:.2f}, and {ldp:.2f} without a
    prior.""",
    instead="the corrected optimum ([priors](prior.md)); `variant='jiang-theorem2'` states its "
    "true level",
)
def theorem_2() -> Numbers:
    mechanism = LIP(prior=0.01, epsilon=1.0, variant="jiang-theorem2")
    q = mechanism.matrix
    return {
        "prior": 0.01,
        "epsilon": 1.0,
        "factor": q[0, 0] / (0.01 * q[0, 0] + 0.99 * q[1, 0]),
        "level": lip_level(q, [0.01, 0.99]),
        "ldp": ldp_level(q),
    }


@PAPER.entry(
    "L2",
    claim="Section V-A, Fig. 6 and 7: for P₁ = 0.01 and ε up to 8.3, ε/2-LIP is more accurate "
    "than ε-LDP and more private.",
    verdict="wrong",
    example="""ε/2-LIP implies ε-LDP, so it cannot be better than the best of these. P₁ =
    {prior:g}, ε = {epsilon:g}: error {half:.6f} against {ldp:.6f}. Even the published formulas
    cross at ε = {cross:.2f}.""",
    instead="`LIP` always states both levels, with the prior and without",
)
def half_epsilon() -> Numbers:
    def gap(epsilon: float) -> float:
        published = yes_error(0.01, epsilon / 2, "jiang-theorem2")
        return float(published - yes_error(0.01, epsilon, "opt-ldp"))

    return {
        "prior": 0.01,
        "epsilon": 1.0,
        "half": float(yes_error(0.01, 0.5)),
        "ldp": float(yes_error(0.01, 1.0, "opt-ldp")),
        "cross": brentq(gap, 4.0, 10.0),
    }


@PAPER.entry(
    "L3",
    claim="Proof of Proposition 3 and Fig. 5: the advantage of LIP over LDP grows with the "
    "distance of P₁ from 1/2.",
    verdict="wrong",
    example="""ε = {epsilon:g}: the gain is {even:.4f} at P₁ = {middle:g} and {skewed:.1e} at P₁ =
    {prior:g}. Even by the published formula it is only {published:.4f} at P₁ = {prior:g}.""",
    instead="`sottovoce.published.prior_curve` shows the true gain for any prior",
)
def gain_with_skew() -> Numbers:
    def gain(p: float, variant: str = "optimal") -> float:
        return float(yes_error(p, 1.0, "opt-ldp") - yes_error(p, 1.0, variant))

    return {
        "epsilon": 1.0,
        "middle": 0.5,
        "even": gain(0.5),
        "prior": 0.01,
        "skewed": gain(0.01),
        "published": gain(0.01, "jiang-theorem2"),
    }


@PAPER.entry(
    "L4",
    claim="(23), the error of the symmetric mechanism.",
    verdict="wrong",
    example="""It is negative: {printed:.4f} at P₁ = {prior:g} for every ε. At ε = {epsilon:g} the
    error is {right:.4f}; for ε → 0 it is P₁(1 − P₁) = {limit:g}.""",
    instead="`LIP(variant='symmetric')` with the corrected error",
)
def symmetric() -> Numbers:
    return {
        "prior": 0.5,
        "epsilon": 1.0,
        "printed": equation_23(0.5, 1.0),
        "other": equation_23(0.5, 4.0),
        "right": symmetric_error(0.5, 1.0),
        "drawn": float(yes_error(0.5, 1.0, "symmetric")),
        "limit": round(symmetric_error(0.5, 1e-9), 9),
    }


@PAPER.entry(
    "L5",
    claim="(24): the unbiased estimate of the sum, with p = e^ε/(e^ε + 1).",
    verdict="misprint",
    example="""With this p it estimates the number of no. A fraction of {f:g} yes, ε = {epsilon:g}:
    {printed:.3f} on average; with p = 1/(e^ε + 1) it is {right:.3f}.""",
    instead="`LIP(variant='context-free-ldp')`, unbiased by its exact channel",
)
def equation_24() -> Numbers:
    f, e = 0.101, math.e
    q = LIP(prior=0.5, epsilon=1.0, variant="context-free-ldp").matrix
    yes = f * q[0, 0] + (1 - f) * q[1, 0]

    def estimate(p: float) -> float:
        return float((yes - p) / (1 - 2 * p))

    return {
        "f": f,
        "epsilon": 1.0,
        "printed": estimate(e / (e + 1)),
        "right": estimate(1 / (e + 1)),
    }


@PAPER.entry(
    "L6",
    claim="Example 1 and Fig. 2: expected errors of LDP, optimised LDP and LIP for N = 100 and P₁ "
    "= 0.1.",
    verdict="wrong",
    example="""(p − q)² stands where (1 − p − q)² is meant. At ε = {epsilon:g} the printed errors
    are {printed_ldp:.1f} for LDP and {printed_lip:.1f} for LIP, which is called smaller and grows
    with ε ({later:.1f} at ε = {double:g}); the optimised flip probability is {flip:.2f}. LDP has
    {ldp:.1f} unbiased. By posterior means LDP has {mmse_ldp:.2f} and LIP {mmse_lip:.2f}.""",
    instead="errors follow from the channel that is drawn",
)
def example_1() -> Numbers:
    e = math.e
    response = LIP(prior=0.1, epsilon=1.0, variant="context-free-ldp")
    return {
        "epsilon": 1.0,
        "double": 2.0,
        "printed_ldp": 100 * e / (e + 1) ** 2,
        "printed_lip": (10 * e - 1) / 0.64,
        "later": (10 * e**2 - 1) / 0.64,
        "flip": 1 - e / 2,
        "ldp": 100 * float(response.variance([0.1, 0.9], 1)[0]),
        "mmse_ldp": 100 * float(yes_error(0.1, 1.0, "opt-ldp")),
        "mmse_lip": 100 * float(yes_error(0.1, 1.0)),
    }


@PAPER.entry(
    "L7",
    claim="Theorem 1: ε-LIP implies 2ε-LDP.",
    verdict="gap",
    example="""Definition 3 says nothing about a value with prior probability zero. Three values
    with priors {a:g}, {b:g} and {c:g}, the first two reported by the same fair coin and the third
    by a report of its own: the level over possible values is {level:g}, and without a prior it is
    infinite.""",
    instead="every value is constrained, possible or not",
)
def impossible_value() -> Numbers:
    q = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    return {
        "a": 0.5,
        "b": 0.5,
        "c": 0.0,
        "level": by_hand(q[:2, :2], np.array([0.5, 0.5])),
        "ldp": ldp_level(q),
        "ours": lip_level(q, [0.5, 0.5, 0.0]),
    }


@PAPER.entry(
    "L8",
    claim="Section III: the posterior mean is an unbiased estimate.",
    verdict="gap",
    example="""Only on average over a correct prior. P₁ = {prior:g}, ε = {epsilon:g}, but a
    fraction of {f:g} say yes: the bias is {bias:.4f} for any number of people.""",
    instead="`unbiased` is the default of the library and `mle` of the command line; `mmse` only "
    "by name",
)
def posterior_mean() -> Numbers:
    prior, f = 0.1, 0.3
    q = LIP(prior=prior, epsilon=1.0).matrix
    posterior = prior * q[0] / (prior * q[0] + (1 - prior) * q[1])
    mean = float((f * q[0] + (1 - f) * q[1]) @ posterior)
    return {"prior": prior, "epsilon": 1.0, "f": f, "bias": mean - f}


@PAPER.entry(
    "L9",
    claim="Section II motivates LIP as a variant of LDP; that levels do not add up is not said.",
    verdict="gap",
    example="""Several reports of one answer, each of level {epsilon:g}, P₁ = {prior:.3f}: {k}
    reports have level {two:.3f}, not {k}, and {many} have {five:.2f}.""",
    instead="LIP levels are never added up; `Guarantee.times` gives a bound that holds",
)
def repeated() -> Numbers:
    prior = 1 / (math.e + 1)
    mechanism = LIP(prior=prior, epsilon=1.0)

    def level(k: int) -> float:
        return lip_level_repeated(mechanism.matrix, mechanism.centre, k)

    return {"epsilon": 1.0, "prior": prior, "k": 2, "two": level(2), "many": 5, "five": level(5)}


@PAPER.entry(
    "L10",
    claim="Section IV-A: every user randomises with their own prior, and the curator estimates "
    "with the users' parameters.",
    verdict="gap",
    example="""The parameters show the prior: from q₀ = {q:.4f} at ε = {epsilon:g} anyone computes
    P₁ = q₀ e^ε = {prior:.2f}. What a prior learnt from a person's past answers costs is not
    counted.""",
    instead="the prior is one public parameter of the question",
)
def parameters_show_the_prior() -> Numbers:
    q0, _ = flips(0.3, 1.0, "jiang-theorem2")
    return {"epsilon": 1.0, "q": float(q0), "prior": float(q0) * math.e}


@PAPER.entry(
    "L11",
    claim="After Theorem 2: the smaller pair of flip probabilities is the one with q₀ + q₁ ≤ 0.5.",
    verdict="misprint",
    example="""The bound is 1. ε = {epsilon:g}, P₁ = {prior:g}: the theorem's own pair has q₀ + q₁
    = {sum:.3f}, the other one {other:.3f}.""",
    instead="of two equivalent channels the one that keeps answers is used",
)
def smaller_pair() -> Numbers:
    q0, q1 = flips(0.4, 0.5, "jiang-theorem2")
    total = float(q0 + q1)
    return {"epsilon": 0.5, "prior": 0.4, "sum": total, "other": 2 - total}
