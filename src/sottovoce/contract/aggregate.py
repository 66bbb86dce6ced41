"""Counts that merge: integers only, so that the order of merging never matters.

The stored form, version 1, little-endian::

    "SVAG"  version  flags (bit 0 seeded)  number of tables (2 bytes)
    n (8 bytes)  digest (32)  length of id  id
    for each table: length of its name (1), dimensions (1), name, shape (8 each), int64 cells
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MergeError, WireError
from ..files import read_file, whole_file

MAGIC = b"SVAG"
VERSION = 1
_HEAD = struct.Struct("<4sBBHQ32s")
_MOST = 1 << 62
_MOST_DIMENSIONS = 4


@dataclass(frozen=True, eq=False)
class Aggregate:
    """What many reports come to; ``a + b`` merges.

    Attributes
    ----------
    mechanism, digest : str, bytes
        What the counts belong to; only aggregates that share them merge.
    n : int
        How many reports were counted.
    tables : mapping of str to int64 ndarray
        Named tables of counts.
    seeded : bool
        Whether any report was drawn from a seed.
    """

    mechanism: str
    digest: bytes
    n: int
    tables: Mapping[str, NDArray[np.int64]]
    seeded: bool = False

    def __post_init__(self) -> None:
        frozen = {name: _frozen(table) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", MappingProxyType(frozen))
        if not 0 <= self.n < _MOST:
            raise MergeError(f"an aggregate of {self.n} reports; allowed are 0 to 2^62")

    def __add__(self, other: Aggregate) -> Aggregate:
        if not isinstance(other, Aggregate):
            return NotImplemented
        if (self.mechanism, self.digest) != (other.mechanism, other.digest):
            raise MergeError(
                f"counts of {self.mechanism!r} under {self.digest.hex()[:12]} and of "
                f"{other.mechanism!r} under {other.digest.hex()[:12]} do not belong together; "
                "merge only what was collected under one study with one set of parameters"
            )
        tables = {name: _added(table, other.tables[name]) for name, table in self.tables.items()}
        seeded = self.seeded or other.seeded
        return Aggregate(self.mechanism, self.digest, self.n + other.n, tables, seeded)

    def __radd__(self, other: Any) -> Aggregate:
        """Lets the built-in sum() work, which starts from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregate):
            return NotImplemented
        mine = (self.mechanism, self.digest, self.n, self.seeded, set(self.tables))
        theirs = (other.mechanism, other.digest, other.n, other.seeded, set(other.tables))
        return mine == theirs and all(
            np.array_equal(table, other.tables[name]) for name, table in self.tables.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views of tables cannot be pickled; other processes get plain ones.
        parts = (self.mechanism, self.digest, self.n, dict(self.tables), self.seeded)
        return type(self), parts

    def to_bytes(self) -> bytes:
        """The stored form."""
        name = self.mechanism.encode("ascii")
        head = (MAGIC, VERSION, int(self.seeded), len(self.tables), self.n, self.digest)
        parts = [_HEAD.pack(*head), bytes([len(name)]), name]
        for key, table in self.tables.items():
            label = key.encode("ascii")
            parts.append(struct.pack("<BB", len(label), table.ndim) + label)
            parts.append(struct.pack(f"<{table.ndim}Q", *table.shape))
            parts.append(table.astype("<i8").tobytes())
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes, *, expect: Any) -> Aggregate:
        """Read the stored form, refusing what does not belong to `expect` (mechanism or study)."""
        reader = _Reader(data)
        magic, version, flags, n_tables, n, digest = _HEAD.unpack(reader.take(_HEAD.size))
        if magic != MAGIC:
            raise WireError(f"this is not an aggregate: it begins with {magic!r}, not {MAGIC!r}")
        if version != VERSION or flags & ~1:
            raise WireError(
                f"the aggregate has version {version} and flags {flags:#04x}; this release reads "
                f"version {VERSION}"
            )
        if n >= _MOST:
            raise WireError(f"an aggregate of {n} reports; allowed are 0 to 2^62")
        mechanism = reader.text(reader.take(1)[0])
        expected = expect.match(mechanism, digest)
        tables: dict[str, NDArray[np.int64]] = {}
        for _ in range(n_tables):
            label_length, dimensions = struct.unpack("<BB", reader.take(2))
            if not 1 <= dimensions <= _MOST_DIMENSIONS:
                raise WireError(f"a table of {dimensions} dimensions; allowed are 1 to 4")
            label = reader.text(label_length)
            if label in tables:
                raise WireError(f"the table {label!r} is there twice")
            shape = struct.unpack(f"<{dimensions}Q", reader.take(8 * dimensions))
            if not all(0 < side < _MOST for side in shape):
                raise WireError(f"a table of shape {shape}; each side is from 1 on")
            cells = reader.take(8 * int(np.prod(np.array(shape, object))))
            tables[label] = np.frombuffer(cells, "<i8").reshape(shape).astype(np.int64)
        reader.done()
        aggregate = cls(mechanism, digest, n, tables, bool(flags & 1))
        expected.check_aggregate(aggregate)
        return aggregate

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the stored form to a file, whole or not at all."""
        data = self.to_bytes()
        with whole_file(path, replace=replace) as stream:
            stream.write(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, expect: Any) -> Aggregate:
        """Read a file written by `save`."""
        try:
            return cls.from_bytes(read_file(path), expect=expect)
        except WireError as error:
            raise type(error)(f"{os.fspath(path)!r}: {error}") from error


class _Reader:
    """Walks over bytes and refuses to leave them."""

    def __init__(self, data: bytes) -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise WireError(f"an aggregate is bytes; {type(data).__name__} was given")
        self._data = bytes(data)  # also of a view that skips some
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


def _frozen(table: NDArray[Any]) -> NDArray[np.int64]:
    """The table where nobody can write to it: a copy, unless it is such a one already."""
    known = isinstance(table, np.ndarray) and table.dtype == np.int64
    if known and table.flags.c_contiguous and not table.flags.writeable:
        return table
    copy = np.array(table, np.int64, order="C")
    copy.flags.writeable = False
    return copy


def exact_sum(table: NDArray[np.int64]) -> int:
    """The sum of counts, which cannot wrap around."""
    low = int((table & 0xFFFFFFFF).sum())  # of fewer than 2^31 cells
    return (int((table >> 32).sum()) << 32) + low


def _added(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    with np.errstate(over="ignore"):
        total = a + b
    if ((a ^ total) & (b ^ total) < 0).any():  # both terms have the sign that the sum lost
        raise MergeError("a count would exceed 2^63 - 1; estimate from smaller aggregates")
    return total
