"""The public parameters of one marginal between parties, which methods and protocols share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ..errors import ParameterError
from ..promise import Neighbours


@dataclass(frozen=True)
class Design:
    """One marginal: its axes, who takes part with which budget, and whom they need not trust.

    Attributes
    ----------
    shape : tuple of int
        Sizes of the axes. Where columns are split, axis k is all attributes of party k as one.
    budgets : mapping of str to Fraction
        ε of each party for this marginal, in the order of the study.
    collusion : int
        How many parties may work with the curator.
    dropouts : int
        How many parties may be missing from the sum.
    neighbours : Neighbours
        SUBSTITUTION or ADD_REMOVE.
    rows : mapping of str to int, optional
        How many rows each party has, where that is public: n_k, or n for every party where columns
        are split.
    present : tuple of str, optional
        Who is in the sum; everyone by default.
    oblivious : bool
        Whether nobody knows any part of the noise (`oblivious`), so that one noise is enough.
    """

    shape: tuple[int, ...]
    budgets: Mapping[str, Fraction]
    collusion: int
    dropouts: int = 0
    neighbours: Neighbours = Neighbours.SUBSTITUTION
    rows: Mapping[str, int] | None = None
    present: tuple[str, ...] | None = None
    oblivious: bool = False

    def __post_init__(self) -> None:
        parties = len(self.budgets)
        if parties < 2:
            raise ParameterError(f"there is {parties} party; sums are between at least 2")
        if not 1 <= self.collusion <= parties - 1:
            raise ParameterError(
                f"collusion is {self.collusion!r}; it must be from 1 to {parties - 1}: whoever "
                "sees the result can subtract their own noise, so at least one is always assumed"
            )
        if self.dropouts < 0 or self.collusion + self.dropouts > parties - 1:
            raise ParameterError(
                f"{self.collusion} parties may collude and {self.dropouts} drop out of {parties}; "
                "at least one must remain whose noise protects everyone"
            )

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in the order of the study."""
        return tuple(self.budgets)

    @property
    def summed(self) -> tuple[str, ...]:
        """The parties whose counts and noise are in the sum."""
        return self.parties if self.present is None else self.present

    @property
    def cells(self) -> int:
        """L, the number of cells."""
        return math.prod(self.shape)

    @property
    def honest(self) -> int:
        """K − t, with t the parties that may collude or be missing; K where noise is oblivious."""
        if self.oblivious:
            return len(self.budgets)
        return len(self.budgets) - self.collusion - self.dropouts

    @property
    def total(self) -> int:
        """N, where the numbers of rows are public."""
        if self.rows is None:
            raise ParameterError("the numbers of rows are not public in this design")
        return sum(self.rows[party] for party in self.summed)

    def of(self, present: Sequence[str]) -> Design:
        """The same after some parties dropped out."""
        return replace(self, present=tuple(party for party in self.parties if party in present))
