"""Files that hold a table: which kind they are, their columns, and what is wrong with them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import AnswerError, FileError, MissingExtraError
from ..files import opened
from .csv_rows import BLOCK_BYTES, header

GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
_NOT_ANSWERS = {
    b"SVRP": "holds reports: these answers are randomised already",
    b"SVAG": "holds counts of reports, not answers",
    b"SVPT": "holds counts of reports, not answers",
    b"PK\x03\x04": "is a zip or Excel file; save the table as CSV or Parquet",
}


def names_in(path: Path) -> list[str]:
    """The names of a file's columns."""
    require_pyarrow()
    with readable(path):
        start = first_bytes(path)
        if start != PARQUET:
            return header(path, start.startswith(GZIP))
        with opened(path) as raw:
            return list(parquet_schema(path, raw).names)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Describe in our words what is wrong with a file."""
    pa = require_pyarrow()
    try:
        yield
    except UnicodeDecodeError as error:
        raise AnswerError(f"{str(path)!r} is not text in UTF-8; convert it") from error
    except pa.ArrowMemoryError as error:
        raise MemoryError from error
    except (pa.ArrowException, EOFError, gzip.BadGzipFile, zlib.error) as error:
        if "Empty CSV" in str(error):
            raise nobody(path) from error
        reason = _reason(error)
        raise AnswerError(f"{str(path)!r} cannot be read as a table: {reason}") from error
    except OSError as error:
        if isinstance(error, FileError):
            raise
        if error.strerror is None:  # a reader's own words, which may quote the file
            reason = _reason(error)
            raise AnswerError(f"{str(path)!r} cannot be read as a table: {reason}") from error
        raise FileError(f"cannot read {str(path)!r}: {error.strerror}") from error


def _reason(error: Exception) -> str:
    """What is wrong, never in a reader's own words: they may quote the file."""
    words = str(error)
    if "UTF8" in words:
        return "it is not text in UTF-8; convert it"
    if "straddl" in words:
        return f"a row is longer than {BLOCK_BYTES:,} bytes; is a quote not closed?"
    if isinstance(error, (EOFError, gzip.BadGzipFile, zlib.error)) or "zlib" in words:
        return "its gzip compression is broken; fetch the file again"
    return "it is damaged, or neither CSV nor Parquet"


def require_pyarrow() -> Any:
    """The package that reads tables, or an error that says how to get it."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "files", "a file of answers") from error
    return pa


def first_bytes(path: Path) -> bytes:
    """The file's first bytes, refusing what cannot be a table of answers."""
    with opened(path) as stream:
        start = stream.read(4)
    for magic, reason in _NOT_ANSWERS.items():
        if start == magic:
            raise AnswerError(f"{str(path)!r} {reason}")
    if not start:
        raise AnswerError(f"{str(path)!r} is empty; the first line must name the columns")
    return start


def nobody(path: Path) -> AnswerError:
    """The error for a table without rows."""
    return AnswerError(f"{str(path)!r} has columns but no rows: nobody has answered yet")


def parquet_schema(path: Path, raw: Any) -> Any:
    """The columns of a Parquet file, unless it holds reports."""
    from pyarrow import parquet

    schema = parquet.read_schema(raw)
    if b"sottovoce" in (schema.metadata or {}):
        raise AnswerError(f"{str(path)!r} {_NOT_ANSWERS[b'SVRP']}")
    return schema
