"""Other ways to collect a record with the same total, and what each of them promises.

Errors are standard errors of an average fraction of one attribute, for equal fractions and people
who report every attribute. S is the number of ones of an attribute; "random" divisions are
Dirichlet(1), so that one attribute's part of the total is Beta(1, m − 1).

hidden, equal   E[S − S²/l] / l / (½ − q̄)²: one person's influence on a self-calibrated fraction
public          (1 − 1/l) E[w + w²/l²] / E[w]² with w = (½ − q)² / (P(1 − P)) and
                P = 1/(2l) + (1 − 1/l) q: scores weighted by information, made to sum to one
split           GRR or subset selection for each attribute at epsilon_average
sample one      m times the same at the total, and (m − 1)(1 − 1/l)/l for who is sampled
tuple           one GRR over all combinations at the total, summed to an attribute
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..checks import MOST_EPSILON, float_above
from ..contract.design import Design, Requirement
from ..errors import ParameterError
from ..mechanisms import GRR, SubsetSelection
from ..promise import LDP, OWN_DEVICE, Guarantee, Promise, Protected, Unit
from ..promise.assumptions import ANY_PART, EQUAL_PART, HIDDEN, INDEPENDENT, UP_TO_PART
from .allocation import FLOOR, Floats, flip
from .levels import largest_part

_POINTS = 20_000
_MOST_TUPLES = 1 << 31


def designs(
    sizes: Sequence[int], *, n: int, average: float, floors: tuple[float, float] | None = None
) -> tuple[Design, ...]:
    """Designs for n people with attributes of these sizes, the lowest error first.

    `floors` are the least epsilons of an attribute with hidden and with public divisions.

    Examples
    --------
    >>> [design.name for design in designs([6] * 4, n=10_000, average=3.0)][:2]
    ['one GRR on the tuple', 'split by attribute']
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ParameterError(f"n is {n!r}; it must be a whole number of people, at least 1")
    m, total = len(sizes), float_above(len(sizes) * Fraction(average))
    parts = _parts(m)
    low, floor = floors = floors or (0.0, min(FLOOR, average))

    def over(least: float) -> Floats:
        return least + parts * (total - least * m)

    whole = -(-(m + sum(sizes)) // 8)
    record = Promise(LDP, total, unit=Unit(Protected.RECORD, answers=m))
    most, above = (largest_part(record, least) for least in floors)

    def design(
        name: str, unit: float, size: int, answer: tuple[str, float], *assuming: str
    ) -> Design:
        return Design(
            name=name,
            n=n,
            levels={"record": total},
            std_error=math.sqrt(unit / n),
            report_bytes=size,
            decode_steps=float(n),
            guarantee=_guarantee(total, answer, assuming),
        )

    every = [
        design("hidden, random", _mean(sizes, over(low), _own), whole, (UP_TO_PART, most), HIDDEN),
        design("hidden, equal", _mean(sizes, average, _own), whole, (EQUAL_PART, average), HIDDEN),
        design(
            "public, random",
            _mean(sizes, over(floor), _known_allocation),
            whole + 2 * m,
            (UP_TO_PART, above),
        ),
        design("split by attribute", _split_variance(sizes, average), whole, (EQUAL_PART, average)),
    ]
    if total <= MOST_EPSILON:
        who = float(np.mean([(1 - 1 / size) / size for size in sizes]))
        one = _split_variance(sizes, total) * m + (m - 1) * who
        every.append(design("sample one attribute", one, whole, (ANY_PART, total)))
        if math.prod(sizes) < _MOST_TUPLES:
            every.append(design("one GRR on the tuple", _tuple(sizes, total), 4, (ANY_PART, total)))
    return tuple(sorted(every, key=lambda design: design.std_error))


def offered(requirement: Requirement) -> tuple[Design, ...]:
    """The same for a plan, with the number of people computed where an error is required."""
    if not requirement.attributes:
        return ()
    (average,) = requirement.levels.values()
    sizes = list(requirement.attributes)
    if requirement.n is not None:
        return designs(sizes, n=requirement.n, average=average)
    target = requirement.error or 1.0
    every = []
    for single in designs(sizes, n=1, average=average):
        n = max(1, math.ceil((single.std_error / target) ** 2))
        error = single.std_error / math.sqrt(n)
        every.append(replace(single, n=n, std_error=error, decode_steps=float(n)))
    return tuple(every)


def _guarantee(total: float, answer: tuple[str, float], also: Sequence[str]) -> Guarantee:
    """The record's total, and the promise for any single answer: (how, its epsilon)."""
    assuming = (OWN_DEVICE, INDEPENDENT, *also)
    record = Promise(LDP, total, unit=Unit(Protected.RECORD), assuming=assuming)
    allocation, each = answer
    return Guarantee((record, Promise(LDP, each, assuming=(*assuming, allocation))))


def _parts(m: int) -> Floats:
    """Beta(1, m − 1) at the middles of equal probabilities."""
    if m == 1:
        return np.ones(1)
    middles = (np.arange(_POINTS) + 0.5) / _POINTS
    return np.asarray(1 - (1 - middles) ** (1 / (m - 1)))


def _mean(
    sizes: Sequence[int], epsilon: Floats | float, variance: Callable[[int, Floats], float]
) -> float:
    q = np.atleast_1d(flip(np.minimum(epsilon, MOST_EPSILON)))
    return float(np.mean([variance(size, q) for size in sizes]))


def _own(size: int, q: Floats) -> float:
    """One person's contribution to the variance of a self-calibrated fraction."""
    mean = 0.5 + (size - 1) * q
    square = mean**2 + 0.25 + (size - 1) * q * (1 - q)
    return float(np.mean(mean - square / size) / size / (0.5 - q.mean()) ** 2)


def _known_allocation(size: int, q: Floats) -> float:
    """The same where each person's q is known."""
    p = 0.5 / size + (1 - 1 / size) * q
    weight = (0.5 - q) ** 2 / (p * (1 - p))
    return float((1 - 1 / size) * np.mean(weight + (weight / size) ** 2) / weight.mean() ** 2)


def _split_variance(sizes: Sequence[int], epsilon: float) -> float:
    """The better of GRR and subset selection for each attribute."""
    variances = [
        min(kind(size, epsilon=epsilon).total_variance(1) for kind in (GRR, SubsetSelection)) / size
        for size in sizes
    ]
    return float(np.mean(variances))


def _tuple(sizes: Sequence[int], epsilon: float) -> float:
    cells = math.prod(sizes)
    q = 1 / (math.exp(epsilon) + cells - 1)
    gap = (math.exp(epsilon) - 1) * q
    variances = []
    for size in sizes:
        other = cells / size * q
        same = other + gap
        variances.append((same * (1 - same) / size + other * (1 - other) * (1 - 1 / size)) / gap**2)
    return float(np.mean(variances))
