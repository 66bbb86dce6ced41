"""What all protocols share: a session of people with their coins, and a run with its result.

A session keeps what people drew. Running again with the identical set of senders uses the same
coins, so that the result says nothing new; any other set draws fresh coins and counts as another
round, which the guarantee states. Two sums over different senders with the same coins are never
opened: their difference would be somebody's answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..contract.route import AddedNoise, Route
from ..domain.values import Domain
from ..errors import ParameterError, ShareError
from ..estimate.estimate import Estimate
from ..promise import Guarantee
from ..randomness import Source, source_of
from ..sharing import PrimeField, smallest_prime_above
from ..transport import Cost, Driven, Machine, Role, Views, drive
from ..transport.in_process import Tamper
from .counts import TrueCounts
from .receiving import Outcome

#: The largest prime below 2^32. Fields are larger than totals need, so that the total of lost or
#: altered shares, which is uniform, is almost surely none that people can give; elements take four
#: bytes all the same, and hardly any random word is rejected.
_LARGE = 4_294_967_291


@dataclass(frozen=True, eq=False)
class Prepared:
    """What people drew: what each adds to the totals, and which items they report.

    Attributes
    ----------
    rows : array of int64
        One row per person, one column per item.
    sets : array of bool, optional
        Reported items, for two-stage sampling.
    """

    rows: NDArray[np.int64]
    sets: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """Machines in the order of a run, the last of them the one with the outcome."""

    machines: Sequence[Machine[Any]]
    rounds: int


@dataclass(frozen=True, eq=False)
class Run:
    """A run that gave a result.

    Attributes
    ----------
    aggregate : Aggregate
        The counts with their route.
    estimate : Estimate
        Unbiased fractions, with intervals that hold for rare and empty items.
    guarantee : Guarantee
        Promises by adversary.
    costs : mapping of Role to Cost
        Elements sent, sampled and added, per role.
    views : Views
        What every role saw.
    refused : tuple of str
        Messages that were refused, and why.
    """

    aggregate: Aggregate
    estimate: Estimate
    guarantee: Guarantee
    costs: Mapping[Role, Cost]
    views: Views
    refused: tuple[str, ...] = ()


class Protocol(ABC):
    """A protocol over one question; one frozen object owns its parameters."""

    name: str = ""
    domain: Domain
    users: int | None

    @cached_property
    def counts(self) -> TrueCounts:
        """The collection that the aggregate belongs to."""
        return TrueCounts(self.domain)

    @property
    def items(self) -> int:
        """N, the number of values."""
        return self.domain.size

    # --- what a protocol is ---------------------------------------------------------------------

    @abstractmethod
    def prepare(
        self, codes: NDArray[Any], source: Source, *, first: int = 0, people: int | None = None
    ) -> Prepared:
        """The users' side: everyone's coins, and what they add to the totals.

        Parameters
        ----------
        codes : array
            Answers of some people, in the order of the roster.
        source : Source
            Randomness.
        first, people : int
            The place of the first of them on the roster, and how many people it has; by default
            these are all.
        """

    @abstractmethod
    def users_machine(
        self,
        prepared: Prepared,
        members: range,
        people: int,
        field: PrimeField,
        source: Source,
        exactly: bytes | None = None,
    ) -> Machine[Any]:
        """The role of some users, who drew `prepared`.

        With `exactly` only a sum over exactly these senders may be opened.
        """

    @abstractmethod
    def server_machines(
        self, people: int, field: PrimeField, source: Source, exactly: bytes | None = None
    ) -> list[Machine[Any]]:
        """The roles of all servers; the last one has the outcome in its state."""

    @abstractmethod
    def message_rounds(self, people: int) -> int:
        """How many rounds of messages a run has."""

    def plan(
        self, prepared: Prepared, field: PrimeField, source: Source, exactly: bytes | None
    ) -> Plan:
        """All machines of a run in one process."""
        people = len(prepared.rows)
        users = self.users_machine(prepared, range(people), people, field, source, exactly)
        servers = self.server_machines(people, field, source, exactly)
        return Plan([users, *servers], self.message_rounds(people))

    @abstractmethod
    def limits(self, people: int) -> tuple[int, int]:
        """The smallest and the largest total that so many people can give."""

    @abstractmethod
    def promise(self, people: int, senders: NDArray[np.bool_] | None, rounds: int) -> Guarantee:
        """What is promised after so many rounds; `senders` is None before a run."""

    @property
    def kept(self) -> float:
        """Probability with which a holder is counted."""
        return 1.0

    def noise(self, people: int, senders: NDArray[np.bool_]) -> AddedNoise | None:
        """What was added to every count."""
        return None

    def scale(self, totals: NDArray[np.int64], people: int) -> NDArray[np.int64]:
        """Totals as counts."""
        return totals

    threshold: int = 0

    # --- what a user calls ----------------------------------------------------------------------

    @property
    def guarantee(self) -> Guarantee:
        """What is promised if nobody drops out and nothing is repeated."""
        return self.promise(self.users or 0, None, 1)

    def simulate(
        self, values: Any, *, source: Source | None = None, views: bool | None = None
    ) -> Run:
        """Run every role in this process.

        Parameters
        ----------
        values : array-like
            One answer per person.
        source : Source, optional
            Randomness; the system's by default.
        views : bool, optional
            Whether to keep all messages; by default where they are not too large.
        """
        return self.session(values, source=source).run(views=views)

    def session(self, values: Any, *, source: Source | None = None) -> Session:
        """People with their answers, who may have to run more than once."""
        codes = self.domain.encode(values)
        if self.users is not None and codes.size != self.users:
            raise ParameterError(
                f"there are {codes.size:,} answers, but the protocol is for {self.users:,} users"
            )
        return Session(self, codes, source_of(source))

    def field(self, people: int) -> PrimeField:
        """The field of so many people; no total wraps around."""
        low, high = self.limits(people)
        return PrimeField(max(smallest_prime_above(high - low), _LARGE), low)

    def opened(self, driven: Driven) -> set[bytes]:
        """Sets of senders whose sums may have left somebody."""
        return {s.opened for s in driven.states if getattr(s, "opened", None) is not None}


@dataclass(eq=False)
class Session:
    """People with their answers and coins, through one or more runs.

    Attributes
    ----------
    rounds : int
        How often coins were drawn.
    """

    protocol: Protocol
    codes: NDArray[Any]
    source: Source
    rounds: int = 0
    _present: bytes | None = None
    _prepared: Prepared | None = None
    _opened: set[bytes] = field(default_factory=set)

    def run(
        self,
        *,
        present: Sequence[bool] | NDArray[np.bool_] | None = None,
        tamper: Tamper | None = None,
        views: bool | None = None,
    ) -> Run:
        """One run; the same senders as last time keep their coins, others draw fresh ones.

        Parameters
        ----------
        present : sequence of bool, optional
            Who takes part; everyone by default.
        tamper : callable, optional
            What happens to messages on their way, for tests of failures.
        views : bool, optional
            As in `simulate`.

        Raises
        ------
        ShareError
            Where items have no total; it names them. Nothing is estimated then.
        """
        everyone = np.ones(self.codes.size, bool)
        here = everyone if present is None else np.asarray(present, bool)
        if here.shape != everyone.shape or not here.any():
            raise ParameterError("present must say of everyone whether they take part; some must")
        codes, people = self.codes[here], int(here.sum())
        protocol, exactly = self.protocol, None
        whole = np.packbits(np.ones(people, bool), bitorder="little").tobytes()
        if self._present == here.tobytes() and self._opened <= {whole}:
            # The same coins may be opened once more, but only over the identical senders.
            exactly = whole
        else:
            self._present, self._prepared, self._opened = here.tobytes(), None, set()
            self.rounds += 1
        protocol.promise(people, None, self.rounds)  # what cannot be promised is refused first
        if self._prepared is None:
            self._prepared = protocol.prepare(codes, self.source)
        shared = protocol.field(people)
        plan = protocol.plan(self._prepared, shared, self.source, exactly)
        driven = drive(plan.machines, plan.rounds, tamper=tamper, views=views)
        self._opened |= protocol.opened(driven)
        return self._result(driven, shared, people)

    def _result(self, driven: Driven, shared: PrimeField, people: int) -> Run:
        protocol, outcome = self.protocol, driven.states[-1].outcome
        aggregate = aggregate_of(
            protocol, outcome, shared, people, self.rounds, self.source.seeded, driven.refused
        )
        estimate = protocol.counts.estimate(aggregate)
        return Run(
            aggregate,
            estimate,
            estimate.guarantee,
            driven.costs,
            driven.views,
            driven.refused,
        )


def aggregate_of(
    protocol: Protocol,
    outcome: Outcome | None,
    shared: PrimeField,
    people: int,
    rounds: int,
    seeded: bool,
    refused: Sequence[str] = (),
) -> Aggregate:
    """The last server's side: totals as an aggregate with its route, or an error naming items.

    Parameters
    ----------
    protocol : Protocol
        What was run.
    outcome : Outcome, optional
        Of the last machine.
    shared : PrimeField
        In which shares were.
    people, rounds : int
        Who took part from the outset, and how often coins were drawn.
    seeded : bool
        Whether coins came from a seed.
    refused : sequence of str
        Messages that were refused, for the error.
    """
    if outcome is None:
        raise ShareError("the run did not end, so there is no result")
    failed = dict(outcome.failed)
    low, high = protocol.limits(people)
    if outcome.totals is not None:
        totals = shared.decode(outcome.totals)
        for j in np.flatnonzero((totals < low) | (totals > high)).tolist():
            failed.setdefault(
                j, f"its total lies outside what {people:,} people can give; shares were altered"
            )
    if failed or outcome.totals is None or outcome.senders is None:
        labels = protocol.domain.labels
        names = "; ".join(f"{labels[j]!r}: {why}" for j, why in sorted(failed.items())[:8])
        more = f"; and {len(failed) - 8} more" if len(failed) > 8 else ""
        also = f". Refused: {'; '.join(refused[:3])}" if refused else ""
        raise ShareError(
            f"no result, since {len(failed)} of {protocol.items} items have no total. "
            f"{names}{more}{also}. Run again: with the same senders coins stay the same, with "
            "others it is another round"
        )
    reports = int(outcome.senders.sum())
    if reports == 0:
        raise ShareError("no result: nobody's shares arrived")
    counts = protocol.scale(shared.decode(outcome.totals), people)
    if protocol.threshold:
        counts = np.where(counts < protocol.threshold, 0, counts)
    route = Route(
        protocol.name,
        protocol.promise(people, outcome.senders, rounds),
        protocol.noise(people, outcome.senders),
        protocol.kept,
        protocol.threshold,
    )
    collection = protocol.counts
    tables = {collection.table: counts}
    return Aggregate(collection.id, collection.digest, tables, reports, reports, seeded, route)
