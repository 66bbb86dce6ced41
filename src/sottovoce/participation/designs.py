"""Designs for people who differ: levels of privacy, and rates below one.

Of level j: a fraction s_j of n people, who report with probability π_j; V_j is the noise of one
report and D the most that answers can vary, both of an average fraction or of the mean. Then

n Var of level j's own estimate  U_j = (V_j + (1 − π_j) D) / π_j         Hájek, first order
post-stratified, any levels      S = Σ s_j U_j / n                       what is promised
pooled, if levels agree          P = 1 / Σ (n s_j / (U_j + D)) − D / n
james-stein, if levels agree     P + ρ (S − P)                           what can be hoped for

ρ is what shrinkage keeps of the variance of a contrast that is pure noise. With m free values and
Q ~ χ²_m it is E[(1 − (m − 2)/Q)₊² Q] / m for m ≥ 3; for fewer, where a contrast is moved by at most
t = .46 √(m / (H − 1)) standard errors, 2 ((1 + t²) Φ(−t) − t φ(t)). Secure-sampling page, §e.4.

Designs are ranked by the post-stratified error: nobody knows beforehand how alike the levels are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from ..contract.design import Design, Requirement
from ..domain.ranges import Range
from ..errors import ParameterError
from ..mechanisms.designs import (
    MOST_PEOPLE,
    decode_steps,
    least_epsilon,
    makers,
    unit_scatter,
    unit_variance,
)
from ..mechanisms.mechanism import Mechanism
from .levels import Levels, Sampled
from .rates import best_rates

Menu = Mapping[str, Mechanism]
_SOFT = 0.46  # of limited translation, as in `sottovoce.estimate`


def designs(requirement: Requirement) -> Iterator[Design]:
    """One design per mechanism that fits the question, where people differ."""
    if not requirement.personal:
        return  # `sottovoce.mechanisms` has those
    for make in makers(requirement):
        design = _design(requirement, make)
        if design is not None:
            yield design


def _design(requirement: Requirement, make: Callable[[float], Mechanism]) -> Design | None:
    levels = dict(requirement.levels)
    try:
        if not levels:
            rate = requirement.rate
            epsilon = least_epsilon(requirement, lambda e: _unit(make(e), rate))
            if epsilon is None:
                return None
            levels = {"everyone": epsilon}
        menu = {name: make(epsilon) for name, epsilon in levels.items()}
        fractions = dict(requirement.fractions) or dict.fromkeys(levels, 1 / len(levels))
        rates = _rates(requirement, menu, fractions)
        whole = _whole(menu, rates)
    except ParameterError:
        return None  # too many values for its hash, or an epsilon or rate too small to be drawn
    units = {name: _unit(mechanism, rates[name]) for name, mechanism in menu.items()}
    unit = sum(fractions[name] * units[name] for name in menu)
    people = _people(requirement, fractions, unit)
    n = sum(people.values())
    if n > MOST_PEOPLE:
        return None
    sent = {name: people[name] * rates[name] for name in menu}
    return Design(
        name=next(iter(menu.values())).id,
        n=n,
        levels=levels,
        std_error=math.sqrt(unit / n),
        report_bytes=whole.report_bytes,
        decode_steps=sum(decode_steps(m, sent[name]) for name, m in menu.items()),
        guarantee=whole.guarantee,
        people=people,
        rates=rates if any(rate < 1 for rate in rates.values()) else {},
        std_error_alike=_agreeing(units, fractions, next(iter(menu.values())), n),
    )


def _agreeing(
    units: Mapping[str, float], fractions: Mapping[str, float], mechanism: Mechanism, n: int
) -> float | None:
    """Standard error of the default estimate where levels agree; None where there is one level."""
    if len(units) < 2:
        return None
    scatter = unit_scatter(mechanism)
    precision = sum(n * fractions[name] / (unit + scatter) for name, unit in units.items())
    pooled = max(0.0, 1 / precision - scatter / n)
    stratified = sum(fractions[name] * unit for name, unit in units.items()) / n
    free = 1 if isinstance(mechanism.domain, Range) else mechanism.domain.size - 1
    return math.sqrt(pooled + _fraction_kept(free, len(units)) * max(0.0, stratified - pooled))


def _fraction_kept(free: int, levels: int) -> float:
    """ρ: what shrinkage keeps of the variance of a contrast that is pure noise."""
    if free < 3:
        t = _SOFT * math.sqrt(free / (levels - 1))
        density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        return (1 + t * t) * math.erfc(t / math.sqrt(2)) - 2 * t * density
    from scipy.special import gammaincc

    c = free - 2
    above, same, below = (float(gammaincc(k / 2, c / 2)) for k in (free + 2, free, free - 2))
    return (free * above - 2 * c * same + c * below) / free


def _unit(mechanism: Mechanism, rate: float) -> float:
    """U: variance of an average fraction, or of the mean, times the people of a level."""
    return (unit_variance(mechanism) + (1 - rate) * unit_scatter(mechanism)) / rate


def _whole(menu: Menu, rates: Mapping[str, float]) -> Mechanism:
    """What everyone would use: levels, each sampled at its own rate."""
    sampled = {
        name: mechanism if rates[name] == 1 else Sampled(mechanism, rate=rates[name])
        for name, mechanism in menu.items()
    }
    return Levels(sampled) if len(sampled) > 1 else next(iter(sampled.values()))


def _rates(
    requirement: Requirement, menu: Menu, fractions: Mapping[str, float]
) -> dict[str, float]:
    """Everyone's rate, or the best ones for the bytes that may be sent."""
    if requirement.traffic is None or requirement.n is None:
        return dict.fromkeys(menu, requirement.rate)
    # Reports of all levels are as long as the longest, so that they fit in one file.
    each = _whole(menu, dict.fromkeys(menu, 0.5)).report_bytes
    people = [requirement.n * fractions[name] for name in menu]
    rates = best_rates(
        list(menu.values()), people, traffic=requirement.traffic, costs=[each] * len(menu)
    )
    return dict(zip(menu, rates.tolist(), strict=True))


def _people(
    requirement: Requirement, fractions: Mapping[str, float], unit: float
) -> dict[str, int]:
    """People of each level: as many as there are, or as many as the error requires."""
    if requirement.n is None:
        n = unit / (requirement.error or 1.0) ** 2
        return {name: math.ceil(n * fraction) for name, fraction in fractions.items()}
    exact = {name: requirement.n * fraction for name, fraction in fractions.items()}
    people = {name: math.floor(number) for name, number in exact.items()}
    left = requirement.n - sum(people.values())
    # The largest remainders are rounded up, so that the levels add up to everyone.
    for name in sorted(exact, key=lambda name: people[name] - exact[name])[:left]:
        people[name] += 1
    return people
