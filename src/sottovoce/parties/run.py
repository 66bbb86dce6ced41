"""The result of a run between parties, and what can be said before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ..contract.aggregate import Aggregate
from ..errors import EstimateError
from ..estimate.table import Table
from ..promise import Guarantee
from ..transport import Cost, Role, Views
from .receipts import Receipt


@dataclass(frozen=True, eq=False)
class Run:
    """A run that gave a result.

    Attributes
    ----------
    estimates : tuple of Table
        One labelled table for each marginal, in order.
    aggregates : tuple of Aggregate
        The opened sums, one for each release, with their noise and what they cost.
    guarantee : Guarantee
        One promise for each party, with what the whole run spent.
    costs : mapping of Role to Cost
        What every role sent; empty where roles ran on different machines.
    views : Views, optional
        What every role saw; None where roles ran on different machines.
    refused : tuple of str
        Messages that were refused, and why.
    dropped : tuple of str
        Parties that are not in the sums; their budget is spent all the same.
    receipt : Receipt, optional
        What every party got from the curator.
    """

    estimates: tuple[Table, ...]
    aggregates: tuple[Aggregate, ...]
    guarantee: Guarantee
    costs: Mapping[Role, Cost] = field(default_factory=lambda: MappingProxyType({}))
    views: Views | None = None
    refused: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    receipt: Receipt | None = None

    @property
    def estimate(self) -> Table:
        """The only table; refused where the run has several."""
        if len(self.estimates) != 1:
            names = ", ".join(repr(table.name) for table in self.estimates)
            raise EstimateError(
                f"this run estimated {len(self.estimates)} tables ({names}); take one of .estimates"
            )
        return self.estimates[0]


@dataclass(frozen=True)
class Plan:
    """What a run will cost and how precise it will be; nothing is spent to know it.

    Attributes
    ----------
    spent : mapping of str to float
        ε of every party, rounded up.
    standard_errors : tuple of float
        For each marginal, of one unbiased fraction; NaN where no release gives one directly, or
        the number of rows is not known.
    releases : tuple of str
        The sums that are opened, in words.
    bytes, rounds : int
        What all roles send together, and in how many rounds of messages.
    """

    spent: Mapping[str, float]
    standard_errors: tuple[float, ...]
    releases: tuple[str, ...]
    bytes: int
    rounds: int
