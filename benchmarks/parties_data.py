"""What the benchmarks between parties share: data sets, splits of them, and opened sums.

The data sets are read from the folder that SOTTOVOCE_DATA names. No protocol runs here: noise is
drawn with numpy from its exact law.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.parties.design import Design
from sottovoce.parties.methods import Method

from .records_data import read

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
#: ε of the parties that want most privacy.
LEVELS = (0.1, 0.3, 0.5)
TITLES = {
    "nltcs": "NLTCS",
    "adult": "Adult, five attributes",
    "adult-all": "Adult, all attributes",
}
_NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
_BINS = 16  # of equal width


class OneNoise(Design):
    """A design whose noise is generated once, without slack for colluding parties."""

    @property
    def honest(self) -> int:
        """All, so that the shares in the sum make up one noise."""
        return len(self.budgets)


def noise(scale: Any, shape: float, size: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """The difference of two negative binomial numbers: shares/honest = `shape` Laplace laws."""
    p = -math.expm1(-1 / float(scale))
    return rng.negative_binomial(shape, p, size) - rng.negative_binomial(shape, p, size)


def row_sums(
    method: Method, design: Design, tables: dict[str, Integers], rng: np.random.Generator
) -> list[Integers]:
    """What parties with rows would open."""
    sums = []
    for release in method.releases(design):
        total = np.zeros(design.cells, np.int64)
        for party, weight in release.weights.items():
            kept = float((release.kept or {}).get(party, 1))
            total += weight * (tables[party] if kept == 1 else rng.binomial(tables[party], kept))
        others = tuple(a for a in range(len(design.shape)) if a not in release.axes)
        counts = total.reshape(design.shape).sum(axis=others)
        shape = release.shares / release.honest
        sums.append(counts + noise(release.scale, shape, counts.shape, rng))
    return sums


def column_sums(
    method: Method, design: Design, table: Integers, rng: np.random.Generator
) -> list[Integers]:
    """What parties with columns would open."""
    sums = []
    for release in method.releases(design):
        kept = float(math.prod((release.kept or {"": 1}).values()))
        counts = table if kept == 1 else rng.binomial(table, kept)
        others = tuple(a for a in range(table.ndim) if a not in release.axes)
        counts = counts.sum(axis=others)
        if release.gaussian is not None:
            sigma = math.sqrt(release.variance)
            drawn = np.rint(rng.normal(0, sigma, counts.shape)).astype(np.int64)
        else:
            shape = release.shares / release.honest
            drawn = noise(release.scale, shape, counts.shape, rng)
        sums.append(counts + drawn)
    return sums


def budgets_of(least: float, groups: tuple[int, int, int]) -> dict[str, Fraction]:
    """ε_min, (1 + ε_min)/2 and 1, for so many parties each."""
    low = Fraction(str(least))
    levels = (low, (1 + low) / 2, Fraction(1))
    each = [level for level, many in zip(levels, groups, strict=True) for _ in range(many)]
    return {f"P{k + 1}": level for k, level in enumerate(each)}


def split_rows(codes: Floats, split: str, parties: int, rng: np.random.Generator) -> list[Integers]:
    """Row numbers of each party: random rows, or consecutive parts along a random direction."""
    people = len(codes)
    if split == "iid":
        order = rng.permutation(people)
    else:
        standard = (codes - codes.mean(axis=0)) / codes.std(axis=0)
        score = standard @ rng.normal(size=codes.shape[1])
        order = np.argsort(score / score.std() + 0.3 * rng.normal(size=people))
    parts = np.array_split(order, parties)
    return [parts[k] for k in rng.permutation(parties)]


def read_codes(name: str) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """All rows as codes, and the sizes of the attributes."""
    if name == "adult":
        data = read(name)
        columns = [attribute.encode(data.table[attribute.name]) for attribute in data.attributes]
        return np.stack(columns, axis=1).astype(np.int64), tuple(a.size for a in data.attributes)
    folder = os.environ.get("SOTTOVOCE_DATA")
    if not folder:
        raise SystemExit("set SOTTOVOCE_DATA to the folder with the data sets")
    file = Path(folder) / f"{name.removesuffix('-all')}.csv.gz"
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    columns, sizes = [], []
    for column in rows[0]:
        values = [row[column] for row in rows]
        if column in _NUMBERS:
            number = np.array(values, float)
            place = (number - number.min()) / np.ptp(number) * _BINS
            columns.append(np.minimum(place.astype(np.int64), _BINS - 1))
            sizes.append(_BINS)
        else:
            labels, code = np.unique(values, return_inverse=True)
            columns.append(code)
            sizes.append(labels.size)
    return np.stack(columns, axis=1), tuple(sizes)


def count_cells(codes: Integers, sizes: tuple[int, ...]) -> Integers:
    """The table of some columns, in row-major order."""
    cells = np.ravel_multi_index(tuple(codes.T), sizes)
    return np.bincount(cells, minlength=math.prod(sizes))
