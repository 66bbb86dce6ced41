"""How often the intervals of joint tables contain the truth."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from .records_data import answered, gaps, read


def intervals(runs: int) -> str:
    """How often single cells lie inside their 95 % intervals."""
    lines = [
        "## Intervals",
        "",
        f"Cells inside the default's 95 % intervals in {runs} runs of at most 2,000 people: the "
        "mean over all cells, and the cell that is covered least often (of tables of one and of "
        f"two attributes; with {runs} runs one cell in twenty is expected below "
        f"{_low(runs):.2f} if all are covered at .95).",
        "",
        "| data, ε | k = 1 | least | k = 2 | least |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, epsilon in product(("nltcs", "car", "abalone", "adult"), (1.0, 4.0)):
        data, rng = read(name), np.random.default_rng(11)
        inside: dict[int, list[Any]] = {1: [], 2: []}
        for _ in range(runs):
            records, aggregate, codes = answered(data, epsilon, rng, 2000)
            whole = records.joint(aggregate, records.names)
            for k in inside:
                cells = []
                for axes in combinations(range(5), k):
                    part = whole.marginal([records.names[a] for a in axes])
                    gap = gaps(part, [codes[a] for a in axes])
                    cells.append(gap <= 1.96 * part.std_error)
                inside[k].append(np.concatenate(cells))
        covered = [np.mean(inside[k], axis=0) for k in (1, 2)]
        shown = " | ".join(f"{c.mean():.2f} | {c.min():.2f}" for c in covered)
        lines.append(f"| {name}, {epsilon:g} | {shown} |")
        print(lines[-1], flush=True)
    return "\n".join([*lines, ""])


def _low(runs: int) -> float:
    """The fraction below which one cell in twenty falls if each is covered at .95."""
    return float(np.quantile(np.random.default_rng(0).binomial(runs, 0.95, 100_000) / runs, 0.05))
