"""Figures for operation, in Prometheus' text form; none is about a sender.

A monitor that asks every few seconds must not keep the time of a report. So the number of people
is that of whole hours that are over, the mean time of a commit, which every commit changes, is
shown as it was early in the hour, and bytes are whole mebibytes, far more than one report.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from ..errors import SottovoceError

_PAGE = resource.getpagesize()


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._last_error = ""
        self.answers: dict[int, int] = {}
        self.commits = 0
        self.failures = 0
        self.seconds = 0.0
        self.waiting_bytes = 0
        self._shown: tuple[int, float] | None = None  # hour, and the mean time of a commit then

    def answered(self, status: int) -> None:
        """Count an answer by its status."""
        self.answers[status] = self.answers.get(status, 0) + 1

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Measure a commit."""
        start = time.perf_counter()
        yield
        with self._guard:
            self.commits += 1
            self.seconds += time.perf_counter() - start
            self._last_error = ""

    def failed_commit(self, error: Exception) -> None:
        """Count a commit that failed; says so once per kind of failure, without any request."""
        with self._guard:
            self.failures += 1
            # Other errors than our own may quote what they were given.
            text = str(error) if isinstance(error, SottovoceError) else type(error).__name__
            new, self._last_error = text != self._last_error, text
        if new:
            print(f"sottovoce: the store is not available: {text}", file=sys.stderr, flush=True)

    def render(self, people_by_hour: dict[int, int], hour: int, healthy: bool) -> str:
        """The text form."""
        people = sum(n for h, n in people_by_hour.items() if h < hour)
        if self._shown is None or self._shown[0] != hour:
            self._shown = hour, self.seconds / max(self.commits, 1)
        lines = [
            "# TYPE sottovoce_healthy gauge",
            f"sottovoce_healthy {int(healthy)}",
            "# HELP sottovoce_people People in reports of the hours that are over.",
            "# TYPE sottovoce_people gauge",
            f"sottovoce_people {people}",
            "# TYPE sottovoce_commits_total counter",
            f'sottovoce_commits_total{{result="failed"}} {self.failures}',
            "# HELP sottovoce_commit_seconds Mean of all commits, as it was early in this hour.",
            "# TYPE sottovoce_commit_seconds gauge",
            f"sottovoce_commit_seconds {self._shown[1]:.6f}",
            "# TYPE sottovoce_waiting_bytes gauge",
            f"sottovoce_waiting_bytes {_whole(self.waiting_bytes)}",
            "# TYPE sottovoce_memory_bytes gauge",
            f"sottovoce_memory_bytes {_whole(memory_bytes())}",
            "# TYPE sottovoce_refusals_total counter",
        ]
        for status, many in sorted(self.answers.items()):
            if status >= 400:
                lines.append(f'sottovoce_refusals_total{{status="{status}"}} {many}')
        return "\n".join(lines) + "\n"


def _whole(number: int) -> int:
    """Bytes in whole mebibytes."""
    return number >> 20 << 20


def memory_bytes() -> int:
    """Resident memory of this process."""
    try:
        with open("/proc/self/statm") as stream:
            return int(stream.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
