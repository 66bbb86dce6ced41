"""Paper 000, second half: protocols, costs and weights."""

from __future__ import annotations

import math

import numpy as np

import sottovoce as sv
from sottovoce import testing
from sottovoce.accounting import TwoStage, sampled_counts_delta, sampled_counts_epsilon
from sottovoce.transport import Role
from tests.participation.groups import DATA, EPSILONS, cut, shares
from tests.participation.test_combine import noise, weighted_error

from .errata import Numbers
from .fair_frequency import PAPER

__all__ = ["PAPER"]


@PAPER.entry(
    "F13",
    claim="Section 3.1.3: TSS' is private against S1 and against any φ users.",
    verdict="gap",
    example="""Not once the result is published: S1 and elected users see who reports an item.
    {count} holders, ε = {epsilon:g}, {reported} of {items} items reported: δ = {alone:.1e} against
    S2 alone, {seen:.1e} against whoever sees senders and the result.""",
    instead="`secure.TSS` is accounted against those who see senders, `published=True` by default",
)
def two_stage_with_output() -> Numbers:
    design = TwoStage(-math.expm1(-0.5), items=30, reported=12)
    return {
        "count": 100,
        "epsilon": 0.5,
        "reported": design.reported,
        "items": design.items,
        "alone": design.delta_alone(0.5, 100, neighbours="add-remove"),
        "seen": design.delta_with_output(0.5, 100, neighbours="add-remove"),
    }


@PAPER.entry(
    "F14",
    claim="Algorithm 4: S2 adds the sums of the first m users, where m′ ≥ m users hold shares.",
    verdict="misprint",
    example="""Field of {field} elements, a count of {true}, {holders} holders of shares of which
    {added} are added: each of the {field} results has probability {chance:g}. With all {holders}
    the result is {right}.""",
    instead="all shares are required; an item with a missing one is named as failed",
)
def partial_sums() -> Numbers:
    modulus, secret = 5, 3
    partial, whole = np.zeros(modulus), set()
    for first in range(modulus):
        for second in range(modulus):
            last = (secret - first - second) % modulus
            partial[(first + second) % modulus] += 1 / modulus**2
            whole.add((first + second + last) % modulus)
    (right,) = whole
    return {
        "field": modulus,
        "true": secret,
        "holders": 3,
        "added": 2,
        "chance": round(float(partial.max()), 12),
        "least": float(partial.min()),
        "right": right,
    }


@PAPER.entry(
    "F15",
    claim="Algorithms 3 and 4 and Table 1: elected users are drawn from the n users; that they "
    "must differ is not said.",
    verdict="gap",
    example="""Drawn with replacement, {elected} of {people} users are fewer than {elected}
    different ones with probability {few:.3f}; {more} of {many:,} with probability {other:.2f}. One
    user then holds several shares.""",
    instead="elected users are drawn without replacement",
)
def repeated_users() -> Numbers:
    def repeated(people: int, elected: int) -> float:
        return 1 - math.perm(people, elected) / people**elected

    return {
        "elected": 5,
        "people": 100,
        "few": repeated(100, 5),
        "more": 20,
        "many": 1000,
        "other": repeated(1000, 20),
    }


@PAPER.entry(
    "F16",
    claim="Algorithms 2 to 4 assume that every message arrives.",
    verdict="gap",
    example="""One missing share makes the sum uniform and nobody notices: in the field of
    {field:,} elements a count of {true} becomes {mean:g} on average. If each of {people:,} users
    of DPDS fails with probability {fails:g}, the result survives with probability
    {survives:.0e}.""",
    instead="missing shares are detected and the failed items named; a committee with threshold "
    "shares tolerates drop-outs ([secure protocols](secure.md))",
)
def dropouts() -> Numbers:
    return {
        "field": 1009,
        "true": 37,
        "mean": float(np.arange(1009).mean()),
        "people": 1000,
        "fails": 0.01,
        "survives": 0.99**1000,
    }


@PAPER.entry(
    "F17",
    claim="Table 1: with adaptive selection a user of TSS sends αN(1 + p_χ n) field elements.",
    verdict="wrong",
    example="""Everyone reports αN items whatever the selection, so that αn users report an item on
    average. {people} users, {reported} of {items} items, γ = e: {printed:.0f} by the table,
    {sent:.0f} in a run of the protocol.""",
    instead="costs are counted in the run, `Run.costs`",
)
def cost_of_two_stages() -> Numbers:
    people, items, reported = 300, 12, 5
    design = TwoStage(0.5, items, reported, math.e)
    protocol = sv.secure.TSS(
        items, rate=0.5, report=reported / items, selection="adaptive", gamma=math.e
    )
    with testing.seeded(17) as source:
        run = protocol.session(np.arange(people) % items, source=source).run()
    return {
        "people": people,
        "reported": reported,
        "items": items,
        "printed": reported * (1 + design.own_item * people),
        "sent": run.costs[Role.USER].elements / people,
    }


@PAPER.entry(
    "F18",
    claim="Table 1: a user of DPDS sends 2nN + N field elements.",
    verdict="wrong",
    example="""{people} users, {items} items: {printed} by the table; a user sends {shares}
    elements as shares and {sums} as sums, {sent:g} together. The table seems to count what is
    received, too.""",
    instead="what is sent and what is received are counted apart",
)
def cost_of_everyone() -> Numbers:
    people, items = 20, 3
    with testing.seeded(18) as source:
        session = sv.secure.DPDS(items, rate=0.5).session(np.arange(people) % items, source=source)
        run = session.run()
    return {
        "people": people,
        "items": items,
        "printed": 2 * people * items + items,
        "shares": (people - 1) * items,
        "sums": items,
        "sent": run.costs[Role.USER].elements / people,
    }


@PAPER.entry(
    "F19",
    claim="Lemma 3.4 and the remark after it: weights 1/V with V = (1 − p)/p, as in Table 2, are "
    "never worse than no weights.",
    verdict="wrong",
    example="""V lacks the variance of the data. Two random groups of {group} users, ε = {low:g}
    and {high:g}, {items} items: squared error {weighted:.2e} with these weights, {plain:.2e}
    without, {right:.2e} with the data's variance added.""",
    instead="the default over [levels](levels.md) shrinks contrasts between levels; the published "
    "weights only as `method='yang-variance'`",
)
def weights_without_the_data() -> Numbers:
    epsilons, scatter = (5.0, 10.0), 1 - 1 / 30
    v = noise(epsilons)
    return {
        "group": 500,
        "low": epsilons[0],
        "high": epsilons[1],
        "items": 30,
        "weighted": weighted_error(1 / v, epsilons, scatter),
        "plain": weighted_error([1, 1], epsilons, scatter),
        "right": weighted_error(1 / (v + scatter), epsilons, scatter),
    }


@PAPER.entry(
    "F20",
    claim="Section 3.2 assumes that users of all privacy levels have the same distribution.",
    verdict="gap",
    example="""People choose their level. Setting s1 with the {people:,} synthetic users sorted by
    item, so that groups differ: squared error {weighted:.4f} with the weights, {plain:.4f}
    without.""",
    instead="`post-stratified` is unbiased whatever the groups, and the default keeps its interval",
)
def groups_that_differ() -> Numbers:
    values, v = DATA["uniform"], noise(EPSILONS["s1"])
    groups = cut(values, 4, None) / 250

    def error(omega: np.ndarray) -> float:
        bias = omega @ groups - shares(values)
        return float(bias @ bias + omega**2 @ v / 250)

    return {
        "people": values.size,
        "weighted": error((1 / v) / (1 / v).sum()),
        "plain": error(np.full(4, 0.25)),
    }


@PAPER.entry(
    "F21",
    claim="Table 2, setting s3, uniform data: weighted aggregation has an error of 0.000952.",
    verdict="wrong",
    example="""The smallest error that any weights can have is {least:.5f} by Lemma 3.3,
    {ratio:.2f} times the printed one.""",
    instead="the weights of Table 2 are reproduced, the error is not",
)
def table_2_minimum() -> Numbers:
    least = 1 / float((250 / noise(EPSILONS["s3"])).sum())
    return {"least": least, "ratio": least / 0.000952}


@PAPER.entry(
    "F22",
    claim="Table 2, setting s1: the error on normal data (0.00496) is several times that on "
    "uniform data (0.001124).",
    verdict="wrong",
    example="""By Lemma 3.1 the noise does not depend on the data. With random groups the error is
    {uniform:.5f} on uniform and {normal:.5f} on normal data.""",
    instead="variances are exact for any fractions",
)
def normal_data() -> Numbers:
    epsilons = EPSILONS["s1"]

    def error(data: str) -> float:
        fractions = shares(DATA[data])
        return weighted_error(1 / noise(epsilons), epsilons, 1 - float(fractions @ fractions))

    return {"uniform": error("uniform"), "normal": error("normal")}


@PAPER.entry(
    "F23",
    claim="Definition 3.1: the probabilities of the sets that adaptive selection reports.",
    verdict="misprint",
    example="""{items} items, sets of {reported}, γ = {gamma:g}: the printed probabilities of all
    sets sum to {printed:.2f}. Proportional to γ with the own item and to 1 without, they give p_χ
    = {own:.4f}, as Lemma 3.2 has it.""",
    instead="`secure.TSS(selection='adaptive')`",
)
def adaptive_selection() -> Numbers:
    items, reported, gamma = 5, 2, 2.0
    inside, outside = math.comb(items - 1, reported - 1), math.comb(items - 1, reported)
    with_own = (gamma * inside + outside) / (gamma * outside + outside)
    total = inside * with_own + outside / (gamma * outside + outside)
    return {
        "items": items,
        "reported": reported,
        "gamma": gamma,
        "printed": total,
        "own": gamma * inside / (gamma * inside + outside),
        "lemma": TwoStage(0.5, items, reported, gamma).own_item,
    }


@PAPER.entry(
    "F24",
    claim="Section 4.2.1: at ε = 0.1 and δ = 10⁻⁷ DPDS improves on the Gaussian mechanism by over "
    "90 % on Gowalla.",
    verdict="wrong",
    example="""By the paper's own formulas, n = {people:,} and {items} items: {gain:.0f} %. The true
    privacy of the two differs, too (F1).""",
    instead="designs are compared at the same true guarantee",
)
def improvement() -> Numbers:
    people, items, epsilon = 1000, 12, 0.1
    sampling = 1 / (math.expm1(epsilon) * people * items)
    gaussian = 4 * math.log(1.25 / 1e-7) / (people * epsilon) ** 2
    return {"people": people, "items": items, "gain": 100 * (1 - sampling / gaussian)}


@PAPER.entry(
    "F25",
    claim="Section 3.1.3: φ colluding users of TSS' learn nothing about a user's value.",
    verdict="gap",
    example="""They learn whether the user reports an item. {reported} of {items} items,
    p = {rate:.3f}: nothing with uniform selection, a local loss of {star:.3f} with adaptive
    selection and γ = e.""",
    instead="`secure.TSS` states this loss against a coalition",
)
def coalition() -> Numbers:
    rate = -math.expm1(-0.5)
    return {
        "reported": 12,
        "items": 30,
        "rate": rate,
        "uniform": TwoStage(rate, 30, 12).epsilon_star,
        "star": TwoStage(rate, 30, 12, math.e).epsilon_star,
    }


@PAPER.entry(
    "F26",
    claim="Section 3.2: users of one privacy level have the same variance V in most mechanisms.",
    verdict="gap",
    example="""Randomised response over {items} items, ε = {epsilon:g}: the noise of one count has
    variance {holder:.1f} from a holder and {other:.1f} from anyone else.""",
    instead="variances are exact for any fractions",
)
def equal_variances() -> Numbers:
    mechanism = sv.GRR(30, epsilon=1)
    p, q = float(mechanism.p), float(mechanism.q)
    return {
        "items": 30,
        "epsilon": 1.0,
        "holder": p * (1 - p) / (p - q) ** 2,
        "other": q * (1 - q) / (p - q) ** 2,
    }


@PAPER.entry(
    "F27",
    claim="Section 4.2.4, Fig. 4 and Table 2: each of the four groups has the privacy of its ε.",
    verdict="wrong",
    example="""A group of {group} users has about {count} holders of each of {items} items. At
    ε = {epsilon:g} the true δ is {true:.3f}, and no finite ε holds with δ = {delta:g}.""",
    instead="holders are counted inside a group",
)
def holders_in_a_group() -> Numbers:
    rate = -math.expm1(-1.0)
    return {
        "group": 250,
        "count": 250 // 30,
        "items": 30,
        "epsilon": 1.0,
        "delta": 0.001,
        "true": sampled_counts_delta(1.0, 8, rate, neighbours="add-remove"),
        "level": sampled_counts_epsilon(0.001, 8, rate, neighbours="add-remove"),
    }
