"""Estimates to draw, made by hand so that every picture is the same each time."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sottovoce import Estimate, Guarantee, Promise
from sottovoce.promise import LDP


def promise(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee((Promise(LDP, epsilon, delta),))


def shares(values, deviation: float = 0.02, **other) -> Estimate:
    """An unbiased estimate of a distribution."""
    values = np.asarray(values, float)
    estimates = {
        "labels": tuple(f"value {k}" for k in range(values.size)),
        "n": 12_345,
        "guarantee": promise(1.0),
        "name": "commute",
    }
    return Estimate(values=values, spread=np.full(values.size, deviation**2), **(estimates | other))


def mean(value: float = 41.3, **other) -> Estimate:
    return shares(
        [value], 0.6, **({"labels": ("mean",), "name": "age", "fractions": False} | other)
    )


def zipf(size: int) -> np.ndarray:
    weight = 1 / np.arange(1, size + 1)
    return weight / weight.sum()


def noisy(size: int, deviation: float = 0.002, seed: int = 1, **other) -> Estimate:
    """A distribution with a few large values, estimated with noise."""
    drawn = np.random.default_rng(seed).normal(zipf(size), deviation)
    return shares(drawn, deviation, **other)


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    plt.close("all")
    yield
    plt.close("all")
