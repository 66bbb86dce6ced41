"""Discrete Laplace noise that nobody draws: coins of geometric numbers, compared in secret.

A geometric number with P(k) = (1 − α) α^k has independent binary digits, digit j being 1 with
probability α^{2^j}/(1 + α^{2^j}) = 1/(1 + e^{2^j/b}), α = e^{−1/b}; the difference of two of them
is discrete Laplace noise of scale b. Only the first J digits are drawn, and each probability is
rounded to `precision` bits, so that the law differs from the exact one by at most

    η = cells (2 e^{−2^J/b} + 2 J 2^{−precision−1})

in total variation. What is ε-DP under the exact law is (ε, (1 + e^ε) η)-DP under this one. J and
the precision are the smallest for which each of the two terms is at most 2^−67.

Papers: "Marginal release under multi-party personalized differential privacy", DLNG;
`party-marginals.md` (i)(B).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ..checks import float_above
from ..randomness import exp

_MISS = Fraction(1, 1 << 67)


@dataclass(frozen=True)
class Coins:
    """The coins of one release's noise.

    Examples
    --------
    >>> coins = Coins(8, Fraction(20))
    >>> coins.count, coins.precision, coins.miss < 2**-65
    (10, 74, True)
    """

    cells: int  # how many numbers
    scale: Fraction  # b

    @cached_property
    def count(self) -> int:
        """J, the number of digits."""
        digits = 1
        while 2 * self.cells * exp(Fraction(-(1 << digits)) / self.scale) > _MISS:
            digits += 1
        return digits

    @cached_property
    def precision(self) -> int:
        """Bits of each probability."""
        return 67 + math.ceil(math.log2(self.cells * self.count))

    @cached_property
    def digits(self) -> tuple[int, ...]:
        """Every digit's probability times 2^precision, rounded to the nearest."""
        whole = 1 << self.precision
        ratios = (exp(Fraction(1 << j) / self.scale) for j in range(self.count))
        return tuple(round(whole / (1 + ratio)) for ratio in ratios)

    @property
    def miss(self) -> float:
        """η, rounded up."""
        tail = 2 * exp(Fraction(-(1 << self.count)) / self.scale)
        coins = Fraction(2 * self.count, 1 << (self.precision + 1))
        return float_above(self.cells * (tail + coins))

    @property
    def reach(self) -> int:
        """The largest noise there is."""
        return (1 << self.count) - 1


def delta(epsilon: Fraction, noises: tuple[Coins, ...]) -> float:
    """(1 + e^ε) η over all releases, rounded up."""
    total = sum((Fraction(noise.miss) for noise in noises), Fraction(0))
    return float_above((1 + exp(epsilon)) * total * (1 + Fraction(1, 1 << 60)))
