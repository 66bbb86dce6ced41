"""What the laws are tested on: one line per registered mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sottovoce import GRR, OUE, Mechanism

SIZES = (2, 3, 4, 100)
EPSILONS = (1e-6, 0.1, 1.0, 4.0, 20.0)


@dataclass(frozen=True)
class Entry:
    """A mechanism, and how to read its realised privacy ratio off p and q at any size.

    `ratio` is the largest P(y|x) / P(y|x'), which `channel()` gives only where it is small.
    """

    kind: type[Mechanism]
    ratio: Callable[[Any], Fraction]
    sizes: tuple[int, ...] = SIZES
    epsilons: tuple[float, ...] = EPSILONS

    def mechanisms(self) -> list[Mechanism]:
        """Several versions, as people would make them."""
        return [self.kind(d, epsilon=e) for d in self.sizes for e in self.epsilons]


ENTRIES = [
    Entry(GRR, ratio=lambda m: m.p / m.q),
    Entry(OUE, ratio=lambda m: m.p * (1 - m.q) / (m.q * (1 - m.p))),
]


def name(mechanism: Mechanism) -> str:
    """For the test's id."""
    return f"{mechanism.id}-{mechanism.domain.size}-{mechanism.epsilon:g}"


MECHANISMS = [mechanism for entry in ENTRIES for mechanism in entry.mechanisms()]
TINY = [mechanism.tiny() for mechanism in MECHANISMS]
