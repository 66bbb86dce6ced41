"""Groups of people, each with an unbiased estimate of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from .count_intervals import CountInterval, GroupedCountInterval, combine_count_intervals
from .estimate import Estimate
from .intervals import Floats, ScoreInterval, combine_intervals

_TINY = 1e-300


@dataclass(frozen=True)
class Groups:
    """What the weights need to know of the groups.

    Attributes
    ----------
    values : ndarray of shape (groups, values)
        Unbiased estimates ψ̂_j.
    variance : ndarray of the same shape
        Their noise.
    people, reports : ndarray of shape (groups,)
        How many people each group has, and how many of them reported.
    answers_vary : ndarray of shape (groups,), optional
        How much the numbers that people answer vary in each group; fractions show it themselves.
    intervals : tuple of ScoreInterval or of CountInterval, optional
        Each group's own, where the noise of its reports is known as a function of the truth.
    """

    values: Floats
    variance: Floats
    people: Floats
    reports: Floats
    answers_vary: Floats | None = None
    intervals: tuple[ScoreInterval, ...] | tuple[CountInterval, ...] | None = None

    @classmethod
    def of_estimates(cls, estimates: Sequence[Estimate]) -> Self:
        """The groups of several estimates."""
        vary = None
        if not estimates[0].shares:
            vary = np.array([e.answer_variance or 0.0 for e in estimates])
        own = tuple(e._interval for e in estimates if isinstance(e._interval, ScoreInterval))
        counted = tuple(e._interval for e in estimates if isinstance(e._interval, CountInterval))
        known = own or counted
        return cls(
            np.array([e.values for e in estimates]),
            np.array([e.variance for e in estimates]),
            np.array([e.n for e in estimates], float),
            np.array([e.n if e.reports is None else e.reports for e in estimates], float),
            vary,
            known if len(known) == len(estimates) else None,
        )

    @cached_property
    def scatter(self) -> float:
        """D, the variance of one person's answer, total over the values."""
        if self.answers_vary is not None:
            return max(float(self.sizes @ self.answers_vary), 0.0)
        values, variance = self.together
        varies = 1 - float(values @ values - variance.sum())
        return min(max(varies, 0.0), 1 - 1 / values.size)

    @cached_property
    def together(self) -> tuple[Floats, Floats]:
        """Every group weighted by its people, the unbiased estimate, and its noise."""
        return self.sum(self.sizes)

    def sum(self, weights: Floats) -> tuple[Floats, Floats]:
        """Σ ω_j ψ̂_j, and its noise."""
        return weights @ self.values, weights**2 @ self.variance

    def interval(
        self, values: Floats, weights: Floats
    ) -> ScoreInterval | GroupedCountInterval | None:
        """The interval of Σ ω_j ψ̂_j; that of counts is for weights by people."""
        if self.intervals is None:
            return None
        scores = [part for part in self.intervals if isinstance(part, ScoreInterval)]
        if scores:
            return combine_intervals(values, weights, scores)
        counts = [part for part in self.intervals if isinstance(part, CountInterval)]
        return combine_count_intervals(values, counts)

    @cached_property
    def noise(self) -> Floats:
        """Total noise of each group's estimate, V_j / n_j."""
        return np.asarray(np.maximum(self.variance.sum(axis=1), _TINY))

    @cached_property
    def sizes(self) -> Floats:
        """Fractions of the people, n_j / n."""
        return np.asarray(self.people / self.people.sum())

    def mix(self, weights: Floats) -> float:
        """What a wrong mix of people adds, times D: nothing for the right one, the sizes."""
        return float((weights**2 / self.people).sum() - 1 / self.people.sum())
