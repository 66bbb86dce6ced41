"""Groups of people, each with an unbiased estimate of its own.

Whatever is worked out from groups works for rows of them, too: then every array has one more axis,
the first, and nothing is mixed along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from .estimate import Estimate
from .intervals import Floats, ScoreInterval, combine_intervals

_TINY = 1e-300


@dataclass(frozen=True)
class Groups:
    """What the weights need to know of the groups.

    Attributes
    ----------
    values : ndarray of shape (..., groups, values)
        Unbiased estimates.
    variance : ndarray of the same shape
        Their noise.
    people, reports : ndarray of shape (..., groups)
        How many people each group has, and how many of them reported.
    answers_vary : ndarray of shape (..., groups), optional
        How much the numbers that people answer vary in each group; fractions show it themselves.
    intervals : tuple of ScoreInterval, optional
        Each group's own, where the noise of its reports is known as a function of the truth.
    """

    values: Floats
    variance: Floats
    people: Floats
    reports: Floats
    answers_vary: Floats | None = None
    intervals: tuple[ScoreInterval, ...] | None = None

    @classmethod
    def of_estimates(cls, given: Sequence[Estimate]) -> Self:
        """The groups of several estimates."""
        vary = None if given[0].shares else np.array([e.answer_variance or 0.0 for e in given])
        return cls(
            np.array([e.values for e in given]),
            np.array([e.variance for e in given]),
            np.array([e.n for e in given], float),
            np.array([e.n if e.reports is None else e.reports for e in given], float),
            vary,
            intervals_of(given),
        )

    def interval(self, values: Floats, weights: Floats) -> ScoreInterval | None:
        """The interval of Σ ω_j ψ̂_j."""
        if self.intervals is None:
            return None
        return combine_intervals(values, weights, self.intervals)

    @cached_property
    def scatter(self) -> Floats:
        """D, the variance of one person's answer, total over the values, of shape (..., 1)."""
        if self.answers_vary is not None:
            return np.asarray(np.maximum(total(self.sizes * self.answers_vary), 0.0))
        values, variance = self.together
        varies = 1 - (total(values**2) - total(variance))
        return np.asarray(np.minimum(np.maximum(varies, 0.0), 1 - 1 / values.shape[-1]))

    @cached_property
    def together(self) -> tuple[Floats, Floats]:
        """Every group weighted by its people, the unbiased estimate, and its noise."""
        return self.sum(self.sizes)

    def sum(self, weights: Floats) -> tuple[Floats, Floats]:
        """Σ ω_j ψ̂_j, and its noise."""
        return summed(weights, self.values), summed(weights**2, self.variance)

    @cached_property
    def noise(self) -> Floats:
        """Total noise of each group's estimate, V_j / n_j."""
        return np.asarray(np.maximum(self.variance.sum(axis=-1), _TINY))

    @cached_property
    def sizes(self) -> Floats:
        """Shares of the people, n_j / n."""
        return np.asarray(self.people / total(self.people))

    def mix(self, weights: Floats) -> Floats:
        """What a wrong mix of people adds, times D: nothing for the right one, the sizes."""
        return np.asarray(total(weights**2 / self.people) - 1 / total(self.people))


def intervals_of(estimates: Sequence[Estimate]) -> tuple[ScoreInterval, ...] | None:
    """The estimates' own intervals, where all of them know their noise."""
    own = [e._interval for e in estimates if isinstance(e._interval, ScoreInterval)]
    return tuple(own) if len(own) == len(estimates) else None


def total(each: Floats) -> Floats:
    """Sum over the groups, or the values, of each row."""
    return np.asarray(np.add.reduce(each, axis=-1, keepdims=True))


def summed(weights: Floats, table: Floats) -> Floats:
    """Σ_j ω_j t_j over the groups of each row."""
    return np.asarray((weights[..., None, :] @ table)[..., 0, :])
