"""What was measured: one row for each panel, point and series."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ParameterError
from .figure import Curve, Job, Measured


@dataclass(frozen=True)
class Row:
    """The mean of the repeats and its standard error; exact numbers have no repeats."""

    panel: str
    x: float | str
    series: str
    value: float
    std_error: float
    repeats: int
    people: int | None
    seed: int

    @property
    def key(self) -> tuple[str, float | str, str]:
        """What identifies the row within a figure."""
        return self.panel, self.x, self.series

    def as_dict(self) -> dict[str, Any]:
        """For JSON and CSV."""
        return dict(self.__dict__)


def rows_of(job: Job, measured: Mapping[str, Measured | Curve], seed: int) -> list[Row]:
    """Means and standard errors of what a job measured."""
    rows = []
    points = (
        (x, series, values)
        for series, curve in measured.items()
        for x, values in (curve.items() if isinstance(curve, Mapping) else [(job.x, curve)])
    )
    for x, series, values in points:
        repeats = np.asarray(values, float)
        if not np.isfinite(repeats).all():
            raise ParameterError(f"{series} at {job.panel}, {x} is not finite: {values!r}")
        exact = repeats.ndim == 0
        error = 0.0 if exact else float("nan")
        if repeats.size > 1:
            error = float(repeats.std(ddof=1) / math.sqrt(repeats.size))
        many = 0 if exact else repeats.size
        rows.append(Row(job.panel, x, series, float(repeats.mean()), error, many, job.people, seed))
    return rows


class Results:
    """The rows of one figure, as claims look at them, and why some jobs were skipped."""

    def __init__(
        self, rows: Iterable[Row], skipped: Mapping[tuple[str, float | str], str] | None = None
    ) -> None:
        self.rows = list(rows)
        self.skipped = dict(skipped or {})
        self._at = {row.key: row for row in self.rows}

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def get(self, panel: str, x: float | str, series: str) -> Row | None:
        """The row, or None where it was not measured."""
        return self._at.get((panel, x, series))

    def panels(self) -> list[str]:
        """The panels in the order of the figure."""
        return list(dict.fromkeys(row.panel for row in self.rows))

    def series(self, panel: str | None = None) -> list[str]:
        """The series of a panel, or of all of them."""
        rows = (row for row in self.rows if panel is None or row.panel == panel)
        return list(dict.fromkeys(row.series for row in rows))

    def line(self, panel: str, series: str) -> list[Row]:
        """The rows of one series in one panel, in the order of the jobs."""
        return [row for row in self.rows if row.panel == panel and row.series == series]

    def pairs(self, one: str, other: str) -> list[tuple[Row, Row]]:
        """Rows of two series that were measured at the same points."""
        twins = ((row, self.get(row.panel, row.x, other)) for row in self.rows)
        return [(row, twin) for row, twin in twins if row.series == one and twin is not None]
