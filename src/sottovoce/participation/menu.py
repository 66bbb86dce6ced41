"""The levels of a menu, with their rates: what they promise, and how a study describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..errors import ParameterError
from ..mechanisms.mechanism import Mechanism
from ..promise import LDP, Guarantee
from ..promise.assumptions import LEVEL_IS_PUBLIC, RATE_IS_PUBLIC
from .rates import EVERYONE, MOST_CHOICES


@dataclass(frozen=True)
class Level:
    """One level of the privacy menu, or the only one where there is no menu."""

    name: str | None  # None where there is no menu
    mechanism: Mechanism  # makes the reports; it has no levels or rates of its own
    rates: tuple[float, ...] = EVERYONE  # the public grid of rates

    @property
    def epsilon(self) -> float:
        """The largest epsilon that its reports keep, whatever the prior is."""
        return free_epsilon(self.mechanism)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised to people of this level, without its name."""
        public = (LEVEL_IS_PUBLIC,) * (self.name is not None)
        public += (RATE_IS_PUBLIC,) * (self.rates != EVERYONE)
        promises = self.mechanism.guarantee.promises
        return Guarantee(tuple(replace(one, assuming=(*one.assuming, *public)) for one in promises))

    def canonical(self) -> dict[str, Any]:
        """Plain data that decides what its reports mean."""
        return {
            "name": self.name,
            "mechanism": self.mechanism.id,
            "parameters": self.mechanism.parameters,
            "rates": [repr(rate) for rate in self.rates],
        }

    def rate_entry(self) -> dict[str, Any]:
        """What a study file says about its rates."""
        return {"rate": self.rates[0] if len(self.rates) == 1 else list(self.rates)}


def free_epsilon(mechanism: Mechanism) -> float:
    """The largest epsilon that any report keeps whatever the prior is."""
    return max(p.epsilon for p in mechanism.guarantee.promises if p.notion == LDP)


def check_levels(levels: Sequence[Level]) -> None:
    """Refuse levels that cannot be one menu."""
    if not 1 <= len(levels) <= MOST_CHOICES:
        raise ParameterError(f"{len(levels)} levels; between 1 and {MOST_CHOICES} are allowed")
    many = sum(len(level.rates) for level in levels)
    if many > 1 << 16:
        raise ParameterError(f"{many:,} combinations of level and rate; at most {1 << 16:,}")
    first = levels[0].mechanism
    for level in levels:
        mechanism = level.mechanism
        if all(method.biased for method in mechanism.methods.values()):
            raise ParameterError(
                f"{mechanism.id!r} has no unbiased estimate with these parameters, so it cannot be "
                "one of several levels or sampled; use variant 'optimal'"
            )
        if mechanism.domain != first.domain:
            raise ParameterError(
                f"level {level.name!r} is over {mechanism.domain!r}, the first one over "
                f"{first.domain!r}; all levels answer the same question"
            )


def words_of(levels: Sequence[Level]) -> str:
    """The menu in a few words."""
    words = levels[0].mechanism.words
    if levels[0].name is not None:
        epsilons = sorted(level.mechanism.epsilon for level in levels)
        kinds = " or ".join(dict.fromkeys(level.mechanism.id for level in levels))
        words = f"{kinds} at 1 level, epsilon = {epsilons[0]:g}"
        if len(epsilons) > 1:
            spread = f"epsilon {epsilons[0]:g} to {epsilons[-1]:g}"
            words = f"{kinds} at {len(epsilons)} levels, {spread}"
    rates = {rate for level in levels for rate in level.rates}
    if rates == set(EVERYONE):
        return words
    if len(rates) == 1:
        return f"{words}, rate {max(rates):g}"
    return f"{words}, {len(rates)} rates from {min(rates):g} to {max(rates):g}"


def entries_of(levels: Sequence[Level]) -> dict[str, Any]:
    """What a study file says about the menu."""
    first = levels[0]
    if first.name is None:  # with its rate even if that is 1: a rate makes it a table of ways
        return {**first.mechanism.entries(), **first.rate_entry()}
    own = len({level.rates for level in levels}) > 1
    menu = {
        level.name: {
            **level.mechanism.entries(),
            **(level.rate_entry() if own and level.rates != EVERYONE else {}),
        }
        for level in levels
    }
    common = {} if own or first.rates == EVERYONE else first.rate_entry()
    return {**_menu_entries(menu), **common}


def _menu_entries(menu: Mapping[str | None, dict[str, Any]]) -> dict[str, Any]:
    """What a study file says about a menu; what all levels have in common is stated once."""
    first, *others = menu.values()
    common = {
        key: value
        for key, value in first.items()
        if key not in ("epsilon", "rate") and all(o.get(key) == value for o in others)
    }
    if "mechanism" not in common:
        common = {}  # extras of one mechanism mean nothing to another
    own = {name: {k: v for k, v in e.items() if k not in common} for name, e in menu.items()}
    short = {name: e["epsilon"] if e.keys() == {"epsilon"} else e for name, e in own.items()}
    return {**common, "levels": short}
