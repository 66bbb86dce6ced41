"""What is looked at: every way to take part, which answers, and what reports say of them.

Someone who takes part has a public level and a public rate, so each way is a subject of its own.
Under sampling, silence is seen as well as reports: a row that stands for many silent people is as
many outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.reports import Reports
from ..contract.way import Way
from ..errors import ParameterError
from ..mechanisms.linear import LinearMechanism
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.numeric import NumericMechanism

Outcomes = NDArray[Any]
Look = Callable[[Any, Any, Any], Outcomes]

SILENCE = -1
_MOST_INPUTS = 4
_MOST_RATES = 3


@dataclass(frozen=True)
class Subject:
    """One way to take part.

    Attributes
    ----------
    look : callable
        ``look(reports, x, x')`` gives one outcome per person.
    choice : str
        The public level and rate in words, empty where there is no choice.
    options : mapping
        The same as keywords of `randomise`.
    promise : int
        Which of the mechanism's promises speaks of it.
    """

    look: Look
    choice: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    promise: int = 0


def subjects_of(mechanism: Any) -> Iterator[Subject]:
    """Every level, at some of the rates: of many the least, one between and the largest."""
    if not isinstance(mechanism, Mechanism):
        yield Subject(_as_they_are)
        return
    start = 0
    levels = dict.fromkeys(way.level for way in mechanism.ways())
    for level in levels:
        ways = [way for way in mechanism.ways() if way.level == level]
        many = max(1, len(ways[0].guarantee.promises))
        for way in _some(ways):
            options = {"way": way} if len(mechanism.ways()) > 1 else {}
            for k in range(start, start + many):
                look = partial(mechanism.outcomes_at, way)
                yield Subject(look, _choice(way, len(ways) > 1), options, k)
        start += many


def _choice(way: Way, several: bool) -> str:
    """The level and rate in words; a rate of 1 only where there are others."""
    return ", ".join(filter(None, [way.label, "rate 1" * (several and way.rate == 1)]))


def _some(ways: Sequence[Way]) -> list[Way]:
    order = sorted(ways, key=lambda way: way.rate)
    if len(order) <= _MOST_RATES:
        return order
    return [order[0], order[len(order) // 2], order[-1]]


# --- what reports say -------------------------------------------------------------------------


def _as_they_are(reports: Any, x: Any, y: Any) -> Outcomes:
    """A foreign object's reports as they are."""
    if isinstance(reports, Reports):
        columns = reports.columns.values()
        return np.concatenate(
            [c.reshape(c.shape[0], math.prod(c.shape[1:])) for c in columns], axis=1
        )
    array = np.asarray(reports)
    if array.dtype == object or array.ndim == 0:
        return np.array([repr(report) for report in reports])
    return array.reshape(len(array), -1)


# --- which answers ----------------------------------------------------------------------------


def answers_of(mechanism: Any, inputs: Sequence[Any] | None) -> Sequence[Any]:
    """Those that were asked for, or up to four spread over the domain."""
    plain = mechanism.ways()[0].mechanism if isinstance(mechanism, Mechanism) else mechanism
    if inputs is None and isinstance(plain, NumericMechanism):
        low, high = plain.domain.low, plain.domain.high
        return [low, (low + high) / 2, high]
    if inputs is None and isinstance(plain, LinearMechanism):
        domain = plain.domain
        if domain.edges is not None:
            inputs = [edge for edge in domain.edges if math.isfinite(edge)][:_MOST_INPUTS]
        elif len(domain.values) > 1:
            size = len(domain.values)
            count = min(size, _MOST_INPUTS)
            inputs = [domain.values[k * (size - 1) // (count - 1)] for k in range(count)]
    if inputs is None or len(inputs) < 2:
        raise ParameterError(f"inputs is {inputs!r}; name at least two answers to tell apart")
    return list(inputs)
