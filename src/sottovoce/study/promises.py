"""What a study with several questions promises to someone who answers all of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..mechanisms.mechanism import Mechanism
from ..participation.choices import guarantee_of, menu_of
from ..promise import Guarantee, Promise, Protected, Unit, composed


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
    names = shared_levels(questions)
    if not names:
        return composed(guarantee_of(question) for question in questions).about(
            Unit(Protected.STUDY)
        )
    promises: list[Promise] = []
    for name in names:
        total = composed(guarantee_of(question, name) for question in questions)
        promises += total.about(Unit(Protected.STUDY, level=name)).promises
    return Guarantee(tuple(promises))
