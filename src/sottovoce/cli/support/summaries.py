"""What ``sottovoce estimate`` can add: bins, quantiles, mean scores, errors for a population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ...errors import EstimateError, ParameterError
from . import parse
from .command import gather, show_rows
from .numbers import IntRange
from .options import together

if TYPE_CHECKING:
    from rich.console import Console

    from ...contract.aggregate import Aggregate
    from ...contract.collection import Collection
    from ...estimate.estimate import Estimate
    from ...estimate.ordered import Quantile


@dataclass(frozen=True)
class Summaries:
    """The options below, as given."""

    bins: str | None
    quantiles: str | None
    scores: str | None
    for_population: bool
    population_size: int | None

    def estimate(
        self, collection: Collection, counts: Aggregate, names: tuple[str, ...], method: str | None
    ) -> Estimate:
        """The estimate, over these bins, and with errors for the population."""
        estimate: Estimate
        if self.bins is None:
            shown = method or collection.shown_method
            estimate = collection.marginal(counts, names, method=shown)
        else:
            estimate = _histogram(collection, counts, method, self._bins(), "--bins")
        if self.for_population or self.population_size is not None:
            estimate = estimate.for_population(self.population_size)
        return estimate

    def mean(self, estimate: Estimate) -> Estimate | None:
        """The mean score; its errors are those of the estimate."""
        if self.scores is None:
            return None
        hint = "give numbers in the order of the values, such as 1,2,3, or by name: yes=1,no=0"
        scores = parse.prior_from(self.scores, "--scores", hint)
        return estimate.mean([scores] if isinstance(scores, float) else scores)

    def quantile_list(
        self, collection: Collection, counts: Aggregate, estimate: Estimate, confidence: float
    ) -> list[Quantile]:
        """The quantiles asked for; of a number from its distribution, whatever is shown."""
        if self.quantiles is None:
            return []
        fractions = parse.numbers_from(self.quantiles, "--quantiles")
        if not estimate.fractions:
            estimate = _histogram(collection, counts, None, None, "--quantiles")
        return [estimate.quantile(q, confidence=confidence) for q in fractions]

    def hint(self, collection: Collection, estimate: Estimate) -> str:
        """What else the reports on a number have; empty where it was asked for or is not there."""
        from ...mechanisms.numeric import NumericMechanism

        if estimate.fractions or self.quantiles or not isinstance(collection, NumericMechanism):
            return ""
        if "distribution" not in collection.methods:
            return ""
        return "More from the same reports: --bins 8, --quantiles 0.5"

    def _bins(self) -> int | list[float]:
        edges = parse.numbers_from(self.bins or "", "--bins")
        return int(edges[0]) if len(edges) == 1 and edges[0].is_integer() else edges


#: --bins, --quantiles, --scores, --for-population and --population-size.
summary_options = together(
    click.option(
        "--bins",
        metavar="N|A,B,…",
        help="For numbers: the distribution over so many equal bins, or between edges.",
    ),
    click.option(
        "--quantiles",
        metavar="Q[,Q,…]",
        help="Also show quantiles of numbers or ordered values: 0.5 is the median.",
    ),
    click.option(
        "--scores",
        metavar="S,S,…",
        help="Also show the mean of these scores: 1,2,3 in the order of the values, or "
        "yes=1,no=0; values without a score are left out.",
    ),
    click.option(
        "--for-population",
        is_flag=True,
        help="Add the sampling error, if these people are a random sample.",
    ),
    click.option(
        "--population-size",
        type=IntRange(1),
        metavar="N",
        help="The same, for a population of N people.",
    ),
    gather("summaries", Summaries),
)


def summary_json(mean: Estimate | None, quantiles: list[Quantile], confidence: float) -> Any:
    """Plain data, for JSON; empty where nothing was asked for."""
    more: dict[str, Any] = {}
    if mean is not None:
        more["mean"] = mean.rows(confidence)[0]
    if quantiles:
        more["quantiles"] = [quantile._asdict() for quantile in quantiles]
    return more


def show_summaries(
    out: Console, mean: Estimate | None, quantiles: list[Quantile], confidence: float
) -> None:
    """A line for the mean score and for each quantile."""
    rows = [(one.name, one.value, one.low, one.high) for one in quantiles]
    if mean is not None:
        row = mean.rows(confidence)[0]
        rows.insert(0, ("mean", row["estimate"], row["low"], row["high"]))
    if not rows:
        return
    from ...estimate.ordered import shown_digits

    out.print()
    cells = []
    for name, *ends in rows:
        value, low, high = shown_digits(*ends)
        cells.append([name, value, low if low == high else f"{low} to {high}"])
    show_rows(out, ["", "estimate", f"{100 * confidence:g} % interval"], cells)


def _histogram(
    collection: Collection,
    counts: Aggregate,
    method: str | None,
    bins: int | list[float] | None,
    option: str,
) -> Estimate:
    from ...mechanisms.numeric import NumericMechanism

    if not isinstance(collection, NumericMechanism):
        raise ParameterError(
            f"{option} needs the distribution of a number, reported by everyone at one epsilon; "
            f"{collection.name!r} is {collection.words}"
        )
    if method not in (None, "distribution"):
        raise EstimateError(f"{option} belongs to --method distribution, not to {method!r}")
    return collection.estimate(counts, method="distribution", bins=bins)
