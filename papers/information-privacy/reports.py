"""Real reports: what posterior means of randomised answers are worth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce import testing
from sottovoce.published.information_privacy import yes_error
from sottovoce.reproduce import Data

Booleans = NDArray[np.bool_]


def person_error(
    prior: float, epsilon: float, variant: str, runs: Sequence[Booleans], seed: int
) -> list[float]:
    """Of each run: √ of the mean squared difference of answers and their posterior means."""
    mechanism = sv.LIP(prior=prior, epsilon=epsilon, variant=variant)
    weights = np.array([prior, 1 - prior])[:, None] * mechanism.matrix
    posterior = weights[0] / weights.sum(axis=0)
    errors = []
    with testing.seeded(seed) as source:
        for answers in runs:
            words = np.where(answers, *mechanism.domain.values)
            reports = mechanism.randomise(words, source=source)
            errors.append(math.sqrt(np.mean((answers - posterior[reports.columns["value"]]) ** 2)))
    return errors


def example(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, Any]:
    """Example 1: squared errors of the sum over N people, as printed or from right formulas."""
    people, prior, epsilon = setting["people"], setting["prior"], setting["epsilon"]
    e = math.exp(epsilon)
    if setting["printed"]:
        return {
            "LDP": people * e / (e + 1) ** 2,
            "optimised LDP": 25 / (0.5 - e / 2) ** 2,
            "LIP": (10 * e - 1) / 0.64,
        }
    q = 1 / (e + 1)
    keeps_half = (prior / 4 + (1 - prior) * q * (1 - q)) / (0.5 - q) ** 2
    return {
        "LDP": people * e / math.expm1(epsilon) ** 2,
        "optimised LDP": people * keeps_half,
        "LDP, posterior means": people * float(yes_error(prior, epsilon, "opt-ldp")),
        "LIP": people * float(yes_error(prior, epsilon)),
        **_sums(people, prior, epsilon, repeats, seed),
    }


def _sums(
    people: int, prior: float, epsilon: float, repeats: int, seed: int
) -> dict[str, list[float]]:
    """Squared errors of the library's estimates, with answers drawn from the prior."""
    rng = np.random.default_rng(seed)
    response = sv.LIP(prior=prior, epsilon=epsilon, variant="context-free-ldp")
    lip = sv.LIP(prior=prior, epsilon=epsilon)
    squares: dict[str, list[float]] = {"LDP, from reports": [], "LIP, from reports": []}
    with testing.seeded(seed) as source:
        for _ in range(repeats):
            answers = rng.random(people) < prior
            words = np.where(answers, *lip.domain.values)
            for series, mechanism, method in (
                ("LDP, from reports", response, "unbiased"),
                ("LIP, from reports", lip, "mmse"),
            ):
                counts = mechanism.aggregate(mechanism.randomise(words, source=source))
                estimate = people * mechanism.estimate(counts, method=method).values[0]
                squares[series].append(float((estimate - answers.sum()) ** 2))
    return squares
