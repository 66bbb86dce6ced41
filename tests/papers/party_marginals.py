"""Paper 002, "Marginal Release under Multi-Party Personalized Differential Privacy"."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from sottovoce.accounting import delta_gaussian
from sottovoce.parties.design import Design
from sottovoce.parties.methods.registry import COLUMNS, ROWS
from sottovoce.parties.methods.sampling import rate
from sottovoce.parties.methods.stretching import fit
from sottovoce.promise import Neighbours
from tests.parties.attacks import loss, share_pmf

from .errata import Numbers, Paper

PAPER = Paper(
    "002",
    "Marginals between parties with different epsilons",
    'The paper "Marginal Release under Multi-Party Personalized Differential Privacy". Simulated '
    "rows are seeded.",
)

BUDGETS = {"A": Fraction("0.1"), "B": Fraction("0.55"), "C": Fraction(1)}


@PAPER.entry(
    "P1",
    claim="Definition 2 and Section 6.3: neighbours differ by one row more or less, and the noise "
    "has scale 2/ε; numbers of rows are constants.",
    verdict="gap",
    example="""The noise is that of a changed row. ε = {epsilon:g}: by Definition 2 one count moves
    and the loss is {add:g}, so that {waste:g} times the variance is spent; and the numbers of
    rows, which differ between neighbours, would have to be private. For a changed row the loss is
    {change:g}.""",
    instead="a study states one of the two; sizes are public only for changed rows "
    "([parties](parties.md))",
)
def neighbours() -> Numbers:
    noise = [share_pmf(2, 1, 120)]
    return {
        "epsilon": 1.0,
        "add": round(loss(noise, 1, 1, 50), 9),
        "change": round(loss(noise, 1, 2, 50), 9),
        "waste": 2.0**2 / 1.0**2,
    }


@PAPER.entry(
    "P2",
    claim="Example 1: rows are kept with probability 0.2 and 0.6, and the result is 0.27.",
    verdict="misprint",
    example="""By the formula of Section 5.1 the probabilities are {first:.3f} and {second:.3f},
    and the result is {result:.3f}.""",
    instead="`method='sah'` uses the exact rates",
)
def example_1() -> Numbers:
    kept = [
        float(rate(Fraction(budget), Fraction("0.5"), Neighbours.ADD_REMOVE))
        for budget in ("0.1", "0.3", "0.5")
    ]
    patients = np.array([50, 30, 20])
    result = float(np.array(kept) @ patients / (100 * sum(kept)))
    return {"first": kept[0], "second": kept[1], "result": result}


@PAPER.entry(
    "P3",
    claim="Sections 6.1 and 7.2: the mixture of multinomials (MM) reconstructs the marginal "
    "without distortion.",
    verdict="wrong",
    example="""It is not identifiable: the likelihood depends on the parties' tables through one
    weighted sum. Example 1 without any noise: the truth is {truth:.4f}, MM from equal tables gives
    {uniform:.4f}, as stretching alone does ({sth:.4f}), and {starts} random starts give {low:.2f}
    to {high:.2f} with the same likelihood (to within {spread:.0e}).""",
    instead="`sjs` by default, whose interval is that of an unbiased sum; `mm` only by name, and "
    "never from true local tables",
)
def mixture() -> Numbers:
    patients, rows = np.array([50, 30, 20]), np.full(3, 100.0)
    weights = np.array([0.2, 0.6, 1.0])
    target = np.array([weights @ patients, weights @ (rows - patients)])
    target = target / target.sum()
    rng = np.random.default_rng(16)
    results, likelihoods = [], []
    for _ in range(300):
        tables, _ = fit(rng.dirichlet([1, 1], 3), weights * rows, target)
        results.append(float(rows @ tables[:, 0] / rows.sum()))
        likelihoods.append(target @ np.log(weights * rows @ tables / (weights @ rows)))
    uniform, _ = fit(np.full((3, 2), 0.5), weights * rows, target)
    # Rounded up to a power of ten: the last digits are those of floating-point arithmetic.
    spread = max(float(np.ptp(likelihoods)), 1e-16)
    return {
        "truth": float(patients.sum() / rows.sum()),
        "uniform": float(rows @ uniform[:, 0] / rows.sum()),
        "sth": float(target[0]),
        "starts": len(results),
        "low": min(results),
        "high": max(results),
        "spread": 10.0 ** max(math.ceil(math.log10(spread)), -12),
    }


@PAPER.entry(
    "P4",
    claim="Section 6.1: the parameters of MM maximise the likelihood of the noisy counts.",
    verdict="gap",
    example="""Noisy counts can be negative, and then there is no maximum. Counts ({a:g}, {b:g}):
    the log-likelihood is {first:.1f}, {second:.1f} and {third:.1f} where the first value has
    probability {p1:.0e}, {p2:.0e} and {p3:.0e}.""",
    instead="noisy tables are projected first",
)
def unbounded_likelihood() -> Numbers:
    a, b = -2.0, 5.0

    def likelihood(p: float) -> float:
        return a * math.log(p) + b * math.log1p(-p)

    return {
        "a": a,
        "b": b,
        "p1": 1e-2,
        "p2": 1e-4,
        "p3": 1e-8,
        "first": likelihood(1e-2),
        "second": likelihood(1e-4),
        "third": likelihood(1e-8),
    }


@cache
def rows_simulated() -> dict[str, float]:
    """Mean total variation distance of methods over rows; the parties' tables differ."""
    rng = np.random.default_rng(5)
    sizes = {"A": 3000, "B": 4000, "C": 3000}
    design = Design((8,), BUDGETS, 1, rows=sizes, oblivious=True)
    laws = rng.dirichlet(np.ones(8), 3)
    tables = {p: rng.multinomial(n, law) for (p, n), law in zip(sizes.items(), laws, strict=True)}
    truth = sum(tables.values()) / 10_000

    def distance(name: str) -> float:
        runs = (noisy(name, design, tables, rng) for _ in range(100))
        values = np.array([ROWS[name].solve(design, sums).values for sums in runs])
        return float(np.abs(values - truth).sum(axis=1).mean() / 2)

    return {name: distance(name) for name in ("mm", "sth", "mh", "independent", "sjs")}


def noisy(
    name: str, design: Design, tables: dict[str, np.ndarray], rng: np.random.Generator
) -> list[np.ndarray]:
    """The opened sums of a method, with Laplace noise of the release's variance."""
    sums = []
    for release in ROWS[name].releases(design):
        exact = sum(weight * tables[party] for party, weight in release.weights.items())
        noise = rng.laplace(0, math.sqrt(release.variance / 2), np.shape(exact))
        sums.append(np.rint(exact + noise).astype(np.int64))
    return sums


@PAPER.entry(
    "P5",
    claim="Section 7.2, Fig. 1: MM is always the most accurate, and the more so the more epsilons "
    "differ.",
    verdict="wrong",
    example="""{people:,} rows at three parties whose tables differ, {cells} cells, epsilons
    {low:g}, {middle:g} and {high:g}, {runs} runs: total variation distance {mm:.3f} for MM,
    {sth:.3f} for stretching, {mh:.3f} at the smallest ε, {independent:.3f} with separate
    tables and {sjs:.3f} for our default.""",
    instead="`sjs` by default; all methods are compared on real data in the "
    "[benchmarks](parties-benchmarks.md)",
)
def figure_1() -> Numbers:
    return {
        "people": 10_000,
        "cells": 8,
        "low": 0.1,
        "middle": 0.55,
        "high": 1.0,
        "runs": 100,
        **rows_simulated(),
    }


@PAPER.entry(
    "P6",
    claim="Section 7.1: the largest group is f_max = 1 − f_min + f_mid.",
    verdict="misprint",
    example="""f_min = {low:g}, f_mid = {middle:g}: f_max would be {printed:g} and the three groups
    {sum:g} of the rows. With two minus signs it is {right:g}.""",
    instead="sizes are those of the parties",
)
def group_sizes() -> Numbers:
    low, middle = 0.3, 0.4
    return {
        "low": low,
        "middle": middle,
        "printed": round(1 - low + middle, 9),
        "sum": round(1 - low + middle + low + middle, 9),
        "right": round(1 - low - middle, 9),
    }


@PAPER.entry(
    "P7",
    claim="Section 6.4: segmentation (PBS) protects each party's data at its own ε.",
    verdict="gap",
    example="""True of one party's columns, not of a person. Epsilons {low:g}, {middle:g} and
    {high:g}: someone whose values change at all parties loses {person:g}, although one party was
    promised {low:g}.""",
    instead="a study of columns states both, per party and per person",
)
def whole_person() -> Numbers:
    design = Design((2, 2, 2), BUDGETS, 1, rows=dict.fromkeys(BUDGETS, 1000))
    spent = COLUMNS["pbs"].spent(design)
    releases = COLUMNS["pbs"].releases(design)
    person = sum(
        max(release.cost(p, Neighbours.SUBSTITUTION) for p in BUDGETS) for release in releases
    )
    return {
        "low": float(spent["A"]),
        "middle": float(spent["B"]),
        "high": float(spent["C"]),
        "person": float(person),
    }


@PAPER.entry(
    "P8",
    claim="Section 6.2: σ_k = c s/(ε_k − ε_{k−1}) for every party.",
    verdict="gap",
    example="""Parties with equal epsilons divide by zero. Epsilons {low:g}, {high:g} and {high:g}:
    only {levels} levels have any ε.""",
    instead="levels without ε are skipped",
)
def equal_budgets() -> Numbers:
    budgets = {"A": Fraction("0.1"), "B": Fraction("0.5"), "C": Fraction("0.5")}
    design = Design((2, 2, 2), budgets, 1, rows=dict.fromkeys(budgets, 1000))
    return {"low": 0.1, "high": 0.5, "levels": len(COLUMNS["pbs"].releases(design))}


@PAPER.entry(
    "P9",
    claim="Sections 6.2 and 6.4: noise in the example is Gaussian, and the methods are ε-private.",
    verdict="gap",
    example="""Gaussian noise is never ε-private without a δ. ε = {epsilon:g}, s = √2, c for δ =
    {delta:.0e}: the true δ is {true:.1e}, and {far:.0e} at twice this ε.""",
    instead="`pbs` uses integer Laplace noise; `pbs-gaussian` promises (ε, δ) and refuses ε ≥ 1",
)
def gaussian_noise() -> Numbers:
    epsilon, delta = 0.5, 1e-6
    sigma = math.sqrt(2 * math.log(1.25 / delta)) * math.sqrt(2) / epsilon
    true, far = (delta_gaussian(times * epsilon, sigma, math.sqrt(2)) for times in (1, 2))
    return {"epsilon": epsilon, "delta": delta, "true": true, "far": far}


@cache
def columns_simulated() -> dict[str, float]:
    """Mean total variation distance of methods over columns, for a sparse table."""
    rng = np.random.default_rng(6)
    people, runs = 5000, 40
    design = Design((6, 6, 6), BUDGETS, 1, rows=dict.fromkeys(BUDGETS, people))
    table = rng.multinomial(people, rng.dirichlet(np.full(216, 0.05))).reshape(6, 6, 6)

    def distance(name: str) -> float:
        method, found = COLUMNS[name], []
        for _ in range(runs):
            sums = []
            for release in method.releases(design):
                others = tuple(a for a in range(3) if a not in release.axes)
                noise = rng.laplace(0, math.sqrt(release.variance / 2), release.shape)
                sums.append(np.rint(table.sum(axis=others) + noise).astype(np.int64))
            values = np.reshape(method.solve(design, sums).values, -1)
            found.append(np.abs(values - table.reshape(-1) / people).sum() / 2)
        return float(np.mean(found))

    return {name: distance(name) for name in ("pbs", "mv", "pbs-gls")}


@PAPER.entry(
    "P10",
    claim="Section 7.3, Fig. 2: PBS is the most accurate in all experiments.",
    verdict="wrong",
    example="""It divides by noisy marginals, which may be near zero or negative. A sparse table of
    {cells} cells, {people:,} people, epsilons {low:g}, {middle:g} and {high:g}, {runs} runs: total
    variation distance {pbs:.3f} for PBS, {mv:.3f} at the smallest ε, {gls:.3f} for our
    default from the same sums as PBS.""",
    instead="`pbs-gls`, constrained least squares over the same sums",
)
def figure_2() -> Numbers:
    numbers = columns_simulated()
    return {
        "cells": 216,
        "people": 5000,
        "low": 0.1,
        "middle": 0.55,
        "high": 1.0,
        "runs": 40,
        "pbs": numbers["pbs"],
        "mv": numbers["mv"],
        "gls": numbers["pbs-gls"],
    }


@PAPER.entry(
    "P11",
    claim="Section 6.3: noise generated in K parts protects against K − 1 colluding parties.",
    verdict="gap",
    example="""Only if nobody knows any part of it when it is drawn. If each party draws a part, so
    that the parts add up to Laplace noise, ε = {epsilon:g}: {colluders} colluders of {parties}
    leave a loss of {most:.2f}, {one} of {two} leaves {half:.2f}.""",
    instead="everyone adds noise enough for those who may collude; `collusion` is at least 1",
)
def noise_parts() -> Numbers:
    def left(parties: int, colluders: int) -> float:
        return loss([share_pmf(2, parties, 120)] * (parties - colluders), 1, 2, 50)

    return {
        "epsilon": 1.0,
        "parties": 10,
        "colluders": 9,
        "most": left(10, 9),
        "two": 2,
        "one": 1,
        "half": left(2, 1),
    }


@PAPER.entry(
    "P12",
    claim="Section 6.3: each party sends its count plus its part of the noise to the curator.",
    verdict="gap",
    example="""With such parts the count itself is mostly sent. {parties} parties, ε = {epsilon:g}:
    a part is zero with probability {zero:.2f}.""",
    instead="what a party sends is masked; only the sum is opened",
)
def plain_parts() -> Numbers:
    law = share_pmf(2, 10, 120)
    return {"parties": 10, "epsilon": 1.0, "zero": float(law[law.size // 2])}


@PAPER.entry(
    "P13",
    claim="Section 6.4: the methods are ε_k-private; what many marginals cost is not said.",
    verdict="gap",
    example="""The proof is for one marginal. All {ways}-way marginals of the {attributes}
    attributes of NLTCS are {marginals}, and cost {marginals} times ε_k if each is
    released with ε_k.""",
    instead="a study divides ε over its tables, and a ledger adds up what was spent",
)
def many_marginals() -> Numbers:
    return {"ways": 3, "attributes": 16, "marginals": math.comb(16, 3)}
