"""Rows of a report that belong to different ways to take part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..errors import WireError
from ..mechanisms.mechanism import Mechanism

_MOST_RUNS = 64


def widest_layout(layouts: Iterable[Sequence[Column]]) -> tuple[Column, ...]:
    """Columns wide enough for the reports of several mechanisms."""
    widest: dict[str, Column] = {}
    for layout in layouts:
        for column in layout:
            old = widest.get(column.name, column)
            dtype = np.promote_types(old.dtype, column.dtype).newbyteorder("<").str
            widest[column.name] = Column(column.name, dtype, max(old.width, column.width))
    return tuple(widest.values())


def blank_columns(layout: Sequence[Column], n: int) -> dict[str, NDArray[Any]]:
    """Columns of zeros."""
    return {column.name: np.zeros(column.shape(n), column.dtype) for column in layout}


def put_rows(into: Columns, rows: Any, columns: Columns) -> None:
    """Write narrower columns into some rows of wider ones."""
    for name, column in columns.items():
        if column.ndim == 1:
            into[name][rows] = column
        else:
            into[name][rows, : column.shape[1]] = column


def pick_rows(column: NDArray[Any], rows: Any) -> NDArray[Any]:
    """Some rows of a column: a slice, several slices, or a numpy index."""
    some: NDArray[Any] = (
        np.concatenate([column[run] for run in rows]) if isinstance(rows, list) else column[rows]
    )
    return some


def inner_reports(columns: Columns, rows: Any, mechanism: Mechanism, seeded: bool) -> Reports:
    """The reports of one mechanism, read back from some rows of wider columns."""
    own = {}
    for column in mechanism.layout:
        values = pick_rows(columns[column.name], rows)
        if column.width and values.shape[1] != column.width:
            values = np.ascontiguousarray(values[:, : column.width])
        own[column.name] = values.astype(column.dtype, copy=False)
    return Reports(mechanism.id, mechanism.digest, own, seeded)


def check_unused(
    columns: Columns, rows: Any, layout: Sequence[Column], wide: Sequence[Column]
) -> None:
    """Refuse content where a narrower report has none."""
    own = {column.name: column for column in layout}
    for column in wide:
        values = pick_rows(columns[column.name], rows)
        mine = own.get(column.name)
        if mine is None:
            spare = values
        elif column.width:
            spare = values[:, mine.width :]
        else:
            spare = values > np.iinfo(mine.dtype).max
        if np.any(spare):
            raise WireError(f"a report has content in {column.name!r} that its kind does not use")


def speaking_rows(silent: NDArray[Any]) -> tuple[Any, NDArray[np.intp]]:
    """The rows that are reports, for `pick_rows`, and the places of those that stand for silence.

    Silence stands in few rows, and `randomise` puts them together: then reports are runs of rows.
    """
    quiet = silent != 0
    places = np.flatnonzero(quiet)
    if not places.size or places[0] == silent.size - places.size:
        return slice(0, silent.size - places.size), places
    if places.size > _MOST_RUNS * 1024:
        return np.flatnonzero(~quiet), places
    starts, stops = np.append(0, places + 1), np.append(places, silent.size)
    some = stops > starts
    runs = [slice(*run) for run in zip(starts[some].tolist(), stops[some].tolist(), strict=True)]
    if len(runs) > _MOST_RUNS:
        return np.flatnonzero(~quiet), places
    return (runs[0] if runs else slice(0)) if len(runs) < 2 else runs, places


def read_only(tables: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    """Tables without other references, so that an aggregate need not copy them."""
    for table in tables.values():
        table.flags.writeable = False
    return dict(tables)
