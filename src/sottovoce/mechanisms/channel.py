"""The exact law of a report given the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..accounting.information import lip_level
from ..domain.values import Label
from ..estimate.intervals import Floats
from ..randomness import Probability, exp


@dataclass(frozen=True)
class Channel:
    """The exact law of a report given the answer.

    Attributes
    ----------
    inputs : sequence
        Answers, one per row.
    outputs : sequence of str
        Reports, one per column.
    exact : tuple of tuples of Fraction
        P(output | input).
    """

    inputs: Sequence[Label]
    outputs: Sequence[str]
    exact: tuple[tuple[Fraction, ...], ...]

    @property
    def matrix(self) -> Floats:
        """P(output | input) as floats; rows are inputs and sum to one."""
        return np.array([[float(cell) for cell in row] for row in self.exact])

    def epsilon(self) -> float:
        """The smallest epsilon for which the channel is locally differentially private."""
        worst = Fraction(1)
        for column in zip(*self.exact, strict=True):
            if min(column) == 0:
                if max(column) > 0:
                    return math.inf
                continue
            worst = max(worst, max(column) / min(column))
        context = Context(prec=60)
        ratio = context.divide(Decimal(worst.numerator), Decimal(worst.denominator))
        return float(context.ln(ratio))

    def level(self, prior: ArrayLike) -> float:
        """Localised information privacy at a prior; see `accounting.information.lip_level`."""
        return lip_level(self.matrix, prior)


@lru_cache(maxsize=1024)
def set_probability(epsilon: float, size: int, others: int) -> Probability:
    """s e^ε / (s e^ε + others), rounded down: that a report is one of the s the answer prefers."""
    power = size * exp(epsilon)
    return Probability.at_most(power / (power + others))


def set_row(p: Fraction, inside: Sequence[int]) -> tuple[Fraction, ...]:
    """Probabilities of reports: p divided among those in a set, the rest among the others."""
    many = sum(inside)
    laws = (1 - p) / (len(inside) - many), p / many
    return tuple(laws[bool(cell)] for cell in inside)
