"""Logarithms that never round in a promise's favour, and parameters inside a sentence."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from ..checks import float_above, rounded_up

_DIGITS = 50  # of every result, before it is rounded up to a float
_SLACK = 1 + Fraction(1, 10**40)  # more than the error of a handful of operations


def named(epsilon: float, delta: float = 0.0) -> str:
    """Parameters inside a sentence, never rounded down."""
    more = f" and delta = {rounded_up(delta, 6)}" if delta else ""
    return f"epsilon = {rounded_up(epsilon, 6)}{more}"


def log_mixture_up(epsilon: float, rate: Fraction, mass: Fraction | None = None) -> float:
    """The logarithm of 1 + r (e^ε − 1), rounded up, and at most ε.

    r is the rate, or, where `mass` is given, rate / (1 + mass (e^ε − 1)).
    """
    with localcontext() as context:
        power, fraction = Decimal(epsilon), _size(rate)
        # 1 + x has as many zeros after the point as x is small; they must not cost digits.
        context.prec = _DIGITS - min(0, power.adjusted()) - min(0, fraction.adjusted())
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
