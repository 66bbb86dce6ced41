"""Protocols whose promise holds whatever people answer: binomial noise, dummy holders, suppression.

Binomial noise   r fair coins per item, tossed by different users and added in secret shares; the
                 estimate subtracts half the coins that arrived. The exact account is
                 `accounting.binomial_noise_delta`
Dummies          r fake holders per item, each sampled like a person, so that no answer has fewer
                 than r + 1 holders; the estimate subtracts r p. `accounting.smallest_dummies`
Suppression      sampled counts below k are not published; see `Suppressed`

A coin that a recipient knows, or that never arrives, protects nobody: φ of those who toss may
collude or drop out, so more toss. Where r is larger than the number of users each tosses several,
b, and ⌈r/b⌉ + φ users toss; if φ or more of them are missing no sum is opened. All counts,
guarantees and variances speak of the coins that arrived.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..accounting.integer_noise import binomial_noise_delta, smallest_coins
from ..accounting.sampled_counts import (
    Neighbours,
    check_neighbours,
    sampled_counts_delta,
    smallest_dummies,
)
from ..accounting.thresholded import smallest_threshold
from ..checks import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_positive,
    checked_rate,
)
from ..contract.route import AddedNoise
from ..domain.values import Domain, Label
from ..errors import ParameterError
from ..noise.samplers import binomial
from ..promise import Against, Guarantee
from ..randomness import Source
from .counts import BINOMIAL, DUMMIES
from .dpds import SecureSum, checked_helpers
from .promises import FOLLOWED, ROSTER, noise_promise, repeated, rounds_sentence
from .protocol import Prepared
from .selection import coins, one_hot


@dataclass(frozen=True)
class Tossers:
    """Who tosses coins for every item: the first `users` of the roster, `each` coins per item."""

    users: int
    each: int

    @classmethod
    def of(cls, needed: int, people: int, collusion: int) -> Tossers:
        """So many coins, also without those of any `collusion` users."""
        if people <= collusion:
            raise ParameterError(
                f"{people:,} people take part and {collusion:,} of them may collude; somebody else "
                "must toss coins"
            )
        each = -(-needed // (people - collusion))
        return cls(-(-needed // each) + collusion, each)


@dataclass(frozen=True, eq=False, init=False)
class Tossing(SecureSum):
    """Protocols in which some users toss coins that are added to the counts.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    epsilon, delta : float
        The promise.
    users : int, optional
        How many people take part.
    collusion : int
        How many of those who toss may drop out, or work together with a recipient of the result.
        At least 1, since whoever tosses and sees the result knows their own coins.
    neighbours : {"substitute", "add-remove"}
        What is protected.
    helpers : int, optional
        As in `DPDS`.
    """

    domain: Domain
    epsilon: float
    delta: float
    users: int | None
    collusion: int
    neighbours: Neighbours
    helpers: int | None
    rate: float
    needed: int

    #: The law of the coins in a route.
    law = ""

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        epsilon: float,
        delta: float = 1e-6,
        users: int | None = None,
        collusion: int = 1,
        neighbours: Neighbours = "substitute",
        helpers: int | None = None,
        rate: float = 1.0,
    ) -> None:
        check_neighbours(neighbours)
        for name, value in (
            ("domain", Domain.of(domain)),
            ("epsilon", checked_epsilon(epsilon)),
            ("delta", checked_positive(checked_delta(delta), "delta")),
            ("users", None if users is None else checked_count(users, "users", 1)),
            ("collusion", checked_count(collusion, "collusion", 1)),
            ("neighbours", neighbours),
            ("helpers", checked_helpers(helpers)),
            ("rate", checked_rate(rate)),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "needed", self._needed())

    @abstractmethod
    def _needed(self) -> int:
        """How many coins the promise takes, beside those of colluding people."""

    @abstractmethod
    def _delta(self, hidden: int, rounds: int) -> float:
        """The exact delta with so many coins unknown to the adversary."""

    @property
    @abstractmethod
    def chance(self) -> float:
        """Of a coin."""

    @property
    def kept(self) -> float:
        return self.rate

    def tossers(self, people: int) -> Tossers:
        """Who tosses how many coins, in a run of so many people."""
        return Tossers.of(self.needed, people, self.collusion)

    def least_senders(self, people: int) -> tuple[int, int]:
        who = self.tossers(people)
        # One of those who may collude is left, since somebody sees the result.
        return who.users, who.users - self.collusion + 1

    def limits(self, people: int) -> tuple[int, int]:
        who = self.tossers(people)
        return 0, people + who.users * who.each

    def prepare(
        self, codes: NDArray[Any], source: Source, *, first: int = 0, people: int | None = None
    ) -> Prepared:
        rows = one_hot(codes, self.items, coins(self.rate, codes.size, source))
        who = self.tossers(people or codes.size)
        here = min(max(who.users - first, 0), codes.size)
        trials = np.full(here * self.items, who.each)
        rows[:here] += binomial(trials, Fraction(self.chance), source).reshape(here, self.items)
        return Prepared(rows)

    def arrived(self, people: int, senders: NDArray[np.bool_] | None) -> int:
        """Coins per item that are in the result."""
        who = self.tossers(people)
        here = who.users if senders is None else int(senders[: who.users].sum())
        return here * who.each

    def noise(self, people: int, senders: NDArray[np.bool_]) -> AddedNoise:
        number, p = self.arrived(people, senders), self.chance
        return AddedNoise(self.law, number * p * (1 - p), number, number * p)

    def promise(self, people: int, senders: NDArray[np.bool_] | None, rounds: int) -> Guarantee:
        again = (rounds_sentence(rounds),) * (rounds > 1)
        delta, colluding, gone = self.delta, self.collusion, ""
        if people:
            who = self.tossers(people)
            absent = who.users - self.arrived(people, senders) // who.each
            colluding = max(1, self.collusion - absent)
            if senders is not None:
                gone = f", beside {absent:,} who dropped out"
            hidden = self.arrived(people, senders) - colluding * who.each
            if hidden < self.needed or rounds > 1:
                delta = self._delta(hidden, rounds) if hidden > 0 else 1.0
        trusted = (
            f"of those who toss coins at most {colluding:,} work together with anyone who sees the "
            f"result{gone or ', or drop out'}"
        )
        result = noise_promise(
            self.epsilon, delta, self.neighbours, trusted, ROSTER, FOLLOWED, *again
        )
        return self.with_shares(Guarantee((result,)), people, rounds)


class BinomialNoise(Tossing):
    """True counts plus fair coins of many users: a promise whatever people answer.

    Parameters are those of `Tossing`, without a rate.

    Examples
    --------
    >>> protocol = BinomialNoise(["car", "bike"], epsilon=1.0, delta=1e-5, neighbours="add-remove")
    >>> protocol.needed
    62
    """

    name = "binomial-noise"
    law = BINOMIAL

    def __init__(self, domain: Any, *, epsilon: float, **parameters: Any) -> None:
        if "rate" in parameters:
            raise ParameterError("BinomialNoise counts everyone; for a sample use Dummies or DPDS")
        super().__init__(domain, epsilon=epsilon, **parameters)

    @property
    def chance(self) -> float:
        return 0.5

    def _needed(self) -> int:
        return smallest_coins(self.epsilon, self.delta, neighbours=self.neighbours)

    def _delta(self, hidden: int, rounds: int) -> float:
        return binomial_noise_delta(self.epsilon, hidden, neighbours=self.neighbours, rounds=rounds)


class Dummies(Tossing):
    """Counts of a secret sample that contains dummy holders of every answer.

    Parameters are those of `Tossing`; `rate` is required.

    Examples
    --------
    >>> Dummies(["car", "bike"], rate=0.5, epsilon=1.0, delta=1e-5).needed
    37
    """

    name = "dummies"
    law = DUMMIES

    def __init__(self, domain: Any, *, rate: float, epsilon: float, **parameters: Any) -> None:
        if checked_rate(rate) == 1:
            raise ParameterError("with rate 1 everyone is counted, and dummies would hide nobody")
        super().__init__(domain, epsilon=epsilon, rate=rate, **parameters)

    @property
    def chance(self) -> float:
        return self.rate

    def _needed(self) -> int:
        return smallest_dummies(self.epsilon, self.delta, self.rate, neighbours=self.neighbours)

    def _delta(self, hidden: int, rounds: int) -> float:
        return sampled_counts_delta(
            self.epsilon, hidden + 1, self.rate, neighbours=self.neighbours, rounds=rounds
        )


@dataclass(frozen=True, eq=False, init=False)
class Suppressed(SecureSum):
    """Counts of a secret sample, of which small ones are suppressed before they are published.

    The threshold is the smallest that keeps (epsilon, delta) whatever people answer, plus one for
    each colluding holder. No total is published beside the counts. The aggregator sees the counts
    before suppression, so it must be trusted with them.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    rate : float
        Probability of being in the sample.
    epsilon, delta : float
        The promise.
    users, collusion, neighbours, helpers
        As in `DPDS`.

    Examples
    --------
    >>> protocol = Suppressed(3, rate=0.3, epsilon=1.0, delta=1e-5, neighbours="add-remove")
    >>> protocol.threshold
    15
    """

    domain: Domain
    rate: float
    epsilon: float
    delta: float
    users: int | None
    collusion: int
    neighbours: Neighbours
    helpers: int | None
    threshold: int

    name = "suppressed"

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        rate: float,
        epsilon: float,
        delta: float = 1e-6,
        users: int | None = None,
        collusion: int = 1,
        neighbours: Neighbours = "substitute",
        helpers: int | None = None,
    ) -> None:
        check_neighbours(neighbours)
        for name, value in (
            ("domain", Domain.of(domain)),
            ("rate", checked_rate(rate)),
            ("epsilon", checked_epsilon(epsilon)),
            ("delta", checked_positive(checked_delta(delta), "delta")),
            ("users", None if users is None else checked_count(users, "users", 1)),
            ("collusion", checked_count(collusion, "collusion", 0)),
            ("neighbours", neighbours),
            ("helpers", checked_helpers(helpers)),
        ):
            object.__setattr__(self, name, value)
        threshold = _threshold(self.epsilon, self.delta, self.rate, neighbours)
        object.__setattr__(self, "threshold", threshold + self.collusion)

    @property
    def kept(self) -> float:
        return self.rate

    def limits(self, people: int) -> tuple[int, int]:
        return 0, people

    def prepare(
        self, codes: NDArray[Any], source: Source, *, first: int = 0, people: int | None = None
    ) -> Prepared:
        return Prepared(one_hot(codes, self.items, coins(self.rate, codes.size, source)))

    def promise(self, people: int, senders: NDArray[np.bool_] | None, rounds: int) -> Guarantee:
        result = noise_promise(
            self.epsilon,
            self.delta,
            self.neighbours,
            "the aggregator, who sees the counts before suppression, keeps them to itself",
            f"at most {self.collusion:,} holders of an answer work together with anyone who sees "
            "the result",
            "no total, remainder or further count of the same sample is published",
            ROSTER,
            FOLLOWED,
            against=Against.RESULT,
        )
        return self.with_shares(Guarantee((repeated(result, rounds),)), people, rounds)


@lru_cache(maxsize=64)
def _threshold(epsilon: float, delta: float, rate: float, neighbours: Neighbours) -> int:
    """The search takes seconds for substitutions, so that it is done once."""
    return smallest_threshold(epsilon, delta, rate, neighbours=neighbours)
