"""A collection in one SQLite file: write-ahead log, and every commit on disk when it returns.

Tables are ordered by their keys, which are random or hashes, so that rows have no number that
would show when they came. Deleted content is overwritten, and the log is emptied after every commit
that used invitation codes, since a log holds the pages of one commit side by side.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .store import Store, StoreError

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS submissions (key BLOB PRIMARY KEY, tag BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (
    key BLOB PRIMARY KEY, question TEXT NOT NULL, hour INTEGER NOT NULL,
    people INTEGER NOT NULL, reports INTEGER NOT NULL, data BLOB NOT NULL
) WITHOUT ROWID;
"""
_WAIT_SECONDS = 10.0  # for another process, such as `collection close`


class SqliteStore(Store):
    """A store in a file; see `Store`."""

    engine = "SQLite"
    failure = sqlite3.Error

    def __init__(self, path: Path, digest: bytes, *, create: bool = True) -> None:
        self.path = path
        self._digest = digest
        self._lock: int | None = None
        if not path.exists() and not create:
            raise StoreError(f"there is no collection in {str(path)!r}; sottovoce serve makes one")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):  # private from the first byte
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise StoreError(f"cannot write {str(path)!r}: {error.strerror}") from error
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        connection = None
        try:
            connection = sqlite3.connect(
                self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.executescript(_TABLES)
            row = connection.execute("SELECT value FROM facts WHERE key = 'digest'").fetchone()
            if row is None:
                connection.execute("INSERT INTO facts VALUES ('digest', ?)", (self._digest,))
            elif not isinstance(row[0], bytes):
                raise self.damaged("its study has no digest")
            elif row[0] != self._digest:
                raise StoreError(
                    f"{str(self.path)!r} belongs to another study ({row[0].hex()[:12]}…); even a "
                    "small change to a study makes it another one, with a collection of its own"
                )
        except (sqlite3.Error, StoreError) as error:
            if connection is not None:
                connection.close()
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"cannot use {str(self.path)!r}: {error}") from error
        return connection

    def reason(self, error: Exception) -> str:
        return f"{str(self.path)!r}: {error}"

    def begin(self, write: bool) -> None:
        self.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        return self._connection.execute(sql, parameters)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def lock(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        handle = os.open(self.path.with_suffix(".lock"), flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise StoreError(f"{str(self.path)!r} is being served by another process") from error
        self._lock = handle

    def settle(self) -> None:
        with suppress(sqlite3.Error):  # somebody reads it: the next commit tries again
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> None:
        with self.translated():
            (answer,) = self.execute("PRAGMA integrity_check").fetchone()
        if answer != "ok":
            raise self.damaged(" ".join(str(answer).split()))

    def tidy(self) -> None:
        with self.translated():
            self.execute("VACUUM")
        self.settle()

    def close(self) -> None:
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
