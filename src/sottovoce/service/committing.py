"""The thread that commits: everything that waits goes into the next commit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread

from .collector import FAILED, Collector, Entry
from .metrics import Metrics

_MOST_REPORTS = 200_000  # in one commit
_LOOK_SECONDS = 2.0

Waiting = tuple[Entry, Callable[[str], None]]


class Committer:
    """Feeds a collector from an event loop."""

    def __init__(self, collector: Collector, metrics: Metrics) -> None:
        self.collector = collector
        self._metrics = metrics
        self._waiting: deque[Waiting] = deque()
        self._wake = Condition()
        self._ending = False
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to commit."""
        self._loop = loop
        self._thread = Thread(target=self._run, name="commits", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Commit what still waits, then end."""
        with self._wake:
            self._ending = True
            self._wake.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def submit(self, entry: Entry, done: Callable[[str], None]) -> None:
        """Commit a submission; `done` is called in the event loop when that is on disk."""
        with self._wake:
            self._waiting.append((entry, done))
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._waiting and not self._ending:
                    self._wake.wait(_LOOK_SECONDS)
                batch = self._next()
                ending = self._ending
            if batch:
                self._answer(batch, self._commit(batch))
            elif ending:
                return
            else:
                self._look()

    def _next(self) -> list[Waiting]:
        batch: list[Waiting] = []
        reports = 0
        while self._waiting and reports < _MOST_REPORTS:
            batch.append(self._waiting.popleft())
            reports += batch[-1][0].submission.accepted
        return batch

    def _commit(self, batch: list[Waiting]) -> list[str]:
        try:
            with self._metrics.commit():
                return self.collector.commit([entry for entry, _ in batch])
        except Exception as error:  # whatever it is, senders get an answer and the thread goes on
            self._metrics.failed_commit(error)
            return [FAILED] * len(batch)

    def _look(self) -> None:
        """While idle, notice that the collection was closed or that the store works again."""
        try:
            self.collector.probe()
        except Exception as error:
            self._metrics.failed_commit(error)

    def _answer(self, batch: list[Waiting], outcomes: list[str]) -> None:
        def answer() -> None:
            for (_, done), outcome in zip(batch, outcomes, strict=True):
                done(outcome)

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(answer)
