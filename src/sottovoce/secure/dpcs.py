"""DPCS: a trusted curator samples people and releases the counts (Algorithm 1); DPCS*.

Sample      everyone enters with probability p, by a coin of their own
Estimate    ψ̂_j = s_j / (p n), s_j ~ Bin(Π_j, p); total L2 error (1 − p)/(p n)
Guarantee   (ε, δ)-DP provided every answer has at least c − 1 holders other than the person who do
            not collude; exact account `accounting.sampled_counts`. Without a public lower bound c
            nothing is promised: an answer that nobody else gives is seen with probability p

DPCS* is the same, but the curator sends the receiver n shares of the counts instead.

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..accounting.sampled_counts import Neighbours, check_neighbours, largest_rate
from ..checks import checked_count, checked_delta, checked_positive, checked_rate
from ..domain.values import Domain, Label
from ..errors import ParameterError
from ..promise import Against, Guarantee
from ..randomness import Source
from ..sharing import Elements, PrimeField, additive
from ..transport import Batch, Inbox, Machine, Outbox, Role
from ..transport.checking import check_batch
from .promises import CURATOR, rounds_sentence, sampled_promise
from .protocol import Prepared, Protocol
from .receiving import Outcome
from .selection import coins, one_hot

NO_COUNT = (
    "no public lower bound on the holders of every answer was given, and an answer that nobody "
    "else gives would be seen with the probability of being in the sample; state count=…, or use "
    "BinomialNoise, DPDG or Dummies, which need none"
)


@dataclass(frozen=True, eq=False, init=False)
class Sampling(Protocol):
    """Protocols that release counts of a secret sample.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    rate : float, optional
        Probability of being in the sample; planned where epsilon is given instead.
    users : int, optional
        How many people take part.
    count : int, optional
        A public lower bound on the holders of every answer, the protected person included. It must
        not be read from the data.
    epsilon : float, optional
        Instead of a rate: the largest rate that keeps (epsilon, delta) with `count` is taken.
    delta : float
        Of the promise.
    collusion : int
        How many holders of one answer may work together with a recipient of the result, or be one:
        they know their own coins.
    neighbours : {"substitute", "add-remove"}
        What is protected.
    """

    domain: Domain
    rate: float
    users: int | None
    count: int | None
    delta: float
    collusion: int
    neighbours: Neighbours

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        rate: float | None = None,
        users: int | None = None,
        count: int | None = None,
        epsilon: float | None = None,
        delta: float = 1e-6,
        collusion: int = 1,
        neighbours: Neighbours = "substitute",
    ) -> None:
        check_neighbours(neighbours)
        delta = checked_positive(checked_delta(delta), "delta")
        if users is not None:
            users = checked_count(users, "users", 1)
        if count is not None:
            count = checked_count(count, "count", 1)
        collusion = checked_count(collusion, "collusion", 0)
        if (rate is None) == (epsilon is None):
            raise ParameterError("give either a rate, or an epsilon for which it is planned")
        if rate is None:
            if count is None or epsilon is None:
                raise ParameterError(
                    "a rate is planned from count, a public lower bound on the holders of every "
                    "answer; give it, or use BinomialNoise, which needs none"
                )
            rate = largest_rate(epsilon, delta, count, neighbours=neighbours, insiders=collusion)
        for name, value in (
            ("domain", Domain.of(domain)),
            ("rate", checked_rate(rate)),
            ("users", users),
            ("count", count),
            ("delta", delta),
            ("collusion", collusion),
            ("neighbours", neighbours),
        ):
            object.__setattr__(self, name, value)

    @property
    def kept(self) -> float:
        return self.rate

    def limits(self, people: int) -> tuple[int, int]:
        return 0, people

    def prepare(
        self, codes: NDArray[Any], source: Source, *, first: int = 0, people: int | None = None
    ) -> Prepared:
        sampled = coins(self.rate, codes.size, source)
        return Prepared(one_hot(codes, self.items, sampled))

    def sampled(self, rounds: int, *assuming: str, against: Against) -> Guarantee:
        """The promise of the counts, or none where nothing is known about holders."""
        if self.count is None:
            return Guarantee.none(NO_COUNT)
        again = (rounds_sentence(rounds),) * (rounds > 1)
        promise = sampled_promise(
            self.rate,
            self.count,
            self.delta,
            self.neighbours,
            self.collusion,
            rounds,
            *assuming,
            *again,
            against=against,
        )
        return Guarantee((promise,))


@dataclass(frozen=True, eq=False)
class Counting:
    """The curator's or receiver's state."""

    closed: int = -1
    outcome: Outcome | None = None


@dataclass(frozen=True, eq=False)
class Curator(Machine[Counting]):
    """The trusted server: it has everyone's answers and coins."""

    field: PrimeField
    rows: NDArray[np.int64]
    shares: int
    source: Source
    role: Role = Role.CURATOR
    members: range = range(1)

    def start(self) -> Counting:
        return Counting()

    def step(self, state: Counting, inbox: Inbox) -> tuple[Counting, Outbox]:
        if inbox.closed != 0:
            return state, Outbox()
        totals = self.field.encode(self.rows.sum(axis=0))
        sampled = 0
        payload: Elements = totals[None]
        if self.shares:
            payload = additive.share(self.field, totals, self.shares, source=self.source)
            sampled = (self.shares - 1) * totals.size
        me = np.zeros(len(payload), np.int64)
        batch = Batch(
            "sum",
            1,
            Role.CURATOR,
            Role.AGGREGATOR,
            me,
            me,
            {"sum": payload},
            np.arange(len(payload)),
        )
        return replace(state, closed=0), Outbox((batch,), sampled=sampled, added=sampled)


@dataclass(frozen=True, eq=False)
class Receiver(Machine[Counting]):
    """Whoever receives the curator's counts, or all shares of them."""

    field: PrimeField
    width: int
    parts: int
    people: int
    role: Role = Role.AGGREGATOR
    members: range = range(1)

    def start(self) -> Counting:
        return Counting()

    def step(self, state: Counting, inbox: Inbox) -> tuple[Counting, Outbox]:
        added = 0
        for batch in inbox.batches:
            columns = {"sum": (np.uint64, (self.width,))}
            check_batch(batch, 1, state.closed, Role.CURATOR, 1, columns)
            rows = self.field.check(batch.payload["sum"])
            if sorted(batch.order.tolist()) != list(range(self.parts)) or state.outcome:
                failed = dict.fromkeys(range(self.width), "shares of the curator are missing")
                state = replace(state, outcome=Outcome(None, failed))
                continue
            senders = np.ones(self.people, bool)
            state = replace(state, outcome=Outcome(self.field.add_rows(rows), {}, senders))
            added = (self.parts - 1) * self.width
        if inbox.closed is not None:
            state = replace(state, closed=inbox.closed)
        if inbox.closed == 1 and state.outcome is None:
            failed = dict.fromkeys(range(self.width), "nothing came from the curator")
            state = replace(state, outcome=Outcome(None, failed))
        return state, Outbox(added=added)


class DPCS(Sampling):
    """A trusted curator samples people and releases the counts of the sample.

    Parameters are those of `Sampling`; ``shared=True`` is DPCS*.

    Examples
    --------
    >>> protocol = DPCS(["car", "bike"], rate=0.4, count=100, delta=1e-6)
    >>> round(protocol.guarantee.epsilon, 3)
    0.493
    """

    name = "dpcs"

    def __init__(self, domain: Any, *, shared: bool = False, **parameters: Any) -> None:
        super().__init__(domain, **parameters)
        object.__setattr__(self, "shared", shared)

    shared: bool

    def users_machine(
        self,
        prepared: Prepared,
        members: range,
        people: int,
        field: PrimeField,
        source: Source,
        exactly: bytes | None = None,
    ) -> Machine[Any]:
        """The curator, who has the answers of all users."""
        return Curator(field, prepared.rows, people if self.shared else 0, source)

    def server_machines(
        self, people: int, field: PrimeField, source: Source, exactly: bytes | None = None
    ) -> list[Machine[Any]]:
        return [Receiver(field, self.items, people if self.shared else 1, people)]

    def message_rounds(self, people: int) -> int:
        return 1

    def promise(self, people: int, senders: NDArray[np.bool_] | None, rounds: int) -> Guarantee:
        return self.sampled(rounds, CURATOR, against=Against.RESULT)
