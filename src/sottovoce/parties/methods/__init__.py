"""From opened sums to one table: the methods, by name.

Every method says which sums it needs (`releases`), and turns them into a table (`solve`). It sees
nothing but public parameters and the opened sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...estimate.intervals import Floats
from ..design import Design
from ..releases import Release

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
        Of each raw fraction.
    interval : callable
        From a confidence to an Interval of every cell; it must pickle.
    converged : bool
        False where an iteration stopped early.
    assuming : str
        What must be true for the values to be right, in words; empty where nothing must.
    """

    values: Floats
    raw: Floats
    variance: float
    interval: Any
    converged: bool = True
    assuming: str = ""


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
