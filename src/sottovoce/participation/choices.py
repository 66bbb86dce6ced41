"""What a person chooses, or is given, under a mechanism: a level, a rate, both or neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..mechanisms.mechanism import Mechanism
from ..promise import LDP, Guarantee
from ..promise.assumptions import ANY_LEVEL, LEVEL_IS_PUBLIC
from .levels import Levels
from .sampled import Sampled


def menu_of(mechanism: Mechanism) -> Mapping[str, Mechanism]:
    """The mechanism of each level, sampled as the whole is; empty where there are no levels."""
    if isinstance(mechanism, Levels):
        return mechanism.menu
    if isinstance(mechanism, Sampled):
        inner = menu_of(mechanism.inner)
        return {name: Sampled(level, rate=mechanism.rates) for name, level in inner.items()}
    return {}


def rates_of(mechanism: Mechanism) -> tuple[float, ...]:
    """Every rate that someone may have, in order; empty where everyone reports."""
    if isinstance(mechanism, Sampled):
        return mechanism.rates
    menu = mechanism.menu if isinstance(mechanism, Levels) else {}
    return tuple(dict.fromkeys(rate for level in menu.values() for rate in rates_of(level)))


def must_choose_rate(mechanism: Mechanism) -> bool:
    """Whether people of one level may have different rates, so that each must be told."""
    if isinstance(mechanism, Levels):
        return any(must_choose_rate(level) for level in mechanism.menu.values())
    return len(rates_of(mechanism)) > 1


def unwrapped(mechanism: Mechanism) -> Mechanism:
    """A mechanism without levels and rates: that of the first level."""
    if isinstance(mechanism, Sampled):
        return unwrapped(mechanism.inner)
    if isinstance(mechanism, Levels):
        return unwrapped(next(iter(mechanism.menu.values())))
    return mechanism


def guarantee_of(mechanism: Mechanism, level: str | None = None) -> Guarantee:
    """What holds for people of one level, or without its name whatever level they chose.

    The unit does not name the level, so that promises of several questions add up.
    """
    menu = menu_of(mechanism)
    if not menu:
        return mechanism.guarantee
    if level is not None:
        promised = menu[level].guarantee
        promises = (replace(p, assuming=(*p.assuming, LEVEL_IS_PUBLIC)) for p in promised.promises)
        return Guarantee(tuple(promises), promised.reason)
    # A promise under a prior is one level's own; without it, the largest epsilon covers all.
    free = [p for one in menu.values() for p in one.guarantee.promises if p.notion == LDP]
    assuming = dict.fromkeys(words for promise in free for words in promise.assuming)
    largest = max(free, key=lambda promise: promise.epsilon)
    return Guarantee((replace(largest, assuming=(*assuming, ANY_LEVEL)),))
