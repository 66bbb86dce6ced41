"""What the protocols promise, against whom, and assuming what."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from ..accounting.sampled_counts import Neighbours
from ..checks import float_above
from ..promise import DP, LDP, Against, Guarantee, Promise, Protected, Unit
from ..promise import Neighbours as Relation
from ..promise.assumptions import EVERY_ROUND

ROSTER = (
    "everyone on the roster is a different person whose key is their own: invented people, or a "
    "server that replaces the roster, are not covered"
)
FOLLOWED = (
    "everyone follows the protocol; false but well-formed answers are not detected, and shares "
    "reach nobody but their receiver"
)
SEEDS = (
    "shares are expanded from seeds of 32 bytes by AES-256, which nobody can distinguish from "
    "random bytes: whoever could break it would see answers"
)
PRESENT = "the reports of these holders are in the result: people who dropped out hide nobody"
COUNTED = (
    "hosts count all rounds of this question and protocol in which their people drew coins; those "
    "with another key, question or protocol come on top"
)
ONCE = "releases of the same answers that are not counted here, such as another run, add to this"
CURATOR = "the curator, who sees all answers, is trusted with them"
_PERSON = Unit(Protected.CONTRIBUTION)
_PRECISION = 1e-3  # relative, of an epsilon that is searched for; rounded up


class Size(NamedTuple):
    """How many people a round began with, and the fewest in a sum that it may have opened."""

    people: int
    opened: int


#: Of each earlier round; None where that is not known.
Sizes = Sequence[Size] | None


def result_promise(
    epsilon: float,
    delta: float,
    neighbours: Neighbours,
    *assuming: str,
    against: Against = Against.AGGREGATOR,
) -> Promise:
    """What the result shows; `assuming` is all that it assumes."""
    relation = Relation.SUBSTITUTION if neighbours == "substitute" else Relation.ADD_REMOVE
    return Promise(DP, epsilon, delta, relation, _PERSON, against, assuming)


def local_promise(epsilon: float, against: Against, *assuming: str) -> Promise:
    """What is seen without the result: shares alone (0), or sets of reported items.

    Of these ε* for adaptive selection, and 0 for uniform selection.
    """
    return Promise(LDP, epsilon, 0.0, unit=_PERSON, against=against, assuming=assuming)


def least_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """The smallest epsilon with δ(ε) ≤ delta, rounded up by at most a thousandth."""
    high = 0.5
    while delta_at(high) > delta:
        high *= 2
        if high > 64:
            return math.inf
    low = 0.0 if high == 0.5 else high / 2
    if delta_at(0.0) <= delta:
        return 0.0
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


def repeated(promise: Promise, rounds: int) -> Promise:
    """The same after so many rounds with fresh coins, by basic composition, and saying so."""
    if rounds == 1:
        return promise
    return replace(
        promise,
        epsilon=float_above(Fraction(promise.epsilon) * rounds),
        delta=min(1.0, float_above(Fraction(promise.delta) * rounds)),
        assuming=(*promise.assuming, *repetition(rounds)),
    )


def repetition(rounds: int) -> tuple[str, ...]:
    """Says that a run was repeated, where it was, and what that assumes."""
    if rounds == 1:
        return ()
    return (
        f"the run was repeated with other senders, so that there are {rounds} rounds with fresh "
        "coins; they are counted here",
        EVERY_ROUND,
    )


def with_hosts(guarantee: Guarantee, most: int) -> Guarantee:
    """The promise where hosts answer and draw for others, the largest of them for so many people.

    `collusion` counts people. A host knows the coins of all of its own, so that looking at the
    result makes it as good as that many who work together. Hosts also count the rounds.
    """
    sentences = [COUNTED]
    if most > 1:
        sentences.append(
            "a host, which knows what all of its users answer and draw, counts as all of them "
            f"({most:,} at the largest host) if it sees the result or works together with anyone "
            "who does"
        )
    promises = (replace(p, assuming=(*p.assuming, *sentences)) for p in guarantee.promises)
    return Guarantee(tuple(promises), guarantee.reason)
