"""True answers in a CSV or Parquet file, read a chunk at a time.

Only the one column that is asked for is read, and no answer is ever dropped on the way: an empty
cell, and in a file of one column an empty line, is a missing answer, which the study decides on.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...errors import AnswerError, FileError, MissingExtraError
from ...files import opened

if TYPE_CHECKING:
    from ...domain import Domain

Kind = Literal["text", "whole numbers", "numbers"]
Done = Callable[[int], None]

_BLOCK_BYTES = 1 << 20  # of CSV parsed at once; a row must fit in
_MOST_THREADS = 4
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_NOT_ANSWERS = {
    b"SVRP": "holds reports: these answers are randomised already",
    b"SVAG": "holds counts of reports, not answers",
    b"PK\x03\x04": "is a zip or Excel file; save the table as CSV or Parquet",
}


@dataclass(frozen=True)
class Answers:
    """One column of a file."""

    path: Path
    column: str
    domain: Domain

    def chunks(self, rows: int, done: Done) -> Iterator[tuple[int, Any]]:
        """The column in pieces of `rows` rows, each with the number of its first row, from 0.

        `done` is told how many bytes of the file have been read.
        """
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtraError.of("pyarrow", "files", "a file of answers") from error
        first = 0
        with self._readable(pa):
            for chunk in _regrouped(pa, self._arrays(pa, rows, done), rows):
                yield first, chunk
                first += len(chunk)
        if first == 0:
            raise self._nobody()

    @property
    def kind(self) -> Kind:
        """What the column must hold."""
        if self.domain.edges is not None:
            return "numbers"
        values = self.domain.values
        if isinstance(values, range) or all(isinstance(value, int) for value in values):
            return "whole numbers"
        if all(isinstance(value, str) for value in values):
            return "text"
        raise AnswerError(
            "the question's values mix text and whole numbers, which a file's column cannot; "
            'write all of them as text in the study, such as "1"'
        )

    def refused(self, chunk: Any, first: int) -> AnswerError | None:
        """Which answer of a chunk is not allowed, in which row, and what to do."""
        import numpy as np

        from ...encoding import as_column, first_few

        column, domain = as_column(chunk), self.domain
        if domain.edges is not None:
            numbers = column.numbers()
            absent = np.isnan(numbers)
            outside = (numbers < domain.edges[0]) | (numbers > domain.edges[-1])
            outside &= not getattr(domain, "clip", False)
            what = "bins, which go" if len(domain.edges) > 2 else "numbers"
            allowed = f"the {what} from {domain.edges[0]:g} to {domain.edges[-1]:g}"
        else:
            codes, _ = column.positions(domain.values)
            absent, outside = codes == -1, codes == -2
            allowed = f"the {len(domain.values):,} values {first_few(domain.values)}"
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            return AnswerError(
                f"{self._row(first + row)}: the answer {chunk[row].as_py()!r} is not among "
                f"{allowed}; correct the file, or begin a study that declares the answer"
            )
        if absent.any() and domain.missing == "refuse":
            row = int(np.flatnonzero(absent)[0])
            return AnswerError(
                f"{self._row(first + row)}: there is no answer, and leaving people out by what "
                'they answered would leak it; begin a study with missing = "value" ("no answer" '
                'is then a value like the others), or "public" if who did not answer is publicly '
                "known"
            )
        return None

    def _row(self, row: int) -> str:
        return f"{str(self.path)!r}, column {self.column!r}, row {row + 1:,} (header not counted)"

    def _arrays(self, pa: Any, rows: int, done: Done) -> Iterator[Any]:
        with opened(self.path) as stream:
            start = stream.read(4)
        for magic, reason in _NOT_ANSWERS.items():
            if start == magic:
                raise AnswerError(f"{str(self.path)!r} {reason}")
        if not start:
            raise AnswerError(f"{str(self.path)!r} is empty; the first line must name the columns")
        if start == _PARQUET:
            return self._parquet(pa, rows, done)
        return self._csv(pa, start.startswith(_GZIP), done)

    # --- CSV ------------------------------------------------------------------------------------

    def _csv(self, pa: Any, zipped: bool, done: Done) -> Iterator[Any]:
        from pyarrow import csv as arrow_csv

        names = self._header(zipped)
        self._check_column(names)
        kind = self.kind
        text = pa.dictionary(pa.int32(), pa.string()) if kind == "text" else pa.string()
        convert = arrow_csv.ConvertOptions(
            include_columns=[self.column],
            column_types={self.column: text},  # never guessed: "007" stays "007"
            null_values=[] if "" in self.domain.values else [""],
            strings_can_be_null=True,
        )
        parse = arrow_csv.ParseOptions(
            newlines_in_values=True,
            # With one column an empty line is a person who did not answer, not a blank.
            ignore_empty_lines=len(names) > 1,
        )
        pa.set_cpu_count(min(pa.cpu_count(), _MOST_THREADS))  # each reads blocks ahead
        raw = pa.OSFile(str(self.path))
        stream = pa.CompressedInputStream(raw, "gzip") if zipped else raw
        reader = arrow_csv.open_csv(
            stream,
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=parse,
            convert_options=convert,
        )
        first = 0
        for batch in reader:
            array = batch.column(0)
            yield array if kind == "text" else self._numbers(pa, array, kind, first)
            first += len(array)
            done(raw.tell())

    def _header(self, zipped: bool) -> list[str]:
        with opened(self.path) as raw:
            stream = gzip.GzipFile(fileobj=raw) if zipped else raw
            lines = io.TextIOWrapper(stream, "utf-8-sig", newline="")
            try:
                return next(csv.reader(lines), [])
            except csv.Error as error:
                raise AnswerError(f"{str(self.path)!r} is not a CSV file ({error})") from error

    def _numbers(self, pa: Any, array: Any, kind: Kind, first: int) -> Any:
        from pyarrow import compute

        wanted = pa.int64() if kind == "whole numbers" else pa.float64()
        try:
            return compute.cast(array, wanted)
        except pa.ArrowInvalid:
            trimmed = compute.utf8_trim_whitespace(array)
        try:
            return compute.cast(trimmed, wanted)
        except pa.ArrowInvalid:
            row = _first_bad(pa, trimmed, wanted)
        raise AnswerError(
            f"{self._row(first + row)}: {array[row].as_py()!r} is not "
            + ("a whole number" if kind == "whole numbers" else "a number")
            + f", and the question asks for {kind}; correct the file"
        )

    # --- Parquet --------------------------------------------------------------------------------

    def _parquet(self, pa: Any, rows: int, done: Done) -> Iterator[Any]:
        from pyarrow import parquet

        with opened(self.path) as raw:
            schema = parquet.read_schema(raw)
            if b"sottovoce" in (schema.metadata or {}):
                raise AnswerError(f"{str(self.path)!r} {_NOT_ANSWERS[b'SVRP']}")
            self._check_column(schema.names)
            kind = schema.field(self.column).type
            if not _fits(pa, kind, self.kind):
                raise AnswerError(
                    f"{str(self.path)!r}: the column {self.column!r} holds {kind}, and the "
                    f"question asks for {self.kind}; convert the column, or choose another"
                )
            raw.seek(0)
            # Unbuffered by column: a file may be one row group of many millions of rows.
            file = parquet.ParquetFile(
                raw,
                read_dictionary=[self.column] if self.kind == "text" else None,
                buffer_size=_BLOCK_BYTES,
                pre_buffer=False,
            )
            size, read, total = self.path.stat().st_size, 0, max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(batch_size=rows, columns=[self.column]):
                yield batch.column(0)
                read += batch.num_rows
                done(size * read // total)

    # --- what can be wrong ----------------------------------------------------------------------

    def _check_column(self, names: Sequence[str]) -> None:
        from ...encoding import first_few

        if names.count(self.column) == 1:
            return
        if self.column in names:
            raise AnswerError(
                f"{str(self.path)!r} has {names.count(self.column)} columns named "
                f"{self.column!r}; rename all but one"
            )
        separator = next((s for s in ";\t|" if len(names) == 1 and s in names[0]), None)
        raise AnswerError(
            f"{str(self.path)!r} has no column {self.column!r}; it has {first_few(names, 20)}; "
            "choose one with --column"
            + (f" (columns must be separated by commas, not {separator!r})" if separator else "")
        )

    def _nobody(self) -> AnswerError:
        return AnswerError(f"{str(self.path)!r} has columns but no rows: nobody has answered yet")

    @contextmanager
    def _readable(self, pa: Any) -> Iterator[None]:
        """Say in our words what the readers found wrong."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise AnswerError(f"{str(self.path)!r} is not text in UTF-8; convert it") from error
        except (pa.ArrowException, EOFError, gzip.BadGzipFile) as error:
            reason = str(error)
            if "Empty CSV" in reason:
                raise self._nobody() from error
            if "UTF8" in reason:
                reason = "not text in UTF-8; convert it"
            elif "straddl" in reason:
                reason = f"a row is longer than {_BLOCK_BYTES:,} bytes; is a quote not closed?"
            raise AnswerError(f"{str(self.path)!r} cannot be read as a table: {reason}") from error
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"cannot read {str(self.path)!r}: {error}") from error


def _regrouped(pa: Any, arrays: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same column in pieces of exactly `rows`, only the last one shorter."""
    held: list[Any] = []
    size = 0
    for array in arrays:
        held.append(array)
        size += len(array)
        if size < rows:
            continue
        joined = pa.chunked_array(held)
        for start in range(0, size - rows + 1, rows):
            yield joined.slice(start, rows)
        rest = joined.slice(size - size % rows)
        held, size = list(rest.chunks), len(rest)
    if size:
        yield pa.chunked_array(held)


def _fits(pa: Any, kind: Any, wanted: Kind) -> bool:
    types = pa.types
    plain = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_null(plain):
        return True  # nobody answered
    if wanted == "text":
        return bool(
            types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)
        )
    # Whole numbers may come as floats: data frames make them so when some are missing.
    return bool(types.is_integer(plain) or types.is_floating(plain))


def _first_bad(pa: Any, array: Any, wanted: Any) -> int:
    """Where the first cell is that does not convert, by halving."""
    from pyarrow import compute

    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            compute.cast(array.slice(low, middle - low), wanted)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low
