"""A table with a cell for every possible report, storing only those that were received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MergeError, WireError
from ..parallel import over_ranges

if TYPE_CHECKING:
    from .reports import Column

MOST_COUNT = 1 << 62
_SAMPLE = 1024  # rows that show where the others lie, to divide them among threads
_STEPS = 2000  # of a row, as `over_ranges` counts them: about a hundred nanoseconds


@dataclass(frozen=True, eq=False)
class Sparse:
    """Distinct packed reports in rising order, and how often each came.

    Attributes
    ----------
    rows : ndarray of uint8, shape (patterns, bytes)
        The different reports.
    counts : ndarray of int64
        How often each was sent.
    """

    rows: NDArray[np.uint8]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.rows, self.counts):
            array.flags.writeable = False

    @classmethod
    def of(cls, rows: NDArray[np.uint8], counts: NDArray[np.int64] | None = None) -> Sparse:
        """From reports in any order, each as often as `counts` says, or once."""
        return cls(*count_rows(rows, counts))

    @property
    def n(self) -> int:
        """How many reports were counted."""
        return sum(self.counts.tolist()) if self.counts.size < 64 else int(self.counts.sum())

    def __add__(self, other: Sparse) -> Sparse:
        if not isinstance(other, Sparse):
            return NotImplemented
        if self.rows.shape[1] != other.rows.shape[1]:
            raise MergeError("tables of reports of different widths do not merge")
        if self.n + other.n >= MOST_COUNT:
            raise MergeError("more than 2^62 reports; estimate from smaller aggregates")
        rows = np.concatenate([self.rows, other.rows])
        return Sparse.of(rows, np.concatenate([self.counts, other.counts]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sparse):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def check_order(self) -> None:
        """Refuse patterns that are not in rising order, each once, or counts below one."""
        counts = self.counts
        if len(counts) and (counts.min() < 1 or sum(counts.tolist()) >= MOST_COUNT):
            raise WireError("a count is below 1, or they sum to more than 2^62")
        rows, _ = count_rows(self.rows, counts)
        if rows.shape != self.rows.shape or not np.array_equal(rows, self.rows):
            raise WireError("the patterns are not in rising order, each once")


def count_rows(
    rows: NDArray[np.uint8], counts: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The different rows in rising order, and how often each is there."""
    if len(rows) == 0:
        return rows, np.zeros(0, np.int64)
    words = as_words(rows)
    borders = np.sort(words[:: max(1, len(words) // _SAMPLE), 0])

    def some(part: slice) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The rows between two borders: threads sort parts that follow each other."""
        if part == slice(0, borders.size):
            return _count_words(words, counts)
        keep = np.ones(len(words), bool)
        if part.start > 0:
            keep &= words[:, 0] >= borders[part.start]
        if part.stop < borders.size:
            keep &= words[:, 0] < borders[part.stop]
        return _count_words(words[keep], None if counts is None else counts[keep])

    parts = over_ranges(some, borders.size, work=_STEPS * len(rows))
    different, many = (np.concatenate(both) for both in zip(*parts, strict=True))
    packed = different.astype(">u8").view(np.uint8)
    return np.ascontiguousarray(packed[:, : rows.shape[1]]), many


def _count_words(
    words: NDArray[np.uint64], counts: NDArray[np.int64] | None
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    if len(words) == 0:
        return words, np.zeros(0, np.int64)
    if counts is None and words.shape[1] == 1:
        words = np.sort(words, axis=0)  # many times faster than an order of them
    else:
        order = np.argsort(words[:, 0], kind="stable")  # merges two sorted tables in linear time
        leading = words[order, 0]
        if words.shape[1] > 1 and (leading[1:] == leading[:-1]).any():  # several times slower
            order = np.lexsort(words.T[::-1])
        words = words[order]
    first = np.ones(len(words), bool)
    first[1:] = (words[1:] != words[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    if counts is None:
        many = np.diff(np.append(starts, len(words)))
    else:
        many = np.add.reduceat(counts[order], starts)
    return words[starts], many.astype(np.int64)


def as_words(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Rows of bytes as big-endian numbers, which sort as the bytes do."""
    width = -(-rows.shape[1] // 8) * 8
    padded = np.zeros((len(rows), width), np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view(">u8").astype(np.uint64)


def rows_of(layout: Sequence[Column], content: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """Reports as rows of bytes."""
    parts = [
        np.ascontiguousarray(content[c.name]).view(np.uint8).reshape(-1, c.nbytes) for c in layout
    ]
    return np.concatenate(parts, axis=1)


def columns_of(layout: Sequence[Column], rows: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """The columns of reports packed as rows of bytes."""
    if rows.shape[1] != sum(column.nbytes for column in layout):
        raise WireError(f"reports of {rows.shape[1]} bytes do not belong to this collection")
    unpacked: dict[str, NDArray[Any]] = {}
    start = 0
    for column in layout:
        part = np.ascontiguousarray(rows[:, start : start + column.nbytes])
        unpacked[column.name] = part.view(column.dtype).reshape(column.shape(len(rows)))
        start += column.nbytes
    return unpacked
