"""Comparing series of a figure, with standard errors in mind."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .results import Results, Row

#: Standard errors of a difference that count as a difference.
_CLEAR = 3.0


def apart(one: Row, other: Row) -> float:
    """By how many standard errors `one` lies above `other`."""
    error = math.hypot(one.std_error, other.std_error)
    difference = one.value - other.value
    return difference / error if error > 0 else math.copysign(math.inf, difference)


def below(one: Row, other: Row) -> bool:
    """Whether `one` is clearly smaller."""
    return apart(other, one) > _CLEAR and one.value < other.value


def points(results: Results) -> list[tuple[str, float | str]]:
    """Every panel and x that was measured."""
    return list(dict.fromkeys((row.panel, row.x) for row in results))


def rows_at(results: Results, point: tuple[str, float | str], names: Iterable[str]) -> list[Row]:
    """The rows of some series at one point."""
    rows = (results.get(*point, name) for name in names)
    return [row for row in rows if row is not None]


def least(rows: Iterable[Row]) -> Row:
    """The most accurate of some rows."""
    return min(rows, key=lambda row: row.value)


def ratios(pairs: Iterable[tuple[Row, Row]]) -> tuple[float, float]:
    """The smallest and largest ratio of two series."""
    every = [one.value / other.value for one, other in pairs]
    return min(every), max(every)
