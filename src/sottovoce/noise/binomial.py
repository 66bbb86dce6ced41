"""Binomial probabilities that stay accurate for tens of millions of trials, in far tails too.

Probabilities of single counts follow Loader 2000 ("Fast and accurate computation of binomial
probabilities"): logarithms of factorials would lose eight digits. Tails are scipy's incomplete beta
function; its older `bdtrc` is wrong in the third digit for nine million trials (tested).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_SERIES = 16  # from here on Stirling's series has all digits


def pmf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Probability of k hits in n trials, 0 < p < 1; 0 where k is outside 0 to n."""
    probability: Floats = np.exp(log_pmf(k, n, p))
    return probability


def log_pmf(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Logarithm of `pmf`: finite also where the probability itself underflows."""
    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    exponent: Floats = np.full(k.shape, -np.inf)
    exponent[k == 0] = n[k == 0] * math.log1p(-p)
    exponent[(k == n) & (k > 0)] = n[(k == n) & (k > 0)] * math.log(p)
    inside = (k > 0) & (k < n)
    hits, trials = k[inside], n[inside]
    misses = trials - hits
    rest = _factorial_rest(trials) - _factorial_rest(hits) - _factorial_rest(misses)
    rest -= _deviance(hits, trials * p) + _deviance(misses, trials * (1 - p))
    exponent[inside] = rest + 0.5 * np.log(trials / (2 * math.pi * hits * misses))
    return exponent


def at_least(k: ArrayLike, n: ArrayLike, p: float) -> Floats:
    """Probability of k or more hits in n trials."""
    from scipy.special import betainc

    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    inside = (k > 0) & (k <= n)
    result: Floats = np.where(k <= 0, 1.0, 0.0)
    result[inside] = betainc(k[inside], n[inside] - k[inside] + 1, p)
    return result


def window(n: int, p: float, log_miss: float) -> tuple[int, int]:
    """Counts (least, most) outside of which either tail has at most e^-log_miss (Bernstein)."""
    mean, variance = n * p, n * p * (1 - p)
    third = log_miss / 3
    reach = third + math.sqrt(third * third + 2 * variance * log_miss)
    return max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach))


def _factorial_rest(n: Floats) -> Floats:
    """ln n! less Stirling's n ln n − n + ½ ln(2πn)."""
    from scipy.special import gammaln

    square = 1 / (n * n)
    rest: Floats = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / n
    few = n < _SERIES
    k = n[few]
    rest[few] = gammaln(k + 1) - k * np.log(k) + k - 0.5 * np.log(2 * math.pi * k)
    return rest


def _deviance(count: Floats, mean: Floats) -> Floats:
    """count ln(count/mean) + mean − count, without the cancellation."""
    off = (count - mean) / mean
    result: Floats = mean * ((1 + off) * np.log1p(off) - off)
    return result
