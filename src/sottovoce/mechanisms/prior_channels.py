"""Channels for answers with a known prior, in whole numbers out of 2^128.

Most have the form Q(y|x) = κ (m_y + 1{x=y}): keep the answer with probability κ, else draw a
value with weights m_y. With E = e^ε and the prior only known as lo ≤ P ≤ hi::

    optimal           m_y = max(hi_y, 1 − E lo_y) / (E − 1),  κ = 1 / (1 + Σ m_y)
    symmetric         two values, m = (1 − a) / (E − 1), a = min(P_0, P_1):
                      both are flipped with q = (1 − a) / (E + 1 − 2a)
    jiang-theorem2    m_y = P_y / (E − 1),  κ = 1 − 1/E: leaks more for skewed priors
    opt-ldp, context-free-ldp    randomised response, m_y = 1 / (E − 1)

Rounding is always towards less information. Jiang, Li, Tandon, "Context-aware Data Aggregation
with Localized Information Privacy", Theorem 2 and Propositions 3 and 4; the optimal form holds
for every prior and any number of values, where Theorem 2 needs 1/(E+1) ≤ P ≤ E/(E+1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ..errors import ParameterError
from ..randomness import BITS, exp
from .mechanism import TOO_SMALL

WHOLE = 1 << BITS
_FINE = 4 * BITS  # bits after the point of weights, which may be as large as 2^128
_BEYOND = BITS - 32  # bits of a number that the first random word does not hold


@dataclass(frozen=True)
class IntegerChannel:
    """Q(y|x) 2^128: `rest[y]` for all x and `keep` more for y = x, or `rows[x][y]`."""

    keep: int
    rest: tuple[int, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()

    @property
    def outputs(self) -> int:
        """The number of possible reports."""
        return len(self.rest) if self.rest else len(self.rows[0])

    def law(self, x: int) -> tuple[Fraction, ...]:
        """Q(·|x), exactly."""
        if self.rows:
            return tuple(Fraction(cell, WHOLE) for cell in self.rows[x])
        return tuple(
            Fraction(cell + self.keep * (x == y), WHOLE) for y, cell in enumerate(self.rest)
        )

    def intervals(self) -> list[list[tuple[int, int]]]:
        """Per row of a drawing table: (report, size) of each interval; -1 keeps the answer."""
        if self.rows:
            return [list(enumerate(row)) for row in self.rows]
        return [[(-1, self.keep), *enumerate(self.rest)]]


def mixing(fractions: Sequence[Fraction]) -> IntegerChannel:
    """The most informative channel Q = κ (m_y + 1{x=y}) in 128 bits, for weights m."""
    weights = [-(-(fraction.numerator << _FINE) // fraction.denominator) for fraction in fractions]
    total = (1 << _FINE) + sum(weights)
    keep = ((WHOLE - 2 * len(fractions) - 2) << _FINE) // total
    # Rounded up, and one more for the digits of e^ε: never less noise than asked for.
    rest = [-(-(keep * weight) >> _FINE) + 1 for weight in weights]
    rest[0] += WHOLE - keep - sum(rest)
    return IntegerChannel(keep, tuple(rest))


@lru_cache(maxsize=256)
def designed(
    variant: str, epsilon: float, low: tuple[Fraction, ...], high: tuple[Fraction, ...]
) -> IntegerChannel:
    """The channel of a variant that needs no optimisation."""
    power, d = exp(epsilon), len(low)
    gain = power - 1
    if gain <= 0:
        raise ParameterError(TOO_SMALL.format(epsilon=epsilon))
    if variant in ("opt-ldp", "context-free-ldp"):
        weights = [1 / gain] * d
    elif variant == "optimal":
        weights = [max(hi, 1 - power * lo) / gain for lo, hi in zip(low, high, strict=True)]
    elif variant == "jiang-theorem2":
        if min(low) == 0:
            raise ParameterError(
                "the prior contains 0, and there the published channel distinguishes answers with "
                "certainty; use variant 'optimal'"
            )
        weights = [p / gain for p in low]
    elif d != 2:
        raise ParameterError(f"variant 'symmetric' is for two values; {d} were given")
    else:  # q / (1 − 2q) for the flip q = (1 − a) / (E + 1 − 2a)
        weights = [(1 - min(low)) / gain] * 2
    channel = mixing(weights)
    if channel.keep <= 0:
        raise ParameterError(TOO_SMALL.format(epsilon=epsilon))
    return channel


def exact_lip(channel: IntegerChannel, prior: Sequence[Fraction]) -> Fraction:
    """max over x, y of Q(y|x) / λ_y and λ_y / Q(y|x), in fractions."""
    if channel.rest:
        columns = [
            (rest + channel.keep * p, rest + channel.keep, rest)
            for p, rest in zip(prior, channel.rest, strict=True)
        ]
    else:
        columns = [
            (sum(p * q for p, q in zip(prior, column, strict=True)), max(column), min(column))
            for column in zip(*channel.rows, strict=True)
        ]
    if min(least for _, _, least in columns) == 0:
        raise ParameterError(
            "a report that some answers can never give distinguishes them with certainty"
        )
    return max(max(Fraction(most) / seen, seen / least) for seen, most, least in columns)


def drawing_tables(channel: IntegerChannel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(table, upper, lower) for `kernels.draw.table_response`, exact to the last bit."""
    from ..kernels.draw.tables import KEEP  # not before a kernel is used: it loads the compiler

    rows = channel.intervals()
    bits = max(1, (len(rows[0]) - 1).bit_length())
    shape = (len(rows), 1 << bits)
    table, upper, lower = (np.empty(shape, np.uint64) for _ in range(3))
    for r, row in enumerate(rows):
        for cell, (bound, *reports) in enumerate(pairs(row, bits)):
            below, other = (KEEP if report < 0 else report for report in reports)
            table[r, cell] = bound >> _BEYOND << 32 | below << 16 | other
            upper[r, cell] = bound >> 32 & (2**64 - 1)
            lower[r, cell] = bound & (2**32 - 1)
    return table, upper, lower


def pairs(row: Sequence[tuple[int, int]], bits: int) -> list[tuple[int, int, int]]:
    """Outcomes of exact sizes as 2^bits equal cells of at most two each: (bound, one, other).

    Walker's alias method (Vose 1991): a cell takes all of an outcome that does not fill it, and
    the rest of the cell from one that does.
    """
    cell = WHOLE >> bits
    outcomes = [*row, *[(row[0][0], 0)] * ((1 << bits) - len(row))]
    small = [(report, size) for report, size in outcomes if size < cell]
    large = [(report, size) for report, size in outcomes if size >= cell]
    cells = []
    while small:
        (report, size), (other, rest) = small.pop(), large.pop()
        cells.append((size, report, other))
        left = rest - (cell - size)
        (small if left < cell else large).append((other, left))
    return cells + [(cell, report, report) for report, _ in large]
