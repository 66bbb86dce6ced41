"""The error of every method on one table."""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.errors import MissingExtraError

from .records_data import gaps, read, title

EPSILON = 2.0
#: Runs of each data set.
RUNS = {"car": 10, "adult": 2, "abalone": 4, "nltcs": 4}
_COVERED = 2  # runs whose errors are worked out, which takes longer than the estimates
#: Rows of the tables, and what `Records.joint` is asked for.
METHODS: dict[str, dict[str, Any]] = {
    "`model-average`": {"method": "model-average"},
    "`em-ll2`": {"method": "em-ll2"},
    "`em-ll2`, stop=500": {"method": "em-ll2", "stop": 500},
    "`em-full`": {"method": "em-full"},
    "`product`": {"method": "product"},
    "`kronecker`": {"method": "kronecker", "force": True},
    **{f"`{m}`": {"method": m} for m in ("lasso", "lopub-1", "lopub-2", "lopub-3")},
}


def accuracy(name: str) -> str:
    """The section of one data set."""
    data, runs = read(name), RUNS[name]
    records = sv.Records(data.attributes, epsilon_average=EPSILON)
    codes = [attribute.encode(data.table[attribute.name]) for attribute in data.attributes]
    people = codes[0].size
    rng = np.random.default_rng(1)  # who reports what; the reports draw from the system
    errors: dict[tuple[str, int], list[float]] = {}
    inside: dict[int, list[float]] = {}
    stops, seconds = [], []
    for run in range(runs):
        many = rng.integers(1, 6, people)
        sent = rng.random((people, 5)).argsort(axis=1).argsort(axis=1) < many[:, None]
        reports = records.randomise(data.table, allocation="random", reported=sent)
        aggregate = records.aggregate(reports)
        start = time.perf_counter()
        records.joint(aggregate, records.names)
        seconds.append(time.perf_counter() - start)
        stops.append(records.joint(aggregate, records.names, method="em-ll2").steps)
        for row, options in METHODS.items():
            for k in range(1, 3 if row == "`kronecker`" else 6):
                for axes in combinations(range(5), k):
                    names = [records.names[a] for a in axes]
                    try:
                        estimate = records.joint(aggregate, names, **options)
                    except MissingExtraError:
                        continue
                    gap = gaps(estimate, [codes[a] for a in axes])
                    errors.setdefault((row, k), []).append(gap.sum() / 2)
                    if row == "`model-average`" and run < _COVERED:
                        inside.setdefault(k, []).append((gap <= 1.96 * estimate.std_error).mean())
    lines = [
        f"## {title(name)}",
        "",
        f"{people:,} records; {data.about}. ε_average = {EPSILON:g}, {runs} runs; t* = "
        f"{', '.join(map(str, stops))}; a fit of all five took {np.median(seconds):.0f} s.",
        "",
        "| AVD | k = 1 | 2 | 3 | 4 | 5 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in METHODS:
        cells = [errors.get((row, k)) for k in range(1, 6)]
        if any(cells):
            lines.append(_row(row, [c and float(np.mean(c)) for c in cells]))
    default = [errors["`model-average`", k] for k in range(1, 6)]
    between = [np.reshape(c, (runs, -1)).mean(axis=1) for c in default]
    lines.append(_row("default, sd between runs", [float(np.std(c, ddof=1)) for c in between]))
    if data.reference:
        lines.append(_row("reference for em-ll2", data.reference))
        ratios = [float(np.mean(c)) / p for c, p in zip(default, data.reference, strict=True)]
        lines.append(_row("default / reference (target: ≤ 1.15)", ratios, 2))
    products = [float(np.mean(errors["`product`", k])) for k in range(1, 6)]
    ratios = [float(np.mean(c)) / p for c, p in zip(default, products, strict=True)]
    wanted = " (target: ≤ 1.05)" if name == "car" else ""
    lines.append(_row(f"default / `product`{wanted}", ratios, 2))
    covered = [float(np.mean(inside[k])) for k in range(1, 6)]
    lines.append(_row("default, inside 95 % intervals", covered, 2))
    return "\n".join([*lines, ""])


def _row(name: str, cells: Any, digits: int = 4) -> str:
    shown = ("–" if x is None else f"{x:.{digits}f}" for x in cells)
    return f"| {name} | {' | '.join(shown)} |"
