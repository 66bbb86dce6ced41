"""Engines that are started once, and data sets that are cut into many parts."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.collect import counting

from .datasets import dataset, kinds

SPARK = (
    "--master local-cluster[2,1,1024] --conf spark.ui.enabled=false --conf spark.log.level=OFF "
    "--conf spark.executor.memory=768m --conf spark.ui.showConsoleProgress=false "
    "--conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1 pyspark-shell"
)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are cut as large ones are: into parts of about 200 reports."""
    monkeypatch.setattr(counting, "_WHOLE", 0)
    monkeypatch.setattr(counting, "part_rows", lambda collection: 200)


@pytest.fixture(scope="session")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Path, Any]]:
    """By kind: the collection, its folder of files, and their total."""
    root = tmp_path_factory.mktemp("kinds")
    return {
        name: (one, root / str(k), dataset(root / str(k), one))
        for k, (name, one) in enumerate(kinds().items())
    }


@pytest.fixture
def grr(tmp_path: Path, small_parts: None) -> tuple[Any, Path, Any]:
    """A folder of files of one mechanism."""
    collection = sv.GRR(5, epsilon=1.0)
    return collection, tmp_path, dataset(tmp_path, collection)


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """A Dask cluster of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with (
        warnings.catch_warnings(action="ignore"),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def spark() -> Iterator[dict[str, Any]]:
    """Spark with two executor processes: a Connect session, and a classic one beside it."""
    if not importlib.util.find_spec("pyspark"):
        pytest.skip("pyspark is not installed here; `make peers` runs these tests")
    if not shutil.which("java"):
        pytest.skip("there is no Java, which Spark needs")
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.session import SparkSession as Classic

    settings = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": SPARK}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):
        for name, value in settings.items():
            patch.setenv(name, value)
        remote = SparkSession.builder.remote("local-cluster[2,1,1024]").getOrCreate()
        yield {"connect": remote, "classic": Classic(SparkContext._active_spark_context)}
        remote.stop()


@pytest.fixture
def classic(spark: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The session without Connect, for which the process must not say that it uses Connect."""
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED")
    return spark["classic"]


@pytest.fixture
def connect(spark: dict[str, Any]) -> Any:
    """The session of Spark Connect."""
    return spark["connect"]
