"""Hadamard response where only some values are counted.

Counts      a_v and d_v of the reports in the block of v that agree and disagree with v: r & j has
            even or odd parity. Every chosen value of a block takes one step for 64 of its reports,
            without a table of the outputs, of which there may be 2^32; many values of a smaller
            domain are counted faster by the transform of all outputs
Estimate    f̂_v = κ (a_v − d_v) / n, the same number as from all counts
Variance    n Var f̂_v = κ² P(block of v) − f_v, with the fraction of reports in the block,
            (a_v + d_v) / n, for its probability
Covariance  not known: within a block it depends on the fraction of a third value, which need not
            have been counted
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..contract.aggregate import Aggregate
from ..contract.reports import Reports
from ..errors import EstimateError, WireError
from ..estimate.intervals import Floats, ScoreInterval
from ..parallel import over_ranges
from .hadamard import HadamardResponse
from .linear import LinearMechanism

_MOST_OUTPUTS = 1 << 26  # half a gigabyte of counts
_PARITIES_PER_STEP = 16  # parities that take as long as one step of the transform, measured


class HadamardCandidates(HadamardResponse):
    """What `HadamardResponse.restricted` returns; not constructed otherwise."""

    table: ClassVar[str] = "agreement"
    counts_chosen: ClassVar[bool] = True

    @classmethod
    def of(cls, mechanism: HadamardResponse, candidates: NDArray[np.int64]) -> HadamardCandidates:
        """The same mechanism for the values at these positions."""
        view = object.__new__(cls)
        view.__dict__.update(mechanism.__dict__, candidates=candidates)
        return view

    @property
    def counters(self) -> int:
        return 2 * self._positions.size

    @property
    def marks_per_report(self) -> None:
        return None

    @property
    def knows_covariance(self) -> bool:
        return False

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """How many reports agree with each value, then how many disagree."""
        self.check(reports.columns)
        own, columns = self._block, self._column.astype(np.uint32)
        counts = np.zeros((2, own.size), np.int64)
        direct = len(reports) * own.size / self.blocks / _PARITIES_PER_STEP
        if self.cells <= _MOST_OUTPUTS and direct > self.cells * math.log2(self.block_size):
            table = super().tally(reports).reshape(self.blocks, self.block_size)
            kernels.count.walsh_hadamard(table)
            sums, gaps = table[own, 0], table[own, columns]  # column 0 has all reports of a block
            counts[:] = (sums + gaps) // 2, (sums - gaps) // 2
            return counts.reshape(-1)
        r, starts = reports.columns["y"].astype(np.uint32), [0, len(reports)]
        if self.blocks > 1:
            block = (r // np.uint32(self.block_size)).astype(np.uint16)
            starts = [0, *np.cumsum(kernels.count.histogram(block, self.blocks)).tolist()]
            # Sorting small integers takes linear time. The high bits are the same for a block.
            r = r[np.argsort(block, kind="stable")] % np.uint32(self.block_size)
        for b in np.unique(own).tolist():
            some, mine = r[starts[b] : starts[b + 1]], np.flatnonzero(own == b)
            counts[1, mine] = _odd(some, columns[mine])
            counts[0, mine] = some.size - counts[1, mine]
        return counts.reshape(-1)

    tally_by = LinearMechanism.tally_by
    debias_rows = LinearMechanism.debias_rows
    variance_rows = LinearMechanism.variance_rows

    def _pair(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Row 0 agrees, row 1 disagrees."""
        return counts.reshape(2, -1)

    def _check_counts(self, aggregate: Aggregate) -> None:
        super()._check_counts(aggregate)
        in_block = self._pair(aggregate.dense(self.table)).sum(axis=0)
        _, first, which = np.unique(self._block, return_index=True, return_inverse=True)
        blocks = in_block[first]
        whole = int(blocks.sum()) if blocks.max() <= aggregate.reports else aggregate.reports + 1
        if (in_block != blocks[which]).any() or not (
            whole == aggregate.reports if first.size == self.blocks else whole <= aggregate.reports
        ):
            raise WireError("values of one block have different numbers of reports in it")

    def debias(self, counts: NDArray[Any], n: float) -> Floats:
        agree, disagree = self._pair(counts)
        return np.asarray((agree - disagree) / (n * float(self._gap)))

    def spread(self, values: Floats, counts: NDArray[np.int64], n: int) -> Floats:
        block = np.ones(values.size)
        if self.blocks > 1:
            own, other = self._in_block
            block = np.clip((self._pair(counts).sum(axis=0) / n - other) / (own - other), 0, 1)
        return np.asarray((self._square(block) - np.clip(values, 0, block)) / n)

    def score_interval(self, values: Floats, counts: NDArray[np.int64], n: int) -> ScoreInterval:
        square = self._square(self._most_in_block(self._pair(counts).sum(axis=0), n))
        return ScoreInterval(values, square / n, -1 / n, step=0.5 / (n * float(self._gap)))

    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        raise EstimateError(
            "the noise of chosen values depends on how many other answers their block has; ask the "
            "mechanism over all values for variances"
        )

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        return self.variance(frequencies, n)


def _odd(reports: NDArray[np.uint32], columns: NDArray[np.uint32]) -> NDArray[np.int64]:
    """How many reports have odd parity against each column."""
    counts = np.zeros(columns.size, np.int64)

    def some(part: slice) -> None:
        kernels.count.odd_parities(reports, columns[part], counts[part])

    whole = kernels.count.replaced("odd_parities")
    over_ranges(some, columns.size, work=0 if whole else reports.size * columns.size // 16)
    return counts
