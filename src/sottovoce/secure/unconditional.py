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
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..accounting.integer_noise import binomial_noise_delta, smallest_coins
from ..accounting.sampled_counts import Neighbours, sampled_counts_delta, smallest_dummies
from ..accounting.thresholded import smallest_threshold
from ..checks import checked_epsilon, checked_rate
from ..contract.route import AddedNoise
from ..errors import ParameterError
from ..noise.samplers import binomial
from ..promise import Against, Guarantee
from ..randomness import Source
from .counts import BINOMIAL, DUMMIES
from .dpds import SecureSum
from .promises import FOLLOWED, ROSTER, Sizes, repeated, repetition, result_promise
from .protocol import Rows
from .receiving import Flags


@dataclass(frozen=True, eq=False, init=False)
class Unconditional(SecureSum):
    """Protocols that promise (epsilon, delta) whatever people answer."""

    epsilon: float

    def __init__(self, domain: Any, *, epsilon: float, **parameters: Any) -> None:
        super().__init__(domain, **parameters)
        self._set(epsilon=checked_epsilon(epsilon))

    def hold(self, delta: float, trusted: str, people: int, rounds: int) -> Guarantee:
        """The promise with the delta of so many rounds, and who is trusted for it."""
        assuming = trusted, ROSTER, FOLLOWED, *repetition(rounds)
        result = result_promise(self.epsilon, delta, self.neighbours, *assuming)
        return self.with_shares(Guarantee((result,)), people, rounds)


class Tossers(NamedTuple):
    """Who tosses coins for every item: the first `users` of the roster, `each` coins per item."""

    users: int
    each: int


@dataclass(frozen=True, eq=False, init=False)
class Tossing(Unconditional):
    """Protocols in which some users toss coins that are added to the counts.

    Parameters
    ----------
    domain, users, neighbours
        As in `Protocol`.
    epsilon, delta : float
        The promise.
    collusion : int
        How many of those who toss may drop out, or work together with a recipient of the result.
        At least 1, since whoever tosses and sees the result knows their own coins.
    helpers : int, optional
        As in `DPDS`.
    """

    rate: float
    needed: int

    _least_collusion = 1
    #: The law of the coins in a route.
    law = ""

    def __init__(self, domain: Any, *, rate: float = 1.0, **parameters: Any) -> None:
        super().__init__(domain, **parameters)
        self._set(rate=checked_rate(rate))
        self._set(needed=self._needed())

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

    def tossers(self, people: int) -> Tossers:
        """Who tosses so that there are enough coins, also without those of any colluding users."""
        if people <= self.collusion:
            raise ParameterError(
                f"{people:,} people take part and {self.collusion:,} of them may collude; somebody "
                "else must toss coins"
            )
        each = -(-self.needed // (people - self.collusion))
        return Tossers(-(-self.needed // each) + self.collusion, each)

    def least_senders(self, people: int) -> tuple[int, int]:
        who = self.tossers(people)
        # One of those who may collude is left, since somebody sees the result.
        return who.users, who.users - self.collusion + 1

    def limits(self, people: int) -> tuple[int, int]:
        who = self.tossers(people)
        return 0, people + who.users * who.each

    def add_noise(self, rows: Rows, first: int, people: int, source: Source) -> Rows:
        who = self.tossers(people)
        here = min(max(who.users - first, 0), len(rows))
        trials = np.full(here * self.items, who.each)
        rows[:here] += binomial(trials, Fraction(self.chance), source).reshape(here, self.items)
        return rows

    def arrived(self, people: int, senders: Flags | None) -> int:
        """Coins per item that are in the result."""
        who = self.tossers(people)
        here = who.users if senders is None else int(senders[: who.users].sum())
        return here * who.each

    def noise(self, people: int, senders: Flags) -> AddedNoise:
        number, p = self.arrived(people, senders), self.chance
        return AddedNoise(self.law, number * p * (1 - p), number, number * p)

    def promise(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        delta, colluding, gone = self.delta, self.collusion, ", or drop out"
        if people:
            who = self.tossers(people)
            absent = who.users - self.arrived(people, senders) // who.each
            colluding = max(1, self.collusion - absent)
            hidden = self.arrived(people, senders) - colluding * who.each
            if rounds > 1:
                # Earlier ones had other numbers of people, but never fewer coins, as long as those
                # who dropped out then are among those who may collude.
                hidden, colluding = min(hidden, self.needed), self.collusion
                gone = f"{gone}, in every round"
            elif senders is not None:
                gone = f", beside {absent:,} who dropped out"
            if hidden < self.needed or rounds > 1:
                delta = self._delta(hidden, rounds) if hidden > 0 else 1.0
        trusted = (
            f"of those who toss coins at most {colluding:,} work together with anyone who sees the "
            f"result{gone}"
        )
        return self.hold(delta, trusted, people, rounds)


class BinomialNoise(Tossing):
    """True counts plus fair coins of many users: a promise whatever people answer.

    Parameters are those of `Tossing`.

    Examples
    --------
    >>> protocol = BinomialNoise(["car", "bike"], epsilon=1.0, delta=1e-5, neighbours="add-remove")
    >>> protocol.needed
    62
    """

    name = "binomial-noise"
    law = BINOMIAL
    chance = 0.5

    def __init__(self, domain: Any, **parameters: Any) -> None:
        if "rate" in parameters:
            raise ParameterError("BinomialNoise counts everyone; for a sample use Dummies or DPDS")
        super().__init__(domain, **parameters)

    def _needed(self) -> int:
        return smallest_coins(self.epsilon, self.delta, neighbours=self.neighbours)

    def _delta(self, hidden: int, rounds: int) -> float:
        return binomial_noise_delta(self.epsilon, hidden, neighbours=self.neighbours, rounds=rounds)


class Dummies(Tossing):
    """Counts of a secret sample that contains dummy holders of every answer.

    Parameters are those of `Tossing`, and `rate`, the probability of being in the sample.

    Examples
    --------
    >>> Dummies(["car", "bike"], rate=0.5, epsilon=1.0, delta=1e-5).needed
    37
    """

    name = "dummies"
    law = DUMMIES

    def __init__(self, domain: Any, *, rate: float, **parameters: Any) -> None:
        if checked_rate(rate) == 1:
            raise ParameterError("with rate 1 everyone is counted, and dummies would hide nobody")
        super().__init__(domain, rate=rate, **parameters)

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
class Suppressed(Unconditional):
    """Counts of a secret sample, of which small ones are suppressed before they are published.

    The threshold is the smallest that keeps (epsilon, delta) whatever people answer, plus one for
    each colluding holder. No total is published beside the counts. The aggregator sees the counts
    before suppression, so it must be trusted with them.

    Parameters
    ----------
    domain, users, neighbours
        As in `Protocol`.
    rate : float
        Probability of being in the sample.
    epsilon, delta : float
        The promise.
    collusion, helpers
        As in `DPDS`.

    Examples
    --------
    >>> protocol = Suppressed(3, rate=0.3, epsilon=1.0, delta=1e-5, neighbours="add-remove")
    >>> protocol.threshold
    15
    """

    rate: float
    threshold: int

    name = "suppressed"

    def __init__(self, domain: Any, *, rate: float, **parameters: Any) -> None:
        super().__init__(domain, **parameters)
        least = _threshold(self.epsilon, self.delta, checked_rate(rate), self.neighbours)
        self._set(rate=checked_rate(rate), threshold=least + self.collusion)

    def promise(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        result = result_promise(
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
