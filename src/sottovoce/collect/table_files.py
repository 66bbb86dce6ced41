"""Files that hold a table: which kind they are, their columns, and what is wrong with them."""

from __future__ import annotations

import codecs
import gzip
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from ..errors import AnswerError, FileError, MissingExtraError
from ..files import opened
from .csv_rows import BLOCK_BYTES, GZIP, header
from .dialect import PLAIN, Dialect
from .recognise import PARQUET, not_answers, recognise
from .workbooks import STARTS, read_sheet

TableForm = Literal["workbook", "Parquet", "gzip", "CSV"]


def names_in(path: Path, dialect: Dialect = PLAIN) -> list[str]:
    """The names of a file's columns."""
    require_pyarrow()
    with readable(path, dialect):
        form = table_form(path, dialect)
        if form == "workbook":
            return read_sheet(path, dialect).names
        if form != "Parquet":
            return header(path, dialect)
        from pyarrow import parquet

        with opened(path) as raw:
            return list(parquet.read_schema(raw).names)


@contextmanager
def readable(path: Path, dialect: Dialect = PLAIN) -> Iterator[None]:
    """Describe in our words what is wrong with a file."""
    pa = require_pyarrow()
    try:
        yield
    except UnicodeDecodeError as error:
        raise AnswerError(f"{str(path)!r} is {not_text(path, dialect)}") from error
    except (pa.ArrowException, EOFError, zlib.error, OSError) as error:
        if isinstance(error, FileError):
            raise
        if isinstance(error, pa.ArrowMemoryError):
            raise MemoryError from error
        if system := getattr(error, "strerror", None):
            raise FileError(f"cannot read {str(path)!r}: {system}") from error
        if "Empty CSV" in str(error):
            raise nobody(path) from error
        reason = _reason(error, path, dialect)
        raise AnswerError(f"{str(path)!r} cannot be read as a table: {reason}") from error


def not_text(path: Path, dialect: Dialect) -> str:
    """What is wrong with bytes that are no text in the expected encoding, and what to do."""
    if not dialect.is_utf8:
        return f"not text in {dialect.encoding}; give the right --encoding"
    with opened(path) as stream:
        if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "not text in UTF-8 but in UTF-16; add --encoding utf-16"
    return (
        "not text in UTF-8; for files of older spreadsheet programs add --encoding latin-1 (or "
        f"cp1252, utf-16), or convert it: iconv -f latin1 -t utf-8 {shlex.quote(str(path))} > "
        "converted.csv"
    )


def _reason(error: Exception, path: Path, dialect: Dialect) -> str:
    """What is wrong, never in a reader's own words: they may quote the file."""
    words = str(error)
    if "UTF8" in words:
        return f"it is {not_text(path, dialect)}"
    if "straddl" in words:
        return f"a row is longer than {BLOCK_BYTES:,} bytes; is a quote not closed?"
    if isinstance(error, (EOFError, gzip.BadGzipFile, zlib.error)) or "zlib" in words:
        return "its gzip compression is broken; fetch the file again"
    return "it is damaged, or neither CSV, Parquet nor a workbook"


def require_pyarrow() -> Any:
    """The package that reads tables, or an error that says how to get it."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "files", "a file of answers") from error
    return pa


def table_form(path: Path, dialect: Dialect) -> TableForm:
    """How a table is stored, by its first bytes.

    What cannot be a table of answers is refused, and so are options for other kinds of files.
    """
    mistaken = not_answers(path, recognise(path))
    if mistaken:
        raise AnswerError(mistaken)
    with opened(path) as stream:
        start = stream.read(4)
    if not start:
        raise AnswerError(f"{str(path)!r} is empty; the first line must name the columns")
    if start in STARTS:
        dialect.refuse_unused(f"{str(path)!r}, a workbook", "separator", "encoding")
        return "workbook"
    if start == PARQUET:
        dialect.refuse_unused(f"{str(path)!r}, a Parquet file")
        return "Parquet"
    dialect.refuse_unused(f"{str(path)!r}, which is not a workbook", "sheet")
    return "gzip" if start.startswith(GZIP) else "CSV"


def nobody(path: Path) -> AnswerError:
    """The error for a table without rows."""
    return AnswerError(f"{str(path)!r} has columns but no rows: nobody has answered yet")
