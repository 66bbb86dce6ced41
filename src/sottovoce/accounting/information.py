"""How much a report reveals about an answer with a known prior: localised information privacy.

A channel Q(y|x) is ε-LIP under a prior P when, for every answer x and every report y,

    e^−ε  ≤  P(x|y) / P(x) = Q(y|x) / λ_y  ≤  e^ε,     λ_y = Σ_x P_x Q(y|x)

also for answers of prior 0, without which the prior-free half of the promise would fail. The
numbers here are exact up to floating point; what mechanisms promise is checked in fractions.

Jiang, Li, Tandon, "Context-aware Data Aggregation with Localized Information Privacy", Def. 3.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import checked_count, float_above
from ..errors import ParameterError
from .rounding import log_ratio_up

Floats = NDArray[np.float64]
_MOST_STEPS = 10_000_000


def lip_level(channel: ArrayLike, prior: ArrayLike) -> float:
    """The smallest ε for which a channel is ε-LIP under a prior.

    Parameters
    ----------
    channel : array-like of shape (inputs, outputs)
        Q(y|x); rows sum to one.
    prior : array-like
        P, one probability per input.

    Examples
    --------
    >>> round(lip_level([[0.9, 0.1], [0.1, 0.9]], [0.5, 0.5]), 4)
    1.6094
    """
    q = _channel(channel)
    p = _prior(prior, q.shape[0])
    return lip_level_box(q, p, p)


def lip_level_box(channel: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """The level that holds under every prior with low ≤ P ≤ high.

    max over y of ln(max_x Q(y|x) / min_P λ_y) and ln(max_P λ_y / min_x Q(y|x)); λ_y is linear in
    P, so its ends are found by filling the box greedily.
    """
    q = _channel(channel)
    low_, high_ = _box(low, high, q.shape[0])
    worst = 0.0
    for column in q.T:
        if column.max() == 0:
            continue
        least = _fill_box(column, low_, high_)
        most = -_fill_box(-column, low_, high_)
        if column.min() <= 0 or least <= 0:
            return math.inf
        worst = max(worst, math.log(column.max() / least), math.log(most / column.min()))
    return worst


def lip_level_repeated(channel: ArrayLike, prior: ArrayLike, times: int) -> float:
    """The exact level of several reports of the same answer, for channels with few outputs.

    k reports of an ε-LIP channel are not kε-LIP: P1 = 1/(e+1), ε = 1 gives 2.735 for two.
    """
    q = _channel(channel)
    p = _prior(prior, q.shape[0])
    k = checked_count(times, "times", 1)
    if math.comb(q.shape[1] + k - 1, k) * k * q.shape[0] > _MOST_STEPS:
        raise ParameterError(
            f"{k} reports of {q.shape[1]} outputs have too many patterns to enumerate; "
            "lip_repeated_bound gives a safe bound"
        )
    q = q[:, q.max(axis=0) > 0]
    if (q == 0).any():
        return math.inf  # a report that rules an answer out
    logs = np.log(q)
    patterns = np.array(list(combinations_with_replacement(range(q.shape[1]), k)))
    likely = logs[:, patterns].sum(axis=2)  # inputs by patterns; their order does not matter
    top = likely[p > 0].max(axis=0)  # so that no average underflows to zero
    average = np.log(p @ np.exp(np.minimum(likely - top, 0.0))) + top
    return float(np.abs(likely - average).max())


def lip_repeated_bound(epsilon: float, ldp: float, times: int) -> float:
    """A level that is certain to cover k reports: min((2k − 1) ε, k ε_LDP)."""
    k = checked_count(times, "times", 1)
    return min((2 * k - 1) * epsilon, k * ldp)


def leakage(channel: ArrayLike, prior: ArrayLike) -> float:
    """Mutual information of answer and report, in nats; at most ε tanh(ε/2) for ε-LIP."""
    q = _channel(channel)
    p = _prior(prior, q.shape[0])
    seen = p @ q
    joint = p[:, None] * q
    where = joint > 0
    ratio = np.divide(q, seen, out=np.ones_like(q), where=where)
    return float((joint[where] * np.log(ratio[where])).sum())


def ldp_level(channel: ArrayLike) -> float:
    """The level that needs no prior: ln of the largest Q(y|x) / Q(y|x')."""
    q = _channel(channel)
    q = q[:, q.max(axis=0) > 0]
    if (q == 0).any():
        return math.inf
    return float(np.log(q.max(axis=0) / q.min(axis=0)).max())


def unary_level(levels: ArrayLike) -> float:
    """The prior-free level of one bit per value, bit v at its own prior-free level.

    Two answers differ in two bits, so the two largest add up; no bit's own LIP level bounds it.
    """
    each = np.sort(np.asarray(levels, float))
    if each.ndim != 1 or each.size < 2 or not (each >= 0).all():
        raise ParameterError(f"levels are {levels!r}; give one of at least 0 for each of the bits")
    return float(each[-1] + each[-2])


def log_up(ratio: Fraction) -> float:
    """ln of an exact ratio as a float that is not below it."""
    return float_above(log_ratio_up(ratio, Fraction(1)))


def _fill_box(column: Floats, low: Floats, high: Floats) -> float:
    """The least Σ P_x column_x over the box: what is free goes to the smallest entries first."""
    order = np.argsort(column, kind="stable")
    room = (high - low)[order]
    before = np.cumsum(room) - room
    extra = np.clip(1 - low.sum() - before, 0, room)
    return float(column @ low + column[order] @ extra)


def _channel(table: ArrayLike) -> Floats:
    q = np.asarray(table, float)
    if q.ndim != 2 or q.size == 0 or not (q >= 0).all() or not np.allclose(q.sum(1), 1, atol=1e-9):
        raise ParameterError("a channel is a table of probabilities, one row per answer, sum one")
    return q


def _prior(prior: ArrayLike, size: int) -> Floats:
    p = np.asarray(prior, float)
    if p.shape != (size,) or not (p >= 0).all() or not abs(p.sum() - 1) < 1e-9:
        raise ParameterError(
            f"the prior must be {size} probabilities of at least 0 that sum to 1; {prior!r:.80} "
            "was given"
        )
    return p


def _box(low: ArrayLike, high: ArrayLike, size: int) -> tuple[Floats, Floats]:
    a, b = np.asarray(low, float), np.asarray(high, float)
    inside = a.shape == b.shape == (size,) and bool((a >= 0).all() and (a <= b).all())
    if not inside or not (a.sum() <= 1 + 1e-9 and b.sum() >= 1 - 1e-9 and (b <= 1).all()):
        raise ParameterError(
            f"the prior's bounds must be {size} pairs 0 ≤ low ≤ high ≤ 1 with some distribution "
            f"between them; {low!r:.80} and {high!r:.80} were given"
        )
    return a, b
