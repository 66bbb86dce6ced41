"""Probabilities that are known to any number of bits, and coins that have exactly them.

A coin with probability p is a random number U in [0, 1) with U < p. U is drawn 64 bits at a time
and compared with the bits of p; only when they tie, with probability 2^−64 per word, are more bits
of either needed. e^−x and 1/(1 + e^x) of a rational x > 0 are irrational, so that enough digits
always decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..randomness import Source

Enclosure = Callable[[int], tuple[Fraction, Fraction]]

_WORD = 64
_LARGEST = (1 << _WORD) - 1
_DIGITS_PER_BIT = math.log10(2)


class Chance:
    """A probability from 0 to 1 of which any number of bits can be had.

    `enclose` goes from a number of decimal digits to two bounds around it, about so close.
    """

    def __init__(self, enclose: Enclosure) -> None:
        self._enclose = enclose
        self._known: dict[int, int] = {}

    def bits(self, n: int) -> int:
        """The largest integer not above p 2^n: the first n bits of p."""
        if n not in self._known:
            digits = math.ceil(n * _DIGITS_PER_BIT) + 10
            while True:
                low, high = (math.floor(bound * (1 << n)) for bound in self._enclose(digits))
                if low == high:
                    break
                digits *= 2
            self._known[n] = low
        return self._known[n]

    def settle(self, drawn: int, source: Source) -> bool:
        """Whether U < p for a U whose first 64 bits are drawn and do not differ from those of p."""
        n, more = _WORD, np.empty(1, np.uint64)
        while (target := self.bits(n)) == drawn:
            source.fill(more)
            drawn, n = drawn << _WORD | int(more[0]), n + _WORD
        return drawn < target


@lru_cache(maxsize=4096)
def rational(p: Fraction) -> Chance:
    """A rational probability."""
    if not 0 <= p <= 1:
        raise ParameterError(f"a probability of {p} cannot be drawn; it must be from 0 to 1")
    return Chance(lambda digits: (p, p))


@lru_cache(maxsize=65536)
def exponential(x: Fraction) -> Chance:
    """The probability e^−x, for x from 0 on."""
    if x < 0:
        raise ParameterError(f"e^-x with x = {x} is no probability; x must be from 0 on")
    return rational(Fraction(1)) if x == 0 else Chance(lambda digits: _exp(x, digits))


@lru_cache(maxsize=4096)
def logistic(x: Fraction) -> Chance:
    """The probability 1/(1 + e^x), for x from 0 on."""

    def enclose(digits: int) -> tuple[Fraction, Fraction]:
        low, high = _exp(x, digits)
        return low / (1 + low), high / (1 + high)

    return Chance(enclose)


def flips(chances: Sequence[Chance], which: NDArray[np.intp], source: Source) -> NDArray[np.bool_]:
    """One coin for every entry of `which`, with the probability that it points to."""
    words = np.empty(which.size, np.uint64)
    source.fill(words)
    targets = np.array([min(chance.bits(_WORD), _LARGEST) for chance in chances], np.uint64)[which]
    heads = words < targets
    for i in np.flatnonzero(words == targets):
        heads[i] = chances[which[i]].settle(int(words[i]), source)
    return heads


def _exp(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Two numbers around e^−x.

    The quotient x has a relative error of 10^−digits, which e^−x multiplies by x; `decimal` rounds
    e^−x correctly.
    """
    more = digits + 2 * len(str(math.ceil(x)))
    context = Context(prec=more, Emin=-999_999, Emax=999_999, traps=[])
    # The sign belongs to the exact numerator: a minus before the quotient would round to 28 digits.
    quotient = context.divide(Decimal(-x.numerator), Decimal(x.denominator))
    value = Fraction(context.exp(quotient))
    if not value:  # e^−x underflowed: it lies below every number that is ever compared with it
        return Fraction(0), Fraction(1, 1 << 1_000_000)
    slack = (x + 2) / Fraction(10) ** (more - 1)
    return value * (1 - slack), value * (1 + slack)
