"""The tables that the benchmarks of records use, and reports of the people in them.

The data sets are read from the folder that SOTTOVOCE_DATA names.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.errors import EstimateError
from sottovoce.records.joint.evidence import evidence_of


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
    bins = "; ".join(f"{name} {', '.join(f'{x:g}' for x in e)}" for name, e in edges.items())
    return Data(attributes, table, f"Sex, and bins with the edges {bins}")


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


def _plain(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())


def title(name: str) -> str:
    """What a data set is called in text."""
    return "NLTCS" if name == "nltcs" else name.capitalize()


def read(name: str) -> Data:
    """A data set from SOTTOVOCE_DATA."""
    folder = os.environ.get("SOTTOVOCE_DATA")
    if not folder:
        raise SystemExit("set SOTTOVOCE_DATA to the folder with the data sets, such as car.csv.gz")
    with gzip.open(Path(folder) / f"{name}.csv.gz", "rt", encoding="utf-8") as stream:
        return DATA[name](list(csv.DictReader(stream)))


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
        away = [np.abs((table - truth).sum(axis=others)).sum() / 2 for others in sets]
        means.append(float(np.mean(away)))
    return means


def gaps(estimate: Any, codes: list[Any]) -> Any:
    """How far each cell is from the truth."""
    values = estimate.table if estimate.biased else estimate.project().table
    truth = np.zeros(values.shape)
    np.add.at(truth, tuple(codes), 1 / codes[0].size)
    return np.abs(values - truth).ravel()
