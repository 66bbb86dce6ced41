"""What the protocols promise, against whom, and assuming what."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from ..accounting.sampled_counts import Neighbours, sampled_counts
from ..accounting.two_stage import TwoStage
from ..checks import float_above
from ..errors import GuaranteeError
from ..promise import DP, LDP, Against, Promise, Protected, Unit
from ..promise import Neighbours as Relation

ROSTER = (
    "everyone on the roster is a different person whose key is their own: invented people, or a "
    "server that replaces the roster, are not covered"
)
FOLLOWED = (
    "everyone follows the protocol; false but well-formed answers are not detected, and shares "
    "reach nobody but their receiver"
)
PRESENT = "the reports of these holders are in the result: people who dropped out hide nobody"
CURATOR = "the curator, who sees all answers, is trusted with them"
_PERSON = Unit(Protected.CONTRIBUTION)
_PRECISION = 1e-3  # relative, of an epsilon that is searched for; rounded up


def relation(neighbours: Neighbours) -> Relation:
    """The typed form of a name."""
    return Relation.SUBSTITUTION if neighbours == "substitute" else Relation.ADD_REMOVE


def sampled_promise(
    rate: float,
    count: int,
    delta: float,
    neighbours: Neighbours,
    insiders: int,
    rounds: int,
    *assuming: str,
    against: Against = Against.AGGREGATOR,
) -> Promise:
    """Counts of a secret sample, provided that every answer has so many holders."""
    promise = sampled_counts(
        count, rate, delta, neighbours=neighbours, insiders=insiders, rounds=rounds
    )
    return replace(promise, against=against, assuming=(*promise.assuming, PRESENT, *assuming))


def noise_promise(
    epsilon: float,
    delta: float,
    neighbours: Neighbours,
    *assuming: str,
    against: Against = Against.AGGREGATOR,
) -> Promise:
    """A promise that makes no assumption on what people answer."""
    return Promise(DP, epsilon, delta, relation(neighbours), _PERSON, against, assuming)


def hidden_shares(against: Against, *assuming: str) -> Promise:
    """Shares alone carry no information."""
    return listed_items(0.0, against, *assuming)


def listed_items(epsilon: float, against: Against, *assuming: str) -> Promise:
    """The sets of reported items alone: ε* of adaptive selection, 0 of uniform selection."""
    return Promise(LDP, epsilon, 0.0, unit=_PERSON, against=against, assuming=assuming)


def two_stage_promise(
    design: TwoStage,
    count: int,
    delta: float,
    neighbours: Neighbours,
    insiders: int,
    published: bool,
    hidden_reporters: bool,
    *assuming: str,
    epsilon: float | None = None,
) -> Promise:
    """The counts of two-stage sampling.

    Where the result is published, certified against those who see senders and result (what S2
    alone sees is not enough then); otherwise against S2 alone. The smallest epsilon is searched
    for, unless one is given, which must hold.
    """
    others = count - 1 - (insiders if published else 0)
    if published:

        def delta_at(epsilon: float) -> float:
            return design.delta_with_output(
                epsilon, count, neighbours=neighbours, insiders=insiders
            )

        against = Against.SENDERS
        seen = "nobody who looks knows whether the others were in the sample"
    else:
        alone = design.delta_hidden_reporters if hidden_reporters else design.delta_alone

        def delta_at(epsilon: float) -> float:
            return alone(epsilon, count, neighbours=neighbours)

        against = Against.S2
        seen = "S2 works together with nobody who sees senders, and the result goes to no user"
    if epsilon is None:
        epsilon = least_epsilon(delta_at, delta)
    elif delta_at(epsilon) > delta:
        raise GuaranteeError(f"epsilon = {epsilon:g} does not hold with delta = {delta:g}")
    if math.isinf(epsilon):
        raise GuaranteeError(
            f"no epsilon holds with delta = {delta:g} for {count:,} holders, of whom {insiders:,} "
            "collude; ask for a larger delta, report more items, or choose a smaller rate"
        )
    provided = (
        f"every answer has at least {others:,} holders other than the person, who do not work "
        "together with anyone who looks",
        PRESENT,
        seen,
    )
    return Promise(
        DP, epsilon, delta, relation(neighbours), _PERSON, against, (*provided, *assuming)
    )


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
    """Says that a run was repeated, where it was."""
    if rounds == 1:
        return ()
    return (
        f"the run was repeated with other senders, so that there are {rounds} rounds with fresh "
        "coins; they are counted here",
    )
