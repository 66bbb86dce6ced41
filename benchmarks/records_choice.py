"""The default of joint tables against the models that it averages."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.records.joint.average import PAIR_MARKS, models, stops_of
from sottovoce.records.joint.em import several
from sottovoce.records.joint.fit import likelihood_of
from sottovoce.records.joint.groups import Content

from .records_data import answered, distances, read, title

_EPSILONS = (0.5, 1.0, 2.0, 4.0)
_MOST_PEOPLE = 5000  # of each run, which fits all models
#: Runs of each data set; small tables are quick, and chance matters most in them.
_RUNS = {"nltcs": 20, "car": 20, "abalone": 5, "adult": 3}
_ROWS = ("default", "product", "pairwise", "unsmoothed", "forest", "em-ll2")
_RIVALS = ("product", "pairwise", "unsmoothed", "em-ll2")


def choice() -> str:
    """The default against the models that it averages, each on its own."""
    counts = ", ".join(f"{many} of {title(name)}" for name, many in _RUNS.items())
    lines = [
        "## Choice",
        "",
        f"AVD of the default and of the models it is made of; runs: {counts}, each of at most "
        f"{_MOST_PEOPLE:,} people (a new sample of them for every run). `pairwise` is iterative "
        "proportional fitting of all pair tables; `unsmoothed` is the same with pair tables as "
        "likely as can be, which the default does not use; `forest` has the best edges only. The "
        "ratio is to the best of `product`, either pairwise model and `em-ll2` in that cell, by "
        "the mean over runs; the target is at most 1.05 on average and 1.15 in any cell.",
        "",
        "| data, ε | k | default | `product` | `pairwise` | unsmoothed | `forest` | `em-ll2` | "
        "ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    ratios = []
    for name, epsilon in product(_RUNS, _EPSILONS):
        data, rng = read(name), np.random.default_rng(7)
        errors: dict[str, list[list[float]]] = {row: [] for row in _ROWS}
        for _ in range(_RUNS[name]):
            records, aggregate, codes = answered(data, epsilon, rng, _MOST_PEOPLE)
            for row, table in tables(records, aggregate, rng).items():
                errors[row].append(distances(table, codes))
        means = {row: np.mean(each, axis=0) for row, each in errors.items()}
        best = np.min([means[row] for row in _RIVALS], axis=0)
        for k in range(5):
            ratios.append(means["default"][k] / best[k])
            cells = " | ".join(f"{means[row][k]:.4f}" for row in _ROWS)
            lines.append(f"| {name}, {epsilon:g} | {k + 1} | {cells} | {ratios[-1]:.2f} |")
            print(lines[-1], flush=True)
    summary = f"Mean ratio {np.mean(ratios):.3f}, largest {np.max(ratios):.2f}."
    return "\n".join([*lines, "", summary, ""])


def tables(records: sv.Records, aggregate: Any, rng: np.random.Generator) -> dict[str, Any]:
    """The table of every row."""
    methods = {"default": "model-average", "product": "product", "em-ll2": "em-ll2"}
    rows = {
        row: records.joint(aggregate, records.names, method=method).table
        for row, method in methods.items()
    }
    likelihood = likelihood_of(Content(records, aggregate.sparse("patterns")), tuple(range(5)))
    held = several(likelihood.few, rng)[0]
    rest = [c[:, None] - fold for c, fold in zip(likelihood.few, held, strict=True)]
    people = int(sum(c.sum() for c in likelihood.few))
    stops = stops_of(likelihood, held, rest, people, rng)
    last = replace(stops, pairs={pair: [len(PAIR_MARKS) - 1] for pair in stops.pairs})
    counts = [block.counts[:, None] for block in likelihood.blocks]
    fit = (likelihood.blocks, counts, counts, None)
    rows |= {row: t[0] for row, t in models(likelihood, stops, *fit, ("pairwise", "forest"))}
    rows["unsmoothed"] = next(t[0] for _, t in models(likelihood, last, *fit, ("pairwise",)))
    return rows
