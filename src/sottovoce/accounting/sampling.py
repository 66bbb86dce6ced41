"""When only some people report: how much privacy random selection adds.

Poisson   ε' = ln(1 + π(e^ε − 1)), δ' = πδ: everyone by their own coin flip; neighbours differ by
          one person more or less (Balle, Barthe, Gaboardi 2018, arXiv:1807.01647, theorem 8)
Fixed     ε' = ln(1 + (s/n)(e^ε − 1)), δ' = (s/n)δ: s of n people, neighbours by one answer
          (the same paper, theorem 9)
Dummies   ε' = ln(p'/q') with p' = πp + (1 − π)/d, q' = πq + (1 − π)/d: GRR in which those who are
          not chosen report a uniformly random value
Visible   ε' = ε: where the server sees who reported, sampling gains nothing

The first two need somebody who keeps the sample secret. Without such a person only dummies gain
anything, and they save no traffic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Literal, get_args

from ..checks import (
    check_choice,
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_rate,
    float_above,
    number,
    rounded_up,
)
from ..errors import GuaranteeError, ParameterError
from ..promise import DP, LDP, OWN_DEVICE, Against, Neighbours, Promise, Protected, Unit
from ..promise.assumptions import EVERYONE_SENDS, KEPT_SAMPLE, NOT_BY_DATA
from .rounding import log_mixture_up, log_ratio_up, named

Sample = Literal["secret", "seen", "picked"]

_REFUSED = {
    "seen": "the server sees who reported, so being left out hides nobody",
    "picked": "the server picks the sample, so it knows who is in it",
}


def poisson(
    epsilon: float, rate: float, *, delta: float = 0.0, sample: Sample = "secret"
) -> Promise:
    """A result computed from a secret sample that everyone enters by their own coin flip.

    Parameters
    ----------
    epsilon, delta : float
        Of the result for the people in the sample, neighbours being one person more or less.
    rate : float
        Probability of being in the sample, the same for everyone.
    sample : {"secret", "seen", "picked"}
        Who knows the sample. If the server sees it, or picks it, nothing is gained: refused.

    Returns
    -------
    Promise
        ε' = ln(1 + π(e^ε − 1)) and δ' = πδ, rounded up.

    Examples
    --------
    >>> round(poisson(1.0, 0.1).epsilon, 4)
    0.1586
    """
    rate = checked_rate(rate)
    drawn = f"everyone enters the sample by their own coin flip, with probability {rate:g}"
    return _of_sample(epsilon, delta, Fraction(rate), sample, Neighbours.ADD_REMOVE, drawn)


def fixed_size(
    epsilon: float, sampled: int, people: int, *, delta: float = 0.0, sample: Sample = "secret"
) -> Promise:
    """A result computed from a secret sample of a fixed size, which may be public.

    Parameters
    ----------
    epsilon, delta : float
        Of the result for the `sampled` people, neighbours being one changed contribution. For
        shuffled reports: what `shuffle` gives for that many people.
    sampled, people : int
        How many are drawn, uniformly and without replacement, out of how many.
    sample : {"secret", "seen", "picked"}
        Who knows the sample. If the server sees it, or picks it, nothing is gained: refused.

    Returns
    -------
    Promise
        ε' = ln(1 + (s/n)(e^ε − 1)) and δ' = (s/n)δ, rounded up.

    Examples
    --------
    >>> round(fixed_size(1.0, 100, 1000).epsilon, 4)
    0.1586
    """
    people, sampled = checked_count(people, "people", 1), checked_count(sampled, "sampled", 1)
    if sampled > people:
        raise ParameterError(
            f"sampled is {sampled:,} and people {people:,}; the sample cannot be larger than the "
            "population"
        )
    rate = Fraction(sampled, people)
    drawn = f"{sampled:,} of {people:,} people are drawn, all sets of them equally likely"
    return _of_sample(epsilon, delta, rate, sample, Neighbours.SUBSTITUTION, drawn)


def dummies(epsilon: float, d: int, rate: float) -> Promise:
    """GRR in which those who are not chosen report a uniformly random value.

    This holds against a server that sees every report, because nobody can distinguish a dummy from
    a report. It saves no traffic: everyone sends.

    Parameters
    ----------
    epsilon : float
        Of the GRR reports.
    d : int
        Number of values.
    rate : float
        Probability of being chosen, by a coin on the participant's own side.

    Returns
    -------
    Promise
        ε' = ln(p'/q') of local differential privacy, rounded up.

    Examples
    --------
    >>> round(dummies(1.0, 4, 0.1).epsilon, 4)
    0.1168
    """
    epsilon, d, rate = checked_epsilon(epsilon), checked_count(d, "d", 2), checked_rate(rate)
    # p'/q' = 1 + π(e^ε − 1) / (1 + (1 − π)(e^ε − 1)/d)
    return Promise(
        LDP,
        log_mixture_up(epsilon, Fraction(rate), (1 - Fraction(rate)) / d),
        assuming=(
            OWN_DEVICE,
            f"those not chosen report one of the {d:,} values, all equally likely; everyone is "
            f"chosen by their own coin flip, with probability {rate:g}; {NOT_BY_DATA}",
            EVERYONE_SENDS,
        ),
    )


def visible(epsilon: float) -> Promise:
    """Local reports of a sample, when the server sees who reported: no more than ε is promised.

    A person who is chosen loses exactly what a person of a full collection loses, and the server
    knows who is chosen.

    Examples
    --------
    >>> visible(1.0).epsilon
    1.0
    """
    return Promise(LDP, checked_epsilon(epsilon), assuming=(OWN_DEVICE, NOT_BY_DATA))


def value_dependent_loss(epsilon: float, rates: Iterable[float]) -> float:
    """What is really lost when the probability of reporting depends on the person's own answer.

    Not an account but a warning: both a report and silence then reveal something about the answer.

    Parameters
    ----------
    epsilon : float
        Of the reports.
    rates : iterable of float
        For each possible answer the probability that its holder reports.

    Returns
    -------
    float
        max( ε + ln(π_max/π_min), ln((1 − π_min)/(1 − π_max)) ), rounded up; infinite where a rate
        of 0 or 1 occurs with another rate.

    Examples
    --------
    >>> round(value_dependent_loss(1.0, [0.1, 0.9]), 2)
    3.2
    """
    epsilon = checked_epsilon(epsilon)
    least, most = _ends(rates)
    if least != most and (least == 0 or most == 1):
        return math.inf
    reporting = Fraction(epsilon) + log_ratio_up(most, least)
    silent = log_ratio_up(1 - least, 1 - most)
    return float_above(max(reporting, silent))


def refuse_value_dependent(epsilon: float, rates: Iterable[float]) -> float:
    """The one rate, if they are all equal; else an error that says what is really lost."""
    every_rate = list(rates) if isinstance(rates, Iterable) else rates
    loss = value_dependent_loss(epsilon, every_rate)
    least, most = _ends(every_rate)
    if least != most:
        raise GuaranteeError(
            f"the rates go from {float(least):g} to {float(most):g} by the person's own answer, so "
            f"taking part reveals it: the loss is {rounded_up(loss, 3)}, not {epsilon:g}; choose "
            "one rate for everyone, or let it depend on public facts only"
        )
    return float(least)


def _ends(rates: Any) -> tuple[Fraction, Fraction]:
    allowed = "a probability from 0 to 1"
    if isinstance(rates, str) or not isinstance(rates, Iterable):
        raise ParameterError(f"rates is {rates!r}; give one probability for each possible answer")
    numbers = [number(rate, "a rate", allowed) for rate in rates]
    if not numbers or not all(0 <= rate <= 1 for rate in numbers):
        raise ParameterError(f"rates is {numbers!r}; each must be {allowed}, one for each answer")
    if max(numbers) == 0:
        raise ParameterError("rates are all 0, so nobody reports; one must be above 0")
    return Fraction(min(numbers)), Fraction(max(numbers))


def _of_sample(
    epsilon: float, delta: float, rate: Fraction, sample: Any, neighbours: Neighbours, drawn: str
) -> Promise:
    """What a result computed from a secret sample promises to everyone."""
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    check_choice(sample, "sample", get_args(Sample))
    if sample != "secret":
        raise GuaranteeError(
            f"sampling gains no privacy here: {_REFUSED[sample]}, and the loss stays epsilon = "
            f"{epsilon:g}; let someone trusted keep the sample secret, or use dummies"
        )
    whole = neighbours is Neighbours.ADD_REMOVE
    differ = "one person more or less" if whole else "one changed contribution"
    return Promise(
        DP,
        log_mixture_up(epsilon, rate),
        float_above(rate * Fraction(delta)),
        neighbours=neighbours,
        unit=Unit(Protected.PARTICIPATION if whole else Protected.CONTRIBUTION),
        against=Against.RESULT,
        assuming=(
            f"for the people in the sample the result keeps {named(epsilon, delta)}, {differ} "
            "being neighbours",
            f"{drawn}; {NOT_BY_DATA}",
            KEPT_SAMPLE,
        ),
    )
