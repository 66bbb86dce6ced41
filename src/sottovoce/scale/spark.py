"""Tasks done by the executors of a Spark cluster, also through Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from importlib import import_module
from typing import Any

from ..collect.counting import Partial
from ..errors import TransportError
from .clusters import Task

_SCHEMA = "part long, rows long, checksum binary, counts binary, kind string, reason string"
_JOBS = 16  # at once, so that results arrive while others are counted
_LEAST = 8  # tasks of a job


def on_spark(session: Any, task: Task, shared: Any, items: Sequence[Any]) -> Iterator[Partial]:
    """Run on the executors of a session, which repeats tasks that fail."""
    from pyspark.errors import PySparkException

    try:
        for row in _rows(session, task, shared, items):
            about = row.asDict()
            for name in ("checksum", "counts"):
                about[name] = bytes(about[name])
            yield Partial(**about)
    except PySparkException as error:
        raise TransportError(f"Spark failed: {_last_line(error)}") from error


def _rows(session: Any, task: Task, shared: Any, items: Sequence[Any]) -> Iterator[Any]:
    """A Spark Connect server sends the rows of each task; otherwise those of a job come at once."""
    if "connect" in type(session).__module__.split("."):
        yield from _frame(session, task, shared, items).toLocalIterator()
        return
    many = max(_LEAST, -(-len(items) // _JOBS))
    jobs = [items[k : k + many] for k in range(0, len(items), many)]
    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [
            pool.submit(lambda some: _frame(session, task, shared, some).collect(), some)
            for some in jobs
        ]
        try:
            for done in as_completed(futures):
                yield from done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _frame(session: Any, task: Task, shared: Any, items: Sequence[Any]) -> Any:
    """A data frame of the results, each item in a partition of its own."""
    ours = import_module("sottovoce").__version__

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        other = import_module("sottovoce").__version__
        if other != ours:
            raise RuntimeError(f"an executor has Sottovoce {other}, and {ours} is needed")
        for batch in batches:
            for k in batch.column(0).to_pylist():
                for result in task(shared, items[k]):
                    yield pa.RecordBatch.from_pylist([asdict(result)])

    # Spark has no unsigned integers, and these need none.
    return session.range(0, len(items), 1, len(items)).mapInArrow(run, _SCHEMA)


def _last_line(error: Exception) -> str:
    """What went wrong, without the traces of two languages around it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [
        line for line in lines if "Error" in line.split(":")[0] and not line.startswith("at ")
    ]
    return (errors or lines or [type(error).__name__])[-1 if errors else 0]
