"""Columns of a CSV or Parquet file, read a chunk at a time.

Only the columns that are asked for are read, and no row is ever dropped on the way: an empty
cell, and in a file of one column an empty line, is a missing entry.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import AnswerError, FileError, MissingExtraError
from ..files import opened
from .csv_rows import BLOCK_BYTES, first_broken_cell, first_odd_row, header
from .kinds import Kind, first_bad, fits, shown
from .progress import Done

_MOST_BYTES = 1 << 26  # of Parquet columns decoded at once
_MOST_THREADS = 4
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_NOT_ANSWERS = {
    b"SVRP": "holds reports: these answers are randomised already",
    b"SVAG": "holds counts of reports, not answers",
    b"SVPT": "holds counts of reports, not answers",
    b"PK\x03\x04": "is a zip or Excel file; save the table as CSV or Parquet",
}


@dataclass(frozen=True)
class Wanted:
    """What a column must hold, why, and what to do where it is missing.

    `empty_is_text` where an empty cell is an entry like others; `absent` are words that, in a
    column of numbers, say that there is none.
    """

    kind: Kind
    why: str = "the question asks for"
    remedy: str = "choose one with --column"
    empty_is_text: bool = False
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """Some columns of a file."""

    path: Path
    wanted: Mapping[str, Wanted]

    def chunks(self, rows: int, done: Done) -> Iterator[tuple[int, Any]]:
        """Tables of `rows` rows, each with the number of its first row, from 0.

        `done` is called with the number of bytes read from the file.
        """
        pa = _pyarrow()
        first = 0
        with readable(self.path):
            start = _start(self.path)
            tables = (
                self._parquet(pa, rows, done)
                if start == _PARQUET
                else self._csv(pa, start.startswith(_GZIP), done)
            )
            for table in _regrouped(pa, tables, rows):
                yield first, table
                first += table.num_rows
        if first == 0:
            raise _nobody(self.path)

    def place(self, column: str, row: int) -> str:
        """Where something is, for messages."""
        return f"{str(self.path)!r}, column {column!r}, row {row + 1:,} (header not counted)"

    # --- CSV ------------------------------------------------------------------------------------

    def _csv(self, pa: Any, zipped: bool, done: Done) -> Iterator[Any]:
        from pyarrow import csv as arrow_csv

        names = header(self.path, zipped)
        self._check_columns(names)
        coded = pa.dictionary(pa.int32(), pa.string())
        types = {name: coded if w.kind == "text" else pa.string() for name, w in self._each}
        convert = arrow_csv.ConvertOptions(
            include_columns=list(self.wanted),
            column_types=types,  # never guessed: "007" stays "007"
            null_values=[] if self._mixed else [""],
            strings_can_be_null=True,
        )
        pa.set_cpu_count(min(pa.cpu_count(), _MOST_THREADS))  # each reads blocks ahead
        raw = pa.OSFile(os.fsencode(self.path))
        stream = pa.CompressedInputStream(raw, "gzip") if zipped else raw

        def open_csv(note: Callable[[Any], str]) -> Any:
            parse = arrow_csv.ParseOptions(
                newlines_in_values=True,
                # With one column an empty line is a person who did not answer, not a blank.
                ignore_empty_lines=len(names) > 1,
                invalid_row_handler=note,
            )
            read = arrow_csv.ReadOptions(block_size=BLOCK_BYTES)
            return arrow_csv.open_csv(stream, read, parse, convert)

        first = 0
        for batch in self._checked(open_csv, names, zipped):
            arrays = [
                self._converted(pa, batch.column(name), name, wanted, first)
                for name, wanted in self._each
            ]
            yield pa.table(arrays, names=list(self.wanted))
            first += batch.num_rows
            done(raw.tell())

    def _checked(
        self, open_csv: Callable[..., Any], names: Sequence[str], zipped: bool
    ) -> Iterator[Any]:
        """The reader's batches; what is malformed is refused by row and column, never quoted."""
        odd: list[int] = []

        def note(row: Any) -> str:
            odd.append(row.actual_columns)
            return "error"

        try:
            yield from open_csv(note)
        except _pyarrow().ArrowInvalid as error:
            if odd:
                row = first_odd_row(self.path, zipped, len(names))
                raise AnswerError(
                    f"{str(self.path)!r}{_row_words(row)}: the number of cells is {odd[0]}, and "
                    f"the header names {len(names)} columns; correct the file (a cell with a comma "
                    "stands in double quotes)"
                ) from error
            if "UTF8" not in str(error):
                raise
            for name in self.wanted:
                row = first_broken_cell(self.path, zipped, names.index(name))
                if row is not None:
                    where = self.place(name, row)
                    raise AnswerError(f"{where}: not text in UTF-8; convert the file") from error
            raise

    @property
    def _each(self) -> list[tuple[str, Wanted]]:
        return list(self.wanted.items())

    @cached_property
    def _mixed(self) -> bool:
        """Whether an empty cell is text in some column; the reader knows one rule for all."""
        return any(wanted.empty_is_text for wanted in self.wanted.values())

    def _converted(self, pa: Any, array: Any, name: str, wanted: Wanted, first: int) -> Any:
        absent = wanted.absent
        if self._mixed and not wanted.empty_is_text:
            absent = ("", *absent)
        if absent:
            array = _without(pa, array, absent)
        return array if wanted.kind == "text" else self._numbers(pa, array, name, wanted, first)

    def _numbers(self, pa: Any, array: Any, name: str, wanted: Wanted, first: int) -> Any:
        from pyarrow import compute

        whole = wanted.kind == "whole numbers"
        target = pa.int64() if whole else pa.float64()
        try:
            return compute.cast(array, target)
        except pa.ArrowInvalid:
            trimmed = compute.utf8_trim_whitespace(array)
        try:
            return compute.cast(trimmed, target)
        except pa.ArrowInvalid:
            row = first_bad(pa, trimmed, target)
        raise AnswerError(
            f"{self.place(name, first + row)}: {shown(array[row].as_py())} is not "
            + ("a whole number" if whole else "a number")
            + f", and {wanted.why} {wanted.kind}; correct the file"
        )

    # --- Parquet --------------------------------------------------------------------------------

    def _parquet(self, pa: Any, rows: int, done: Done) -> Iterator[Any]:
        from pyarrow import parquet

        with opened(self.path) as raw:
            schema = _parquet_schema(self.path, raw)
            self._check_columns(schema.names)
            for name, wanted in self._each:
                kind = schema.field(name).type
                if not fits(pa, kind, wanted.kind):
                    raise AnswerError(
                        f"{str(self.path)!r}: the column {name!r} holds {kind}, and {wanted.why} "
                        f"{wanted.kind}; convert the column, or choose another"
                    )
            raw.seek(0)
            # Unbuffered by column: a file may be one row group of many millions of rows.
            file = parquet.ParquetFile(
                raw,
                read_dictionary=[name for name, w in self._each if w.kind == "text"] or None,
                buffer_size=BLOCK_BYTES,
                pre_buffer=False,
            )
            size, read, total = self.path.stat().st_size, 0, max(file.metadata.num_rows, 1)
            rows = min(rows, self._rows_at_once(file.metadata))
            for batch in file.iter_batches(batch_size=rows, columns=list(self.wanted)):
                yield pa.Table.from_batches([batch])
                read += batch.num_rows
                done(size * read // total)

    def _rows_at_once(self, metadata: Any) -> int:
        """As many rows as take a bounded number of bytes in every row group."""
        least = _MOST_BYTES
        for k in range(metadata.num_row_groups):
            group = metadata.row_group(k)
            if group.num_rows == 0:
                continue
            columns = (group.column(c) for c in range(group.num_columns))
            size = sum(
                column.total_uncompressed_size
                for column in columns
                if column.path_in_schema.partition(".")[0] in self.wanted
            )
            least = min(least, _MOST_BYTES * group.num_rows // max(size, 1))
        return max(1, least)

    def _check_columns(self, names: Sequence[str]) -> None:
        from ..domain.columns import first_few

        counts = Counter(names)
        for column, wanted in self._each:
            if counts[column] == 1:
                continue
            if column in counts:
                raise AnswerError(
                    f"{str(self.path)!r} has {counts[column]} columns named {column!r}; "
                    "rename all but one"
                )
            sign = next((s for s in ";\t|" if len(names) == 1 and s in names[0]), None)
            raise AnswerError(
                f"{str(self.path)!r} has no column {column!r}; it has {first_few(names, 20)}; "
                f"{wanted.remedy}"
                + (f" (columns must be separated by commas, not {sign!r})" if sign else "")
            )


def _without(pa: Any, array: Any, words: Sequence[str]) -> Any:
    """The same cells, missing where they are one of these words."""
    from pyarrow import compute

    plain = array.cast(pa.string())
    return compute.if_else(
        compute.is_in(plain, pa.array(words)), pa.scalar(None, pa.string()), plain
    )


def names_in(path: Path) -> list[str]:
    """The names of a file's columns."""
    _pyarrow()
    with readable(path):
        start = _start(path)
        if start != _PARQUET:
            return header(path, start.startswith(_GZIP))
        with opened(path) as raw:
            return list(_parquet_schema(path, raw).names)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Describe in our words what is wrong with a file."""
    pa = _pyarrow()
    try:
        yield
    except UnicodeDecodeError as error:
        raise AnswerError(f"{str(path)!r} is not text in UTF-8; convert it") from error
    except pa.ArrowMemoryError as error:
        raise MemoryError from error
    except (pa.ArrowException, EOFError, gzip.BadGzipFile, zlib.error) as error:
        if "Empty CSV" in str(error):
            raise _nobody(path) from error
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


def _row_words(row: int | None) -> str:
    return "" if row is None else f", row {row + 1:,} (header not counted)"


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "files", "a file of answers") from error
    return pa


def _start(path: Path) -> bytes:
    """The file's first bytes, refusing what cannot be a table of answers."""
    with opened(path) as stream:
        start = stream.read(4)
    for magic, reason in _NOT_ANSWERS.items():
        if start == magic:
            raise AnswerError(f"{str(path)!r} {reason}")
    if not start:
        raise AnswerError(f"{str(path)!r} is empty; the first line must name the columns")
    return start


def _nobody(path: Path) -> AnswerError:
    return AnswerError(f"{str(path)!r} has columns but no rows: nobody has answered yet")


def _parquet_schema(path: Path, raw: Any) -> Any:
    from pyarrow import parquet

    schema = parquet.read_schema(raw)
    if b"sottovoce" in (schema.metadata or {}):
        raise AnswerError(f"{str(path)!r} {_NOT_ANSWERS[b'SVRP']}")
    return schema


def _regrouped(pa: Any, tables: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same rows in tables of `rows`, or of fewer where they take many bytes."""
    waiting: list[Any] = []
    size = nbytes = 0
    for table in tables:
        waiting.append(table)
        size += table.num_rows
        nbytes += table.nbytes
        if size < rows and nbytes < _MOST_BYTES:
            continue
        joined = pa.concat_tables(waiting)
        whole = size - size % rows if nbytes < _MOST_BYTES else size
        for start in range(0, whole, rows):
            yield joined.slice(start, min(rows, whole - start))
        rest = joined.slice(whole)
        waiting, size, nbytes = [rest], rest.num_rows, rest.nbytes
    if size:
        yield pa.concat_tables(waiting)
