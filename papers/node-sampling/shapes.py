"""Figures 1 and 2: what an estimated distribution looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import testing
from sottovoce.reproduce import Data

from .answers import VALUES, draw, fractions

SHOWN = range(30, 71)  # four standard deviations on each side


def measure(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, dict[float, Any]]:
    """The same answers in every run; new draws of nodes and new noise."""
    answers = draw(setting["law"], np.random.default_rng(seed))
    truth = fractions(answers)
    collection = sv.Sampled(sv.GRR(VALUES, epsilon=setting["epsilon"]), rate=setting["rate"])
    runs: dict[str, list[Any]] = {"g": [], "default": []}
    with testing.seeded(seed) as source:
        for _ in range(repeats):
            counts = collection.aggregate(collection.randomise(answers, source=source))
            runs["g"].append(collection.estimate(counts, method="biswas-g").values)
            runs["default"].append(collection.estimate(counts).project().values)
    g, default = np.array(runs["g"]), np.array(runs["default"])
    return {
        "original data": {v: float(truth[v]) for v in SHOWN},
        "g, one run": {v: float(g[0, v]) for v in SHOWN},
        "our default, one run": {v: float(default[0, v]) for v in SHOWN},
        "mean error of g": {v: np.abs(g - truth)[:, v] for v in SHOWN},
        "mean error of our default": {v: np.abs(default - truth)[:, v] for v in SHOWN},
    }
