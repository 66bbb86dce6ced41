"""Common parts of unary encodings: one bit per value, drawn independently given the answer.

Channel     bit v is 1 with probability p if v is the answer, else q
Covariance  `PureMechanism.covariance` with s = p q, t = q²
Guarantee   ε = ln p (1 − q) / ((1 − p) q)

Bit order: `sottovoce.contract.reports`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.values import Codes
from ..errors import ParameterError, WireError
from ..randomness import Draws, Probability, Source
from .categorical import PureMechanism
from .channel import Channel

_MOST_BITS = 1 << 24  # of a report: 2 MiB for each person
Rows = NDArray[np.uint8]
Words = NDArray[np.uint64]
DrawBlock = Callable[[Draws, Codes, Words, Rows], None]

_STEPS = 20  # of a byte of a report, as `over_ranges` counts them: about a nanosecond
_BLOCK_BYTES = 1 << 17  # reports drawn together, so that they are still in the cache for the truth


class BitVectorMechanism(PureMechanism):
    """A pure mechanism whose report is a set of values, one bit each."""

    counted_by = frozenset({"column_counts", "column_counts_by"})

    def validate(self) -> None:
        super().validate()
        if self.domain.size > _MOST_BITS:
            raise ParameterError(
                f"a report would have one bit for each of {self.domain.size:,} values; {self.id} "
                f"takes at most {_MOST_BITS:,}; use 'olh', 'hadamard' or 'grr'"
            )

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column("bits", "u1", width=(self.domain.size + 7) // 8),)

    @property
    def last_mask(self) -> int:
        """The bits of a report's last byte that stand for values."""
        return (1 << ((self.domain.size - 1) % 8 + 1)) - 1

    def check(self, columns: Columns) -> None:
        if (columns["bits"][:, -1] & ~np.uint8(self.last_mask)).any():
            raise WireError(
                f"a report sets bits beyond its {self.domain.size} values; these must be zero"
            )

    def draw_rows(self, answers: Any, source: Source, draw: DrawBlock) -> NDArray[np.uint8]:
        """Everyone's bits, drawn in blocks that stay in the cache, by several threads.

        `draw` takes a block as (draws, codes, the words that its bits begin in, the same bits as
        rows). A block starts at a multiple of eight rows, so at a whole word.
        """
        width = self.layout[0].width
        n, blocks = self.domain.blocks(answers, most=max(8, _BLOCK_BYTES // width // 8 * 8))
        lanes = np.empty((n * width + 7) // 8, np.uint64)
        rows = lanes.view(np.uint8)[: n * width].reshape(n, width)

        def some(draws: Draws, people: slice) -> None:
            for where, codes in blocks(people):
                words = slice(where.start * width // 8, -(-where.stop * width // 8))
                draw(draws, codes, lanes[words], rows[where])

        source.over_ranges(some, n, work=_STEPS * rows.size, multiple=8)
        return rows

    def support(self, reports: Reports) -> NDArray[np.int64]:
        rows = _in_words(reports.columns["bits"])
        return kernels.count.column_counts(rows)[: self.domain.size]

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        rows = _in_words(reports.columns["bits"])
        return kernels.count.column_counts_by(rows, group, groups)[:, : self.domain.size]

    @property
    def counting_key(self) -> Hashable:
        # People are counted by their marks, whose number in a subset depends on epsilon.
        return self.id, self.domain.size, self.marks_per_report

    @property
    def tally_key(self) -> Hashable:
        return None if self.candidates is not None else ("bits", self.domain.size)

    def supports(self, columns: Columns, codes: NDArray[np.int64]) -> NDArray[Any]:
        return np.asarray((columns["bits"][:, codes >> 3] >> (codes & 7).astype(np.uint8)) & 1)

    def decode_steps(self, n: int) -> float:
        return n * math.ceil(self.domain.size / 64) + self.domain.size  # 64 bits at a time

    def packed(self, sets: NDArray[Any]) -> Reports:
        """Reports from rows of zeros and ones."""
        packed = np.packbits(sets.astype(np.uint8), axis=1, bitorder="little")
        return Reports(self.id, self.digest, {"bits": packed})


class UnaryMechanism(BitVectorMechanism):
    """A unary encoding; a subclass says how likely each bit is."""

    @property
    @abstractmethod
    def true_bit(self) -> Probability:
        """Probability that the answer's own bit is set, as drawn."""

    @property
    @abstractmethod
    def other_bit(self) -> Probability:
        """Probability that another bit is set, as drawn."""

    @property
    def p(self) -> Fraction:
        return self.true_bit.fraction

    @property
    def q(self) -> Fraction:
        return self.other_bit.fraction

    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        return self.p * self.q, self.q * self.q

    def draw(self, answers: Any, source: Source) -> Columns:
        """Draw every bit, then the true one anew."""
        other, true, mask = self.other_bit, self.true_bit, np.uint8(self.last_mask)

        def block(draws: Draws, codes: Codes, lanes: Words, rows: Rows) -> None:
            draws.bernoulli(other, lanes)
            kernels.draw.place_truth(rows, codes, draws.coins(true, codes.size), mask)

        return {"bits": self.draw_rows(answers, source, block)}

    def every_report(self, way: Way | None = None) -> Reports:
        d = self.domain.size
        self.refuse_large(1 << min(d, 64))
        return self.packed((np.arange(1 << d)[:, None] >> np.arange(d)) & 1)

    def channel(self, way: Way | None = None) -> Channel:
        d = self.domain.size
        self.refuse_large(1 << min(d, 64))
        outputs = [[(y >> v) & 1 for v in range(d)] for y in range(1 << d)]
        true, other = (1 - self.p, self.p), (1 - self.q, self.q)  # of a bit that is 0 or 1
        one = Fraction(1)
        rows = tuple(
            tuple(
                math.prod(((true if v == x else other)[bits[v]] for v in range(d)), start=one)
                for bits in outputs
            )
            for x in range(d)
        )
        return Channel(self.domain.labels, ["".join(map(str, bits)) for bits in outputs], rows)


def _in_words(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The rows where the kernels, which read whole words, can read them."""
    rows = np.require(bits, requirements=["C"])
    if rows.ctypes.data % 8 == 0:
        return rows
    words = np.empty((rows.size + 7) // 8, np.uint64)
    copy = words.view(np.uint8)[: rows.size].reshape(rows.shape)
    copy[:] = rows
    return copy
