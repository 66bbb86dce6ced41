"""What a collection keeps, behind one small interface; SQLite by default, or PostgreSQL.

Three tables, with nothing that joins them::

    facts         key, value: the study, whether it is closed, hashed tokens, sheets of codes
    submissions   two hashes per submission, in the order of the hashes
    blobs         one per question and commit: its reports in random order, the hour, two counts

There is no address, no time finer than an hour, no order of arrival, and no link between an
invitation code and a report.
"""

from __future__ import annotations

from pathlib import Path

from .store import Blob, Store, StoreError

__all__ = ["Blob", "Store", "StoreError", "copy_store", "open_store"]

FILE = "collection.sqlite"


def open_store(where: str | Path, digest: bytes, *, create: bool = True) -> Store:
    """The store of the study with this digest; another study's is refused.

    `where` is a folder, an SQLite file, or a ``postgresql://`` address.
    """
    if str(where).startswith(("postgresql://", "postgres://")):
        from .postgresql import PostgresStore

        return PostgresStore(str(where), digest, create=create)
    from .sqlite import SqliteStore

    path = Path(where)
    if path.suffix not in (".sqlite", ".backup"):
        path = path / FILE
    return SqliteStore(path, digest, create=create)


def copy_store(source: Store, target: Store) -> None:
    """Copy everything into an empty store: a backup, a restore, or a move to another engine."""
    source.check()
    with target.transaction(), source.transaction(write=False):
        if target.count_blobs() or target.fact("study") is not None:
            raise StoreError(
                "the target is not empty: it has a collection, and nothing was copied; name an "
                "empty one (--store)"
            )
        for key, value in source.facts():
            target.put_fact(key, value)
        for rows in source.all_submissions():
            target.add_submissions(rows)
        for blob in source.blobs():
            target.add_blob(blob)
