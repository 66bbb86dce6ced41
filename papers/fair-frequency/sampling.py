"""Figures 1 and 2: counts of a secret sample against counts with Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sottovoce as sv
from sottovoce import accounting, testing
from sottovoce.reproduce import Data

from .people import People, draw

DPDS = "DPDS, p = 1 − e^−ε"
STRICT, LOOSE = "DPDG, published σ for δ = 1e-7", "DPDG, published σ for δ = 0.5"
SAME = "DPDG, exact σ for the true δ of DPDS"
OURS = "BinomialNoise (ours), true δ = 1e-7"


def rate_of(epsilon: float) -> float:
    """p = 1 − e^−ε, the sampling rate of Theorem 3.1."""
    return -math.expm1(-epsilon)


def published_gaussian(items: int, epsilon: float, delta: float) -> sv.secure.DPDG:
    """DPDG with the published σ = √(2 ln(1.25/δ))/ε, whose sum has variance (G σ)².

    The library calibrates exactly, so it is asked for the δ that the published σ really keeps.
    """
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    kept = accounting.delta_gaussian(epsilon, sigma)
    return sv.secure.DPDG(items, epsilon=epsilon, delta=kept, helpers=2)


def squared_error(protocol: sv.secure.Protocol, people: People, source: Any) -> float:
    """Σ (ψ_j − ψ̂_j)² of one run of the protocol."""
    run = protocol.simulate(people.codes, source=source, views=False)
    return float(((run.estimate.values - people.fractions) ** 2).sum())


def against_gaussian(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """Figure 1: one data set, one ε."""
    people, epsilon = draw(setting["people"], 1000, data), setting["epsilon"]
    true = accounting.sampled_counts_delta(epsilon, people.least, rate_of(epsilon))
    protocols: dict[str, sv.secure.Protocol] = {
        DPDS: sv.secure.DPDS(people.items, rate=rate_of(epsilon), helpers=2),
        STRICT: published_gaussian(people.items, epsilon, 1e-7),
        LOOSE: published_gaussian(people.items, epsilon, 0.5),
        SAME: sv.secure.DPDG(people.items, epsilon=epsilon, delta=true, helpers=2),
        OURS: sv.secure.BinomialNoise(people.items, epsilon=epsilon, delta=1e-7, helpers=2),
    }
    with testing.seeded(seed) as source:
        return {
            name: [squared_error(protocol, people, source) for _ in range(repeats)]
            for name, protocol in protocols.items()
        }


def over_sizes(
    setting: Mapping[str, Any], repeats: int, seed: int, data: Data
) -> dict[str, list[float]]:
    """Figure 2: one data set, one number of people, every ε."""
    people = draw(setting["people"], setting["size"], data)
    with testing.seeded(seed) as source:
        return {
            f"ε = {epsilon:g}": [
                squared_error(
                    sv.secure.DPDS(people.items, rate=rate_of(epsilon), helpers=2), people, source
                )
                for _ in range(repeats)
            ]
            for epsilon in setting["epsilons"]
        }
