"""Data sets of every kind of collection: reports in both forms and counts, in many parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.contract.aggregate import Aggregate
from sottovoce.contract.collection import Collection
from sottovoce.contract.reports import Reports, ReportWriter

N = 600
MENU = {"strong": 0.5, "weak": 2.0}
RATES = [0.3, 0.8]


def kinds() -> dict[str, Collection]:
    """One collection of each kind, records, levels and rates included."""
    grr = sv.GRR(5, epsilon=1.0)
    categorical = (
        *(sv.GRR, sv.SUE, sv.OUE, sv.OLH, sv.SubsetSelection, sv.HadamardResponse),
        sv.ProjectiveGeometryResponse,
    )
    numeric = (sv.Duchi, sv.Piecewise, sv.Hybrid)
    schema = [sv.Attribute("age", 3), sv.Attribute("town", 4), sv.Attribute("owns", 2)]
    return {
        **{kind.__name__: kind(20, epsilon=1.0) for kind in categorical},
        **{kind.__name__: kind((0.0, 10.0), epsilon=1.0) for kind in numeric},
        "LIP": sv.LIP(prior=[0.5, 0.3, 0.2], epsilon=1.0),
        "Levels": sv.Levels.of(sv.OUE, 12, MENU),
        "Levels of OLH": sv.Levels.of(sv.OLH, 12, MENU),
        "Sampled": sv.Sampled(grr, rate=RATES),
        "Levels of Sampled": sv.Levels(
            {name: sv.Sampled(sv.GRR(5, epsilon=e), rate=RATES) for name, e in MENU.items()}
        ),
        "Records": sv.Records(schema, epsilon_average=2.0),
        "ChooseAll": sv.ChooseAll(sv.Options("tools", ["R", "Python", "SAS"], most=2), epsilon=2.0),
        "HeavyHitters": sv.HeavyHitters("abc", 4, epsilon=2.0),
    }


def reports_of(collection: Collection, n: int = N, seed: int = 0) -> Reports:
    """Reports of many people; their answers are the same every time, their noise is not."""
    rng = np.random.default_rng(seed)
    choices: dict[str, Any] = {}
    if collection.level_names:
        choices["level"] = rng.choice(collection.level_names, n)
    if len(collection.rates) > 1:
        choices["rate"] = rng.choice(collection.rates, n)
    domains = collection.attributes
    if isinstance(collection, sv.Records):
        answers: Any = {d.name: rng.integers(0, d.size, n) for d in domains}
    elif isinstance(collection, sv.ChooseAll):
        answers = rng.choice(["", "R", "R;SAS", "Python"], n).tolist()
    elif isinstance(collection, sv.HeavyHitters):
        answers = rng.choice(["", "a", "abca", "cb"], n).tolist()
    elif isinstance(domains[0], sv.Range):
        answers = rng.uniform(0, 10, n)
    else:
        answers = rng.integers(0, domains[0].size, n)
    return collection.randomise(answers, **choices)


def write(path: Path, reports: Reports, pieces: int = 6) -> None:
    """A file of several envelopes or row groups."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = -(-len(reports) // pieces)
    with ReportWriter(path) as writer:
        for start in range(0, len(reports), size):
            writer.append(reports[start : start + size])


def dataset(folder: Path, collection: Collection) -> Aggregate:
    """Three files below a folder, and what they must add up to."""
    # Of different sizes: the counts of one must not equal those of another by chance.
    first, second, third = (reports_of(collection, N + k, seed=k) for k in range(3))
    write(folder / "date=2025-06-01" / "a.svr", first)
    write(folder / "date=2025-06-02" / "b.parquet", second)
    counts = collection.aggregate(third)
    counts.save(folder / "earlier.sva")
    (folder / "_SUCCESS").write_text("")
    (folder / "notes.txt").write_text("not a report")
    return collection.aggregate(first) + collection.aggregate(second) + counts
