"""Paper 004, "PLDP: Personalized Local Differential Privacy for Multidimensional Data"."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import binom

import sottovoce as sv
from sottovoce.records.allocation import described_epsilon, flip
from sottovoce.records.joint.published import candidates
from tests.joint.test_exact import worst
from tests.records.exact import attribute_law

from .errata import Numbers, Paper

PAPER = Paper(
    "004",
    "Records with personal allocations (PLDP)",
    'The paper "PLDP: Personalized Local Differential Privacy for Multidimensional Data '
    'Aggregation". A person divides ε_total over the attributes of a record; l is the number of '
    "values of an attribute. Examples have two attributes.",
)

EQUAL, UNEQUAL = (2.0, 2.0), (3.9, 0.1)


def loss(size: int) -> float:
    """The exact loss between a record divided equally and another divided unequally."""
    pairs = list(zip(EQUAL, UNEQUAL, strict=True))
    return max(sum(worst(size, a, b) for a, b in pairs), sum(worst(size, b, a) for a, b in pairs))


@PAPER.entry(
    "R1",
    claim="Theorem 4 with (14) and (15): PMOUE is ε_total-PLDP whatever the allocations of the "
    "two records.",
    verdict="wrong",
    example="""(14) leaves out the bits that are unset in both records, and (15) replaces e^x by x
    + 1. Allocations ({a:g}, {a:g}) and ({b:g}, {c:g}), claimed {claimed:g}: the true loss is
    {two:.2f}, {four:.2f} and {sixteen:.1f} for l = {l2}, {l4} and {l16}.""",
    instead="ε_total is promised only for allocations made without regard to the answers "
    "([records](records.md))",
)
def theorem_4() -> Numbers:
    return {
        "a": EQUAL[0],
        "b": UNEQUAL[0],
        "c": UNEQUAL[1],
        "claimed": sum(EQUAL),
        "l2": 2,
        "l4": 4,
        "l16": 16,
        "two": loss(2),
        "four": loss(4),
        "sixteen": loss(16),
    }


@PAPER.entry(
    "R2",
    claim="Section 4.2.1: PLDP becomes LDP when both allocations have the same sum.",
    verdict="misprint",
    example="""They always have the same sum, ε_total: the allocations of R1 have {one:g} and
    {other:g}. What is meant is that every attribute has the same ε in both.""",
    instead="the promise is stated for each allocation, `Records.guarantee_for`",
)
def equal_sums() -> Numbers:
    return {"one": sum(EQUAL), "other": sum(UNEQUAL)}


@PAPER.entry(
    "R3",
    claim="Theorem 3: ε_total-PLDP implies LDP at m times the smallest ε.",
    verdict="wrong",
    example="""Allocation ({b:g}, {c:g}): claimed {claimed:g}, but the report of the first
    attribute alone loses {first:g} and the record {true:g}.""",
    instead="the sum of the allocation is promised, and each part of it for its own answer",
)
def theorem_3() -> Numbers:
    records = sv.Records([sv.Attribute(name, 3) for name in "ab"], epsilon_average=2.0)
    whole, first, _ = records.guarantee_for(list(UNEQUAL)).promises
    return {
        "b": UNEQUAL[0],
        "c": UNEQUAL[1],
        "claimed": 2 * min(UNEQUAL),
        "first": round(worst(3, UNEQUAL[0], UNEQUAL[0]), 9),
        "promised_first": first.epsilon,
        "true": round(worst(3, UNEQUAL[0], UNEQUAL[0]) + worst(3, UNEQUAL[1], UNEQUAL[1]), 9),
        "promised": whole.epsilon,
    }


@PAPER.entry(
    "R4",
    claim="Section 4.2.2, Definition 4 and Section 5.2: a smaller weighted epsilon ε_w means more "
    "security.",
    verdict="wrong",
    example="""Allocation ({b:g}, {c:g}): ε_w = {weighted:.3f}, the true loss is {true:g}.
    Allocation ({a:g}, {a:g}) has ε_w = {equal:g} and the same loss.""",
    instead="`described_epsilon` computes it and says that it is not a guarantee; nothing uses it",
)
def weighted_budget() -> Numbers:
    return {
        "a": EQUAL[0],
        "b": UNEQUAL[0],
        "c": UNEQUAL[1],
        "weighted": float(described_epsilon(UNEQUAL)[0]),
        "true": round(sum(worst(3, e, e) for e in UNEQUAL), 9),
        "equal": float(described_epsilon(EQUAL)[0]),
        "equal_true": round(sum(worst(3, e, e) for e in EQUAL), 9),
    }


@PAPER.entry(
    "R5",
    claim="(16): frequencies are estimated with the flip probability of the average ε.",
    verdict="wrong",
    example="""The flip probability is convex in ε, so that every estimate is too large.
    Allocations drawn uniformly at random, ε_average = {average:g}: a value that nobody holds gets
    {two:.3f}, {three:.3f}, {four:.3f} and {five:.3f} for {m2}, {m3}, {m4} and {m5} attributes.""",
    instead="`self-calibrated` estimates the flip probability from the reports; `published` only "
    "by name",
)
def equation_16() -> Numbers:
    def bias(m: int) -> float:
        """(q̄ − q) / (½ − q), by quadrature over the Beta(1, m − 1) part of one attribute."""
        x = (np.arange(200_000) + 0.5) / 200_000
        part = 1 - (1 - x) ** (1 / (m - 1))
        used = float(flip(2.0))
        return (float(flip(part * 2 * m).mean()) - used) / (0.5 - used)

    parts = {"two": 2, "three": 3, "four": 4, "five": 5}
    return {
        "average": 2.0,
        **{name: bias(m) for name, m in parts.items()},
        **{f"m{m}": m for m in parts.values()},
    }


@PAPER.entry(
    "R6",
    claim="(16), the denominator ½ − s/(e^ε + 1).",
    verdict="misprint",
    example="""It must not contain the number of reports s. s = {s:,}, ε = {epsilon:g}, a fraction
    of {f:g}: the printed formula gives a count of {printed:.2f}, the right one {right:.0f}.""",
    instead="`published` has the denominator that is meant",
)
def denominator() -> Numbers:
    s, f, q = 1000, 0.5, float(flip(2.0))
    ones = s * (f / 2 + (1 - f) * q)
    return {
        "s": s,
        "epsilon": 2.0,
        "f": f,
        "printed": (ones - s * q) / (0.5 - s * q),
        "right": (ones - s * q) / (0.5 - q),
    }


@PAPER.entry(
    "R7",
    claim="(16) is used for any personal allocation.",
    verdict="gap",
    example="""If ε goes with the value, the frequency is not identifiable. Two values:
    fractions ({f:g}, {f:g}) with flip probability {q:g} for all, and fractions ({g:g}, {h:g}) with
    flip probabilities {q1:g} and {q2:g}, give the same law of reports (largest difference
    {gap:g}).""",
    instead="the promise and the estimate both say that allocations must not follow the answers",
)
def not_identifiable() -> Numbers:
    def law(fractions: list[Fraction], flips: list[Fraction]) -> dict[tuple[int, ...], Fraction]:
        laws = [attribute_law(v, 2, q) for v, q in enumerate(flips)]
        return {y: sum(f * one[y] for f, one in zip(fractions, laws, strict=True)) for y in laws[0]}

    half, fifth = Fraction(1, 2), Fraction(1, 5)
    one = law([half, half], [fifth, fifth])
    other = law([Fraction(2, 5), Fraction(3, 5)], [Fraction(1, 8), Fraction(1, 4)])
    return {
        "f": 0.5,
        "q": 0.2,
        "g": 0.4,
        "h": 0.6,
        "q1": 0.125,
        "q2": 0.25,
        "gap": float(max(abs(one[y] - other[y]) for y in one)),
    }


@PAPER.entry(
    "R8",
    claim="Section 4.2.2: the allocation is private too, because it is not reported.",
    verdict="gap",
    example="""The number of set bits shows it. Epsilons {c:g} and {b:g}, equally likely: it is
    guessed right with probability {two:.2f}, {four:.2f}, {eight:.2f} and {sixteen:.2f} for l =
    {l2}, {l4}, {l8} and {l16}.""",
    instead="a hidden allocation is not called secret; a public one costs no privacy, because it "
    "ignores the answers",
)
def hidden_allocation() -> Numbers:
    def guessed(size: int) -> float:
        laws = []
        for epsilon in (0.1, 3.9):
            others = binom.pmf(np.arange(size), size - 1, float(flip(epsilon)))
            laws.append((np.append(others, 0) + np.append(0, others)) / 2)
        return float(np.maximum(*laws).sum() / 2)

    sizes = {"two": 2, "four": 4, "eight": 8, "sixteen": 16}
    return {
        "b": 3.9,
        "c": 0.1,
        **{name: guessed(size) for name, size in sizes.items()},
        **{f"l{size}": size for size in sizes.values()},
    }


@PAPER.entry(
    "R9",
    claim="Section 4.4.1 and (17): LASSO on M P = C finds the joint distribution.",
    verdict="wrong",
    example="""C holds the counts of single attributes only, and all non-negative solutions have
    the same L1 norm. Two attributes of {l} values: always equal, or independent, give the same C
    (largest difference {gap:g}) and norms {one:g} and {other:g}, and are {apart:g} apart in total
    variation distance.""",
    instead="the default, `model-average`, uses which bits are set together; `lasso` only by name",
)
def lasso() -> Numbers:
    matrix = candidates((2, 2))
    equal, independent = np.array([0.5, 0, 0, 0.5]), np.full(4, 0.25)
    return {
        "l": 2,
        "gap": float(np.abs(matrix @ (equal - independent)).max()),
        "one": float(np.abs(equal).sum()),
        "other": float(np.abs(independent).sum()),
        "apart": float(np.abs(equal - independent).sum() / 2),
    }


@PAPER.entry(
    "R10",
    claim="Section 4.4.2 and Section 5.3: divide the attributes so that the sum of the two "
    "entropies is largest, because more entropy means more independence.",
    verdict="wrong",
    example="""The sum is H(A) + I(A₁; A₂), so the smallest is best; line 6 of Algorithm 2 lacks
    the minus sign and so happens to choose it. Attributes A = B and an independent C, fair coins:
    AB and C have {small:g} bits and total variation error {right:g}, AC and B have {large:g} bits
    and error {wrong:g}.""",
    instead="`entropy-split` follows line 6; the default uses all pairs that were reported "
    "together",
)
def entropy() -> Numbers:
    table = np.zeros((2, 2, 2))
    table[0, 0] = table[1, 1] = 0.25

    def split(alone: int) -> tuple[float, float]:
        others = tuple(a for a in range(3) if a != alone)
        one, rest = table.sum(axis=others), table.sum(axis=alone)
        product = np.moveaxis(np.multiply.outer(rest, one), -1, alone)
        bits = sum(float(-(p[p > 0] * np.log2(p[p > 0])).sum()) for p in (one, rest))
        return bits, float(np.abs(product - table).sum() / 2)

    (small, right), (large, wrong) = split(2), split(1)
    return {"small": small, "right": right, "large": large, "wrong": wrong}


@PAPER.entry(
    "R11",
    claim="Table 2, Adult: the error of two attributes together (0.28) is smaller than that of "
    "one (0.29).",
    verdict="wrong",
    example="""Impossible for tables that agree with their own marginals: the distance of a
    marginal is at most that of the table. In {tables:,} random pairs of tables the largest ratio
    of the two is {most:.3f}; the printed one is {printed:.3f}.""",
    instead="`Table.marginal` of a joint table is the estimate of the marginal",
)
def consistent_tables() -> Numbers:
    rng = np.random.default_rng(11)
    pairs = rng.dirichlet(np.full(12, 0.5), (10_000, 2)).reshape(-1, 2, 3, 4)
    difference = pairs[:, 0] - pairs[:, 1]
    whole = np.abs(difference).sum(axis=(1, 2))
    single = (
        np.abs(difference.sum(axis=1)).sum(axis=1),
        np.abs(difference.sum(axis=2)).sum(axis=1),
    )
    ratio = (single[0] + single[1]) / 2 / whole
    return {"tables": 10_000, "most": float(ratio.max()), "printed": 0.29 / 0.28}
