"""Chosen values over 2^31: seconds of one core and memory, ``python -m benchmarks.large_domains``.

Every mechanism runs in a process of its own, so that the most memory it held is its own, too. What
importing the library and compiling the kernels take is measured first and taken off.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import sottovoce as sv

from .machine import cores, describe

VALUES, PEOPLE, CANDIDATES, REPEAT = 1 << 31, 1_000_000, 1_000, 5
KINDS = {"olh": sv.OLH, "hadamard": sv.HadamardResponse}


def _best(action: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEAT):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(name: str, epsilon: float) -> dict[str, float]:
    """One mechanism: seconds to randomise and to count, bytes of a report, memory."""
    m = KINDS[name](VALUES, epsilon=epsilon)
    answers = np.random.default_rng(0).integers(0, VALUES, PEOPLE)
    candidates = np.arange(CANDIDATES) * (VALUES // CANDIDATES)
    with cores(1):
        m.estimate(m.aggregate(m.randomise(answers[:100]), values=candidates))
        before = _megabytes()
        randomise = _best(lambda: m.randomise(answers))
        reports = m.randomise(answers)
        aggregate = _best(lambda: m.aggregate(reports, values=candidates))
        m.estimate(m.aggregate(reports, values=candidates))
    return {
        "bytes": m.report_bytes,
        "randomise": randomise,
        "aggregate": aggregate,
        "megabytes": _megabytes() - before,
    }


def main() -> None:
    """Measure each in a process of its own and print the table."""
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], float(sys.argv[2]))))
        return
    print(f"{PEOPLE:,} reports, {CANDIDATES:,} of {VALUES:,} values, one core. {describe()}\n")
    print("| mechanism | ε | bytes of a report | randomise, s | aggregate, s | memory, MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in KINDS:
        for epsilon in ("1", "4"):
            command = [sys.executable, "-m", "benchmarks.large_domains", name, epsilon]
            row = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            print(
                f"| {name} | {epsilon} | {row['bytes']} | {row['randomise']:.3f} | "
                f"{row['aggregate']:.3f} | {row['megabytes']:.0f} |"
            )


if __name__ == "__main__":
    main()
