"""How long an estimate takes, in seconds of processor time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from sottovoce import testing
from sottovoce.reproduce import Data

from .collecting import Collection


def measure(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """Seconds for the table of the first k attributes, from counted reports."""
    seconds: dict[str, list[float]] = {}
    k = setting["k"]
    _warm(data)
    for one in np.random.SeedSequence(seed).generate_state(repeats, np.uint64):
        for series, (report, epsilon, method) in setting["series"].items():
            if method == "lopub-1" and k == 1:
                continue
            # A new collection each time: tables of an earlier fit would cost nothing.
            collection = Collection(
                data, setting["data"], setting["attributes"], report, float(epsilon or k), int(one)
            )
            start = time.process_time()
            with testing.seeded(seed), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                collection.estimate(collection.records.names[:k], method)
            seconds.setdefault(series, []).append(time.process_time() - start)
    return seconds


@cache
def _warm(data: Data) -> None:
    """Compile and import what the first estimate of a process would pay for."""
    collection = Collection(data, "synthetic", 3, 0, 2.0, 1)
    for method in ("pldp", "model-average", "lopub-1", "lopub-2", "lopub-3", "product"):
        with testing.seeded(1):
            collection.estimate(collection.records.names[:2], method)
