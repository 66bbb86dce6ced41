"""Reports in files: the wire form (`.svr`) or Parquet, written atomically, read in batches."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, MergeError, MissingExtraError, WireError
from ..files import opened, whole_file
from . import wire
from .reports import Column, Expected, Reports

Form = Literal["svr", "parquet"]
_KEY = b"sottovoce"
_ROWS = 1 << 16  # read at once, or fewer where they are wide
_BYTES = 1 << 24
_MOST_ABOUT = 1 << 16  # bytes of a Parquet file's description of its reports


def form_of(path: str | os.PathLike[str]) -> Form:
    """Parquet for `.parquet` and `.pq`, the wire form for everything else."""
    return "parquet" if Path(path).suffix.lower() in (".parquet", ".pq") else "svr"


class ReportWriter:
    """Writes batches of one kind to a file that appears only when it is complete.

    Use as a context manager; after an error there is no file.
    """

    def __init__(
        self, path: str | os.PathLike[str], form: Form | None = None, *, replace: bool = True
    ) -> None:
        self._path = path
        self._replace = replace
        self._form = form or form_of(path)
        self._stack = ExitStack()
        self._held: Reports | None = None
        self._stream: BinaryIO
        self._parquet: Any = None

    def __enter__(self) -> ReportWriter:
        if self._form == "parquet":
            _pyarrow()
        self._stream = self._stack.enter_context(whole_file(self._path, replace=self._replace))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            if self._held is None:
                raise FileError(f"no reports were given for {os.fspath(self._path)!r}")
            self._write(self._held, more=False)
            if self._parquet is not None:
                self._parquet.close()

    def append(self, reports: Reports) -> None:
        """Add a batch; it must be of the same collection and digest as the others."""
        if self._held is not None:
            same = (reports.collection, reports.digest, reports.seeded)
            if same != (self._held.collection, self._held.digest, self._held.seeded):
                raise MergeError(
                    "a file holds reports of one collection under one study; start another file"
                )
            if not len(reports):
                return  # only a file without any reports has an empty envelope
            if len(self._held):
                self._write(self._held, more=True)
        self._held = reports

    def _write(self, reports: Reports, *, more: bool) -> None:
        if self._form == "svr":
            self._stream.write(wire.header(reports, more=more))
            for body in wire.bodies(reports):
                self._stream.write(body)
            return
        table = _to_table(reports)
        if self._parquet is None:
            import pyarrow.parquet as pq

            # Random bits do not compress, and dictionaries of them only cost time.
            self._parquet = pq.ParquetWriter(
                self._stream, table.schema, compression="none", use_dictionary=False
            )
            self._stack.callback(self._abandon)
        self._parquet.write_table(table)

    def _abandon(self) -> None:
        # After an error the file is discarded; its writer must not try again when collected.
        with suppress(Exception):
            self._parquet.close()
        self._parquet.is_open = False


def read_batches(
    path: str | os.PathLike[str], *, expect: Expected, form: Form | None = None
) -> Iterator[Reports]:
    """The batches of a report file, each checked, in little memory."""
    with opened(path) as stream:
        try:
            if (form or _sniff(stream)) == "svr":
                yield from _joined(wire.decode_stream(stream, expect=expect))
            else:
                yield from _joined(_parquet_batches(stream, expect))
        except WireError as error:
            raise type(error)(f"{os.fspath(path)!r}: {error}") from error


def _joined(batches: Iterator[Reports]) -> Iterator[Reports]:
    """The same reports in larger batches: a file may consist of very many small ones."""
    held: list[Reports] = []
    rows = size = 0
    for batch in batches:
        same = held and (batch.collection, batch.digest, batch.seeded) == (
            held[0].collection,
            held[0].digest,
            held[0].seeded,
        )
        if same and not len(batch):
            continue
        if held and not (same and rows + len(batch) <= _ROWS and size + batch.nbytes <= _BYTES):
            yield Reports.concatenate(held)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
    if held:
        yield Reports.concatenate(held)


def _sniff(stream: BinaryIO) -> Form:
    start = stream.read(4)
    stream.seek(0)
    return "parquet" if start == b"PAR1" else "svr"


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "files", "Parquet") from error
    return pyarrow


def _arrow_type(column: Column) -> Any:
    pa = _pyarrow()
    return pa.binary(column.nbytes) if column.width else pa.from_numpy_dtype(column.dtype)


def _to_table(reports: Reports) -> Any:
    pa = _pyarrow()
    arrays = []
    for data in reports.columns.values():
        if data.ndim == 2:
            buffer = pa.py_buffer(np.ascontiguousarray(data))
            kind = pa.binary(data.shape[1] * data.itemsize)
            arrays.append(pa.FixedSizeBinaryArray.from_buffers(kind, len(data), [None, buffer]))
        else:
            arrays.append(pa.array(data))
    about = {
        "version": wire.VERSION,
        "collection": reports.collection,
        "digest": reports.digest.hex(),
        "seeded": reports.seeded,
    }
    table = pa.table(arrays, names=list(reports.columns))
    return table.replace_schema_metadata({_KEY: json.dumps(about)})


def _parquet_batches(stream: BinaryIO, expect: Expected) -> Iterator[Reports]:
    pa = _pyarrow()
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream, pre_buffer=False)
        collection, digest, seeded = _about(file.schema_arrow.metadata)
        expected = expect.match(collection, digest)
        schema = pa.schema([(column.name, _arrow_type(column)) for column in expected.layout])
        if not file.schema_arrow.equals(schema):
            raise WireError(
                f"the columns are {file.schema_arrow.names} of {file.schema_arrow.types}; reports "
                f"of {collection!r} have {schema.names} of {schema.types}"
            )
        rows = max(1, min(_ROWS, _BYTES // sum(column.nbytes for column in expected.layout)))
        empty = file.metadata.num_rows == 0
        batches = [schema.empty_table()] if empty else file.iter_batches(batch_size=rows)
        left = file.metadata.num_rows
        for batch in batches:
            left -= batch.num_rows
            columns = {c.name: _from_arrow(batch.column(c.name), c) for c in expected.layout}
            expected.check(columns)
            yield Reports(collection, digest, columns, seeded)
        if left:
            raise WireError(f"{left:,} of the {file.metadata.num_rows:,} reports are missing")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise WireError(f"not a readable Parquet file ({error})") from error


def _about(metadata: dict[bytes, bytes] | None) -> tuple[str, bytes, bool]:
    try:
        text = (metadata or {})[_KEY]
        if len(text) > _MOST_ABOUT:
            raise ValueError("too long")
        about = json.loads(text)
        version, collection = about["version"], about["collection"]
        digest, seeded = bytes.fromhex(about["digest"]), about["seeded"]
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise WireError(
            "this Parquet file does not say that it holds reports; pass files of true answers to "
            "`randomise` instead"
        ) from error
    if version != wire.VERSION:
        raise WireError(f"the reports are of version {version}; this release reads {wire.VERSION}")
    if not isinstance(collection, str) or len(digest) != 32 or not isinstance(seeded, bool):
        raise WireError("the file's description of its reports is malformed")
    return collection, digest, seeded


def _from_arrow(array: Any, column: Column) -> NDArray[Any]:
    if array.null_count:
        raise WireError(f"the column {column.name!r} has empty cells; a report has none")
    if not column.width:
        plain: NDArray[Any] = array.to_numpy().astype(column.dtype, copy=False)
        return plain
    n = len(array)
    if n == 0:
        return np.zeros(column.shape(0), column.dtype)
    data = np.frombuffer(array.buffers()[1], column.dtype)
    start = array.offset * column.width
    return data[start : start + n * column.width].reshape(column.shape(n))
