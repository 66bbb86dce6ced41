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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Column, Reports, sort_reports
from ..contract.way import Way
from ..domain.values import Domain, Label
from ..errors import ParameterError
from ..randomness import Keystream, Source
from .categorical import PureMechanism
from .hashing import Halves, Hashing, best_bucket_bits
from .linear import TINY
from .mechanism import Method
from .registry import register

_MOST_BUCKET_BITS = 24
_MOST_CODES = 1 << 24  # values; the table of their codes is drawn before the first report
_SPARSE = 9  # codes are sparse among more than 2^9 times as many integers
_CODES_AT_ONCE = 1 << 20  # words of which the codes are drawn


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
    counted_by = frozenset({"hash_support", "hash_support_pairs"})

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

    @cached_property
    def hashing(self) -> Hashing:
        """W, ℓ and what a report looks like."""
        bits = _bucket_bits(self.epsilon, self.domain.size, self.word_bits, self.parts)
        return Hashing(self.epsilon, self.word_bits, bits, self.parts)

    @property
    def bucket_bits(self) -> int:
        """ℓ: the power of two with the lowest total variance for which the codes fit."""
        return self.hashing.bucket_bits

    @property
    def buckets(self) -> int:
        """g, the number of buckets."""
        return self.hashing.buckets

    @property
    def p(self) -> Fraction:
        return self.hashing.p

    @property
    def q(self) -> Fraction:
        return self.hashing.q

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
        return self.hashing.layout

    @property
    def codes(self) -> NDArray[np.uint32]:
        """The public code of every value, where codes have one part."""
        return _codes(self.digest, self.domain.size, self.word_bits - self.bucket_bits)

    def codes_of(self, positions: NDArray[Any] | None) -> Halves:
        """The public codes of the values at these positions, or of all, one row for each part."""
        if self.parts == 1:
            return self.codes[None] if positions is None else self.codes[positions][None]
        some = np.arange(self.domain.size) if positions is None else positions
        halves = np.empty((2, some.size), np.uint32)
        kernels.draw.pair_codes(some, _pair_keys(self.digest), self.word_bits // 2, halves)
        return halves

    def check(self, columns: Columns) -> None:
        self.hashing.check(columns)

    def draw(self, answers: Any, source: Source) -> Columns:
        """Draw a hash, hash the answer, randomise the bucket."""
        n, blocks = self.domain.blocks(answers)
        public = self.codes if self.parts == 1 else self.codes_of
        return self.hashing.draw(n, blocks, public, source)

    def support(self, reports: Reports) -> NDArray[np.int64]:
        return np.asarray(self._support(reports, [len(reports)])[0])

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        return self._support(*sort_reports(reports, group, groups))

    def _support(self, reports: Reports, ends: Sequence[int]) -> NDArray[np.int64]:
        """Support counts of consecutive groups of reports, one row per group."""
        self.check(reports.columns)
        return self.hashing.support(reports.columns, self.codes_of(self.candidates), ends)

    def supports(self, columns: Columns, codes: NDArray[np.int64]) -> NDArray[Any]:
        return self.hashing.supports(columns, self.codes_of(codes))

    def report_names(self, reports: Reports) -> list[str]:
        rows = zip(*(column.tolist() for column in reports.columns.values()), strict=True)
        return [" ".join(map("{}={}".format, reports.columns, row)) for row in rows]

    def decode_steps(self, n: int) -> float:
        return n * self.domain.size + self.domain.size

    def tiny(self) -> Self:
        domain = Domain(min(self.domain.size, TINY))
        word_bits = 4 if self.parts == 1 else 3
        return replace(self, domain=domain, word_bits=word_bits, parts=self.parts)

    def every_report(self, way: Way | None = None) -> Reports:
        self.refuse_large(self.hashing.reports())
        return Reports(self.id, self.digest, self.hashing.every_report())


@lru_cache(maxsize=256)
def _bucket_bits(epsilon: float, size: int, word_bits: int, parts: int) -> int:
    best = best_bucket_bits(epsilon, size, min(word_bits - 1, _MOST_BUCKET_BITS))
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
    codes = (_sparse_codes if size << _SPARSE < 1 << bits else _dense_codes)(stream, size, bits)
    codes.flags.writeable = False
    return codes


def _words(stream: Keystream, many: int) -> NDArray[np.uint32]:
    words = np.empty(many, "<u4")
    stream.fill(words.view(np.uint8).data)
    return words.astype(np.uint32, copy=False)


def _sparse_codes(stream: Keystream, size: int, bits: int) -> NDArray[np.uint32]:
    """Where hardly any integer comes twice: draw a few more than are needed, and sort."""
    distinct = np.zeros(0, np.uint32)
    while distinct.size < size:
        drawn = _words(stream, size - distinct.size + (size >> _SPARSE - 1) + 16)
        pool = np.concatenate([distinct, drawn >> np.uint32(32 - bits)])
        _, first = np.unique(pool, return_index=True)
        distinct = pool[np.sort(first)]
    return distinct[:size].copy()


def _dense_codes(stream: Keystream, size: int, bits: int) -> NDArray[np.uint32]:
    """Where many come again, nearly all in the end: keep a bit for every possible one."""
    codes, seen = np.empty(size, np.uint32), np.zeros((1 << bits) // 8 + 1, np.uint8)
    number = 0
    while number < size:
        words = _words(stream, min(_CODES_AT_ONCE, size + 16))
        number = kernels.draw.first_distinct(words, 32 - bits, seen, codes, number)
    return codes
