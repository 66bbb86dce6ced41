"""Sampled counts of which those below a threshold are suppressed: no assumption on the data.

Only counts of at least k sampled holders are released; all others look the same. Then δ(ε) is the
largest over all true counts c. It ends: with more holders δ falls below that of unsuppressed
counts, which falls with c.

Holders who see the result know their own coins: x ~ Bin(φ, p) of them are in the count, and for the
others the threshold is k − x. Suppressing below k + φ restores what k keeps without insiders.

No total, remainder or "other" may be published beside suppressed counts: with one suppressed item
the remainder shows it (δ = p). Whoever sees the counts before suppression is not covered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..checks import checked_count, checked_loss, checked_rate
from ..noise.binomial import Floats, log_pmf
from .pairs import Pair, log_sum, rounded, with_holder, without_holder
from .sampled_counts import Neighbours, check_neighbours, exact_delta
from .search import smallest

_MOST_THRESHOLD = 100_000
_MOST_PAIRS = 40_000  # true counts (c_a, c_b) compared for a substitution; beyond, a simpler bound
_SPLITS = 64


def thresholded_delta(
    epsilon: float,
    rate: float,
    threshold: int,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
) -> float:
    """The delta of sampled counts released only from `threshold` on, whatever people hold.

    Parameters
    ----------
    epsilon, rate, neighbours
        As in `sampled_counts_delta`.
    threshold : int
        The smallest sampled count that is released.
    insiders : int
        Holders of one item who see the result. For substitutions the worst case of their coins is
        assumed: as if the threshold were lower by their number.

    Returns
    -------
    float
        The largest δ over all true counts, rounded up. For substitutions with large thresholds an
        upper bound, by composition of the two counts.

    Examples
    --------
    >>> f"{thresholded_delta(1.0, 0.3, 14, neighbours='add-remove'):.1e}"
    '6.4e-06'
    >>> f"{thresholded_delta(1.0, 0.3, 14, neighbours='add-remove', insiders=20):.1e}"
    '5.8e-04'
    """
    epsilon, rate = checked_loss(epsilon), checked_rate(rate)
    threshold = checked_count(threshold, "threshold", 1)
    insiders = checked_count(insiders, "insiders", 0)
    check_neighbours(neighbours)
    if rate == 1:
        return 1.0
    if neighbours == "add-remove":
        return _one_count(epsilon, rate, threshold, insiders)
    threshold -= insiders
    if threshold <= 1:
        return exact_delta(epsilon, 1, rate, "substitute")
    # With so many holders a count is hardly ever suppressed.
    largest = math.ceil((threshold + 6 * math.sqrt(threshold) + 10) / rate)
    if (largest - threshold + 2) ** 2 <= _MOST_PAIRS:
        return _two_counts(epsilon, rate, threshold, largest)
    parts = [epsilon * part / _SPLITS for part in range(_SPLITS + 1)]
    one = [_one_count(part, rate, threshold, 0) for part in parts]
    return min(1.0, min(a + b for a, b in zip(one, reversed(one), strict=True)))


def smallest_threshold(
    epsilon: float,
    delta: float,
    rate: float,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
) -> int:
    """The smallest threshold that keeps (epsilon, delta), and one more for every insider.

    Examples
    --------
    >>> smallest_threshold(1.0, 1e-5, 0.3, neighbours="add-remove")
    14
    >>> smallest_threshold(1.0, 1e-5, 0.3, neighbours="add-remove", insiders=10)
    24
    """
    return smallest(
        "threshold",
        lambda threshold: thresholded_delta(epsilon, rate, threshold, neighbours=neighbours),
        _MOST_THRESHOLD,
        epsilon=epsilon,
        delta=delta,
        insiders=insiders,
        rate=rate,
    )


def _one_count(epsilon: float, rate: float, threshold: int, insiders: int) -> float:
    """The largest δ for one record more or less, over all counts of holders with unknown coins."""
    known = np.arange(insiders + 1)
    weight = log_pmf(known, insiders, rate)
    lowest = np.maximum(threshold - known, 0)  # what the others' count must reach
    worst, count = -math.inf, max(1, int(lowest.min()))
    while True:
        for log_released, log_suppressed in _sides(epsilon, count, rate):
            place = np.minimum(lowest, count + 1)
            either = np.logaddexp(log_released[place], log_suppressed[place])
            worst = max(worst, log_sum(weight + either))
        count += 1
        # An upper bound for this and all larger counts; its rounding is above that of `worst`.
        if exact_delta(epsilon, count, rate, "add-remove") <= rounded(worst, 0.0):
            return rounded(worst, 0.0)


def _sides(epsilon: float, count: int, rate: float) -> Iterator[tuple[Floats, Floats]]:
    """For every threshold 0 … c+1: log δ of the counts from it on, and of "suppressed" alone.

    First with the holder against without, then the other way round.
    """
    k = np.arange(count + 1)
    with_one, without = log_pmf(k, count, rate), log_pmf(k, count - 1, rate)
    if count == 1:
        without = np.array([0.0, -np.inf])
    for first, second in ((with_one, without), (without, with_one)):
        released = np.full(count + 2, -np.inf)
        excess = _log_excess(first, epsilon + second)
        released[:-1] = np.logaddexp.accumulate(excess[::-1])[::-1]
        below = [
            np.concatenate([[-np.inf], np.logaddexp.accumulate(law)]) for law in (first, second)
        ]
        yield released, _log_excess(below[0], epsilon + below[1])


def _log_excess(first: Floats, second: Floats) -> Floats:
    """Logarithm of (e^first − e^second)₊."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(np.isneginf(first), 0.0, np.minimum(second - first, 0.0))
        excess: Floats = first + np.log(-np.expm1(gap))
    return np.where(np.isneginf(first), -np.inf, excess)


def _two_counts(epsilon: float, rate: float, threshold: int, largest: int) -> float:
    """The largest δ for a substitution, over all pairs of counts.

    Beyond `largest` a count that is never suppressed shows more, and the more the fewer holders it
    has: its δ at `largest` bounds all of them.
    """
    counts = range(threshold, largest + 1)
    more = [_suppress(with_holder(c, rate), threshold, c) for c in counts]
    fewer = [_suppress(without_holder(c, rate), threshold, c - 1) for c in counts]
    always = Pair(np.zeros(1), np.ones(1))  # fewer holders than the threshold: never released
    more += [with_holder(largest + 1, rate), always]
    fewer += [without_holder(largest + 1, rate), always]
    return max(a.delta_with(b, epsilon) for a in more for b in fewer)


def _suppress(pair: Pair, threshold: int, most: int) -> Pair:
    """The pair in which all counts below the threshold look alike; `most` is its largest count."""
    below = threshold + pair.log_mass.size - (most + 1)
    first = log_sum(pair.log_mass[:below])
    with np.errstate(divide="ignore"):
        second = log_sum(pair.log_mass[:below] + np.log(pair.ratio[:below]))
    return Pair(
        np.concatenate([[first], pair.log_mass[below:]]),
        np.concatenate([[math.exp(second - first)], pair.ratio[below:]]),
        pair.missed,
    )
