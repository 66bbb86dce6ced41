"""What a law is: a check of one way to take part in a collection, and what it applies to.

Everything is computed in fractions; only what the library itself gives as floats is compared with
a tolerance, relative to its size. Nothing here is random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sottovoce import HeavyHitters, Mechanism, Range, Reports
from sottovoce.contract.way import Way
from sottovoce.mechanisms.categorical import PureMechanism

Check = Callable[[Any, Way], None]
Applies = Callable[[Any, Way], bool]
TIGHT = 1e-9
ROUNDING = 1e-12


class LawBroken(AssertionError):  # noqa: N818, reads better where it is raised
    """A collection does not keep a law."""


@dataclass(frozen=True)
class Law:
    """A check, and whether it says anything about a way to take part in a collection."""

    check: Check
    applies: Applies

    def __call__(self, collection: Any, way: Way) -> None:
        self.check(collection, way)

    @property
    def name(self) -> str:
        return self.check.__name__


LAWS: dict[str, Law] = {}


def law(applies: Applies) -> Callable[[Check], Law]:
    """Enter a check among the laws."""

    def enter(check: Check) -> Law:
        LAWS[check.__name__] = Law(check, applies)
        return LAWS[check.__name__]

    return enter


# --- what laws apply to -------------------------------------------------------------------------


def anything(collection: Any, way: Way) -> bool:
    return True


def has_a_channel(collection: Any, way: Way) -> bool:
    return isinstance(collection, Mechanism | HeavyHitters)


def says_something(collection: Any, way: Way) -> bool:
    """At rate 0 everyone is silent: a report reveals nothing and nothing is estimated."""
    return has_a_channel(collection, way) and way.rate > 0


def has_support(collection: Any, way: Way) -> bool:
    """A report supports values; wrapped ones are tied to their channel by the law of no bias."""
    return isinstance(collection, PureMechanism)


def unbiased(collection: Any, way: Way) -> bool:
    estimates_fractions = isinstance(collection, Mechanism)
    return (
        estimates_fractions
        and says_something(collection, way)
        and not always_biased(collection, way)
    )


def always_biased(collection: Any, way: Way) -> bool:
    kinds = collection.methods.values() if isinstance(collection, Mechanism) else ()
    return bool(kinds) and all(method.biased for method in kinds)


def unbiased_fractions(collection: Any, way: Way) -> bool:
    return unbiased(collection, way) and not numeric(collection)


def unbiased_mean(collection: Any, way: Way) -> bool:
    return unbiased(collection, way) and numeric(collection)


def numeric(collection: Any) -> bool:
    """Whether answers are numbers between bounds; of wrappers, too."""
    return isinstance(collection, Mechanism) and isinstance(collection.domain, Range)


# --- judging ------------------------------------------------------------------------------------


def require(kept: bool, message: str) -> None:
    if not kept:
        raise LawBroken(message)


def close(values: Any, expected: Any, scale: float, message: str) -> None:
    gap = float(np.abs(np.asarray(values) - np.asarray(expected)).max())
    require(gap <= ROUNDING * scale, f"{message}: off by {gap} at a size of {scale}")


def same(a: Reports, b: Reports) -> None:
    heads = [(r.collection, r.digest, r.seeded, list(r.columns)) for r in (a, b)]
    require(heads[0] == heads[1], f"{heads[0]} became {heads[1]}")
    for name, column in a.columns.items():
        other = b.columns[name]
        require(column.dtype == other.dtype, f"{name}: {column.dtype} became {other.dtype}")
        require(np.array_equal(column, other), f"{name} changed")


def power(epsilon: float) -> Fraction:
    """e^epsilon to 120 digits, rounded down by more than its error."""
    context = Context(prec=120)
    value = context.exp(Decimal(epsilon))
    return Fraction(value) * (1 - Fraction(1, 10**115))


def logarithm(ratio: Fraction) -> float:
    context = Context(prec=60)
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return float(context.ln(quotient))


def each_report(collection: Any, way: Way) -> list[Reports]:
    everything = collection.every_report(way)
    return [everything[k : k + 1] for k in range(len(everything))]
