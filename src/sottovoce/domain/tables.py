"""Tables of answers: data frames, or mappings from names to columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import AnswerError, ParameterError
from .columns import Coded, Rows, first_few, first_row, refuse_randomised
from .values import Attribute


def columns_of(table: Any, names: Sequence[str]) -> list[Any]:
    """The columns of the attributes, all of one length."""
    refuse_randomised(table)
    if hasattr(table, "collect"):  # polars and other lazy frames
        raise AnswerError(f"{type(table).__name__} is lazy; call .collect() on it first")
    if isinstance(table, (str, bytes)) or not hasattr(table, "__getitem__"):
        raise AnswerError(
            f"a table is a data frame or a mapping from names to columns; {type(table).__name__} "
            "was given"
        )
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        raise AnswerError(
            f"a table needs a name for each column; {type(table).__name__} has none, so give a "
            f"mapping such as {{{names[0]!r}: …}}"
        )
    known = set(_names(table))  # read once: with many columns it is slow
    columns = [_column(table, name, names, known) for name in names]
    lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
    if len(set(lengths.values())) != 1:
        raise AnswerError(
            f"the columns have different lengths, {lengths}; they must have one row per person"
        )
    return columns


def _column(table: Any, name: str, names: Sequence[str], known: set[Any]) -> Any:
    if name not in known:
        raise AnswerError(
            f"the table has no column {name!r}; it needs one for each of {first_few(names)}"
        )
    column = table[name]
    if not has_rows(column) or getattr(column, "ndim", 1) != 1:
        raise AnswerError(
            f"the column {name!r} is {type(column).__name__}; it must hold one answer per "
            "person in order, such as a list"
        )
    return column


def has_rows(table: Any) -> bool:
    """Whether its rows have an order: not so for a set, a mapping or a scalar."""
    if isinstance(table, (str, bytes, Mapping)) or getattr(table, "ndim", 1) == 0:
        return False
    return hasattr(table, "__len__") and hasattr(table, "__getitem__")


def _names(table: Any) -> list[Any]:
    if isinstance(table, Mapping):
        return list(table)
    if hasattr(table, "column_names"):  # pyarrow
        return list(table.column_names)
    return list(table.columns)


def by_name(allocation: Any, names: Sequence[str]) -> Any:
    """Budgets in the order of the attributes, where the columns have names."""
    if not (isinstance(allocation, Mapping) or hasattr(allocation, "columns")):
        return allocation
    known = _names(allocation)
    if sorted(map(str, known)) != sorted(names):
        raise ParameterError(f"the allocation has the columns {known}; it needs {list(names)}")
    try:
        return np.column_stack([np.asarray(allocation[name], float) for name in names])
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "the allocation must be numbers, one per person and attribute, NaN where unreported"
        ) from error


def rows_of(column: Any, part: slice) -> Any:
    """Some rows of a column or table; the index of a data frame is ignored."""
    if hasattr(column, "iloc"):
        return column.iloc[part].to_numpy()
    some = column[part]
    if not isinstance(some, (list, tuple)):
        return some
    if all(type(item) is int for item in some):
        return np.array(some)
    if any(isinstance(item, (list, tuple, np.ndarray)) for item in some):
        return some
    array = np.empty(len(some), object)
    array[:] = some
    return array


def checked_reported(reported: Any, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Who reports what."""
    sent = np.asarray(reported)
    if sent.shape != shape or sent.dtype != bool:
        raise ParameterError(
            f"reported has the shape {sent.shape} and the type {sent.dtype}; it must be true or "
            f"false for each of {shape[0]} people and {shape[1]} attributes"
        )
    return sent


def answered(
    attributes: Iterable[Attribute], columns: Sequence[Any], part: slice, first: int
) -> NDArray[np.bool_]:
    """Who has an answer, where that is declared public; otherwise assumed of everyone."""
    sent = np.ones((part.stop - part.start, len(columns)), bool)
    for a, (attribute, column) in enumerate(zip(attributes, columns, strict=True)):
        if attribute.missing == "public":
            rows = range(first, first + len(sent))
            present = _encode(attribute, rows_of(column, part), rows).present
            sent[:, a] = True if present is None else present
    return sent


def codes_of(
    attributes: Iterable[Attribute],
    columns: Sequence[Any],
    sent: NDArray[np.bool_],
    first: int,
) -> NDArray[np.int64]:
    """Positions of the reported answers in their attributes, people × attributes.

    `first` is the first person's row in the whole table.
    """
    codes = np.zeros(sent.shape, np.int64)
    for a, (attribute, column) in enumerate(zip(attributes, columns, strict=True)):
        rows = np.flatnonzero(sent[:, a])
        if rows.size == 0:
            continue
        some = column if rows.size == len(sent) else _take(column, rows)
        coded = _encode(attribute, some, first + rows)
        if coded.present is not None:
            raise AnswerError(
                f"{attribute.name!r}: {int((~coded.present).sum())} people report it but have no "
                f"answer (the first at row {first_row(~coded.present, first + rows)}); give them "
                "NaN in the allocation, or False in reported"
            )
        codes[rows, a] = coded.codes
    return codes


def _encode(attribute: Attribute, answers: Any, rows: Rows) -> Coded:
    try:
        return attribute.coded(answers, rows=rows)
    except AnswerError as error:
        raise AnswerError(f"{attribute.name!r}: {error}") from error


def _take(column: Any, rows: NDArray[np.intp]) -> Any:
    if hasattr(column, "take") and not isinstance(column, np.ndarray):
        return column.take(rows)  # pyarrow
    return column[rows]
