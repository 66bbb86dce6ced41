"""The first `sv.ask` after an installation: ``python -m benchmarks.first_use`` prints the table.

Every run is two processes, the first with an empty cache of compiled code and the second with what
that one left there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass

from .machine import FULL, Effort, installed

PEOPLE = 10_000
WANTED_SECONDS = 2.0

_ASK = """
import sys
import time
import numpy as np
import sottovoce as sv
n, what = int(sys.argv[1]), sys.argv[2]
people = np.arange(n)
if what == "range":
    estimate = sv.ask(people % 120, values=sv.Range("age", 0, 120), epsilon=1.0)
else:
    estimate = sv.ask(people % int(what), values=int(what), epsilon=1.0)
str(estimate)
print(time.process_time(), "numba" in sys.modules)
"""
_ASKED = {
    "4 values": ("4", PEOPLE),
    "100 values": ("100", PEOPLE),
    "1,000 values": ("1000", PEOPLE),
    "10,000 values": ("10000", PEOPLE),
    "100,000 values": ("100000", PEOPLE),
    "a million values": ("1000000", PEOPLE),
    "a number": ("range", PEOPLE),
    "4 values, many people": ("4", 1_000_000),
    "a number, many people": ("range", 1_000_000),
    "100 values, many people": ("100", 1_000_000),
    "1,000 values, many people": ("1000", 1_000_000),
    "10,000 values, many people": ("10000", 1_000_000),
    "100,000 values, many people": ("100000", 1_000_000),
    "a million values, many people": ("1000000", 1_000_000),
}


@dataclass(frozen=True)
class First:
    """What a new process with one call took."""

    asked: str
    people: int
    seconds: float
    again: float  # with the cache of the first run
    compiled: bool


def measure(effort: Effort) -> list[First]:
    """Each question in a new process, the best of three."""
    rows = []
    for words, (what, people) in _ASKED.items():
        n = people if people == PEOPLE else effort.people(people)
        runs = [_ask(what, n) for _ in range(min(effort.repeat, 3))]
        rows.append(First(words, n, *min(runs)))
    return rows


def _ask(what: str, people: int) -> tuple[float, float, bool]:
    """CPU seconds of the first process and of the next one, and whether anything was compiled."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = [
            subprocess.run(
                [sys.executable, "-c", _ASK, str(people), what],
                env={**installed(), "NUMBA_CACHE_DIR": folder},
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
            for _ in range(2)
        ]
    (seconds, compiled), (again, _) = outputs
    return float(seconds), float(again), compiled == "True"


def section(rows: list[First]) -> str:
    """The part of the page."""
    lines = [
        "## First use",
        "",
        "The first `sv.ask` after an installation: CPU time of a whole process, from its start,",
        f"with an empty cache of compiled code (target: below {WANTED_SECONDS:g} s). Kernels are",
        "interpreted while inputs are small, and what numpy can do at once for up to two million",
        "people; all others are compiled, once for an installation. *Again* is the same question",
        "in the next process.",
        "",
        "| asked | people | seconds of CPU | again | compiled |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    lines += [
        f"| {row.asked} | {row.people:,} | {row.seconds:.1f} | {row.again:.1f} "
        f"| {'yes' if row.compiled else 'no'} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(section(measure(FULL)))
