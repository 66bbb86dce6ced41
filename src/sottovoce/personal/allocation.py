"""How a person divides a budget over the attributes of a record.

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

from ..errors import ParameterError
from ..guarantee import MOST_EPSILON
from ..randomness import BITS, Source, exp

Floats = NDArray[np.float64]
STEPS = 1024
UNREPORTED = np.uint16(0xFFFF)
_MOST = int(MOST_EPSILON * STEPS)
_CLOSE = 1e-6


def in_steps(allocation: Floats, average: float) -> NDArray[np.uint16]:
    """Budgets in whole steps, rounded down; UNREPORTED where there is none.

    A sum may exceed the total in the last digits that `checked` lets pass; the largest budget then
    gives way, so that what is spent is never more than what is promised.
    """
    reported = ~np.isnan(allocation)
    steps = np.floor(np.where(reported, allocation, 0.0) * STEPS).astype(np.int64)
    over = steps.sum(axis=1) > most_steps(reported.sum(axis=1), average)
    for row in np.flatnonzero(over):
        excess = steps[row].sum() - most_steps(reported[row].sum(), average)
        steps[row, steps[row].argmax()] -= excess
    return np.where(reported, steps, UNREPORTED).astype(np.uint16)


def most_steps(reported: Any, average: float) -> NDArray[np.int64]:
    """The steps that a person may divide over so many attributes."""
    return np.floor(np.asarray(reported) * average * STEPS).astype(np.int64)


@lru_cache(maxsize=1)
def thresholds() -> NDArray[np.uint64]:
    """For each number of steps: q as a 128-bit threshold, upper and lower 64 bits."""
    table = np.empty((_MOST + 1, 2), np.uint64)
    step = exp(1 / STEPS)
    slack = 10**60
    power = 1 * slack
    # e^ε in 60-digit integers, rounded down at every step so that q is never too small.
    factor = math.floor(step * slack)
    for k in range(_MOST + 1):
        numerator = -(-(slack << BITS) // (power + slack)) + 2
        numerator = min(numerator, 1 << (BITS - 1))
        table[k] = numerator >> 64, numerator & (2**64 - 1)
        power = power * factor // slack
    return table


def flip(epsilon: ArrayLike) -> Floats:
    """q = 1 / (e^ε + 1)."""
    return np.asarray(1 / (np.exp(np.asarray(epsilon, float)) + 1))


def equal(reported: NDArray[np.bool_], average: float) -> Floats:
    """Everyone gives each reported attribute the average."""
    return np.where(reported, average, np.nan)


def random(reported: NDArray[np.bool_], average: float, floor: float, source: Source) -> Floats:
    """Everyone divides at random: the floor for each, and Dirichlet(1) of the rest."""
    words = np.empty(reported.shape, np.uint64)
    source.fill(words)
    weights = -np.log((words >> np.uint64(11)).astype(float) * 2.0**-53 + 2.0**-54)
    weights = np.where(reported, weights, 0.0)
    total = reported.sum(axis=1, keepdims=True) * (average - floor)
    with np.errstate(invalid="ignore"):
        shares = floor + weights / weights.sum(axis=1, keepdims=True) * total
    # An attribute takes at most what one budget may be; the rest goes where there is room.
    over = np.where(reported, np.maximum(shares - MOST_EPSILON, 0), 0)
    if over.any():
        shares = np.where(reported, np.minimum(shares, MOST_EPSILON), 0)
        room = np.where(reported, MOST_EPSILON - shares, 0)
        part = room / np.maximum(room.sum(axis=1, keepdims=True), 1e-300)
        shares = np.minimum(shares + part * over.sum(axis=1, keepdims=True), MOST_EPSILON)
    return np.where(reported, shares, np.nan)


def checked(
    given: Any, people: int, names: Sequence[str], average: float, floor: float, *, first: int = 0
) -> Floats:
    """An allocation as people × attributes, NaN where unreported, or an error that says why not."""
    try:
        allocation = np.array(given, float)
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
        raise ParameterError(f"person {row} reports nothing; leave the row out")
    if people == 0:
        return allocation
    low, high = np.nanmin(allocation), np.nanmax(allocation)
    if not (low >= floor and high <= MOST_EPSILON):
        raise ParameterError(
            f"budgets go from {low:g} to {high:g}; allowed for an attribute is {floor:g} to "
            f"{MOST_EPSILON:g} (floor={floor:g})"
        )
    total = np.nansum(allocation, axis=1)
    wanted = reported.sum(axis=1) * average
    off = np.abs(total - wanted) > _CLOSE * wanted
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise ParameterError(
            f"person {first + row} divides {total[row]:g} over {int(reported[row].sum())} "
            f"attributes; it must be {wanted[row]:g}, epsilon_average for each (sliders "
            "keep the total: personal.allocation.slide)"
        )
    return allocation


def slide(allocation: ArrayLike, attribute: int, value: float) -> Floats:
    """Move one slider; the others shrink or grow in proportion, so that the total stays.

    Examples
    --------
    >>> slide([2.0, 2.0, 2.0], 0, 4.0).tolist()
    [4.0, 1.0, 1.0]
    """
    row = np.array(allocation, float)
    if row.ndim != 1 or not -row.size <= attribute < row.size or np.isnan(row[attribute]):
        raise ParameterError(f"attribute {attribute!r} is not reported in {allocation!r}")
    total = float(np.nansum(row))
    if not 0 <= value <= min(total, MOST_EPSILON):
        raise ParameterError(
            f"value is {value!r}; it must be from 0 to {min(total, MOST_EPSILON):g}"
        )
    others = ~np.isnan(row)
    others[attribute] = False
    if not others.any():
        if not math.isclose(value, total):
            raise ParameterError(f"the only attribute must have the whole budget, {total:g}")
        return row
    rest = float(row[others].sum())
    left = total - value
    row[others] = row[others] * (left / rest) if rest > 0 else left / others.sum()
    row[attribute] = value
    return row


def described_epsilon(allocation: ArrayLike) -> Floats:
    """ε_w of each record, a description and NOT a guarantee: what holds is the sum of the row.

    ε_w = Σ ε_i (1 − (ε_i − ε_min) / ε_total); Definition 4 of "PLDP: Personalized Local
    Differential Privacy for Multidimensional Data Aggregation". (3.9, 0.1) has .295, and loses 4.
    """
    rows = np.atleast_2d(np.asarray(allocation, float))
    least = np.nanmin(rows, axis=1, keepdims=True)
    total = np.nansum(rows, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nansum(rows * (1 - (rows - least) / total), axis=1))
