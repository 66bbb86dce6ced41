"""The people of the experiments: data sets as codes, and how parties divide their rows."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.reproduce import Data

Integers = NDArray[np.int64]
#: Columns of Adult that are numbers; the paper cuts those into 16 ranges of equal width.
_NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
_RANGES = 16
#: How closely the rows of a party follow the direction along which non-iid parties differ.
_BLUR = 0.3

_codes: dict[tuple[int, str], tuple[Integers, tuple[int, ...]]] = {}


def codes_of(name: str, data: Data) -> tuple[Integers, tuple[int, ...]]:
    """All rows of a data set as positions, and the sizes of its attributes."""
    if name == "synthetic":
        return _synthetic()
    key = (id(data), name)
    if key not in _codes:
        _codes[key] = _read(name, data)
    return _codes[key]


def _read(name: str, data: Data) -> tuple[Integers, tuple[int, ...]]:
    columns, sizes = [], []
    for column, values in data(name).items():
        if column in _NUMBERS:
            number = values.astype(float)
            place = (number - number.min()) / np.ptp(number) * _RANGES
            columns.append(np.minimum(place.astype(np.int64), _RANGES - 1))
            sizes.append(_RANGES)
        else:
            labels, code = np.unique(values, return_inverse=True)
            columns.append(code.astype(np.int64))
            sizes.append(labels.size)
    return np.stack(columns, axis=1), tuple(sizes)


@cache
def _synthetic() -> tuple[Integers, tuple[int, ...]]:
    """20,000 made-up people with eight related attributes of four values."""
    rng = np.random.default_rng(2002)
    kind = rng.integers(0, 3, 20_000)
    laws = rng.dirichlet(np.full(4, 0.6), (3, 8)).cumsum(axis=2)
    drawn = rng.random((kind.size, 8, 1)) > laws[kind][:, :, :-1]
    return drawn.sum(axis=2).astype(np.int64), (4,) * 8


def divide(codes: Integers, split: str, parties: int, rng: np.random.Generator) -> list[Integers]:
    """Row numbers of each party, equally many: random rows, or neighbours along a direction.

    Not iid, rows are sorted by a random linear score of their standardised codes, with a little
    noise, and cut into parts; which party gets which part is random.
    """
    if split == "iid":
        order = rng.permutation(len(codes))
    else:
        standard = (codes - codes.mean(axis=0)) / codes.std(axis=0)
        score = standard @ rng.normal(size=codes.shape[1])
        order = np.argsort(score / score.std() + _BLUR * rng.normal(size=len(codes)))
    parts = np.array_split(order, parties)
    return [parts[k] for k in rng.permutation(parties)]


def count_cells(codes: Integers, shape: tuple[int, ...]) -> Integers:
    """The table of some columns, flat in row-major order."""
    cells = np.ravel_multi_index(tuple(codes.T), shape)
    return np.bincount(cells, minlength=math.prod(shape))
