"""Parts counted by the executors of a Spark cluster, also through Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from importlib import import_module
from typing import Any

from ..collect.counting import Engine, Job, Part, Partial
from ..collect.tasks import count_task, tasks_of
from ..errors import TransportError

_SCHEMA = "part long, rows long, checksum binary, counts binary, kind string, reason string"
_JOBS = 16  # at once, so that results arrive while others are counted
_LEAST = 8  # tasks of a job


def on_spark(session: Any) -> Engine:
    """Count on the executors of a session, which repeats tasks that fail."""

    def run(job: Job, parts: Sequence[Part]) -> Iterator[Partial]:
        from pyspark.errors import PySparkException

        tasks = tasks_of(job, parts)
        many = max(_LEAST, -(-len(tasks) // _JOBS))
        jobs = [tasks[k : k + many] for k in range(0, len(tasks), many)]
        with ThreadPoolExecutor(len(jobs)) as pool:
            try:
                for done in as_completed(
                    [pool.submit(_collect, session, job, some) for some in jobs]
                ):
                    for row in done.result():
                        yield _partial(row)
            except PySparkException as error:
                raise TransportError(f"Spark failed: {_last_line(error)}") from error
            finally:
                pool.shutdown(cancel_futures=True)

    return run


def _collect(session: Any, job: Job, tasks: Sequence[list[Part]]) -> list[Any]:
    ours = import_module("sottovoce").__version__

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        other = import_module("sottovoce").__version__
        if other != ours:
            raise RuntimeError(f"an executor has Sottovoce {other}, and {ours} is needed")
        for batch in batches:
            for k in batch.column(0).to_pylist():
                for result in count_task(job, tasks[k]):
                    yield pa.RecordBatch.from_pylist([asdict(result)])

    # One row in each partition; Spark has no unsigned integers, and these need none.
    frame = session.range(0, len(tasks), 1, len(tasks))
    rows: list[Any] = frame.mapInArrow(count, _SCHEMA).collect()
    return rows


def _partial(row: Any) -> Partial:
    about = row.asDict()
    for name in ("checksum", "counts"):
        about[name] = bytes(about[name])
    return Partial(**about)


def _last_line(error: Exception) -> str:
    """What went wrong, without the traces of two languages around it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [
        line for line in lines if "Error" in line.split(":")[0] and not line.startswith("at ")
    ]
    return (errors or lines or [type(error).__name__])[-1 if errors else 0]
