"""Counting files on threads, Dask and Spark: ``python -m benchmarks.cluster [--write]``.

Prints tables; with --write they also become docs/cluster-benchmarks.md. Engines that are not
installed are left out. All run on this one machine, so that the figures show what an engine costs,
and how its work divides, but not what more machines would give.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import kernels, parallel
from sottovoce.collect.counting import Part, Partial, count_files, count_part
from sottovoce.contract.collection import Collection
from sottovoce.contract.reports import Reports, ReportWriter
from sottovoce.errors import SottovoceError

from .machine import best

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cluster-benchmarks.md"
_REPEATS = 2  # after a first run


def one_by_one(collection: Collection, parts: Sequence[Part]) -> Iterator[Partial]:
    """One thread, to compare with."""
    return map(partial(count_part, collection), parts)


# --- what is counted ------------------------------------------------------------------------------


def write(path: Path, reports: Reports, rows: int = 1 << 16) -> None:
    """Reports as `sottovoce randomise` writes them: 65,536 in a row group."""
    with ReportWriter(path) as writer:
        for start in range(0, len(reports), rows):
            writer.append(reports[start : start + rows])


def grr(n: int = 20_000_000) -> tuple[Collection, Reports]:
    """One byte a report: bounded by reading."""
    m = sv.GRR(20, epsilon=1.0)
    values = np.random.default_rng(1).integers(0, 20, n, np.uint8)
    return m, Reports(m.id, m.digest, {"value": values})


def oue(n: int = 500_000) -> tuple[Collection, Reports]:
    """128 bytes a report."""
    m = sv.OUE(1024, epsilon=1.0)
    bits = np.random.default_rng(1).integers(0, 256, (n, 128), np.uint8)
    return m, Reports(m.id, m.digest, {"bits": bits})


def olh(n: int = 600_000) -> tuple[Collection, Reports]:
    """Counting takes n × d steps."""
    m = sv.OLH(20_000, epsilon=1.0)
    rng = np.random.default_rng(1)
    columns = {
        "a": rng.integers(0, 1 << 32, n, np.uint32) | np.uint32(1),
        "b": rng.integers(0, 1 << 32, n, np.uint32),
        "y": rng.integers(0, m.buckets, n).astype(m.layout[2].dtype),
    }
    return m, Reports(m.id, m.digest, columns)


def records(n: int = 1_000_000) -> tuple[Any, Reports]:
    """Counted as patterns, of which there are many."""
    rng = np.random.default_rng(1)
    collection = sv.Records([sv.Attribute(name, 8) for name in "abc"], epsilon_average=2.0)
    return collection, collection.randomise({name: rng.integers(0, 8, n) for name in "abc"})


DATA: dict[str, Callable[[], tuple[Collection, Reports]]] = {
    "GRR, 20 million reports of 20 values": grr,
    "OUE, 500,000 reports of 1,024 values": oue,
    "OLH, 600,000 reports × 20,000 values": olh,
    "Records of 8 × 8 × 8, 1 million": records,
}


# --- engines --------------------------------------------------------------------------------------


@contextmanager
def engines() -> Iterator[dict[str, Any]]:
    """Those that are installed, each with as many processes as there are cores."""
    with ExitStack() as stack:
        chosen: dict[str, Any] = {}
        for name in sv.scale.CLUSTERS:
            address = f"local[{parallel.cores()}]" if name == "spark" else None
            try:
                chosen[name] = stack.enter_context(sv.scale.connected(name, address))
            except SottovoceError as error:
                print(f"{name}: {error}", file=sys.stderr)
        yield chosen


def counting(chosen: dict[str, Any]) -> list[str]:
    """A row for each data set: seconds on every engine."""
    titles = ["", "parts", "one thread", "threads", *(name.title() for name in chosen)]
    lines = [f"| {' | '.join(titles)} |", "|---|" + "---:|" * (len(titles) - 1)]
    for title, make in DATA.items():
        with tempfile.TemporaryDirectory() as folder:
            collection, reports = make()
            path = Path(folder) / "reports.parquet"
            write(path, reports)
            parts = count_files([path], collection).parts
            times = [best(partial(count_files, [path], collection, engine=one_by_one), _REPEATS)]
            for engine in (None, *chosen.values()):
                times.append(
                    best(partial(sv.scale.aggregate, collection, path, engine=engine), _REPEATS)
                )
        cells = [title, f"{parts}", *(f"{seconds:.3g} s" for seconds in times)]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def small_parts(chosen: dict[str, Any], many: int = 100) -> list[str]:
    """What a part costs: many files of ten reports."""
    collection = sv.GRR(20, epsilon=1.0)
    lines = ["| engine | one part |", "|---|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        for k in range(many):
            reports = collection.randomise(np.arange(10))
            write(Path(folder) / f"{k}.parquet", reports)
        for name, engine in {"threads": None, **chosen}.items():
            seconds = best(
                partial(sv.scale.aggregate, collection, folder, engine=engine, allow_equal=True),
                _REPEATS,
            )
            lines.append(f"| {name} | {1e3 * seconds / many:.2g} ms |")
            print(lines[-1], flush=True)
    return lines


def steps(n: int) -> tuple[int, float]:
    """How many expectation steps a fit of an 8 × 8 × 8 table takes, and how long one takes."""
    from sottovoce.kernels.count.cells import expected_cells

    times: list[float] = []

    def timed(*arrays: Any) -> None:
        start = time.perf_counter()
        expected_cells(*arrays)
        times.append(time.perf_counter() - start)

    collection, reports = records(n)
    with kernels.use({"expected_cells": timed}):
        collection.joint(collection.aggregate(reports), list("abc"), method="em-full")
    return len(times), float(np.median(times))


def joint(client: Any) -> list[str]:
    """An expectation step, and what it would cost to share one out."""

    def round_trip() -> None:
        tasks = [client.submit(np.add, np.zeros(512), k, pure=False) for k in range(2)]
        client.gather(tasks)

    rows = {}
    for n in (10_000, 100_000):
        many, seconds = steps(n)
        rows[f"{n:,} records of 8 × 8 × 8: one of the {many} steps of a fit"] = seconds
    rows["512 numbers to two Dask workers and back"] = best(round_trip, 20)
    lines = ["| | |", "|---|---:|"]
    for name, seconds in rows.items():
        lines.append(f"| {name} | {1e3 * seconds:.2g} ms |")
        print(lines[-1], flush=True)
    return lines


def busiest(client: Any, action: Callable[[], object]) -> float:
    """CPU seconds of the worker that has most to do, which do not depend on who else computes."""
    action()
    times = []
    for _ in range(2):
        before = client.run(time.process_time)
        action()
        after = client.run(time.process_time)
        times.append(max(after[worker] - before[worker] for worker in before))
    return min(times)


def divided() -> list[str]:
    """The same work on one Dask worker of one core, and on two of them."""
    from distributed import Client, LocalCluster

    from sottovoce.records.joint import fit

    hashed, reports = olh()
    names = "abcdefgh"  # too many for one fit of the whole table, which would answer for all
    collection = sv.Records([sv.Attribute(name, 8) for name in names], epsilon_average=4.0)
    rng = np.random.default_rng(1)
    answers = {name: rng.integers(0, 8, 5_000) for name in names}
    aggregate = collection.aggregate(collection.randomise(answers))
    tables = ["ab", "cd", "ef", "gh", "ac", "bd", "eg", "fh"]
    times: list[list[float]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        write(path, reports)
        for many in (1, 2):
            with (
                LocalCluster(
                    n_workers=many,
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.ERROR,
                    env={"SOTTOVOCE_THREADS": "1"},
                ) as own,
                Client(own) as client,
            ):

                def counted(client: Any = client) -> None:
                    sv.scale.aggregate(hashed, path, engine=client)

                def fitted(client: Any = client) -> None:
                    client.run(fit._fit.cache_clear)
                    sv.scale.joint_tables(
                        collection, aggregate, tables, engine=client, method="em-full"
                    )

                times.append([busiest(client, counted), busiest(client, fitted)])
    lines = ["| | one worker | two workers | ratio |", "|---|---:|---:|---:|"]
    titles = (
        "OLH, 600,000 reports × 20,000 values",
        "8 pairs of 8 attributes of 8 values with errors, 5,000 records",
    )
    for title, one, two in zip(titles, *times, strict=True):
        lines.append(f"| {title} | {one:.3g} s | {two:.3g} s | {one / two:.2f} |")
        print(lines[-1], flush=True)
    return lines


INTRODUCTION = """\
# Counting on a cluster: measurements

All engines on one machine with {cores} cores, by `python -m benchmarks.cluster --write`; more
machines divide the work further. The best of two runs, files in the machine's cache, the engine
already started. "One thread" counts part after part, but OLH uses all cores for each of them.

"""

PARTS = """
A task counts about 16 MB of reports, so that small files share one. For each of 100 files of ten
reports an engine takes:

"""

DIVIDED = """
## What divides

CPU time of the busiest of some Dask workers, each with one core:

"""

JOINT = """
A fit of a joint table takes many expectation steps, each of which needs the result of the last. To
share out a step, the table has to go to every worker and come back:

"""

END = """
Up to 100,000 records the round trip to the workers takes longer than the step itself, so steps are
not shared out; whole tables divide almost evenly, and `scale.joint_tables` shares them out with
their errors. A single table of millions of different records might gain from shared steps; a GPU
makes its fit twice as fast ([measurements](gpu-benchmarks.md)).
"""


def main() -> None:
    """Measure everything."""
    text = INTRODUCTION.format(cores=parallel.cores())
    with engines() as chosen:
        text += "\n".join(counting(chosen)) + "\n" + PARTS
        text += "\n".join(small_parts(chosen)) + "\n"
        if "dask" in chosen:
            tables = JOINT + "\n".join(joint(chosen["dask"])) + "\n" + END
            text += DIVIDED + "\n".join(divided()) + "\n" + tables
    if "--write" in sys.argv:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
