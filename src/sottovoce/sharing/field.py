"""Prime fields that are large enough by construction, and their uniform elements.

Elements are uint64 arrays with values 0 … q − 1, q an odd prime below 2^62. A total is decoded to
the one integer of its range `low` … `low` + q − 1 that it can be: since q exceeds the width of the
range, nothing wraps around.

Uniform    a word w of 32 bits (64 where q > 2^32) gives ⌊w q / 2^32⌋; where w q mod 2^32 is below
           2^32 mod q the word is left out (Lemire 2019, arXiv:1805.10941). Exactly uniform
Primes     Miller and Rabin with the first twelve primes, which is a proof below 3.1e23
           (Sorenson, Webster 2015, arXiv:1509.00864)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import checked_count
from ..errors import ParameterError, ShareError
from ..noise import Law
from ..randomness import Source, source_of

Elements = NDArray[np.uint64]

_MOST_MODULUS = 1 << 62
_SMALL = 1 << 32
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
_CHUNK = 1 << 16
_WRAP = 2.0**-100  # probability that unbounded noise leaves the range


@dataclass(frozen=True, slots=True)
class PrimeField:
    """The integers modulo a prime q, and the range of totals that its elements stand for.

    Examples
    --------
    >>> field = PrimeField.covering(-3, 5)
    >>> field.modulus, field.decode(field.encode([-3, 0, 5])).tolist()
    (11, [-3, 0, 5])
    """

    modulus: int  # an odd prime below 2^62
    low: int = 0  # the smallest total; the largest is low + q − 1

    def __post_init__(self) -> None:
        q = checked_count(self.modulus, "modulus", 3)
        if q >= _MOST_MODULUS or not is_prime(q):
            raise ParameterError(f"modulus is {q}; it must be an odd prime below 2^62")
        if not -_MOST_MODULUS < self.low <= 0:
            raise ParameterError(f"low is {self.low}; it must be between -2^62 and 0")

    @classmethod
    def covering(cls, low: int, high: int) -> PrimeField:
        """The smallest field in which every total from `low` ≤ 0 to `high` ≥ 0 is distinct."""
        if not low <= 0 <= high:
            raise ParameterError(f"totals from {low} to {high} do not contain 0")
        return cls(smallest_prime_above(max(high - low, 2)), low)

    @classmethod
    def for_total(
        cls, people: int, *, multiplicity: int = 1, noise: Law | None = None, draws: int = 1
    ) -> PrimeField:
        """The field for a count over `people`, each adding 0 to `multiplicity`, plus noise.

        So many independent `draws` of the noise are added to one cell. For noise with a bound no
        total can leave the range. Noise without one leaves it with probability at most 2^−100 per
        cell; privacy does not depend on it.
        """
        most = checked_count(people, "people", 1) * checked_count(multiplicity, "multiplicity", 1)
        if noise is None:
            return cls.covering(0, most)
        draws = checked_count(draws, "draws", 1)
        if noise.support is not None:
            least, largest = noise.support
            return cls.covering(min(0, draws * least), most + max(0, draws * largest))
        reach = draws * (noise.reach(_WRAP / draws) + math.ceil(abs(noise.mean)))
        return cls.covering(-reach, most + reach)

    @property
    def high(self) -> int:
        """The largest total."""
        return self.low + self.modulus - 1

    @property
    def element_bytes(self) -> int:
        """Bytes of one element on the wire."""
        return 4 if self.modulus <= _SMALL else 8

    @property
    def word(self) -> np.uint64:
        """q as the kernels take it."""
        return np.uint64(self.modulus)

    @property
    def negative_inverse(self) -> np.uint64:
        """−1/q mod 2^64, for Montgomery's product."""
        return np.uint64(-pow(self.modulus, -1, 1 << 64) % (1 << 64))

    def prepared(self, numbers: list[int]) -> Elements:
        """Constants as Montgomery's product takes them: x 2^64 mod q."""
        return np.array([(x << 64) % self.modulus for x in numbers], np.uint64)

    def encode(self, values: ArrayLike) -> Elements:
        """Integers as elements."""
        integers = np.asarray(values)
        if integers.size and not np.issubdtype(integers.dtype, np.integer):
            raise ParameterError(
                f"values are of type {integers.dtype}; only integers can be shared"
            )
        if integers.size and not (self.low <= integers.min() and integers.max() <= self.high):
            raise ParameterError(
                f"values go from {integers.min()} to {integers.max()}; this field holds "
                f"{self.low} to {self.high}"
            )
        return np.mod(integers.astype(np.int64), self.modulus).astype(np.uint64)

    def decode(self, elements: ArrayLike) -> NDArray[np.int64]:
        """The totals that elements stand for, in the range `low` to `high`."""
        integers = self.check(elements).astype(np.int64)
        return np.where(integers > self.high, integers - self.modulus, integers)

    def check(self, elements: ArrayLike) -> Elements:
        """The same as a contiguous array; refused where something is not an element."""
        array = np.asarray(elements)
        if array.dtype != np.uint64:
            raise ShareError(f"shares are of type {array.dtype}; elements of a field are uint64")
        outside = array >= self.word
        if outside.any():
            where = tuple(int(i) for i in np.argwhere(outside)[0])
            raise ShareError(
                f"the share at {where} is {int(array[where])}, which is no element of the integers "
                f"modulo {self.modulus}"
            )
        return np.ascontiguousarray(array)

    def uniform(self, shape: int | tuple[int, ...], source: Source | None = None) -> Elements:
        """Independent elements, exactly uniform."""
        random = source_of(source)
        size = int(np.prod(shape))
        drawn = np.empty(size, np.uint64)
        done = 0
        while done < size:
            words = np.empty((1, min(size - done, _CHUNK)), f"u{self.element_bytes}")
            random.fill(words)
            part = drawn[None, done : done + words.shape[1]]
            done += int(self.elements(words, part)[0])
        return drawn.reshape(shape)

    def elements(self, words: NDArray[Any], out: Elements) -> NDArray[np.int64]:
        """Fill rows of `out` from rows of uniform words; how many elements each row got."""
        from ..kernels import field as kernel

        small = self.modulus <= _SMALL
        fill = kernel.elements32 if small else kernel.elements64
        limit = np.uint64((1 << 32 if small else 1 << 64) % self.modulus)
        counts: NDArray[np.int64] = fill(words, self.word, limit, out)
        return counts

    def add_rows(self, rows: Elements, total: Elements | None = None) -> Elements:
        """The sum of the rows of a matrix, onto `total` where it is given."""
        from ..kernels import field as kernel

        result = np.zeros(rows.shape[1], np.uint64) if total is None else total
        kernel.add_rows(rows, self.word, result)
        return result


def smallest_prime_above(n: int) -> int:
    """The smallest prime above n.

    Examples
    --------
    >>> smallest_prime_above(1000)
    1009
    """
    candidate = max(n + 1, 2)
    while not is_prime(candidate):
        candidate += 1
    return candidate


def is_prime(n: int) -> bool:
    """Whether n < 3.1e23 is prime; exact."""
    if n < 2:
        return False
    for p in _WITNESSES:
        if n % p == 0:
            return n == p
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _WITNESSES:
        x = pow(witness, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True
