"""The stored form of an aggregate, version 1. Strict: anything else is refused.

::

    offset  bytes  content
    0       4      "SVAG"
    4       1      version, 1
    5       1      flags: bit 0 seeded, bit 1 a route follows the id; the others are zero
    6       2      number of tables
    8       8      people asked
    16      8      reports received
    24      32     digest of the study, or of the collection
    56      1      length of the id, then the id, ASCII
                   with bit 1: length of the route (4 bytes), then the route, canonical JSON
                   each table:
                     length of its name (1), dimensions (1; 0 for a sparse table), name, ASCII
                     dense:   each side (8 bytes each), then int64 cells in row-major order
                     sparse:  bytes of a row (4), number of rows (8), the rows in rising order,
                              then their counts, int64

Numbers are little-endian.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from ..errors import ParameterError, WireError
from .aggregate import Aggregate, Table
from .route import Route
from .sparse import MOST_COUNT, Sparse

MAGIC = b"SVAG"
VERSION = 1
_HEAD = struct.Struct("<4sBBHQQ32s")
_SEEDED, _ROUTE = 1, 2
_MOST_DIMENSIONS = 4
_MOST_ROUTE = 1 << 16


def encode_aggregate(aggregate: Aggregate) -> bytes:
    """The stored form."""
    flags = _SEEDED * aggregate.seeded | _ROUTE * (aggregate.route is not None)
    name = aggregate.collection.encode("ascii")
    numbers = (len(aggregate.tables), aggregate.people, aggregate.reports)
    parts = [
        _HEAD.pack(MAGIC, VERSION, flags, *numbers, aggregate.digest),
        bytes([len(name)]),
        name,
    ]
    if aggregate.route is not None:
        route = _canonical(aggregate.route)
        parts += [struct.pack("<I", len(route)), route]
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


def decode_aggregate(data: bytes, *, expect: Any) -> Aggregate:
    """Read the stored form, refusing what does not belong to `expect`."""
    if not hasattr(expect, "match"):
        raise ParameterError(
            f"expect is {expect!r:.80}; give the collection or study that the counts belong to"
        )
    reader = _Reader(data)
    magic, version, flags, n_tables, people, reports, digest = _HEAD.unpack(reader.take(_HEAD.size))
    if magic != MAGIC:
        raise WireError(f"this is not an aggregate: it begins with {magic!r}, not {MAGIC!r}")
    if version != VERSION or flags & ~(_SEEDED | _ROUTE):
        raise WireError(
            f"the aggregate has version {version} and flags {flags:#04x}; this release reads "
            f"version {VERSION}"
        )
    if not reports <= people < MOST_COUNT:
        raise WireError(f"{reports} reports of {people} people; allowed are 0 to 2^62")
    collection = reader.text(reader.take(1)[0])
    expected = expect.match(collection, digest)
    route = _route(reader) if flags & _ROUTE else None
    tables: dict[str, Table] = {}
    for _ in range(n_tables):
        label_length, dimensions = struct.unpack("<BB", reader.take(2))
        if dimensions > _MOST_DIMENSIONS:
            raise WireError(f"a table of {dimensions} dimensions; allowed are at most 4")
        label = reader.text(label_length)
        if label in tables:
            raise WireError(f"the table {label!r} appears twice")
        tables[label] = _dense(reader, dimensions) if dimensions else _sparse(reader)
    reader.done()
    seeded = bool(flags & _SEEDED)
    aggregate = Aggregate(collection, digest, tables, people, reports, seeded, route)
    expected.check_aggregate(aggregate)
    return aggregate


def _dense(reader: _Reader, dimensions: int) -> Table:
    shape = struct.unpack(f"<{dimensions}Q", reader.take(8 * dimensions))
    if not all(0 < side < MOST_COUNT for side in shape):
        raise WireError(f"a table of shape {shape}; each side must be at least 1")
    cells = reader.take(8 * int(np.prod(np.array(shape, object))))
    return np.frombuffer(cells, "<i8").reshape(shape).astype(np.int64)


def _sparse(reader: _Reader) -> Sparse:
    width, many = struct.unpack("<IQ", reader.take(12))
    if width < 1:
        raise WireError("reports of 0 bytes; each must have at least one")
    rows = np.frombuffer(reader.take(width * many), np.uint8).reshape(many, width).copy()
    counts = np.frombuffer(reader.take(8 * many), "<i8").astype(np.int64)
    table = Sparse(rows, counts)
    table.check_order()
    return table


def _canonical(route: Route) -> bytes:
    return json.dumps(route.as_dict(), sort_keys=True, separators=(",", ":")).encode()


def _route(reader: _Reader) -> Route:
    (size,) = struct.unpack("<I", reader.take(4))
    if size > _MOST_ROUTE:
        raise WireError(f"a route of {size:,} bytes; at most {_MOST_ROUTE:,} are allowed")
    raw = reader.take(size)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise WireError("the route of an aggregate is not JSON") from error
    route = Route.from_dict(data)
    if _canonical(route) != raw:
        raise WireError("the route of an aggregate is not in its canonical form")
    return route


class _Reader:
    """Reads bytes in order and refuses to read past their end."""

    def __init__(self, data: bytes) -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise WireError(f"an aggregate is bytes; {type(data).__name__} was given")
        self._data = bytes(data)
        self._at = 0

    def take(self, size: int) -> bytes:
        left = len(self._data) - self._at
        if size > left:
            raise WireError(f"the aggregate ends too early: {size:,} bytes needed, {left:,} left")
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self, size: int) -> str:
        raw = self.take(size)
        if not raw or not raw.isascii():
            raise WireError("a name in the aggregate is empty or not ASCII")
        return raw.decode("ascii")

    def done(self) -> None:
        left = len(self._data) - self._at
        if left:
            raise WireError(f"{left:,} bytes follow the aggregate; nothing may")
