"""Hadamard response where only some values are counted.

Counts      a_v and d_v of the reports in the block of v that agree and disagree with v: r & j has
            even or odd parity. Every chosen value of a block takes one step for 64 of its reports,
            without a table of the outputs, of which there may be 2^32; many values of a smaller
            domain are counted faster by the transform of all outputs
Estimate    f̂_v = κ (a_v − d_v) / n, the same number as from all counts
Variance    n Var f̂_v = κ² P(block of v) − f_v, with the fraction of reports in the block,
            (a_v + d_v) / n, for its probability
Covariance  within a block n Cov(f̂_u, f̂_v) = κ f_w for the value w with j_w = j_u xor j_v, 0 if
            there is none; between blocks 0. Values w that were not chosen are counted as well, in
            a second table, where at most 1,024 pairs of chosen values have a block in common: d_w
            is enough of them, since a block's reports are known from its chosen values. With more
            pairs, and under levels and rates, the covariance is not known
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
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
from .linear import LinearMechanism, Size

THIRDS = "thirds"  # the table's name is stored, so it never changes
_MOST_PAIRS = 1024  # more would be most of the time that counting takes
_MOST_OUTPUTS = 1 << 26  # half a gigabyte of counts
_PARITIES_PER_STEP = 16  # parities that take as long as one step of the transform, measured


class HadamardCandidates(HadamardResponse):
    """What `HadamardResponse.restricted` returns; not constructed otherwise."""

    table: ClassVar[str] = "agreement"
    counts_chosen: ClassVar[bool] = True
    counted_by = frozenset({"odd_parities"})

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
        return False  # from the counts of the chosen values alone

    @cached_property
    def _thirds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Blocks and columns of the values that only covariances need; None if too many."""
        block, column = self._block, self._column
        many = np.bincount(block, minlength=self.blocks)
        if (many * (many - 1)).sum() > 2 * _MOST_PAIRS:
            return None
        u, v = np.nonzero(np.triu(block[:, None] == block, 1))
        keys = block[u] * self.block_size + (column[u] ^ column[v])
        block, column = np.divmod(
            np.setdiff1d(keys, block * self.block_size + column), self.block_size
        )
        there = (column - 1) * self.blocks + block < self.domain.size
        return block[there], column[there]

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """How many reports agree with each value, then how many disagree."""
        in_block, odd = self._parities(reports, self._block, self._column)
        return np.concatenate([in_block - odd, odd])

    def count(self, reports: Reports) -> Mapping[str, NDArray[np.int64]]:
        self._refuse_counters()
        if self._thirds is None or not self._thirds[0].size:
            return {self.table: self.tally(reports)}
        own = zip((self._block, self._column), self._thirds, strict=True)
        in_block, odd = self._parities(reports, *(np.concatenate(both) for both in own))
        many = self._positions.size
        agreement = np.concatenate([in_block[:many] - odd[:many], odd[:many]])
        return {self.table: agreement, THIRDS: odd[many:]}

    def _parities(
        self, reports: Reports, own: NDArray[np.int64], column: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each value, by block and column: reports in the block, and those that disagree."""
        self.check(reports.columns)
        columns = column.astype(np.uint32)
        direct = len(reports) * own.size / self.blocks / _PARITIES_PER_STEP
        if self.cells <= _MOST_OUTPUTS and direct > self.cells * math.log2(self.block_size):
            table = super().tally(reports).reshape(self.blocks, self.block_size)
            kernels.count.walsh_hadamard(table)
            sums = table[own, 0]  # column 0 has all reports of a block
            return sums, (sums - table[own, columns]) // 2
        r, starts = reports.columns["y"].astype(np.uint32), [0, len(reports)]
        if self.blocks > 1:
            block = (r // np.uint32(self.block_size)).astype(np.uint16)
            starts = [0, *np.cumsum(kernels.count.histogram(block, self.blocks)).tolist()]
            # Sorting small integers takes linear time. The high bits are the same for a block.
            r = r[np.argsort(block, kind="stable")] % np.uint32(self.block_size)
        odd = np.zeros(own.size, np.int64)
        for b in np.unique(own).tolist():
            mine = np.flatnonzero(own == b)
            odd[mine] = _odd(r[starts[b] : starts[b + 1]], columns[mine])
        return np.diff(starts)[own], odd

    tally_by = LinearMechanism.tally_by
    debias_rows = LinearMechanism.debias_rows
    variance_rows = LinearMechanism.variance_rows

    def _pair(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Row 0 agrees, row 1 disagrees."""
        return counts.reshape(2, -1)

    def _check_counts(self, aggregate: Aggregate) -> None:
        tables = dict(aggregate.tables)
        odd = tables.pop(THIRDS, None)
        super()._check_counts(replace(aggregate, tables=tables))
        in_block = self._pair(aggregate.dense(self.table)).sum(axis=0)
        _, first, which = np.unique(self._block, return_index=True, return_inverse=True)
        blocks = in_block[first]
        whole = int(blocks.sum()) if blocks.max() <= aggregate.reports else aggregate.reports + 1
        if (in_block != blocks[which]).any() or not (
            whole == aggregate.reports if first.size == self.blocks else whole <= aggregate.reports
        ):
            raise WireError("values of one block have different numbers of reports in it")
        if odd is not None:
            most = None if self._thirds is None else self._of_block(in_block)[self._thirds[0]]
            if most is None or not isinstance(odd, np.ndarray) or odd.shape != most.shape:
                raise WireError(f"{THIRDS!r} has not one count for each value of a covariance")
            if (odd < 0).any() or (odd > most).any():
                raise WireError(f"a count of {THIRDS!r} lies outside what its block allows")

    def _of_block(self, in_block: NDArray[np.int64]) -> NDArray[np.int64]:
        """Reports in every block, 0 for those without chosen values."""
        reports = np.zeros(self.blocks, np.int64)
        reports[self._block] = in_block
        return reports

    def covariance_behind(
        self, values: Floats, aggregate: Aggregate
    ) -> Callable[[], Floats] | None:
        if self._thirds is None or (self._thirds[0].size and THIRDS not in aggregate.tables):
            return None
        return partial(self._covariance, values, aggregate)

    def _covariance(self, values: Floats, aggregate: Aggregate) -> Floats:
        n, counts, scale = aggregate.reports, aggregate.dense(self.table), float(self._gap)
        block, column = self._block, self._column
        keys, fractions = block * self.block_size + column, values
        if self._thirds is not None and self._thirds[0].size:
            own, other = self._thirds
            reports = self._of_block(self._pair(counts).sum(axis=0))[own]
            thirds = (reports - 2 * aggregate.dense(THIRDS)) / (n * scale)
            keys = np.concatenate([keys, own * self.block_size + other])
            fractions = np.concatenate([values, thirds])
        order = np.argsort(keys)
        wanted = block[:, None] * self.block_size + (column[:, None] ^ column)
        at = order[np.searchsorted(keys, wanted, sorter=order) % keys.size]
        shared = (block[:, None] == block) & (keys[at] == wanted)
        matrix: Floats = np.where(shared, fractions[at], 0.0) / (n * scale)
        np.fill_diagonal(matrix, self.spread(values, counts, n))
        return matrix

    def debias(self, counts: NDArray[Any], n: float) -> Floats:
        agree, disagree = self._pair(counts)
        return np.asarray((agree - disagree) / (n * float(self._gap)))

    def spread(self, values: Floats, counts: NDArray[np.int64], n: int) -> Floats:
        return self._spread(values, self._pair(counts).sum(axis=0), n)

    def score_interval(self, values: Floats, counts: NDArray[Any], n: Size) -> ScoreInterval:
        in_block = counts.reshape(*counts.shape[:-1], 2, -1).sum(axis=-2)
        square = self._square(self._most_in_block(in_block, n))
        return self._block_interval(values, square, n)

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
