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

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..domain.columns import Coded
from ..domain.values import code_dtype, parts_of
from ..errors import ParameterError, WireError
from ..mechanisms.grr import grr_drawing, keep_probability
from ..mechanisms.outputs import draw_outputs
from ..mechanisms.pure import PureMechanism
from ..mechanisms.registry import by_id
from ..parallel import over_ranges
from ..randomness import Draws, Probability, Source

Codes = NDArray[np.uint64]

_WORDS = ("a1", "a2", "b")
_MOST_BUCKET_BITS = 10  # then codes have 44 bits or more
_MOST_LISTED = 1 << 24
_BLOCK = 1 << 16


class Oracle(Protocol):
    """What the tree needs of the mechanism that reports a prefix."""

    @property
    def p(self) -> Fraction:
        """Probability that the truth is supported."""

    @property
    def q(self) -> Fraction:
        """Probability that another code is supported."""

    @property
    def most_codes(self) -> int:
        """How many codes there are."""

    @property
    def layout(self) -> tuple[Column, ...]:
        """The columns of a report."""

    def draw(self, codes: Codes, source: Source) -> Columns:
        """Everyone's report of their code."""

    def check(self, columns: Columns) -> None:
        """Raise WireError for reports that no participant can have sent."""

    def support(self, columns: Columns, codes: Codes) -> NDArray[np.int64]:
        """How many reports support each of some codes."""

    def outcomes(self, columns: Columns, x: int, y: int) -> NDArray[Any]:
        """Per report, everything visible about whether the code was x or y."""

    def law(self, code: int) -> list[Fraction]:
        """The probability of each of `every_report`, given the code."""

    def every_report(self) -> Mapping[str, NDArray[Any]]:
        """All possible reports, where there are few."""


@dataclass(frozen=True)
class Hashed:
    """Local hashing of codes below 2^(2 (W−ℓ))."""

    epsilon: float
    word_bits: int = 32

    @cached_property
    def bucket_bits(self) -> int:
        """ℓ: the power of two with the lowest variance for rare values."""
        return _bucket_bits(self.epsilon, self.word_bits)

    @property
    def buckets(self) -> int:
        """g, the number of buckets."""
        return 1 << self.bucket_bits

    @property
    def keep(self) -> Probability:
        """The drawn probability of keeping the bucket."""
        return keep_probability(self.epsilon, self.buckets)

    @property
    def p(self) -> Fraction:
        return self.keep.fraction

    @property
    def q(self) -> Fraction:
        return Fraction(1, self.buckets)

    @property
    def most_codes(self) -> int:
        return 1 << 2 * self._half

    @property
    def layout(self) -> tuple[Column, ...]:
        words = (Column(name, "<u4") for name in _WORDS)
        return (*words, Column("y", code_dtype(self.buckets).str))

    @property
    def _half(self) -> int:
        return self.word_bits - self.bucket_bits

    @property
    def _mask(self) -> np.uint32:
        return np.uint32((1 << self.word_bits) - 1)

    def _halves(self, codes: Codes) -> NDArray[np.uint32]:
        low = np.uint64((1 << self._half) - 1)
        return np.stack([codes >> np.uint64(self._half), codes & low]).astype(np.uint32)

    def draw(self, codes: Codes, source: Source) -> Columns:
        n = codes.size
        columns = {name: np.empty(n, np.uint32) for name in _WORDS}
        y = np.empty(n, code_dtype(self.buckets))
        shift, drawing = np.uint32(self._half), grr_drawing(self.buckets, self.keep)

        def some(draws: Draws, people: slice) -> None:
            for part in parts_of(people, _BLOCK):
                words = [column[part] for column in columns.values()]
                for column in words:
                    draws.fill(column)
                halves, hashed = self._halves(codes[part]), np.empty_like(y[part])
                kernels.draw.hash_pairs(*words, halves, self._mask, shift, hashed)
                draw_outputs(draws, hashed, drawing, y[part])

        source.over_ranges(some, n, work=100 * n)
        return {**columns, "y": y}

    def check(self, columns: Columns) -> None:
        y = columns["y"]
        if y.size == 0:
            return
        if any(columns[name].max() > self._mask for name in _WORDS):
            raise WireError(f"a hash has numbers beyond {self.word_bits} bits")
        if int(y.max()) >= self.buckets:
            raise WireError(f"a report names bucket {int(y.max())}; there are {self.buckets}")

    def _folded(self, columns: Columns) -> NDArray[np.uint32]:
        # h(c) = y exactly when (a₁ c₁ + a₂ c₂ + b − y 2^shift) mod 2^W < 2^shift.
        y = columns["y"].astype(np.uint32) << np.uint32(self._half)
        return np.asarray((columns["b"] - y) & self._mask)

    def support(self, columns: Columns, codes: Codes) -> NDArray[np.int64]:
        a, b = np.stack([columns["a1"], columns["a2"]]), self._folded(columns)
        counts, halves = np.zeros(codes.size, np.int64), self._halves(codes)
        width, kernel = np.uint32(1 << self._half), kernels.count.hash_support_pairs

        def some(part: slice) -> None:
            kernel(a, b, halves[:, part], self._mask, width, counts[part])

        whole = kernels.count.replaced("hash_support_pairs")
        over_ranges(some, codes.size, work=0 if whole else b.size * codes.size)
        return counts

    def outcomes(self, columns: Columns, x: int, y: int) -> NDArray[Any]:
        return np.stack([self._supports(columns, code) for code in (x, y)], axis=1)

    def _supports(self, columns: Columns, code: int) -> NDArray[np.bool_]:
        (first,), (second,) = self._halves(np.array([code], np.uint64))
        sums = columns["a1"] * first + columns["a2"] * second + self._folded(columns)
        return np.asarray(sums & self._mask < np.uint32(1 << self._half))

    def every_report(self) -> Mapping[str, NDArray[Any]]:
        words, buckets = range(1 << self.word_bits), range(self.buckets)
        table = np.array(list(product(words, words, words, buckets))).T
        named = zip(self.layout, table, strict=True)
        return {column.name: numbers.astype(column.dtype) for column, numbers in named}

    def law(self, code: int) -> list[Fraction]:
        hashes = Fraction(1, 1 << (3 * self.word_bits))
        other = (1 - self.p) / (self.buckets - 1)
        held = self._supports(self.every_report(), code)
        return [hashes * (self.p if true else other) for true in held.tolist()]


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

    def draw(self, codes: Codes, source: Source) -> Columns:
        return self.mechanism.draw(Coded(codes.astype(self.mechanism.domain.dtype)), source)

    def check(self, columns: Columns) -> None:
        self.mechanism.check(columns)

    def support(self, columns: Columns, codes: Codes) -> NDArray[np.int64]:
        some = self.mechanism.restricted(codes.astype(np.int64))
        return np.asarray(some.count(self._reports(columns))[some.table])

    def outcomes(self, columns: Columns, x: int, y: int) -> NDArray[Any]:
        return self.mechanism.outcomes(self._reports(columns), x, y)

    def every_report(self) -> Mapping[str, NDArray[Any]]:
        return self.mechanism.every_report().columns

    def law(self, code: int) -> list[Fraction]:
        return list(self.mechanism.channel().exact[code])

    def _reports(self, columns: Columns) -> Reports:
        own = {column.name: columns[column.name] for column in self.layout}
        return Reports(self.mechanism.id, self.mechanism.digest, own)


def oracle_of(name: str, size: int, epsilon: float, word_bits: int) -> Oracle:
    """The mechanism of this name over a number of codes."""
    if name == "olh":
        return Hashed(epsilon, word_bits)
    kind = by_id(name)
    if not issubclass(kind, PureMechanism):
        raise ParameterError(
            f"{name!r} cannot report prefixes; use 'olh' or another pure mechanism: 'grr', 'oue', "
            "'sue' or 'subset'"
        )
    if size > _MOST_LISTED:
        raise ParameterError(
            f"there are {size:,} texts of this length, and {name!r} counts each of them; it takes "
            f"at most {_MOST_LISTED:,}, while 'olh' has no limit"
        )
    return Listed(kind(size, epsilon=epsilon))


@lru_cache(maxsize=256)
def _bucket_bits(epsilon: float, word_bits: int) -> int:
    def noise(bits: int) -> Fraction:
        p, q = keep_probability(epsilon, 1 << bits).fraction, Fraction(1, 1 << bits)
        return q * (1 - q) / (p - q) ** 2 if p > q else Fraction(1 << 200)

    return min(range(1, min(_MOST_BUCKET_BITS, word_bits - 1) + 1), key=noise)
