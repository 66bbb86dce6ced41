"""What numbers an account takes, and logarithms that never round in a promise's favour."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from ..errors import ParameterError
from ..guarantee import float_above, rounded_up

_DIGITS = 50  # of every result, before it is rounded up to a float
_SLACK = 1 + Fraction(1, 10**40)  # more than the error of a handful of operations


def number(value: Any, name: str, allowed: str) -> float:
    """A finite number as a float; booleans, text and NaN are none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(f"{name} is {value!r}; it must be {allowed}")
    try:
        made = float(value)
    except OverflowError:
        made = math.inf
    if not math.isfinite(made):
        raise ParameterError(f"{name} is {value!r}; it must be {allowed}")
    return made


def checked_rate(rate: Any, name: str = "rate") -> float:
    """A probability of taking part, above 0 and at most 1."""
    allowed = "a probability above 0 (else nobody reports) and at most 1, such as 0.1"
    made = number(rate, name, allowed)
    if not 0 < made <= 1:
        raise ParameterError(f"{name} is {made!r}; it must be {allowed}")
    return made


def checked_delta(delta: Any, name: str = "delta") -> float:
    """A probability from 0 on, below 1."""
    allowed = "a probability from 0 on and below 1, such as 1e-6"
    made = number(delta, name, allowed)
    if not 0 <= made < 1:
        raise ParameterError(f"{name} is {made!r}; it must be {allowed}")
    return made


def checked_loss(epsilon: Any) -> float:
    """A central epsilon at which a delta is asked for: 0 is allowed, and there is no most."""
    allowed = "a number from 0 on"
    made = number(epsilon, "epsilon", allowed)
    if made < 0:
        raise ParameterError(f"epsilon is {made!r}; it must be {allowed}")
    return made


def checked_positive(value: Any, name: str) -> float:
    """A number above 0."""
    made = number(value, name, "a number above 0")
    if made <= 0:
        raise ParameterError(f"{name} is {made!r}; it must be a number above 0")
    return made


def checked_count(count: Any, name: str, least: int) -> int:
    """A whole number from `least` on."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < least:
        raise ParameterError(f"{name} is {count!r}; it must be a whole number from {least} on")
    return int(count)


def named(epsilon: float, delta: float = 0.0) -> str:
    """Parameters inside a sentence, never rounded down."""
    more = f" and delta = {rounded_up(delta, 6)}" if delta else ""
    return f"epsilon = {rounded_up(epsilon, 6)}{more}"


def log_mixture_up(epsilon: float, rate: Fraction, mass: Fraction | None = None) -> float:
    """The logarithm of 1 + r (e^ε − 1), rounded up, and at most ε.

    r is the rate, or, where `mass` is given, rate / (1 + mass (e^ε − 1)).
    """
    with localcontext() as context:
        power, share = Decimal(epsilon), _size(rate)
        # 1 + x has as many zeros after the point as x is small; they must not cost digits.
        context.prec = _DIGITS - min(0, power.adjusted()) - min(0, share.adjusted())
        excess = power.exp() - 1
        part = _ratio(rate) * excess
        if mass is not None:
            part = part / (1 + _ratio(mass) * excess)
        exact = Fraction((1 + part).ln())
    return min(epsilon, float_above(exact * _SLACK))


def log_ratio_up(above: Fraction, below: Fraction) -> Fraction:
    """The logarithm of above / below ≥ 1, rounded up; exact 0 where they are equal."""
    if above == below:
        return Fraction(0)
    with localcontext() as context:
        context.prec = _DIGITS - min(0, _size((above - below) / below).adjusted())
        return Fraction((_ratio(above) / _ratio(below)).ln()) * _SLACK


def _ratio(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _size(exact: Fraction) -> Decimal:
    """Roughly the number, in few digits, to see how small it is."""
    with localcontext() as context:
        context.prec = 9
        return _ratio(exact)
