"""Wire names and the mechanisms they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import ParameterError
from .mechanism import Mechanism

M = TypeVar("M", bound=type[Mechanism])

REGISTRY: dict[str, type[Mechanism]] = {}


def register(name: str) -> Callable[[M], M]:
    """Enter a mechanism under its wire name; every law then tests it."""

    def enter(mechanism: M) -> M:
        if name in REGISTRY:
            raise ParameterError(f"{name!r} is registered twice; wire names are unique")
        mechanism.id = name
        REGISTRY[name] = mechanism
        return mechanism

    return enter


def by_id(name: str) -> type[Mechanism]:
    """The mechanism of a wire name."""
    if name not in REGISTRY:
        known = ", ".join(repr(key) for key in sorted(REGISTRY))
        raise ParameterError(f"there is no mechanism {name!r}; available: {known}")
    return REGISTRY[name]
