"""How long the constrained least-squares table of split columns takes."""

from __future__ import annotations

import math
import time
import warnings
from fractions import Fraction

import numpy as np

from sottovoce.parties.design import Design
from sottovoce.parties.methods.segmentation import PBSGLS

from .parties_data import column_sums


def steps_section() -> str:
    """How long the constrained optimum takes."""
    rng = np.random.default_rng(146)
    lines = [
        "## Constrained least squares: time",
        "",
        "| table | ε | N | seconds | certified |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for shape, epsilons, people in (
        ((2, 2, 2), (".1", ".55", "1"), 21_574),
        ((16, 16), (".1", "1"), 20_000),
        ((8, 8, 8), (".1", ".5", "1"), 20_000),
        ((5, 4, 3, 2), (".01", ".1", "1", "4"), 1_000_000),
        ((16, 16, 16), (".01", "1", "4"), 1_000_000),
    ):
        budgets = {f"P{k}": Fraction(e) for k, e in enumerate(epsilons)}
        design = Design(shape, budgets, 1, rows=dict.fromkeys(budgets, people))
        table = rng.multinomial(people, rng.dirichlet(np.full(math.prod(shape), 0.3)))
        sums = column_sums(PBSGLS(), design, table.reshape(shape), rng)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solved = PBSGLS().solve(design, sums)
        seconds = time.perf_counter() - start
        size = "×".join(map(str, shape))
        certified = "yes" if solved.converged else "no"
        lines.append(
            f"| {size} | {', '.join(epsilons)} | {people:,} | {seconds:.2f} | {certified} |"
        )
    return "\n".join([*lines, ""])
