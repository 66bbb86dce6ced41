"""Levels of privacy for records, what is promised at them, and who stays silent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import MOST_EPSILON, checked_epsilon, float_above
from ..contract.way import Way
from ..domain.columns import Coded
from ..errors import ParameterError
from ..estimate.intervals import Floats
from ..participation.rates import MOST_CHOICES, checked_rates, level_positions
from ..promise import LDP, OWN_DEVICE, WHO_ANSWERED, Guarantee, Promise, Protected, Unit
from ..promise.assumptions import HIDDEN, INDEPENDENT, OWN_PART
from .allocation import STEPS
from .packing import levels_of

if TYPE_CHECKING:
    from .records import Records

Menu = tuple[tuple[str | None, float], ...]


def checked_menu(average: float | None, levels: Any) -> Menu:
    """The levels with the epsilon_average of each; one without a name where there is no menu."""
    if isinstance(levels, str) or not isinstance(levels, Mapping | Sequence):
        raise ParameterError(
            f"levels are {levels!r}; give names and epsilons, such as {{'strong': 0.5, 'weak': 2}}"
        )
    pairs = tuple(levels.items() if isinstance(levels, Mapping) else levels)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ParameterError(f"levels are {levels!r}; every level needs a name and an epsilon")
    if not pairs:
        if average is None:
            raise ParameterError(
                "records need epsilon_average, or levels such as {'strong': 0.5, 'weak': 2}"
            )
        return ((None, checked_epsilon(average)),)
    menu = tuple((name, checked_epsilon(epsilon)) for name, epsilon in pairs)
    if average is not None and average != max(epsilon for _, epsilon in menu):
        raise ParameterError("epsilon_average and levels were both given; give one of them")
    if len(menu) > MOST_CHOICES:
        raise ParameterError(f"{len(menu)} levels; at most {MOST_CHOICES} are allowed")
    names = [name for name, _ in menu]
    for name in names:
        if not isinstance(name, str) or not name.strip() or names.count(name) > 1:
            raise ParameterError(f"{name!r} cannot name a level; use different, non-empty texts")
    return menu


def checked_rate(rate: Any, epsilon: float) -> float:
    """One rate for everyone."""
    rates = checked_rates(rate, epsilon)
    if len(rates) != 1:
        raise ParameterError(f"rate is {rate!r}; records have one rate for everyone")
    return rates[0]


def chosen_level(records: Records, way: Way | None, level: Any, rate: Any) -> Any:
    """Everyone's level, from a way or from the level itself."""
    if way is not None:
        if level is not None or rate is not None:
            raise ParameterError("way already sets level and rate; leave these out")
        return way.level
    if rate is not None and not (records.sampled and np.all(np.asarray(rate) == records.rate)):
        raise ParameterError(
            f"rate is {rate!r:.80}, but records have one rate for everyone, {records.rate:g}; "
            "leave it out"
        )
    return level


def level_codes(records: Records, people: int, level: Any) -> NDArray[Any]:
    """The position of everyone's level."""
    names: list[str | None] = [name for name, _ in records.levels] or [None]
    return level_positions(names, Coded(np.zeros(people, np.uint8)), level)


def people_by_level(
    records: Records, columns: Mapping[str, NDArray[Any]], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(people asked, reports received) at each level, from patterns and how often they came."""
    level, many = levels_of(columns), len(records.averages)
    sent = columns["reported"].any(axis=1)
    asked, reported = np.zeros(many, np.int64), np.zeros(many, np.int64)
    np.add.at(asked, level, counts)
    np.add.at(reported, level[sent], counts[sent])
    return asked, reported


def promises(
    names: Sequence[str],
    row: Floats,
    average: float,
    *,
    public: bool,
    dropped: bool,
    also: tuple[str, ...] = (),
) -> Guarantee:
    """The total for all reported answers together, then each answer's own budget.

    `row` are the person's budgets, NaN where unreported; missing answers of some attribute may be
    declared public (`dropped`).
    """
    hidden = () if public else (HIDDEN,)
    assuming = (OWN_DEVICE, INDEPENDENT, *hidden, *((WHO_ANSWERED,) if dropped else ()), *also)
    many = int((~np.isnan(row)).sum())
    total = Promise(
        LDP,
        float_above(many * Fraction(average)),
        unit=Unit(Protected.RECORD, answers=many),
        assuming=assuming,
    )
    each = (
        Promise(LDP, float(epsilon), unit=Unit(attribute=name), assuming=(*assuming, OWN_PART))
        for name, epsilon in zip(names, row, strict=True)
        if not np.isnan(epsilon)
    )
    return Guarantee((total, *each))


def largest_part(total: Promise, floor: float) -> float:
    """The largest budget that an answer may have: the others have the floor.

    In whole steps, rounded up, since those of the others are rounded down; but never the total.
    """
    epsilon, others = Fraction(total.epsilon), (total.unit.answers or 1) - 1
    steps = Fraction(math.ceil((epsilon - others * Fraction(floor)) * STEPS), STEPS)
    return float_above(min(epsilon, steps, Fraction(MOST_EPSILON)))


def at_levels(ways: Sequence[Way], promised: Callable[[Way], Guarantee]) -> Guarantee:
    """The promises of every way, made to the people of its level."""
    every = []
    for way in ways:
        for promise in promised(way).promises:
            unit = promise.unit if way.level is None else promise.unit.at_level(way.level)
            every.append(replace(promise, unit=unit))
    return Guarantee(tuple(every))
