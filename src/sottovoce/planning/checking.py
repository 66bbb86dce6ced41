"""Which requirements a plan refuses, and why."""

from __future__ import annotations

from ..checks import checked_count, checked_delta, number
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
    if asked.d is not None:
        Domain(asked.d)  # refuses more values than can be encoded
    if asked.bounds is not None:
        bounds = Range.of(asked.bounds)  # refuses what is not finite or does not increase
        if not _LEAST_SPAN <= bounds.high - bounds.low <= _MOST_SPAN:
            raise ParameterError(
                f"bounds {asked.bounds} were given; for an error they must be from {_LEAST_SPAN:g} "
                f"to {_MOST_SPAN:g} apart: measure in another unit"
            )
    if asked.error is not None:
        error = number(asked.error, "error", "a positive standard error", lambda error: error > 0)
        if asked.bounds is None and error >= 1:
            raise ParameterError(
                f"error is {error:g}; the standard error of a fraction must be below 1: "
                f"{error / 100:g} stands for {error:g} percentage points"
            )
    checked_delta(asked.delta)
    _check_secure(asked)
    number(asked.rate, "rate", "above 0 and at most 1", lambda rate: 0 < rate <= 1)
    if asked.traffic is not None:
        number(asked.traffic, "traffic", "a positive number of bytes", lambda many: many > 0)
        if asked.n is None or not asked.levels or asked.rate != 1:
            raise ParameterError(
                "traffic computes the rates: give n and epsilon (or levels) with it, and no rate"
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
