"""What a study with several collections promises to someone who answers all of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..contract.collection import Collection
from ..promise import Guarantee, Promise, Protected, Unit, composed


def shared_levels(collections: Sequence[Collection]) -> tuple[str, ...]:
    """The names of the levels, where all menus have the same; else none."""
    menus = [names for names in (one.level_names for one in collections) if names]
    alike = all(set(menu) == set(menus[0]) for menu in menus)
    return menus[0] if menus and alike else ()


def promised(collections: Sequence[Collection]) -> Guarantee:
    """One promise per level where all menus have the same levels, else one for everyone.

    Different menus leave too many combinations; the largest epsilon of each holds for all.
    """
    if len(collections) == 1:
        return collections[0].guarantee
    names = shared_levels(collections)
    if not names:
        return composed(one.guarantee_at().about(Unit(Protected.STUDY)) for one in collections)
    promises: list[Promise] = []
    for name in names:
        unit = Unit(Protected.STUDY, level=name)
        promises += composed(one.guarantee_at(name).about(unit) for one in collections).promises
    return Guarantee(tuple(promises))
