"""Optimised local hashing: a public random hash of the answer, then randomised response on it.

Channel     h(v) = ((a c_v + b) mod 2^W) >> (W − ℓ), a odd and b uniform per report, g = 2^ℓ;
            y = h(x) with probability e^ε / (e^ε + g − 1), else another bucket
Estimate    f̂_v = (c_v / n − q) / (p − q), c_v counts the reports with h(v) = y,
            p = e^ε / (e^ε + g − 1), q = 1/g
Covariance  variances exact; off the diagonal the value of an ideal hash, zero
Guarantee   ε-LDP, tight; p is rounded down to a multiple of 2^-128

The c_v are public codes: distinct integers below 2^(W−ℓ), in an order that the digest fixes.
Then two values collide with probability exactly 1/g for every pair, so that means and variances
are exact.

Above 2^24 values the codes are not stored: a code is a pair of halves (c₁, c₂) of W/2 bits each,
computed by a public bijection that the digest fixes (`kernels.draw.pair_codes`), and

            h(v) = ((a₁ c₁ + a₂ c₂ + b) mod 2^W) >> (W − ℓ),   a₁, a₂ and b uniform, ℓ ≤ W/2

For two values let 2^t be the largest power of two that divides both differences of their halves,
so t < W/2 ≤ W − ℓ. Then a₁ δ₁ + a₂ δ₂ is uniform over the multiples of 2^t, and with b uniform
the values collide with probability exactly 1/g again: Σ_{|k| < M} (1 − |k|/M) = M for
M = 2^(W−ℓ−t) of the 2^(W−t) multiples (Dietzfelbinger 1996 has one multiplier; this is its vector
form, with 32-bit words for 2^31 values).

For ε in .25 to 4 a power of two costs at most 7.2 % of variance against the
g = round(e^ε) + 1 of the literature, at ε = .55. W is 32 on the wire; `tiny()` has W = 4, or 3
with pairs, where the whole law can be written down.

Wang, Blocki, Li, Jha 2017, section 4.4.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column, Reports, sort_reports
from ..contract.way import Way
from ..domain.values import Domain, Label, code_dtype
from ..errors import ParameterError, WireError
from ..parallel import over_ranges
from ..randomness import Draws, Keystream, Source
from .channel import Channel
from .grr import grr_drawing, keep_probability
from .linear import TINY
from .mechanism import Method
from .outputs import draw_outputs
from .pure import PureMechanism
from .registry import register

_MOST_BUCKET_BITS = 24
_MOST_CODES = 1 << 24  # values; the table of their codes is drawn before the first report


@register("olh")
@dataclass(frozen=True, init=False)
class OLH(PureMechanism):
    """Send a random hash function and the randomised hash of the answer.

    9 bytes per report (13 above 2^24 values; more buckets than 256 take another) with the error of
    OUE; decoding takes n times d steps, or n times as many as the values chosen.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    epsilon : float
        Privacy parameter.
    word_bits : int
        W above; 32 on the wire, smaller only in `tiny()`.
    parts : int, optional
        How many parts a code has: 1 for up to 2^24 values, 2 for more; given only in `tiny()`.

    Examples
    --------
    >>> m = OLH(100_000, epsilon=1.0)
    >>> m.buckets, float(m.q)
    (4, 0.25)
    """

    counts_chosen: ClassVar[bool] = True

    word_bits: int = 32
    parts: int = field(default=1, repr=False)

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        epsilon: float,
        study: bytes | None = None,
        word_bits: int = 32,
        parts: int | None = None,
    ) -> None:
        values = Domain.of(domain)
        if (
            isinstance(word_bits, bool)
            or not isinstance(word_bits, int)
            or not 2 <= word_bits <= 32
        ):
            raise ParameterError(f"word_bits is {word_bits!r}; allowed are 2 to 32")
        usual = _usual_parts(values)
        if parts not in (None, 1, 2) or isinstance(parts, bool):
            raise ParameterError(f"parts is {parts!r}; a code has 1 or 2")
        object.__setattr__(self, "word_bits", word_bits)
        object.__setattr__(self, "parts", usual if parts is None else parts)
        super().__init__(values, epsilon=epsilon, study=study)

    @property
    def parameters(self) -> dict[str, Any]:
        short = {} if self.word_bits == 32 else {"word_bits": self.word_bits}
        pairs = {} if self.parts == _usual_parts(self.domain) else {"parts": self.parts}
        return {**super().parameters, **short, **pairs}

    @property
    def bucket_bits(self) -> int:
        """ℓ: the power of two with the lowest total variance for which the codes fit."""
        return _bucket_bits(self.epsilon, self.domain.size, self.word_bits, self.parts)

    @property
    def buckets(self) -> int:
        """g, the number of buckets."""
        return 1 << self.bucket_bits

    @property
    def p(self) -> Fraction:
        return keep_probability(self.epsilon, self.buckets).fraction

    @property
    def q(self) -> Fraction:
        return Fraction(1, self.buckets)

    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        return self.p * self.q, self.q * self.q  # an ideal hash; see the module's docstring

    @property
    def methods(self) -> Mapping[str, Method]:
        ideal = Method(
            "Wang et al. 2017, section 3; covariances between values are those of an ideal hash",
            biased=False,
        )
        return {**super().methods, "unbiased": ideal}

    @property
    def layout(self) -> tuple[Column, ...]:
        return (
            *(Column(name, "<u4") for name in self._multipliers),
            Column("b", "<u4"),
            Column("y", code_dtype(self.buckets).str),
        )

    @property
    def _multipliers(self) -> tuple[str, ...]:
        return ("a",) if self.parts == 1 else ("a1", "a2")

    @property
    def codes(self) -> NDArray[np.uint32]:
        """The public code of every value, where codes have one part."""
        return _codes(self.digest, self.domain.size, self.word_bits - self.bucket_bits)

    def codes_of(self, positions: NDArray[Any]) -> NDArray[np.uint32]:
        """The public codes of the values at these positions, one row for each part."""
        if self.parts == 1:
            return np.asarray(self.codes[positions][None])
        halves = np.empty((2, positions.size), np.uint32)
        kernels.draw.pair_codes(positions, _pair_keys(self.digest), self.word_bits // 2, halves)
        return halves

    def _hash(self, columns: Columns, codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The bucket of one code under every report's hash."""
        sums = columns["b"].astype(np.uint32)
        for name, code in zip(self._multipliers, codes, strict=True):
            sums += columns[name] * code
        return np.asarray((sums & self._mask) >> np.uint32(self.word_bits - self.bucket_bits))

    @property
    def _mask(self) -> np.uint32:
        return np.uint32((1 << self.word_bits) - 1)

    def check(self, columns: Columns) -> None:
        y, hashes = columns["y"], [columns[name] for name in (*self._multipliers, "b")]
        if y.size == 0:
            return
        even = self.parts == 1 and (columns["a"] & 1 == 0).any()
        if even or any(numbers.max() > self._mask for numbers in hashes):
            raise WireError(f"a hash has an even a, or one beyond {self.word_bits} bits")
        if int(y.max()) >= self.buckets:
            raise WireError(f"a report names bucket {int(y.max())}; there are {self.buckets}")

    def draw(self, answers: Any, source: Source) -> Columns:
        """Draw a hash, hash the answer, randomise the bucket."""
        n, blocks = self.domain.blocks(answers)
        a = {name: np.empty(n, np.uint32) for name in self._multipliers}
        b, y = np.empty(n, np.uint32), np.empty(n, code_dtype(self.buckets))
        mask = self._mask
        shift = np.uint32(self.word_bits - self.bucket_bits)
        drawing = grr_drawing(self.buckets, keep_probability(self.epsilon, self.buckets))

        def some(draws: Draws, people: slice) -> None:
            for where, codes in blocks(people):
                words = [column[where] for column in (*a.values(), b)]
                for column in words:
                    draws.fill(column)
                hashed = np.empty_like(y[where])
                if self.parts == 1:
                    kernels.draw.hash_codes(*words, codes, self.codes, mask, shift, hashed)
                else:
                    kernels.draw.hash_pairs(*words, self.codes_of(codes), mask, shift, hashed)
                draw_outputs(draws, hashed, drawing, y[where])

        source.over_ranges(some, n, work=100 * n)
        return {**a, "b": b, "y": y}

    def support(self, reports: Reports) -> NDArray[np.int64]:
        (counts,) = self._support(reports, [len(reports)])
        return np.asarray(counts)

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        sorted_reports, ends = sort_reports(reports, group, groups)
        return self._support(sorted_reports, ends)

    def _support(self, reports: Reports, ends: Sequence[int]) -> NDArray[np.int64]:
        """Support counts of consecutive groups of reports, one row per group."""
        self.check(reports.columns)
        b, y = reports.columns["b"], reports.columns["y"]
        shift = self.word_bits - self.bucket_bits
        # Fold y into b: h(v) = y exactly when (a c_v + b - y 2^shift) mod 2^W < 2^shift.
        folded = (b - (y.astype(np.uint32) << np.uint32(shift))) & self._mask
        mask, width = self._mask, np.uint32(1 << shift)
        kernel, name = kernels.count.hash_support, "hash_support"
        if self.parts == 1:
            a = np.ascontiguousarray(reports.columns["a"])
            codes = self.codes if self.candidates is None else self.codes[self.candidates]
        else:
            a = np.stack([reports.columns[part] for part in self._multipliers])
            chosen = np.arange(self.counters) if self.candidates is None else self.candidates
            codes = self.codes_of(chosen)
            kernel, name = kernels.count.hash_support_pairs, "hash_support_pairs"
        counts = np.zeros((len(ends), self.counters), np.int64)

        def some(part: slice) -> None:
            start = 0
            for row, end in zip(counts, ends, strict=True):
                own = a[..., start:end], folded[start:end]
                if end > start:
                    kernel(*own, codes[..., part], mask, width, row[part])
                start = end

        whole = kernels.count.replaced(name)
        over_ranges(some, self.counters, work=0 if whole else b.size * self.counters)
        return counts

    def outcomes(self, reports: Reports, x: Label, y: Label) -> NDArray[Any]:
        pair = self.codes_of(self.domain.encode([x, y]))
        hashed = [self._hash(reports.columns, code) == reports.columns["y"] for code in pair.T]
        return np.stack(hashed, axis=1)

    def decode_steps(self, n: int) -> float:
        return n * self.domain.size + self.domain.size

    def tiny(self) -> Self:
        domain = Domain(min(self.domain.size, TINY))
        word_bits = 4 if self.parts == 1 else 3
        return replace(self, domain=domain, word_bits=word_bits, parts=self.parts)

    def every_report(self, way: Way | None = None) -> Reports:
        size = 1 << self.word_bits
        multipliers = range(1, size, 2) if self.parts == 1 else range(size)
        numbers = [*[multipliers] * self.parts, range(size), range(self.buckets)]
        self.refuse_large(math.prod(map(len, numbers)))
        columns = np.array(list(itertools.product(*numbers))).T
        named = zip(self.layout, columns, strict=True)
        return Reports(self.id, self.digest, {c.name: x.astype(c.dtype) for c, x in named})

    def channel(self, way: Way | None = None) -> Channel:
        columns = self.every_report().columns
        hashes = Fraction(self.buckets, len(columns["y"]))
        inside, outside = hashes * self.p, hashes * (1 - self.p) / (self.buckets - 1)
        codes = self.codes_of(np.arange(self.domain.size))
        rows = tuple(
            tuple(inside if hit else outside for hit in self._hash(columns, code) == columns["y"])
            for code in codes.T
        )
        reports = zip(*(column.tolist() for column in columns.values()), strict=True)
        names = [" ".join(map("{}={}".format, columns, report)) for report in reports]
        return Channel(self.domain.labels, names, rows)


@lru_cache(maxsize=256)
def _bucket_bits(epsilon: float, size: int, word_bits: int, parts: int) -> int:
    def total(bits: int) -> Fraction:
        p, q = keep_probability(epsilon, 1 << bits).fraction, Fraction(1, 1 << bits)
        if p <= q:
            return Fraction(1 << 200)
        return size * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)

    best = min(range(1, min(word_bits, _MOST_BUCKET_BITS + 1)), key=total)
    if parts == 2:
        best, most = min(best, word_bits - word_bits // 2), 1 << word_bits // 2 * 2
        fits = size <= most
    else:
        while best > 1 and size > 1 << (word_bits - best):
            best -= 1
        most = min(1 << (word_bits - 1), _MOST_CODES)
        fits = size <= min(1 << (word_bits - best), most)
    if not fits:
        raise ParameterError(
            f"{size:,} values do not fit the hash; with words of {word_bits} bits and {parts} "
            f"part(s) OLH takes at most {most:,}"
        )
    return best


def _usual_parts(domain: Domain) -> int:
    return 1 if domain.size <= _MOST_CODES else 2


def _pair_keys(digest: bytes) -> NDArray[np.uint32]:
    """The four keys of the bijection."""
    key = hashlib.sha256(b"sottovoce olh pairs v1\n" + digest).digest()[:16]
    return np.frombuffer(key, "<u4").astype(np.uint32)


@lru_cache(maxsize=8)
def _codes(digest: bytes, size: int, bits: int) -> NDArray[np.uint32]:
    """Distinct integers below 2^bits: the first ones of a keystream keyed by the digest."""
    stream = Keystream(hashlib.sha256(b"sottovoce olh codes v1\n" + digest).digest()[:16])
    distinct = np.zeros(0, np.uint32)
    while distinct.size < size:
        words = np.empty(max(64, 2 * (size - distinct.size)), "<u4")
        stream.fill(words.view(np.uint8).data)
        pool = np.concatenate([distinct, (words >> np.uint32(32 - bits)).astype(np.uint32)])
        _, first = np.unique(pool, return_index=True)
        distinct = pool[np.sort(first)]
    codes = distinct[:size].copy()
    codes.flags.writeable = False
    return codes
