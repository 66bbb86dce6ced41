"""A columnar batch of reports, and files of them: the wire form (`.svr`) or Parquet.

Bit order, stated once for every collection whose report is a set of values: value v is bit
(v mod 8) of byte (v div 8), least significant bit first; unused bits of the last byte are zero.
Integers are little-endian.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, BinaryIO, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..checks import html_table
from ..domain.values import code_dtype
from ..errors import FileError, MergeError, WireError
from ..files import opened, whole_file

Form = Literal["svr", "parquet"]
BATCH_ROWS = 1 << 18  # read from a file at once, or fewer where they are wide
BATCH_BYTES = 1 << 24
_AT_ONCE = 1 << 16  # bytes of an object that are read at least


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

    def __repr__(self) -> str:
        seeded = ", drawn from a seed" * self.seeded
        return (
            f"<Reports {self.collection}: {len(self):,}, digest {self.digest.hex()[:12]}…{seeded}>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: what they are, and how many; never their content."""
        rows = [
            ("collection", self.collection),
            ("digest", self.digest.hex()),
            ("columns", ", ".join(self.columns)),
            ("bytes", f"{self.nbytes:,}"),
        ]
        seeded = "Drawn from a seed: there is no privacy." if self.seeded else ""
        return html_table(f"{len(self):,} reports", rows, head=False, end=seeded)

    def __len__(self) -> int:
        return int(next(iter(self.columns.values())).shape[0])

    def __getitem__(self, part: slice) -> Reports:
        """Some of the reports. Only slices are allowed, because a report is a batch of one."""
        if not isinstance(part, slice):
            raise TypeError(f"index reports by a slice, such as reports[{part}:{part} + 1]")
        columns = {name: column[part] for name, column in self.columns.items()}
        return Reports(self.collection, self.digest, columns, self.seeded)

    @property
    def kind(self) -> tuple[str, bytes, bool]:
        """What reports must have in common to be in one file: collection, digest, seeded."""
        return self.collection, self.digest, self.seeded

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
        """The wire form; see `sottovoce.contract.codec`."""
        from .codec import encode_reports

        return encode_reports(self)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, expect: Expected) -> Reports:
        """Read the wire form, refusing reports that `expect` cannot have made.

        Parameters
        ----------
        expect : Collection or Study
            What the reports must belong to.
        """
        from .codec import decode_reports

        return cls.concatenate(list(decode_reports(data, expect=expect)))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file that carries version, collection and digest in its metadata."""
        with ReportWriter(path, "parquet") as writer:
            writer.append(self)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], *, expect: Expected) -> Reports:
        """Read such a file, checked like the wire form."""
        return cls.concatenate(list(read_batches(path, expect=expect, form="parquet")))


def sort_reports(reports: Reports, group: NDArray[Any], groups: int) -> tuple[Reports, list[int]]:
    """The reports in the order of their groups, and where each group ends."""
    # Sorting small integers takes linear time, which is why they are made small.
    order = np.argsort(group.astype(code_dtype(groups), copy=False), kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups)).tolist()
    columns = {name: column[order] for name, column in reports.columns.items()}
    return Reports(reports.collection, reports.digest, columns, reports.seeded), ends


def split_reports(
    reports: Reports, group: NDArray[Any], groups: int
) -> Iterator[tuple[int, Reports]]:
    """The reports of each group that has some, in the order of the groups."""
    in_order, ends = sort_reports(reports, group, groups)
    start = 0
    for k, end in enumerate(ends):
        if end > start:
            yield k, in_order[start:end]
        start = end


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
        self._last: Reports | None = None
        self._stream: BinaryIO
        self._parquet: Any = None

    def __enter__(self) -> ReportWriter:
        if self._form == "parquet":
            from .parquet import require_pyarrow

            require_pyarrow()
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
            if self._last is None:
                raise FileError(f"no reports were given for {os.fspath(self._path)!r}")
            self._write(self._last, more=False)
            if self._parquet is not None:
                self._parquet.close()

    def append(self, reports: Reports) -> None:
        """Add a batch; it must be of the same collection and digest as the others."""
        if self._last is not None:
            if reports.kind != self._last.kind:
                raise MergeError(
                    "a file holds reports of one collection under one study; start another file"
                )
            if not len(reports):
                return  # only a file without any reports has an empty envelope
            if len(self._last):
                self._write(self._last, more=True)
        self._last = reports

    def _write(self, reports: Reports, *, more: bool) -> None:
        if self._form == "svr":
            from .codec import envelope

            self._stream.writelines(envelope(reports, more=more))
            return
        from .parquet import to_table

        table = to_table(reports)
        if self._parquet is None:
            import pyarrow.parquet as pq

            # Random bits do not compress, and dictionaries of them only cost time.
            self._parquet = pq.ParquetWriter(
                self._stream,
                table.schema,
                compression="none",
                use_dictionary=False,
                write_page_checksum=True,
            )
            self._stack.callback(self._abandon)
        self._parquet.write_table(table)

    def _abandon(self) -> None:
        # After an error the file is discarded; its writer must not try again when collected.
        with suppress(Exception):
            self._parquet.close()
        self._parquet.is_open = False


def read_batches(
    path: str | os.PathLike[str],
    *,
    expect: Expected,
    form: Form | None = None,
    cut: tuple[int, int] | None = None,
) -> Iterator[Reports]:
    """The batches of a report file or of one part of it, each checked, in little memory.

    Parameters
    ----------
    path : path or str
        A file, or the address of an object such as s3://bucket/name.
    expect : Collection or Study
        What the reports must belong to.
    form : {"svr", "parquet"}, optional
        By default what the first bytes show.
    cut : (int, int), optional
        One of the pairs that `cut_file` gives.
    """
    with opened(path) as stream:
        try:
            if (form or sniff(stream)) == "parquet":
                from .parquet import folder_values, parquet_batches

                folders = folder_values(path)
                batches = parquet_batches(stream, expect, cut=cut, folders=folders)
                yield from _join_batches(batches)
            else:
                from .codec import decode_stream

                with _ahead(stream) as some:
                    yield from _join_batches(decode_stream(some, expect=expect, cut=cut))
        except WireError as error:
            raise type(error)(f"{os.fspath(path)!r}: {error}") from error


def cut_file(
    path: str | os.PathLike[str], *, expect: Expected, form: Form, rows: int
) -> list[tuple[int, int]]:
    """Where to cut a report file into parts of about so many rows; its reports are not read.

    Parts are runs of row groups in Parquet, and of envelopes in the wire form, whose heads say
    where the next one is.
    """
    with opened(path) as stream:
        try:
            if form == "parquet":
                from .parquet import cut_parquet

                return list(cut_parquet(stream, rows=rows))
            from .codec import cut_stream

            with _ahead(stream) as some:
                return list(cut_stream(some, expect=expect, rows=rows))
        except WireError as error:
            raise type(error)(f"{os.fspath(path)!r}: {error}") from error


@contextmanager
def _ahead(stream: BinaryIO) -> Iterator[BinaryIO]:
    """The same, where every read of an object is a request: heads come with what follows them."""
    if isinstance(stream, io.BufferedReader):  # a file here
        yield stream
        return
    some = io.BufferedReader(stream, _AT_ONCE)  # type: ignore[type-var]
    try:
        yield some
    finally:
        some.detach()  # or it would close the stream


def _join_batches(batches: Iterator[Reports]) -> Iterator[Reports]:
    """The same reports in larger batches: a file may consist of very many small ones."""
    waiting: list[Reports] = []
    rows = size = 0
    for batch in batches:
        same = waiting and batch.kind == waiting[0].kind
        if same and not len(batch):
            continue
        fits = rows + len(batch) <= BATCH_ROWS and size + batch.nbytes <= BATCH_BYTES
        if waiting and not (same and fits):
            yield Reports.concatenate(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
    if waiting:
        yield Reports.concatenate(waiting)


def sniff(stream: BinaryIO) -> Form | Literal["sva"]:
    """The form of a file by its first bytes; the wire form where they show no other."""
    start = stream.read(4)
    stream.seek(0)
    forms: dict[bytes, Form | Literal["sva"]] = {b"PAR1": "parquet", b"SVAG": "sva"}
    return forms.get(start, "svr")
