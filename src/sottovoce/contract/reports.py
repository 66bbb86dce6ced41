"""A columnar batch of reports.

Bit order, stated once for every collection whose report is a set of values: value v is bit
(v mod 8) of byte (v div 8), least significant bit first; unused bits of the last byte are zero.
Integers are little-endian.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..domain.values import code_dtype
from ..errors import MergeError, WireError


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a report: a fixed-width integer, or with `width` a row of that many bytes."""

    name: str
    dtype: str
    width: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes per report."""
        return np.dtype(self.dtype).itemsize * max(self.width, 1)

    def shape(self, n: int) -> tuple[int, ...]:
        """Shape of the column for n reports."""
        return (n, self.width) if self.width else (n,)


class Layout(Protocol):
    """What a decoder must know about a collection."""

    @property
    def layout(self) -> tuple[Column, ...]:
        """The columns of a report."""

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Raise WireError for values that no participant can have sent."""


class Expected(Protocol):
    """A collection or a study, which knows the reports that belong to it."""

    def match(self, collection: str, digest: bytes) -> Layout:
        """The collection that made reports of this id and digest, or DigestError."""


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of many people, one column per field of a report.

    Attributes
    ----------
    collection : str
        Wire name of the collection that made them.
    digest : bytes
        32 bytes that bind them to the study, or to the collection's own parameters.
    columns : mapping of str to ndarray
        The content; see the collection's `layout`.
    seeded : bool
        Drawn from a seed: no privacy, refused outside `sottovoce.testing`.
    """

    collection: str
    digest: bytes
    columns: Mapping[str, NDArray[Any]]
    seeded: bool = False

    def __post_init__(self) -> None:
        lengths = {column.shape[0] for column in self.columns.values()}
        if len(lengths) != 1 or len(self.digest) != 32:
            raise WireError(
                "reports need columns of equal length and a digest of 32 bytes; got lengths "
                f"{sorted(lengths)} and {len(self.digest)} bytes"
            )
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views of columns cannot be pickled; other processes get plain ones.
        return type(self), (self.collection, self.digest, dict(self.columns), self.seeded)

    def __len__(self) -> int:
        return int(next(iter(self.columns.values())).shape[0])

    def __getitem__(self, part: slice) -> Reports:
        """Some of the reports. Only slices are allowed, because a report is a batch of one."""
        if not isinstance(part, slice):
            raise TypeError(f"index reports by a slice, such as reports[{part}:{part} + 1]")
        columns = {name: column[part] for name, column in self.columns.items()}
        return Reports(self.collection, self.digest, columns, self.seeded)

    @property
    def nbytes(self) -> int:
        """Bytes of content, without the envelope."""
        return sum(column.nbytes for column in self.columns.values())

    @classmethod
    def concatenate(cls, batches: Sequence[Reports]) -> Reports:
        """One batch out of several that belong together."""
        if not batches:
            raise MergeError("there are no batches to concatenate; give at least one")
        first = batches[0]
        if len(batches) == 1:
            return first
        for batch in batches[1:]:
            if (batch.collection, batch.digest) != (first.collection, first.digest):
                raise MergeError(
                    f"reports of {first.collection!r} and {batch.collection!r} under different "
                    "parameters or studies cannot be concatenated; keep them apart"
                )
        columns = {
            name: np.concatenate([batch.columns[name] for batch in batches])
            for name in first.columns
        }
        return cls(first.collection, first.digest, columns, any(b.seeded for b in batches))

    def to_bytes(self) -> bytes:
        """The wire form; see `sottovoce.contract.wire`."""
        from .wire import encode

        return encode(self)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, expect: Expected) -> Reports:
        """Read the wire form, refusing reports that `expect` cannot have made.

        Parameters
        ----------
        expect : Collection or Study
            What the reports must belong to.
        """
        from .wire import decode

        return cls.concatenate(list(decode(data, expect=expect)))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file that carries version, collection and digest in its metadata."""
        from .report_files import ReportWriter

        with ReportWriter(path, "parquet") as writer:
            writer.append(self)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], *, expect: Expected) -> Reports:
        """Read such a file, checked like the wire form."""
        from .report_files import read_batches

        return cls.concatenate(list(read_batches(path, expect=expect, form="parquet")))


def split_reports(
    reports: Reports, group: NDArray[Any], groups: int
) -> Iterator[tuple[int, Reports]]:
    """The reports of each group that has some, in the order of the groups."""
    # Sorting small integers takes linear time, which is why they are made small.
    order = np.argsort(group.astype(code_dtype(groups), copy=False), kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups)).tolist()
    columns = {name: column[order] for name, column in reports.columns.items()}
    start = 0
    for k, end in enumerate(ends):
        if end > start:
            part = {name: column[start:end] for name, column in columns.items()}
            yield k, Reports(reports.collection, reports.digest, part, reports.seeded)
        start = end
