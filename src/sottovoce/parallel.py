"""Work on several cores, in threads: the kernels release the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_WORTH_A_THREAD = 50_000_000
_MOST_AHEAD = 4


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


def in_order(action: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The results of `action` in the order of the items, a few of them computed ahead.

    Items are asked for here, while other cores work on those before; few at a time, so that little
    memory is needed.
    """
    threads = min(cores(), _MOST_AHEAD)
    if threads == 1:
        yield from map(action, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(copy_context().run, action, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, the next one being computed in another thread meanwhile."""
    if cores() == 1:
        yield from items
        return
    end, iterator = object(), iter(items)
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, iterator, end)
        while (item := following.result()) is not end:
            following = pool.submit(next, iterator, end)
            yield item  # type: ignore[misc]
