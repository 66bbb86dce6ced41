"""What a study with several questions promises to someone who answers all of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..mechanisms.mechanism import Mechanism
from ..participation.choices import guarantee_of, menu_of
from ..promise.guarantee import Guarantee, Promise, composed

ALL_ANSWERS = "all answers of one person to the study"
_ANY_WAY = "any two ways to answer"


def shared_levels(questions: Sequence[Mechanism]) -> tuple[str, ...]:
    """The names of the levels, where all menus have the same; else none."""
    menus = [tuple(menu_of(question)) for question in questions]
    menus = [menu for menu in menus if menu]
    alike = all(set(menu) == set(menus[0]) for menu in menus)
    return menus[0] if menus and alike else ()


def promised(questions: Sequence[Mechanism]) -> Guarantee:
    """One promise per level where all menus have the same levels, else one for everyone.

    Menus that differ leave too many ways to choose; the largest epsilon of each holds for all.
    """
    if len(questions) == 1:
        return questions[0].guarantee
    some = [bool(menu_of(question)) for question in questions]
    names = shared_levels(questions)
    if not names:
        total = composed(guarantee_of(question) for question in questions)
        unit = f"{ALL_ANSWERS}, whatever levels they chose" if any(some) else ALL_ANSWERS
        return total.about(unit, _ANY_WAY)
    where = "every question" if all(some) else "every question that has levels"
    promises: list[Promise] = []
    for name in names:
        total = composed(guarantee_of(question, name) for question in questions)
        unit = f"all answers to the study of one person who chose the level {name!r} for {where}"
        promises += total.about(unit, _ANY_WAY).promises
    return Guarantee(tuple(promises))
