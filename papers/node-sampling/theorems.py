"""Theorems 2.1 to 5.1 by simulation: means and variances of the estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import testing
from sottovoce.published import node_sampling as published
from sottovoce.reproduce import Data

NAMES = {
    "c": "wang-c",
    "g": "biswas-g",
    "ĉ": "biswas-c-hat",
    "T": "biswas-t",
    "Hájek": "hajek",
    "Horvitz–Thompson": "horvitz-thompson",
    "post-stratified": "post-stratified",
}


def bias(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, dict[str, list[float]]]:
    """The estimate over the truth, of the value that the setting's towns have holders of."""
    mechanism = sv.GRR(setting["values"], epsilon=setting["epsilon"])
    rates = [town["rate"] for town in setting["towns"]]
    collection = sv.Sampled(mechanism, rate=rates if len(rates) > 1 else rates[0])
    answers = np.concatenate(
        [_population(setting["values"], town["people"], town["holders"])
         for town in setting["towns"]]
    )  # fmt: skip
    rate = np.repeat(rates, [town["people"] for town in setting["towns"]])
    truth = float((answers == 0).mean())
    estimates: dict[str, list[float]] = {name: [] for name in setting["methods"]}
    with testing.seeded(seed) as source:
        for _ in range(repeats):
            some = {"rate": rate} if len(rates) > 1 else {}
            counts = collection.aggregate(collection.randomise(answers, **some, source=source))
            for name, values in estimates.items():
                values.append(collection.estimate(counts, method=NAMES[name]).values[0] / truth)
    return {"estimate / truth": estimates}


def ranking(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, Any]:
    """Squared errors of the number of holders, and what the proofs say of them."""
    n, rate, f = setting["people"], setting["rate"], setting["f"]
    mechanism = sv.GRR(setting["values"], epsilon=setting["epsilon"])
    collection = sv.Sampled(mechanism, rate=rate)
    answers = _population(setting["values"], n, round(f * n))
    errors: dict[str, Any] = {"g": [], "ĉ": [], "Hájek": []}
    with testing.seeded(seed) as source:
        for _ in range(repeats):
            counts = collection.aggregate(collection.randomise(answers, source=source))
            for name, squares in errors.items():
                estimate = collection.estimate(counts, method=NAMES[name])
                squares.append((n * (estimate.values[0] - f)) ** 2)
    return errors | {
        "g as published": published.g_actual(mechanism, f, n=n, rate=rate),
        "ĉ as published": published.c_hat(mechanism, f, n=n, rate=rate),
    }


def normalised(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, Any]:
    """n times the variance of g/n for a value that nobody holds, and what the theorems say."""
    n, rate = setting["people"], setting["rate"]
    mechanism = sv.GRR(setting["values"], epsilon=setting["epsilon"])
    collection = sv.Sampled(mechanism, rate=rate)
    answers = 1 + np.arange(n) % (setting["values"] - 1)
    squares = []
    with testing.seeded(seed) as source:
        for _ in range(repeats):
            counts = collection.aggregate(collection.randomise(answers, source=source))
            squares.append(n * collection.estimate(counts, method="biswas-g").values[0] ** 2)
    return {
        "g, measured": squares,
        "Theorem 3.2": published.g_limit(mechanism, n=n, rate=rate) / n,
        "Theorem 3.3": n * published.g_norm(mechanism, n=n, rate=rate),
    }


def _population(values: int, people: int, holders: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Holders of value 0; everyone else has one of the others, in equal numbers."""
    others = 1 + np.arange(people - holders) % (values - 1)
    return np.concatenate([np.zeros(holders, np.int64), others])
