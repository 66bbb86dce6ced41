"""The public parameters of one marginal between parties, which methods and protocols share.

And the budgets of parties and their division among marginals, as exact numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from ..checks import checked_epsilon
from ..errors import ParameterError
from ..promise import Neighbours

#: What verification keys and rosters call the curator; no party may have this name.
CURATOR = "curator"
RESERVED = (CURATOR, "dealer")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Design:
    """One marginal: its axes, who takes part with which budget, and whom they need not trust."""

    #: Sizes of the axes. Where columns are split, axis k is all attributes of party k as one.
    shape: tuple[int, ...]
    budgets: Mapping[str, Fraction]  # ε of each party for this marginal, in the order of the study
    collusion: int  # how many parties may work with the curator
    dropouts: int = 0  # how many parties may be missing from the sum
    neighbours: Neighbours = Neighbours.SUBSTITUTION  # SUBSTITUTION or ADD_REMOVE
    #: How many rows each party has, where that is public: n_k, or n for every party where columns
    #: are split.
    rows: Mapping[str, int] | None = None
    present: tuple[str, ...] | None = None  # who is in the sum; everyone by default
    #: Whether nobody knows any part of the noise (`oblivious`), so that one noise is enough.
    oblivious: bool = False

    def __post_init__(self) -> None:
        parties = len(self.budgets)
        if parties < 2:
            raise ParameterError(f"there is {parties} party; sums are between at least 2")
        if not 1 <= self.collusion <= parties - 1:
            raise ParameterError(
                f"collusion is {self.collusion!r}; it must be from 1 to {parties - 1}: whoever "
                "sees the result can subtract their own noise, so at least one is always assumed"
            )
        if self.dropouts < 0 or self.collusion + self.dropouts > parties - 1:
            raise ParameterError(
                f"{self.collusion} parties may collude and {self.dropouts} drop out of {parties}; "
                "at least one must remain whose noise protects everyone"
            )

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in the order of the study."""
        return tuple(self.budgets)

    @property
    def summed(self) -> tuple[str, ...]:
        """The parties whose counts and noise are in the sum."""
        return self.parties if self.present is None else self.present

    @property
    def cells(self) -> int:
        """L, the number of cells."""
        return math.prod(self.shape)

    @property
    def honest(self) -> int:
        """K − t, with t the parties that may collude or be missing; K where noise is oblivious."""
        if self.oblivious:
            return len(self.budgets)
        return len(self.budgets) - self.collusion - self.dropouts

    @property
    def total(self) -> int:
        """N, where the numbers of rows are public."""
        if self.rows is None:
            raise ParameterError("the numbers of rows are not public in this design")
        return sum(self.rows[party] for party in self.summed)

    def of(self, present: Sequence[str]) -> Design:
        """The same after some parties dropped out."""
        return replace(self, present=tuple(party for party in self.parties if party in present))


def exact(value: Any) -> Fraction:
    """A number as the exact value that people mean: a float as the decimal that it prints as."""
    return Fraction(value) if isinstance(value, Rational) else Fraction(repr(float(value)))


def exact_budgets(budgets: Any) -> dict[str, Fraction]:
    """ε of every party, each above 0 and at most 20."""
    if not isinstance(budgets, Mapping):
        raise ParameterError(
            f"budgets are {budgets!r}; give the epsilon of each party, such as {{'A': 0.1, 'B': 1}}"
        )
    if len(budgets) < 2:
        raise ParameterError(
            f"there are budgets for {len(budgets)} parties; a sum is between at least 2"
        )
    checked = {}
    for name, epsilon in budgets.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in RESERVED:
            raise ParameterError(
                f"a party is named {name!r}; names have up to 64 letters, digits, dots, hyphens "
                f"and underscores, and are not {' or '.join(map(repr, RESERVED))}"
            )
        try:
            checked_epsilon(epsilon)
        except ParameterError as error:
            raise ParameterError(f"the budget of {name!r}: {error}") from error
        checked[name] = exact(epsilon)
    return checked


def exact_fractions(fractions: Any, marginals: Sequence[tuple[str, ...]]) -> tuple[Fraction, ...]:
    """How several marginals divide every budget; equal parts where nothing is said."""
    many = len(marginals)
    if fractions is None:
        return (Fraction(1, many),) * many
    if isinstance(fractions, Mapping):
        fractions = _in_order(fractions, marginals)
    if isinstance(fractions, (str, bytes)) or not isinstance(fractions, Sequence):
        raise ParameterError(f"fractions are {fractions!r}; give one for each marginal")
    if len(fractions) != many:
        raise ParameterError(f"there are {len(fractions)} fractions for {many} marginals")
    for part in fractions:
        if isinstance(part, bool) or not isinstance(part, Real) or not 0 < float(part) <= 1:
            raise ParameterError(
                f"a fraction of the budget is {part!r}; it must be above 0 and at most 1"
            )
    parts = tuple(exact(part) for part in fractions)
    if sum(parts) > 1:
        raise ParameterError(
            f"the fractions {[float(part) for part in parts]} add up to {float(sum(parts)):g}; "
            "together they must not exceed 1"
        )
    return parts


def _in_order(
    fractions: Mapping[Any, Any], marginals: Sequence[tuple[str, ...]]
) -> tuple[Any, ...]:
    by_names = {
        frozenset([key] if isinstance(key, str) else key): part for key, part in fractions.items()
    }
    if by_names.keys() != {frozenset(names) for names in marginals}:
        asked = [list(names) for names in marginals]
        raise ParameterError(
            f"fractions are given for {list(fractions)}; give one for each marginal of {asked}"
        )
    return tuple(by_names[frozenset(names)] for names in marginals)


def marginals_of(attributes: Any) -> tuple[tuple[str, ...], ...]:
    """The attributes of every marginal, from names or from lists of names."""
    allowed = 'a list of names such as ["age", "smoker"], or a list of such lists'
    if isinstance(attributes, (str, bytes)) or not isinstance(attributes, Sequence):
        raise ParameterError(f"attributes are {attributes!r}; give {allowed}")
    if all(isinstance(name, str) for name in attributes):
        attributes = [attributes]
    marginals = []
    for names in attributes:
        if isinstance(names, str) or not isinstance(names, Sequence) or not names:
            raise ParameterError(f"one marginal is {names!r}; give {allowed}")
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ParameterError(f"the attributes {list(names)} must be names, each once")
        marginals.append(tuple(names))
    if len({frozenset(names) for names in marginals}) < len(marginals):
        raise ParameterError("two marginals have the same attributes; ask for each once")
    return tuple(marginals)
