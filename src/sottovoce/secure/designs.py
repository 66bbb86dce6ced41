"""Designs that the secure protocols offer to a plan, each at the same true (ε, δ).

Error, as the mean over N items of the squared error of a fraction, with n people:

dpds             (1 − p)/(p n N), p the largest rate that keeps (ε, δ) with `count` holders
tss              (1 − q)/(q n N), q = α p, uniform selection; p as certified against those who see
                 senders and the result
dpdg             (n Δ²σ²/(n − φ) + (1 − 1/g²)/12) / n², σ the analytic Gaussian's
binomial-noise   r/4 / n², r the coins that are tossed

The first two are offered only with a public least count: without it they promise nothing. No kind
of noise is best in general, so the plan compares them for one requirement at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..accounting.sampled_counts import Neighbours, largest_rate
from ..accounting.search import fewest
from ..accounting.two_stage import TwoStage
from ..contract.design import Design, Requirement, RoleCost
from .dpcs import Sampling
from .dpdg import DPDG
from .dpds import DPDS, SecureSum
from .protocol import Protocol
from .tss import TSS
from .unconditional import BinomialNoise

REPORTED = 0.4  # α of two-stage sampling, as published
_MOST_PEOPLE = 10**8
_SEED_BYTES = 32
_ID_BYTES = 8
_DIGEST_BYTES = 32
#: A sample of hardly more than δ of the people shows their answers in clear and hides nobody.
_IN_CLEAR = 10
#: An account of two-stage sampling takes seconds for more holders; fewer hide less, so it holds.
_MOST_HOLDERS = 500
_MOST_ODDS = 12.0
_CLOSE = 2e-3
_ROUND_OFF = 1e-9

Costs = dict[str, RoleCost]


def designs(requirement: Requirement, *, neighbours: Neighbours = "substitute") -> Iterator[Design]:
    """One design per protocol that keeps the requirement's epsilon and delta.

    Parameters
    ----------
    requirement : Requirement
        With `delta` above 0 and one epsilon for everyone; otherwise nothing is offered.
    neighbours : {"substitute", "add-remove"}
        What is protected. A plan asks for substitution, which is what local mechanisms promise.
    """
    asked = requirement
    if asked.d is None or asked.personal or not asked.levels or asked.delta <= 0:
        return
    (epsilon,) = asked.levels.values()
    same: dict[str, Any] = {"epsilon": epsilon, "delta": asked.delta, "neighbours": neighbours}
    for noise in (DPDG, BinomialNoise):
        yield from _offered(asked, noise(asked.d, collusion=max(1, asked.collusion), **same))
    if asked.count is not None:
        yield from _offered(asked, _sampled(asked, **same))
        yield from _offered(asked, _two_stage(asked, **same))


def _offered(asked: Requirement, protocol: Protocol) -> Iterator[Design]:
    """The design of a protocol, with the number of people worked out where it is asked for."""
    provided, least = "", asked.collusion + 2
    if isinstance(protocol, Sampling):
        if protocol.rate <= _IN_CLEAR * protocol.delta:
            return
        provided = f"every value has at least {protocol.count:,} holders"
        least = max(least, protocol.items * (asked.count or 1))
    n = asked.n or _fewest(protocol, asked.error or 1.0, least)
    if not least <= n <= _MOST_PEOPLE:
        return
    (epsilon,) = asked.levels.values()
    costs = role_costs(protocol, n)
    yield Design(
        name=protocol.name,
        n=n,
        levels=dict(asked.levels),
        std_error=std_error(protocol, n),
        report_bytes=math.ceil(costs["user"].sent),
        decode_steps=list(costs.values())[-1].additions,
        guarantee=(
            protocol.with_assumptions(protocol.promise_at(epsilon))
            if isinstance(protocol, TSS)
            else protocol.promised(n, None, 1)
        ),
        costs=costs,
        provided=provided,
    )


def std_error(protocol: Protocol, people: int) -> float:
    """Root of the mean squared error of a fraction over all items, if nobody drops out."""
    kept, noise = protocol.kept, protocol.noise(people, np.broadcast_to(np.True_, people))
    total = (1 - kept) / (kept * people)
    added = 0.0 if noise is None else noise.variance / (kept * people) ** 2
    return math.sqrt(total / protocol.items + added)


def _fewest(protocol: Protocol, error: float, least: int) -> int:
    """The fewest people with at most this error; beyond those who can be planned for if none."""
    below = least - 1
    more = fewest(lambda k: std_error(protocol, below + k) <= error, 2 * _MOST_PEOPLE)
    return _MOST_PEOPLE + 1 if more is None else below + more


def role_costs(protocol: Protocol, people: int) -> Costs:
    """What one member of each role sends and adds, as expected; the last role has the result.

    With M = αN reported items and m_j ~ Bin(n, α) people who report item j, a user of two-stage
    sampling sends M((n − 1)α + 1) shares and M sums, and makes 2(n − 1)Nα² additions. In the other
    protocols a user sends nN elements and makes 2(n − 1)N additions, or, with k helpers, sends N
    elements and k − 1 seeds and makes (k − 1)N additions.
    """
    n, width, size = people, protocol.items, protocol.field(people).element_bytes
    flags = -(-n // 8)
    if isinstance(protocol, TSS):
        alpha, reported = protocol.design.fraction, protocol.design.reported
        seats = reported * n
        elements = reported * ((n - 1) * alpha + 2)
        lists = (n + 1) * seats * 2 * _ID_BYTES + seats * _DIGEST_BYTES + n * flags
        return {
            "user": RoleCost(elements, elements * size + width, 2 * (n - 1) * width * alpha**2),
            "s1": RoleCost(0, lists, 0),
            "s2": RoleCost(0, 0, seats - width),
        }
    helpers = protocol.helpers_for(n) if isinstance(protocol, SecureSum) else 0
    if not helpers:
        return {
            "user": RoleCost(n * width, n * width * size, 2 * (n - 1) * width),
            "aggregator": RoleCost(0, 0, (n - 1) * width),
        }
    seeds = (helpers - 1) * _SEED_BYTES
    return {
        "user": RoleCost(width, width * size + seeds, (helpers - 1) * width),
        "helper": RoleCost(width, width * size + helpers * flags, (n - 1) * width),
        "aggregator": RoleCost(0, 0, (helpers - 1) * width),
    }


def _sampled(asked: Requirement, epsilon: float, delta: float, neighbours: Neighbours) -> DPDS:
    """DPDS at the largest rate whose stated promise is not above epsilon."""
    rules: dict[str, Any] = {"collusion": asked.collusion, "neighbours": neighbours}
    return DPDS(asked.d, epsilon=epsilon, delta=delta, count=asked.count or 1, **rules)


def _two_stage(asked: Requirement, epsilon: float, delta: float, neighbours: Neighbours) -> TSS:
    """Two-stage sampling at the largest rate that keeps the promise, with uniform selection."""
    insiders = max(1, asked.collusion)  # whoever sees the result knows their own coin
    items, count = asked.d or 1, min(asked.count or 1, _MOST_HOLDERS + insiders)
    reported = max(1, round(REPORTED * items))
    return TSS(
        items,
        rate=largest_first_rate(epsilon, delta, count, items, reported, neighbours, insiders),
        report=reported / items,
        count=count,
        delta=delta,
        collusion=asked.collusion or None,
        neighbours=neighbours,
    )


@lru_cache(maxsize=64)
def largest_first_rate(
    epsilon: float,
    delta: float,
    count: int,
    items: int,
    reported: int,
    neighbours: Neighbours,
    insiders: int,
) -> float:
    """The largest rate of the first stage against those who see senders and result; rounded down.

    The search starts at the rate for as many holders as report the value on average. The secant
    through the logarithms of delta and of p/(1 − p) is followed, because each delta may take a
    second; every third step halves the bracket.
    """
    wanted = math.log(delta) - _ROUND_OFF

    def excess(odds: float) -> float:
        achieved = TwoStage(_rate(odds), items, reported).delta_with_output(
            epsilon, count, neighbours=neighbours, insiders=insiders
        )
        return math.log(max(achieved, math.ulp(0.0))) - wanted

    holders = max(1, (count - insiders) * reported // items)
    start = largest_rate(epsilon, delta, holders, neighbours=neighbours)
    low = high = math.log(start / (1 - start))
    below = above = excess(low)
    width = 0.25
    while below > 0:  # ends: whoever is not in the sample is not seen, so that delta is at most 2p
        high, above, low, width = low, below, low - width, 2 * width
        below = excess(low)
    while above <= 0:
        if high > _MOST_ODDS:
            return _rate(high)
        low, below, high, width = high, above, high + width, 2 * width
        above = excess(high)
    step = 0
    while high - low > _CLOSE and below < -_CLOSE:
        step += 1
        secant = low - below * (high - low) / (above - below) - _CLOSE / 4
        guess = secant if step % 3 and low < secant < high else (low + high) / 2
        at_guess = excess(guess)
        if at_guess <= 0:
            low, below = guess, at_guess
        else:
            high, above = guess, at_guess
    return _rate(low)


def _rate(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
