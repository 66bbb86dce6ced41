"""From opened sums to one table: the methods, by name.

Every method says which sums it needs (`releases`), and turns them into a table (`solve`). It sees
nothing but public parameters and the opened sums.

Rows split      sjs (default), mhst, mh, independent, product, sth, mm, sah
Columns split   pbs-gls (default), pbs, pbs-gaussian, mv, sav

`registry` has them by name; `evidence` and `bounds` say what the sums prove about the true table,
whatever the method made of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import EstimateError
from ...estimate.intervals import Floats
from ..design import Design
from ..releases import Release
from .evidence import Evidence, Margin, MarginInterval

Sums = Sequence[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Solved:
    """A table as a method found it.

    Attributes
    ----------
    values : ndarray
        Fractions in row-major order; what is released.
    raw : ndarray
        Unbiased fractions behind them, which intervals are around; NaN where there are none.
    variance : float
        Of each raw fraction; the mean where they differ.
    interval : callable
        From a confidence to an Interval of every cell; it must pickle.
    converged : bool
        False where an iteration stopped early.
    assuming : str
        What must be true for the values to be right, in words; empty where nothing must.
    evidence : Evidence
        What the sums say about cells, marginals and conditional fractions, whatever the data.
    """

    values: Floats
    raw: Floats
    variance: float
    interval: Any
    converged: bool = True
    assuming: str = ""
    evidence: Evidence | None = None

    @classmethod
    def of(
        cls,
        values: Floats,
        evidence: Evidence,
        shape: tuple[int, ...],
        *,
        converged: bool = True,
        assuming: str = "",
    ) -> Solved:
        """A table, with errors from the sums behind it."""
        margin = Margin.whole(shape)
        return cls(
            values=values,
            raw=evidence.fractions(margin),
            variance=float(evidence.variance(margin).mean()),
            interval=MarginInterval(evidence, margin),
            converged=converged,
            assuming=assuming,
            evidence=evidence,
        )


class Method(ABC):
    """How sums become a table.

    Attributes
    ----------
    name, source : str
        As in `method=…`, and where it comes from.
    biased : bool
        Whether the released values are biased.
    default_note : str
        For published methods that are wrong or dominated: why, in one line; empty otherwise.
    """

    name: str
    source: str
    biased: bool = True
    default_note: str = ""

    @abstractmethod
    def releases(self, design: Design) -> tuple[Release, ...]:
        """The sums that have to be opened; together they cost no party more than its budget."""

    @abstractmethod
    def solve(self, design: Design, sums: Sums) -> Solved:
        """The table, from the opened sums in the order of `releases`.

        `design.summed` are the parties that are really in the sums.
        """

    def spent(self, design: Design) -> dict[str, Fraction]:
        """ε that the releases cost each party's people, exactly or rounded up."""
        opened = self.releases(design)
        return {
            party: sum((r.cost(party, design.neighbours) for r in opened), Fraction(0))
            for party in design.parties
        }

    def deltas(self, design: Design) -> dict[str, Fraction]:
        """δ that the releases cost each party's people; 0 for Laplace noise."""
        opened = self.releases(design)
        return {
            party: sum((r.delta for r in opened if party in r.weights), Fraction(0))
            for party in design.parties
        }

    def opened(self, design: Design, sums: Sums) -> dict[str, Floats]:
        """The sums by the name of their release, as floating-point numbers.

        After a drop-out some releases have nobody left; `sums` may contain them or not.
        """
        releases = self.releases(design)
        every = self.releases(design.of(design.parties))
        for candidates in (releases, every):
            if [r.cells for r in candidates] == [np.size(table) for table in sums]:
                names = {r.name for r in releases}
                return {
                    r.name: np.asarray(table, float).reshape(-1)
                    for r, table in zip(candidates, sums, strict=True)
                    if r.name in names
                }
        raise EstimateError(
            f"the opened sums have {[np.size(table) for table in sums]} cells; {self.name} needs "
            f"{[r.cells for r in releases]}"
        )
