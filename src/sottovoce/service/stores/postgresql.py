"""A collection in PostgreSQL, each study in a schema of its own, so that two never mix.

A lost connection is opened again by the next transaction. PostgreSQL's own log (WAL) shows what was
committed together until it is recycled: do not archive it where invitation codes are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError
from .store import Store, StoreError

if TYPE_CHECKING:
    import psycopg

_TABLES = (
    'CREATE TABLE IF NOT EXISTS facts (key TEXT COLLATE "C" PRIMARY KEY, value BYTEA NOT NULL)',
    "CREATE TABLE IF NOT EXISTS submissions (key BYTEA PRIMARY KEY, tag BYTEA NOT NULL)",
    "CREATE TABLE IF NOT EXISTS blobs (key BYTEA PRIMARY KEY, question TEXT NOT NULL, "
    "hour BIGINT NOT NULL, people BIGINT NOT NULL, reports BIGINT NOT NULL, data BYTEA NOT NULL)",
)
_SETTINGS = "-c statement_timeout=60s -c lock_timeout=10s -c synchronous_commit=on"


class PostgresStore(Store):
    """A store in a database; see `Store`."""

    engine = "PostgreSQL"

    def __init__(self, address: str, digest: bytes, *, create: bool = True) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError.of("psycopg", "postgresql", "a PostgreSQL store") from error
        self._psycopg = psycopg
        self.failure = psycopg.Error
        self._address = address
        self._digest = digest
        self._schema = f"sottovoce_{digest.hex()[:24]}"
        self._number = int.from_bytes(digest[:6], "big") << 1  # of the advisory locks
        self._serves = False
        self._live: psycopg.Connection[Any] | None = None
        with self.translated():
            connection = self._connect()
            known = connection.execute(
                "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", (self._schema,)
            ).fetchone()
            if known is None and not create:
                connection.close()
                raise StoreError(
                    "there is no collection of this study in the database; sottovoce serve makes "
                    "one"
                )
            if known is None:
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
                for table in _TABLES:
                    connection.execute(table)
                connection.execute(
                    "INSERT INTO facts VALUES ('digest', %s) ON CONFLICT DO NOTHING", (digest,)
                )
            self._live = connection

    def reason(self, error: Exception) -> str:
        # Without the address, which may have a password in it.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return f"PostgreSQL: {lines[0]}"

    def _connect(self) -> psycopg.Connection[Any]:
        connection = self._psycopg.connect(
            self._address, autocommit=True, connect_timeout=5, options=_SETTINGS
        )
        connection.execute(f"SET search_path TO {self._schema}")
        if self._serves:
            self._become_server(connection)
        return connection

    def _become_server(self, connection: psycopg.Connection[Any]) -> None:
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._number,)).fetchone()
        if row is None or not row[0]:
            connection.close()
            raise StoreError("this collection is being served by another process")

    def begin(self, write: bool) -> None:
        if self._live is None or self._live.closed:
            self._live = None
            self._live = self._connect()
        self.execute("BEGIN")
        if write:  # one writer at a time, as in SQLite: nothing is stored after a close
            self.execute("SELECT pg_advisory_xact_lock(?)", (self._number + 1,))
        else:
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        return self._connection.execute(sql.replace("?", "%s"), parameters, binary=True)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(sql.replace("?", "%s"), rows)

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        if self._live is None:
            raise StoreError("PostgreSQL: not connected")
        return self._live

    def lock(self) -> None:
        with self.translated():
            self._become_server(self._connection)
        self._serves = True

    def settle(self) -> None:
        """Remove the old versions of a sheet; the log belongs to the whole database."""
        with suppress(self.failure):  # the next commit tries again
            self.execute("VACUUM facts")

    def check(self) -> None:
        """PostgreSQL checks its pages itself; that the reports can be read is checked above."""

    def tidy(self) -> None:
        with self.translated():
            for table in ("facts", "submissions", "blobs"):
                self.execute(f"VACUUM FULL {table}")

    def close(self) -> None:
        if self._live is not None:
            self._live.close()
