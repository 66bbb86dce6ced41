"""How randomising and counting gain from cores: ``python -m benchmarks.many_cores [--write]``.

Prints a table; with --write it also becomes docs/cores-benchmarks.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import sottovoce as sv
from sottovoce.randomness import SYSTEM

from .machine import FULL, Effort, best, cores, describe, number, read_by_all, table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cores-benchmarks.md"
_GB = 1 << 30
_UNIT = sv.Range("x", 0, 1)
_MECHANISMS = {
    "GRR d=1,024": (sv.GRR(1024, epsilon=1.0), 50_000_000),
    "OUE d=1,024": (sv.OUE(1024, epsilon=1.0), 2_000_000),
    "SubsetSelection d=1,024": (sv.SubsetSelection(1024, epsilon=1.0), 2_000_000),
    "OLH d=1,024": (sv.OLH(1024, epsilon=1.0), 10_000_000),
    "HadamardResponse d=131,072": (sv.HadamardResponse(131072, epsilon=1.0), 50_000_000),
    "ProjectiveGeometryResponse d=131,072": (
        sv.ProjectiveGeometryResponse(131072, epsilon=1.0),
        30_000_000,
    ),
    "Duchi": (sv.Duchi(_UNIT, epsilon=1.0), 100_000_000),
    "Piecewise": (sv.Piecewise(_UNIT, epsilon=1.0), 50_000_000),
}
_REPEAT = 3


def counts() -> list[int]:
    """Numbers of cores to measure: 1, 2, 4 and so on, and all of them."""
    most = len(os.sched_getaffinity(0))
    return [*(1 << k for k in range(most.bit_length()) if 1 << k < most), most]


def actions(effort: Effort) -> Iterator[tuple[str, str, float, Callable[[], object]]]:
    """Title, unit, how many of these there are, and what is measured."""
    array = np.ones(effort.people(_GB) // 8)
    gigabytes = array.nbytes / 1e9
    yield "AES keystream", "GB/s", gigabytes, partial(_by_all, _draw, array)
    yield "new memory written", "GB/s", gigabytes, lambda: _by_all(_write, np.empty(array.size))
    yield "memory read", "GB/s", gigabytes, partial(read_by_all, array)
    rng = np.random.default_rng(1)
    for name, (mechanism, people) in _MECHANISMS.items():
        n = effort.people(people)
        if isinstance(mechanism.domain, sv.Range):
            answers = rng.random(n)
        else:
            answers = rng.integers(0, mechanism.domain.size, n, np.int32)
        reports = mechanism.randomise(answers)
        yield f"{name}, randomise", "million/s", n / 1e6, partial(mechanism.randomise, answers)
        yield f"{name}, aggregate", "million/s", n / 1e6, partial(mechanism.aggregate, reports)


def _by_all(work: Callable[[np.ndarray], None], array: np.ndarray) -> None:
    """A part of an array on each of the cores in use."""
    threads = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, np.array_split(array, threads)))


def _draw(part: np.ndarray) -> None:
    draws, buffer = SYSTEM.draws(), np.empty(1 << 22, np.uint8)
    for _ in range(part.nbytes // buffer.size):
        draws.fill(buffer)


def _write(part: np.ndarray) -> None:
    part.fill(1)


def measure(effort: Effort) -> str:
    """The table."""
    several, rows = counts(), []
    for title, unit, many, action in actions(effort):
        speeds = []
        for count in several:
            with cores(count):
                speeds.append(many / best(action, min(effort.repeat, _REPEAT)))
        rows.append([title, unit, *map(number, speeds), f"{speeds[-1] / speeds[0]:.1f}"])
        print(*rows[-1], sep=" | ", flush=True)
    titles = ["one core" if count == 1 else f"{count} cores" for count in several]
    return table(["", "", *titles, "ratio"], rows, text=2)


def main() -> None:
    """Measure every row."""
    text = (
        "# Many cores: measurements\n\n"
        f"{describe()}, by `python -m benchmarks.many_cores --write`: ε = 1, the best of "
        f"{_REPEAT} runs. The first rows are what the cores can do together, each drawing, writing "
        "or reading a part. *Ratio* is the speed on all cores in that on one.\n\n"
        + measure(FULL)
        + "\n"
    )
    if "--write" in sys.argv:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
