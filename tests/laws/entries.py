"""What the laws are tested on: one line per registered mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sottovoce import (
    GRR,
    LIP,
    OLH,
    OUE,
    SUE,
    HadamardResponse,
    HeavyHitters,
    Mechanism,
    ProjectiveGeometryResponse,
    Range,
    Records,
    SubsetSelection,
)
from sottovoce.contract.collection import Collection
from sottovoce.mechanisms import Duchi, Hybrid, Piecewise
from sottovoce.mechanisms.categorical import PureMechanism
from sottovoce.mechanisms.numeric import NumericMechanism

EPSILONS = (1e-6, 0.1, 1.0, 4.0, 20.0)
SIZES = (2, 3, 4, 100)
RANGES = ((0, 1), (-5.0, 10.0))


def kept(p: Fraction, others: int, inside: int = 1) -> Fraction:
    """Ratio of a uniform choice: p over `inside` outputs, the rest over `others` of them."""
    return p * others / ((1 - p) * inside)


def bits(p: Fraction, q: Fraction) -> Fraction:
    """Ratio of independent bits: the truth's is set and another's is not."""
    return p * (1 - q) / (q * (1 - p))


def windows(mechanism: Any) -> Fraction:
    """Ratio of the worst grid of a mechanism for numbers."""
    grids = mechanism.grids.values()
    return max(kept(grid.inside.fraction, grid.steps, grid.window) for grid in grids)


@dataclass(frozen=True)
class Entry:
    """A mechanism, and how to read its realised privacy ratio off its probabilities at any size.

    `ratio` is the largest P(y|x) / P(y|x'), which `channel()` gives only where it is small.
    `exact_pairs` is False where the covariance off the diagonal is declared an idealisation.
    """

    kind: type[Mechanism]
    ratio: Callable[[Any], Fraction]
    domains: tuple[Any, ...] = SIZES
    exact_pairs: bool = True
    most_values: int = 1 << 31
    more: tuple[Mechanism, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether answers are numbers between bounds rather than values of a list."""
        return issubclass(self.kind, NumericMechanism)

    def mechanisms(self) -> list[Mechanism]:
        """Several versions, as people would make them."""
        return [*(self.kind(d, epsilon=e) for d in self.domains for e in EPSILONS), *self.more]


def mixed(mechanism: Any) -> Fraction:
    """Ratio of a mixture: the least likely report, from whoever it tells the truth of."""
    return 1 + Fraction(mechanism.integers.keep, min(mechanism.integers.rest))


PRIORS: tuple[dict[str, Any], ...] = (
    {"domain": 2, "prior": 0.1},
    {"domain": 2, "prior": 0},
    {"prior": [0.5, 0.3, 0.2]},
    {"prior": [0.0, 0.9, 0.0, 0.1]},
    {"prior": [0.97, 0.01, 0.01, 0.01]},
    {"prior_low": [0.05, 0.5], "prior_high": [0.3, 0.95]},
    {"prior_low": [0.1, 0.0, 0.2, 0.0], "prior_high": [0.6, 0.5, 0.2, 1.0]},
)
VARIANTS: tuple[dict[str, Any], ...] = (
    {"domain": 2, "prior": 0.01, "variant": "symmetric"},
    {"prior": [0.2, 0.3, 0.5], "variant": "opt-ldp"},
    {"prior": [0.2, 0.3, 0.5], "variant": "context-free-ldp"},
    {"domain": 2, "prior": 0.01, "variant": "jiang-theorem2"},
    {"prior": [0.4, 0.3, 0.2, 0.1], "variant": "mmse-optimal"},
    {"prior": [0.9, 0.05, 0.05], "variant": "mmse-optimal"},
    {"prior": [0.4, 0.3, 0.2, 0.1], "variant": "a-optimal"},
    {"prior": [0.0, 0.3, 0.6, 0.1], "variant": "a-optimal"},
)
LIPS = (
    *(LIP(**known, epsilon=e) for known in PRIORS for e in EPSILONS),
    *(LIP(**known, epsilon=e) for known in VARIANTS for e in (0.1, 1.0, 4.0)),
)

#: Codes of two halves, as above 2^24 values.
PAIRED = tuple(OLH(17, epsilon=e, parts=2) for e in (0.1, 4.0))

ENTRIES = [
    Entry(GRR, lambda m: kept(m.p, m.domain.size - 1)),
    Entry(HadamardResponse, lambda m: kept(m.inside.fraction, 2 * m.blocks - 1)),
    Entry(LIP, mixed, most_values=1 << 14, more=LIPS),
    Entry(OLH, lambda m: kept(m.p, m.buckets - 1), exact_pairs=False, more=PAIRED),
    Entry(OUE, lambda m: bits(m.p, m.q), most_values=1 << 24),
    Entry(
        ProjectiveGeometryResponse,
        lambda m: kept(m.p, m.cells - m.set_size, m.set_size),
        most_values=(1 << 26) - 1,
    ),
    Entry(
        SubsetSelection,
        lambda m: kept(m.p, m.domain.size - m.omega, m.omega),
        most_values=1 << 24,
    ),
    Entry(SUE, lambda m: bits(m.p, m.q), most_values=1 << 24),
    Entry(Duchi, windows, RANGES),
    Entry(Hybrid, windows, RANGES),
    Entry(Piecewise, windows, RANGES),
]

#: Mechanisms over a list of values, and those for numbers, by their wire names.
CATEGORICAL = {entry.kind.id: entry.kind for entry in ENTRIES if not entry.numeric}
NUMERIC = {entry.kind.id: entry.kind for entry in ENTRIES if entry.numeric}
#: Those that can report one of several options, or a prefix.
PURE = tuple(name for name, kind in CATEGORICAL.items() if issubclass(kind, PureMechanism))
IDEALISED_PAIRS = frozenset(entry.kind.id for entry in ENTRIES if not entry.exact_pairs)


def name(mechanism: Mechanism) -> str:
    """For the test's id."""
    domain = mechanism.domain
    about = domain.labels[0] if isinstance(domain, Range) else domain.size
    variant = getattr(mechanism, "variant", "optimal").removeprefix("optimal")
    variant += "pairs" * (getattr(mechanism, "parts", 1) > 1)
    return f"{mechanism.id}-{about}-{mechanism.epsilon:g}" + f"-{variant}" * bool(variant)


def example(kind: type[Mechanism], epsilon: float = 1.0, size: int = 4) -> Mechanism:
    """One of any registered kind."""
    return kind((0, 1) if kind.id in NUMERIC else size, epsilon=epsilon)


def answers(collection: Collection, n: int) -> Any:
    """n answers that go through all values, or from one bound to the other."""
    if isinstance(collection, HeavyHitters):
        return [collection.alphabet[0] * (k % (collection.length + 1)) for k in range(n)]
    if isinstance(collection, Records):
        return {a.name: [a.values[k % a.size] for k in range(n)] for a in collection.schema}
    if isinstance(collection.domain, Range):
        return np.linspace(collection.domain.low, collection.domain.high, n)
    return np.arange(n) % collection.domain.size


MECHANISMS = [mechanism for entry in ENTRIES for mechanism in entry.mechanisms()]
TINY = list(dict.fromkeys(mechanism.tiny() for mechanism in MECHANISMS))
