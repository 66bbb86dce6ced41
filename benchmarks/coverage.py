"""How often 95 % intervals cover the truth, on a stress grid; writes docs/coverage.md.

Run as ``python -m benchmarks.coverage``. Where a value's estimate depends on one count, coverage is
computed exactly; elsewhere it is simulated with the real mechanisms, and the least over all cells
is given with the number of runs (at .95 and 1,000 runs the least of ten cells is about .935). Where
that is low, the row is measured again with more runs, and only these count. ``--only combinations``
measures that section alone.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import binom

from sottovoce import (
    GRR,
    LIP,
    OLH,
    OUE,
    SUE,
    Duchi,
    HadamardResponse,
    Levels,
    Piecewise,
    ProjectiveGeometryResponse,
    Sampled,
    SubsetSelection,
)
from sottovoce.contract.aggregate import Aggregate
from sottovoce.mechanisms.categorical import PureMechanism
from sottovoce.mechanisms.linear import LinearMechanism
from sottovoce.mechanisms.mechanism import Mechanism

from . import coverage_combinations
from .coverage_cells import LONG, LOW, Row, is_refused, measure, patterns, table
from .coverage_text import TEXT

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
PEOPLE = (1, 2, 3, 5, 10, 20, 60, 100, 300, 1000)
EPSILONS = (0.1, 0.5, 1.0, 3.0, 6.0, 10.0, 20.0)


def exact(kind: type[PureMechanism], sizes: tuple[int, ...]) -> tuple[float, float, str]:
    """(least coverage shown, least of the normal approximation, where the least is)."""
    least, plain, where = 1.0, 1.0, ""
    for d, epsilon, n in product(sizes, EPSILONS, PEOPLE):
        mechanism = kind(d, epsilon=epsilon)
        counts = np.arange(n + 1)
        values = mechanism.debias(counts, n)
        low, high = mechanism.score_interval(values, counts, n)(0.95)
        half = 1.96 * np.sqrt(np.maximum(mechanism.variance(values, n), 0))
        p, q = float(mechanism.p), float(mechanism.q)
        for m in {0, 1, 2, 3, n // 10, n // 3, n // 2, n - 2, n - 1, n} & set(range(n + 1)):
            true = binom.pmf(np.arange(m + 1), m, p)
            law = np.convolve(true, binom.pmf(np.arange(n - m + 1), n - m, q))
            f = m / n
            shown = float(law[(low <= f + 1e-12) & (f <= high + 1e-12)].sum())
            if shown < least:
                least, where = shown, f"d={d}, ε={epsilon:g}, n={n}, {m} holders"
            inside = (values - half <= f + 1e-12) & (f <= values + half + 1e-12)
            plain = min(plain, float(law[inside].sum()))
    return least, plain, where


def linear(mechanism: LinearMechanism, answers: np.ndarray, runs: int) -> float:
    """The least coverage over the values."""
    n, d = len(answers), mechanism.domain.size
    truth, inside = np.bincount(answers, minlength=d) / n, np.zeros(d)
    reports = mechanism.randomise(np.tile(answers, runs))
    _, tables = mechanism.count_by(reports, np.repeat(np.arange(runs, dtype=np.uint32), n), runs)
    for run in range(runs):
        own = {name: table[run] for name, table in tables.items()}
        aggregate = Aggregate(mechanism.id, mechanism.digest, own, n, n)
        low, high = mechanism.estimate(aggregate).interval()
        inside += (low <= truth + 1e-12) & (truth <= high + 1e-12)
    return float((inside / runs).min())


def levels(
    menu: Levels, fractions: np.ndarray, people: int, rng: np.random.Generator, runs: int
) -> tuple[float, float, float]:
    """(least coverage, james-stein's and random-effects' squared error over post-stratified's)."""
    d, names = menu.domain.size, list(menu.menu)
    inside, squares = np.zeros(d), np.zeros(3)
    each = people // len(names)
    chosen = np.repeat(names, each)
    for _ in range(runs):
        answers = np.concatenate([rng.choice(d, each, p=row) for row in fractions])
        truth = np.bincount(answers, minlength=d) / answers.size
        aggregate = menu.aggregate(menu.randomise(answers, level=chosen))
        for k, method in enumerate(("james-stein", "random-effects", "post-stratified")):
            estimate = menu.estimate(aggregate, method=method)
            squares[k] += ((estimate.values - truth) ** 2).sum()
            if k == 0:
                low, high = estimate.interval()
                inside += (low <= truth) & (truth <= high)
    return float((inside / runs).min()), squares[0] / squares[2], squares[1] / squares[2]


def level_rows(runs: int) -> Iterator[Row]:
    """Menus whose levels agree, or of which the strictest differs."""
    rng = np.random.default_rng(4)
    for kind, d, epsilons in product((GRR, OUE), (2, 4, 10), ((0.5, 2.0), (0.5, 1.0, 2.0, 4.0))):
        menu = Levels.of(kind, d, {f"{e:g}": e for e in epsilons})
        for shift in (0.0, 0.06, 0.25, 1 - 1 / d):
            fractions = np.full((len(epsilons), d), 1 / d)
            fractions[0] *= (1 - 1 / d - shift) / (1 - 1 / d)
            fractions[0, 0] = 1 / d + shift
            row = partial(levels, menu, fractions, 8000, rng)
            covered, ours, old = measure(row, runs)
            about = f"{menu.bound[0].id}, d={d}, ε={', '.join(menu.menu)}"
            yield about, f"{shift:g}", f"{covered:.3f}", f"{ours:.2f}", f"{old:.2f}"


def way_rows(runs: int) -> Iterator[Row]:
    """Few people, of whom some report, or who chose different levels."""
    rng = np.random.default_rng(5)
    cases: list[tuple[str, Mechanism, str]] = []
    kinds = (GRR, OUE, HadamardResponse, ProjectiveGeometryResponse)
    for kind, d, epsilon in product(kinds, (3, 10), (1.0, 4.0, 8.0)):
        base = kind(d, epsilon=epsilon)
        cases.append((f"{kind.id}, d={d}, ε={epsilon:g}, rate .5", Sampled(base, rate=0.5), ""))
        grid = Sampled(base, rate=[0.3, 0.8])
        cases.append((f"{kind.id}, d={d}, ε={epsilon:g}, rates .3 and .8", grid, "rate"))
    for kind, d in product((GRR, OUE), (2, 4, 10)):
        menu = Levels.of(kind, d, {"a": 0.5, "b": 2.0, "c": 6.0})
        cases.append((f"{kind.id}, d={d}, levels .5, 2, 6", menu, "level"))
    for (about, mechanism, choice), n in product(cases, (20, 60, 200)):
        populations = []
        for _, answers in patterns(n, mechanism.domain.size):
            pool = {
                "rate": [way.rate for way in mechanism.ways()],
                "level": [way.level for way in mechanism.ways()],
            }
            every = [pool[choice][k % len(pool[choice])] for k in range(n)] if choice else []
            rng.shuffle(every)  # rates that follow the answers would be refused
            populations.append((answers, {choice: every} if choice else {}))
        (least,) = measure(partial(least_of_ways, mechanism, populations), runs)
        yield about, str(n), f"{least:.3f}"


def least_of_ways(
    mechanism: Mechanism, populations: list[tuple[np.ndarray, dict[str, list]]], runs: int
) -> tuple[float]:
    """The least coverage over the populations."""
    return (min(ways(mechanism, *population, runs) for population in populations),)


def least_of_linear(mechanism: LinearMechanism, n: int, runs: int) -> tuple[float]:
    """The least coverage over the patterns."""
    every = patterns(n, mechanism.domain.size)
    return (min(linear(mechanism, answers, runs) for _, answers in every),)


def ways(mechanism: Mechanism, answers: np.ndarray, options: dict[str, list], runs: int) -> float:
    """The least coverage over the values, where anybody reported."""
    d = mechanism.domain.size
    truth, inside, done = np.bincount(answers, minlength=d) / answers.size, np.zeros(d), 0
    for _ in range(runs):
        aggregate = mechanism.aggregate(mechanism.randomise(answers, **options))
        if is_refused(mechanism, aggregate):
            continue
        low, high = mechanism.estimate(aggregate).interval()
        inside += (low <= truth + 1e-12) & (truth <= high + 1e-12)
        done += 1
    return float((inside / done).min())


def mean_rows(runs: int) -> Iterator[Row]:
    """Few people's numbers, where some report, levels differ, or they are a sample."""
    numbers = (Duchi((0, 1), epsilon=1.0), Duchi((0, 1), epsilon=8.0))
    numbers += (Piecewise((0, 1), epsilon=2.0, steps=4), Piecewise((0, 1), epsilon=8.0, steps=4))
    cases: list[tuple[str, Mechanism]] = []
    for base in numbers:
        about = f"{base.id}, ε={base.epsilon:g}"
        cases.append((f"{about}, sample of a population", base))
        cases.append((f"{about}, rate .3", Sampled(base, rate=0.3)))
        if isinstance(base, Duchi):  # exact intervals of a grid, two for each estimate, take long
            cases.append((f"{about}, rates .4 and .9", Sampled(base, rate=[0.4, 0.9])))
    menu = Levels.of(Duchi, (0, 1), {"a": 1.0, "b": 8.0})
    cases += [("duchi, levels 1 and 8", menu)]
    cases += [("duchi, levels 1 and 8, rate .5", Sampled(menu, rate=0.5))]
    for (about, mechanism), n in product(cases, (8, 40)):
        (least,) = measure(partial(least_of_means, mechanism, n), runs)
        yield about, str(n), f"{least:.3f}"


def least_of_means(mechanism: Mechanism, n: int, runs: int) -> tuple[float]:
    """The least coverage of the mean of the people, or of the population they are drawn from."""
    rng, menu = np.random.default_rng(n), list(mechanism.menu)
    ways = {"level": [menu[k % len(menu)] for k in range(n)]} if menu else {}
    if len(mechanism.rates) > 1:
        ways["rate"] = [mechanism.rates[k // 2 % 2] for k in range(n)]
    shapes = {
        "one in ten at a bound": (lambda: (rng.random(n) < 0.1).astype(float), 0.1),
        "evenly spread": (lambda: rng.random(n), 0.5),
        "skewed": (lambda: rng.beta(1, 9, n), 0.1),
    }
    sampled = mechanism.rates != (1.0,) or bool(menu)
    least = 1.0
    for draw, expected in shapes.values():
        inside = done = 0
        for _ in range(runs):
            answers = draw()
            aggregate = mechanism.aggregate(mechanism.randomise(answers, **ways))
            if sampled and is_refused(mechanism, aggregate):
                continue
            estimate = mechanism.estimate(aggregate)
            truth = answers.mean() if sampled else expected
            low, high = (estimate if sampled else estimate.for_population()).interval()
            inside += bool(low[0] - 1e-9 <= truth <= high[0] + 1e-9)
            done += 1
        least = min(least, inside / done)
    return (least,)


def linear_rows(runs: int) -> Iterator[Row]:
    """Mechanisms whose report says something of many values."""
    for kind, epsilon, n in product((HadamardResponse, OLH), (0.5, 4.0, 10.0), (3, 20, 100)):
        for d in (3, 10):
            mechanism = kind(d, epsilon=epsilon)
            (least,) = measure(partial(least_of_linear, mechanism, n), runs)
            yield f"{kind.id}, d={d}, ε={epsilon:g}", str(n), f"{least:.3f}"
    for variant, epsilon, n in product(("optimal", "opt-ldp", "a-optimal"), (0.5, 4.0), (10, 100)):
        prior = LIP(prior=[0.6, 0.25, 0.1, 0.05], variant=variant, epsilon=epsilon)
        (least,) = measure(partial(least_of_linear, prior, n), runs)
        yield f"lip {variant}, ε={epsilon:g}", str(n), f"{least:.3f}"


def page(runs: int) -> str:
    """The whole page."""
    started = time.monotonic()
    kinds = [(GRR, (2, 3, 10, 1000)), (OUE, (2, 10)), (SUE, (2, 10)), (SubsetSelection, (10, 100))]
    pure = []
    for kind, sizes in kinds:
        least, plain, where = exact(kind, sizes)
        pure.append((f"`{kind.id}`", f"{least:.3f}", f"{plain:.3f}", where))
        print(pure[-1], file=sys.stderr, flush=True)
    parts = []
    for make in (linear_rows, way_rows, level_rows, mean_rows):
        rows = []
        for row in make(runs):
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
        parts.append(rows)
    took = time.monotonic() - started
    return TEXT.format(
        runs=runs,
        error=(0.95 * 0.05 / runs) ** 0.5,
        low=LOW,
        long=LONG,
        long_error=(0.95 * 0.05 / LONG) ** 0.5,
        seconds=round(took),
        pure=table(("mechanism", "lowest coverage", "with normal intervals", "lowest at"), pure),
        linear=table(("mechanism", "people", "lowest coverage"), parts[0]),
        ways=table(("design", "people", "lowest coverage"), parts[1]),
        levels=table(
            (
                "menu",
                "strictest level differs by",
                "lowest coverage",
                "`james-stein`",
                "`random-effects`",
            ),
            parts[2],
        ),
        means=table(("design", "people", "lowest coverage"), parts[3]),
        combinations=coverage_combinations.section(runs),
    )


def with_combinations(text: str, runs: int) -> str:
    """The page with the section of combinations, which is the last, measured again."""
    before = text.partition(coverage_combinations.HEADING)[0].rstrip()
    return f"{before}\n\n{coverage_combinations.section(runs)}"


def main() -> None:
    """Measure everything, or one section, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("runs", type=int, nargs="?", default=1000, help="runs for each cell")
    parser.add_argument("--only", choices=["combinations"], help="measure this section again")
    parser.add_argument("--write", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    text = with_combinations(PAGE.read_text(), options.runs) if options.only else page(options.runs)
    options.write.write_text(text)


if __name__ == "__main__":
    main()
