"""The interface of a store, and the SQL that both engines share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ...errors import FileError

_ROWS = 10_000  # read at a time
#: What engines give for a kind of cell: PostgreSQL adds up integers to decimals.
_KINDS: dict[type, tuple[type, ...]] = {
    bytes: (bytes, memoryview),
    int: (int, Decimal),
    str: (str,),
}


class StoreError(FileError):
    """The store cannot be read or written; nothing is acknowledged."""


@dataclass(frozen=True)
class Blob:
    """The reports of one question in one commit, in random order."""

    question: str
    hour: int  # whole ones since 1970 (UTC)
    people: int  # asked
    reports: int  # received
    data: bytes  # as in a file of reports


class Store(ABC):
    """Facts, hashes of submissions, and blobs of reports.

    Every method but `close` runs inside ``with store.transaction():``, which takes effect as a
    whole and is on disk when the block has ended, or raises and changes nothing. One thread uses a
    store.
    """

    #: The engine's name in status reports.
    engine: str
    #: What the engine raises.
    failure: type[Exception]

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[None]:
        """A transaction; errors of the engine come out as StoreError."""
        with self.translated():
            try:
                self.begin(write)
                yield
                self.execute("COMMIT")
            except BaseException:
                with suppress(self.failure, StoreError):  # there may be no connection
                    self.execute("ROLLBACK")
                raise

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Errors of the engine come out as StoreError."""
        try:
            yield
        except self.failure as error:
            raise StoreError(self.reason(error)) from error

    @abstractmethod
    def reason(self, error: Exception) -> str:
        """What an error of the engine says, and of which store."""

    @abstractmethod
    def begin(self, write: bool) -> None:
        """Open a transaction."""

    @abstractmethod
    def close(self) -> None:
        """Release the store."""

    @abstractmethod
    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run one statement; `?` marks parameters."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each row."""

    @abstractmethod
    def lock(self) -> None:
        """Become the only server of this collection, or raise StoreError."""

    @abstractmethod
    def settle(self) -> None:
        """After a commit with codes: forget what shows that it was committed together."""

    @abstractmethod
    def check(self) -> None:
        """Let the engine check its own files; raises StoreError."""

    @abstractmethod
    def tidy(self) -> None:
        """Rewrite the files, so that not even the layout of pages shows what came when."""

    def damaged(self, what: str) -> StoreError:
        """The error where the engine reads on although something is not what was written."""
        return StoreError(self.reason(ValueError(f"it is damaged: {what}; restore a backup")))

    def _cells(self, row: Sequence[Any], *kinds: type) -> tuple[Any, ...]:
        """The cells of a row, if they are of these kinds: a damaged page can hold any others."""
        for cell, kind in zip(row, kinds, strict=True):
            if not isinstance(cell, _KINDS[kind]):
                raise self.damaged(f"a cell is {type(cell).__name__}, not {kind.__name__}")
        return tuple(kind(cell) for cell, kind in zip(row, kinds, strict=True))

    # --- facts ------------------------------------------------------------------------------------

    def fact(self, key: str) -> bytes | None:
        """One fact, or None."""
        row = self.execute("SELECT value FROM facts WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._cells(row, bytes)[0]

    def facts(self, start: str = "") -> list[tuple[str, bytes]]:
        """All facts whose keys begin so, in order."""
        cells = self.execute("SELECT key, value FROM facts ORDER BY key").fetchall()
        rows = (self._cells(row, str, bytes) for row in cells)
        return [(key, value) for key, value in rows if key.startswith(start)]

    def count_facts(self, start: str) -> int:
        """How many facts have keys that begin so."""
        return self._count("facts WHERE key >= ? AND key < ?", start, start + "\x7f")

    def _count(self, what: str, *parameters: str) -> int:
        return int(self.execute(f"SELECT count(*) FROM {what}", parameters).fetchone()[0])  # noqa: S608

    def put_fact(self, key: str, value: bytes) -> None:
        """Set a fact."""
        self.execute(
            "INSERT INTO facts (key, value) VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    # --- submissions ------------------------------------------------------------------------------

    def tags(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The tags of those of these submissions that are known."""
        known: dict[bytes, bytes] = {}
        for start in range(0, len(keys), 500):
            some = keys[start : start + 500]
            marks = ", ".join("?" * len(some))
            sql = f"SELECT key, tag FROM submissions WHERE key IN ({marks})"  # noqa: S608
            rows = self.execute(sql, some).fetchall()
            known.update(self._cells(row, bytes, bytes) for row in rows)
        return known

    def add_submissions(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Remember submissions by (key, tag), in the order of their keys."""
        self.execute_many("INSERT INTO submissions (key, tag) VALUES (?, ?)", sorted(rows))

    def all_submissions(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """Every (key, tag), some at a time, in the order of the keys."""
        last = b""
        while True:
            sql = f"SELECT key, tag FROM submissions WHERE key > ? ORDER BY key LIMIT {_ROWS}"  # noqa: S608
            cells = self.execute(sql, (last,)).fetchall()
            rows = [(key, tag) for key, tag in (self._cells(row, bytes, bytes) for row in cells)]
            if not rows:
                return
            yield rows
            last = self._next(last, rows[-1][0])

    def count_submissions(self) -> int:
        """How many submissions there are."""
        return self._count("submissions")

    # --- blobs ------------------------------------------------------------------------------------

    def add_blob(self, blob: Blob) -> None:
        """Keep a blob under a random key."""
        self.execute(
            "INSERT INTO blobs (key, question, hour, people, reports, data) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (os.urandom(8), blob.question, blob.hour, blob.people, blob.reports, blob.data),
        )

    def blobs(self) -> Iterator[Blob]:
        """Every blob, in the order of the random keys."""
        last = b""
        while True:
            row = self.execute(
                "SELECT key, question, hour, people, reports, data FROM blobs "
                "WHERE key > ? ORDER BY key LIMIT 1",
                (last,),
            ).fetchone()
            if row is None:
                return
            key, *about = self._cells(row, bytes, str, int, int, int, bytes)
            last = self._next(last, key)
            yield Blob(*about)

    def _next(self, last: bytes, key: bytes) -> bytes:
        """The key to go on from; in a damaged table they may go round in circles."""
        if key <= last:
            raise self.damaged("keys are not in order")
        return key

    def hours(self) -> list[tuple[str, int, int, int]]:
        """(question, hour, people, reports), in order."""
        rows = self.execute(
            "SELECT question, hour, sum(people), sum(reports) FROM blobs "
            "GROUP BY question, hour ORDER BY question, hour"
        ).fetchall()
        return [(q, h, n, s) for q, h, n, s in (self._cells(r, str, int, int, int) for r in rows)]

    def count_blobs(self) -> int:
        """How many blobs there are."""
        return self._count("blobs")
