"""Multiply-shift hashing of public codes into g = 2^ℓ buckets, randomised response on the bucket.

h(c) = ((a c + b) mod 2^W) >> (W − ℓ), a odd; for codes of two halves a c is a₁ c₁ + a₂ c₂, and
a₁, a₂ are any numbers. Why two codes collide with probability exactly 1/g: `mechanisms.olh`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column
from ..domain.values import Blocks, code_dtype
from ..errors import WireError
from ..parallel import over_ranges
from ..randomness import Draws, Probability, Source
from .categorical import draw_outputs, noise_of_all
from .grr import grr_drawing, keep_probability

#: Halves of codes: one row for each part.
Halves = NDArray[np.uint32]


@dataclass(frozen=True)
class Hashing:
    """Hashes with words of W bits to 2^ℓ buckets, of codes with one or two parts."""

    epsilon: float
    word_bits: int
    bucket_bits: int
    parts: int

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
        """Probability that the truth is supported."""
        return self.keep.fraction

    @property
    def q(self) -> Fraction:
        """Probability that another code is supported."""
        return Fraction(1, self.buckets)

    @property
    def shift(self) -> int:
        """W − ℓ."""
        return self.word_bits - self.bucket_bits

    @property
    def _mask(self) -> np.uint32:
        return np.uint32((1 << self.word_bits) - 1)

    @property
    def _multipliers(self) -> tuple[str, ...]:
        return ("a",) if self.parts == 1 else ("a1", "a2")

    @property
    def layout(self) -> tuple[Column, ...]:
        """The columns of a report."""
        words = (Column(name, "<u4") for name in (*self._multipliers, "b"))
        return (*words, Column("y", code_dtype(self.buckets).str))

    def check(self, columns: Columns) -> None:
        """Raise WireError for reports that no participant can have sent."""
        y, hashes = columns["y"], [columns[name] for name in (*self._multipliers, "b")]
        if y.size == 0:
            return
        if self.parts == 1 and (columns["a"] & 1 == 0).any():
            raise WireError("a hash has an even a; it must be odd")
        if any(numbers.max() > self._mask for numbers in hashes):
            raise WireError(f"a hash has numbers beyond {self.word_bits} bits")
        if int(y.max()) >= self.buckets:
            raise WireError(f"a report names bucket {int(y.max())}; there are {self.buckets}")

    def draw(
        self,
        n: int,
        blocks: Blocks,
        public: NDArray[np.uint32] | Callable[[NDArray[Any]], Halves],
        source: Source,
    ) -> Columns:
        """Draw a hash for everyone, hash the public code of the answer, randomise the bucket.

        `public` has the code of every value, or computes those of some in halves.
        """
        words = {name: np.empty(n, np.uint32) for name in (*self._multipliers, "b")}
        y, drawing = np.empty(n, code_dtype(self.buckets)), grr_drawing(self.buckets, self.keep)
        cut = self._mask, np.uint32(self.shift)

        def some(draws: Draws, people: slice) -> None:
            for where, answers in blocks(people):
                own = [column[where] for column in words.values()]
                for column in own:
                    draws.fill(column)
                hashed = np.empty_like(y[where])
                if callable(public):
                    kernels.draw.hash_pairs(*own, public(answers), *cut, hashed)
                else:
                    kernels.draw.hash_codes(*own, answers, public, *cut, hashed)
                draw_outputs(draws, hashed, drawing, y[where])

        source.over_ranges(some, n, work=100 * n)
        return {**words, "y": y}

    def _fold(self, columns: Columns) -> NDArray[np.uint32]:
        # h(c) = y exactly when (a c + b − y 2^shift) mod 2^W < 2^shift.
        y = columns["y"].astype(np.uint32) << np.uint32(self.shift)
        return np.asarray((columns["b"] - y) & self._mask)

    def support(self, columns: Columns, codes: Halves, ends: Sequence[int]) -> NDArray[np.int64]:
        """How many reports support each code, a row for each group of reports up to an end."""
        folded, limits = self._fold(columns), (self._mask, np.uint32(1 << self.shift))
        if self.parts == 1:
            kernel, name = kernels.count.hash_support, "hash_support"
            a, codes = np.ascontiguousarray(columns["a"]), codes[0]
        else:
            kernel, name = kernels.count.hash_support_pairs, "hash_support_pairs"
            a = np.stack([columns[part] for part in self._multipliers])
        counts = np.zeros((len(ends), codes.shape[-1]), np.int64)

        def some(part: slice) -> None:
            for row, start, end in zip(counts, [0, *ends], ends, strict=False):
                if end > start:
                    own = a[..., start:end], folded[start:end]
                    kernel(*own, codes[..., part], *limits, row[part])

        whole = kernels.count.replaced(name)
        over_ranges(some, counts.shape[1], work=0 if whole else folded.size * counts.shape[1])
        return counts

    def supports(self, columns: Columns, codes: Halves) -> NDArray[np.bool_]:
        """Whether each report (rows) supports each code (columns)."""
        sums = self._fold(columns)[:, None]
        for name, code in zip(self._multipliers, codes, strict=True):
            sums = sums + columns[name][:, None] * code
        return np.asarray((sums & self._mask) < np.uint32(1 << self.shift))

    def reports(self) -> int:
        """How many different reports there are."""
        return prod(map(len, self._numbers))

    @property
    def _numbers(self) -> list[range]:
        size = 1 << self.word_bits
        multipliers = range(1, size, 2) if self.parts == 1 else range(size)
        return [*[multipliers] * self.parts, range(size), range(self.buckets)]

    def every_report(self) -> Columns:
        """All of them, where they are few."""
        columns = zip(self.layout, np.array(list(product(*self._numbers))).T, strict=True)
        return {column.name: numbers.astype(column.dtype) for column, numbers in columns}


@lru_cache(maxsize=256)
def best_bucket_bits(epsilon: float, size: int, most: int) -> int:
    """ℓ up to `most`, so that 2^ℓ buckets have the lowest total variance over `size` values."""

    def total(bits: int) -> Fraction:
        keep = keep_probability(epsilon, 1 << bits).fraction
        return noise_of_all(keep, Fraction(1, 1 << bits), size)

    return min(range(1, most + 1), key=total)
