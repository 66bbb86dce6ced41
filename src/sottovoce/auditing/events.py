"""Events: sets of outcomes that distinguish two answers, and what their frequencies imply.

An event is chosen in two steps on separate reports, since otherwise, among many rare outcomes, it
would be chosen by chance alone: the first reports order all outcomes by how much likelier they are
under x than under x', the second ones say how many of the likeliest make the best event. Outcomes
whose log ratios differ by less than a quarter of ε are not separated, for the same reason.

Bound       hits a of n under x, b of n under x'. With Clopper–Pearson limits at tail α / 2 each,

                ε ≥ ln( (low(a) − δ) / high(b) )   with probability at least 1 − α

Clopper, Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of the
binomial". A fixed event is tested, so nothing else has to be corrected for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..participation.reports import SILENCE
from ..promise import Promise

Tally = Mapping[Any, int]
Score = Callable[[Any], float]

_MOST_THRESHOLDS = 256
_MOST_NAMED = 5  # reports of an event, in words
_MOST_CODES = 2**62
_CAUTION = 1e-3  # α of the bounds by which events are chosen; with larger α, chance chooses them


@dataclass(frozen=True)
class Event:
    """The outcomes whose score is at least a threshold."""

    score: Score
    threshold: float
    examples: tuple[Any, ...]

    def hits(self, tally: Tally) -> int:
        """How many people's outcomes are in the event."""
        return sum(n for outcome, n in tally.items() if self.score(outcome) >= self.threshold)

    def words(self) -> str:
        """The event in words: silence, and some of the reports."""
        silent = [key for key in self.examples if set(np.atleast_1d(key).tolist()) == {SILENCE}]
        spoken = sorted(str(key) for key in self.examples if key not in silent)
        if not spoken:
            return "silence"
        named = spoken if len(spoken) <= _MOST_NAMED else spoken[: _MOST_NAMED - 1]
        shown = f"the report being {' or '.join(named)}"
        if len(named) < len(spoken):
            shown += f" or one of {len(spoken) - len(named):,} more"
        return f"silence, or {shown}" if silent else shown


def tally(batches: Iterable[NDArray[Any]]) -> dict[Any, int]:
    """How often each outcome occurs."""
    total: Counter[Any] = Counter()
    for batch in batches:
        kinds, counts = _distinct(np.asarray(batch))
        for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            total[tuple(kind) if isinstance(kind, list) else kind] += count
    return total


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Distinct rows and their numbers; rows of small integers as one number each, for speed."""
    if rows.ndim == 1 or not rows.size:
        return np.unique(rows, return_counts=True)
    if rows.dtype.kind in "iub":
        low = rows.min(axis=0).astype(object)
        span = rows.max(axis=0).astype(object) - low + 1
        if np.prod(span) < _MOST_CODES:
            codes = np.zeros(len(rows), np.int64)
            for column, least, width in zip(rows.T, low, span, strict=True):
                codes = codes * width + (column.astype(np.int64) - int(least))
            _, first, counts = np.unique(codes, return_index=True, return_counts=True)
            return rows[first], counts
    return np.unique(rows, axis=0, return_counts=True)


def best_event(
    first: tuple[Tally, Tally], second: tuple[Tally, Tally], promise: Promise
) -> tuple[float, Event]:
    """The event with the highest bound on the second reports, and that bound.

    Outcomes are ordered by the first reports: as they are, and, where an outcome has several
    columns, by the sum of their columns' log ratios, which needs far fewer reports.
    """
    scores = [_by_outcome(*first)]
    if any(isinstance(key, tuple) and len(key) > 2 for key in first[0]):
        scores.append(_by_column(*first))
    step = min(promise.epsilon, 1.0) / 4 or 1.0
    candidates = [_best_threshold(score, step, second, promise.delta) for score in scores]
    return max(candidates, key=itemgetter(0))


def _by_outcome(here: Tally, there: Tally) -> Score:
    ratios = {key: _log_ratio(here.get(key, 0), there.get(key, 0)) for key in {*here, *there}}
    return lambda key: ratios.get(key, -np.inf)


def _by_column(here: Tally, there: Tally) -> Score:
    columns: list[tuple[Counter[Any], Counter[Any]]] = [
        (Counter(), Counter()) for _ in next(iter(here))
    ]
    for side, counts in enumerate((here, there)):
        for key, n in counts.items():
            for column, value in zip(columns, key, strict=True):
                column[side][value] += n
    ratios = [{value: _log_ratio(a[value], b[value]) for value in {*a, *b}} for a, b in columns]
    return lambda key: sum(r.get(v, 0.0) for r, v in zip(ratios, key, strict=True))


def _log_ratio(a: int, b: int) -> float:
    return float(np.log((a + 1) / (b + 1)))


def _best_threshold(
    fine: Score, step: float, second: tuple[Tally, Tally], delta: float
) -> tuple[float, Event]:
    def score(key: Any) -> float:
        return float(np.floor(fine(key) / step))

    here, there = second
    scores = {key: score(key) for key in {*here, *there}}
    keys = sorted(scores, key=scores.__getitem__, reverse=True)
    values = np.array([scores[key] for key in keys])
    a, b = (np.cumsum([side.get(key, 0) for key in keys]) for side in second)
    last = np.flatnonzero(np.append(values[1:] < values[:-1], True))  # of outcomes that tie
    if last.size > _MOST_THRESHOLDS:
        last = last[np.linspace(0, last.size - 1, _MOST_THRESHOLDS).astype(int)]
    n = np.array([a[-1], b[-1]])
    bounds = lower_bound(a[last], b[last], n, delta, _CAUTION)
    k = int(np.argmax(bounds))
    event = Event(score, float(values[last[k]]), tuple(keys[: last[k] + 1]))
    return float(bounds[k]), event


def lower_bound(
    a: NDArray[np.int64], b: NDArray[np.int64], n: NDArray[np.int64], delta: float, alpha: float
) -> NDArray[np.float64]:
    """Lower bounds on epsilon from hits a of n[0] and b of n[1] trials, wrong with at most α."""
    from scipy.special import betaincinv

    tail = alpha / 2
    low = np.where(a > 0, betaincinv(np.maximum(a, 1), n[0] - a + 1, tail), 0.0)
    high = np.where(b < n[1], betaincinv(b + 1, np.maximum(n[1] - b, 1), 1 - tail), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds: NDArray[np.float64] = np.where(low > delta, np.log((low - delta) / high), -np.inf)
    return bounds
