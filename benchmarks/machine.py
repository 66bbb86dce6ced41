"""The machine: how things are timed on it, and what it could do at best."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

from sottovoce.kernels.compiling import compile_at_once
from sottovoce.randomness import SYSTEM

compile_at_once()  # small inputs are timed as well
EPSILON = 1.0


@dataclass(frozen=True)
class Effort:
    """How much to measure: everything, or just enough to see that it runs."""

    scale: float  # of the numbers of people
    repeat: int  # the best of so many runs
    seconds: float  # a contestant of the race runs at least this long
    runs: int  # of an accuracy experiment

    def people(self, n: int) -> int:
        """n, or fewer."""
        return max(1_000, int(n * self.scale))


FULL = Effort(scale=1.0, repeat=7, seconds=0.3, runs=100)
QUICK = Effort(scale=0.002, repeat=1, seconds=0.001, runs=3)


def best(action: Callable[[], object], repeat: int) -> float:
    """Seconds of the fastest of several runs, after one that warms up."""
    action()
    return min(once(action) for _ in range(repeat))


def once(action: Callable[[], object]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Use exactly so many cores (fewer where there are not as many)."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:count])
    before = os.environ.get("SOTTOVOCE_THREADS")
    os.environ["SOTTOVOCE_THREADS"] = str(count)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        if before is None:
            del os.environ["SOTTOVOCE_THREADS"]
        else:
            os.environ["SOTTOVOCE_THREADS"] = before


@dataclass(frozen=True)
class Limits:
    """What one core does at best, per second."""

    keystream: float  # bytes of AES-CTR into a buffer that stays in the cache
    read: float  # bytes of a large array summed
    write: float  # bytes of a large new array filled
    count: float  # counters raised, in tables that stay in the first-level cache
    multiply: float  # 32-bit products in a small array
    pick: float  # random bits of a short row set, each before the next


def limits(effort: Effort, written: int = 1 << 26, cells: int = 1024) -> Limits:
    """Measure the limits of one core, with new arrays and tables of counters of these sizes."""
    buffer = np.empty(1 << 18, np.uint8)
    rounds = max(1, int(1_000 * effort.scale))
    array = np.ones(1 << 24 if effort.scale == 1 else 1 << 20, np.int64)
    draws = SYSTEM.draws()

    def draw() -> None:
        for _ in range(rounds):
            draws.fill(buffer)

    def write() -> None:
        np.empty(written, np.uint8).fill(1)

    return Limits(
        keystream=rounds * buffer.size / best(draw, effort.repeat),
        read=array.nbytes / best(array.sum, effort.repeat),
        write=written / best(write, effort.repeat),
        count=raised(effort, cells),
        multiply=products(1, effort),
        pick=set_one_by_one(effort),
    )


def read_by_all(array: np.ndarray) -> None:
    """Read an array from memory, a part on each of the cores in use."""
    count = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(count) as pool:
        _sum_each(pool, np.array_split(array, count))


def _sum_each(pool: ThreadPoolExecutor, parts: list[np.ndarray]) -> None:
    for future in [pool.submit(part.sum) for part in parts]:
        future.result()


def installed() -> dict[str, str]:
    """The environment of a command in an installation, whose modules are kept as bytecode."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}


def raised(effort: Effort, cells: int) -> float:
    """Counters raised per second: a read, a sum and a write each, in an order not known before.

    Four tables of 1,024 stay in the first-level cache; a large one is used alone, and read in an
    order that repeats only after a million steps.
    """
    large = cells > 1 << 16
    places = SYSTEM.below(cells, 1 << 20 if large else 4096)
    tables = np.zeros((1 if large else 4, cells), np.uint32)
    passes = max(1, int((8 if large else 2_000) * effort.scale))
    return passes * places.size / best(lambda: _raise(places, tables, passes), effort.repeat)


@numba.njit(nogil=True)
def _raise(places, tables, passes):
    one = np.uint32(1)
    last = len(tables) - 1
    first, second = tables[0], tables[min(1, last)]
    third, fourth = tables[min(2, last)], tables[last]
    for _ in range(passes):
        for k in range(0, places.size, 4):
            first[places[k]] += one
            second[places[k + 1]] += one
            third[places[k + 2]] += one
            fourth[places[k + 3]] += one


def set_one_by_one(effort: Effort) -> float:
    """Random bits of a row of 128 bytes set per second, with a count of those that were not yet."""
    places = SYSTEM.below(1024, 1 << 16)
    passes = max(1, int(100 * effort.scale))
    return passes * places.size / best(lambda: _set_bits(places, passes), effort.repeat)


@numba.njit(nogil=True)
def _set_bits(places, passes):
    row, missing = np.zeros(128, np.uint8), 0
    for _ in range(passes):
        for k in range(places.size):
            if k % 32 == 0:  # the next person's row
                row[:] = 0
            byte, bit = row[places[k] >> 3], places[k] & 7
            row[places[k] >> 3] = byte | np.uint8(1 << bit)
            missing += 1 - ((byte >> bit) & 1)
    return missing


def products(threads: int, effort: Effort) -> float:
    """32-bit products per second, so many threads side by side."""
    words = [np.arange(1, 4097, dtype=np.uint32) for _ in range(threads)]
    passes = max(1, int(100_000 * effort.scale))
    with ThreadPoolExecutor(threads) as pool:
        seconds = best(lambda: list(pool.map(_multiply, words, [passes] * threads)), effort.repeat)
    return threads * passes * words[0].size / seconds


@numba.njit(nogil=True)
def _multiply(words, passes):
    for _ in range(passes):
        for k in range(words.size):
            words[k] *= np.uint32(2654435761)


def describe() -> str:
    """Processor, cores and Python, in words."""
    info = Path("/proc/cpuinfo")
    names = [
        line.split(":", 1)[1].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    processor = names[0] if names else platform.processor() or platform.machine()
    available = len(os.sched_getaffinity(0))
    return (
        f"{processor}, {available} core{'s' * (available > 1)}, Python {platform.python_version()}"
    )


def table(head: list[str], rows: list[list[str]], text: int = 1) -> str:
    """A Markdown table; the first `text` columns are text, the others are numbers."""
    lines = [head, ["---"] * text + ["---:"] * (len(head) - text), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float) -> str:
    """Three significant digits, with thousands separated."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
