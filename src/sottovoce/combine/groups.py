"""Groups of people, each with an unbiased estimate of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..estimate import Estimate, Floats

_TINY = 1e-300


@dataclass(frozen=True)
class Groups:
    """What the weights need to know of the groups.

    Attributes
    ----------
    values : ndarray of shape (groups, values)
        Unbiased estimates.
    variance : ndarray of the same shape
        Their noise.
    people, reports : ndarray
        How many people each group has, and how many of them reported.
    scatter : float
        D, the variance of one person's answer, total over the values.
    """

    values: Floats
    variance: Floats
    people: Floats
    reports: Floats
    scatter: float

    @classmethod
    def of(
        cls,
        values: Floats,
        variance: Floats,
        people: Floats,
        reports: Floats,
        answers_vary: Floats | None = None,
    ) -> Self:
        """Groups with the scatter that they show; that of numbers must be told."""
        sizes = people / people.sum()
        if answers_vary is None:
            common = sizes @ values
            squared = float(common @ common) - float((sizes**2 @ variance).sum())
            scatter = min(max(1 - squared, 0.0), 1 - 1 / values.shape[1])
        else:
            scatter = max(float(sizes @ answers_vary), 0.0)
        return cls(values, variance, people, reports, scatter)

    @classmethod
    def of_estimates(cls, given: Sequence[Estimate]) -> Self:
        """The groups of several estimates."""
        vary = None if given[0].shares else np.array([e.answer_variance or 0.0 for e in given])
        return cls.of(
            np.array([e.values for e in given]),
            np.array([e.variance for e in given]),
            np.array([e.n for e in given], float),
            np.array([e.n if e.reports is None else e.reports for e in given], float),
            vary,
        )

    @property
    def noise(self) -> Floats:
        """Total noise of each group's estimate, V_j / n_j."""
        return np.asarray(np.maximum(self.variance.sum(axis=1), _TINY))

    @property
    def sizes(self) -> Floats:
        """Shares of the people, n_j / n."""
        return np.asarray(self.people / self.people.sum())
