"""Tasks done by the executors of a Spark cluster, also through Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any

from ..collect.counting import Partial
from ..errors import SottovoceError, TransportError
from ..parallel import over_items
from .clusters import Task

_SCHEMA = (
    "part long, rows long, checksum binary, counts binary, kind string, reason string, more boolean"
)
_JOBS = 16  # at once, so that results arrive while others are counted
_LEAST = 8  # tasks of a job
_MOST_BYTES = 1 << 25  # of the results of a job, which the driver has in memory several times
_PIECE = 1 << 22  # bytes of counts in a row; Spark Connect refuses messages above 128 MiB


def on_spark(
    session: Any, task: Task, shared: Any, items: Sequence[Any], size: int = 0
) -> Iterator[Partial]:
    """Run on the executors of a session, which repeats tasks that fail."""
    pieces: list[bytes] = []
    try:
        for row in _rows(session, task, shared, items, size):
            about = row.asDict()
            pieces.append(bytes(about.pop("counts")))
            if about.pop("more"):
                continue
            about["checksum"] = bytes(about["checksum"])
            yield Partial(counts=b"".join(pieces), **about)
            pieces.clear()
    except SottovoceError:
        raise
    except Exception as error:  # of Spark, of its connection, or of what joins Java to Python
        raise TransportError(f"Spark failed: {_last_line(error)}") from error


def _rows(
    session: Any, task: Task, shared: Any, items: Sequence[Any], size: int = 0
) -> Iterator[Any]:
    """A Spark Connect server sends the rows of each task; otherwise those of a job come at once."""
    if "connect" in type(session).__module__.split("."):
        yield from _frame(session, task, shared, items).toLocalIterator()
        return
    many = max(_LEAST, -(-len(items) // _JOBS))
    many = max(1, min(many, _MOST_BYTES // max(1, size)))
    at_once = max(2, min(_JOBS, 4 * _MOST_BYTES // max(1, many * size)))
    jobs = [items[k : k + many] for k in range(0, len(items), many)]
    for rows in over_items(
        lambda some: _frame(session, task, shared, some).collect(), jobs, threads=at_once
    ):
        yield from rows


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
                    # A reason has names of files, which need not be text; Arrow's is UTF-8.
                    reason = result.reason.encode(errors="backslashreplace").decode()
                    about, whole = {**asdict(result), "reason": reason}, result.counts
                    for start in range(0, max(1, len(whole)), _PIECE):
                        end = start + _PIECE
                        piece = {"counts": whole[start:end], "more": end < len(whole)}
                        yield pa.RecordBatch.from_pylist([{**about, **piece}])

    # Spark has no unsigned integers, and these need none.
    return session.range(0, len(items), 1, len(items)).mapInArrow(run, _SCHEMA)


def _last_line(error: Exception) -> str:
    """What went wrong, without the traces of two languages around it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [
        line for line in lines if "Error" in line.split(":")[0] and not line.startswith("at ")
    ]
    details = [line for line in lines if line.startswith("details = ")]  # of a connection
    return (errors or details or lines or [type(error).__name__])[-1 if errors else 0]
