"""Paper 001, "Impact of Sampling on Locally Differentially Private Data Collection"."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

import sottovoce as sv
from sottovoce import testing
from sottovoce.accounting import value_dependent_loss
from sottovoce.published import node_sampling as published
from tests.participation import oracle
from tests.participation.test_published import exact
from tests.participation.test_sampling_estimators import DEPENDS, pair, sampled

from .errata import Numbers, Paper

PAPER = Paper(
    "001",
    "Sampling nodes that report locally",
    'Biswas, Cormode and Maple, "Impact of Sampling on Locally Differentially Private Data '
    'Collection". Variances are those of a number of people, as in the paper; π is the sampling '
    "probability, f the fraction of holders, d the number of values.",
)

PEOPLE = 5_000


@PAPER.entry(
    "N1",
    claim="Proof of Theorem 3.2: the actual variance of g. (The limit for f → 0 in the theorem is "
    "right.)",
    verdict="wrong",
    example="""It leaves out which holders are drawn, n f(1−f)(1−π)/π. d = {d}, ε = {epsilon:g}, π
    = {rate:g}, f = {f:g}, n = {people:,}: {printed:,.0f} printed, {right:,.0f} exactly.""",
    instead="`Sampled.variance` is exact for every method ([sampling](sampling.md))",
)
def variance_of_g() -> Numbers:
    mechanism = sv.GRR(100, epsilon=4)
    return {
        "d": 100,
        "epsilon": 4.0,
        "rate": 0.1,
        "f": 0.3,
        "people": PEOPLE,
        "printed": published.g_actual(mechanism, 0.3, n=PEOPLE, rate=0.1),
        "right": exact(mechanism, 0.3, "biswas-g", n=PEOPLE),
    }


@PAPER.entry(
    "N2",
    claim="Theorem 3.3: the variance of g, divided by its scale, grows as 1/(π³ n).",
    verdict="wrong",
    example="""g already estimates n f; dividing by π n counts π twice more. d = {d}, ε =
    {epsilon:g}, π = {rate:g}: n times the printed quantity is {printed:,.0f}, n times the variance
    of g/n is {right:.1f}. It grows as 1/(π n). By Definition 3.1, variance over mean, the limit
    for f → 0 would not exist.""",
    instead="errors are those of fractions of the population",
)
def normalised_variance() -> Numbers:
    mechanism = sv.GRR(100, epsilon=2)
    return {
        "d": 100,
        "epsilon": 2.0,
        "rate": 0.1,
        "printed": PEOPLE * published.g_norm(mechanism, n=PEOPLE, rate=0.1),
        "right": exact(mechanism, 0.0, "biswas-g", n=PEOPLE) / PEOPLE,
    }


@PAPER.entry(
    "N3",
    claim="Theorem 3.5: g has a smaller variance than ĉ.",
    verdict="wrong",
    example="""The proof drops the covariance of the two counts, and ĉ is always the better one. d
    = {d}, ε = {epsilon:g}, π = {rate:g}, f = {f:g}, n = {people:,}: g {g:,.0f}, ĉ {c_hat:,.0f}
    ({printed:,.0f} printed), and {hajek:,.0f} with the number of reports in place of its
    expectation.""",
    instead="`method='hajek'` is the default for one rate",
)
def ranking() -> Numbers:
    mechanism = sv.GRR(4, epsilon=1)
    return {
        "d": 4,
        "epsilon": 1.0,
        "rate": 0.1,
        "f": 0.8,
        "people": PEOPLE,
        "g": exact(mechanism, 0.8, "biswas-g", n=PEOPLE),
        "c_hat": exact(mechanism, 0.8, "biswas-c-hat", n=PEOPLE),
        "printed": published.c_hat(mechanism, 0.8, n=PEOPLE, rate=0.1),
        "hajek": exact(mechanism, 0.8, "hajek", n=PEOPLE),
    }


@PAPER.entry(
    "N4",
    claim="Theorem 3.6: g gives reasonable frequencies, from 0 to n, as often as c does "
    '("on an average").',
    verdict="gap",
    example="""This only says that p ≥ q. n = {people:,}, d = {d}, ε = {epsilon:g}, π = {rate:g}: g
    is negative with probability {none:.2f} where nobody holds the value, {few:.2f} where {low:.0f}
    % do, {some:.2f} where {high:.0f} % do.""",
    instead="`Estimate.project` makes a distribution of it; the interval is that of the unbiased "
    "estimate",
)
def negative_estimates() -> Numbers:
    people, rate = 50_000, 0.1
    mechanism = sv.GRR(100, epsilon=2)
    p, q = float(mechanism.p), float(mechanism.q)

    def negative(f: float) -> float:
        """P(A < nπq), A the supporting reports."""
        holders = round(f * people)
        k = np.arange(math.ceil(people * rate * q))
        own = binom.pmf(k, holders, rate * p)
        return float(own @ binom.cdf(k[-1] - k, people - holders, rate * q))

    return {
        "people": people,
        "d": 100,
        "epsilon": 2.0,
        "rate": rate,
        "none": negative(0.0),
        "low": 1.0,
        "few": negative(0.01),
        "high": 2.0,
        "some": negative(0.02),
    }


@PAPER.entry(
    "N5",
    claim="Definition 2.3: the support of a report is the set of values from which it can come "
    "with non-zero probability.",
    verdict="wrong",
    example="""Randomised response over {d} values can give every report from every value, so that
    every report would support {supported} values, p* = {p:g} and q* = {q:g}; a pure protocol needs
    p* > q*.""",
    instead="each pure mechanism declares which values a report supports",
)
def support() -> Numbers:
    channel = sv.GRR(4, epsilon=1).channel()
    possible = np.array(channel.matrix) > 0
    supported = possible.sum(axis=0)
    return {
        "d": 4,
        "supported": int(supported.min()),
        "p": float(possible.diagonal().min()),
        "q": float(possible.min()),
    }


@PAPER.entry(
    "N6",
    claim="After Theorem 3.3: c tends to nq/(p − q) as π → 0.",
    verdict="misprint",
    example="""The sign is lost. d = {d}, ε = {epsilon:g}, n = {people:,}, π = {rate:g}: the
    expectation is {mean:,.0f}, and −nq/(p − q) = {limit:,.0f}.""",
    instead="`method='wang-c'` is marked as biased under sampling",
)
def limit_of_c() -> Numbers:
    setting = oracle.Setting(sv.GRR, 100, 2.0, (1e-6,), (PEOPLE,), (0.3,))
    mechanism = sv.GRR(100, epsilon=2)
    p, q = float(mechanism.p), float(mechanism.q)
    return {
        "d": 100,
        "epsilon": 2.0,
        "people": PEOPLE,
        "rate": 1e-6,
        "mean": PEOPLE * oracle.expected(setting, p, q)["wang-c"],
        "limit": -PEOPLE * q / (p - q),
    }


@PAPER.entry(
    "N7",
    claim="Section 6, Fig. 3: sampling a tenth of the nodes and sampling all of them hardly "
    "differ in total variation distance.",
    verdict="wrong",
    example="""ε is not given. Binomial({trials}, {chance:g}) values, n = {people:,}, ε =
    {epsilon:g}, {runs} seeded runs: {tenth:.3f} at π = {rate:g} and {all:.3f} at π = {full:g},
    {ratio:.1f} times as much.""",
    instead="the planner shows precision and traffic of every rate ([planning](planning.md))",
)
def tenth_of_the_nodes() -> Numbers:
    people, epsilon, runs = 50_000, 4.0, 5
    answers = np.random.default_rng(7).binomial(100, 0.5, people)
    truth = np.bincount(answers, minlength=101) / people

    def distance(rate: float) -> float:
        collection = sv.Sampled(sv.GRR(101, epsilon=epsilon), rate=rate)
        with testing.seeded(7) as source:
            estimates = [
                collection.estimate(
                    collection.aggregate(collection.randomise(answers, source=source)),
                    method="biswas-c-hat",
                ).values
                for _ in range(runs)
            ]
        return float(np.abs(np.array(estimates) - truth).sum(axis=1).mean() / 2)

    tenth, everyone = distance(0.1), distance(1.0)
    return {
        "trials": 100,
        "chance": 0.5,
        "people": people,
        "epsilon": epsilon,
        "runs": runs,
        "rate": 0.1,
        "full": 1.0,
        "tenth": tenth,
        "all": everyone,
        "ratio": tenth / everyone,
    }


@PAPER.entry(
    "N8",
    claim="Theorem 5.1: T is unbiased for any sampling probabilities π_j.",
    verdict="gap",
    example="""Only where π_j has nothing to do with the value. n = {people:,}, {holders:,} holders
    at π = {own:g}, the others at {other:g}: T has the expectation {mean:,.0f}, a bias of
    {bias:.0f} %.""",
    instead="`method='post-stratified'` is the default for several rates, and unbiased whatever "
    "they go with",
)
def rates_and_values() -> Numbers:
    mean = DEPENDS.n * oracle.expected(DEPENDS, *pair(sampled(DEPENDS)))["biswas-t"]
    holders = int(DEPENDS.holders.sum())
    return {
        "people": DEPENDS.n,
        "holders": holders,
        "own": DEPENDS.rates[0],
        "other": DEPENDS.rates[1],
        "mean": mean,
        "bias": 100 * (mean / holders - 1),
    }


@PAPER.entry(
    "N9",
    claim="Section 6, i: sampling probabilities may be made inversely proportional to the "
    "frequency of a node's own value.",
    verdict="wrong",
    example="""Taking part then shows the value. Rates {low:g} and {high:g} for two values, ε =
    {epsilon:g}: the true loss is {true:.2f}; with a rate of {sure:g} beside {high:g} it is
    infinite.""",
    instead="rates that depend on answers are refused with the true loss ([trust](trust.md))",
)
def rates_by_answer() -> Numbers:
    return {
        "low": 0.1,
        "high": 0.9,
        "epsilon": 1.0,
        "true": value_dependent_loss(1.0, [0.1, 0.9]),
        "sure": 1.0,
        "sure_loss": value_dependent_loss(1.0, [1.0, 0.9]),
    }


@PAPER.entry(
    "N10",
    claim="Section 6, iii: the best sampling probabilities minimise Var*(T) subject to Σ π_j = 1.",
    verdict="wrong",
    example="""Σ π_j is the expected number of reports. With {people} nodes at π = {equal:g} there
    is one report, and the standard error of T is {error:,.0f} people. And with Σ π_j fixed at
    {sum:g} Var* is least at a corner: {corner:,.0f} if half of the nodes always report and the
    others almost never, {uniform:,.0f} if all report with π = {half:g}.""",
    instead="rates for a given traffic, with the exact variance ([planning](planning.md))",
)
def optimal_rates() -> Numbers:
    mechanism = sv.GRR(4, epsilon=1)
    return {
        "people": 100,
        "equal": 0.01,
        "error": math.sqrt(published.t_limit(mechanism, n=100, rate=0.01)),
        "sum": 50.0,
        "half": 0.5,
        "corner": published.t_limit(mechanism, n=[50, 50], rate=[1.0, 1e-9]),
        "uniform": published.t_limit(mechanism, n=100, rate=0.5),
    }
