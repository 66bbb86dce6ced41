"""Submissions in, commits out: each acknowledged when it is on disk, and counted once.

Everything that waits when a commit begins goes into that commit: one transaction, one blob per
question with the reports in random order, then one answer to each sender. Counts are added up in
memory from what was committed, and recomputed from the store at the start and after an error; while
that lasts, and where it fails, what was counted before is shown, never a part of it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Condition, Lock, Thread

import numpy as np

from ..contract.aggregate import Aggregate
from ..contract.collection import Collection
from ..contract.reports import Reports
from ..errors import EstimateError, ParameterError
from ..randomness import SYSTEM
from ..study import Study
from .codes import Codes
from .metrics import Metrics
from .stored import stored_reports
from .stores import Blob, Store, StoreError
from .submission import Submission

_FOLD = 1 << 16  # reports that wait to be counted until somebody asks
_MOST_WAITING = 256  # batches of them
_MOST_REPORTS = 200_000  # in one commit
_LOOK_SECONDS = 2.0
HOUR = 3600


#: What became of a submission: it is in the store, or there is a problem of this name.
STORED, REPEATED = "stored", "repeated"
CONFLICT, CLOSED, NO_CODE, FAILED = "conflict", "closed", "code", "store"


@dataclass(frozen=True)
class Entry:
    """A submission with the hash of its invitation code, if any."""

    submission: Submission
    code: bytes | None = None


class _Tally:
    """What was counted, question by question; whoever shares one takes turns."""

    def __init__(self, study: Study, uncounted: frozenset[str]) -> None:
        self._study = study
        self._uncounted = uncounted
        self.counts: dict[str, Aggregate] = {}
        self.waiting: dict[str, list[Reports]] = {name: [] for name in study.names}
        self.hours: dict[str, dict[int, int]] = {name: {} for name in study.names}

    def add(self, blob: Blob, reports: Reports) -> None:
        """Count the reports of a blob, or let them wait until somebody asks."""
        hours = self.hours[blob.question]
        hours[blob.hour] = hours.get(blob.hour, 0) + blob.people
        waiting = self.waiting[blob.question]
        waiting.append(reports)
        many = 0 if blob.question in self._uncounted else sum(map(len, waiting))
        if many >= _FOLD or len(waiting) >= _MOST_WAITING:
            self.fold(blob.question)

    def fold(self, name: str) -> None:
        """Count what waits; reports of a question that is not counted become one batch."""
        waiting = self.waiting[name]
        if name in self._uncounted and len(waiting) > 1:
            # In random order, since they may be exported.
            self.waiting[name] = [_shuffle(Reports.concatenate(waiting))]
        elif name not in self._uncounted and waiting:
            part = self._study.collection(name).aggregate(Reports.concatenate(waiting))
            before = self.counts.get(name)
            self.counts[name] = part if before is None else before + part
            self.waiting[name] = []


class Collector:
    """The collection of one study: what is stored, and the counts of it.

    No other object may use the store at the same time. Of the clock only whole hours are kept.
    """

    def __init__(
        self, study: Study, store: Store, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.study = study
        #: Questions with too many values to count: their reports are kept until some are chosen.
        self.uncounted = frozenset(one.name for one in study if not _counts_all(one))
        self._store = store
        self._clock = clock
        self.codes = Codes(store)
        self._guard = Lock()  # the tally is read by other threads
        self._stale = True
        self.closed = False
        self._tally = _Tally(study, self.uncounted)
        self.recount()

    # --- commits ----------------------------------------------------------------------------------

    def commit(self, entries: Sequence[Entry]) -> list[str]:
        """Store what is new in one transaction; raises StoreError with nothing acknowledged."""
        if self._stale:
            self.recount()
        done = False
        try:
            with self._store.transaction():
                outcomes, fresh = self._judge(entries)
                blobs = self._blobs(fresh)
                for blob, _ in blobs:
                    self._store.add_blob(blob)
                self._store.add_submissions([(one.key, one.tag) for one in fresh])
                coded = self.codes.write()
            done = True
            with self._guard:
                for blob, reports in blobs:
                    self._tally.add(blob, reports)
        except BaseException:
            # A commit that failed may still have reached the disk: only the store knows.
            self._stale = True
            raise
        finally:
            self.codes.settle(committed=done)
        if coded:
            self._store.settle()
        return outcomes

    def _judge(self, entries: Sequence[Entry]) -> tuple[list[str], list[Submission]]:
        """What becomes of each; a retry is recognised before its code is looked at."""
        known = self._store.tags([entry.submission.key for entry in entries])
        self._read_state()
        outcomes: list[str] = []
        fresh: list[Submission] = []
        for entry in entries:
            one = entry.submission
            tag = known.get(one.key)
            if tag is not None:
                outcomes.append(REPEATED if tag == one.tag else CONFLICT)
            elif self.closed:
                outcomes.append(CLOSED)
            elif self.codes.needed and not self.codes.use(entry.code, one.people):
                outcomes.append(NO_CODE)
            else:
                known[one.key] = one.tag
                fresh.append(one)
                outcomes.append(STORED)
        return outcomes, fresh

    def _read_state(self) -> None:
        """What another process may have changed: closed, or new codes."""
        self.closed = self._store.fact("closed") is not None
        self.codes.refresh()

    def _blobs(self, fresh: Sequence[Submission]) -> list[tuple[Blob, Reports]]:
        hour = int(self._clock() // HOUR)
        blobs = []
        for collection in self.study:
            name = collection.name
            batches = [one.reports[name] for one in fresh if name in one.reports]
            batches = [batch for batch in batches if len(batch)]
            if not batches:
                continue
            reports = _shuffle(Reports.concatenate(batches))
            people, sent = (int(n.sum()) for n in collection.headcount(reports))
            blobs.append((Blob(name, hour, people, sent, reports.to_bytes()), reports))
        return blobs

    # --- counts -----------------------------------------------------------------------------------

    def recount(self) -> None:
        """Read everything that is stored; raises StoreError, also for damaged reports."""
        tally, codes = _Tally(self.study, self.uncounted), Codes(self._store)
        with self._store.transaction(write=False):
            self.closed = self._store.fact("closed") is not None
            codes.refresh()  # all of them: a commit that failed may have used some
            for blob, reports in stored_reports(self._store, self.study):
                tally.add(blob, reports)
        with self._guard:
            self._tally, self.codes = tally, codes
        self._stale = False

    def aggregate(self, name: str) -> Aggregate:
        """The counts of a question so far."""
        if name in self.uncounted:
            raise ParameterError(
                f"{name!r} has too many values to count them all; name those you want to know "
                "about with values=, or download the reports: sottovoce pull --out reports.svr"
            )
        with self._guard:
            self._tally.fold(name)
            counts = self._tally.counts.get(name)
        if counts is None:
            raise _nothing(name)
        return counts

    def reports(self, name: str) -> Reports:
        """All reports of a question that is not counted as they arrive."""
        if name not in self.uncounted:
            raise ParameterError(
                f"all values of {name!r} are counted as reports arrive; ask for the counts, and "
                "leave values out"
            )
        with self._guard:
            self._tally.fold(name)
            waiting = self._tally.waiting[name]
        if not waiting:
            raise _nothing(name)
        return waiting[0]

    def people(self, name: str) -> int:
        """How many people a question was answered by, or put to where people are sampled."""
        with self._guard:
            return sum(self._tally.hours[name].values())

    def hours(self) -> dict[int, int]:
        """Participants by whole hour: for each hour, of the question that most answered."""
        total: dict[int, int] = {}
        with self._guard:
            for hours in self._tally.hours.values():
                for hour, people in hours.items():
                    total[hour] = max(total.get(hour, 0), people)
        return dict(sorted(total.items()))

    @property
    def healthy(self) -> bool:
        """Whether the last commit or recount succeeded."""
        return not self._stale

    def probe(self) -> None:
        """Look at the store, to notice what other processes changed; raises StoreError."""
        if self._stale:
            self.recount()
            return
        try:
            with self._store.transaction(write=False):
                self._read_state()
        except StoreError:
            self._stale = True
            raise


def _nothing(name: str) -> EstimateError:
    return EstimateError(f"there are no reports of {name!r} yet")


def _counts_all(collection: Collection) -> bool:
    """Whether all values can be counted; compiles what the first reports would wait for."""
    columns = {c.name: np.zeros(c.shape(0), c.dtype) for c in collection.layout}
    nothing = Reports(collection.id, collection.digest, columns)
    try:
        collection.aggregate(nothing)
    except ParameterError:
        collection.count_chosen(nothing, np.zeros(1, np.int64))  # refused if even that is too much
        return False
    return True


def _shuffle(reports: Reports) -> Reports:
    """The same reports in random order."""
    if len(reports) < 2:
        return reports
    words = np.empty(len(reports), np.uint64)
    SYSTEM.fill(words)
    order = np.argsort(words)
    columns = {name: column[order] for name, column in reports.columns.items()}
    return Reports(reports.collection, reports.digest, columns, reports.seeded)


Waiting = tuple[Entry, Callable[[str], None]]


class Committer:
    """Feeds a collector from an event loop: all that waits goes into its thread's next commit."""

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
