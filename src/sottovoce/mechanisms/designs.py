"""Designs that the local mechanisms offer to a plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..errors import ParameterError
from ..guarantee import MOST_EPSILON, Guarantee
from ..mechanism import Design, LinearMechanism, Mechanism, Requirement
from .numeric import NumericMechanism
from .registry import REGISTRY

_LEAST_EPSILON = 1e-3
_MOST_PEOPLE = 10**12


def designs(requirement: Requirement) -> Iterator[Design]:
    """One design per mechanism that fits the question, with its unknown worked out."""
    for kind in REGISTRY.values():
        numeric = issubclass(kind, NumericMechanism)
        if not kind.compared or numeric == (requirement.bounds is None):
            continue
        question: Any = requirement.bounds if numeric else requirement.d
        design = _design(requirement, partial(_make, kind, question))
        if design is not None:
            yield design


def _make(kind: type[Mechanism], question: Any, epsilon: float) -> Mechanism:
    return kind(question, epsilon=epsilon)


def _design(requirement: Requirement, make: Callable[[float], Mechanism]) -> Design | None:
    levels = dict(requirement.levels)
    try:
        if not levels:
            if requirement.n is None or requirement.error is None:
                return None
            epsilon = _least_epsilon(make, requirement.n, requirement.error)
            if epsilon is None:
                return None
            levels = {"everyone": epsilon}
        mechanisms = {name: make(epsilon) for name, epsilon in levels.items()}
    except ParameterError:
        return None  # too many values for its hash, or an epsilon too small to be drawn
    # Equal groups, each estimated on its own and weighted by its size.
    unit = sum(_unit_variance(m) for m in mechanisms.values()) / len(mechanisms)
    n = requirement.n or math.ceil(unit / (requirement.error or 1.0) ** 2)
    if n > _MOST_PEOPLE:
        return None
    some = next(iter(mechanisms.values()))
    promises = tuple(p for m in mechanisms.values() for p in m.guarantee.promises)
    return Design(
        name=some.id,
        n=n,
        levels=levels,
        std_error=math.sqrt(unit / n),
        report_bytes=max(m.report_bytes for m in mechanisms.values()),
        decode_steps=sum(_decode_steps(m, n / len(mechanisms)) for m in mechanisms.values()),
        guarantee=Guarantee(promises),
    )


def _unit_variance(mechanism: Mechanism) -> float:
    """Variance of an average share, or of the mean of a middling number, from one report."""
    if isinstance(mechanism, LinearMechanism):
        return mechanism.total_variance(1) / mechanism.domain.size
    if isinstance(mechanism, NumericMechanism):
        span = mechanism.domain.high - mechanism.domain.low
        return span**2 * float(mechanism.variance_at([0.0, 0.5, 1.0]).max())
    return math.inf


def _decode_steps(mechanism: Mechanism, n: float) -> float:
    return mechanism.decode_steps(math.ceil(n)) if isinstance(mechanism, LinearMechanism) else n


def _least_epsilon(make: Callable[[float], Mechanism], n: int, error: float) -> float | None:
    """The smallest epsilon whose standard error is as wanted, by bisection; None if none is."""

    def enough(epsilon: float) -> bool:
        return math.sqrt(_unit_variance(make(epsilon)) / n) <= error

    if not enough(MOST_EPSILON):
        return None
    low, high = _LEAST_EPSILON, MOST_EPSILON
    if enough(low):
        return low
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
