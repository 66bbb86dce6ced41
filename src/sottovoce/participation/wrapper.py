"""What wrappers of mechanisms share: a report says which choice it was made under."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.reports import Column, Reports
from ..domain.columns import Coded
from ..domain.ranges import Range
from ..domain.values import Domain, code_dtype
from ..errors import ParameterError, WireError
from ..estimate.estimate import Estimate
from ..mechanisms.mechanism import Mechanism
from ..promise import LDP, Guarantee

MOST_CHOICES = 1024  # of a study's grid: aggregates stay small tables of counts


_MOST_RUNS = 64
NO_GROUP: NDArray[np.uint8] = np.zeros(0, np.uint8)  # where all reports are in one group


def within(group: NDArray[Any], groups: int, own: NDArray[Any], many: int) -> NDArray[Any]:
    """One position for a group and, within it, one of `many` choices."""
    if groups == 1:
        return own
    dtype = code_dtype(groups * many)
    cells: NDArray[Any] = group.astype(dtype) * dtype.type(many)
    cells += own.astype(dtype, copy=False)
    return cells


def spoken_rows(silent: NDArray[Any]) -> tuple[Any, NDArray[np.intp]]:
    """The rows that are reports, for `picked`, and the places of those that stand for silence.

    Silence stands in few rows, and `randomise` puts them together: then reports are runs of rows.
    """
    quiet = silent != 0
    places = np.flatnonzero(quiet)
    if not places.size or places[0] == silent.size - places.size:
        return slice(0, silent.size - places.size), places
    if places.size > _MOST_RUNS * 1024:
        return ~quiet, places
    starts, stops = np.append(0, places + 1), np.append(places, silent.size)
    some = stops > starts
    runs = [slice(*run) for run in zip(starts[some].tolist(), stops[some].tolist(), strict=True)]
    if len(runs) > _MOST_RUNS:
        return ~quiet, places
    return (runs[0] if runs else slice(0)) if len(runs) < 2 else runs, places


def picked(column: NDArray[Any], rows: Any) -> NDArray[Any]:
    """Some rows of a column: a slice, several of them, or as numpy takes them."""
    some: NDArray[Any] = (
        column[rows]
        if not isinstance(rows, list)
        else (np.concatenate([column[run] for run in rows]))
    )
    return some


def only_row(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row of the only group, which from now on nobody changes."""
    row = np.ascontiguousarray(table[0])
    row.flags.writeable = False
    return row


def described(mechanism: Mechanism) -> dict[str, Any]:
    """What decides a wrapped mechanism, for digests; the domain is the wrapper's own."""
    return {"mechanism": mechanism.id, "parameters": mechanism.parameters}


class Wrapper(Mechanism):
    """A mechanism made of others. Two are equal when they make the same reports."""

    @property
    @abstractmethod
    def choices(self) -> frozenset[str]:
        """What everyone must say beside the answer, here or to a wrapped one: "level", "rate"."""

    @abstractmethod
    def chosen_by(self, given: Any, coded: Coded) -> Coded:
        """What each answering person chose, checked, as positions in what may be chosen."""

    def _estimate_rows(
        self, tables: Mapping[str, NDArray[np.int64]], method: str | None
    ) -> Estimate | None:
        """The estimates of many aggregates at once, from tables with a row for each of them.

        Values and variances have a row for each, too; None where they must be made one by one.
        """
        return None

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self.digest, self.study) == (other.digest, other.study)

    def __hash__(self) -> int:
        return hash(self.digest)


def asks_for(mechanism: Mechanism, choice: str) -> bool:
    """Whether a mechanism, or one that it wraps, takes a level or a rate from everyone."""
    return isinstance(mechanism, Wrapper) and choice in mechanism.choices


def promising(estimate: Estimate, guarantee: Guarantee) -> Estimate:
    """An estimate, and the unbiased one behind it, with the wrapper's own guarantee."""
    raw = estimate.raw and replace(estimate.raw, guarantee=guarantee)
    return replace(estimate, guarantee=guarantee, raw=raw)


def people_in(coded: Coded) -> int:
    """How many people were asked, whether or not they answered."""
    return len(coded) if coded.present is None else int(coded.present.size)


def refuse_biased(mechanism: Mechanism) -> None:
    """Refuse a mechanism without an unbiased estimate: wrappers put those together."""
    if not getattr(mechanism, "invertible", True):
        raise ParameterError(
            f"{mechanism.id!r} has no unbiased estimate with these parameters, so it cannot be one "
            "of several levels or sampled; use variant 'optimal'"
        )


def free_epsilon(mechanism: Mechanism) -> float:
    """The largest epsilon that any report keeps whatever the prior is."""
    return max(p.epsilon for p in mechanism.guarantee.promises if p.notion == LDP)


def span_of(domain: Domain) -> float:
    """The width of what can be estimated: of a range of numbers, or 1 for shares."""
    return domain.high - domain.low if isinstance(domain, Range) else 1.0


def answered(codes: NDArray[Any], what: str, coded: Coded) -> NDArray[Any]:
    """The choices of those who answered, checked to be one per person."""
    if codes.shape != (people_in(coded),):
        raise ParameterError(
            f"{what} has {codes.size} entries for {people_in(coded)} people; give one column, "
            "with one entry for everyone"
        )
    return codes if coded.present is None else codes[coded.present]


def of_people(choice: Any, what: str, coded: Coded, rows: NDArray[np.intp]) -> Any:
    """The choices of some of those who answered, to be passed on to a wrapped mechanism."""
    given = np.asarray(choice)
    return choice if given.ndim == 0 else answered(given, what, coded)[rows]  # or one for all


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
        values = picked(columns[column.name], rows)
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
