"""Stores for the tests of the service: every test of a store runs on both engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sottovoce.service.stores import Store, open_store
from tests.service.clusters import Cluster, binaries

Opener = Callable[..., Store]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One PostgreSQL for all tests; each study has a schema of its own."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if binaries() is None:
        pytest.skip("PostgreSQL's server is not installed on this machine")
    own = Cluster()
    yield own
    own.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store is: a folder, or a database that is empty at first."""
    if request.param == "sqlite":
        yield str(tmp_path / "study.collection")
        return
    import psycopg

    cluster: Cluster = request.getfixturevalue("cluster")
    yield cluster.address
    with psycopg.connect(cluster.address, autocommit=True) as connection:
        sql = "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'sotto%'"
        for (name,) in connection.execute(sql).fetchall():
            connection.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def opened(address: str) -> Iterator[Opener]:
    """Opens stores at the address, and closes them after the test."""
    stores: list[Store] = []

    def opener(digest: bytes, **options: bool) -> Store:
        stores.append(open_store(address, digest, **options))
        return stores[-1]

    yield opener
    for store in stores:
        store.close()
