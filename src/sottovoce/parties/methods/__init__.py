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

import numpy as np
from numpy.typing import NDArray

from ...errors import EstimateError
from ...estimate.intervals import Floats, Interval
from ..design import Design
from ..releases import Release
from .evidence import Evidence, Margin

Sums = Sequence[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Solved:
    """A table as a method found it, and what the sums say about it whatever the data."""

    values: Floats  # fractions in row-major order; what is released
    evidence: Evidence
    shape: tuple[int, ...]
    converged: bool = True  # False where an iteration stopped early
    assuming: str = ""  # what must be true for the values to be right, in words

    @property
    def raw(self) -> Floats:
        """Unbiased fractions, which intervals are around; NaN where there are none."""
        return self.evidence.fractions(Margin.whole(self.shape))

    def interval(self, confidence: float) -> Interval:
        """An interval of every cell."""
        return self.evidence.interval(Margin.whole(self.shape), confidence)


class Method(ABC):
    """How sums become a table."""

    name: str  # as in `method=…`
    source: str  # where it comes from
    biased: bool = True  # whether the released values are biased

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
