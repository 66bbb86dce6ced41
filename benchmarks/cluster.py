"""Counting files on threads, Dask and Spark: ``python -m benchmarks.cluster [--write]``.

Prints tables; with --write they also become docs/cluster-benchmarks.md. Engines that are not
installed are left out. All run on this one machine, so that the figures show what an engine costs,
and how its work divides, but not what more machines would give.
"""

from __future__ import annotations

import os
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

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cluster-benchmarks.md"


def best(action: Callable[[], object], repeats: int = 2) -> float:
    """The shortest of some runs after a first one."""
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


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
            times = [best(partial(count_files, [path], collection, engine=one_by_one))]
            for engine in (None, *chosen.values()):
                times.append(best(partial(sv.scale.aggregate, collection, path, engine=engine)))
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
                partial(sv.scale.aggregate, collection, folder, engine=engine, allow_equal=True)
            )
            lines.append(f"| {name} | {1e3 * seconds / many:.2g} ms |")
            print(lines[-1], flush=True)
    return lines


def step(n: int) -> float:
    """One expectation step over n patterns of an 8 × 8 × 8 table."""
    rng = np.random.default_rng(1)
    sizes = np.array([8, 8, 8])
    starts = np.array([0, 8, 16])
    bits = rng.integers(0, 2, (n, 24), np.uint8)
    change = np.full(n, 2, np.int64)  # no two patterns share a sum
    values = rng.random((n, 8))
    p, counts = np.full((512, 1), 1 / 512), np.ones((n, 1))
    back, densities = np.zeros((512, 1)), np.zeros((n, 1))
    arrays = (bits, change, values, sizes, starts, p, counts, back, densities)
    return best(lambda: kernels.count.expected_cells(*arrays))


def workers(client: Any) -> list[str]:
    """OLH on two Dask workers of one core each, then on one: how the work divides."""
    lines = ["| OLH, 600,000 reports × 20,000 values | |", "|---|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        collection, reports = olh()
        path = Path(folder) / "reports.parquet"
        write(path, reports)
        client.run(os.environ.update, {"SOTTOVOCE_THREADS": "1"})
        count = partial(sv.scale.aggregate, collection, path, engine=client)
        times = [best(count, 2)]
        client.retire_workers([next(iter(client.scheduler_info()["workers"]))])
        times.insert(0, best(count, 2))
    names = ("one Dask worker of one core", "two workers of one core each")
    for name, seconds in zip(names, times, strict=True):
        lines.append(f"| {name} | {seconds:.3g} s |")
        print(lines[-1], flush=True)
    return lines


def joint(client: Any) -> list[str]:
    """What would be shared out of a fit, and what sharing costs; and whole tables shared out."""
    from sottovoce.records.joint import fit

    collection = sv.Records([sv.Attribute(name, 4) for name in "abcd"], epsilon_average=2.0)
    rng = np.random.default_rng(1)
    answers = {name: rng.integers(0, 4, 200_000) for name in "abcd"}
    aggregate = collection.aggregate(collection.randomise(answers))
    tables = ["ab", "ac", "ad", "bc", "bd", "cd"]

    def here() -> None:
        fit._fit.cache_clear()
        sv.scale.joint_tables(collection, aggregate, tables)

    def there() -> None:
        client.run(fit._fit.cache_clear)
        sv.scale.joint_tables(collection, aggregate, tables, engine=client)

    def round_trip() -> None:
        tasks = [client.submit(np.add, np.zeros(512), k, pure=False) for k in range(2)]
        client.gather(tasks)

    rows = {
        "an expectation step over 100,000 patterns of 8 × 8 × 8": step(100_000),
        "an expectation step over 1 million patterns of 8 × 8 × 8": step(1_000_000),
        "512 numbers to two Dask workers and back": best(round_trip, 20),
        "6 tables of 4 × 4 with errors, 200,000 records, here": best(here, 1),
        "the same by `scale.joint_tables` on Dask": best(there, 1),
    }
    lines = ["| | |", "|---|---:|"]
    for name, seconds in rows.items():
        words = f"{seconds:.3g} s" if seconds > 0.5 else f"{1e3 * seconds:.3g} ms"
        lines.append(f"| {name} | {words} |")
        print(lines[-1], flush=True)
    return lines


INTRODUCTION = """\
# Counting on a cluster: measurements

All engines on one machine with {cores} cores, by `python -m benchmarks.cluster --write`; more
machines divide the work further. The best of two runs, files in the machine's cache, the engine
already started. "One thread" counts part after part, but OLH uses all cores for each of them.

"""

PARTS = """
A part costs an engine this much besides the counting, which is why parts have about 16 MB:

"""

WORKERS = """
Counting hashes takes a step for each report and value, and divides like this:

"""

JOINT = """
## Joint tables

A fit takes hundreds of expectation steps, each of which needs the result of the last. Sharing out
a step pays only where it takes much longer than the way to the workers and back; so steps are never
shared out. Whole tables are, by `scale.joint_tables`:

"""


def main() -> None:
    """Measure everything."""
    text = INTRODUCTION.format(cores=parallel.cores())
    with engines() as chosen:
        text += "\n".join(counting(chosen)) + "\n" + PARTS
        text += "\n".join(small_parts(chosen)) + "\n"
        if "dask" in chosen:
            tables = JOINT + "\n".join(joint(chosen["dask"])) + "\n"
            text += WORKERS + "\n".join(workers(chosen["dask"])) + "\n" + tables
    if "--write" in sys.argv:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
