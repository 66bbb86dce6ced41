"""Figure 3: the distance to the truth, and the traffic, against the sampling probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import testing
from sottovoce.reproduce import Data

from .answers import PEOPLE, VALUES, distance, draw, fractions

METHODS = {"g": "biswas-g", "ĉ": "biswas-c-hat", "Hájek": "hajek"}


def measure(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, Any]:
    """All estimators from the same reports; new answers in every run."""
    rng = np.random.default_rng(seed)
    collection = sv.Sampled(sv.GRR(VALUES, epsilon=setting["epsilon"]), rate=setting["rate"])
    distances: dict[str, list[float]] = {}
    with testing.seeded(seed) as source:
        for _ in range(repeats):
            answers = draw("one", rng)
            truth = fractions(answers)
            counts = collection.aggregate(collection.randomise(answers, source=source))
            for name, method in METHODS.items():
                estimate = collection.estimate(counts, method=method)
                distances.setdefault(name, []).append(distance(estimate.values, truth))
            projected = distance(estimate.project().values, truth)
            distances.setdefault("Hájek, projected", []).append(projected)
    return distances


def traffic(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, Any]:
    """Thousands of reports; each has a payload of one byte."""
    rng = np.random.default_rng(seed)
    collection = sv.Sampled(sv.GRR(VALUES, epsilon=setting["epsilon"]), rate=setting["rate"])
    sent = []
    with testing.seeded(seed) as source:
        for _ in range(repeats):
            reports = collection.randomise(draw("one", rng), source=source)
            sent.append(collection.aggregate(reports).reports / 1000)
    return {"reports sent": sent, "nπ": PEOPLE * setting["rate"] / 1000}
