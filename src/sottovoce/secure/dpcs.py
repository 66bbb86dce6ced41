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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..accounting.sampled_counts import largest_rate, sampled_counts
from ..checks import checked_count, checked_rate
from ..errors import ParameterError
from ..promise import Against, Guarantee
from ..sharing import Elements, additive
from ..transport import Batch, Machine, Outbox, Role
from .promises import CURATOR, PRESENT, Sizes, repetition
from .protocol import Prepared, Protocol, Rows
from .receiving import Flags, Form, Outcome, Phase, RoundMachine, Setting

NO_COUNT = (
    "no public lower bound on the holders of every answer was given, and an answer that nobody "
    "else gives would be seen with the probability of being in the sample; state count=…, or use "
    "BinomialNoise, DPDG or Dummies, which need none"
)

_RESERVE = 1e-5  # of delta: a promise states an epsilon that is rounded up


@dataclass(frozen=True, eq=False, init=False)
class Sampling(Protocol):
    """Protocols that release counts of a secret sample.

    Parameters
    ----------
    domain, users, delta, neighbours
        As in `Protocol`.
    rate : float, optional
        Probability of being in the sample; planned where epsilon is given instead.
    count : int, optional
        A public lower bound on the holders of every answer, the protected person included. It must
        not be read from the data. Nothing is promised where the people are too few for it.
    epsilon : float, optional
        Instead of a rate: the largest rate that keeps (epsilon, delta) with `count` is taken.
    collusion : int
        How many holders of one answer may work together with a recipient of the result, or be one:
        they know their own coins.
    """

    rate: float
    count: int | None

    def __init__(
        self,
        domain: Any,
        *,
        rate: float | None = None,
        count: int | None = None,
        epsilon: float | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(domain, **parameters)
        if count is not None:
            count = checked_count(count, "count", 1)
        if (rate is None) == (epsilon is None):
            raise ParameterError("give either a rate, or an epsilon for which it is planned")
        if rate is None:
            if count is None or epsilon is None:
                raise ParameterError(
                    "a rate is planned from count, a public lower bound on the holders of every "
                    "answer; give it, or use BinomialNoise, which needs none"
                )
            within = self.delta * (1 - _RESERVE)
            rate = largest_rate(
                epsilon, within, count, neighbours=self.neighbours, insiders=self.collusion
            )
        self._set(rate=checked_rate(rate), count=count)
        if self.users is not None and (impossible := self._impossible(self.users)):
            raise ParameterError(impossible)

    @property
    def least_people(self) -> int:
        """How many people `count` takes: the others who hold each answer, and the person."""
        return self.items * ((self.count or 1) - 1) + 1

    def _impossible(self, people: int) -> str:
        """Why so few people cannot be as many holders of every answer; empty where they can."""
        if people >= self.least_people:
            return ""
        return (
            f"{people:,} people cannot be {self.count or 1:,} holders of each of {self.items:,} "
            f"answers (count), which takes at least {self.least_people:,} people"
        )

    def promised(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        """No promise where too few people for `count` are in the result, or were in another one.

        What an earlier round showed of people who had nobody to hide among stays seen.
        """
        here = people if senders is None else int(senders.sum())
        for many in (here, *(size.opened for size in earlier or ())):
            if many and (impossible := self._impossible(many)):
                return Guarantee.none(impossible)
        return super().promised(people, senders, rounds, earlier)

    def sampled(self, rounds: int, *assuming: str, against: Against) -> Guarantee:
        """The promise of the counts, or none where nothing is known about holders."""
        if self.count is None:
            return Guarantee.none(NO_COUNT)
        promise = sampled_counts(
            self.count,
            self.rate,
            self.delta,
            neighbours=self.neighbours,
            insiders=self.collusion,
            rounds=rounds,
        )
        provided = *promise.assuming, PRESENT, *assuming, *repetition(rounds)
        return Guarantee((replace(promise, against=against, assuming=provided),))


@dataclass(frozen=True, eq=False, kw_only=True)
class Curator(RoundMachine[Phase]):
    """The trusted server: it has everyone's answers and coins."""

    rows: Rows
    shares: int
    role: Role = Role.CURATOR
    members: range = range(1)

    def close(self, state: Phase, number: int) -> tuple[Phase, Outbox]:
        if number != 0:
            return state, Outbox()
        totals = self.field.encode(self.rows.sum(axis=0))
        payload, sampled = totals[None], 0
        if self.shares:
            payload = additive.share(self.field, totals, self.shares, source=self.source)
            sampled = (self.shares - 1) * totals.size
        me, order = np.zeros(len(payload), np.int64), np.arange(len(payload))
        sums: dict[str, Elements] = {"sum": payload}
        batch = Batch("sum", 1, Role.CURATOR, Role.AGGREGATOR, me, me, sums, order)
        return state, Outbox((batch,), sampled=sampled, added=sampled)


@dataclass(frozen=True, eq=False, kw_only=True)
class Receiver(RoundMachine[Phase]):
    """Whoever receives the curator's counts, or all shares of them."""

    parts: int
    role: Role = Role.AGGREGATOR
    members: range = range(1)

    def forms(self) -> Mapping[str, Form]:
        return {"sum": Form(1, Role.CURATOR, 1, {"sum": (np.uint64, (self.items,))})}

    def take(self, state: Phase, batch: Batch) -> tuple[Phase, int]:
        rows = self.field.check(batch.payload["sum"])
        if sorted(batch.order.tolist()) != list(range(self.parts)) or state.outcome:
            return replace(state, outcome=self.nothing("shares of the curator are missing")), 0
        outcome = Outcome(self.field.add_rows(rows), {}, np.ones(self.people, bool))
        return replace(state, outcome=outcome), (self.parts - 1) * self.items

    def close(self, state: Phase, number: int) -> tuple[Phase, Outbox]:
        if number == 1 and state.outcome is None:
            state = replace(state, outcome=self.nothing("nothing came from the curator"))
        return state, Outbox()


@dataclass(frozen=True, eq=False, init=False)
class DPCS(Sampling):
    """A trusted curator samples people and releases the counts of the sample.

    Parameters are those of `Sampling`; ``shared=True`` is DPCS*.

    Examples
    --------
    >>> protocol = DPCS(["car", "bike"], rate=0.4, count=100, delta=1e-6)
    >>> round(protocol.guarantee.epsilon, 3)
    0.493
    """

    shared: bool

    name = "dpcs"

    def __init__(self, domain: Any, *, shared: bool = False, **parameters: Any) -> None:
        super().__init__(domain, **parameters)
        self._set(shared=shared)

    def users_machine(self, prepared: Prepared, members: range, setting: Setting) -> Machine[Any]:
        """The curator, who has the answers of all users."""
        shares = setting.people if self.shared else 0
        return Curator(**vars(setting), rows=prepared.rows, shares=shares)

    def server_machines(self, setting: Setting) -> list[Machine[Any]]:
        return [Receiver(**vars(setting), parts=setting.people if self.shared else 1)]

    def message_rounds(self, people: int) -> int:
        return 1

    def promise(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        return self.sampled(rounds, CURATOR, against=Against.RESULT)
