"""Budgets of parties and their division among marginals, as exact numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from ..checks import checked_epsilon
from ..errors import ParameterError

#: What verification keys and rosters call the curator; no party may have this name.
CURATOR = "curator"
RESERVED = (CURATOR, "dealer")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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
