"""Wire names and the mechanisms they stand for."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import TypeVar

from ..errors import ParameterError
from .categorical import PureMechanism
from .mechanism import Mechanism

M = TypeVar("M", bound=type[Mechanism])

REGISTRY: dict[str, type[Mechanism]] = {}


_COMMON = {"domain", "epsilon", "study"}


def register(name: str) -> Callable[[M], M]:
    """Register a mechanism under its wire name; every law then tests it."""

    def enter(mechanism: M) -> M:
        if name in REGISTRY:
            raise ParameterError(f"{name!r} is registered twice; wire names are unique")
        mechanism.id = name
        REGISTRY[name] = mechanism
        return mechanism

    return enter


def extra_parameters(kind: type[Mechanism]) -> tuple[str, ...]:
    """Parameters of a mechanism besides domain and epsilon; a study may set them."""
    return tuple(name for name in signature(kind).parameters if name not in _COMMON)


def compared_kinds() -> tuple[type[Mechanism], ...]:
    """Mechanisms that need only values or a range, and an epsilon: what plans compare."""
    return tuple(kind for kind in REGISTRY.values() if not needs_prior(kind))


def needs_prior(kind: type[Mechanism]) -> bool:
    """Whether it makes use of a public prior."""
    return "prior" in extra_parameters(kind)


def by_id(name: str) -> type[Mechanism]:
    """The mechanism of a wire name."""
    if not isinstance(name, str) or name not in REGISTRY:
        known = ", ".join(repr(key) for key in sorted(REGISTRY))
        raise ParameterError(f"there is no mechanism {name!r}; available: {known}")
    return REGISTRY[name]


def pure_by_id(name: str, task: str) -> type[PureMechanism]:
    """The pure mechanism of a wire name, which reports what `task` says."""
    kind = by_id(name)
    if not issubclass(kind, PureMechanism):
        pure = [key for key, one in sorted(REGISTRY.items()) if issubclass(one, PureMechanism)]
        known = ", ".join(map(repr, pure))
        raise ParameterError(f"{name!r} cannot report {task}; use a pure mechanism: {known}")
    return kind
