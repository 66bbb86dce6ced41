"""Designs that the local mechanisms offer to a plan, where everyone reports at one epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..checks import MOST_EPSILON
from ..contract.design import Design, Requirement
from ..errors import ParameterError
from .linear import LinearMechanism
from .mechanism import Mechanism
from .numeric import NumericMechanism
from .registry import compared_kinds

MOST_PEOPLE = 10**12
_LEAST_EPSILON = 1e-3


def designs(requirement: Requirement) -> Iterator[Design]:
    """One design per mechanism that fits the question, with the unknown quantity computed."""
    if requirement.personal or requirement.attributes:
        return  # rooms below have those
    for make in makers(requirement):
        design = _design(requirement, make)
        if design is not None:
            yield design


def makers(requirement: Requirement) -> Iterator[Callable[[float], Mechanism]]:
    """For each kind that fits the question, a function from epsilon to the mechanism."""
    for kind in compared_kinds():
        numeric = issubclass(kind, NumericMechanism)
        if numeric != (requirement.bounds is None):
            yield partial(_make, kind, requirement.bounds if numeric else requirement.d)


def _make(kind: type[Mechanism], question: Any, epsilon: float) -> Mechanism:
    mechanism = kind(question, epsilon=epsilon)
    if isinstance(mechanism, LinearMechanism):
        mechanism.check_countable()
    return mechanism


def _design(requirement: Requirement, make: Callable[[float], Mechanism]) -> Design | None:
    levels = dict(requirement.levels)
    try:
        if not levels:
            epsilon = least_epsilon(requirement, lambda e: unit_variance(make(e)))
            if epsilon is None:
                return None
            levels = {"everyone": epsilon}
        (epsilon,) = levels.values()
        mechanism = make(epsilon)
    except ParameterError:
        return None  # too many values for its hash, or an epsilon too small to be drawn
    unit = unit_variance(mechanism)
    n = requirement.n or math.ceil(unit / (requirement.error or 1.0) ** 2)
    if n > MOST_PEOPLE:
        return None
    return Design(
        name=mechanism.id,
        n=n,
        levels=levels,
        std_error=math.sqrt(unit / n),
        report_bytes=mechanism.report_bytes,
        decode_steps=decode_steps(mechanism, n),
        guarantee=mechanism.guarantee,
    )


def unit_variance(mechanism: Mechanism) -> float:
    """Variance of an average fraction, or the largest one of a mean, from one report."""
    if isinstance(mechanism, LinearMechanism):
        return mechanism.total_variance(1) / mechanism.domain.size
    if isinstance(mechanism, NumericMechanism):
        span = mechanism.domain.high - mechanism.domain.low
        return span**2 * float(mechanism.variance_at([0.0, 0.5, 1.0]).max())
    return math.inf


def unit_scatter(mechanism: Mechanism) -> float:
    """The most that answers themselves can vary, in the same unit.

    (1 − Σ f²) / d is largest for equal fractions; a number varies most between its two bounds.
    """
    if isinstance(mechanism, NumericMechanism):
        return (mechanism.domain.high - mechanism.domain.low) ** 2 / 4
    return (1 - 1 / mechanism.domain.size) / mechanism.domain.size


def decode_steps(mechanism: Mechanism, n: float) -> float:
    """Elementary steps from n reports to the estimate."""
    return mechanism.decode_steps(math.ceil(n)) if isinstance(mechanism, LinearMechanism) else n


def least_epsilon(requirement: Requirement, unit: Callable[[float], float]) -> float | None:
    """The smallest epsilon with the wanted standard error, by bisection; None if there is none."""
    if requirement.n is None or requirement.error is None:
        return None
    most = requirement.n * requirement.error**2

    def enough(epsilon: float) -> bool:
        return unit(epsilon) <= most

    if not enough(MOST_EPSILON):
        return None
    low, high = _LEAST_EPSILON, MOST_EPSILON
    if enough(low):
        return low
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
