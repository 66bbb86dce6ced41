"""Groups of people as 000 has them: cut from 1,000, reporting by its sampling (DPCS) or by OUE."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sottovoce import Estimate, Guarantee, Mechanism, combine
from sottovoce.errors import AlikeWarning

PEOPLE, VALUES = 1000, 30
WEIGHTED = ("pooled", "yang-variance", "yang-optimised", "unweighted")

#: 000's Table 2, and two pairs; groups are of equal size.
EPSILONS = {
    "s1": (0.1, 0.4, 0.7, 1.0),
    "s2": (0.1, 0.1, 0.8, 1.0),
    "s3": (0.1, 0.1, 0.1, 1.0),
    "s4": (0.1, 0.8, 0.7, 1.0),
    "(.5, 2)": (0.5, 2.0),
    "(1, 4)": (1.0, 4.0),
}


def _normal() -> np.ndarray:
    x = np.random.default_rng(9).normal(size=PEOPLE)
    return np.sort((np.clip((x + 4) / 8, 0, 0.999) * VALUES).astype(np.int64))


def _skewed() -> np.ndarray:
    law = 1 / np.arange(1, VALUES + 1)
    return np.sort(np.random.default_rng(9).choice(VALUES, PEOPLE, p=law / law.sum()))


#: Everyone's value, in order.
DATA = {"uniform": np.arange(PEOPLE) * VALUES // PEOPLE, "normal": _normal(), "skewed": _skewed()}


def shares(values: np.ndarray) -> np.ndarray:
    return np.bincount(values, minlength=VALUES) / values.size


def cut(values: np.ndarray, groups: int, rng: np.random.Generator | None) -> np.ndarray:
    """Holders of each value in each group: at random, or without rng of the sorted values."""
    order = values if rng is None else rng.permutation(values)
    return np.array([np.bincount(g, minlength=VALUES) for g in np.split(order, groups)])


def estimate_of(values: Any, variance: Any, n: int, **more: Any) -> Estimate:
    values = np.asarray(values, float)
    more = {"labels": range(values.size), "guarantee": Guarantee.none("made up")} | more
    return Estimate(values=values, spread=np.asarray(variance, float), n=n, **more)


def by_sampling(holders: np.ndarray, epsilons: Any, rng: np.random.Generator) -> list[Estimate]:
    """000's mechanism: report the value with p = 1 − e^−ε; ψ̂ = s / (p n), noise ψ (1−p) / (p n)."""
    collected = []
    for row, epsilon in zip(holders, epsilons, strict=True):
        p, n = -np.expm1(-epsilon), int(row.sum())
        values = rng.binomial(row, p) / (p * n)
        collected.append(estimate_of(values, values * (1 - p) / (p * n), n))
    return collected


def by_support(
    holders: np.ndarray, mechanisms: list[Mechanism], rng: np.random.Generator
) -> list[Estimate]:
    """A pure mechanism, its support counts drawn directly."""
    collected = []
    for row, m in zip(holders, mechanisms, strict=True):
        n = int(row.sum())
        support = rng.binomial(row, float(m.p)) + rng.binomial(n - row, float(m.q))
        values = m.debias(support, n)
        collected.append(estimate_of(values, m.variance(values, n), n))
    return collected


def quietly(estimates: Any, method: str) -> Estimate:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlikeWarning)
        return combine(estimates, method=method)
