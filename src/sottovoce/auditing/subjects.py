"""What is looked at: every way to take part, which answers, and what reports say of them.

Someone who takes part has a public level and a public rate, so each of them is a subject of its
own. Under sampling, silence is seen as well as reports: a row that stands for many silent people
is as many outcomes.
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
from ..errors import ParameterError
from ..mechanisms.linear import LinearMechanism
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.numeric import NumericMechanism
from ..participation import Levels, Sampled
from ..participation.choices import unwrapped
from ..participation.wrapper import taken

Outcomes = NDArray[Any]
Look = Callable[[Any, Any, Any], Outcomes]

SILENCE = -1
_ELSEWHERE = -2  # a report of another level or rate than was chosen
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
    if isinstance(mechanism, Levels):
        start = 0
        for k, (name, level) in enumerate(mechanism.menu.items()):
            bound = level.bind(mechanism.digest)
            for inner in subjects_of(bound):
                look = partial(_of_level, k, bound, inner.look)
                yield _within(inner, look, f"level {name!r}", {"level": name}, start)
            start += len(level.guarantee.promises)
    elif isinstance(mechanism, Sampled):
        bound = mechanism.inner.bind(mechanism.digest)
        for h in _some(mechanism.rates):
            rate = mechanism.rates[h]
            for inner in subjects_of(bound):
                look = partial(_or_silence, h, bound, inner.look)
                yield _within(inner, look, f"rate {rate:g}", {"rate": rate}, 0)
    elif isinstance(mechanism, Mechanism):
        for k in range(max(1, len(mechanism.guarantee.promises))):
            yield Subject(_look_of(mechanism), promise=k)
    else:
        yield Subject(_as_they_are)


def _within(
    inner: Subject, look: Look, choice: str, options: Mapping[str, Any], start: int
) -> Subject:
    words = ", ".join(filter(None, [choice, inner.choice]))
    return Subject(look, words, {**inner.options, **options}, start + inner.promise)


def _some(rates: Sequence[float]) -> list[int]:
    order = sorted(range(len(rates)), key=lambda h: rates[h])
    if len(order) <= _MOST_RATES:
        return order
    return [order[0], order[len(order) // 2], order[-1]]


# --- what reports say -------------------------------------------------------------------------


def _of_level(
    k: int, mechanism: Mechanism, look: Look, reports: Reports, x: Any, y: Any
) -> Outcomes:
    level = reports.columns["level"]
    mine = level == k
    found = look(taken(reports.columns, np.flatnonzero(mine), mechanism, reports.seeded), x, y)
    return _and(found, _ELSEWHERE - level[~mine].astype(np.int64))


def _or_silence(
    h: int, mechanism: Mechanism, look: Look, reports: Reports, x: Any, y: Any
) -> Outcomes:
    silent = reports.columns["silent"].astype(np.int64)
    rate = reports.columns.get("rate", np.zeros(silent.size, np.uint8))
    mine, spoken = rate == h, silent == 0
    rows = np.flatnonzero(mine & spoken)
    found = look(taken(reports.columns, rows, mechanism, reports.seeded), x, y)
    quiet = np.full(int(silent[mine].sum()), SILENCE)
    strange = np.repeat(_ELSEWHERE - rate[~mine].astype(np.int64), np.maximum(silent, 1)[~mine])
    return _and(found, np.concatenate([quiet, strange]))


def _and(found: Outcomes, marks: NDArray[np.int64]) -> Outcomes:
    """Outcomes, and below them marks that no report has."""
    numbers = found.astype(np.int64)
    wide = np.repeat(marks[:, None], numbers.shape[1], axis=1) if numbers.ndim == 2 else marks
    return np.concatenate([numbers, wide])


def _look_of(mechanism: Mechanism) -> Look:
    if isinstance(mechanism, LinearMechanism):
        return mechanism.told_apart
    if isinstance(mechanism, NumericMechanism):
        return _coarse_cells
    return _as_they_are


def _coarse_cells(reports: Any, x: Any, y: Any) -> Outcomes:
    """Cells of a number's grid, up to 32 together: of rare cells, luck would choose the event."""
    cell = reports.columns["cell"] // 32
    which = reports.columns.get("grid", np.zeros(len(reports), np.uint8))
    few = reports.columns["cell"] < 2  # the two cells of a single bit stay apart
    return np.stack([which, np.where(few, reports.columns["cell"], cell + 2)], axis=1)


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
    plain = unwrapped(mechanism) if isinstance(mechanism, Mechanism) else mechanism
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
