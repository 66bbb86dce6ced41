"""Counting on a GPU beside the same machine's cores: ``python -m benchmarks.gpu [--write]``.

Prints a table; with --write it also becomes docs/gpu-benchmarks.md. Needs CuPy and a GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import sottovoce as sv
from sottovoce import kernels, parallel, scale
from sottovoce.contract.reports import Reports
from sottovoce.kernels.compiling import compile_at_once
from sottovoce.scale import cuda

from .machine import best

PAGE = Path(__file__).resolve().parents[1] / "docs" / "gpu-benchmarks.md"
_REPEATS = 3  # after a first run


def on_both(action: Callable[[], object], cpu: Callable[[], object] | None = None) -> list[float]:
    """Seconds on the GPU, copies included, and on all cores."""
    with scale.counting("cuda"):
        gpu = best(action, _REPEATS)
    return [gpu, best(cpu or action, _REPEATS)]


def olh(n: int, d: int, on_cpu: int) -> list[float]:
    """Support counts of n reports over d values; the CPU counts part of them, scaled up."""
    rng = np.random.default_rng(1)
    m = sv.OLH(d, epsilon=2.0)
    columns = {
        "a": rng.integers(0, 1 << 32, n, np.uint32) | np.uint32(1),
        "b": rng.integers(0, 1 << 32, n, np.uint32),
        "y": rng.integers(0, m.buckets, n).astype(m.layout[2].dtype),
    }
    reports = Reports(m.id, m.digest, columns)
    gpu, cpu = on_both(lambda: m.support(reports), lambda: m.support(reports[:on_cpu]))
    return [gpu, cpu * n / on_cpu]


def oue(n: int, d: int) -> list[float]:
    """Column counts of packed bits."""
    rows = np.random.default_rng(1).integers(0, 256, (n, d // 8), np.uint8)
    return on_both(lambda: kernels.count.column_counts(rows))


def hadamard(size: int) -> list[float]:
    """One transform."""
    table = np.random.default_rng(1).integers(-1000, 1000, (1, size))
    return on_both(lambda: kernels.count.walsh_hadamard(table))


def em(n: int) -> list[float]:
    """A whole fit of an 8 × 8 × 8 table by em-full."""
    from sottovoce.records.joint import fit

    rng = np.random.default_rng(1)
    records = sv.Records([sv.Attribute(name, 8) for name in "abc"], epsilon_average=2.0)
    first = rng.integers(0, 8, n)
    table = {"a": first, "b": (first + rng.integers(0, 3, n)) % 8, "c": rng.integers(0, 8, n)}
    aggregate = records.aggregate(records.randomise(table))

    def fitted() -> None:
        fit._fit.cache_clear()
        records.joint(aggregate, ["a", "b", "c"], method="em-full")

    return on_both(fitted)


ROWS: dict[str, Callable[[], list[float]]] = {
    "OLH support, 10 million reports × 1 million values": lambda: olh(10**7, 10**6, 10**4),
    "OLH support, 1 million reports × 1,000 values": lambda: olh(10**6, 1000, 10**6),
    "OUE column counts, 1 million reports × 1,024 values": lambda: oue(10**6, 1024),
    "Hadamard transform of 2^20 counts": lambda: hadamard(1 << 20),
    "Hadamard transform of 2^24 counts": lambda: hadamard(1 << 24),
    "em-full, 1 million records of 8 × 8 × 8": lambda: em(10**6),
}


def main() -> None:
    """Measure every row."""
    if not cuda.present():
        sys.exit("there is no GPU, or CuPy is not installed: pip install 'sottovoce[gpu]'")
    import cupy

    compile_at_once()  # the cores are measured with machine code, too
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    lines = ["| | GPU | CPU | ratio |", "|---|---:|---:|---:|"]
    for title, measure in ROWS.items():
        gpu, cpu = measure()
        lines.append(f"| {title} | {gpu:.3g} s | {cpu:.3g} s | {cpu / gpu:.3g} |")
        print(lines[-1], flush=True)
    text = (
        "# Counting on a GPU: measurements\n\n"
        f"{name} beside {parallel.cores()} cores of its own machine, by `python -m "
        "benchmarks.gpu --write`. Times include the copies to the GPU and back. The first row's "
        "CPU time is measured with 10,000 reports and scaled up. Small counts, sums of columns and "
        'Hadamard transforms are as fast on the cores or faster: `scale.counting("auto")` leaves '
        "them there.\n\n" + "\n".join(lines) + "\n"
    )
    if "--write" in sys.argv:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
