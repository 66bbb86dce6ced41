"""What an audit compares: every way to take part, every promise, and which answers.

Someone who takes part has a public level and a public rate, so each way is examined at its own
promise. Two answers are compared under a promise only if it covers both: where all answers of a
record are protected together, records may differ in everything; where one answer is, they differ
in that one. A promise under a prior cannot be judged by two answers and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.reports import Reports
from ..contract.way import Way
from ..domain.options import Options
from ..domain.ranges import Range
from ..domain.schema import Schema
from ..domain.text import Text
from ..domain.values import Domain
from ..errors import ParameterError
from ..promise import LIP, Guarantee, Promise, Protected

Outcomes = NDArray[Any]
Look = Callable[[Any, Any, Any], Outcomes]

_MOST_INPUTS = 4
_MOST_RATES = 3


@dataclass(frozen=True)
class Comparison:
    """One promise to people who take part in one way, and the answers to distinguish.

    ``randomise(answer, n)`` gives n reports of one answer, ``outcomes(reports, x, y)`` one outcome
    per person; `pairs` are the positions of answers that the promise covers, in both orders.
    """

    randomise: Callable[[Any, int], Any]
    outcomes: Look
    promise: Promise
    answers: Sequence[Any]
    pairs: Sequence[tuple[int, int]]
    choice: str = ""
    question: str = ""


@dataclass(frozen=True)
class Inquiry:
    """What the caller of an audit asks for, where it differs from the default."""

    inputs: Sequence[Any] | None = None
    promise: Promise | None = None
    outcomes: Look | None = None
    allocation: Sequence[float] | None = None


class Foreign:
    """An object of another library with ``randomise(values)``, as a collection with one way."""

    def __init__(self, randomiser: Any, promise: Promise | None) -> None:
        if not callable(getattr(randomiser, "randomise", None)):
            raise ParameterError(
                f"{randomiser!r} has no randomise(values), so it cannot be audited"
            )
        if promise is None:
            raise ParameterError(
                "state what is promised by a foreign object: promise=Promise(LDP, epsilon)"
            )
        self._randomiser = randomiser
        self._promise = promise

    def ways(self) -> tuple[Way, ...]:
        """The only way to take part."""
        own: Any = self
        return (Way(0, None, 1.0, own, Guarantee((self._promise,))),)

    def randomise(self, answers: Any, *, way: Way) -> Any:
        """The object's own reports."""
        return self._randomiser.randomise(answers)

    def outcomes(self, reports: Any, x: Any, y: Any) -> Outcomes:
        """The reports as they are."""
        if isinstance(reports, Reports):
            columns = reports.columns.values()
            return np.concatenate(
                [c.reshape(c.shape[0], math.prod(c.shape[1:])) for c in columns], axis=1
            )
        array = np.asarray(reports)
        if array.dtype == object or array.ndim == 0:
            return np.array([repr(report) for report in reports])
        return array.reshape(len(array), -1)


def comparisons(subject: Any, inquiry: Inquiry) -> Iterator[Comparison]:
    """Every promise at every level, at some of the rates: the least, one between, the largest."""
    ours = callable(getattr(subject, "ways", None))
    collection: Any = subject if ours else Foreign(subject, inquiry.promise)
    if inquiry.allocation is not None and not hasattr(collection, "guarantee_for"):
        raise ParameterError("allocation divides epsilon over the attributes of records; leave it")
    # Records of a study.
    named: str = collection.name if ours and getattr(collection, "study", None) else ""
    for way in _some_ways(collection.ways()):
        for promise in _promises(collection, way, inquiry):
            if promise.notion is LIP:
                continue
            # The values that are asked for: of one question, or of all attributes of a record.
            mechanism: Any = way.mechanism
            question = getattr(mechanism, "schema", getattr(mechanism, "domain", None))
            answers = _answers(question, promise, inquiry.inputs)
            pairs = [
                (i, j)
                for i, j in permutations(range(len(answers)), 2)
                if _comparable(promise, answers[i], answers[j])
            ]
            if not pairs:
                raise ParameterError(
                    f"no two of the inputs differ only in what is protected: {promise.unit}"
                )
            yield Comparison(
                _randomiser(collection, way, inquiry.allocation),
                inquiry.outcomes or collection.outcomes,
                promise,
                answers,
                pairs,
                way.label,
                getattr(question, "name", "") or named,
            )


def _some_ways(ways: Sequence[Way]) -> Iterator[Way]:
    by_level: dict[str | None, list[Way]] = {}
    for way in ways:
        by_level.setdefault(way.level, []).append(way)
    for some in by_level.values():
        order = sorted(some, key=lambda way: way.rate)
        if len(order) > _MOST_RATES:
            order = [order[0], order[len(order) // 2], order[-1]]
        yield from order


def _promises(collection: Any, way: Way, inquiry: Inquiry) -> tuple[Promise, ...]:
    if inquiry.promise is not None:
        if inquiry.promise.notion is LIP:
            raise ParameterError(
                "a promise under a prior cannot be judged by two answers; audit the one without it"
            )
        return (inquiry.promise,)
    guarantee: Guarantee = (
        collection.undivided(way)  # as people draw who do not say how to divide
        if inquiry.allocation is None
        else collection.guarantee_for(inquiry.allocation, way.level)
    )
    if not guarantee.promises:
        raise ParameterError(f"nothing is promised ({guarantee.reason})")
    return guarantee.promises


def _randomiser(
    collection: Any, way: Way, allocation: Sequence[float] | None
) -> Callable[[Any, int], Any]:
    """A function from an answer and n to the reports of n people who give it."""

    def randomise(answer: Any, n: int) -> Any:
        table: Any = [answer] * n
        if isinstance(answer, Mapping):
            table = {name: [value] * n for name, value in answer.items()}
        if allocation is None:
            return collection.randomise(table, way=way)
        everyone = np.tile(np.asarray(allocation, float), (n, 1))
        return collection.randomise(table, way=way, allocation=everyone)

    return randomise


# --- which answers ----------------------------------------------------------------------------


def _answers(
    question: Domain | Schema | None, promise: Promise, inputs: Sequence[Any] | None
) -> Sequence[Any]:
    """The requested ones, or some that are spread over the values."""
    answers = inputs
    if inputs is None and isinstance(question, Schema):
        answers = _records(question, promise)
    elif inputs is None and isinstance(question, Domain):
        answers = _values(question)
    if answers is None or len(answers) < 2:
        raise ParameterError(f"inputs is {answers!r}; name at least two answers to distinguish")
    return list(answers)


def _values(domain: Domain) -> list[Any]:
    """The bounds of a number and its middle, sets as unlike as may be, or up to four values."""
    if isinstance(domain, Options):
        ends = [domain.values[: domain.most], domain.values[-domain.most :]]
        return [(), *ends[: 1 + (ends[0] != ends[1])]]
    if isinstance(domain, Range):
        return [domain.low, (domain.low + domain.high) / 2, domain.high]
    if isinstance(domain, Text):
        return ["", *(symbol * domain.length for symbol in domain.alphabet[:2])]
    if domain.edges is not None:
        return [edge for edge in domain.edges if math.isfinite(edge)][:_MOST_INPUTS]
    size = len(domain.values)
    if size < 2:
        return list(domain.values)
    count = min(size, _MOST_INPUTS)
    return [domain.values[k * (size - 1) // (count - 1)] for k in range(count)]


def _records(schema: Schema, promise: Promise) -> list[dict[str, Any]]:
    """A record, and others that differ in all attributes or in one, as the promise has it."""
    ends = {attribute.name: _values(attribute) for attribute in schema}
    several = [name for name, values in ends.items() if len(values) > 1]
    first = {name: values[0] for name, values in ends.items()}
    if promise.unit.protects is not Protected.ANSWER:
        changes = [several]
    elif promise.unit.attribute is not None:
        changes = [[promise.unit.attribute]]
    else:
        changes = [[name] for name in several[: _MOST_INPUTS - 1]]
    return [first, *({**first, **{a: ends[a][-1] for a in names}} for names in changes if names)]


def _comparable(promise: Promise, x: Any, y: Any) -> bool:
    """Whether the promise covers this pair."""
    if not (isinstance(x, Mapping) and isinstance(y, Mapping)):
        return True
    differing = [name for name in x if x[name] != y.get(name)]
    if promise.unit.protects is not Protected.ANSWER:
        return bool(differing)
    attribute = promise.unit.attribute
    return len(differing) == 1 and attribute in (None, differing[0])
