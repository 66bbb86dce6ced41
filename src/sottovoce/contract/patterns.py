"""Aggregates of records: how often each distinct report was sent.

The stored form, version 1, little-endian::

    "SVPT"  version  flags (bit 0 seeded)  length of id  zero
    width of a report (4 bytes)  number of different reports (8)  digest (32)  id
    the reports in rising order, then their counts (8 bytes each)
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MergeError, ParameterError, WireError
from ..files import read_file, whole_file

MAGIC = b"SVPT"
VERSION = 1
_HEAD = struct.Struct("<4sBBBBIQ32s")
_MOST = 1 << 62


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct packed reports and how often each came; ``a + b`` merges.

    Attributes
    ----------
    mechanism, digest : str, bytes
        What the reports belong to; only patterns that share them merge.
    rows : ndarray of uint8, shape (patterns, bytes)
        The different reports in rising order.
    counts : ndarray of int64
        How often each was sent.
    seeded : bool
        Whether any report was drawn from a seed.
    """

    mechanism: str
    digest: bytes
    rows: NDArray[np.uint8]
    counts: NDArray[np.int64]
    seeded: bool = False

    def __post_init__(self) -> None:
        for array in (self.rows, self.counts):
            array.flags.writeable = False

    @classmethod
    def of(
        cls,
        mechanism: str,
        digest: bytes,
        rows: NDArray[np.uint8],
        counts: NDArray[np.int64] | None,
        seeded: bool,
    ) -> Patterns:
        """From reports in any order, each as often as `counts` says."""
        unique, many = counted(rows, counts)
        return cls(mechanism, digest, unique, many, seeded)

    @property
    def n(self) -> int:
        """How many records were reported."""
        return int(self.counts.sum())

    def __add__(self, other: Patterns) -> Patterns:
        if not isinstance(other, Patterns):
            return NotImplemented
        if (self.mechanism, self.digest) != (other.mechanism, other.digest):
            raise MergeError(
                f"records under {self.digest.hex()[:12]} and {other.digest.hex()[:12]} do not "
                "belong together; merge only what was collected under one study"
            )
        if self.n + other.n >= _MOST:
            raise MergeError("more than 2^62 records; estimate from smaller aggregates")
        rows = np.concatenate([self.rows, other.rows])
        counts = np.concatenate([self.counts, other.counts])
        seeded = self.seeded or other.seeded
        return Patterns.of(self.mechanism, self.digest, rows, counts, seeded)

    def __radd__(self, other: Any) -> Patterns:
        """Lets the built-in sum() work, which starts from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Patterns):
            return NotImplemented
        return (
            (self.mechanism, self.digest, self.seeded)
            == (other.mechanism, other.digest, other.seeded)
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """The stored form."""
        name = self.mechanism.encode("ascii")
        many, width = self.rows.shape
        head = (MAGIC, VERSION, int(self.seeded), len(name), 0, width, many, self.digest)
        body = (self.rows.tobytes(), self.counts.astype("<i8").tobytes())
        return b"".join((_HEAD.pack(*head), name, *body))

    @classmethod
    def from_bytes(cls, data: bytes, *, expect: Any) -> Patterns:
        """Read the stored form, refusing what does not belong to `expect`."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise WireError(f"an aggregate is bytes; {type(data).__name__} was given")
        if not hasattr(expect, "check_rows"):
            raise ParameterError(
                f"expect is {expect!r}; it must be the Records that the reports were made with"
            )
        if len(data) < _HEAD.size:
            raise WireError("the aggregate of records ends too early")
        magic, version, flags, length, zero, width, many, digest = _HEAD.unpack_from(data)
        if magic != MAGIC:
            raise WireError(f"this is no aggregate of records: it begins with {magic!r}")
        if version != VERSION or flags & ~1 or zero:
            raise WireError(
                f"the aggregate has version {version} and flags {flags:#04x}; this release reads "
                f"version {VERSION}"
            )
        start = _HEAD.size + length
        if len(data) != start + many * (width + 8) or not length:
            raise WireError(
                f"{many} patterns of {width} bytes need {start + many * (width + 8)} bytes; "
                f"{len(data)} were given"
            )
        name = bytes(data[_HEAD.size : start])
        if not name.isascii():
            raise WireError("the id is not ASCII")
        expected = expect.match(name.decode("ascii"), digest)
        rows = np.frombuffer(data, np.uint8, many * width, start).reshape(many, width).copy()
        counts = np.frombuffer(data, "<i8", many, start + many * width).astype(np.int64)
        if many and (counts.min() < 1 or int(counts.astype(object).sum()) >= _MOST):
            raise WireError("a count is below 1, or they sum to more than 2^62")
        unique, _ = counted(rows, counts)
        if unique.shape != rows.shape or not np.array_equal(unique, rows):
            raise WireError("the patterns are not in rising order, each once")
        expected.check_rows(rows)
        return cls(name.decode("ascii"), digest, rows, counts, bool(flags & 1))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stored form to a file, whole or not at all."""
        data = self.to_bytes()
        with whole_file(path) as stream:
            stream.write(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, expect: Any) -> Patterns:
        """Read a file written by `save`."""
        try:
            return cls.from_bytes(read_file(path), expect=expect)
        except WireError as error:
            raise type(error)(f"{os.fspath(path)!r}: {error}") from error


def counted(
    rows: NDArray[np.uint8], counts: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The different rows in rising order, and how often each is there."""
    if len(rows) == 0:
        return rows, np.zeros(0, np.int64)
    words = as_words(rows)
    order = np.lexsort(words.T[::-1]) if words.shape[1] > 1 else np.argsort(words[:, 0])
    words = words[order]
    first = np.ones(len(rows), bool)
    first[1:] = (words[1:] != words[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    if counts is None:
        many = np.diff(np.append(starts, len(rows)))
    else:
        many = np.add.reduceat(counts[order], starts)
    return rows[order[starts]], many.astype(np.int64)


def as_words(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Rows of bytes as big-endian numbers, which sort as the bytes do."""
    width = -(-rows.shape[1] // 8) * 8
    padded = np.zeros((len(rows), width), np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view(">u8").astype(np.uint64)
