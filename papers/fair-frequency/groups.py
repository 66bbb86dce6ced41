"""Figure 4 and Table 2: four privacy groups of sampled counts, weighted in several ways."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import AlikeWarning
from sottovoce.estimate.combine import person_weights
from sottovoce.reproduce import Data

from .people import draw
from .sampling import rate_of, squared_error

SETTINGS = {
    "s1": (0.1, 0.4, 0.7, 1.0),
    "s2": (0.1, 0.1, 0.8, 1.0),
    "s3": (0.1, 0.1, 0.1, 1.0),
    "s4": (0.1, 0.8, 0.7, 1.0),
    # Larger than the paper's, where the variance of the data is no longer small.
    "ε = 0.5, 2": (0.5, 2.0),
    "ε = 1, 4": (1.0, 4.0),
    "ε = 5, 10": (5.0, 10.0),
}
WEIGHTED, PLAIN, STRICTEST = "OWA / VWA", "UWA (= post-stratified)", "CPA"
POOLED, DEFAULT = "pooled: V + data variance", "james-stein (our default)"
NOISE = "OWA / VWA, noise only"


def weighted(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """1,000 people in four groups of equal size: at random, or sorted by item so that they differ.

    All series but CPA come from the same runs. Noise only, for Table 2: the error against the
    weighted mean of the groups' own frequencies, which leaves out what the choice of the groups
    contributes. Without weights there is no difference, because the groups have equal sizes.
    """
    people = draw(setting["people"], 1000, data)
    epsilons = SETTINGS[setting["levels"]]
    rng = np.random.default_rng(seed)
    rates = [rate_of(epsilon) for epsilon in epsilons]
    protocols = [sv.secure.DPDS(people.items, rate=rate, helpers=2) for rate in rates]
    noise = [(1 - rate) / rate for rate in rates]
    size = people.codes.size // len(rates)
    weights = person_weights(noise, [size] * len(rates), method="yang-variance")
    equal = np.full(len(rates), 1 / len(rates))
    measured: dict[str, list[float]] = {}
    with testing.seeded(seed) as source, warnings.catch_warnings():
        warnings.simplefilter("ignore", AlikeWarning)  # pooled assumes that groups are alike
        for _ in range(repeats):
            shuffled = np.sort(people.codes) if setting["sorted"] else rng.permutation(people.codes)
            groups = np.split(shuffled, len(rates))
            runs = [protocol.simulate(group, source=source, views=False)
                    for protocol, group in zip(protocols, groups, strict=True)]  # fmt: skip
            estimates = np.array([run.estimate.values for run in runs])
            own = np.array([np.bincount(g, minlength=people.items) / size for g in groups])
            all_runs = [run.estimate for run in runs]
            errors = {
                WEIGHTED: weights @ estimates - people.fractions,
                PLAIN: equal @ estimates - people.fractions,
                POOLED: sv.combine(all_runs, method="pooled").values - people.fractions,
                DEFAULT: sv.combine(all_runs).values - people.fractions,
            }
            if setting.get("noise"):
                errors[NOISE] = weights @ (estimates - own)
            for name, error in errors.items():
                measured.setdefault(name, []).append(float((error**2).sum()))
            strictest = protocols[int(np.argmin(rates))]
            error = squared_error(strictest, people, source)
            measured.setdefault(STRICTEST, []).append(error)
    return measured
