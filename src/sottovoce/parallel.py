"""Work on several cores, in threads: the kernels release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_WORTH_A_THREAD = 50_000_000


def cores() -> int:
    """How many threads to use: SOTTOVOCE_THREADS, else the cores this process may use."""
    setting = os.environ.get("SOTTOVOCE_THREADS", "")
    if setting.isdigit() and int(setting) > 0:
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_ranges(action: Callable[[slice], None], size: int, *, work: int) -> None:
    """Call `action` on slices that cover 0..size, in parallel where `work` is large."""
    threads = min(cores(), max(1, work // _WORTH_A_THREAD), max(1, size))
    if threads == 1:
        action(slice(0, size))
        return
    borders = [size * k // threads for k in range(threads + 1)]
    parts = [slice(a, b) for a, b in pairwise(borders)]
    contexts = [copy_context() for _ in parts]  # so that threads count with the same engine
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda context, part: context.run(action, part), contexts, parts))


def over_items(
    action: Callable[[Item], Result], items: Sequence[Item], *, threads: int = 0
) -> Iterator[Result]:
    """The result of `action` for every item, in the order in which they are ready.

    `threads` is for work that waits for a network rather than for a core.
    """
    with ThreadPoolExecutor(min(threads or cores(), max(1, len(items)))) as pool:
        try:
            # Not kept in a variable, so that a result is freed as soon as it was used.
            for future in as_completed(
                [pool.submit(copy_context().run, action, item) for item in items]
            ):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)
