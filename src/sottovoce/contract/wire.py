"""The wire form, version 1. Strict: what is not exactly this is refused.

::

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
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from .reports import Expected, Reports

MAGIC = b"SVRP"
VERSION = 1
_HEAD = struct.Struct("<4sBBBBQ32s")
_SEEDED, _MORE = 1, 2


def encode(reports: Reports, *, more: bool = False) -> bytes:
    """One envelope."""
    return b"".join([header(reports, more=more), *bodies(reports)])


def header(reports: Reports, *, more: bool) -> bytes:
    """The envelope's head, padded."""
    name = reports.collection.encode("ascii")
    flags = _SEEDED * reports.seeded | _MORE * more
    head = _HEAD.pack(MAGIC, VERSION, flags, len(name), 0, len(reports), reports.digest) + name
    return head + bytes(-len(head) % 16)


def bodies(reports: Reports) -> list[memoryview]:
    """The columns' bytes, without a copy."""
    return [
        np.ascontiguousarray(column).reshape(-1).view(np.uint8).data
        for column in reports.columns.values()
    ]


def decode(data: bytes | bytearray | memoryview, *, expect: Expected) -> Iterator[Reports]:
    """The batches of a complete sequence of envelopes in memory."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise WireError(f"reports are bytes; {type(data).__name__} was given")
    return decode_stream(io.BytesIO(plain_bytes(data)), expect=expect)


def plain_bytes(data: bytes | bytearray | memoryview) -> bytes | bytearray | memoryview:
    """The same bytes one after the other; a view may skip some, or hold wider items."""
    if isinstance(data, memoryview) and not (data.c_contiguous and data.format == "B"):
        return data.tobytes()
    return data


def decode_stream(stream: BinaryIO, *, expect: Expected) -> Iterator[Reports]:
    """The batches of a complete sequence of envelopes in a seekable stream, one at a time."""
    left = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    more = True
    while more:
        head = _take(stream, _HEAD.size, left, "the head of an envelope")
        left -= len(head)
        magic, version, flags, id_length, zero, n, digest = _HEAD.unpack(head)
        if magic != MAGIC:
            raise WireError(f"these are not reports: they begin with {magic!r}, not {MAGIC!r}")
        if version != VERSION:
            raise WireError(
                f"the reports are of version {version}; this release reads version {VERSION}"
            )
        if flags & ~(_SEEDED | _MORE) or zero:
            raise WireError(f"the envelope has unknown flags ({flags:#04x}, {zero:#04x})")
        padded = id_length + -(_HEAD.size + id_length) % 16
        name = _take(stream, padded, left, "the collection's id")
        left -= padded
        if not id_length or any(name[id_length:]) or not name[:id_length].isascii():
            raise WireError("the collection's id is empty, not ASCII, or padded with other than 0")
        collection = name[:id_length].decode("ascii")
        expected = expect.match(collection, digest)
        size = sum(column.nbytes for column in expected.layout) * n
        body = _take(stream, size, left, f"{n:,} reports of {collection!r}")
        left -= size
        columns: dict[str, NDArray[Any]] = {}
        offset = 0
        for column in expected.layout:
            end = offset + column.nbytes * n
            flat = np.frombuffer(memoryview(body)[offset:end], column.dtype)
            columns[column.name] = flat.reshape(column.shape(n))
            offset = end
        expected.check(columns)
        yield Reports(collection, digest, columns, bool(flags & _SEEDED))
        more = bool(flags & _MORE)
    if left:
        raise WireError(f"{left:,} bytes follow the last report; nothing may")


def _take(stream: BinaryIO, size: int, left: int, what: str) -> bytes:
    # Compared before reading: a forged count must not make us allocate what is not there.
    data = stream.read(size) if size <= left else b""
    if len(data) != size:
        raise WireError(
            f"the reports end too early: {what} takes {size:,} bytes and {left:,} are left; "
            "the file or message was cut off, fetch it again"
        )
    return data
