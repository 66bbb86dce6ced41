"""What all protocols share: a session of people with their coins, and a run with its result.

A session keeps what people drew. Running again with the identical set of senders uses the same
coins, so that the result says nothing new; any other set draws fresh coins and counts as another
round, which the guarantee states. Two sums over different senders with the same coins are never
opened: their difference would be somebody's answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..accounting.sampled_counts import Neighbours, check_neighbours
from ..checks import checked_count, positive_delta
from ..contract.aggregate import Aggregate
from ..contract.route import AddedNoise, Route
from ..domain.values import Domain, Label
from ..errors import ParameterError, ShareError
from ..estimate.estimate import Estimate
from ..promise import WHO_ANSWERED, Guarantee
from ..randomness import Source, source_of
from ..sharing import PrimeField, smallest_prime_above
from ..transport import Cost, Machine, Role, Views, drive
from ..transport.in_process import Tamper
from .counts import TrueCounts
from .promises import ONCE, Size, Sizes
from .receiving import Flags, Outcome, Setting, pack
from .selection import coins, one_hot

#: The largest prime below 2^32. Fields are larger than totals need, so that the total of lost or
#: altered shares, which is uniform, is almost surely none that people can give; elements take four
#: bytes all the same, and hardly any random word is rejected.
_LARGE = 4_294_967_291


Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What people drew: a row per person of what they add to the totals, item by item.

    `sets` are the reported items of two-stage sampling.
    """

    rows: Rows
    sets: Flags | None = None


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


@dataclass(frozen=True, eq=False, init=False)
class Protocol(ABC):
    """A protocol over one question; one frozen object owns its parameters.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    users : int, optional
        How many people take part.
    delta : float
        Of the promise.
    collusion : int
        How many people may work together; who they are depends on the protocol.
    neighbours : {"substitute", "add-remove"}
        What is protected.
    """

    domain: Domain
    users: int | None
    delta: float
    collusion: int
    neighbours: Neighbours

    name: ClassVar[str] = ""
    _least_users: ClassVar[int] = 1
    _least_collusion: ClassVar[int] = 0
    #: Probability of being in the sample.
    rate = 1.0
    #: Counts below it are suppressed.
    threshold = 0

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        users: int | None = None,
        delta: float = 1e-6,
        collusion: int = 1,
        neighbours: Neighbours = "substitute",
    ) -> None:
        check_neighbours(neighbours)
        self._set(
            domain=Domain.of(domain),
            users=None if users is None else checked_count(users, "users", self._least_users),
            delta=positive_delta(delta),
            collusion=checked_count(collusion, "collusion", self._least_collusion),
            neighbours=neighbours,
        )

    def _set(self, **parameters: Any) -> None:
        """At construction: parameters that were checked."""
        for name, value in parameters.items():
            object.__setattr__(self, name, value)

    @cached_property
    def counts(self) -> TrueCounts:
        """The collection that the aggregate belongs to."""
        return TrueCounts(self.domain)

    @property
    def items(self) -> int:
        """N, the number of values."""
        return self.domain.size

    # --- what a protocol is ---------------------------------------------------------------------

    def prepare(
        self, codes: NDArray[Any], source: Source, *, first: int = 0, people: int | None = None
    ) -> Prepared:
        """The users' side: everyone's coins, and what they add to the totals.

        The codes are answers of some of the `people` on the roster, from the place `first` on; by
        default of all.
        """
        sampled = coins(self.rate, codes.size, source)
        rows = one_hot(codes, self.items, sampled)
        rows = self.add_noise(rows, first, people or codes.size, source)
        return Prepared(rows, self.draw_sets(codes, sampled, source))

    def draw_sets(self, codes: NDArray[Any], sampled: Flags, source: Source) -> Flags | None:
        """The users' side: which items they report, where they do not report all."""
        return None

    def add_noise(self, rows: Rows, first: int, people: int, source: Source) -> Rows:
        """The users' side: rows of sampled answers with what these people add to them."""
        return rows

    @abstractmethod
    def users_machine(self, prepared: Prepared, members: range, setting: Setting) -> Machine[Any]:
        """The role of some users, who drew `prepared`."""

    @abstractmethod
    def server_machines(self, setting: Setting) -> list[Machine[Any]]:
        """The roles of all servers; the last one has the outcome in its state."""

    @abstractmethod
    def message_rounds(self, people: int) -> int:
        """How many rounds of messages a run has."""

    def setting(self, people: int, source: Source, exactly: bytes | None = None) -> Setting:
        """A run of so many people."""
        return Setting(people, self.items, self.field(people), source, exactly)

    def machines(self, prepared: Prepared, setting: Setting) -> list[Machine[Any]]:
        """All machines of a run in one process, in their order."""
        users = self.users_machine(prepared, range(setting.people), setting)
        return [users, *self.server_machines(setting)]

    def limits(self, people: int) -> tuple[int, int]:
        """The smallest and the largest total that so many people can give."""
        return 0, people

    @abstractmethod
    def promise(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        """What is promised after so many rounds; `senders` is None before a run.

        `people` and `senders` are those of the last round; the others had `earlier` sizes, or
        any.
        """

    @property
    def kept(self) -> float:
        """Probability with which a holder is counted."""
        return self.rate

    def noise(self, people: int, senders: Flags) -> AddedNoise | None:
        """What was added to every count."""
        return None

    def scale(self, totals: Rows, people: int) -> Rows:
        """Totals as counts."""
        return totals

    # --- what a user calls ----------------------------------------------------------------------

    @property
    def guarantee(self) -> Guarantee:
        """What is promised if nobody drops out and nothing is repeated."""
        return self.promised(self.users or 0, None, 1)

    def promised(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        """The promise, with what all protocols assume."""
        return self.with_assumptions(self.promise(people, senders, rounds, earlier))

    def with_assumptions(self, guarantee: Guarantee) -> Guarantee:
        """A guarantee with what all protocols assume of other releases and missing answers."""
        also = (ONCE, *(WHO_ANSWERED,) * (self.domain.missing == "public"))
        promises = (replace(p, assuming=(*p.assuming, *also)) for p in guarantee.promises)
        return Guarantee(tuple(promises), guarantee.reason)

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
    _sizes: tuple[Size, ...] = ()  # of every round
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
        people, protocol, exactly = int(here.sum()), self.protocol, None
        whole = pack(np.ones(people, bool)).tobytes()
        if self._present == here.tobytes() and self._opened <= {whole}:
            # The same coins may be opened once more, but only over the identical senders.
            exactly = whole
        else:
            self._present, self._prepared, self._opened = None, None, set()
            # What cannot be promised is refused first.
            protocol.promise(people, None, self.rounds + 1, self._sizes)
            self.rounds, self._sizes = self.rounds + 1, (*self._sizes, Size(people, people))
        if self._prepared is None:
            self._prepared = protocol.prepare(self.codes[here], self.source)
        machines = protocol.machines(self._prepared, protocol.setting(people, self.source, exactly))
        # A run that is interrupted may have opened a sum; its coins are not used again.
        self._present = None
        driven = drive(machines, protocol.message_rounds(people), tamper=tamper, views=views)
        self._present = here.tobytes()
        self._opened |= {s.opened for s in driven.states if s.opened is not None}
        fewest = min((int.from_bytes(bits).bit_count() for bits in self._opened), default=people)
        self._sizes = (*self._sizes[:-1], Size(people, fewest))
        outcome, refused = driven.states[-1].outcome, driven.refused
        earlier, seeded = self._sizes[:-1], self.source.seeded
        aggregate = aggregate_of(
            protocol, outcome, people, self.rounds, seeded, refused, earlier=earlier
        )
        estimate = protocol.counts.estimate(aggregate)
        return Run(aggregate, estimate, estimate.guarantee, driven.costs, driven.views, refused)


def aggregate_of(
    protocol: Protocol,
    outcome: Outcome | None,
    people: int,
    rounds: int,
    seeded: bool,
    refused: Sequence[str] = (),
    *,
    earlier: Sizes = None,
) -> Aggregate:
    """The last server's side: totals as an aggregate with its route, or an error naming items.

    `people` took part from the outset, in the last of so many `rounds` with fresh coins; the others
    had `earlier` sizes. Messages that were `refused` are for the error.
    """
    if outcome is None:
        raise ShareError("the run did not end, so there is no result")
    failed = dict(outcome.failed)
    low, high = protocol.limits(people)
    totals = None if outcome.totals is None else protocol.field(people).decode(outcome.totals)
    if totals is not None:
        for j in np.flatnonzero((totals < low) | (totals > high)).tolist():
            failed.setdefault(
                j, f"its total lies outside what {people:,} people can give; shares were altered"
            )
    if failed or totals is None or outcome.senders is None:
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
    counts = protocol.scale(totals, people)
    if protocol.threshold:
        counts = np.where(counts < protocol.threshold, 0, counts)
    route = Route(
        protocol.name,
        protocol.promised(people, outcome.senders, rounds, earlier),
        protocol.noise(people, outcome.senders),
        protocol.kept,
        protocol.threshold,
    )
    collection = protocol.counts
    tables = {collection.table: counts}
    return Aggregate(collection.id, collection.digest, tables, reports, reports, seeded, route)
