"""How a person divides a budget among the attributes of a record.

A budget is kept in steps of 1/1024, rounded down, so that for each there is an exact probability
q = 1 / (e^ε + 1) of setting another value's bit, out of 2^128 and rounded up. Nothing here looks
at answers: an allocation that depends on them would break every promise
(`tests/never`, sentence 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import MOST_EPSILON
from ..errors import ParameterError
from ..randomness import BITS, Source, exp

Floats = NDArray[np.float64]
STEPS = 1024
UNREPORTED = np.uint16(0xFFFF)
FLOOR = 0.5  # of public divisions: a smaller budget would drown the unweighted mean
_MOST = int(MOST_EPSILON * STEPS)
_CLOSE = 1e-6


def in_steps(allocation: Floats, average: Floats) -> NDArray[np.uint16]:
    """Budgets in whole steps, rounded down; UNREPORTED where there is none.

    A sum may exceed the total by rounding that `checked` accepts; the largest budget is then
    reduced, so that no more is spent than promised.
    """
    reported = ~np.isnan(allocation)
    steps = np.floor(np.where(reported, allocation, 0.0) * STEPS).astype(np.int64)
    most = most_steps(reported.sum(axis=1), average)
    for row in np.flatnonzero(steps.sum(axis=1) > most):
        excess = steps[row].sum() - most[row]
        steps[row, steps[row].argmax()] -= excess
    return np.where(reported, steps, UNREPORTED).astype(np.uint16)


def most_steps(reported: Any, average: Floats | float) -> NDArray[np.int64]:
    """The steps that a person may divide among this many attributes."""
    return np.floor(np.asarray(reported) * average * STEPS).astype(np.int64)


def threshold_recipe() -> tuple[int, int]:
    """(scale, factor): e^(1/1024) is factor / scale, rounded down, in 60-digit integers."""
    scale = 10**60
    return scale, math.floor(exp(1 / STEPS) * scale)


@lru_cache(maxsize=1)
def thresholds() -> NDArray[np.uint64]:
    """For each number of steps: q as a 128-bit threshold, upper and lower 64 bits."""
    table = np.empty((_MOST + 1, 2), np.uint64)
    scale, factor = threshold_recipe()
    power = scale  # e^ε, rounded down at every step so that q is never too small
    for k in range(_MOST + 1):
        numerator = -(-(scale << BITS) // (power + scale)) + 2
        numerator = min(numerator, 1 << (BITS - 1))
        table[k] = numerator >> 64, numerator & (2**64 - 1)
        power = power * factor // scale
    return table


def flip(epsilon: ArrayLike) -> Floats:
    """q = 1 / (e^ε + 1)."""
    return np.asarray(1 / (np.exp(np.asarray(epsilon, float)) + 1))


def equal(reported: NDArray[np.bool_], average: Floats | float) -> Floats:
    """Everyone gives each reported attribute their average."""
    return np.where(reported, np.asarray(average)[..., None], np.nan)


def random(
    reported: NDArray[np.bool_], average: Floats | float, floor: float, source: Source
) -> Floats:
    """Everyone divides at random: the floor for each, and Dirichlet(1) of the rest."""
    words = np.empty(reported.shape, np.uint64)
    source.fill(words)
    weights = -np.log((words >> np.uint64(11)).astype(float) * 2.0**-53 + 2.0**-54)
    weights = np.where(reported, weights, 0.0)
    total = reported.sum(axis=1, keepdims=True) * (np.asarray(average) - floor)[..., None]
    with np.errstate(invalid="ignore"):
        budgets = floor + weights / weights.sum(axis=1, keepdims=True) * total
    # An attribute takes at most the largest budget; the rest goes where there is room.
    over = np.where(reported, np.maximum(budgets - MOST_EPSILON, 0), 0)
    if over.any():
        budgets = np.where(reported, np.minimum(budgets, MOST_EPSILON), 0)
        room = np.where(reported, MOST_EPSILON - budgets, 0)
        part = room / np.maximum(room.sum(axis=1, keepdims=True), 1e-300)
        budgets = np.minimum(budgets + part * over.sum(axis=1, keepdims=True), MOST_EPSILON)
    return np.where(reported, budgets, np.nan)


def checked(
    allocation_table: Any,
    people: int,
    names: Sequence[str],
    average: Floats | float,
    floor: float,
    *,
    first: int = 0,
) -> Floats:
    """An allocation as people × attributes, NaN where unreported, or an error that says why not."""
    try:
        allocation = np.array(allocation_table, float)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "allocation must be numbers, one per person and attribute, NaN where unreported; or "
            "'equal' or 'random'"
        ) from error
    if allocation.shape != (people, len(names)):
        raise ParameterError(
            f"the allocation has the shape {allocation.shape}; it must be one row per person and "
            f"one column per attribute, {(people, len(names))}"
        )
    reported = ~np.isnan(allocation)
    if not reported.any(axis=1).all():
        row = first + int(np.flatnonzero(~reported.any(axis=1))[0])
        raise ParameterError(
            f"person {row} reports nothing: NaN for every attribute; leave the row out of the "
            "table and of the allocation"
        )
    if people == 0:
        return allocation
    low, high = np.nanmin(allocation), np.nanmax(allocation)
    if not (low >= floor and high <= MOST_EPSILON):
        raise ParameterError(
            f"budgets go from {low:g} to {high:g}; allowed for an attribute is {floor:g} to "
            f"{MOST_EPSILON:g} (floor={floor:g})"
        )
    total = np.nansum(allocation, axis=1)
    due = reported.sum(axis=1) * average
    off = np.abs(total - due) > _CLOSE * due
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise ParameterError(
            f"person {first + row} divides {total[row]:g} among {int(reported[row].sum())} "
            f"attributes; it must be {due[row]:g}, epsilon_average for each (sliders keep the "
            "total: sottovoce.records.allocation.slide)"
        )
    return allocation


def slide(allocation: ArrayLike, attribute: int, value: float, *, floor: float = 0.0) -> Floats:
    """Move one slider; the others shrink or grow in proportion, so that the total stays.

    Proportion is that of what lies above the floor. What would rise above the limit of one
    attribute goes where there is room.

    Parameters
    ----------
    allocation : array-like
        One person's budgets, NaN where unreported.
    attribute : int
        The position of the slider.
    value : float
        Where to move it; what cannot be reached with this total is refused.
    floor : float
        The least budget of an attribute (`Records.floor`).

    Examples
    --------
    >>> slide([2.0, 2.0, 2.0], 0, 4.0).tolist()
    [4.0, 1.0, 1.0]
    """
    if not _is_number(floor) or not 0 <= floor <= MOST_EPSILON:
        raise ParameterError(f"floor is {floor!r}; it must be from 0 to {MOST_EPSILON:g}")
    row: Floats = _rows(allocation, dimensions=1, floor=floor)[0]
    others = ~np.isnan(row)
    whole = isinstance(attribute, (int, np.integer)) and not isinstance(attribute, bool)
    if not whole or not -row.size <= attribute < row.size or not others[attribute]:
        raise ParameterError(
            f"attribute is {attribute!r}; it must be the position of a reported one in "
            f"{row.tolist()}"
        )
    others[attribute] = False
    total, many = float(np.nansum(row)), int(others.sum())
    low, high = max(floor, total - many * MOST_EPSILON), min(MOST_EPSILON, total - many * floor)
    slack = _CLOSE * total
    if not _is_number(value) or not low - slack <= value <= high + slack:
        raise ParameterError(
            f"value is {value!r}; with a total of {total:g} over {many + 1} attributes, each from "
            f"{floor:g} to {MOST_EPSILON:g}, it can be from {low:g} to {high:g}"
        )
    row[attribute] = min(max(value, low), high)
    row[others] = _divide(row[others], total - float(row[attribute]), floor)
    return row


def _divide(budgets: Floats, total: float, floor: float) -> Floats:
    """Budgets changed in proportion until they have this total."""
    above, many = budgets - floor, budgets.size
    excess = total - many * floor
    if above.sum() > 0:
        divided = floor + above * (excess / above.sum())
    else:
        divided = np.full(many, floor + excess / max(many, 1))
    over = np.maximum(divided - MOST_EPSILON, 0.0).sum()
    room = np.maximum(MOST_EPSILON - divided, 0.0)
    if over > 0:
        divided = np.minimum(divided, MOST_EPSILON) + room * (over / max(room.sum(), over))
    return np.asarray(np.clip(divided, floor, MOST_EPSILON))


def described_epsilon(allocation: ArrayLike) -> Floats:
    """ε_w of each record, a description and NOT a guarantee: the guarantee is the sum of the row.

    ε_w = Σ ε_i (1 − (ε_i − ε_min) / ε_total); Definition 4 of "PLDP: Personalized Local
    Differential Privacy for Multidimensional Data Aggregation". (3.9, 0.1) has .295, and loses 4.
    """
    rows = _rows(allocation, dimensions=2, floor=0.0)
    least = np.nanmin(rows, axis=1, keepdims=True)
    total = np.nansum(rows, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nansum(rows * (1 - (rows - least) / total), axis=1))


def _rows(allocation: ArrayLike, *, dimensions: int, floor: float) -> Floats:
    """The budgets of one or more people as rows, each with at least one budget."""
    try:
        plain = np.array(allocation)
        numbers = plain.dtype.kind in "iufO" and plain.size > 0 and plain.ndim <= dimensions
        rows = np.atleast_2d(plain.astype(float)) if numbers else np.full((1, 1), np.nan)
    except (TypeError, ValueError):
        rows = np.full((1, 1), np.nan)
    if np.isnan(rows).all(axis=1).any():
        raise ParameterError(
            f"the allocation is {allocation!r}; give one person's budgets as numbers, NaN where "
            "unreported" + (", or a row for each person" if dimensions > 1 else "")
        )
    low, high = np.nanmin(rows), np.nanmax(rows)
    if low < floor or high > MOST_EPSILON:
        raise ParameterError(
            f"budgets go from {low:g} to {high:g}; allowed for an attribute is {floor:g} to "
            f"{MOST_EPSILON:g}"
        )
    return rows


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
