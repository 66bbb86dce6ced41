"""How a prefix is reported: mechanisms that count any candidates of a huge domain.

Hashed      h(c) = ((a₁ c₁ + a₂ c₂ + b) mod 2^W) >> (W − ℓ), a₁, a₂ and b uniform per report,
            g = 2^ℓ; y = h(c) with probability p = e^ε / (e^ε + g − 1), else another bucket;
            q = 1/g. A code has two halves of W − ℓ bits each
Listed      any pure mechanism over all codes, where there are few enough to count every one

Hashed is optimised local hashing as in `mechanisms.olh`, for more codes than a domain has values.
Two different codes collide with probability exactly 1/g, so that a candidate which nobody holds is
supported by each report with probability exactly q, and by n reports Binomial(n, q) times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..domain.columns import Coded
from ..domain.values import parts_of
from ..errors import ParameterError
from ..mechanisms.categorical import PureMechanism
from ..mechanisms.channel import set_row
from ..mechanisms.hashing import Halves, Hashing, best_bucket_bits
from ..mechanisms.registry import pure_by_id
from ..randomness import Source

Codes = NDArray[np.uint64]

_MOST_BUCKET_BITS = 10  # then codes have 44 bits or more
_MOST_LISTED = 1 << 24
_BLOCK = 1 << 16


@dataclass(frozen=True, init=False)
class Hashed(Hashing):
    """Local hashing of codes below 2^(2 (W−ℓ)), with the buckets that are best for rare values."""

    def __init__(self, epsilon: float, word_bits: int = 32) -> None:
        most = min(_MOST_BUCKET_BITS, word_bits - 1)
        bits = best_bucket_bits(epsilon, 1 << 64, most)
        super().__init__(epsilon, word_bits, bits, parts=2)

    @property
    def most_codes(self) -> int:
        """How many codes there are."""
        return 1 << 2 * self.shift

    def _halves(self, codes: Codes) -> Halves:
        low = np.uint64((1 << self.shift) - 1)
        return np.stack([codes >> np.uint64(self.shift), codes & low]).astype(np.uint32)

    def draw_codes(self, codes: Codes, source: Source) -> Columns:
        """Everyone's report of their code."""

        def blocks(people: slice) -> Iterator[tuple[slice, Codes]]:
            return ((part, codes[part]) for part in parts_of(people, _BLOCK))

        return self.draw(codes.size, blocks, self._halves, source)

    def count(self, columns: Columns, codes: Codes) -> NDArray[np.int64]:
        """How many reports support each of some codes."""
        ends = [len(columns["y"])]
        return np.asarray(self.support(columns, self._halves(codes), ends)[0])

    def outcomes(self, columns: Columns, x: int, y: int) -> NDArray[Any]:
        """Per report, everything visible about whether the code was x or y."""
        return self.supports(columns, self._halves(np.array([x, y], np.uint64)))

    def law(self, code: int) -> tuple[Fraction, ...]:
        """The probability of each of `every_report`, given the code."""
        held = self.outcomes(self.every_report(), code, code)[:, 0]
        return set_row(self.p, held.tolist())


@dataclass(frozen=True)
class Listed:
    """A registered pure mechanism over the codes 0..size-1."""

    mechanism: PureMechanism

    @property
    def p(self) -> Fraction:
        return self.mechanism.p

    @property
    def q(self) -> Fraction:
        return self.mechanism.q

    @property
    def most_codes(self) -> int:
        return self.mechanism.domain.size

    @property
    def layout(self) -> tuple[Column, ...]:
        return self.mechanism.layout

    def draw_codes(self, codes: Codes, source: Source) -> Columns:
        return self.mechanism.draw(Coded(codes.astype(self.mechanism.domain.dtype)), source)

    def check(self, columns: Columns) -> None:
        self.mechanism.check(columns)

    def count(self, columns: Columns, codes: Codes) -> NDArray[np.int64]:
        some = self.mechanism.restricted(codes.astype(np.int64))
        return np.asarray(some.count(self._reports(columns))[some.table])

    def outcomes(self, columns: Columns, x: int, y: int) -> NDArray[Any]:
        return self.mechanism.outcomes(self._reports(columns), x, y)

    def every_report(self) -> Columns:
        return self.mechanism.every_report().columns

    def law(self, code: int) -> tuple[Fraction, ...]:
        return self.mechanism.channel().exact[code]

    def _reports(self, columns: Columns) -> Reports:
        own = {column.name: columns[column.name] for column in self.layout}
        return Reports(self.mechanism.id, self.mechanism.digest, own)


Oracle = Hashed | Listed


def oracle_of(name: str, size: int, epsilon: float, word_bits: int) -> Oracle:
    """The mechanism of this name over a number of codes."""
    if name == "olh":
        return Hashed(epsilon, word_bits)
    kind = pure_by_id(name, "prefixes")
    if size > _MOST_LISTED:
        raise ParameterError(
            f"there are {size:,} texts of this length, and {name!r} counts each of them; it takes "
            f"at most {_MOST_LISTED:,}, while 'olh' has no limit"
        )
    return Listed(kind(size, epsilon=epsilon))
