"""How often the intervals for numbers cover the truth: ``python -m benchmarks.coverage_numbers``.

Means are exact: the law of the sum of scores is known for every population, and an interval covers
unless the sum is so extreme that a tail at the true mean is below the level. On a grid the interval
also uses the second moment of the reports plus two standard errors; here it is held at the true
one, so for Piecewise and Hybrid the figure is exact given that, not over both. Variances and
distributions are simulated.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce import Duchi, Hybrid, Piecewise
from sottovoce.mechanisms.numeric import NumericMechanism
from sottovoce.mechanisms.numeric_distribution import BINS
from sottovoce.mechanisms.tails import MeanLaw, Population

EPSILONS = (0.1, 1.0, 3.0, 6.0, 10.0, 20.0)
PEOPLE = (1, 2, 5, 10, 20, 50, 100, 1000)
SHAPES = ("uniform", "spikes", "bimodal", "beta")
KINDS = ((Duchi, 1), (Piecewise, 2), (Piecewise, 1024), (Hybrid, 2), (Hybrid, 1024))


def populations(n: int, steps: int) -> Iterator[tuple[str, Population]]:
    """Named answers, as positions with how many people have them."""
    yield "at a bound", [(0.0, n)]
    yield "near a bound", [(0.02, n)]
    yield "in the middle", [(0.5, n)]
    yield "between grid points", [(0.5 + 0.25 / steps, n)]
    if n > 1:
        yield "two points", [(0.25, n // 2), (0.75, n - n // 2)]
        yield "both bounds", [(0.0, n // 2), (1.0, n - n // 2)]
        yield "one outlier", [(0.0, n - 1), (1.0, 1)]
    if n > 2:
        k = min(n, 16)
        yield "uniform", [((i + 0.5) / k, n // k + (i < n % k)) for i in range(k)]


def mean_law(mechanism: NumericMechanism, n: int, second_moment: float) -> MeanLaw:
    """The law of the sum of n scores."""
    grids = list(mechanism.grids.values())
    if mechanism.finest_fraction is None:
        return MeanLaw(n, grids[-1], None, 1.0, second_moment)
    share = float(mechanism.finest_fraction.fraction)
    return MeanLaw(n, grids[-1], grids[0], share, second_moment)


def mean_coverage(
    mechanism: NumericMechanism, population: Population, confidence: float = 0.95
) -> float:
    """Exact coverage of the interval of the mean at the true second moment."""
    n = sum(k for _, k in population)
    mean = sum(at * k for at, k in population) / n
    law = mean_law(mechanism, n, sum(at * at * k for at, k in population) / n)
    middle = floor(n * law._units(mean))
    slack = 0.0 if law.bits is None else 1 + sqrt(n * (1 - law.fraction))
    missed = 0.0
    for sign in (1, -1):
        inside, outside = middle - sign * (law._size // 2 + 2), middle + sign * (law._size // 2 + 2)
        while abs(outside - inside) > 1:
            total = (inside + outside) // 2
            edge = ceil(total - slack) if sign > 0 else floor(total + slack)
            if law._largest_tail(mean, edge, sign) < (1 - confidence) / 2:
                outside = total
            else:
                inside = total
        missed += law._tail(population, mean, outside, sign)
    return 1 - missed


def answers(shape: str, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Answers of n people between 0 and 1."""
    if shape == "uniform":
        return rng.random(n)
    if shape == "spikes":
        return rng.choice([0.1, 0.4, 0.41, 0.9], n, p=[0.3, 0.2, 0.2, 0.3])
    if shape == "bimodal":
        centre = rng.choice([0.25, 0.75], n)
        return np.clip(rng.normal(centre, 0.06), 0, 1)
    return rng.beta(2, 5, n)


def simulate(
    mechanism: NumericMechanism, shape: str, n: int, method: str, runs: int
) -> dict[str, float]:
    """Least coverage of a value, that of the normal interval, mean width and error."""
    rng = np.random.default_rng(n)
    size = BINS if method == "distribution" else 1
    covered, normal, widths, errors = np.zeros(size), np.zeros(size), [], []
    for _ in range(runs):
        column = answers(shape, n, rng)
        bins = np.histogram(column, np.linspace(0, 1, BINS + 1))[0] / n
        true = bins if size > 1 else np.array([column.var()])
        counts = mechanism.aggregate(mechanism.randomise(column))
        estimate = mechanism.estimate(counts, method=method)
        low, high = estimate.interval()
        covered += (low - 1e-9 <= true) & (true <= high + 1e-9)
        widths.append(float(np.mean(high - low)))
        low, high = replace(estimate, _interval=None).interval()
        normal += (low - 1e-9 <= true) & (true <= high + 1e-9)
        errors.append(float(np.abs(estimate.values - true).sum() / 2))
    return {
        "coverage": float(covered.min()) / runs,
        "normal": float(normal.min()) / runs,
        "width": float(np.mean(widths)),
        "error": float(np.mean(errors)),
    }


def width_ratio(mechanism: NumericMechanism, n: int, position: float) -> float:
    """Width of the interval at the expected mean, relative to the normal one."""
    law = mean_law(mechanism, n, position**2)
    error = sqrt(float(law.variance_at(np.array(position))) / n)
    low, high = law.interval(position, 0.95, error)
    return (high - low) / (2 * 1.959964 * error)


def rows(*, runs: int = 100, quick: bool = False) -> list[dict[str, Any]]:
    """The table: one row per mechanism, epsilon, number of people and population."""
    table: list[dict[str, Any]] = []
    people = (1, 5, 20) if quick else PEOPLE
    for kind, steps in KINDS:
        for epsilon in (3.0,) if quick else EPSILONS:
            extra = {} if steps == 1 else {"steps": steps}
            mechanism = kind((0, 1), epsilon=epsilon, **extra)
            about = {"mechanism": mechanism.id, "steps": steps, "epsilon": epsilon}
            for n in people:
                for name, population in populations(n, steps):
                    coverage = mean_coverage(mechanism, population)
                    table.append(
                        {**about, "method": "mean", "n": n, "answers": name, "coverage": coverage}
                    )
    for method in ("variance", "distribution"):
        for epsilon in (2.0,) if quick else (0.5, 1.0, 2.0, 4.0, 6.0):
            mechanism = Piecewise((0, 1), epsilon=epsilon)
            about = {"mechanism": mechanism.id, "steps": 1024, "epsilon": epsilon, "method": method}
            for n in (500,) if quick else (500, 5_000, 50_000):
                for shape in SHAPES:
                    result = simulate(mechanism, shape, n, method, runs)
                    table.append({**about, "n": n, "answers": shape, **result})
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage_numbers")
    parser.add_argument("--quick", action="store_true", help="few cells: shows that it runs")
    parser.add_argument("--runs", type=int, default=100, help="simulated collections per cell")
    options = parser.parse_args()
    table = rows(runs=3 if options.quick else options.runs, quick=options.quick)
    for row in table:
        print(
            " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
        )
    least = min(table, key=lambda row: row["coverage"])
    print(f"least coverage {least['coverage']:.3f}: {least}")


if __name__ == "__main__":
    main()
