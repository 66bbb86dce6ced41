"""Joint distributions from records, and their speed: ``python -m benchmarks.records``.

The data sets are read from the folder that SOTTOVOCE_DATA names. Every part is a section of its
own, so that ``--only car`` measures one again and leaves the others.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import re
import resource
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.errors import EstimateError, MissingExtraError
from sottovoce.records.joint.average import models, stops_of
from sottovoce.records.joint.content import Content
from sottovoce.records.joint.evidence import FewTogetherWarning, evidence_of
from sottovoce.records.joint.fit import likelihood_of
from sottovoce.records.joint.start import several

from .machine import describe

PAGE = Path(__file__).parents[1] / "docs" / "records-benchmarks.md"
EPSILON = 2.0
_COVERED = 4  # runs whose errors are worked out, which takes longer than the estimates
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
HEADER = """# Benchmarks of records

Written by `python -m benchmarks.records`. AVD is half the sum of absolute differences between the
estimated and the true table, the mean over all sets of k attributes and all runs. Everyone reports
m of five attributes, m uniform on 1 to 5, which ones uniform, and divides 2m at random
(Dirichlet(1)); the division is hidden. `lasso` is the published method (PLDP), made to sum to one;
`lopub-1` to `lopub-3` are the comparators of its paper. `kronecker` is projected and for at most
two attributes. t* is where held-out likelihood stopped each run of `em-ll2`; `em-ll2`, stop=500
takes 500 steps from attributes that were not smoothed either. The reference is the mean of three
(Car) or four (Adult) earlier runs, whose own error the sd between runs shows. The last row is how
many cells lie inside the default's 95 % intervals in the first four runs.
"""


@dataclass(frozen=True)
class Data:
    """A table with public attributes, and what is known of it."""

    attributes: list[sv.Attribute]
    table: dict[str, Any]
    about: str
    #: Known figures of em-ll2 at k = 1..5, the means of three (Car) and four (Adult) runs.
    reference: tuple[float, ...] | None = None


def car(rows: list[dict[str, str]]) -> Data:
    """Car Evaluation: five of its attributes, nearly independent."""
    names = ["buying", "safety", "persons", "lug_boot", "class"]
    table = {name: [row[name] for row in rows] for name in names}
    attributes = [sv.Attribute(name, sorted(set(table[name]))) for name in names]
    known = (0.0360, 0.0905, 0.1653, 0.2581, 0.3721)
    return Data(attributes, table, "buying, safety, persons, lug_boot, class", known)


def adult(rows: list[dict[str, str]]) -> Data:
    """Adult in the bins that the known figures are for."""
    age = np.array([float(row["age"]) for row in rows])
    _, first, many = np.unique(age, return_inverse=True, return_counts=True)
    rank = (np.cumsum(many) - (many - 1) / 2)[first]  # average ranks
    fourth = np.minimum(4 * rank / (len(rows) + 1), 3).astype(int)
    years = np.array([int(row["education-num"]) for row in rows])
    table: dict[str, Any] = {
        "age": fourth,
        "education": np.searchsorted([9, 10, 13], years, "right"),
    }
    attributes = [sv.Attribute("age", 4), sv.Attribute("education", 4)]
    for name in ("marital-status", "relationship", "income"):
        table[name] = [row[name] for row in rows]
        attributes.append(sv.Attribute(name, sorted(set(table[name]))))
    about = (
        "age in quarters by rank, education-num below 9, 9, 10–12, from 13 on, marital-status, "
        "relationship, income"
    )
    return Data(attributes, table, about, (0.0091, 0.0536, 0.1063, 0.1596, 0.2152))


def abalone(rows: list[dict[str, str]]) -> Data:
    """Abalone: strongly dependent measurements in public bins."""
    top = float("inf")
    edges = {
        "Length": [0, 0.35, 0.45, 0.55, 0.65, top],
        "Height": [0, 0.1, 0.15, 0.2, top],
        "Whole weight": [0, 0.4, 0.8, 1.2, top],
        "Rings": [1, 8, 10, 12, top],
    }
    keys = {_plain(key): key for key in rows[0]}
    table: dict[str, Any] = {"Sex": [row[keys["sex"]] for row in rows]}
    attributes = [sv.Attribute("Sex", ["F", "I", "M"])]
    for name, cuts in edges.items():
        table[name] = np.array([float(row[keys[_plain(name)]]) for row in rows])
        attributes.append(sv.Attribute.bins(name, cuts))
    cuts = "; ".join(f"{name} {', '.join(f'{x:g}' for x in e)}" for name, e in edges.items())
    return Data(attributes, table, f"Sex, and bins with the edges {cuts}")


def nltcs(rows: list[dict[str, str]]) -> Data:
    """National Long Term Care Survey: the first five of its yes-or-no questions."""
    names = [f"x{k}" for k in range(5)]
    table = {name: [int(row[name]) for row in rows] for name in names}
    return Data([sv.Attribute(name, 2) for name in names], table, "x0 to x4")


DATA: dict[str, Callable[[list[dict[str, str]]], Data]] = {
    "car": car,
    "adult": adult,
    "abalone": abalone,
    "nltcs": nltcs,
}
_PARTS = ("car", "adult", "abalone", "choice", "intervals", "speed")
_EPSILONS = (0.5, 1.0, 2.0, 4.0)
_MOST_PEOPLE = 5000  # of each run of the choice, which fits all models on 16 settings


def _plain(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())


def read(name: str) -> Data:
    """A data set from SOTTOVOCE_DATA."""
    folder = os.environ.get("SOTTOVOCE_DATA")
    if not folder:
        raise SystemExit("set SOTTOVOCE_DATA to the folder with the data sets, such as car.csv.gz")
    with gzip.open(Path(folder) / f"{name}.csv.gz", "rt", encoding="utf-8") as stream:
        return DATA[name](list(csv.DictReader(stream)))


def accuracy(name: str, runs: int) -> str:
    """The section of one data set."""
    data = read(name)
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
                        found = records.joint(aggregate, names, **options)
                    except MissingExtraError:
                        continue
                    gap = _gap(found, [codes[a] for a in axes])
                    errors.setdefault((row, k), []).append(gap.sum() / 2)
                    if row == "`model-average`" and run < _COVERED:
                        inside.setdefault(k, []).append((gap <= 1.96 * found.std_error).mean())
    lines = [
        f"## {name.capitalize()}",
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
        lines.append(_row("default / reference (wanted: ≤ 1.15)", ratios, 2))
    products = [float(np.mean(errors["`product`", k])) for k in range(1, 6)]
    ratios = [float(np.mean(c)) / p for c, p in zip(default, products, strict=True)]
    wanted = " (wanted: ≤ 1.05)" if name == "car" else ""
    lines.append(_row(f"default / `product`{wanted}", ratios, 2))
    covered = [float(np.mean(inside[k])) for k in range(1, 6)]
    lines.append(_row("default, inside 95 % intervals", covered, 2))
    return "\n".join([*lines, ""])


def drawn(
    data: Data, epsilon: float, rng: np.random.Generator, most: int | None = None
) -> tuple[sv.Records, Any, list[Any]]:
    """Records, an aggregate of reports from (some of) the people, and their true answers."""
    records = sv.Records(data.attributes, epsilon_average=epsilon)
    every = len(data.table[records.names[0]])
    who = rng.permutation(every)[:most]
    table = {name: np.asarray(data.table[name])[who] for name in records.names}
    many = rng.integers(1, 6, len(who))
    sent = rng.random((len(who), 5)).argsort(axis=1).argsort(axis=1) < many[:, None]
    reports = records.randomise(table, allocation="random", reported=sent)
    codes = [attribute.encode(table[attribute.name]) for attribute in data.attributes]
    return records, records.aggregate(reports), codes


def answered(
    data: Data, epsilon: float, rng: np.random.Generator, most: int
) -> tuple[sv.Records, Any, list[Any]]:
    """The same, drawn until no attribute is refused as almost pure noise."""
    while True:
        records, aggregate, codes = drawn(data, epsilon, rng, most)
        try:
            evidence_of(records, aggregate.sparse("patterns")).check(range(5))
        except EstimateError:
            continue
        return records, aggregate, codes


def distances(table: Any, codes: list[Any]) -> list[float]:
    """The mean AVD over all sets of k attributes, k = 1..5."""
    truth = np.zeros(table.shape)
    np.add.at(truth, tuple(codes), 1 / codes[0].size)
    means = []
    for k in range(1, table.ndim + 1):
        sets = combinations(range(table.ndim), table.ndim - k)
        gaps = [np.abs((table - truth).sum(axis=others)).sum() / 2 for others in sets]
        means.append(float(np.mean(gaps)))
    return means


def choice(runs: int) -> str:
    """The default against the models that it averages, each on its own."""
    lines = [
        "## Choice",
        "",
        f"AVD of the default and of the models it is made of, {runs} runs, at most "
        f"{_MOST_PEOPLE:,} people (a new sample of them for every run). `pairwise` is iterative "
        "proportional fitting of all pair tables, `forest` the best edges only. The ratio is to "
        "the best of `product`, `pairwise` and `em-ll2` in that cell; wanted is at most 1.05 on "
        "average and 1.15 in any cell.",
        "",
        "| data, ε | k | default | `product` | `pairwise` | `forest` | `em-ll2` | ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    rows = ("default", "product", "pairwise", "forest", "em-ll2")
    ratios = []
    for name, epsilon in product(("nltcs", "car", "abalone", "adult"), _EPSILONS):
        data, rng = read(name), np.random.default_rng(7)
        errors: dict[str, list[list[float]]] = {row: [] for row in rows}
        for _ in range(runs):
            records, aggregate, codes = answered(data, epsilon, rng, _MOST_PEOPLE)
            for row in ("default", "product", "em-ll2"):
                method = "model-average" if row == "default" else row
                table = records.joint(aggregate, records.names, method=method).table
                errors[row].append(distances(table, codes))
            likelihood = likelihood_of(
                Content(records, aggregate.sparse("patterns")), tuple(range(5))
            )
            held = several(likelihood.few, rng)[0]
            rest = [c[:, None] - fold for c, fold in zip(likelihood.few, held, strict=True)]
            stops = stops_of(likelihood, held, rest, people(likelihood), rng)
            counts = [block.counts[:, None] for block in likelihood.blocks]
            wanted = ("pairwise", "forest")
            some = models(likelihood, stops, likelihood.blocks, counts, counts, None, wanted)
            for row, tables in some:
                errors[row].append(distances(tables[0], codes))
        means = {row: np.mean(each, axis=0) for row, each in errors.items()}
        best = np.min([means[row] for row in ("product", "pairwise", "em-ll2")], axis=0)
        for k in range(5):
            ratios.append(means["default"][k] / best[k])
            cells = " | ".join(f"{means[row][k]:.4f}" for row in rows)
            lines.append(f"| {name}, {epsilon:g} | {k + 1} | {cells} | {ratios[-1]:.2f} |")
            print(lines[-1], flush=True)
    summary = f"Mean ratio {np.mean(ratios):.3f}, largest {np.max(ratios):.2f}."
    return "\n".join([*lines, "", summary, ""])


def people(likelihood: Any) -> int:
    """How many records there are."""
    return int(sum(counts.sum() for counts in likelihood.few))


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
                    gap = _gap(part, [codes[a] for a in axes])
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


def _gap(found: Any, codes: list[Any]) -> Any:
    """How far each cell is from the truth."""
    values = found.table if found.biased else found.project().table
    truth = np.zeros(values.shape)
    np.add.at(truth, tuple(codes), 1 / codes[0].size)
    return np.abs(values - truth).ravel()


def _row(name: str, cells: Any, digits: int = 4) -> str:
    shown = ("–" if x is None else f"{x:.{digits}f}" for x in cells)
    return f"| {name} | {' | '.join(shown)} |"


def speed(people: int = 1_000_000) -> str:
    """A million records of eight attributes of eight values, everyone reporting all."""
    rng = np.random.default_rng(0)
    common = rng.integers(0, 8, people)
    table = {
        f"a{i}": np.where(rng.random(people) < 0.5, common, rng.integers(0, 8, people))
        for i in range(8)
    }
    records = sv.Records([sv.Attribute(name, 8) for name in table], epsilon_average=EPSILON)
    records.randomise({k: v[:100] for k, v in table.items()}, allocation="random")  # compile
    start = time.perf_counter()
    reports = records.randomise(table, allocation="random")
    drawn = time.perf_counter() - start
    packed = sum(column.nbytes for column in reports.columns.values())
    tracemalloc.start()
    records.randomise(table, allocation="random")
    held = tracemalloc.get_traced_memory()[1] / packed
    tracemalloc.stop()
    start = time.perf_counter()
    aggregate = records.aggregate(reports)
    counted = time.perf_counter() - start
    del reports, table
    start = time.perf_counter()
    found = records.joint(aggregate, ["a0", "a3", "a6"])
    fitted = time.perf_counter() - start
    start = time.perf_counter()
    _ = found.std_error
    errors = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return "\n".join(
        [
            "## Speed",
            "",
            f"{people:,} records of eight attributes of eight values; the joint of three",
            "attributes (512 cells) by the default.",
            "",
            "| | measured | wanted |",
            "| --- | ---: | ---: |",
            f"| randomise, s | {drawn:.1f} | ≤ 5 |",
            f"| memory while randomising, times the packed reports | {held:.2f} | ≤ 3 |",
            f"| aggregate, s | {counted:.1f} | – |",
            f"| three-way joint, s | {fitted:.0f} | ≤ 60 |",
            f"| its errors, s | {errors:.0f} | – |",
            f"| most memory of the process, GB | {memory:.2f} | ≤ 2 |",
            "",
            f"Machine: {describe()}.",
            "",
        ]
    )


def sections(text: str) -> dict[str, str]:
    """The sections of the page by their headings."""
    parts = re.split(r"(?m)^(?=## )", text)[1:]
    return {part.splitlines()[0][3:].lower(): part.rstrip("\n") + "\n" for part in parts}


def main() -> None:
    """Measure what was asked for, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    parser.add_argument("--only", choices=_PARTS, action="append", help="parts to measure")
    parser.add_argument("--runs", type=int, default=4, help="runs of each data set")
    parser.add_argument("--write", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args()
    warnings.simplefilter("ignore", FewTogetherWarning)  # of Car, whose pairs tell little
    measured = {"choice": choice, "intervals": intervals}
    for part in given.only or _PARTS:
        if part == "speed":
            made = speed()
        else:
            made = measured.get(part, partial(accuracy, part))(given.runs)
        print(made)
        kept = sections(given.write.read_text(encoding="utf-8")) if given.write.exists() else {}
        kept[part] = made
        ordered = [kept[name] for name in _PARTS if name in kept]
        given.write.write_text("\n".join([HEADER, *ordered]), encoding="utf-8")


if __name__ == "__main__":
    main()
