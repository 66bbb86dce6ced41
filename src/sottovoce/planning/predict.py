"""The error that a collection will have, before anyone is asked."""

from __future__ import annotations

import math
from typing import Any

from ..contract.collection import Collection
from ..mechanisms.designs import unit_scatter, unit_variance
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.registry import needs_prior
from .choose import best_kind

_CLEARLY = 1.1  # times the error


def predicted_error(collection: Collection, people: int) -> float | None:
    """Standard error of an average fraction, or at most that of a mean; None if unknown.

    People are spread evenly over the ways to take part, and each way is estimated on its own. It
    is unknown where some people can never report, and for records, where it depends on how people
    divide epsilon (see `sottovoce.plan`).
    """
    if not isinstance(collection, Mechanism):
        return None
    ways = collection.ways()
    variance = sum(_person(way.mechanism, way.rate) for way in ways) / len(ways) / people
    return math.sqrt(variance) if math.isfinite(variance) else None


def better_kind(collection: Collection) -> tuple[type[Mechanism], float] | None:
    """A mechanism with a clearly smaller error, and by which fraction; None if there is none."""
    plain = {way.mechanism for way in collection.ways() if isinstance(way.mechanism, Mechanism)}
    if not plain or any(needs_prior(type(mechanism)) for mechanism in plain):
        return None  # the value of a prior does not follow from epsilon alone
    domain = next(iter(plain)).domain
    kind = best_kind(domain, [mechanism.epsilon for mechanism in plain])
    mine = sum(_person(mechanism, 1.0) for mechanism in plain)
    best = sum(_person(kind(domain, epsilon=mechanism.epsilon), 1.0) for mechanism in plain)
    ratio = math.sqrt(mine / best)
    return (kind, 1 - 1 / ratio) if ratio > _CLEARLY else None


def _person(mechanism: Any, rate: float) -> float:
    """Variance from one person at a rate: an average fraction's, or a mean's at most."""
    if rate == 0:
        return math.inf
    return (unit_variance(mechanism) + (1 - rate) * unit_scatter(mechanism)) / rate
