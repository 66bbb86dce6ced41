"""The exact law of one way to take part, and what its reports reveal: for audits and laws."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contract.reports import Reports
from ..contract.way import Way
from ..mechanisms.channel import Channel
from .rows import blank_columns, inner_reports, put_rows

if TYPE_CHECKING:
    from .participation import Participation

SILENCE = -1
_ELSEWHERE = -2  # a report of another way than was chosen


def outcomes(table: Participation, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
    """Reports of the way that most of them name, silence, and reports of other ways."""
    columns = reports.columns
    silent = columns.get("silent", np.zeros(len(reports), np.uint16)).astype(np.int64)
    way = columns.get("way", np.zeros(len(reports), np.uint8)).astype(np.int64)
    people = np.maximum(silent, 1)
    main = int(np.bincount(way, weights=people, minlength=1).argmax()) if way.size else 0
    mine = way == main
    mechanism = table.way_mechanisms[main]
    spoken = inner_reports(columns, np.flatnonzero(mine & (silent == 0)), mechanism, reports.seeded)
    seen = np.asarray(mechanism.outcomes(spoken, x, y)).astype(np.int64)
    if len(table.ways()) > 1:  # the way that most of them name is visible as well
        seen = np.column_stack([seen, np.full(len(seen), main)])
    quiet = np.full(int(silent[mine].sum()), SILENCE)
    strange = np.repeat(_ELSEWHERE - way[~mine], people[~mine])
    marks = np.concatenate([quiet, strange])
    wide = np.repeat(marks[:, None], seen.shape[1], axis=1) if seen.ndim == 2 else marks
    return np.concatenate([seen, wide])


def every_report(table: Participation, way: Way) -> Reports:
    """All reports of one way; silence last."""
    mechanism = table.way_mechanisms[way.index]
    inner = mechanism.every_report().columns if way.rate > 0 else {}
    spoken = len(next(iter(inner.values()))) if inner else 0
    columns = blank_columns(table.layout, spoken + (way.rate < 1))
    put_rows(columns, slice(0, spoken), inner)
    if way.rate < 1:
        columns["silent"][spoken:] = 1
    if "way" in columns:
        columns["way"][:] = way.index
    return Reports(table.id, table.digest, columns)


def channel(table: Participation, way: Way) -> Channel:
    """The law of a report or silence given the answer and the public way."""
    law = table.way_mechanisms[way.index].channel()
    rate = Fraction(way.rate)
    rows = []
    for row in law.exact:
        spoken = tuple(rate * cell for cell in row) if rate > 0 else ()
        rows.append((*spoken, *((1 - rate,) if rate < 1 else ())))
    outputs = [*law.outputs] * (rate > 0) + ["silent"] * (rate < 1)
    return Channel(law.inputs, outputs, tuple(rows))
