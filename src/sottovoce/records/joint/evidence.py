"""How much information records carry about an attribute, and about several together.

A bit that is set with ½ or q carries more information the further apart the two are: s reports of
an attribute give its fractions a standard error of about ½ / √(s (½ − q)²), those of several
attributes together ½ / √(s Π (½ − q_a)²). Where this exceeds ¼ a 95 % interval covers everything,
and an iteration that hardly leaves its start would look certain.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...contract.sparse import Sparse
from ...errors import EstimateError
from ..levels import people_by_level
from .groups import Content, flips_of

if TYPE_CHECKING:
    from ..records import Records

LEAST = 4.0  # s Π (½ − q)²
_FEW_TOGETHER = 200
_SURE = 2.0  # standard errors


#: What a table of people who report different attributes assumes.
ALIKE = "people who report fewer of these attributes answer like those who report more"
#: What a table of people at several levels assumes.
ALIKE_LEVELS = "people who chose different levels answer alike"
#: The same where every attribute's own distribution is estimated by strata.
ALIKE_TOGETHER = (
    "the answers of people who report fewer of these attributes are associated like those of "
    "people who report more"
)
INTERVALS = (
    "95 % intervals are approximate: they come from a bootstrap, which does not show how far the "
    "model itself is from the truth; the default's are widened for that, and contained about 98 % "
    "of the cells of three real data sets, fewer where attributes depend strongly and reports "
    "carry little information about it"
)
#: The same for methods whose intervals are not widened.
PLAIN_INTERVALS = (
    "95 % intervals are approximate: they come from a bootstrap, which does not show how far the "
    "model itself is from the truth, and of few records or rare answers they contain it less often"
)


class FewTogetherWarning(UserWarning):
    """The records carry hardly any information about two attributes together."""


class UnlikeWarning(UserWarning):
    """People who report fewer attributes answer differently, contrary to what a table assumes."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Which attributes were reported together, and how far their bits are from pure noise."""

    names: list[str]
    sets: NDArray[np.bool_]  # the sets of attributes that people reported, sets × attributes
    counts: NDArray[np.int64]  # how many people each
    #: The mean (½ − q)² of each attribute's reports, rather too small where it is estimated.
    squares: NDArray[np.float64]
    #: Whether every attribute's own distribution is estimated by strata of the reported sets.
    stratified: bool = False
    levels: bool = False  # whether people chose from several levels

    def together(self, asked: Sequence[int]) -> int:
        """How many records report all of these attributes."""
        return int(self.counts[self.sets[:, list(asked)].all(axis=1)].sum())

    def some(self, asked: Sequence[int]) -> int:
        """How many records report any of these attributes."""
        return int(self.counts[self.sets[:, list(asked)].any(axis=1)].sum())

    def enough(self, asked: Sequence[int]) -> bool:
        """Whether the reports of all these attributes carry enough information."""
        return bool(self.together(asked) * np.prod(self.squares[list(asked)]) >= LEAST)

    def check(self, asked: Sequence[int]) -> None:
        """Refuse attributes that nobody reported, or too few with too small budgets."""
        for a in asked:
            if not self.together([a]):
                raise EstimateError(f"nobody reported {self.names[a]!r}")
            if not self.enough([a]):
                raise EstimateError(
                    f"the bits of {self.names[a]!r} are almost pure noise: its epsilons are too "
                    f"small for {self.together([a]):,} records; ask more people or for larger "
                    "epsilons"
                )

    def warn(self, asked: Sequence[int]) -> None:
        """Warn about pairs for which the table is hardly more than a guess."""
        faint = [
            pair
            for pair in combinations(asked, 2)
            if 0 < self.together(pair) < _FEW_TOGETHER
            or (self.together(pair) and not self.enough(pair))
        ]
        if not faint:
            return
        listed = ", ".join(
            f"{self.names[a]!r} and {self.names[b]!r} ({self.together((a, b)):,})" for a, b in faint
        )
        warnings.warn(
            f"few records for their epsilons report both {listed}; for such a pair the table is "
            "hardly more than a guess",
            FewTogetherWarning,
            stacklevel=2,
        )

    def mixed(self, asked: Sequence[int]) -> bool:
        """Whether people who report any of these attributes report different ones of them."""
        here = self.sets[:, list(asked)]
        return len(np.unique(here[here.any(axis=1)], axis=0)) > 1

    def about(self, names: Sequence[str]) -> dict[str, Any]:
        """The reports and the assumptions of an estimate of these attributes."""
        asked = [self.names.index(name) for name in names]
        pairs = list(combinations(asked, 2))
        apart = [pair for pair in pairs if not self.together(pair)]
        faint = [pair for pair in pairs if self.together(pair) and not self.enough(pair)]
        assumed = []
        if self.mixed(asked):
            assumed.append(ALIKE_TOGETHER if self.stratified else ALIKE)
        if self.levels and not self.stratified:
            assumed.append(ALIKE_LEVELS)
        if apart:
            assumed.append(
                f"attributes that nobody reported together ({self._listed(apart)}) depend only "
                "through the others"
            )
        if faint:
            assumed.append(
                "attributes whose reports carry hardly any information about their association "
                f"({self._listed(faint)}) are associated as the table shows; its intervals take "
                "this for granted"
            )
        return {"reports": self.some(asked), "assuming": "; ".join([*assumed, INTERVALS])}

    def _listed(self, pairs: Sequence[tuple[int, int]]) -> str:
        return ", ".join(f"{self.names[a]!r} and {self.names[b]!r}" for a, b in pairs)


def evidence_of(records: Records, aggregate: Sparse) -> Evidence:
    """What an aggregate carries information about; kept for the next question."""
    if aggregate.n == 0:
        raise EstimateError("there are no records, so there is nothing to estimate")
    return _evidence(Content(records, aggregate))


@lru_cache(maxsize=8)
def _evidence(content: Content) -> Evidence:
    records, aggregate = content.records, content.aggregate
    columns = records.columns_of(aggregate.rows)
    many = len(records.schema)
    packed, where = np.unique(columns["reported"], axis=0, return_inverse=True)
    sets = np.unpackbits(packed, axis=1, bitorder="little")[:, :many].astype(bool)
    counts = np.bincount(where.ravel(), weights=aggregate.counts).astype(np.int64)
    squares = np.zeros(many)
    for a in range(many):
        rows = np.flatnonzero(sets[where.ravel(), a])
        weights = aggregate.counts[rows].astype(float)
        if not rows.size:
            continue
        if records.public:
            q = flips_of(columns["steps"][rows, a])
            squares[a] = np.average((0.5 - q) ** 2, weights=weights)
            continue
        start, size = int(records.starts[a]), int(records.sizes[a])
        ones = _ones(columns["bits"], rows, start, size)
        mean = float(np.average(ones, weights=weights))
        error = math.sqrt(np.average((ones - mean) ** 2, weights=weights) / weights.sum())
        # Estimated, so chance must not look like information.
        gap = 0.5 - (mean - 0.5 + _SURE * error) / (size - 1)
        squares[a] = max(gap, 0.0) ** 2
    present = int((people_by_level(records, columns, aggregate.counts)[1] > 0).sum())
    return Evidence(records.names, sets, counts, squares, levels=present > 1)


def _ones(
    packed: NDArray[np.uint8], rows: NDArray[np.intp], start: int, size: int
) -> NDArray[np.int64]:
    """How many of an attribute's bits each record sets."""
    first, last = start // 8, -(-(start + size) // 8)
    bits = np.unpackbits(packed[rows, first:last], axis=1, bitorder="little")
    inside = bits[:, start - 8 * first : start - 8 * first + size]
    return np.asarray(inside.sum(axis=1, dtype=np.int64))
