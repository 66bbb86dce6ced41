"""Counts of a secret sample: a holder is hidden because the others' coins are unknown.

Everyone enters the sample by their own coin flip (probability p), and the number of sampled holders
of every item is released, exactly. `count` is c: the holders of an item, the protected person
included, whose coins are unknown to whoever sees the counts. With P = Bin(c, p), Q = Bin(c−1, p):

Remove      δ→(ε) = Σ_k P(k) (1 − e^ε (c−k)/(c(1−p)))₊, never below p^c
Add         δ←(ε) = Σ_k Q(k) (1 − e^ε c(1−p)/(c−k))₊, 0 exactly when p ≤ 1 − e^−ε
Add-remove  max(δ→, δ←): one record becomes the empty record; the number of people is public
Substitute  one person's item changes from a to b: both counts together,
            Bin(c, p) × Bin(c−1, p) against Bin(c−1, p) × Bin(c, p)

δ falls with c (add a coin) and grows with p (thin the sample), so that the least count is the worst
case and searching by bisection is exact. The Gaussian approximation μ = √(p/((1−p)c)) is optimistic
and is not used.

The published bounds of Yang et al. ("Fair and Differentially Private Distributed Frequency
Estimation", theorems 3.1 and 3.2) are wrong by up to 19 orders of magnitude; see `yang`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, get_args

from ..checks import (
    check_choice,
    checked_count,
    checked_loss,
    checked_rate,
    positive_delta,
    rounded_up,
)
from ..errors import GuaranteeError, ParameterError
from ..promise import DP, Against, Promise, Protected, Unit
from ..promise import Neighbours as Relation
from .pairs import release_delta, with_holder, without_holder
from .search import from_zero, smallest

Neighbours = Literal["substitute", "add-remove"]

_MOST_COUNT = 10**12
_USUAL_RATE = 1e-300  # below it numbers have fewer digits
MOST_EXPONENT = 700.0  # e^ε must stay a number


def sampled_counts_delta(
    epsilon: float,
    count: int,
    rate: float,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
    rounds: int = 1,
) -> float:
    """The delta of releasing the exact counts of a secret sample, rounded up.

    Parameters
    ----------
    epsilon : float
        From 0 on.
    count : int
        Holders of every item, the protected person included: a public lower bound. Those whose
        reports are missing from the result do not count, and where people are divided into levels,
        only those of the same level do.
    rate : float
        Probability of being in the sample.
    neighbours : {"substitute", "add-remove"}
        One person's item changes, or one person's record becomes the empty one.
    insiders : int
        Holders of an item who see the counts: each knows their own coin, so they hide nobody.
    rounds : int
        Releases about the same people, each with fresh coins. From 2 on the result is an upper
        bound that lies close to the exact delta.

    Returns
    -------
    float
        Never 0 where the number is only too small for a float. Everyone counts for one item: with
        one coin for several, more is seen.

    Examples
    --------
    >>> f"{sampled_counts_delta(0.5, 100, 0.39):.1e}"
    '5.0e-07'
    >>> f"{sampled_counts_delta(0.5, 100, 0.39, neighbours='add-remove'):.1e}"
    '1.6e-08'
    >>> f"{sampled_counts_delta(0.5, 100, 0.39, insiders=90):.2f}"
    '0.02'
    """
    return _account(count, rate, neighbours, insiders, rounds)(checked_loss(epsilon))


def sampled_counts_epsilon(
    delta: float,
    count: int,
    rate: float,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
    rounds: int = 1,
) -> float:
    """The smallest epsilon that holds with a given delta, rounded up; infinite where none does.

    With probability rate^count everyone is sampled, and then the count itself shows it: below that
    probability no epsilon holds.

    Examples
    --------
    >>> round(sampled_counts_epsilon(1e-6, 100, 0.39), 3)
    0.479
    >>> sampled_counts_epsilon(1e-6, 5, 0.39)
    inf
    """
    account = _account(count, rate, neighbours, insiders, rounds)
    return from_zero(account, positive_delta(delta), MOST_EXPONENT)


def smallest_count(
    epsilon: float,
    delta: float,
    rate: float,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
) -> int:
    """How many holders every item needs for (epsilon, delta): the smallest `count`.

    Examples
    --------
    >>> import math
    >>> rate = 1 - math.exp(-0.1)
    >>> smallest_count(0.1, 1e-7, rate), smallest_count(0.1, 1e-7, rate, neighbours="add-remove")
    (372, 246)
    """
    epsilon, rate = checked_loss(epsilon), checked_rate(rate)
    check_neighbours(neighbours)
    return smallest(
        "number of holders",
        lambda count: exact_delta(epsilon, count, rate, neighbours),
        _MOST_COUNT,
        epsilon=epsilon,
        delta=delta,
        insiders=insiders,
        rate=rate,
    )


def largest_rate(
    epsilon: float,
    delta: float,
    count: int,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
    rounds: int = 1,
) -> float:
    """The largest sampling rate that keeps (epsilon, delta), rounded down: the lowest error.

    Larger than the published 1 − e^−ε where there are many holders, and smaller where few.

    Examples
    --------
    >>> round(largest_rate(0.5, 1e-5, 100), 3)
    0.479
    """
    epsilon, delta = checked_loss(epsilon), positive_delta(delta)
    rounds = checked_count(rounds, "rounds", 1)

    def keeps(rate: float) -> bool:
        return _account(count, rate, neighbours, insiders, rounds)(epsilon) <= delta

    # δ is at least p^c, and at most p per round: whoever is not sampled is not seen. The account of
    # several rounds may lie above that.
    low, high = max(delta / rounds / 2, _USUAL_RATE), 1.0
    while not keeps(low):
        low /= 2
        if low == 0:
            raise ParameterError(
                f"delta is {delta:g}; no rate that is a number keeps it, allow a larger one"
            )
    while high - low > 1e-9 * low:
        middle = math.sqrt(low) * math.sqrt(high)  # the product of the two may underflow
        if not low < middle < high:  # the smallest numbers are further apart
            break
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


def smallest_dummies(
    epsilon: float,
    delta: float,
    rate: float,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
) -> int:
    """How many dummy holders per item make (epsilon, delta) hold whatever people answer.

    Each dummy is sampled like a person, and the estimate subtracts dummies · rate. Then no item has
    fewer holders than dummies + 1. A dummy whose coin a recipient knows hides nobody: `insiders` of
    them are added.

    Examples
    --------
    >>> smallest_dummies(1.0, 1e-5, 0.5), smallest_dummies(1.0, 1e-5, 0.5, insiders=10)
    (37, 47)
    """
    return smallest_count(epsilon, delta, rate, neighbours=neighbours, insiders=insiders) - 1


def sampled_counts(
    count: int,
    rate: float,
    delta: float,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
    rounds: int = 1,
) -> Promise:
    """What is promised when the exact counts of a secret sample are released.

    Parameters
    ----------
    count, rate, neighbours, insiders, rounds
        As in `sampled_counts_delta`.
    delta : float
        Above 0; with probability rate^count a count shows that everyone was sampled.

    Returns
    -------
    Promise
        It holds provided that every item has this many holders, which must not be checked on the
        data.

    Examples
    --------
    >>> promise = sampled_counts(100, 0.39, 1e-6)
    >>> round(promise.epsilon, 3), promise.delta
    (0.479, 1e-06)
    """
    epsilon = sampled_counts_epsilon(
        delta, count, rate, neighbours=neighbours, insiders=insiders, rounds=rounds
    )
    if math.isinf(epsilon):
        hidden = hidden_holders(count, insiders)
        raise GuaranteeError(
            f"no epsilon holds with delta = {delta:g}: with {hidden:,} holders whose coins are "
            f"unknown and rate {rate:g}, all of them are sampled with probability "
            f"{rounded_up(float(rate) ** hidden, 3)}, and the count then shows it; "
            "choose a smaller rate, or add noise to the counts"
        )
    others = int(count) - 1 - int(insiders)
    again = f" in each of {rounds:,} rounds, with fresh coins" if rounds > 1 else ""
    return Promise(
        DP,
        epsilon,
        delta,
        neighbours=(Relation.SUBSTITUTION if neighbours == "substitute" else Relation.ADD_REMOVE),
        unit=Unit(Protected.CONTRIBUTION),
        against=Against.RESULT,
        assuming=(
            f"every answer has at least {others:,} holders other than the person, who do not work "
            "together with anyone who sees the counts",
            "everyone counts for one answer only: someone who counts for several is seen in all of "
            "them at once",
            f"everyone enters the sample by their own coin flip, with probability {rate:g}{again}, "
            "and keeps the outcome secret",
            "nothing but the counts of the sample is seen",
        ),
    )


def _account(
    count: int, rate: float, neighbours: Neighbours, insiders: int, rounds: int
) -> Callable[[float], float]:
    """δ as a function of ε, with checked parameters."""
    rate, rounds = checked_rate(rate), checked_count(rounds, "rounds", 1)
    check_neighbours(neighbours)
    hidden = hidden_holders(count, insiders)
    return lambda epsilon: exact_delta(epsilon, hidden, rate, neighbours, rounds)


def exact_delta(
    epsilon: float, count: int, rate: float, neighbours: Neighbours, rounds: int = 1
) -> float:
    """δ for `count` holders with unknown coins; parameters are checked already."""
    more, fewer = with_holder(count, rate), without_holder(count, rate)
    seen = [[more, fewer]] if neighbours == "substitute" else [[more], [fewer]]
    return max(release_delta(parts, epsilon, rounds) for parts in seen)


def hidden_holders(count: Any, insiders: Any) -> int:
    """Holders whose coins are unknown, the protected person included."""
    holders = checked_count(count, "count", 1, _MOST_COUNT)
    known = checked_count(insiders, "insiders", 0)
    if known >= holders:
        raise ParameterError(
            f"insiders is {known:,} of {holders:,} holders; the protected person is not one of "
            "them, so there must be at least one more holder"
        )
    return holders - known


def check_neighbours(neighbours: Any) -> None:
    """Refuse what is not a relation between neighbouring data sets."""
    check_choice(neighbours, "neighbours", get_args(Neighbours))
