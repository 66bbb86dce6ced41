"""Time and memory of records."""

from __future__ import annotations

import resource
import time
import tracemalloc

import numpy as np

import sottovoce as sv

from .machine import describe
from .records_accuracy import EPSILON


def speed(people: int = 1_000_000) -> str:
    """A million records of eight attributes of eight values, everyone reporting all; once."""
    rng = np.random.default_rng(0)
    common = rng.integers(0, 8, people)
    table = {
        f"a{i}": np.where(rng.random(people) < 0.5, common, rng.integers(0, 8, people))
        for i in range(8)
    }
    records = sv.Records([sv.Attribute(name, 8) for name in table], epsilon_average=EPSILON)
    records.randomise({k: v[:100] for k, v in table.items()}, allocation="random")  # compile
    start = time.process_time()
    reports = records.randomise(table, allocation="random")
    drawn = time.process_time() - start
    packed = sum(column.nbytes for column in reports.columns.values())
    tracemalloc.start()
    records.randomise(table, allocation="random")
    held = tracemalloc.get_traced_memory()[1] / packed
    tracemalloc.stop()
    start = time.process_time()
    aggregate = records.aggregate(reports)
    counted = time.process_time() - start
    del reports, table
    start = time.process_time()
    estimate = records.joint(aggregate, ["a0", "a3", "a6"])
    fitted = time.process_time() - start
    start = time.process_time()
    _ = estimate.std_error
    errors = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return "\n".join(
        [
            "## Speed",
            "",
            f"{people:,} records of eight attributes of eight values; the joint of three",
            "attributes (512 cells) by the default. Times are those of the processor, all cores",
            "together.",
            "",
            "| | measured | target |",
            "| --- | ---: | ---: |",
            f"| randomise, s | {drawn:.1f} | ≤ 5 |",
            f"| memory while randomising, times the packed reports | {held:.2f} | ≤ 3 |",
            f"| aggregate, s | {counted:.1f} | – |",
            f"| three-way joint, s | {fitted:.0f} | ≤ 60 |",
            f"| its errors, s | {errors:.0f} | – |",
            f"| most memory of the process, GB | {memory:.2f} | ≤ 2 |",
            "",
            f"Machine: {describe()}.",
            "",
        ]
    )
