"""Hadamard response: short reports, and an estimate by one fast transform.

Outputs     B blocks of b (powers of two), K = B b; value x has block x mod B and column
            j = x div B + 1 < b, and its set C_x is {r in its block : r & j has even parity}
Channel     uniform on C_x (size b/2) with probability p = s e^ε / (s e^ε + K − s), s = b/2, else
            uniform outside it
Estimate    f̂_v = κ W_v / n, W the Walsh–Hadamard transform of each block's counts at column j,
            κ = 1 / (p − (1 − p) s / (K − s))
Covariance  a report scores ±κ for the values of its block and 0 elsewhere, so, exactly,
            n Var f̂_v = κ² P(block of v) − f_v; within a block n Cov(f̂_u, f̂_v) = κ f_w for the
            value w with j_w = j_u xor j_v (0 if there is none); between blocks 0
Guarantee   ε-LDP, tight; p is rounded down to a multiple of 2^-128

Acharya, Sun, Zhang 2019 (arXiv:1802.04705). Linear, not pure: the probability that another value is
supported depends on whether it is in the same block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..contract.aggregate import Aggregate
from ..contract.collection import Columns
from ..errors import ParameterError
from ..estimate.intervals import Floats, ScoreInterval
from .categorical import Drawing, SetResponse
from .channel import set_probability
from .linear import Size
from .mechanism import TOO_SMALL, Method
from .registry import register

_MOST_BLOCKS = 1 << 11  # 16 random bits then choose among the blocks with few rejections


@register("hadamard")
class HadamardResponse(SetResponse):
    """Report one of about 2d numbers; decoding takes n + d log d steps.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    epsilon : float
        Privacy parameter.

    Examples
    --------
    >>> m = HadamardResponse(1000, epsilon=2.0)
    >>> m.blocks, m.block_size
    (4, 256)
    """

    def validate(self) -> None:
        super().validate()
        if self._gap <= 0:
            raise ParameterError(TOO_SMALL.format(epsilon=self.epsilon))

    @cached_property
    def blocks(self) -> int:
        """B, how many blocks the outputs have."""
        return _blocks(self.epsilon, self.domain.size)

    @cached_property
    def block_size(self) -> int:
        """b, how many outputs a block has."""
        return _block_size(self.domain.size, self.blocks)

    @property
    def cells(self) -> int:
        return self.blocks * self.block_size

    @property
    def set_size(self) -> int:
        return self.block_size // 2

    @cached_property
    def _gap(self) -> Fraction:
        """1/κ: by how much a report in the block is likelier to agree with the answer."""
        return self.p - self.set_size * self.laws[1]

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "unbiased": Method("Acharya, Sun, Zhang 2019, section 5", biased=False),
            "mle": Method("maximum likelihood by EM, each step two fast transforms", biased=True),
        }

    @property
    def drawing(self) -> Drawing:
        bits = (self.blocks.bit_length() - 1, self.block_size.bit_length() - 1)
        return np.uint64, kernels.draw.hadamard_response, (*bits, *self.inside.words)

    def restricted(self, candidates: NDArray[np.int64] | None) -> HadamardResponse:
        from .hadamard_candidates import HadamardCandidates

        return self if candidates is None else HadamardCandidates.of(self, candidates)

    def debias(self, counts: NDArray[Any], n: float) -> Floats:
        table = counts.reshape(self.blocks, self.block_size).copy()
        kernels.count.walsh_hadamard(table)
        values: Floats = self._of_values(table) / (n * float(self._gap))
        return values

    def debias_rows(self, counts: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
        gaps = np.asarray(n * float(self._gap), float)
        return kernels.count.hadamard_values(counts, self.blocks, gaps, self.domain.size)

    def holders(self, frequencies: Floats) -> Floats:
        in_block, table = self._transformed(frequencies)
        return np.asarray((in_block + table) / 2).reshape(-1)

    def score_of(self, weights: Floats) -> Floats:
        return np.asarray(self._transformed(weights)[1].reshape(-1) / float(self._gap))

    def _transformed(self, frequencies: Floats) -> tuple[Floats, Floats]:
        """The sum of each block, and its transform."""
        table = np.zeros((self.blocks, self.block_size))
        table[self._block, self._column] = frequencies
        in_block = table.sum(axis=1, keepdims=True)
        kernels.count.walsh_hadamard(table)
        return in_block, table

    def support(self, counts: NDArray[Any]) -> NDArray[Any]:
        table = counts.reshape(self.blocks, self.block_size).copy()
        block = table.sum(axis=1, keepdims=True)
        kernels.count.walsh_hadamard(table)
        return self._of_values((block + table) / 2)

    def score_interval(self, values: Floats, counts: NDArray[Any], n: Size) -> ScoreInterval:
        # A report agrees with a value, disagrees, or lies in another block: steps of one.
        in_block = counts.reshape(*counts.shape[:-1], self.blocks, self.block_size).sum(axis=-1)
        square = self._square(self._most_in_block(in_block, n))
        square = np.tile(square, -(-self.domain.size // self.blocks))[..., : self.domain.size]
        return self._block_interval(values, square, n)

    def _block_interval(self, values: Floats, square: Floats, n: Size) -> ScoreInterval:
        # Whoever holds a value is in its block, where the square is then at least own / gap².
        own, other = self._in_block
        gap = float(self._gap)
        least = other / gap**2 / n, ((own - other) / gap**2 - 1) / n
        return ScoreInterval(values, square / n, -1 / n, step=0.5 / (n * gap), least=least)

    def _most_in_block(self, reports: NDArray[Any], n: Size) -> Floats:
        """An upper limit of the fraction of answers in a block, on which the noise depends.

        Whether a report lies in a block is a count of its own, with probability `own` for answers
        in the block and `other` for the rest.
        """
        if self.blocks == 1:
            return np.ones(reports.shape)
        own, other = self._in_block
        gap = own - other
        base, slope = other * (1 - other) / gap**2, (1 - own - other) / gap
        limit = ScoreInterval(
            (reports / n - other) / gap, base / n, slope / n, step=0.5 / (n * gap)
        )
        return np.clip(limit(0.95).high, 0, 1)

    @cached_property
    def _in_block(self) -> tuple[float, float]:
        """Probability that a report lies in the answer's own block, and in another one."""
        half = float(self.set_size * self.laws[1])
        return float(self.p) + half, 2 * half

    def spread(self, values: Floats, counts: NDArray[np.int64], n: int) -> Floats:
        in_block = counts.reshape(self.blocks, self.block_size).sum(axis=1)
        return self._spread(values, in_block[self._block], n)

    def _spread(self, values: Floats, in_block: NDArray[np.int64], n: int) -> Floats:
        """Variances by the reports in the block of each value: noisy values sum to anything."""
        _, other = self._in_block
        reports = np.maximum(in_block / n, other)
        noise = reports / float(self._gap) ** 2 - np.clip(values, 0, 1)
        return np.asarray(noise / n)

    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        f = np.asarray(frequencies, float)
        result: Floats = self.variance_rows(f[None])[0] / n
        return result

    def variance_rows(self, frequencies: Floats) -> Floats:
        """Noise of a value is κ² P(block of v) − f_v for each report.

        A noisy estimate need not be a distribution; it is corrected to one in each block, so that
        the plug-in variance is that of some distribution and never negative.
        """
        own, other = self._in_block
        return kernels.count.block_noise(frequencies, self.blocks, own, other, float(self._gap))

    def _square(self, block: Floats) -> Floats:
        """Mean square of a report's score for a value, by its block's fraction of the answers."""
        own, other = self._in_block
        square: Floats = (block * own + (1 - block) * other) / float(self._gap) ** 2
        return square

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        f = np.asarray(frequencies, float)
        by_column = np.zeros((self.blocks, self.block_size))
        by_column[self._block, self._column] = f
        column, block = self._column, self._block
        shared = by_column[block[:, None], column[:, None] ^ column[None, :]]
        matrix: Floats = np.where(block[:, None] == block[None, :], shared, 0.0)
        matrix /= n * float(self._gap)
        np.fill_diagonal(matrix, self.variance(f, n))
        return matrix

    def covariance_behind(
        self, values: Floats, aggregate: Aggregate
    ) -> Callable[[], Floats] | None:
        return partial(self._covariance, values, aggregate)

    def _covariance(self, values: Floats, aggregate: Aggregate) -> Floats:
        matrix = self.covariance(values, aggregate.reports)
        counts = aggregate.dense(self.table)
        np.fill_diagonal(matrix, self.spread(values, counts, aggregate.reports))
        return matrix

    @property
    def _block(self) -> NDArray[np.int64]:
        return self._positions % self.blocks

    @property
    def _column(self) -> NDArray[np.int64]:
        return self._positions // self.blocks + 1

    @property
    def _positions(self) -> NDArray[np.int64]:
        return np.arange(self.domain.size) if self.candidates is None else self.candidates

    def _of_values(self, table: NDArray[Any]) -> NDArray[Any]:
        """table[block, column] of every value, without an index: values run through the blocks."""
        columns = -(-self.domain.size // self.blocks)
        return table[:, 1 : columns + 1].T.reshape(-1)[: self.domain.size]

    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values when they are equally common."""
        d = self.domain.size
        # By block, since all values of a block have the same: there may be 2^31 values.
        values = d // self.blocks + (np.arange(self.blocks) < d % self.blocks)
        return float((values * (self._square(values / d) - 1 / d)).sum() / n)

    def supports(self, columns: Columns, codes: NDArray[np.int64]) -> NDArray[Any]:
        block, r = np.divmod(columns["y"].astype(np.int64)[:, None], self.block_size)
        even = np.bitwise_count(r & (codes // self.blocks + 1)) % 2 == 0
        return np.asarray((block == codes % self.blocks) & even)

    def decode_steps(self, n: int) -> float:
        return n + self.cells * math.log2(self.block_size)


def _block_size(size: int, blocks: int) -> int:
    """The smallest power of two that has a column from 1 on for each of a block's values."""
    return 1 << (-(-size // blocks)).bit_length()


@lru_cache(maxsize=256)
def _blocks(epsilon: float, size: int) -> int:
    """The power of two with the lowest variance of an average value."""

    def cost(blocks: int) -> float:
        s = _block_size(size, blocks) // 2
        p = set_probability(epsilon, s, (2 * blocks - 1) * s).fraction
        half = (1 - p) / (2 * blocks - 1)  # of any block, outside the answer's set
        in_block = (p + half) / blocks + 2 * half * (1 - Fraction(1, blocks))
        return float(in_block / (p - half) ** 2) if p > half else float("inf")

    choices = [1 << k for k in range(_MOST_BLOCKS.bit_length()) if 1 << k <= size]
    return min(choices, key=cost)
