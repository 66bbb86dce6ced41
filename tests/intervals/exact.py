"""The exact coverage of an interval whose estimate depends on one count."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import binom

from sottovoce.contract.aggregate import Aggregate
from sottovoce.estimate.estimate import Estimate
from sottovoce.mechanisms.categorical import PureMechanism

LEAST = 0.93
Intervals = Callable[[Estimate], tuple[np.ndarray, np.ndarray]]


def shown(estimate: Estimate, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """The interval as people see it."""
    return estimate.interval(confidence)


def normal(estimate: Estimate) -> tuple[np.ndarray, np.ndarray]:
    """The normal approximation at the estimate: the planted fault."""
    half = 1.96 * estimate.std_error
    return estimate.values - half, estimate.values + half


def holders(n: int) -> Iterator[int]:
    """How many of n people hold a value: none, all, one, most, and some between."""
    yield from sorted({0, 1, 2, n // 10, n // 3, n // 2, n - 1, n} & set(range(n + 1)))


def count_law(mechanism: PureMechanism, n: int, m: int) -> np.ndarray:
    """P(c of n reports support a value that m people hold), for every c."""
    p, q = float(mechanism.p), float(mechanism.q)
    true = binom.pmf(np.arange(m + 1), m, p)
    return np.convolve(true, binom.pmf(np.arange(n - m + 1), n - m, q))


def least_coverage(mechanism: PureMechanism, n: int, interval: Intervals = shown) -> float:
    """The least exact coverage over how many people hold a value."""
    low, high = np.empty(n + 1), np.empty(n + 1)
    for c in range(n + 1):
        # Of the other counts nothing matters: a value's interval depends on its own alone.
        counts = np.full(mechanism.domain.size, c)
        aggregate = Aggregate(mechanism.id, mechanism.digest, {"support": counts}, n, n)
        ends = interval(mechanism.estimate(aggregate, method="unbiased"))
        low[c], high[c] = (end[0] for end in ends)
    covered = []
    for m in holders(n):
        inside = (low <= m / n + 1e-12) & (m / n <= high + 1e-12)
        covered.append(float(count_law(mechanism, n, m)[inside].sum()))
    return min(covered)
