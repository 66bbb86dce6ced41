"""Rows of a CSV file one by one: its header, and the first row that cannot be read.

Columns are read by pyarrow; this is for what it does not say.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import AnswerError
from ..files import opened
from .dialect import Dialect

BLOCK_BYTES = 1 << 20  # of CSV parsed at once; a row must fit in


def header(path: Path, zipped: bool, dialect: Dialect) -> list[str]:
    """The names in the first line; not more than a block is ever unpacked for it."""
    with opened(path) as raw:
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw
        text, whole = dialect.start_of(stream, BLOCK_BYTES)
    if not whole and "\n" not in text and "\r" not in text:
        raise AnswerError(
            f"{str(path)!r}: the first line is longer than {BLOCK_BYTES:,} bytes; it must name the "
            "columns"
        )
    try:
        lines = io.StringIO(text, newline="")
        names = next(csv.reader(lines, delimiter=dialect.separator), [])
    except csv.Error as error:
        raise AnswerError(f"{str(path)!r} is not a CSV file ({error})") from error
    if not dialect.is_utf8:
        return names
    return [name.encode("latin-1").decode("utf-8") for name in names]


def first_odd_row(path: Path, zipped: bool, dialect: Dialect, cells: int) -> int | None:
    """The first row, from 0, with another number of cells."""
    with _rows(path, zipped, dialect) as rows:
        return _first(k for k, row in enumerate(rows) if len(row) != cells)


def first_broken_cell(path: Path, zipped: bool, dialect: Dialect, column: int) -> int | None:
    """The first row, from 0, whose cell in a column is not UTF-8."""
    with _rows(path, zipped, dialect) as rows:
        return _first(k for k, row in enumerate(rows) if _is_broken(row, column))


def _first(numbers: Iterator[int]) -> int | None:
    try:
        return next(numbers, None)
    except (csv.Error, OSError, EOFError, zlib.error):
        return None  # then the message does without


def _is_broken(row: list[str], column: int) -> bool:
    try:
        row[column].encode("latin-1").decode("utf-8") if column < len(row) else None
    except UnicodeDecodeError:
        return True
    return False


@contextmanager
def _rows(path: Path, zipped: bool, dialect: Dialect) -> Iterator[Iterator[list[str]]]:
    """The rows after the header without blank lines; of UTF-8 every byte stands for itself."""
    with opened(path) as raw:
        stream = gzip.GzipFile(fileobj=raw) if zipped else raw
        encoding = "latin-1" if dialect.is_utf8 else dialect.encoding
        lines = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
        rows = (row for row in csv.reader(lines, delimiter=dialect.separator) if row)
        next(rows, None)
        yield rows
