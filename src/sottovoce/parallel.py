"""Work on several cores, in threads: the kernels release the interpreter lock.

Threads live as long as the call that needs them, so that a fork meets none of them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from itertools import pairwise
from typing import ParamSpec, TypeVar

Item = TypeVar("Item")
T = TypeVar("T")
P = ParamSpec("P")

#: Steps that take about a millisecond: a core does some 20 simple ones in a nanosecond.
WORTH_A_THREAD = 20_000_000
_MOST_AHEAD = 4
_sharing: ContextVar[int] = ContextVar("sharing", default=1)  # who divide the cores among them


def cores() -> int:
    """How many threads to use: SOTTOVOCE_THREADS, else the cores this process may use."""
    setting = os.environ.get("SOTTOVOCE_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Threads(ThreadPoolExecutor):
    """Threads, as long as they are allowed: not after the end of the program's main thread.

    A thread that is still working then does by itself what it would have divided.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError as error:
            if "cannot schedule" not in str(error):  # it was queued, and may be done twice
                raise
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # as in a thread: `result` raises it
            future.set_exception(error)
        return future


def buffer_factor(part: slice, size: int) -> int:
    """How many times longer its buffers are than usual where a thread works on a part of 0..size.

    A thread that waits for the interpreter's lock needs some 50 µs to wake up, and longer the more
    others wait. Work that returned to the interpreter sooner would run in turn.
    """
    length = part.stop - part.start
    return 1 if length >= size else min(max(8, 2 * size // max(length, 1)), 32)


def over_ranges(
    action: Callable[[slice], T], size: int, *, work: int, multiple: int = 1
) -> list[T]:
    """Call `action` on slices that cover 0..size, in parallel where `work` is large.

    Returns the results in the order of the slices, which begin at multiples of `multiple`. Of
    several errors, that of the first slice is raised. Work inside the threads is divided again only
    if there are cores left.
    """
    sharing = _sharing.get()
    threads = min(cores() // sharing, work // WORTH_A_THREAD, size // multiple)
    if threads <= 1:
        return [action(slice(0, size))]
    borders = [size * k // threads // multiple * multiple for k in range(threads)]
    parts = [slice(a, b) for a, b in pairwise([*borders, size])]
    contexts = [copy_context() for _ in parts]  # so that threads count with the same engine

    def share(part: slice) -> T:
        _sharing.set(sharing * threads)
        return action(part)

    # The first slice is worked on here: a thread that only waits would keep another off its core.
    with _Threads(threads - 1) as pool:
        others = [
            pool.submit(context.run, share, part)
            for context, part in zip(contexts[1:], parts[1:], strict=True)
        ]
        first = contexts[0].run(share, parts[0])
        return [first, *(future.result() for future in others)]


def over_items(
    action: Callable[[Item], T], items: Sequence[Item], *, threads: int = 0
) -> Iterator[T]:
    """The result of `action` for every item, more or less in the order in which they are ready.

    `threads` is for work that waits for a network rather than for a core. Where there is an item
    for every core, work on it is not divided again. Only a few results wait to be asked for,
    because each may be large.
    """
    sharing = cores() if not threads and len(items) >= cores() else _sharing.get()

    def share(item: Item) -> T:
        _sharing.set(sharing)
        return action(item)

    many = min(threads or cores(), max(1, len(items)))
    waiting: set[Future[T]] = set()
    with _Threads(many) as pool:
        try:
            for item in items:
                waiting.add(pool.submit(copy_context().run, share, item))
                if len(waiting) > _MOST_AHEAD * many:
                    yield from _ready(waiting)
            while waiting:
                yield from _ready(waiting)
        finally:
            pool.shutdown(cancel_futures=True)


def _ready(waiting: set[Future[T]]) -> Iterator[T]:
    """Take the results that are ready, at least one of them."""
    ready = wait(waiting, return_when=FIRST_COMPLETED).done
    waiting -= ready
    while ready:  # not kept in a variable, so that a result is freed as soon as it was used
        yield ready.pop().result()


def in_order(action: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """The results of `action` in the order of the items, a few of them computed ahead.

    Items are asked for here, while other cores work on those before; few at a time, so that little
    memory is needed.
    """
    threads = min(cores(), _MOST_AHEAD)
    if threads == 1:
        yield from map(action, items)
        return
    waiting: deque[Future[T]] = deque()
    with _Threads(threads) as pool:
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
    with _Threads(1) as pool:
        following = pool.submit(next, iterator, end)
        while (item := following.result()) is not end:
            following = pool.submit(next, iterator, end)
            yield item  # type: ignore[misc]
