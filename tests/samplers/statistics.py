"""Goodness of fit against exactly known laws: large cells by chi-square, every cell exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from .budget import joined

SMALLEST = 100  # expected count of a cell below which the far tail of chi-square is too thin


def fit(counts: ArrayLike, probabilities: ArrayLike) -> float:
    """p-value of multinomial counts: chi-square over all cells, and the most extreme cell alone."""
    observed = np.asarray(counts, float).ravel()
    law = np.asarray(probabilities, float).ravel()
    if observed[law == 0].any():
        return 0.0
    observed, law = observed[law > 0], law[law > 0]
    if law.size == 1:
        return 1.0
    return joined([chi_square(observed, law), extreme(observed, observed.sum(), law)])


def chi_square(observed: np.ndarray, law: np.ndarray) -> float:
    """Pearson's test, the smallest cells taken together until they are large enough."""
    order = np.argsort(law, kind="stable")
    observed, expected = observed[order], law[order] * observed.sum()
    small = max(int((expected < SMALLEST).sum()), 1)
    while expected[:small].sum() < SMALLEST:
        small += 1
    observed = np.append(observed[:small].sum(), observed[small:])
    expected = np.append(expected[:small].sum(), expected[small:])
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, expected.size - 1))


def extreme(counts: ArrayLike, n: ArrayLike, p: ArrayLike) -> float:
    """p-value of the most extreme of many binomial counts, by exact tails."""
    low, high = stats.binom.cdf(counts, n, p), stats.binom.sf(np.asarray(counts) - 1, n, p)
    return joined(np.minimum(1.0, 2 * np.minimum(low, high)).ravel())


def independent_fits(counts: ArrayLike, n: ArrayLike, p: ArrayLike) -> float:
    """p-value of independent binomial counts with known p: squared z-scores, and the extreme."""
    counts, n = np.asarray(counts, float), np.asarray(n, float)
    z2 = (counts - n * p) ** 2 / (n * p * (1 - np.asarray(p)))
    return joined([float(stats.chi2.sf(z2.sum(), z2.size)), extreme(counts, n, p)])


def pair_fit(a: np.ndarray, b: np.ndarray, p: float, q: float) -> float:
    """p-value of two columns of bits against independence with known probabilities."""
    table = np.bincount(2 * a.astype(np.int64) + b, minlength=4)
    return fit(table, [(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q])
