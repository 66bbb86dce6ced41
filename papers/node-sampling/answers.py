"""The synthetic answers of the paper: 50,000 values of two binomial laws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PEOPLE = 50_000
VALUES = 101  # Binomial(100, 0.5) takes 0 to 100: one value more than the paper says

Answers = NDArray[np.int64]
Fractions = NDArray[np.float64]


def draw(law: str, rng: np.random.Generator) -> Answers:
    """Everyone's answer."""
    if law == "one":
        return rng.binomial(100, 0.5, PEOPLE)
    return rng.binomial(50, 0.6, PEOPLE) + rng.binomial(50, 0.4, PEOPLE)


def fractions(answers: Answers) -> Fractions:
    """The distribution that an estimate is about."""
    return np.bincount(answers, minlength=VALUES) / answers.size


def distance(one: Fractions, other: Fractions) -> float:
    """Total variation, half of the absolute differences."""
    return float(np.abs(one - other).sum() / 2)
