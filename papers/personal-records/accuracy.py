"""How far estimated tables lie from the truth."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from sottovoce import testing
from sottovoce.reproduce import Data

from .collecting import collected

#: Methods that take seconds: half of the repeats, or fewer where a job says so.
_SLOW = ("model-average", "lopub-1", "lopub-3")


def measure(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """AVD of every series at k attributes, the mean over all sets of k.

    `setting["series"]` has for each series how many attributes everyone reports (0: any number),
    ε_average (0: k) and the method.
    """
    k, attributes = setting["k"], setting["attributes"]
    distances: dict[str, list[float]] = {}
    slow = min(repeats // 2, setting["slow_repeats"])
    seeds = np.random.SeedSequence(seed).generate_state(repeats, np.uint64)
    for repeat, one in enumerate(seeds):
        for series, (report, epsilon, method) in setting["series"].items():
            if method in _SLOW and repeat >= slow:
                continue
            if (method == "eq-16" and k > 1) or (method == "lopub-1" and k == 1):
                continue
            collection = collected(
                data, setting["data"], attributes, report, float(epsilon or k), int(one)
            )
            with testing.seeded(seed), warnings.catch_warnings():
                # Few records together, and the like: how much that matters is what we measure.
                warnings.simplefilter("ignore", UserWarning)
                distances.setdefault(series, []).append(collection.distance(k, method))
    return distances
