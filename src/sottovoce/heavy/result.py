"""The frequent texts of a collection, as an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import EstimateError
from ..estimate.estimate import Estimate
from ..estimate.intervals import normal_quantile
from ..estimate.simultaneous import Simultaneous
from .search import Depth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEPTHS_DRAWN = "every device drew its depth at random, whatever the text"


@dataclass(frozen=True, eq=False, repr=False)
class FrequentTexts(Estimate):
    """Texts that people hold, by falling fractions; the remaining fraction is of unknown texts.

    An `Estimate` whose labels were found in the data. Its intervals hold for all texts that were
    examined at the last depth at once, listed or not, so that having been selected does not
    invalidate them. The values themselves are marked as biased: a text is listed because its
    estimate is large, so that those of the rarest listed texts are too high on average.

    Attributes
    ----------
    depths : tuple of Depth
        For each depth of the tree: length of prefixes, people, candidates examined, and how many
        of them were kept.
    confidence : float
        With which the list was made.
    """

    selected = True

    depths: tuple[Depth, ...] = ()
    confidence: float = 0.95

    @property
    def false_positive_rate(self) -> float:
        """A bound on the probability that any listed text is held by nobody."""
        return (1 - self.confidence) / 2

    def simultaneous(self, confidence: float = 0.95) -> Simultaneous:
        """Every interval has this confidence for all candidates of the last depth together."""
        normal_quantile(confidence)  # refuses an invalid one
        return Simultaneous(confidence, "Bonferroni over every text examined")

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Bars with intervals; refused where no text was frequent enough to be listed."""
        if not self.labels:
            raise EstimateError("no text was frequent enough to be listed, so there is no picture")
        return super().plot(ax, **options)

    def for_population(self, size: int | None = None) -> Estimate:
        """Refused: the intervals hold for a population, too, and need no change."""
        raise EstimateError(
            "the intervals of frequent texts already hold for a population of which the people "
            "are a random sample; use them as they are"
        )
