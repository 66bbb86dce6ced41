"""Entropy is an argument. This is the one module that creates it.

`SYSTEM` is a bulk keystream (AES-128 in counter mode) under a key from the operating system. Every
release takes a new key, and so does every thread of a large one. It keeps no state between calls,
so that nothing is left to repeat when a process is copied (a fork in C, a snapshot of a virtual
machine, CRIU). Everything drawn from a source is exact: a Bernoulli compares random bits with a
128-bit threshold, a uniform integer rejects.

Speed: a keystream into a reused buffer, without the interpreter's lock (`keystream`). Fresh large
buffers are several times slower because the system has to map and clear their pages.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .errors import ParameterError, SeededError
from .keystream import AnyKeystream, fastest_keystream
from .keystream import Keystream as Keystream
from .parallel import buffer_factor, over_ranges

T = TypeVar("T")

BITS = 128
_DIGITS = 80  # decimal digits of e^x: 2^-128 is about 3e-39
_SLACK = Fraction(1, 10**70)
_KEY_BYTES = 16
_FEW_BYTES = 2048
_EXTRA_WORDS = 4096
_PLANES = 9  # bit planes drawn for every lane; one word in eight then has an undecided lane
_BUFFER_WORDS = _PLANES * 4096  # 288 KiB of keystream at a time


@dataclass(frozen=True, slots=True)
class Probability:
    """An exact probability numerator / 2^128, strictly between 0 and 1."""

    numerator: int
    #: The exact value; computed once, because estimates, variances and channels all read it.
    fraction: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.numerator < 1 << BITS:
            raise ParameterError(
                f"a probability of {self.numerator}/2^{BITS} cannot be drawn; it must lie strictly "
                "between 0 and 1, so the epsilon is too small or too large for 128 bits"
            )
        object.__setattr__(self, "fraction", Fraction(self.numerator, 1 << BITS))

    @classmethod
    def at_most(cls, value: Fraction) -> Probability:
        """A drawable probability certainly not above the number that `value` was computed for."""
        return cls(math.floor(value * (1 - _SLACK) * (1 << BITS)))

    @classmethod
    def at_least(cls, value: Fraction) -> Probability:
        """A drawable probability certainly not below the number that `value` was computed for."""
        return cls(math.ceil(value * (1 + _SLACK) * (1 << BITS)))

    @property
    def words(self) -> tuple[np.uint64, np.uint64]:
        """Upper and lower 64 bits."""
        return np.uint64(self.numerator >> 64), np.uint64(self.numerator & 0xFFFFFFFFFFFFFFFF)


@lru_cache(maxsize=256)
def exp(x: float | Fraction) -> Fraction:
    """e^x to 80 digits, for an exact x (a float is taken at its exact value).

    A fraction, because arithmetic on it is exact whatever the decimal context of the caller: the
    only error is that of the 80 digits, and `Probability` rounds away more than that.
    """
    context = Context(prec=_DIGITS)
    exact = Fraction(x)
    quotient = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return Fraction(context.exp(quotient))


class Source(ABC):
    """Where random bits come from."""

    #: True for reproducible sources: their reports are marked and carry no guarantee.
    seeded: bool = False

    @abstractmethod
    def _fill(self, target: memoryview) -> None: ...

    def fill(self, array: NDArray[Any]) -> None:
        """Overwrite a contiguous array with random bytes."""
        self._fill(array.reshape(-1).view(np.uint8).data)

    def draws(self) -> Draws:
        """Bulk draws with reused buffers, for one call of one thread; never kept for another."""
        return Draws(self)

    def over_ranges(
        self, action: Callable[[Draws, slice], T], size: int, *, work: int, multiple: int = 1
    ) -> list[T]:
        """Call `action` with draws of its own on slices that cover 0..size; see `parallel`.

        A source that has an order is read in it, by one thread.
        """
        return [action(self.draws(), slice(0, size))]

    def bernoulli(self, probability: Probability, n: int) -> NDArray[np.uint8]:
        """At least n independent bits, each 1 with exactly `probability`, least significant first.

        The array is padded to whole 64-bit words; bits from n on are random as well.
        """
        return self.draws().coins(probability, n)

    def below(self, bound: int, n: int) -> NDArray[np.uint32]:
        """n independent integers, exactly uniform on 0..bound-1."""
        if not 1 <= bound <= 1 << 32:
            raise ParameterError(f"bound is {bound}; allowed are 1 to 2^32")
        out = np.empty(n, np.uint32)

        def step(words: NDArray[Any], part: slice, extra: NDArray[np.uint64], used: int) -> Any:
            return kernels.draw.below(words, np.uint64(bound), out[part], extra, used)

        self.draws().each(n, np.uint64, step)
        return out


class Draws:
    """Feeds kernels with random words from buffers that stay in the cache.

    `_extra` is a reserve of words for rare redraws. A kernel that exhausts it stops early and is
    called again for the rest with a fresh one.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._undecided = np.empty(0, np.uint64)
        self.lengthen(1)

    def lengthen(self, factor: int) -> None:
        """Take so many times more words at a time."""
        self._words = np.empty(factor * _BUFFER_WORDS, np.uint64)
        self._extra = np.empty(factor * _EXTRA_WORDS, np.uint64)
        self._used = self._extra.size

    def fill(self, array: NDArray[Any]) -> None:
        """Overwrite a contiguous array with random bytes."""
        self._source.fill(array)

    def bernoulli(self, probability: Probability, lanes: NDArray[np.uint64]) -> None:
        """Overwrite every bit of `lanes` with an independent one that is 1 with `probability`."""
        upper, lower = probability.words
        planes = min(_PLANES, _significant_bits(probability.numerator))
        size = self._words.size // planes
        if self._undecided.size < min(size, lanes.size):
            self._undecided = np.empty(min(size, lanes.size), np.uint64)
        for start in range(0, lanes.size, size):
            out = lanes[start : start + size]
            words = self._words[: planes * out.size]
            ties = self._undecided[: out.size]
            self._source.fill(words)
            done, self._used = kernels.draw.bernoulli(
                words, planes, upper, lower, out, ties, self._extra, self._used
            )
            while done < out.size:
                self._source.fill(self._extra)
                done, self._used = kernels.draw.settle(
                    out, ties, planes, upper, lower, done, self._extra, 0
                )

    def coins(self, probability: Probability, n: int) -> NDArray[np.uint8]:
        """At least n such bits in bytes, least significant first; the rest is random as well."""
        lanes = np.empty((n + 63) // 64, np.uint64)
        self.bernoulli(probability, lanes)
        return lanes.view(np.uint8)

    def each(
        self,
        n: int,
        word: type[np.uint16] | type[np.uint32] | type[np.uint64],
        step: Callable[[NDArray[Any], slice, NDArray[np.uint64], int], tuple[int, int]],
        *,
        width: int = 1,
    ) -> None:
        """Run a kernel that takes `width` random words per item over n items.

        `step(words, part, extra, used)` handles the items in `part` and returns how many it
        finished and how much of `extra` is used.
        """
        buffer = self._words.view(word)
        size = buffer.size // width
        for start in range(0, n, size):
            stop = min(start + size, n)
            words = buffer[: (stop - start) * width]
            self._source.fill(words)
            done, self._used = step(words, slice(start, stop), self._extra, self._used)
            while start + done < stop:
                self._source.fill(self._extra)
                part = slice(start + done, stop)
                more, self._used = step(words[done * width :], part, self._extra, 0)
                done += more

    def until_done(
        self, n: int, step: Callable[[int, NDArray[np.uint64], int], tuple[int, int]]
    ) -> None:
        """Run a kernel that draws as many words as it needs: `step(done, extra, used)`."""
        done, self._used = step(0, self._extra, self._used)
        while done < n:
            self._source.fill(self._extra)
            done, self._used = step(done, self._extra, 0)


def _significant_bits(numerator: int) -> int:
    """How many of the 128 bits, from the top, are needed before only zeros follow."""
    return BITS - ((numerator & -numerator).bit_length() - 1)


class SystemSource(Source):
    """Cryptographic randomness from a new key of the operating system for every call.

    It has no state of its own: threads, forked children and copies of a process share nothing.
    """

    def _fill(self, target: memoryview) -> None:
        Keystream(os.urandom(_KEY_BYTES)).fill(target)

    def draws(self) -> Draws:
        return Draws(_OneRelease())

    def over_ranges(
        self, action: Callable[[Draws, slice], T], size: int, *, work: int, multiple: int = 1
    ) -> list[T]:
        def some(part: slice) -> T:
            draws = self.draws()  # a key for every thread
            draws.lengthen(buffer_factor(part, size))
            return action(draws, part)

        return over_ranges(some, size, work=work, multiple=multiple)

    def __repr__(self) -> str:
        return "SYSTEM"


class _OneRelease(Source):
    """The system's randomness for one call of one thread.

    A few bytes come from the operating system itself, which is faster than setting up a cipher for
    them; the first larger request takes a key.
    """

    def __init__(self) -> None:
        self._stream: AnyKeystream | None = None

    def _fill(self, target: memoryview) -> None:
        if len(target) <= _FEW_BYTES:
            target[:] = os.urandom(len(target))
            return
        if self._stream is None or self._stream.left < len(target):
            self._stream = fastest_keystream(os.urandom(_KEY_BYTES))
        self._stream.fill(target)


SYSTEM = SystemSource()


def source_of(source: Source | None) -> Source:
    """The source that was given, or the system's."""
    if source is None:
        return SYSTEM
    if not isinstance(source, Source):
        raise ParameterError(
            f"source is {source!r}; leave it out for real people, and in tests take one from "
            "`with sottovoce.testing.seeded(...)`"
        )
    return source


_seeded_allowed: ContextVar[bool] = ContextVar("seeded_allowed", default=False)


@contextmanager
def allow_seeded() -> Iterator[None]:
    """Accept seeded reports inside this block. Only `sottovoce.testing` opens it."""
    token = _seeded_allowed.set(True)
    try:
        yield
    finally:
        _seeded_allowed.reset(token)


def refuse_seeded(what: str) -> None:
    """Raise unless `sottovoce.testing` has opened the door to reproducible randomness."""
    if not _seeded_allowed.get():
        raise SeededError(
            f"{what} drawn from a seed: anyone who knows the seed can undo the randomisation, so "
            "there is no privacy. Seeded reports are for tests, inside "
            "`with sottovoce.testing.seeded(...)`; for real people leave `source` out"
        )
