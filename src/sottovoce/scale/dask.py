"""Tasks done by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from ..collect.counting import Partial
from ..errors import SottovoceError, TransportError
from .clusters import Task

_PATIENCE = 60.0  # seconds until the first worker must be there
_MOST_BYTES = 1 << 30  # of results that wait on all workers together


def on_dask(
    client: Any, task: Task, shared: Any, items: Sequence[Any], size: int = 0
) -> Iterator[Partial]:
    """Run on the workers of a client; what a worker that dies has begun is done by another.

    Results wait on the workers until they are fetched, so that tasks with large ones are only
    given out as far as these have room.
    """
    import dask
    from distributed import KilledWorker, as_completed
    from distributed.comm.core import CommClosedError

    futures: list[Any] = []
    try:
        # Large counts are no mistake here; Dask would warn about them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            everywhere = _on_every_worker(client, shared)
            futures, rest = _given_out(client, task, everywhere, items, size)
            results = as_completed(futures)
            for future in results:
                yield from future.result()
                future.release()
                if rest:
                    futures.append(client.submit(task, everywhere, rest.pop(), pure=False))
                    results.add(futures[-1])
    except KilledWorker as error:
        raise TransportError(
            f"several Dask workers died over the same part ({error.task}); do they have enough "
            "memory?"
        ) from error
    except (CommClosedError, CancelledError) as error:
        raise TransportError(
            f"the Dask cluster is gone ({type(error).__name__}); start it again"
        ) from error
    except SottovoceError:
        raise
    except Exception as error:  # whatever a worker raised
        raise TransportError(
            f"a Dask worker failed ({type(error).__name__}: {error}); does it have the packages "
            "that are installed here?"
        ) from error
    finally:
        with suppress(Exception):  # of a client that is closed: there is nothing to cancel
            client.cancel(futures)


def _given_out(
    client: Any, task: Task, everywhere: Any, items: Sequence[Any], size: int
) -> tuple[list[Any], list[Any]]:
    """The first tasks, and the items that have to wait, the last one first."""
    workers = sum(client.nthreads().values())
    first = max(2 * workers, _MOST_BYTES // max(1, size))
    some = items[:first]
    futures = client.map(task, [everywhere] * len(some), some, pure=False)
    return list(futures), list(reversed(items[first:]))


def _on_every_worker(client: Any, thing: Any) -> Any:
    """A future of something that all tasks need.

    It is the result of a task, so that it is sent once and computed again if it is lost; and every
    worker has it, because Dask prefers workers that have what a task needs.
    """
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise TransportError(
            "the Dask cluster has no workers; start some with `dask worker ADDRESS`"
        ) from error
    _check_versions(client)
    shared = client.submit(_same, thing, pure=False)
    with suppress(Exception):  # a worker that dies meanwhile; the others fetch it when they need it
        client.replicate([shared])
    return shared


def _check_versions(client: Any) -> None:
    """Refuse workers without this package: they would end at the first task, and nothing would."""

    def version() -> str:  # a function in a function is sent as code, not by the package's name
        from importlib import import_module

        try:
            return str(import_module("sottovoce").__version__)
        except ImportError:
            return ""

    ours = version()
    for worker, other in client.run(version, on_error="ignore").items():
        if other != ours:
            raise TransportError(
                f"the Dask worker {worker} has {f'Sottovoce {other}' if other else 'no Sottovoce'}"
                f", and {ours} is needed; install it there"
            )


def _same(thing: Any) -> Any:
    return thing
