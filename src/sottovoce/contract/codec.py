"""The binary forms of reports and of aggregates, version 1. Strict: anything else is refused.

Reports (`.svr`)::

    offset  bytes  content
    0       4      "SVRP"
    4       1      version, 1
    5       1      flags: bit 0 seeded, bit 1 another envelope follows; the others are zero
    6       1      length k of the collection's id
    7       1      zero
    8       8      number of reports n
    16      32     digest of the study, or of the collection
    48      k      the collection's id, ASCII
                   zeros up to a multiple of 16
                   each column of the collection's layout, n values, one column after the other

A long sequence is several envelopes in a row, all but the last with bit 1 set, so that a file cut
between two of them is noticed.

Aggregates (`.sva`)::

    offset  bytes  content
    0       4      "SVAG"
    4       1      version, 1
    5       1      flags: bit 0 seeded, bit 1 a route follows the id, bit 3 counts of chosen values
                   only; the others are zero
    6       2      number of tables
    8       8      people asked
    16      8      reports received
    24      32     digest of the study, or of the collection
    56      1      length of the id, then the id, ASCII
                   with bit 1: length of the route (4 bytes), then the route, canonical JSON
                   with bit 3: how many values were chosen (8 bytes), then the position of each in
                   the domain (4 bytes each)
                   each table:
                     length of its name (1), dimensions (1; 0 for a sparse table), name, ASCII
                     dense:   each side (8 bytes each), then int64 cells in row-major order
                     sparse:  bytes of a row (4), number of rows (8), the rows in rising order,
                              then their counts, int64

Numbers are little-endian.
"""

from __future__ import annotations

import io
import json
import os
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, WireError
from .aggregate import Aggregate, Table
from .reports import Expected, Layout, Reports
from .route import Route
from .sparse import MOST_COUNT, Sparse

VERSION = 1
REPORTS_MAGIC = b"SVRP"
AGGREGATE_MAGIC = b"SVAG"
_REPORTS_HEAD = struct.Struct("<4sBBBBQ32s")
_AGGREGATE_HEAD = struct.Struct("<4sBBHQQ32s")
_SEEDED, _MORE, _ROUTE, _CHOSEN = 1, 2, 2, 8
_MOST_DIMENSIONS = 4
_MOST_ROUTE = 1 << 16

Buffer = bytes | bytearray | memoryview


class _Reader:
    """Reads a stream in order and refuses to read past its end."""

    def __init__(self, stream: BinaryIO, subject: str, start: int = 0) -> None:
        self._stream = stream
        self._subject = subject  # how a sentence about what is read begins
        self.left = stream.seek(0, os.SEEK_END) - start
        stream.seek(start)

    def take(self, size: int, what: str) -> bytes:
        # Compared before reading: a forged count must not make us allocate what is not there.
        data = self._stream.read(size) if size <= self.left else b""
        if len(data) != size:
            raise WireError(
                f"{self._subject} too early: {what} would take {size:,} bytes and "
                f"{self.left:,} are left; the file or message was cut off, fetch it again"
            )
        self.left -= size
        return data

    def skip(self, size: int, what: str) -> None:
        """Pass over bytes that must be there."""
        if size > self.left:
            self.take(size, what)
        self._stream.seek(size, os.SEEK_CUR)
        self.left -= size

    def name(self, size: int) -> str:
        raw = self.take(size, "a name")
        if not raw or not raw.isascii():
            raise WireError("a name in the aggregate is empty or not ASCII")
        return raw.decode("ascii")


# --- reports --------------------------------------------------------------------------------------


def encode_reports(reports: Reports, *, more: bool = False) -> bytes:
    """One envelope."""
    return b"".join(envelope(reports, more=more))


def envelope(reports: Reports, *, more: bool) -> Iterator[bytes | memoryview]:
    """The parts of an envelope: its head, and the columns' bytes without a copy."""
    name = reports.collection.encode("ascii")
    flags = _SEEDED * reports.seeded | _MORE * more
    head = _REPORTS_HEAD.pack(
        REPORTS_MAGIC, VERSION, flags, len(name), 0, len(reports), reports.digest
    )
    yield head + name + bytes(-(len(head) + len(name)) % 16)
    for column in reports.columns.values():
        yield np.ascontiguousarray(column).reshape(-1).view(np.uint8).data


def decode_reports(data: Buffer, *, expect: Expected) -> Iterator[Reports]:
    """The batches of a complete sequence of envelopes in memory."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise WireError(f"reports are bytes; {type(data).__name__} was given")
    if isinstance(data, memoryview) and not (data.c_contiguous and data.format == "B"):
        data = data.tobytes()  # a view may skip some bytes, or hold wider items
    return decode_stream(io.BytesIO(data), expect=expect)


def decode_stream(
    stream: BinaryIO, *, expect: Expected, cut: tuple[int, int] | None = None
) -> Iterator[Reports]:
    """The batches of a complete sequence of envelopes in a seekable stream, one at a time.

    With `cut`, only the envelopes between two offsets that `cut_stream` gave.
    """
    reader = _Reader(stream, "the reports end", cut[0] if cut else 0)
    end = reader.left + cut[0] - cut[1] if cut else 0  # how much is left behind the last one
    more = True
    while more and (not end or reader.left > end):
        collection, digest, n, flags, expected = _head(reader, expect)
        size = sum(column.nbytes for column in expected.layout) * n
        body = memoryview(reader.take(size, f"{n:,} reports of {collection!r}"))
        columns: dict[str, NDArray[Any]] = {}
        for column in expected.layout:
            stop = column.nbytes * n
            columns[column.name] = np.frombuffer(body[:stop], column.dtype).reshape(column.shape(n))
            body = body[stop:]
        expected.check(columns)
        yield Reports(collection, digest, columns, bool(flags & _SEEDED))
        more = bool(flags & _MORE)
    if reader.left != end:
        raise WireError(f"{reader.left - end:,} bytes follow the last report; it must be the end")


def cut_stream(stream: BinaryIO, *, expect: Expected, rows: int) -> Iterator[tuple[int, int]]:
    """Offsets between which a sequence has about so many reports; only heads are read."""
    reader = _Reader(stream, "the reports end")
    whole = reader.left
    start = many = 0
    more = True
    while more:
        collection, _, n, flags, expected = _head(reader, expect)
        size = sum(column.nbytes for column in expected.layout) * n
        reader.skip(size, f"{n:,} reports of {collection!r}")
        many += n
        more = bool(flags & _MORE)
        if many >= rows or not more:
            yield start, whole - reader.left
            start, many = whole - reader.left, 0
    if reader.left:
        raise WireError(f"{reader.left:,} bytes follow the last report; it must be the end")


def _head(reader: _Reader, expect: Expected) -> tuple[str, bytes, int, int, Layout]:
    """The head of an envelope: collection, digest, number of reports, flags; and the layout."""
    head = reader.take(_REPORTS_HEAD.size, "the head of an envelope")
    magic, version, flags, id_length, zero, n, digest = _REPORTS_HEAD.unpack(head)
    if magic != REPORTS_MAGIC:
        raise WireError(f"these are not reports: they begin with {magic!r}, not {REPORTS_MAGIC!r}")
    if version != VERSION:
        raise WireError(
            f"the reports are of version {version}; this release reads version {VERSION}"
        )
    if flags & ~(_SEEDED | _MORE) or zero:
        raise WireError(f"the envelope has unknown flags ({flags:#04x}, {zero:#04x})")
    padding = -(_REPORTS_HEAD.size + id_length) % 16
    name = reader.take(id_length + padding, "the collection's id")
    if not id_length or any(name[id_length:]) or not name[:id_length].isascii():
        raise WireError("the collection's id is empty, not ASCII, or padded with other than 0")
    collection = name[:id_length].decode("ascii")
    return collection, digest, n, flags, expect.match(collection, digest)


# --- aggregates -----------------------------------------------------------------------------------


def encode_aggregate(aggregate: Aggregate) -> bytes:
    """The stored form."""
    chosen = aggregate.candidates
    flags = _SEEDED * aggregate.seeded | _ROUTE * (aggregate.route is not None)
    flags |= _CHOSEN * (chosen is not None)
    name = aggregate.collection.encode("ascii")
    numbers = (len(aggregate.tables), aggregate.people, aggregate.reports)
    parts = [
        _AGGREGATE_HEAD.pack(AGGREGATE_MAGIC, VERSION, flags, *numbers, aggregate.digest),
        bytes([len(name)]),
        name,
    ]
    if aggregate.route is not None:
        route = _canonical(aggregate.route)
        parts += [struct.pack("<I", len(route)), route]
    if chosen is not None:
        parts += [struct.pack("<Q", chosen.size), chosen.astype("<u4").tobytes()]
    for key, table in aggregate.tables.items():
        label = key.encode("ascii")
        if isinstance(table, Sparse):
            many, width = table.rows.shape
            parts.append(struct.pack("<BB", len(label), 0) + label)
            parts.append(struct.pack("<IQ", width, many))
            parts += [table.rows.tobytes(), table.counts.astype("<i8").tobytes()]
            continue
        parts.append(struct.pack("<BB", len(label), table.ndim) + label)
        parts.append(struct.pack(f"<{table.ndim}Q", *table.shape))
        parts.append(table.astype("<i8").tobytes())
    return b"".join(parts)


def decode_aggregate(data: Buffer, *, expect: Any) -> Aggregate:
    """Read the stored form, refusing what does not belong to `expect`."""
    if not hasattr(expect, "match"):
        raise ParameterError(
            f"expect is {expect!r:.80}; give the collection or study that the counts belong to"
        )
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise WireError(f"an aggregate is bytes; {type(data).__name__} was given")
    reader = _Reader(io.BytesIO(bytes(data)), "the aggregate ends")
    head = reader.take(_AGGREGATE_HEAD.size, "the head")
    magic, version, flags, n_tables, people, reports, digest = _AGGREGATE_HEAD.unpack(head)
    if magic != AGGREGATE_MAGIC:
        raise WireError(
            f"this is not an aggregate: it begins with {magic!r}, not {AGGREGATE_MAGIC!r}"
        )
    if version != VERSION or flags & ~(_SEEDED | _ROUTE | _CHOSEN):
        raise WireError(
            f"the aggregate has version {version} and flags {flags:#04x}; this release reads "
            f"version {VERSION}"
        )
    if not reports <= people < MOST_COUNT:
        raise WireError(f"{reports} reports of {people} people; allowed are 0 to 2^62")
    collection = reader.name(reader.take(1, "the length of the id")[0])
    expected = expect.match(collection, digest)
    route = _route(reader) if flags & _ROUTE else None
    chosen = _read_candidates(reader) if flags & _CHOSEN else None
    tables: dict[str, Table] = {}
    for _ in range(n_tables):
        label_length, dimensions = struct.unpack("<BB", reader.take(2, "the head of a table"))
        if dimensions > _MOST_DIMENSIONS:
            raise WireError(f"a table of {dimensions} dimensions; allowed are at most 4")
        label = reader.name(label_length)
        if label in tables:
            raise WireError(f"the table {label!r} appears twice")
        tables[label] = _dense(reader, dimensions) if dimensions else _sparse(reader)
    if reader.left:
        raise WireError(f"{reader.left:,} bytes follow the aggregate; it must be the end")
    seeded = bool(flags & _SEEDED)
    aggregate = Aggregate(collection, digest, tables, people, reports, seeded, route, chosen)
    if chosen is not None:
        _check_restricted(expected, chosen)
    expected.check_aggregate(aggregate)
    return aggregate


def _read_candidates(reader: _Reader) -> NDArray[np.int64]:
    (many,) = struct.unpack("<Q", reader.take(8, "the number of chosen values"))
    positions = reader.take(4 * many, f"{many:,} chosen values")
    return np.frombuffer(positions, "<u4").astype(np.int64)


def _check_restricted(expected: Any, chosen: NDArray[np.int64]) -> None:
    try:
        expected.restricted(chosen)
    except ParameterError as error:
        raise WireError(f"the aggregate has counts of chosen values: {error}") from error


def _dense(reader: _Reader, dimensions: int) -> Table:
    shape = struct.unpack(f"<{dimensions}Q", reader.take(8 * dimensions, "the sides of a table"))
    if not all(0 < side < MOST_COUNT for side in shape):
        raise WireError(f"a table of shape {shape}; each side must be at least 1")
    cells = reader.take(8 * int(np.prod(np.array(shape, object))), f"a table of shape {shape}")
    return np.frombuffer(cells, "<i8").reshape(shape).astype(np.int64)


def _sparse(reader: _Reader) -> Sparse:
    width, many = struct.unpack("<IQ", reader.take(12, "the head of a sparse table"))
    if width < 1:
        raise WireError("reports of 0 bytes; each must have at least one")
    rows = np.frombuffer(reader.take(width * many, f"{many:,} rows"), np.uint8)
    counts = np.frombuffer(reader.take(8 * many, f"the counts of {many:,} rows"), "<i8")
    table = Sparse(rows.reshape(many, width).copy(), counts.astype(np.int64))
    table.check_order()
    return table


def _canonical(route: Route) -> bytes:
    return json.dumps(route.as_dict(), sort_keys=True, separators=(",", ":")).encode()


def _route(reader: _Reader) -> Route:
    (size,) = struct.unpack("<I", reader.take(4, "the length of the route"))
    if size > _MOST_ROUTE:
        raise WireError(f"a route of {size:,} bytes; at most {_MOST_ROUTE:,} are allowed")
    raw = reader.take(size, "the route")
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise WireError("the route of an aggregate is not JSON") from error
    route = Route.from_dict(data)
    if _canonical(route) != raw:
        raise WireError("the route of an aggregate is not in its canonical form")
    return route
