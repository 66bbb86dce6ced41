"""Columns of a CSV or Parquet file, read a chunk at a time, or of a workbook.

Only the columns that are asked for are read, and no row is ever dropped on the way: an empty
cell, and in a file of one column an empty line, is a missing entry.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from ..domain.near_miss import no_answer
from ..errors import AnswerError
from ..files import opened
from .csv_rows import BLOCK_BYTES, first_row, header, is_broken
from .dialect import PLAIN, Dialect
from .progress import Done
from .table_files import nobody, not_text, readable, require_pyarrow, table_form
from .workbooks import cell_text, read_sheet

Kind = Literal["text", "whole numbers", "numbers"]

_MOST_BYTES = 1 << 25  # of Parquet columns decoded at once; one more is read ahead
_MOST_THREADS = 4
_MOST_SHOWN = 60
_EXACT = 1 << 53  # below, floats represent every whole number
EMPTY = "an empty cell"  # what a missing answer is in a file
_THOUSANDS = re.compile(r"\s*-?[0-9]{1,3}(,[0-9]{3})+\b")
_ODD_ROW = re.compile(r"CSV parse error: (?:Row #\d+: )?Expected \d+ columns, got (\d+)")


@dataclass(frozen=True)
class Wanted:
    """What a column must hold, why, and what to do where it is missing.

    `empty_is_text` where an empty cell is an entry like others; `absent` are words that, in a
    column of numbers, say that there is none; without `quoted`, no message repeats a cell.
    """

    kind: Kind
    why: str = "the question asks for"
    remedy: str = "choose one with --column"
    empty_is_text: bool = False
    absent: tuple[str, ...] = ()
    quoted: bool = True


@dataclass(frozen=True)
class Columns:
    """Some columns of a file."""

    path: Path
    wanted: Mapping[str, Wanted]
    may_be_empty: bool = False
    dialect: Dialect = PLAIN

    def chunks(self, rows: int, done: Done) -> Iterator[tuple[int, Any]]:
        """Tables of `rows` rows, each with the number of its first row, from 0.

        `done` is called with the number of bytes read from the file.
        """
        pa = require_pyarrow()
        first = 0
        with readable(self.path, self.dialect):
            form = table_form(self.path, self.dialect)
            if form == "workbook":
                tables = self._sheet(pa, done)
            elif form == "Parquet":
                tables = self._parquet(pa, rows, done)
            else:
                tables = self._csv(pa, form == "gzip", done)
            for table in _regroup(pa, tables, rows):
                yield first, table
                first += table.num_rows
        if first == 0 and not self.may_be_empty:
            raise nobody(self.path)

    def place(self, column: str, row: int) -> str:
        """Where something is, for messages."""
        return f"{str(self.path)!r}, column {column!r}, row {row + 1:,} (header not counted)"

    # --- CSV ------------------------------------------------------------------------------------

    def _csv(self, pa: Any, zipped: bool, done: Done) -> Iterator[Any]:
        from pyarrow import csv as arrow_csv

        names = header(self.path, self.dialect)
        self._check_columns(names)
        coded = pa.dictionary(pa.int32(), pa.string())
        types = {n: coded if w.kind == "text" else pa.string() for n, w in self.wanted.items()}
        convert = arrow_csv.ConvertOptions(
            include_columns=list(self.wanted),
            column_types=types,  # never guessed: "007" stays "007"
            null_values=[] if self._mixed else [""],
            strings_can_be_null=True,
        )
        parse = arrow_csv.ParseOptions(
            delimiter=self.dialect.separator,
            newlines_in_values=True,
            # With one column an empty line is a person who did not answer, not a blank.
            ignore_empty_lines=len(names) > 1,
        )
        # The reader converts any encoding that it does not call utf8.
        encoding = "utf8" if self.dialect.is_utf8 else self.dialect.encoding
        read = arrow_csv.ReadOptions(block_size=BLOCK_BYTES, encoding=encoding)
        pa.set_cpu_count(min(pa.cpu_count(), _MOST_THREADS))  # each reads blocks ahead
        raw = pa.OSFile(os.fsencode(self.path))
        stream = pa.CompressedInputStream(raw, "gzip") if zipped else raw
        first = 0
        try:
            for batch in arrow_csv.open_csv(stream, read, parse, convert):
                arrays = [
                    self._convert(pa, batch.column(name), name, wanted, first)
                    for name, wanted in self.wanted.items()
                ]
                yield pa.table(arrays, names=list(self.wanted))
                first += batch.num_rows
                done(raw.tell())
        except pa.ArrowInvalid as error:
            # A handler of such rows would be given their text, and fail where it is not UTF-8.
            odd = _ODD_ROW.match(str(error))
            defect = self._defect(names, odd and odd[1], "UTF8" in str(error))
            if defect is None:
                raise
            raise defect from error

    def _defect(self, names: Sequence[str], odd: str | None, broken: bool) -> AnswerError | None:
        """What is wrong in which row and column, never quoted; `odd` is the number of its cells."""
        if odd is not None:
            row = first_row(self.path, self.dialect, lambda cells: len(cells) != len(names))
            where = "" if row is None else f", row {row + 1:,} (header not counted)"
            return AnswerError(
                f"{str(self.path)!r}{where}: the number of cells is {odd}, and the header names "
                f"{len(names)} columns; correct the file (a cell with "
                f"{self.dialect.separator!r} in it stands in double quotes)"
            )
        for name in self.wanted if broken else ():
            row = first_row(self.path, self.dialect, partial(is_broken, column=names.index(name)))
            if row is not None:
                return AnswerError(f"{self.place(name, row)}: {not_text(self.path, self.dialect)}")
        return None

    @cached_property
    def _mixed(self) -> bool:
        """Whether an empty cell is text in some column; the reader knows one rule for all."""
        return any(wanted.empty_is_text for wanted in self.wanted.values())

    def _convert(self, pa: Any, array: Any, name: str, wanted: Wanted, first: int) -> Any:
        absent = wanted.absent
        if self._mixed and not wanted.empty_is_text:
            absent = ("", *absent)
        if absent:
            array = _without(pa, array, absent)
        return array if wanted.kind == "text" else self._numbers(pa, array, name, wanted, first)

    def _numbers(self, pa: Any, array: Any, name: str, wanted: Wanted, first: int) -> Any:
        from pyarrow import compute

        if self.dialect.decimal == ",":
            array = compute.replace_substring(array, ",", ".")
        whole = wanted.kind == "whole numbers"
        convert = partial(_whole_numbers if whole else _plain_numbers, pa)
        try:
            return convert(array)
        except pa.ArrowInvalid:
            trimmed = compute.utf8_trim_whitespace(array)
        try:
            return convert(trimmed)
        except pa.ArrowInvalid:
            row = _first_bad(pa, trimmed, convert)
        entry = array[row].as_py()
        comma = wanted.quoted and "," in entry and self.dialect.decimal == "."
        raise AnswerError(
            f"{self.place(name, first + row)}: {shown(entry) if wanted.quoted else 'this'} is not "
            + ("a whole number" if whole else "a number")
            + f", and {wanted.why} {wanted.kind}; correct the file"
            + (no_answer(entry, EMPTY) if wanted.quoted else "")
            + (", or add --decimal , for a decimal comma" if comma else "")
            + (" (a comma between thousands must go)" if comma and _THOUSANDS.match(entry) else "")
        )

    # --- workbooks ------------------------------------------------------------------------------

    def _sheet(self, pa: Any, done: Done) -> Iterator[Any]:
        sheet = read_sheet(self.path, self.dialect)
        names, rows = sheet.names, sheet.rows
        self._check_columns(names, sheet.hint)
        arrays = []
        for name, wanted in self.wanted.items():
            place = names.index(name)
            cells = (cell_text(row[place]) for row in rows)
            entries = [cell if cell or wanted.empty_is_text else None for cell in cells]
            array = pa.array(entries, pa.string())
            array = array.dictionary_encode() if wanted.kind == "text" else array
            arrays.append(self._convert(pa, array, name, wanted, 0))
        yield pa.table(arrays, names=list(self.wanted))
        done(self.path.stat().st_size)

    # --- Parquet --------------------------------------------------------------------------------

    def _parquet(self, pa: Any, rows: int, done: Done) -> Iterator[Any]:
        from pyarrow import parquet

        with opened(self.path) as raw:
            schema = parquet.read_schema(raw)
            self._check_columns(schema.names)
            for name, wanted in self.wanted.items():
                kind = schema.field(name).type
                if not _fits(pa, kind, wanted.kind):
                    coded = pa.types.is_dictionary(kind)
                    held = f"categories of {kind.value_type}" if coded else kind
                    raise AnswerError(
                        f"{str(self.path)!r}: the column {name!r} holds {held}, and {wanted.why} "
                        f"{wanted.kind}; convert the column, or choose another"
                    )
            raw.seek(0)
            # Unbuffered by column: a file may be one row group of many millions of rows.
            file = parquet.ParquetFile(
                raw,
                read_dictionary=[name for name, w in self.wanted.items() if w.kind == "text"]
                or None,
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

    def _check_columns(self, names: Sequence[str], hint: str = "") -> None:
        from ..domain.columns import first_few

        counts = Counter(names)
        for column, wanted in self.wanted.items():
            if counts[column] == 1:
                continue
            if column in counts:
                raise AnswerError(
                    f"{str(self.path)!r} has {counts[column]} columns named {column!r}; "
                    "rename all but one"
                )
            known = wanted.quoted or counts.keys() & self.wanted.keys()
            held = f"it has {first_few(names, 20)}" if known else "its first line may be a row"
            raise AnswerError(
                f"{str(self.path)!r} has no column {column!r}; {held}; "
                + (_other_first_line(names) or wanted.remedy + hint)
            )


def _other_first_line(names: Sequence[str]) -> str:
    """What to do where the first line was read as one name, or is not that of the names."""
    if names and names[0].startswith("sep="):
        return "remove the first line, which is for spreadsheet programs, and give its --separator"
    if not all(name.strip() for name in names):
        return "some have no name: remove what is above the row that names the columns"
    signs = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
    word = next((word for sign, word in signs.items() if len(names) == 1 and sign in names[0]), "")
    return word and f"if {word} separates the cells, add --separator {word}"


def _without(pa: Any, array: Any, words: Sequence[str]) -> Any:
    """The same cells, missing where they are one of these words."""
    from pyarrow import compute

    plain = array.cast(pa.string())
    return compute.if_else(
        compute.is_in(plain, pa.array(words)), pa.scalar(None, pa.string()), plain
    )


def _regroup(pa: Any, tables: Iterator[Any], rows: int) -> Iterator[Any]:
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


def shown(entry: Any) -> str:
    """A cell in a message; of a long one the beginning."""
    text = repr(entry)
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"


def _fits(pa: Any, kind: Any, wanted: Kind) -> bool:
    """Whether a Parquet column's type can hold what is wanted."""
    types = pa.types
    plain = kind.value_type if types.is_dictionary(kind) else kind
    allowed = [types.is_null]  # nobody answered
    if wanted == "text":
        allowed += [types.is_string, types.is_large_string, types.is_string_view]
    else:  # whole numbers may come as floats: data frames make them so when some are missing
        allowed += [types.is_integer, types.is_floating, types.is_decimal]
    return any(is_one(plain) for is_one in allowed)


def _plain_numbers(pa: Any, array: Any) -> Any:
    from pyarrow import compute

    return compute.cast(array, pa.float64())


def _whole_numbers(pa: Any, array: Any) -> Any:
    """Also those written as 1.0: a data frame with gaps writes them so."""
    from pyarrow import compute

    try:
        return compute.cast(array, pa.int64())
    except pa.ArrowInvalid:
        floats = compute.cast(array, pa.float64())
        if compute.any(compute.greater_equal(compute.abs(floats), float(_EXACT))).as_py():
            raise  # it may have been rounded
        return compute.cast(floats, pa.int64())


def _first_bad(pa: Any, array: Any, convert: Callable[[Any], Any]) -> int:
    """Where the first cell is that does not convert, by halving."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            convert(array.slice(low, middle - low))
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low
