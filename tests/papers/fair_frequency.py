"""Paper 000, "Fair and Differentially Private Distributed Frequency Estimation"."""

from __future__ import annotations

import math

from scipy.optimize import brentq

from sottovoce.accounting import (
    delta_gaussian,
    largest_rate,
    published_count,
    published_sampled_counts,
    sampled_counts_delta,
    sigma_analytic,
    smallest_count,
)

from .errata import Numbers, Paper

PAPER = Paper(
    "000",
    "Fair frequency estimation by sampling",
    'Yang et al., "Fair and Differentially Private Distributed Frequency Estimation". δ is that of '
    "one record more or less, which is the reading most favourable to the paper; for a changed "
    "record it is larger.",
)


@PAPER.entry(
    "F1",
    claim="Theorem 3.1: with p = 1 − e^−ε and enough holders of every item, sampled counts are "
    "(ε, δ)-private.",
    verdict="wrong",
    example="""{items} items, ε = {epsilon:g}, δ = {claimed:.0e}: the theorem asks for {asked:.2f}
    holders. With {count} holders, the person included, the true δ is {true:.3f}. {needed} holders
    are needed.""",
    instead="the exact account, `accounting.sampled_counts` ([accounts](accounts.md)); the "
    "published bound only as `bound='yang-3.1'`, beside the true δ",
)
def theorem_3_1() -> Numbers:
    epsilon, delta, items = 1.0, 1e-7, 30
    asked = published_count(epsilon, delta, items, bound="yang-3.1")
    count = math.ceil(asked) + 1  # as many others, and the person
    rate = -math.expm1(-epsilon)
    return {
        "items": items,
        "epsilon": epsilon,
        "claimed": delta,
        "asked": asked,
        "count": count,
        "true": sampled_counts_delta(epsilon, count, rate, neighbours="add-remove"),
        "needed": smallest_count(epsilon, delta, rate, neighbours="add-remove"),
    }


@PAPER.entry(
    "F2",
    claim="Section 4.2.1: δ of the synthetic experiment follows from (2), and so DPDS and DPDG "
    "are compared at equal privacy.",
    verdict="wrong",
    example="""n = {people:,}, {items} items, so about {count} holders of the rarest, ε =
    {epsilon:g}: (2) gives δ = {claimed:.1e}, the true δ is {true:.1e}.""",
    instead="`accounting.published_sampled_counts` shows the true δ beside the claimed one",
)
def synthetic_experiment() -> Numbers:
    claim = published_sampled_counts(1.0, 20, 30, bound="yang-3.1", neighbours="add-remove")
    return {
        "people": 1000,
        "items": 30,
        "count": claim.count,
        "epsilon": claim.epsilon,
        "claimed": claim.claimed_delta,
        "true": claim.true_delta,
    }


@PAPER.entry(
    "F3",
    claim="Theorem 3.2: the same for larger samples, p = 1 − e^−(z+ε).",
    verdict="wrong",
    example="""{items} items, ε = {epsilon:g}, z = {z:g}, δ = {claimed:.0e}: the theorem asks for
    {asked:.0f} holders, where the true δ is {true:.1e}. {needed:,} are needed.""",
    instead="the exact account; the published bound only as `bound='yang-3.2'`",
)
def theorem_3_2() -> Numbers:
    epsilon, delta, items, z = 0.1, 1e-7, 30, 1.0
    asked = published_count(epsilon, delta, items, bound="yang-3.2", z=z)
    claim = published_sampled_counts(
        epsilon, math.ceil(asked) + 1, items, bound="yang-3.2", z=z, neighbours="add-remove"
    )
    return {
        "items": items,
        "epsilon": epsilon,
        "z": z,
        "claimed": delta,
        "asked": asked,
        "true": claim.true_delta,
        "needed": smallest_count(epsilon, delta, claim.rate, neighbours="add-remove"),
    }


@PAPER.entry(
    "F4",
    claim="Theorems 3.1 and 3.2 assume that every item has at least βn holders, and Section 4.2.1 "
    "takes this from the data.",
    verdict="gap",
    example="""A person who alone holds an item is seen with the sampling rate: δ = {true:.3f} at ε
    = {epsilon:g}, and at every other ε. Whether an item has such a holder is private.""",
    instead="a public lower bound is required, or noise or dummy holders that need none ([secure "
    "protocols](secure.md))",
)
def lone_holder() -> Numbers:
    rate = -math.expm1(-1.0)
    return {
        "epsilon": 1.0,
        "rate": rate,
        "true": sampled_counts_delta(1.0, 1, rate, neighbours="add-remove"),
        "at_fifteen": sampled_counts_delta(15.0, 1, rate, neighbours="add-remove"),
    }


@PAPER.entry(
    "F5",
    claim="Section 3.1.2: DPDS is private against all other users together.",
    verdict="gap",
    example="""True of the shares, not once the result is published. {count} holders, ε =
    {epsilon:g}: δ = {alone:.0e} against an outsider, {some:.1e} if {known} of the holders collude,
    {all:.2f} if {most} do.""",
    instead="`insiders` are subtracted from the holders, in every account of a protocol",
)
def colluding_users() -> Numbers:
    rate = -math.expm1(-0.5)

    def delta(insiders: int) -> float:
        return sampled_counts_delta(0.5, 100, rate, neighbours="add-remove", insiders=insiders)

    return {
        "count": 100,
        "epsilon": 0.5,
        "alone": delta(0),
        "known": 50,
        "some": delta(50),
        "most": 99,
        "all": delta(99),
    }


@PAPER.entry(
    "F6",
    claim="Section 3.1.2: each user of DPDG adds noise of standard deviation G σ / n.",
    verdict="wrong",
    example="""The sum then has n times too little variance. n = {people:,}, ε = {epsilon:g},
    δ = {claimed:.0e}: the true δ is {true:.3f}, and δ = {claimed:.0e} holds only at
    ε = {level:.1f}.""",
    instead="`secure.DPDG`: each of n users adds variance (G σ)²/(n − φ), where φ may collude or "
    "drop out",
)
def gaussian_shares() -> Numbers:
    epsilon, delta, people = 1.0, 1e-5, 1000
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon / math.sqrt(people)
    level = brentq(lambda e: math.log(delta_gaussian(e, sigma, 1.0) / delta), 1.0, 100.0)
    return {
        "people": people,
        "epsilon": epsilon,
        "claimed": delta,
        "true": delta_gaussian(epsilon, sigma, 1.0),
        "level": level,
    }


@PAPER.entry(
    "F7",
    claim="Section 3.1.2: σ = √(2 ln(1.25/δ))/ε makes Gaussian noise (ε, δ)-private, without a "
    "limit on ε.",
    verdict="gap",
    example="""Proven for ε below one. At ε = {large:g} and δ = {delta:.0e} the true δ is
    {broken:.1e}; at ε = {small:g} the formula wastes a factor of {waste:.2f} in variance.""",
    instead="the exact calibration, `accounting.sigma_analytic`",
)
def classical_sigma() -> Numbers:
    delta = 1e-5

    def classical(epsilon: float) -> float:
        return math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    return {
        "large": 10.0,
        "small": 1.0,
        "delta": delta,
        "broken": delta_gaussian(10.0, classical(10.0), 1.0),
        "waste": (classical(1.0) / sigma_analytic(1.0, delta)) ** 2,
    }


@PAPER.entry(
    "F8",
    claim="Section 3.1.2: DPDG has the smaller variance once n exceeds 4(e^ε − 1) ln(1.25/δ)/ε².",
    verdict="wrong",
    example="""This compares the total over all items with a single item. ε = {epsilon:g}, δ =
    {delta:.0e}, {items} items: {printed:.0f} printed, {same:,.0f} in the same metric, and both
    rest on F1.""",
    instead="the planner compares designs at the same true guarantee ([planning](planning.md))",
)
def crossover() -> Numbers:
    epsilon, delta, items = 0.1, 1e-7, 30
    printed = 4 * math.expm1(epsilon) * math.log(1.25 / delta) / epsilon**2
    return {
        "epsilon": epsilon,
        "delta": delta,
        "items": items,
        "printed": printed,
        "same": items * printed,
    }


@PAPER.entry(
    "F9",
    claim="Sections 1, 3.1.2 and 4.2.1, Fig. 1: for few users, sampling is more accurate than "
    "Gaussian noise at the same privacy.",
    verdict="wrong",
    example="""n = {people:,}, {items} items with at least {count} holders each, ε = {epsilon:g}, δ
    = {delta:.0e}, a record may change: mean squared error {sampling:.1e} by sampling at its best
    rate, {gaussian:.1e} with Gaussian noise, {claimed:.1e} if Theorem 3.1 were true.""",
    instead="no accuracy advantage is claimed for sampling",
)
def sampling_against_gaussian() -> Numbers:
    people, items, count, epsilon, delta = 1000, 30, 33, 1.0, 1e-5

    def error(rate: float) -> float:
        return (1 - rate) / rate / people / items

    return {
        "people": people,
        "items": items,
        "count": count,
        "epsilon": epsilon,
        "delta": delta,
        "sampling": error(largest_rate(epsilon, delta, count)),
        "gaussian": 2 * sigma_analytic(epsilon, delta) ** 2 / people**2,
        "claimed": error(-math.expm1(-epsilon)),
    }


@PAPER.entry(
    "F10",
    claim="Section 4.2.1, Fig. 1: on Gowalla, DPDS beats the Gaussian mechanism with δ = 0.5 for "
    "every ε below 0.6.",
    verdict="wrong",
    example="""By the paper's own formulas, n = {people:,} and δ = {delta:g}: only for ε below
    {few:.3f} with {few_items} items and below {many:.3f} with {many_items}.""",
    instead="nothing is compared with δ = 0.5, which protects nobody",
)
def gowalla_crossover() -> Numbers:
    people, delta = 1000, 0.5

    def crossing(items: int) -> float:
        def gap(epsilon: float) -> float:
            gaussian = 4 * math.log(1.25 / delta) / (people * epsilon) ** 2
            return 1 / (math.expm1(epsilon) * people * items) - gaussian

        return float(brentq(gap, 1e-3, 0.9))

    return {
        "people": people,
        "delta": delta,
        "few_items": 12,
        "few": crossing(12),
        "many_items": 30,
        "many": crossing(30),
    }


@PAPER.entry(
    "F11",
    claim="Section 4.2.1: the mean squared error at ε = 0.1 on Gowalla is about 0.01.",
    verdict="misprint",
    example="""By Lemma 3.1 with n = {people:,}, {total:.4f} is the total over all items. The
    metric of Section 4.1.2 divides it by the {items} items: {mean:.1e}.""",
    instead="errors say whether they are totals or means",
)
def total_or_mean() -> Numbers:
    total = 1 / (1000 * math.expm1(0.1))
    return {"people": 1000, "total": total, "items": 12, "mean": total / 12}


@PAPER.entry(
    "F12",
    claim="Section 4.2.2, Fig. 2: at ε = 0.2 the error falls from 0.0024 (n = 1,000) to 0.0009 (n "
    "= 5,000), in agreement with the 1/n law.",
    verdict="wrong",
    example="""The printed errors have the ratio {printed:.2f}, the law has {law:g}. Lemma 3.1
    gives {few:.4f} and {many:.4f}.""",
    instead="errors are those of the exact variance",
)
def population_size() -> Numbers:
    few, many = (1 / (n * math.expm1(0.2)) for n in (1000, 5000))
    return {"printed": 0.0024 / 0.0009, "law": round(few / many, 9), "few": few, "many": many}
