"""What wrappers of mechanisms share: a report says which choice it was made under."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain import Domain
from ..encoding import Coded
from ..errors import ParameterError, WireError
from ..mechanism import Mechanism
from ..ranges import Range
from ..report import Column, Reports

MOST_CHOICES = 1024  # of a study's grid: aggregates stay small tables of counts


def described(mechanism: Mechanism) -> dict[str, Any]:
    """What decides a wrapped mechanism, for digests; the domain is the wrapper's own."""
    return {"mechanism": mechanism.id, "parameters": mechanism.parameters}


class Wrapper(Mechanism):
    """A mechanism made of others. Two are equal when they make the same reports."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.digest, self.study) == (other.digest, other.study)

    def __hash__(self) -> int:
        return hash(self.digest)


def refuse_biased(mechanism: Mechanism) -> None:
    """Refuse a mechanism without an unbiased estimate: wrappers put those together."""
    if not getattr(mechanism, "invertible", True):
        raise ParameterError(
            f"{mechanism.id!r} has no unbiased estimate with these parameters, so it cannot be one "
            "of several levels or sampled; use variant 'optimal'"
        )


def span_of(domain: Domain) -> float:
    """The width of what can be estimated: of a range of numbers, or 1 for shares."""
    return domain.high - domain.low if isinstance(domain, Range) else 1.0


def answered(codes: NDArray[Any], what: str, coded: Coded) -> NDArray[Any]:
    """The choices of those who answered, checked to be one per person."""
    asked = len(coded) if coded.present is None else coded.present.size
    if codes.size != asked:
        raise ParameterError(
            f"{what} has {codes.size} entries for {asked} people; everyone needs one"
        )
    return codes if coded.present is None else codes[coded.present]


def of_people(choice: Any, coded: Coded, rows: NDArray[np.intp]) -> Any:
    """The choices of some of those who answered, to be passed on to a wrapped mechanism."""
    if isinstance(choice, str) or np.isscalar(choice):
        return choice
    given = np.asarray(choice)
    return answered(given, "a choice", coded)[rows]


def united(layouts: Iterable[Sequence[Column]]) -> tuple[Column, ...]:
    """Columns wide enough for the reports of several mechanisms."""
    found: dict[str, Column] = {}
    for layout in layouts:
        for column in layout:
            old = found.get(column.name, column)
            dtype = np.promote_types(old.dtype, column.dtype).newbyteorder("<").str
            found[column.name] = Column(column.name, dtype, max(old.width, column.width))
    return tuple(found.values())


def blank(layout: Sequence[Column], n: int) -> dict[str, NDArray[Any]]:
    """Columns of zeros."""
    return {column.name: np.zeros(column.shape(n), column.dtype) for column in layout}


def put(into: Mapping[str, NDArray[Any]], rows: Any, reports: Reports) -> None:
    """Write reports into some rows of wider columns."""
    for name, column in reports.columns.items():
        if column.ndim == 1:
            into[name][rows] = column
        else:
            into[name][rows, : column.shape[1]] = column


def taken(
    columns: Mapping[str, NDArray[Any]], rows: Any, mechanism: Mechanism, seeded: bool
) -> Reports:
    """The reports of a wrapped mechanism, read back from some rows of wider columns."""
    found = {}
    for column in mechanism.layout:
        values = columns[column.name][rows]
        if column.width and values.shape[1] != column.width:
            values = np.ascontiguousarray(values[:, : column.width])
        found[column.name] = values.astype(column.dtype, copy=False)
    return Reports(mechanism.id, mechanism.digest, found, seeded)


def check_blank(
    columns: Mapping[str, NDArray[Any]], rows: Any, layout: Sequence[Column], wide: Sequence[Column]
) -> None:
    """Refuse content where a narrower report has none."""
    own = {column.name: column for column in layout}
    for column in wide:
        values = columns[column.name][rows]
        mine = own.get(column.name)
        if mine is None:
            spare = values
        elif column.width:
            spare = values[:, mine.width :]
        else:
            spare = values > np.iinfo(mine.dtype).max
        if np.any(spare):
            raise WireError(f"a report has content in {column.name!r} that its kind does not use")
