"""What every estimate can be summed up to: a mean, quantiles, and errors for a population."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from .ordered import Quantile, Scores, category_quantile, scored_mean

if TYPE_CHECKING:
    from .estimate import Estimate


class Summaries:
    """Methods of `Estimate`."""

    def mean(self, scores: Scores | None = None) -> Estimate:
        """The mean score of people's answers, with its error; see `estimate.ordered`.

        Parameters
        ----------
        scores : sequence or mapping, optional
            A number for each value, in the order of `labels` or by label. Values that a mapping
            leaves out ("no answer") are left out of the mean. Without scores, the values themselves
            must be numbers.

        Notes
        -----
        That of a projected or otherwise biased estimate is the mean of the unbiased one behind it.
        """
        unbiased = cast("Estimate", self)._unbiased
        return replace(unbiased, **scored_mean(unbiased, scores))

    def quantile(self, q: float, *, confidence: float = 0.95) -> Quantile:
        """The first value in their declared order that a fraction q of people does not exceed.

        Parameters
        ----------
        q : float
            Between 0 and 1; 0.5 is the median.
        confidence : float
            Of the interval, which names the first and the last value it can be.
        """
        return category_quantile(cast("Estimate", self), q, confidence)

    def median(self, *, confidence: float = 0.95) -> Quantile:
        """The value in the middle, with its interval: `quantile` at 0.5."""
        return self.quantile(0.5, confidence=confidence)

    def for_population(self, size: int | None = None) -> Estimate:
        """The same estimate, with errors for the population that the people were drawn from.

        Standard errors otherwise measure the noise of privacy only. If the people asked are a
        simple random sample, another sample would have had other answers; this adds that error.

        Parameters
        ----------
        size : int, optional
            How many people the population has, those asked included; an unlimited one by default.
            If everyone was asked, nothing is added.

        Notes
        -----
        `sottovoce.stratified` does this for strata with known sizes. Formulas:
        `sottovoce.estimate.population`.
        """
        from .population import for_population

        return for_population(cast("Estimate", self), size)
