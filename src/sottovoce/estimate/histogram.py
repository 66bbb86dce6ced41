"""The estimated distribution of a number, over bins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..errors import EstimateError
from .estimate import Estimate
from .intervals import Floats
from .ordered import Quantile, Scores
from .population import about_population
from .quantiles import RangeQuantiles


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(Estimate):
    """Fractions of people whose number lies in each bin, and quantiles of the numbers.

    Its errors and intervals come from the likelihood of independent reports. They hold for the
    people who reported, and for a population of which these are a random sample.

    Attributes
    ----------
    edges : ndarray
        Edges of the bins, in the units of the question.
    quantiles : RangeQuantiles
        Computes quantiles from the reports themselves, whatever the bins are.
    """

    picture: ClassVar[str] = "histogram"

    edges: Floats = field(default_factory=lambda: np.array([0.0, 1.0]))
    quantiles: RangeQuantiles | None = field(default=None, repr=False)

    def quantile(self, q: float, *, confidence: float = 0.95) -> Quantile:
        """The number that a fraction q of people does not exceed, with its interval.

        Parameters
        ----------
        q : float
            Between 0 and 1; 0.5 is the median.
        confidence : float
            Of the interval.
        """
        if self.quantiles is None:
            raise EstimateError("this histogram has lost its reports, so it has no quantiles")
        return self.quantiles(q, confidence)

    def mean(self, scores: Scores | None = None) -> Estimate:
        """Refused: the mean is estimated from the reports without bias, not from bins."""
        raise EstimateError(
            "the mean of a number is estimated from its reports without bias, not from bins; "
            "estimate with method='unbiased'"
        )

    def for_population(self, size: int | None = None) -> Estimate:
        """The same: errors and intervals allow for the sampling of people already."""
        return replace(self, **about_population(self, size))
