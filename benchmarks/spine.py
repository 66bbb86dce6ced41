"""How fast the two first mechanisms are, beside what the machine can do at the same moment.

Run ``make bench``, or ``python -m benchmarks.spine --write docs/benchmarks.md``. One process, one
thread, system randomness, the public interface, integer arrays in; the best of several runs.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sottovoce as sv
from sottovoce.randomness import SYSTEM

EPSILON = 1.0


@dataclass(frozen=True)
class Row:
    """One measured operation."""

    name: str
    per_second: float
    bytes_per_report: float
    limit: str
    limit_per_second: float
    wanted: float

    @property
    def share(self) -> float:
        """Part of the machine's limit that is reached."""
        return self.per_second / self.limit_per_second


def best(action: Callable[[], object], *, repeat: int) -> float:
    """Seconds of the fastest of several runs, after one that warms up."""
    action()
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def keystream_speed() -> float:
    """Bytes per second of AES-CTR keystream into a buffer that stays in the cache."""
    buffer = np.empty(1 << 18, np.uint8)
    rounds = 2_000
    return (
        rounds * buffer.size / best(lambda: [SYSTEM.fill(buffer) for _ in range(rounds)], repeat=5)
    )


def read_speed() -> float:
    """Bytes per second of summing a large array, one core."""
    array = np.ones(1 << 25, np.int64)
    return array.nbytes / best(lambda: array.sum(), repeat=7)


def measure(n: int, repeat: int) -> tuple[list[Row], dict[str, float]]:
    """Measure everything once; n is the number of GRR reports."""
    machine = {"keystream": keystream_speed(), "read": read_speed()}
    answers = SYSTEM.below(1024, n).astype(np.int64)
    rows: list[Row] = []

    def add(
        mechanism: sv.Mechanism, people: int, random_bytes: float, wanted: tuple[float, float]
    ) -> None:
        values = answers[:people] % mechanism.domain.size
        reports = mechanism.randomise(values)
        size = reports.nbytes / people
        name = f"{mechanism.id.upper()} d={mechanism.domain.size}"
        seconds = best(lambda: mechanism.randomise(values), repeat=repeat)
        # Reading 8-byte answers and drawing the bits is what cannot be avoided.
        limit = 1 / (random_bytes / machine["keystream"] + 8 / machine["read"])
        rows.append(
            Row(f"{name} randomise", people / seconds, size, "keystream + read", limit, wanted[0])
        )
        seconds = best(lambda: mechanism.aggregate(reports), repeat=repeat)
        limit = machine["read"] / size
        rows.append(Row(f"{name} aggregate", people / seconds, size, "read", limit, wanted[1]))

    add(sv.GRR(1024, epsilon=EPSILON), n, 4, (300e6, 1000e6))
    add(sv.OUE(128, epsilon=EPSILON), n // 4, 9 * 16, (15e6, 0))
    add(sv.OUE(1024, epsilon=EPSILON), n // 20, 9 * 128, (2e6, 60e6))
    machine["keystream after"] = keystream_speed()
    machine["read after"] = read_speed()
    return rows, machine


def as_markdown(rows: list[Row], machine: dict[str, float]) -> str:
    """The table for the documentation."""
    processor = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        )
        if Path("/proc/cpuinfo").exists()
        else [platform.processor()]
    )
    lines = [
        "# Benchmarks",
        "",
        "Written by `python -m benchmarks.spine --write docs/benchmarks.md`. One core, ε = 1,",
        "exact sampling from the system's cryptographic randomness, through the public interface.",
        "",
        f"Machine: {processor}, Python {platform.python_version()}. In the same run: AES keystream "
        f"{machine['keystream'] / 1e9:.1f} GB/s before and {machine['keystream after'] / 1e9:.1f} "
        f"after, memory read {machine['read'] / 1e9:.1f} and "
        f"{machine['read after'] / 1e9:.1f} GB/s.",
        "",
        "| operation | million/s | wanted | bytes per report | limit, million/s | share |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        wanted = f"{row.wanted / 1e6:,.0f}" if row.wanted else "–"
        lines.append(
            f"| {row.name} | {row.per_second / 1e6:,.1f} | {wanted} | {row.bytes_per_report:g} | "
            f"{row.limit_per_second / 1e6:,.1f} ({row.limit}) | {row.share:.0%} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000_000, help="GRR reports")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--write", type=Path, help="write the documentation page here")
    given = parser.parse_args()
    page = as_markdown(*measure(given.n, given.repeat))
    print(page)
    if given.write:
        given.write.write_text(page)


if __name__ == "__main__":
    main()
