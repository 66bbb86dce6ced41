"""How a prefix is reported: mechanisms that count any candidates of a huge domain.

Hashed      h(c) = ((a c + b) mod 2^W) >> (W − ℓ), a odd and b uniform per report, g = 2^ℓ;
            y = h(c) with probability p = e^ε / (e^ε + g − 1), else another bucket; q = 1/g
Listed      any pure mechanism over all codes, where there are few enough to count every one

Hashed is optimised local hashing (Wang, Blocki, Li, Jha 2017, section 4.4) with words of 64 bits:
codes below 2^(W−ℓ) collide with probability exactly 1/g, so that a candidate which nobody holds is
supported by each report with probability exactly q, and by n reports Binomial(n, q) times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..domain.columns import Coded
from ..domain.values import code_dtype
from ..errors import ParameterError, WireError
from ..mechanisms.grr import draw_grr, keep_probability
from ..mechanisms.pure import PureMechanism
from ..mechanisms.registry import by_id
from ..parallel import over_ranges
from ..randomness import Probability, Source

Codes = NDArray[np.uint64]

_MOST_BUCKET_BITS = 16
_MOST_LISTED = 1 << 20
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
    """Local hashing of codes below 2^(W−ℓ)."""

    epsilon: float
    word_bits: int = 64

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
        return 1 << self._shift

    @property
    def layout(self) -> tuple[Column, ...]:
        bucket = code_dtype(self.buckets).str
        return (Column("a", "<u8"), Column("b", "<u8"), Column("y", bucket))

    @property
    def _shift(self) -> int:
        return self.word_bits - self.bucket_bits

    @property
    def _mask(self) -> np.uint64:
        return np.uint64((1 << self.word_bits) - 1)

    def draw(self, codes: Codes, source: Source) -> Columns:
        n = codes.size
        a, b = np.empty(n, np.uint64), np.empty(n, np.uint64)
        y = np.empty(n, code_dtype(self.buckets))
        draws = source.draws()
        for start in range(0, n, _BLOCK):
            part = slice(start, min(start + _BLOCK, n))
            draws.fill(a[part])
            draws.fill(b[part])
            a[part] = (a[part] | np.uint64(1)) & self._mask
            b[part] &= self._mask
            hashed = np.empty_like(y[part])
            shift = np.uint64(self._shift)
            kernels.draw.wide_hash_codes(a[part], b[part], codes[part], self._mask, shift, hashed)
            draw_grr(draws, hashed, self.buckets, self.keep, y[part])
        return {"a": a, "b": b, "y": y}

    def check(self, columns: Columns) -> None:
        a, b, y = columns["a"], columns["b"], columns["y"]
        if y.size == 0:
            return
        if (a & np.uint64(1) == 0).any() or a.max() > self._mask or b.max() > self._mask:
            raise WireError(f"a hash has an even a, or one beyond {self.word_bits} bits")
        if int(y.max()) >= self.buckets:
            raise WireError(f"a report names bucket {int(y.max())}; there are {self.buckets}")

    def _folded(self, columns: Columns) -> NDArray[np.uint64]:
        # h(c) = y exactly when (a c + b − y 2^shift) mod 2^W < 2^shift.
        y = columns["y"].astype(np.uint64) << np.uint64(self._shift)
        return np.asarray((columns["b"] - y) & self._mask)

    def support(self, columns: Columns, codes: Codes) -> NDArray[np.int64]:
        a, b = np.ascontiguousarray(columns["a"]), self._folded(columns)
        counts = np.zeros(codes.size, np.int64)
        width = np.uint64(self.most_codes)

        def some(part: slice) -> None:
            kernels.count.wide_hash_support(a, b, codes[part], self._mask, width, counts[part])

        whole = kernels.count.replaced("wide_hash_support")
        over_ranges(some, codes.size, work=0 if whole else a.size * codes.size)
        return counts

    def outcomes(self, columns: Columns, x: int, y: int) -> NDArray[Any]:
        return np.stack([self._supports(columns, code) for code in (x, y)], axis=1)

    def _supports(self, columns: Columns, code: int) -> NDArray[np.bool_]:
        hashed = (columns["a"] * np.uint64(code) + self._folded(columns)) & self._mask
        return np.asarray(hashed < np.uint64(self.most_codes))

    def every_report(self) -> Mapping[str, NDArray[Any]]:
        size = 1 << self.word_bits
        a, b, y = np.meshgrid(
            np.arange(1, size, 2), np.arange(size), np.arange(self.buckets), indexing="ij"
        )
        words = {"a": a.ravel().astype(np.uint64), "b": b.ravel().astype(np.uint64)}
        return {**words, "y": y.ravel().astype(code_dtype(self.buckets))}

    def law(self, code: int) -> list[Fraction]:
        hashes = Fraction(2, 1 << (2 * self.word_bits))
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
        return self.mechanism.support(self._reports(columns))[codes]

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

    return min(range(1, min(_MOST_BUCKET_BITS, word_bits // 2) + 1), key=noise)
