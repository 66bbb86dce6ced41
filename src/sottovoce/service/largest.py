"""What a page shows of an estimate: its largest values, found without a row for every value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimate.estimate import Estimate

#: How many values a page shows of a question; the files have all.
MOST_ROWS = 60


@dataclass(frozen=True)
class Shown:
    """The rows of a page, how many more there are, and the width of the widest of all intervals."""

    rows: list[dict[str, Any]]
    hidden: int
    widest: float


def largest(result: Estimate) -> Shown:
    """The largest fractions in the order of the values; of numbers in other units, all."""
    low, high = result.interval()
    size = result.values.size
    places = largest_places(result.values, MOST_ROWS) if result.fractions else np.arange(size)
    rows = [
        {
            "value": result.labels[k],
            "estimate": float(result.values[k]),
            "low": float(low[k]),
            "high": float(high[k]),
        }
        for k in places.tolist()
    ]
    return Shown(rows, size - len(rows), float((high - low).max(initial=0.0)))


def largest_places(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Where the largest values are, in rising order; of equal ones the first count."""
    if values.size <= most:
        return np.arange(values.size)
    known = np.where(np.isnan(values), -np.inf, values)
    least = np.partition(known, known.size - most)[known.size - most]
    above = np.flatnonzero(known > least)
    equal = np.flatnonzero(known == least)[: most - above.size]
    return np.sort(np.concatenate([above, equal]))


def level_columns(levels: Mapping[str, Estimate]) -> tuple[list[Any], list[list[str]]]:
    """The first values, and for each level how large it estimates them to be."""
    first = next(iter(levels.values()))
    scale, sign = (100, " %") if first.fractions else (1, "")
    columns = []
    for part in levels.values():
        low, high = (end[:MOST_ROWS] for end in part.interval())
        numbers = zip(part.values[:MOST_ROWS], low, high, strict=True)
        columns.append(
            [f"{scale * v:.1f} ± {scale * (b - a) / 2:.1f}{sign}" for v, a, b in numbers]
        )
    return list(first.labels[:MOST_ROWS]), columns
