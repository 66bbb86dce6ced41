"""Counts that merge: integers only, so that the order of merging never matters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import html_table
from ..errors import MergeError, WireError
from ..files import read_file, whole_file
from .route import Route
from .sparse import MOST_COUNT, Sparse

Table = NDArray[np.int64] | Sparse

#: Stands for reports that were counted together, by its identity; it holds the marks of parts.
Mark = dict[str, Any]
_MOST_MARKS = 256  # that merged counts keep; of more parts, only the whole is recognised


@dataclass(frozen=True, eq=False)
class Aggregate:
    """The counts of many reports; ``a + b`` merges.

    Attributes
    ----------
    collection, digest : str, bytes
        What the counts belong to; only aggregates that agree in both merge.
    tables : mapping of str to int64 ndarray or Sparse
        Named tables of counts: dense, or sparse where only few of very many cells are filled.
    people : int
        How many people were asked.
    reports : int
        How many of them reported.
    seeded : bool
        Whether any report was drawn from a seed.
    route : Route, optional
        What a protocol did to the counts, and what it promises; None where they are plain counts
        of reports, so that the collection's own guarantee holds.
    candidates : int64 ndarray, optional
        Positions in the domain of the values that were counted, in their order; None where all
        were.
    """

    collection: str
    digest: bytes
    tables: Mapping[str, Table]
    people: int
    reports: int
    seeded: bool = False
    route: Route | None = None
    candidates: NDArray[np.int64] | None = None
    _marks: tuple[Mark, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        frozen = {name: _freeze(table) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", MappingProxyType(frozen))
        if not self._marks:
            object.__setattr__(self, "_marks", ({},))
        if self.candidates is not None:
            object.__setattr__(self, "candidates", _freeze(self.candidates))
        if not 0 <= self.reports <= self.people < MOST_COUNT:
            raise MergeError(
                f"an aggregate has {self.reports} reports of {self.people} people; there can be at "
                "most as many reports as people, and fewer than 2^62"
            )

    def __repr__(self) -> str:
        asked = f" of {self.people:,} people" * (self.people != self.reports)
        seeded = ", drawn from a seed" * self.seeded
        return (
            f"<Aggregate {self.collection}: {self.reports:,} reports{asked}, "
            f"digest {self.digest.hex()[:12]}…{seeded}>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: what was counted, and how; the counts themselves are in `tables`."""
        rows = [
            ("collection", self.collection),
            ("digest", self.digest.hex()),
            ("people asked", f"{self.people:,}"),
            ("reports", f"{self.reports:,}"),
            ("tables", ", ".join(self.tables)),
            ("route", "plain counts" if self.route is None else self.route.protocol),
        ]
        if self.candidates is not None:
            rows.append(("values counted", f"{self.candidates.size:,} chosen ones"))
        seeded = "Drawn from a seed: there is no privacy." if self.seeded else ""
        return html_table(f"Counts of {self.reports:,} reports", rows, head=False, end=seeded)

    def dense(self, name: str) -> NDArray[np.int64]:
        """A dense table by its name."""
        table = self.tables[name]
        if isinstance(table, Sparse):
            raise TypeError(f"the table {name!r} is sparse")
        return table

    def sparse(self, name: str) -> Sparse:
        """A sparse table by its name."""
        table = self.tables[name]
        if not isinstance(table, Sparse):
            raise TypeError(f"the table {name!r} is dense")
        return table

    def __add__(self, other: Aggregate) -> Aggregate:
        if not isinstance(other, Aggregate):
            return NotImplemented
        if (self.collection, self.digest) != (other.collection, other.digest):
            raise MergeError(
                f"counts of {self.collection!r} under {self.digest.hex()[:12]} and of "
                f"{other.collection!r} under {other.digest.hex()[:12]} do not belong together; "
                "merge only what was collected under one study with one set of parameters"
            )
        if not equal_candidates(self.candidates, other.candidates):
            raise MergeError(
                "these counts are of different values; count both with the same values in the same "
                "order"
            )
        return Aggregate(
            self.collection,
            self.digest,
            # What only one of them counted, an optional table, is not known of both.
            {
                name: _sum(table, other.tables[name])
                for name, table in self.tables.items()
                if name in other.tables
            },
            self.people + other.people,
            self.reports + other.reports,
            self.seeded or other.seeded,
            _merge_routes(self.route, other.route),
            self.candidates,
            _merge_marks(self._marks, other._marks),
        )

    def __radd__(self, other: Any) -> Aggregate:
        """Lets the built-in sum() work, which starts from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregate):
            return NotImplemented
        return (
            self._head == other._head
            and equal_candidates(self.candidates, other.candidates)
            and all(_equal(table, other.tables[name]) for name, table in self.tables.items())
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def _head(self) -> tuple[Any, ...]:
        names = frozenset(self.tables)
        about = (self.people, self.reports, self.seeded, self.route)
        return (self.collection, self.digest, names, *about)

    def marks_of(self, part: str | None = None) -> tuple[Mark, ...]:
        """What stands for its reports, or for a part of them, in the estimates from them.

        Two estimates of the same reports are recognised by it. Stored counts have no marks: read
        again, they get new ones.
        """
        if part is None:
            return self._marks
        return tuple(mark.setdefault(part, {}) for mark in self._marks)

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only view of the tables cannot be pickled; other processes get plain ones.
        about = (self.people, self.reports, self.seeded, self.route, self.candidates)
        return type(self), (self.collection, self.digest, dict(self.tables), *about)

    def content(self) -> dict[str, Any]:
        """Plain data, for JSON: dense tables in full, of sparse ones the number of rows."""
        dense = {k: t.tolist() for k, t in self.tables.items() if not isinstance(t, Sparse)}
        rows = {k: len(t.counts) for k, t in self.tables.items() if isinstance(t, Sparse)}
        return {"tables": dense, **({"different": rows} if rows else {})}

    def to_bytes(self) -> bytes:
        """The stored form; see `sottovoce.contract.codec`."""
        from .codec import encode_aggregate

        return encode_aggregate(self)

    @classmethod
    def from_bytes(cls, data: bytes, *, expect: Any) -> Aggregate:
        """Read the stored form, refusing what does not belong to `expect`.

        Parameters
        ----------
        expect : Collection or Study
            What the counts must belong to.
        """
        from .codec import decode_aggregate

        return decode_aggregate(data, expect=expect)

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the stored form to a file, completely or not at all."""
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


class Sum:
    """A sum of aggregates by pairs of about equal size.

    Each of n sparse tables is sorted into another log2(n) times, not n times.
    """

    def __init__(self, aggregates: Iterable[Aggregate] = ()) -> None:
        self._sums: list[tuple[int, Aggregate]] = []
        for aggregate in aggregates:
            self.add(aggregate)

    def add(self, aggregate: Aggregate) -> None:
        """Add one more."""
        rank = 0
        while self._sums and self._sums[-1][0] == rank:
            aggregate, rank = self._sums.pop()[1] + aggregate, rank + 1
        self._sums.append((rank, aggregate))

    def total(self) -> Aggregate | None:
        """The sum; None where nothing was added."""
        if not self._sums:
            return None
        total = self._sums[-1][1]
        for _, aggregate in reversed(self._sums[:-1]):
            total = aggregate + total
        return total


def _merge_routes(mine: Route | None, other: Route | None) -> Route | None:
    if mine is None and other is None:
        return None
    if mine is None or other is None:
        raise MergeError(
            "plain counts of reports and counts from a protocol do not merge; estimate them "
            "separately and use combine()"
        )
    return mine + other


def _merge_marks(mine: tuple[Mark, ...], other: tuple[Mark, ...]) -> tuple[Mark, ...]:
    both = tuple({id(mark): mark for mark in (*mine, *other)}.values())
    return both if len(both) <= _MOST_MARKS else ({},)


def equal_candidates(mine: NDArray[np.int64] | None, other: NDArray[np.int64] | None) -> bool:
    """Whether two aggregates count the same values in the same order."""
    if mine is None or other is None:
        return mine is other
    return np.array_equal(mine, other)


def _equal(mine: Table, other: Table) -> bool:
    if isinstance(mine, Sparse) or isinstance(other, Sparse):
        return mine is other or (type(mine) is type(other) and bool(mine == other))
    return np.array_equal(mine, other)


def _freeze(table: Table) -> Table:
    """The table as a read-only array: a copy, unless it is read-only already."""
    if isinstance(table, Sparse):
        return table
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


def _sum(a: Table, b: Table) -> Table:
    if isinstance(a, Sparse) or isinstance(b, Sparse):
        if not (isinstance(a, Sparse) and isinstance(b, Sparse)):
            raise MergeError("a dense and a sparse table do not merge")
        return a + b
    with np.errstate(over="ignore"):
        total = a + b
    if ((a ^ total) & (b ^ total) < 0).any():  # both terms have the sign that the sum lost
        raise MergeError("a count would exceed 2^63 - 1; estimate from smaller aggregates")
    return total
