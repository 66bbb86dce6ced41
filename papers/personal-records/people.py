"""The data sets: five attributes each, in public bins.

The paper says only that it buckets values. Adult and Car are cut as in the experiments behind our
own figures; nobody knows the bins of the paper.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.reproduce import Data

Columns = Mapping[str, Any]
People = tuple[list[sv.Attribute], dict[str, Any]]


def _adult(columns: Columns) -> People:
    """Age in quarters by rank, education-num below 9, 9, 10–12, from 13 on; three as they are."""
    age = columns["age"].astype(float)
    _, first, many = np.unique(age, return_inverse=True, return_counts=True)
    rank = (np.cumsum(many) - (many - 1) / 2)[first]  # average ranks
    table: dict[str, Any] = {
        "age": np.minimum(4 * rank / (age.size + 1), 3).astype(int),
        "education": np.searchsorted([9, 10, 13], columns["education-num"].astype(int), "right"),
    }
    attributes = [sv.Attribute("age", 4), sv.Attribute("education", 4)]
    names = ("marital-status", "relationship", "income")
    return attributes + _as_they_are(columns, names, table), table


def _abalone(columns: Columns) -> People:
    """Sex, and four measurements in bins of about equal counts."""
    edges = {
        "Length": [0, 0.35, 0.45, 0.55, 0.65, float("inf")],
        "Height": [0, 0.1, 0.15, 0.2, float("inf")],
        "Whole weight": [0, 0.4, 0.8, 1.2, float("inf")],
        "Rings": [1, 8, 10, 12, float("inf")],
    }
    plain = {re.sub("[^a-z]", "", name.lower()): values for name, values in columns.items()}
    table: dict[str, Any] = {"Sex": plain["sex"]}
    attributes = [sv.Attribute("Sex", ["F", "I", "M"])]
    for name, cuts in edges.items():
        table[name] = plain[re.sub("[^a-z]", "", name.lower())].astype(float)
        attributes.append(sv.Attribute.bins(name, cuts))
    return attributes, table


def _car(columns: Columns) -> People:
    """Five of its attributes, nearly independent."""
    table: dict[str, Any] = {}
    names = ("buying", "safety", "persons", "lug_boot", "class")
    return _as_they_are(columns, names, table), table


def _as_they_are(
    columns: Columns, names: tuple[str, ...], table: dict[str, Any]
) -> list[sv.Attribute]:
    """Attributes whose values are those of the column; they are put into the table."""
    attributes = []
    for name in names:
        table[name] = columns[name]
        attributes.append(sv.Attribute(name, sorted(set(columns[name].tolist()))))
    return attributes


def _synthetic() -> People:
    """6,000 made-up people with five related attributes."""
    rng = np.random.default_rng(2004)
    sizes = (4, 3, 5, 2, 4)
    kind = rng.integers(0, 2, 6000)
    table = {}
    for a, size in enumerate(sizes):
        laws = rng.dirichlet(np.full(size, 0.7), 2).cumsum(axis=1)[:, :-1]
        table[f"A{a}"] = (rng.random((kind.size, 1)) > laws[kind]).sum(axis=1)
    return [sv.Attribute(f"A{a}", size) for a, size in enumerate(sizes)], table


_READ: dict[str, Callable[[Columns], People]] = {
    "adult": _adult,
    "abalone": _abalone,
    "car": _car,
}


@cache
def people_of(name: str, data: Data) -> People:
    """The attributes of a data set and its columns."""
    return _synthetic() if name == "synthetic" else _READ[name](data(name))
