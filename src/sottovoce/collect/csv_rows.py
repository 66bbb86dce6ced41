"""Rows of a CSV file one by one: its header, and the first row that cannot be read.

Columns are read by pyarrow; this is for what it does not say.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import AnswerError
from ..files import opened
from .dialect import Dialect

BLOCK_BYTES = 1 << 20  # of CSV parsed at once; a row must fit in
GZIP = b"\x1f\x8b"


def header(path: Path, dialect: Dialect) -> list[str]:
    """The names in the first line; not more than a block is ever unpacked for it."""
    with _byte_stream(path) as stream:
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
    if not any(name.strip() for name in names):
        raise AnswerError(f"{str(path)!r}: the first line is blank; it must name the columns")
    if not dialect.is_utf8:
        return names
    return [name.encode("latin-1").decode("utf-8") for name in names]


def first_row(path: Path, dialect: Dialect, is_bad: Callable[[list[str]], bool]) -> int | None:
    """The first bad row, from 0, header not counted; None where it is not found.

    An empty line is a row only where there is one column. Of UTF-8 every byte stands for itself.
    """
    with _byte_stream(path) as stream:
        encoding = "latin-1" if dialect.is_utf8 else dialect.encoding
        lines = io.TextIOWrapper(stream, encoding, errors="replace", newline="")
        reader = csv.reader(lines, delimiter=dialect.separator)
        try:
            alone = len(next(reader, [])) == 1
            rows = (row or [""] for row in reader if row or alone)
            return next((k for k, row in enumerate(rows) if is_bad(row)), None)
        except (csv.Error, OSError, EOFError, zlib.error):
            return None  # then the message does without


def is_broken(row: list[str], column: int) -> bool:
    """Whether the cell in a column is not UTF-8."""
    try:
        row[column].encode("latin-1").decode("utf-8") if column < len(row) else None
    except UnicodeDecodeError:
        return True
    return False


@contextmanager
def _byte_stream(path: Path) -> Iterator[BinaryIO]:
    with opened(path) as raw:
        zipped = raw.read(len(GZIP)) == GZIP
        raw.seek(0)
        yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw
