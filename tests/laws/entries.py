"""What the laws are tested on: one line per registered mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sottovoce import GRR, OLH, OUE, SUE, HadamardResponse, Mechanism, SubsetSelection

SIZES = (2, 3, 4, 100)
EPSILONS = (1e-6, 0.1, 1.0, 4.0, 20.0)


def kept(p: Fraction, others: int, inside: int = 1) -> Fraction:
    """Ratio of a uniform choice: p over `inside` outputs, the rest over `others` of them."""
    return p * others / ((1 - p) * inside)


def bits(p: Fraction, q: Fraction) -> Fraction:
    """Ratio of independent bits: the truth's is set and another's is not."""
    return p * (1 - q) / (q * (1 - p))


@dataclass(frozen=True)
class Entry:
    """A mechanism, and how to read its realised privacy ratio off its probabilities at any size.

    `ratio` is the largest P(y|x) / P(y|x'), which `channel()` gives only where it is small.
    `exact_pairs` is False where the covariance off the diagonal is declared an idealisation.
    """

    kind: type[Mechanism]
    ratio: Callable[[Any], Fraction]
    exact_pairs: bool = True
    sizes: tuple[int, ...] = SIZES
    epsilons: tuple[float, ...] = EPSILONS

    def mechanisms(self) -> list[Mechanism]:
        """Several versions, as people would make them."""
        return [self.kind(d, epsilon=e) for d in self.sizes for e in self.epsilons]


ENTRIES = [
    Entry(GRR, lambda m: kept(m.p, m.domain.size - 1)),
    Entry(HadamardResponse, lambda m: kept(m.inside.fraction, 2 * m.blocks - 1)),
    Entry(OLH, lambda m: kept(m.p, m.buckets - 1), exact_pairs=False),
    Entry(OUE, lambda m: bits(m.p, m.q)),
    Entry(SubsetSelection, lambda m: kept(m.p, m.domain.size - m.omega, m.omega)),
    Entry(SUE, lambda m: bits(m.p, m.q)),
]

IDEALISED_PAIRS = frozenset(entry.kind.id for entry in ENTRIES if not entry.exact_pairs)


def name(mechanism: Mechanism) -> str:
    """For the test's id."""
    return f"{mechanism.id}-{mechanism.domain.size}-{mechanism.epsilon:g}"


MECHANISMS = [mechanism for entry in ENTRIES for mechanism in entry.mechanisms()]
TINY = list(dict.fromkeys(mechanism.tiny() for mechanism in MECHANISMS))
