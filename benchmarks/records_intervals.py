"""How often the intervals of joint tables contain the truth."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from .records_data import answered, gaps, read, title

_PEOPLE = 2000
_EPSILONS = (1.0, 4.0)
#: Runs of each data set; small tables are quick.
_RUNS = {"nltcs": 24, "car": 12, "abalone": 6}
_SIZES = (1, 2, 3, 5)


def intervals() -> str:
    """How often single cells lie inside their 95 % intervals."""
    counts = ", ".join(f"{many} of {title(name)}" for name, many in _RUNS.items())
    lowest = ", ".join(f"{low(many):.2f} ({many})" for many in _RUNS.values())
    heads = " | ".join(f"k = {k} | least" for k in _SIZES)
    lines = [
        "## Intervals",
        "",
        f"Cells inside the default's 95 % intervals; runs: {counts}, each of at most {_PEOPLE:,} "
        "people. For tables of k attributes: the mean over all cells, and the cell that is covered "
        "least often. With few runs that one is mostly chance: of cells that are all covered at "
        f".95, one in twenty is expected at or below {lowest} with so many runs. At ε = 1 the "
        "reports of so few people carry hardly any information about pairs, and every such table "
        "lists them in `assuming`: cells of strongly dependent attributes, as those of Abalone, "
        "may then never lie inside.",
        "",
        f"| data, ε | {heads} |",
        f"| --- |{' ---: |' * 2 * len(_SIZES)}",
    ]
    every = []
    for name, epsilon in product(_RUNS, _EPSILONS):
        inside = [np.mean(cells, axis=0) for cells in covered(name, epsilon, _RUNS[name])]
        every.append([cells.mean() for cells in inside])
        shown = " | ".join(f"{cells.mean():.3f} | {cells.min():.2f}" for cells in inside)
        lines.append(f"| {name}, {epsilon:g} | {shown} |")
        print(lines[-1], flush=True)
    summary = f"Least mean {np.min(every):.3f}."
    return "\n".join([*lines, "", summary, ""])


def covered(name: str, epsilon: float, runs: int) -> list[list[Any]]:
    """For each of _SIZES and every run, whether each cell of all tables lies inside."""
    data, rng = read(name), np.random.default_rng(11)
    inside: list[list[Any]] = [[] for _ in _SIZES]
    for _ in range(runs):
        records, aggregate, codes = answered(data, epsilon, rng, _PEOPLE)
        whole = records.joint(aggregate, records.names)
        for k, cells in zip(_SIZES, inside, strict=True):
            parts = []
            for axes in combinations(range(5), k):
                part = whole.marginal([records.names[a] for a in axes])
                parts.append(gaps(part, [codes[a] for a in axes]) <= 1.96 * part.std_error)
            cells.append(np.concatenate(parts))
    return inside


def low(runs: int) -> float:
    """The fraction below which one cell in twenty falls if each is covered at .95."""
    return float(np.quantile(np.random.default_rng(0).binomial(runs, 0.95, 100_000) / runs, 0.05))
