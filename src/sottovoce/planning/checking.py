"""Which requirements a plan refuses, and why."""

from __future__ import annotations

import math

from ..checks import checked_count
from ..contract.design import Requirement
from ..domain.ranges import Range
from ..domain.values import Domain
from ..errors import ParameterError

_LEAST_SPAN, _MOST_SPAN = 1e-100, 1e100  # its square is a variance


def check(asked: Requirement) -> None:
    """Refuse a requirement that contradicts itself or leaves too much open."""
    if (asked.d is not None) + (asked.bounds is not None) + bool(asked.attributes) != 1:
        raise ParameterError(
            "give one of d (the number of values), bounds (of a number) and attributes (of a "
            "record)"
        )
    if asked.attributes and (
        len(asked.levels) != 1 or asked.rate != 1 or asked.traffic is not None
    ):
        raise ParameterError(
            "a plan for records takes one epsilon, that of an attribute on average, and neither "
            "levels nor rates"
        )
    if (asked.n is not None) + bool(asked.levels) + (asked.error is not None) < 2:
        raise ParameterError(
            "give two of these: how many people, epsilon (or levels), and the error; the third is "
            "computed"
        )
    d, n = asked.d, asked.n
    if d is not None and (isinstance(d, bool) or not isinstance(d, int) or d < 2):
        raise ParameterError(f"d is {d!r}; a question has two values or more")
    if d is not None:
        Domain(d)  # refuses more values than can be encoded
    if asked.bounds is not None:
        number = Range.of(asked.bounds)  # refuses what is not finite or does not increase
        if not _LEAST_SPAN <= number.high - number.low <= _MOST_SPAN:
            raise ParameterError(
                f"bounds {asked.bounds} were given; for an error they must be from {_LEAST_SPAN:g} "
                f"to {_MOST_SPAN:g} apart: measure in another unit"
            )
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ParameterError(f"n is {n!r}; it must be a whole number of people, at least 1")
    if asked.error is not None and not positive(asked.error):
        raise ParameterError(f"error is {asked.error!r}; it must be a positive standard error")
    if not 0 <= asked.delta < 1:
        raise ParameterError(f"delta is {asked.delta!r}; it must be at least 0 and below 1")
    _check_secure(asked)
    if not positive(asked.rate) or asked.rate > 1:
        raise ParameterError(f"rate is {asked.rate!r}; it must be above 0 and at most 1")
    if asked.traffic is not None:
        if not positive(asked.traffic):
            raise ParameterError(f"traffic is {asked.traffic!r}; it must be a number of bytes")
        if n is None or not asked.levels or asked.rate != 1:
            raise ParameterError(
                "traffic works out the rates: give n and epsilon (or levels) with it, and no rate"
            )


def _check_secure(asked: Requirement) -> None:
    checked_count(asked.collusion, "collusion", 0)
    if asked.count is None and not asked.collusion:
        return
    if asked.d is None or asked.personal or not asked.levels or not asked.delta:
        raise ParameterError(
            "count and collusion are for secure protocols: give d, one epsilon for everyone and a "
            "delta above 0 with them, and neither rate nor traffic"
        )
    if asked.count is None:
        return
    holders = checked_count(asked.count, "count", 1)
    if asked.n is not None and holders * asked.d > asked.n:
        raise ParameterError(
            f"{asked.n:,} people cannot be at least {holders:,} holders of each of {asked.d:,} "
            "values; give a smaller count, or none"
        )
    if asked.collusion >= holders:
        raise ParameterError(
            f"collusion is {asked.collusion:,} and count {holders:,}; at least one holder of each "
            "value must be left who does not collude"
        )


def positive(number: object) -> bool:
    """Whether it is a finite number above 0."""
    real = isinstance(number, (int, float)) and not isinstance(number, bool)
    return real and 0 < number < math.inf  # type: ignore[operator]
