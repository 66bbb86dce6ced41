"""Time and memory of joint tables of many records, and of attributes of many values."""

from __future__ import annotations

import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

import sottovoce as sv

from .machine import describe
from .records_accuracy import EPSILON


@dataclass(frozen=True)
class Case:
    """Records of attributes that are equal half the time, everyone reporting all."""

    people: int
    sizes: tuple[int, ...]
    wanted: float  # seconds for the table
    wanted_errors: float | None  # and for its errors

    @property
    def name(self) -> str:
        """As it stands in the table."""
        return f"{self.people:,} records of {' × '.join(map(str, self.sizes))}"


@dataclass(frozen=True)
class Measured:
    """Seconds on the clock and of the processor, for a table and for its errors; memory in GB."""

    table: tuple[float, float]
    errors: tuple[float, float]
    memory: float


CASES = (Case(1_000_000, (8, 8, 8), 4, 8), Case(10_000, (50, 50), 10, None))


def joint() -> str:
    """Every case in a process of its own, for its memory."""
    lines = [
        "## Joint",
        "",
        "Joint tables of all attributes by the default, from counted reports, on all cores. In",
        "brackets the time of the processor, all cores together. Each case once, in a process of",
        "its own whose kernels are compiled.",
        "",
        "| | table, s | target | errors, s | target | memory, GB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case in CASES:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            measured = pool.submit(measure, case).result()
        lines.append(
            f"| {case.name} | {_seconds(measured.table)} | ≤ {case.wanted:g} | "
            f"{_seconds(measured.errors)} | "
            f"{'–' if case.wanted_errors is None else f'≤ {case.wanted_errors:g}'} | "
            f"{measured.memory:.2f} |"
        )
    return "\n".join([*lines, "", f"Machine: {describe()}.", ""])


def measure(case: Case) -> Measured:
    """One case, after a small one has compiled the kernels."""
    warnings.simplefilter("ignore")  # of the small one, whose pairs carry little information
    for people in (1000, case.people):
        records, aggregate = counted(people, case.sizes)
        begin = time.perf_counter(), time.process_time()
        estimate = records.joint(aggregate, records.names)
        middle = time.perf_counter(), time.process_time()
        _ = estimate.std_error
        end = time.perf_counter(), time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return Measured(
        (middle[0] - begin[0], middle[1] - begin[1]),
        (end[0] - middle[0], end[1] - middle[1]),
        memory,
    )


def counted(people: int, sizes: tuple[int, ...]) -> tuple[sv.Records, sv.Aggregate]:
    """Records and an aggregate of their reports."""
    rng = np.random.default_rng(0)
    common = rng.random(people)
    table = {}
    for k, size in enumerate(sizes):
        own = np.where(rng.random(people) < 0.5, common, rng.random(people))
        table[f"a{k}"] = (own * size).astype(np.int64)
    attributes = [sv.Attribute(name, size) for name, size in zip(table, sizes, strict=True)]
    records = sv.Records(attributes, epsilon_average=EPSILON)
    return records, records.aggregate(records.randomise(table, allocation="random"))


def _seconds(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.1f} ({pair[1]:.1f})"
