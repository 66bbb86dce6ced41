"""Reports in Parquet files: the columns of the wire form, and its head in the metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, BinaryIO
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtraError, WireError
from ..files import is_address
from .codec import VERSION
from .reports import BATCH_BYTES, BATCH_ROWS, Column, Expected, Reports

_KEY = b"sottovoce"
_MOST_ABOUT = 1 << 16  # bytes of a file's description of its reports
_MOST_AT_ONCE = 1 << 26  # bytes of row groups that are fetched from a store together


def require_pyarrow() -> Any:
    """The package that reads and writes Parquet, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "files", "Parquet") from error
    return pyarrow


@contextmanager
def _readable() -> Iterator[tuple[Any, Any]]:
    """pyarrow and its part for Parquet, whose errors become ours."""
    pa = require_pyarrow()
    import pyarrow.parquet as pq

    try:
        yield pa, pq
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise WireError(f"not a readable Parquet file ({error})") from error


def _arrow_type(column: Column) -> Any:
    pa = require_pyarrow()
    return pa.binary(column.nbytes) if column.width else pa.from_numpy_dtype(column.dtype)


def to_table(reports: Reports) -> Any:
    """Reports as an Arrow table whose metadata say what they are."""
    pa = require_pyarrow()
    arrays = []
    for data in reports.columns.values():
        if data.ndim == 2:
            buffer = pa.py_buffer(np.ascontiguousarray(data))
            kind = pa.binary(data.shape[1] * data.itemsize)
            arrays.append(pa.FixedSizeBinaryArray.from_buffers(kind, len(data), [None, buffer]))
        else:
            arrays.append(pa.array(data))
    about = {
        "version": VERSION,
        "collection": reports.collection,
        "digest": reports.digest.hex(),
        "seeded": reports.seeded,
    }
    table = pa.table(arrays, names=list(reports.columns))
    return table.replace_schema_metadata({_KEY: json.dumps(about)})


def parquet_batches(
    stream: BinaryIO,
    expect: Expected,
    *,
    cut: tuple[int, int] | None = None,
    folders: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Reports]:
    """The batches of a Parquet file or of the row groups from cut[0] to before cut[1], checked.

    `folders` are columns that a partitioned data set has in the names of its folders: they stand
    for a column of the reports that the file lacks.
    """
    with _readable() as (pa, pq):
        file = _open(pa, pq, stream, cut)
        collection, digest, seeded = _about(file.schema_arrow.metadata)
        expected = expect.match(collection, digest)
        stored = [c for c in expected.layout if c.name in file.schema_arrow.names]
        known = [c for c in expected.layout if c not in stored and c.name in folders]
        own = [c for c in expected.layout if c not in known]
        schema = pa.schema([(column.name, _arrow_type(column)) for column in own])
        if _types(file.schema_arrow) != _types(schema):
            raise WireError(
                f"the columns are {file.schema_arrow.names} of {file.schema_arrow.types}; reports "
                f"of {collection!r} have {schema.names} of {schema.types}"
            )
        constant = {c.name: _from_folder(folders[c.name], c) for c in known}
        rows = max(
            1, min(BATCH_ROWS, BATCH_BYTES // sum(column.nbytes for column in expected.layout))
        )
        sizes = _group_rows(file.metadata)
        groups = list(range(*cut or (0, len(sizes))))
        if cut and cut[1] > len(sizes):
            raise WireError(f"{len(sizes)} row groups are there, and {cut[1]} were; it changed")
        left = whole = sum(sizes[k] for k in groups)
        some = file.iter_batches(batch_size=rows, row_groups=groups)
        for batch in some if whole else [schema.empty_table()]:
            left -= batch.num_rows
            columns = {
                c.name: np.full(batch.num_rows, constant[c.name], c.dtype)
                if c.name in constant
                else _from_arrow(batch.column(c.name), c)
                for c in expected.layout
            }
            expected.check(columns)
            yield Reports(collection, digest, columns, seeded)
        if left:
            raise WireError(f"{left:,} of the {whole:,} reports are missing")


def _open(pa: Any, pq: Any, stream: BinaryIO, cut: tuple[int, int] | None) -> Any:
    """The file, whose row groups may be larger than memory.

    Objects of a store are read in few large requests: at once what is not too large for it.
    """
    metadata = pq.read_metadata(stream)
    groups = range(*cut or (0, metadata.num_row_groups))
    some = (metadata.row_group(k) for k in groups if k < metadata.num_row_groups)
    remote = isinstance(stream, pa.NativeFile)
    at_once = remote and sum(group.total_byte_size for group in some) <= _MOST_AT_ONCE
    step = BATCH_BYTES // 4 if remote else BATCH_BYTES // 64
    return pq.ParquetFile(
        stream,
        metadata=metadata,
        pre_buffer=at_once,
        buffer_size=0 if at_once else step,
        page_checksum_verification=True,
    )


def _group_rows(metadata: Any) -> list[int]:
    """How many rows each row group has, which must add up to those of the file.

    The lengths of columns are not compared: Arrow ends the process over some that are damaged.
    """
    rows = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
    if sum(rows) != metadata.num_rows:
        raise WireError(f"the row groups have {sum(rows):,} of {metadata.num_rows:,} reports")
    return rows


def _types(schema: Any) -> list[tuple[str, Any]]:
    """The columns with their types; their order, and how values are encoded, do not matter."""
    plain = ((f.name, f.type.value_type if _has_dictionary(f.type) else f.type) for f in schema)
    return sorted(plain, key=str)


def _has_dictionary(kind: Any) -> bool:
    return hasattr(kind, "index_type")  # of a dictionary


def cut_parquet(stream: BinaryIO, *, rows: int) -> Iterator[tuple[int, int]]:
    """Runs of row groups with about so many reports; only the file's footer is read."""
    with _readable() as (_, pq):
        sizes = _group_rows(pq.read_metadata(stream))
    start = many = 0
    for k, size in enumerate(sizes, 1):
        many += size
        if many >= rows or k == len(sizes):
            yield start, k
            start, many = k, 0
    if not sizes:
        yield 0, 0


def _from_folder(text: str, column: Column) -> int:
    """The value that a folder such as way=3 states for all reports below it."""
    most = 0 if column.width else int(np.iinfo(column.dtype).max)
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
        raise WireError(
            f"a folder says {column.name}={text}; the column {column.name!r} has integers "
            f"up to {most}"
        )
    return int(text)


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
    if version != VERSION:
        raise WireError(f"the reports are of version {version}; this release reads {VERSION}")
    if not isinstance(collection, str) or len(digest) != 32 or not isinstance(seeded, bool):
        raise WireError("the file's description of its reports is malformed")
    return collection, digest, seeded


def _from_arrow(array: Any, column: Column) -> NDArray[Any]:
    if array.null_count:
        raise WireError(f"the column {column.name!r} has empty cells; a report has none")
    if _has_dictionary(array.type):
        array = array.dictionary_decode()
    if not column.width:
        plain: NDArray[Any] = array.to_numpy().astype(column.dtype, copy=False)
        return plain
    n = len(array)
    if n == 0:
        return np.zeros(column.shape(0), column.dtype)
    data = np.frombuffer(array.buffers()[1], column.dtype)
    start = array.offset * column.width
    return data[start : start + n * column.width].reshape(column.shape(n))


def folder_values(path: str | os.PathLike[str]) -> dict[str, str]:
    """What the folders of a partitioned data set state, such as {"date": "2025-06-01"}."""
    name = os.fspath(path)
    if is_address(name):
        name = unquote(name.split("?")[0])
    folders = name.split("/")[:-1]
    pairs = (unquote(folder).partition("=") for folder in folders)
    return {name: value for name, sign, value in pairs if sign and name}
