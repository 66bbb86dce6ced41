"""Evidence behind methods that open no unbiased sum: intervals that hold for any split of the rows.

Weighted   Σ_k w_k c_k with unequal weights says how many rows a cell can have at least and at most
OneWay     tables of single attributes bound a joint cell from both sides (Fréchet)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...estimate.intervals import Floats, Interval
from .evidence import Evidence, Margin
from .numbers import reach


@dataclass(frozen=True, eq=False)
class Weighted(Evidence):
    """Σ_k w_k c_k plus noise, where rows of different parties weigh differently.

    Let S be the weighted sum without noise, of a set of cells. The set has the most rows when they
    all lie with the parties of the smallest weights, and the fewest when with those of the
    largest: both counts are piecewise linear in S. Where rows are sampled, w_k are the rates,
    and the sampled sum varies around S by at most (1 − min w) S.
    """

    counts: Floats  # the noisy sums in row-major order
    noise: float  # V, the variance of the noise of one cell
    n: int  # N; an estimate where it is not public
    weights: tuple[float, ...]  # of the parties in the sum
    rows: tuple[int, ...] | None  # n_k in the same order, where they are public
    sampled: bool = False  # whether rows were sampled with these probabilities

    @property
    def unbiased(self) -> bool:
        """Whether all rows weigh the same."""
        return min(self.weights) == max(self.weights) > 0

    @property
    def _drawn(self) -> float:
        """How much the sampled sum varies, in units of the sum."""
        return 1 - min(self.weights) if self.sampled else 0.0

    @property
    def _whole(self) -> float:
        """What all rows weigh together; NaN where they weigh differently."""
        return self.weights[0] * self.n if self.unbiased else math.nan

    def fractions(self, margin: Margin) -> Floats:
        return margin.sum(self.counts) / self._whole

    def variance(self, margin: Margin) -> Floats:
        sampled = self._drawn * np.maximum(margin.sum(self.counts), 0)
        return np.asarray((math.prod(margin.merged) * self.noise + sampled) / self._whole**2)

    def interval(self, margin: Margin, confidence: float) -> Interval:
        if self.rows is None:
            return self._of_unknown_sizes(margin, confidence)
        low, high = self._sums(margin, confidence)
        light = np.argsort(self.weights, kind="stable")
        # Rows of weight 0 leave no trace: none of them in the fewest, all of them in the most.
        unseen = sum(n for n, weight in zip(self.rows, self.weights, strict=True) if weight == 0)
        fewest, most = self._rows_of(low, light[::-1]), self._rows_of(high, light) + unseen
        return Interval(fewest / self.n, most / self.n)

    def _sums(self, margin: Margin, confidence: float) -> Interval:
        """Bounds of S: |y − S| ≤ 1 + h √(m V + (1 − min w) S), without sampling ⌈h √(m V)⌉."""
        sums, h = margin.sum(self.counts), reach(confidence)
        noise = math.prod(margin.merged) * self.noise
        if not self.sampled:
            half = math.ceil(h * math.sqrt(noise))
            return Interval(np.maximum(sums - half, 0), np.maximum(sums + half, 0))
        ends, lean = [], h * h * self._drawn / 2
        for side in (-1, 1):
            at = sums + side
            rest = np.maximum((at + lean) ** 2 - at**2 + h * h * noise, 0)
            # The lower root is at most `at`; beyond it, it belongs to the other sign of y − S.
            end = at + lean + side * np.sqrt(rest)
            ends.append(np.maximum(np.minimum(end, at) if side < 0 else end, 0))
        return Interval(*ends)

    def _rows_of(self, sums: Floats, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
        """How many rows have that weighted sum when the parties' rows are used in this order."""
        rows: Floats = np.zeros_like(sums)
        left = sums.copy()
        for party in order.tolist():
            weight, most = self.weights[party], (self.rows or ())[party]
            if weight == 0:
                continue
            here = np.minimum(left / weight, most)
            rows += here
            left = left - here * weight
        return rows

    def _of_unknown_sizes(self, margin: Margin, confidence: float) -> Interval:
        """x/(x + κ rest) to κx/(κx + rest), κ = max w / min w, from bounds that hold together."""
        low, high = self._sums(margin, 1 - (1 - confidence) / 2)
        every = self._sums(margin.of(()), 1 - (1 - confidence) / 2)
        if min(self.weights) == 0:
            return Interval(np.zeros_like(low), np.ones_like(high))
        kappa = max(self.weights) / min(self.weights)
        others = np.maximum(every.high - low, 0), np.maximum(every.low - high, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(low > 0, low / (low + kappa * others[0]), 0.0)
            most = np.where(others[1] > 0, kappa * high / (kappa * high + others[1]), 1.0)
        return Interval(least, most)


@dataclass(frozen=True, eq=False)
class OneWay(Evidence):
    """A table of each attribute alone.

    A joint fraction is at most the smallest of the attributes' fractions, and at least
    Σ_a p_a − (k − 1) (Fréchet); the k intervals hold together at 1 − α/k each.
    """

    tables: tuple[Evidence, ...]  # one per attribute

    @property
    def n(self) -> int:  # type: ignore[override]
        """That of the first attribute's table."""
        return self.tables[0].n

    def fractions(self, margin: Margin) -> Floats:
        return self._one_attribute(margin, "fractions")

    def variance(self, margin: Margin) -> Floats:
        return self._one_attribute(margin, "variance")

    def _one_attribute(self, margin: Margin, what: str) -> Floats:
        """What the table of a single attribute says; joint tables were not opened."""
        if len(margin.kept) != 1:
            return np.full(math.prod(margin.shape), np.nan)
        known: Floats = getattr(self.tables[margin.kept[0]], what)(Margin.whole(margin.shape))
        return known

    def interval(self, margin: Margin, confidence: float) -> Interval:
        many = len(margin.kept)
        each = 1 - (1 - confidence) / many
        low: Floats = np.zeros((1,) * many)
        high: Floats = np.full((1,) * many, np.inf)
        for place, attribute in enumerate(margin.kept):
            alone = Margin.whole((margin.shape[place],))
            ends = self.tables[attribute].interval(alone, each)
            along = [1] * many
            along[place] = -1
            low = low + ends.low.reshape(along)
            high = np.minimum(high, ends.high.reshape(along))
        joint = (np.broadcast_to(end, margin.shape) for end in (low - (many - 1), high))
        return Interval(*(end.reshape(-1) for end in joint))
