"""Everyone's allocation of the budget, one block of people at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain import tables
from ..domain.schema import Schema
from ..errors import ParameterError
from ..randomness import Source
from .allocation import Floats, checked, equal, random

NAMED = ("equal", "random")


def allocations_of(
    schema: Schema,
    columns: Sequence[Any],
    allocation: Any,
    reported: Any,
    *,
    averages: Floats,
    floor: float,
    source: Source,
    first: int,
) -> Callable[[slice], Floats]:
    """A function from a block of people to their checked budgets, NaN where unreported.

    `averages` are everyone's epsilon_average; `first` is the first person's row in the
    whole table, for messages.
    """
    people = len(columns[0])
    names = [attribute.name for attribute in schema]

    def accepted(allocations: Any, part: slice) -> Floats:
        many = part.stop - part.start
        return checked(allocations, many, names, averages[part], floor, first=first + part.start)

    if not isinstance(allocation, str):
        table = _checked_table(allocation, reported, names, people)
        return lambda part: accepted(tables.rows_of(table, part), part)
    if allocation not in NAMED:
        raise ParameterError(
            f"allocation is {allocation!r}; it must be 'equal', 'random' or numbers"
        )
    who = None if reported is None else tables.checked_reported(reported, (people, len(schema)))

    def sending(part: slice) -> NDArray[np.bool_]:
        if who is not None:
            return who[part]
        return tables.answered(schema, columns, part, first + part.start)

    def divided(part: slice) -> Floats:
        sent = sending(part)
        if not sent.any(axis=1).all():
            silent = ~sending(slice(0, people)).any(axis=1)
            raise ParameterError(
                f"{int(silent.sum())} of these {people} people report nothing (the first at row "
                f"{first + int(silent.argmax())}); a record needs an answer, so leave these rows "
                "out of the table"
            )
        if allocation == "equal":
            return accepted(equal(sent, averages[part]), part)
        return accepted(random(sent, averages[part], floor, source), part)

    return divided


def _checked_table(allocation: Any, reported: Any, names: Sequence[str], people: int) -> Any:
    if reported is not None:
        raise ParameterError(
            "reported is for 'equal' and 'random' only; in this allocation NaN "
            "marks what is not reported"
        )
    table = tables.by_name(allocation, names)
    rows = len(table) if tables.has_rows(table) else "no"
    if rows != people:
        raise ParameterError(
            f"the allocation has {rows} rows for {people} people; everyone needs one, with a "
            "budget per attribute; or use 'equal' or 'random'"
        )
    return table
