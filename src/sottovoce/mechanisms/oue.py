"""Optimised unary encoding: one bit per value.

Channel     bit v is 1 with probability p = ½ if v is the answer, else q = 1 / (e^ε + 1)
Estimate    f̂_v = (c_v / n − q) / (p − q)
Covariance  `PureMechanism.covariance` with s = p q, t = q²: bits are independent given the answer
Guarantee   ε-LDP, tight; q is rounded up to a multiple of 2^-128

Wang, Blocki, Li, Jha 2017, "Locally differentially private protocols for frequency estimation",
section 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import WireError
from ..mechanism import Channel, PureMechanism, product_row
from ..randomness import BITS, Probability, Source, divide, exp
from ..report import Column, Reports
from .registry import register

_HALF = Probability(1 << (BITS - 1))
_BLOCK_BYTES = 1 << 16  # reports drawn together, so that they are still in the cache for the truth


@register("oue")
class OUE(PureMechanism):
    """Send one bit per value: the true one is a fair coin, the others are rarely set.

    d/8 bytes per report; the error does not grow with the number of values.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    epsilon : float
        Privacy parameter.

    Examples
    --------
    >>> m = OUE(128, epsilon=1.0)
    >>> float(m.p), round(float(m.q), 4)
    (0.5, 0.2689)
    """

    @property
    def p(self) -> Fraction:
        return _HALF.fraction

    @property
    def q(self) -> Fraction:
        return _other(self.epsilon).fraction

    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        return self.p * self.q, self.q * self.q

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column("bits", "u1", width=(self.domain.size + 7) // 8),)

    @property
    def _last_mask(self) -> int:
        """The bits of a report's last byte that stand for values."""
        return (1 << ((self.domain.size - 1) % 8 + 1)) - 1

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        if (columns["bits"][:, -1] & ~np.uint8(self._last_mask)).any():
            raise WireError(
                f"a report sets bits beyond its {self.domain.size} values; these must be zero"
            )

    def randomise(self, values: Any, *, source: Source | None = None) -> Reports:
        """Each participant's side: draw every bit, then the true one anew."""
        source = self.source(source)
        width = self.layout[0].width
        n, blocks = self.domain.blocks(values, most=max(8, _BLOCK_BYTES // width // 8 * 8))
        lanes = np.empty((n * width + 7) // 8, np.uint64)
        rows = lanes.view(np.uint8)[: n * width].reshape(n, width)
        truth = np.empty(_BLOCK_BYTES // 64 + 1, np.uint64)
        draws = source.draws()
        for where, codes in blocks:  # a block starts at a multiple of 8 rows: at a whole word
            draws.bernoulli(
                _other(self.epsilon), lanes[where.start * width // 8 : -(-where.stop * width // 8)]
            )
            coins = truth[: (codes.size + 63) // 64]
            draws.bernoulli(_HALF, coins)
            kernels.place_truth(rows[where], codes, coins.view(np.uint8), np.uint8(self._last_mask))
        return self.reports(source, bits=rows)

    def support(self, reports: Reports) -> NDArray[np.int64]:
        rows = np.require(reports.columns["bits"], requirements=["C", "A"])
        if rows.ctypes.data % 8:  # the kernel reads whole words
            rows = _aligned(rows)
        counts: NDArray[np.int64] = kernels.column_counts(rows)[: self.domain.size]
        return counts

    def every_report(self) -> Reports:
        d = self.domain.size
        self.refuse_large(1 << min(d, 64))
        bits = (np.arange(1 << d)[:, None] >> np.arange(d)) & 1
        packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
        return Reports(self.id, self.digest, {"bits": packed})

    def channel(self) -> Channel:
        d = self.domain.size
        self.refuse_large(1 << min(d, 64))
        outputs = [[(y >> v) & 1 for v in range(d)] for y in range(1 << d)]
        rows = tuple(
            tuple(
                product_row((bit, self.p if v == x else self.q) for v, bit in enumerate(bits))
                for bits in outputs
            )
            for x in range(d)
        )
        return Channel(self.domain.labels, ["".join(map(str, bits)) for bits in outputs], rows)


def _aligned(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    words = np.empty((rows.size + 7) // 8, np.uint64)
    copy = words.view(np.uint8)[: rows.size].reshape(rows.shape)
    copy[:] = rows
    return copy


@lru_cache(maxsize=256)
def _other(epsilon: float) -> Probability:
    return Probability.at_least(divide(1, exp(epsilon) + 1))
