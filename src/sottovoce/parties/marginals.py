"""What marginals over split rows and over split columns share: the study, its roles and its result.

Everyone computes the same from the public parameters: which sums are opened, what they cost, how
they are cut into blocks. A run is either driven here (`simulate`) or by `transport` between
machines; both end in `outcome`, which `results` computes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

from ..checks import checked_count, float_above
from ..domain.values import Attribute
from ..errors import AnswerError, ParameterError, ShareError
from ..promise import Guarantee, Neighbours, Protected
from ..randomness import Source, source_of
from ..transport import Machine, drive
from ..transport.in_process import Tamper
from ..transport.keys import KeyPair
from .blocks import Block
from .counting import check_size
from .design import CURATOR, Design
from .double_masking import DoublyMaskedSum, DoublyOpenedSum
from .engines import Engine
from .machines import Curator, CuratorState, PartyMachine, PartyState
from .methods import Method, Solved, Sums
from .oblivious import Coins, delta
from .products import Plan as Products
from .promises import COMPUTATIONAL, ONCE, PUBLIC_SIZES, party_promises, trusted_members
from .releases import Release, deltas
from .results import no_result, plan_of, run_of
from .run import Plan, Run
from .sums import MaskedSum, OpenedSum, SumDesign
from .tables import NoisyTable

_NEVER = 2.0**-60
_NOISE = ("shares", "oblivious")


@dataclass(frozen=True, init=False, eq=False)
class Marginals(ABC):
    """A study between parties; see `Horizontal` and `Vertical` for the parameters."""

    budgets: Mapping[str, Fraction]
    collusion: int
    dropouts: int
    neighbours: Neighbours
    method: Method
    noise: str
    engine: Engine | None
    addresses: Mapping[str, str] | None

    name: ClassVar[str]
    split: ClassVar[str]  # what is divided, in words
    methods: ClassVar[Mapping[str, Method]]
    #: Who the people in several parties' data are, as an assumption of the promises.
    people_are: ClassVar[str]
    #: What to choose where more parties may collude than the engine tolerates.
    tolerant: ClassVar[str]
    party_kind: ClassVar[type[PartyMachine]]
    #: What the constructor takes besides the attributes and the budgets.
    options: ClassVar[tuple[str, ...]]

    def _agree(
        self,
        *,
        collusion: Any,
        most: int,
        method: str | Method,
        noise: str,
        engine: Engine | None,
        addresses: Mapping[str, str] | None,
        **own: Any,
    ) -> None:
        """Fix the parameters; refuse what does not fit together, before anything is spent."""
        parties = tuple(own["budgets"])
        if collusion is not None and (
            isinstance(collusion, bool) or not isinstance(collusion, Integral)
        ):
            raise ParameterError(f"collusion is {collusion!r}; it must be a whole number")
        if engine is not None:
            most = max(1, engine.tolerates(len(parties)) - 1)
            engine = engine if addresses is None else engine.at(addresses, parties)
        common = {
            "collusion": most if collusion is None else int(collusion),
            "method": self._method(method),
            "noise": noise,
            "engine": engine,
            "addresses": addresses,
        }
        for field_name, value in {**own, **common}.items():
            object.__setattr__(self, field_name, value)
        if noise not in _NOISE:
            known = ", ".join(map(repr, _NOISE))
            raise ParameterError(f"noise is {noise!r}; it can come from {known}")
        if engine is not None and most < self.collusion < len(parties):
            raise ParameterError(
                f"collusion is {self.collusion}, but the engine {engine.name!r} protects "
                f"{len(parties)} parties only while at most {most} of them work with the curator; "
                f"take {self.tolerant}"
            )

    def _method(self, asked: str | Method) -> Method:
        if isinstance(asked, Method):
            return asked
        if asked not in self.methods:
            known = ", ".join(map(repr, self.methods))
            raise ParameterError(
                f"there is no method {asked!r} for {self.split}; there are {known}"
            )
        return self.methods[asked]

    def _check(self, attributes: Iterable[Attribute]) -> None:
        for attribute in attributes:
            if attribute.missing == "public":
                raise ParameterError(
                    f"{attribute.name!r} declares public who gave no answer; between parties take "
                    "missing='value', since parties must not publish who is in a sum"
                )
        for design, names in zip(self.designs(None), self.tables, strict=True):
            check_size(design.cells, f"the table of {list(names)}")
            for party, epsilon in self.method.spent(design).items():
                if epsilon > design.budgets[party]:
                    raise ParameterError(
                        f"the method {self.method.name!r} would cost {party!r} more than its budget"
                    )

    def varied(self, **changes: Any) -> Self:
        """The same study with other parameters."""
        own = {name: getattr(self, name) for name in self.options} | changes
        return type(self)(*self._asked, self.budgets, **own)  # type: ignore[call-arg]

    def with_method(self, method: str | Method) -> Self:
        """The same study with another method."""
        return self.varied(method=method)

    # --- what the split decides -----------------------------------------------------------------

    @property
    @abstractmethod
    def _asked(self) -> tuple[Any, Any]:
        """The constructor's schema and attributes."""

    @property
    @abstractmethod
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of every marginal."""

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """Of all public parameters."""

    @property
    @abstractmethod
    def sum_design(self) -> SumDesign:
        """Who adds up, in which rounds."""

    @property
    @abstractmethod
    def dealer(self) -> bool:
        """Whether a dealer takes part."""

    @abstractmethod
    def designs(
        self, rows: Mapping[str, int] | None, present: Sequence[str] | None = None
    ) -> tuple[Design, ...]:
        """The public parameters of every marginal, with its fraction of the budgets."""

    @abstractmethod
    def people(self, rows: Mapping[str, int]) -> int:
        """How many people the rows of parties are about."""

    @abstractmethod
    def product_plan(self, rows: int) -> Products:
        """What the engine computes over so many rows."""

    @abstractmethod
    def own_table(self, name: str, data: Any) -> Any:
        """A party's table as its machine takes it; AnswerError where it does not fit."""

    @abstractmethod
    def labelled(self, marginal: int, solved: Solved, guarantee: Guarantee) -> NoisyTable:
        """The table of a marginal."""

    @abstractmethod
    def described(self, marginal: int, release: Release) -> str:
        """A release in words, without its noise."""

    @abstractmethod
    def bytes_sent(self, rows: Mapping[str, int] | None) -> int:
        """Payload of all messages to others; envelopes and seals are small beside it."""

    # --- what is opened, and what it costs ------------------------------------------------------

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in order."""
        return tuple(self.budgets)

    @property
    def sizes_are_public(self) -> bool:
        """Whether parties publish how many rows they have."""
        return self.neighbours is Neighbours.SUBSTITUTION

    @property
    def message_rounds(self) -> int:
        """How many rounds of messages a run has."""
        return self.sum_design.opening + 1

    def releases(self, rows: Mapping[str, int] | None) -> tuple[tuple[Release, ...], ...]:
        """The sums that are opened, for every marginal."""
        return tuple(tuple(self.method.releases(design)) for design in self.designs(rows))

    def all_releases(self, rows: Mapping[str, int] | None) -> list[tuple[int, Release]]:
        """The same one after the other, each with the number of its marginal."""
        return [(m, release) for m, some in enumerate(self.releases(rows)) for release in some]

    def blocks(self, rows: Mapping[str, int] | None) -> tuple[Block, ...]:
        """How vectors are cut into releases, and in which ring each is added up."""
        people = None if rows is None else self.people(rows)
        return tuple(Block.of(f"{m}/{one.name}", one, people) for m, one in self.all_releases(rows))

    @cached_property
    def coins(self) -> tuple[Coins, ...]:
        """Noise that nobody draws, for every release; none where parties add noise shares."""
        if self.noise != "oblivious":
            return ()
        return tuple(Coins(release.cells, release.scale) for _, release in self.all_releases(None))

    def rows_said(self, said: Mapping[int, int]) -> Mapping[str, int] | None:
        """Numbers of rows from the hellos; None where they are not public.

        ShareError where a party says what it must not say.
        """
        for k, rows in said.items():
            if (rows < 1) is self.sizes_are_public:
                what = "no number of rows" if self.sizes_are_public else "its number of rows"
                raise ShareError(f"{self.parties[k]!r} sent {what}, against the study; stopped")
        if not self.sizes_are_public:
            return None
        return {self.parties[k]: rows for k, rows in sorted(said.items())}

    def computed_plan(self, said: Mapping[int, int]) -> Products:
        """What the engine computes, from the numbers of rows in the hellos."""
        rows = self.rows_said(said)
        return self.product_plan(0 if rows is None else self.people(rows))

    def costs_of(self, rows: Mapping[str, int] | None) -> dict[str, Fraction]:
        """ε that a run costs every party, exactly."""
        totals = dict.fromkeys(self.parties, Fraction(0))
        for design in self.designs(rows):
            for party, epsilon in self.method.spent(design).items():
                totals[party] += epsilon
        return totals

    def spent(self, rows: Mapping[str, int] | None = None) -> dict[str, float]:
        """ε that a run charges every party, rounded up: whether or not it ends well."""
        return {party: float_above(epsilon) for party, epsilon in self.costs_of(rows).items()}

    @property
    def guarantee(self) -> Guarantee:
        """One promise for each party, with what a run spends."""
        return self.promised(self.costs_of(None), [one for _, one in self.all_releases(None)])

    @property
    def assuming(self) -> tuple[str, ...]:
        """What the promises assume."""
        trusted = trusted_members(self.engine, self.collusion, self.dropouts, len(self.parties))
        sizes = (PUBLIC_SIZES,) if self.sizes_are_public else ()
        return (*trusted, self.people_are, *sizes, COMPUTATIONAL, ONCE)

    def promised(self, costs: Mapping[str, Fraction], releases: Sequence[Release]) -> Guarantee:
        """One promise for each party that spends so much on these releases."""
        protects = Protected.PARTY_RECORD if self.sizes_are_public else Protected.PARTICIPATION
        spare = {
            party: own + Fraction(delta(costs[party], self.coins))
            for party, own in deltas(releases, costs).items()
        }
        return party_promises(costs, spare, self.neighbours, protects, self.assuming)

    def check_sums(self, sums: Sums, rows: Mapping[str, int] | None) -> None:
        """Refuse totals that no rows and noise can give: messages were altered."""
        if rows is None:
            return
        for (_, release), cells in zip(self.all_releases(rows), sums, strict=True):
            reach = release.shares * release.share_law.reach(_NEVER / release.shares)
            most = self._most(release, rows)
            if cells.min() < -reach or cells.max() > most + reach:
                raise ShareError(
                    f"no result: totals of {release.name!r} lie outside what these rows can give; "
                    "a share or a masked vector was altered, or made with other hellos"
                )

    def _most(self, release: Release, rows: Mapping[str, int]) -> int:
        """The largest total of a cell without noise."""
        return self.people({party: release.weights.get(party, 0) * n for party, n in rows.items()})

    # --- roles ----------------------------------------------------------------------------------

    def index_of(self, name: str) -> int:
        """A party's place in the study."""
        if name not in self.parties:
            known = ", ".join(map(repr, self.parties))
            raise ParameterError(f"there is no party {name!r}; the study has {known}")
        return self.parties.index(name)

    def check(self, name: str, data: Any) -> int:
        """How many rows a party's table has; refused where it does not fit the study.

        It spends nothing.
        """
        return len(self._table_of(name, data))

    def _table_of(self, name: str, data: Any) -> Any:
        self.index_of(name)
        try:
            return self.own_table(name, data)
        except AnswerError as error:
            raise AnswerError(f"the table of {name!r}: {error}") from error

    def party_machine(
        self,
        name: str,
        data: Any,
        keys: KeyPair,
        verify_keys: Mapping[str, bytes],
        *,
        source: Source | None = None,
    ) -> Machine[PartyState]:
        """The role of a party with its own table.

        Parameters
        ----------
        name : str
            Of the party.
        data : data frame or mapping
            Its rows.
        keys : KeyPair
            Of the party.
        verify_keys : mapping of str to bytes
            Of all parties by name, and of the curator as "curator".
        source : Source, optional
            Randomness; the system's by default.
        """
        index, table = self.index_of(name), self._table_of(name, data)
        needed = (*self.parties, CURATOR) if self.dropouts else (CURATOR,)
        missing = [one for one in needed if one not in verify_keys]
        if missing:
            raise ParameterError(f"the verification keys of {missing} are missing")
        party = MaskedSum(self.sum_design, index)
        if self.dropouts:
            everyone = tuple(verify_keys[one] for one in self.parties)
            party = DoublyMaskedSum(self.sum_design, index, keys, everyone)
        engine = None if self.engine is None else self.engine.party(index, self.parties)
        key, drawn = verify_keys[CURATOR], source_of(source)
        return self.party_kind(self, index, table, party, key, drawn, engine)

    def curator_machine(
        self, keys: KeyPair, verify_keys: Mapping[str, bytes] | None = None
    ) -> Machine[CuratorState]:
        """The role of the curator, who has no data and learns sums with noise."""
        opened = (DoublyOpenedSum if self.dropouts else OpenedSum)(self.sum_design)
        engine = None if self.engine is None else self.engine.curator(self.parties)
        return Curator(self, opened, keys, engine)

    @abstractmethod
    def dealer_machine(
        self,
        keys: KeyPair | None = None,
        verify_keys: Mapping[str, bytes] | None = None,
        *,
        source: Source | None = None,
    ) -> Machine[Any]:
        """The role of the dealer, where there is one."""

    def simulate(
        self,
        frames: Mapping[str, Any],
        *,
        method: str | Method | None = None,
        source: Source | None = None,
        views: bool | None = None,
        tamper: Tamper | None = None,
    ) -> Run:
        """Run every role on this machine, with the same messages as between machines.

        Parameters
        ----------
        frames : mapping of str to data frame or mapping
            The table of every party.
        method : str, optional
            Another method than the study's.
        source : Source, optional
            Randomness; the system's by default.
        views : bool, optional
            Whether to keep all messages; by default where they are not too large.
        tamper : callable, optional
            What happens to messages on their way, for tests of failures.
        """
        if not isinstance(frames, Mapping) or set(frames) != set(self.parties):
            tables = list(frames) if isinstance(frames, Mapping) else type(frames).__name__
            raise ParameterError(
                f"frames are {tables}; give one table for each of {list(self.parties)}"
            )
        study = self.varied(method=method or self.method)
        if self.engine is not None:
            object.__setattr__(study, "engine", self.engine.here(len(self.parties)))
        return study._simulate(frames, source_of(source), views, tamper)

    def _simulate(
        self, frames: Mapping[str, Any], source: Source, views: bool | None, tamper: Tamper | None
    ) -> Run:
        keys = {one: KeyPair.generate() for one in (*self.parties, CURATOR)}
        public = {one: pair.verify_key for one, pair in keys.items()}
        machines: list[Machine[Any]] = [
            self.party_machine(one, frames[one], keys[one], public, source=source)
            for one in self.parties
        ]
        if self.dealer:
            machines.append(self.dealer_machine(source=source))
        machines.append(self.curator_machine(keys[CURATOR], public))
        driven = drive(machines, self.message_rounds, tamper=tamper, views=views)
        stopped = [state.failed for state in driven.states[: len(self.parties)] if state.failed]
        if self.engine is not None and stopped:
            raise no_result(stopped[0], driven.refused)
        run = self.outcome(driven.states[-1], refused=driven.refused, seeded=source.seeded)
        return replace(run, costs=driven.costs, views=driven.views)

    # --- results --------------------------------------------------------------------------------

    def outcome(
        self, state: CuratorState, *, refused: tuple[str, ...] = (), seeded: bool = False
    ) -> Run:
        """The result, from the curator's last state.

        Raises
        ------
        ShareError
            Where there is none; it names what is missing, and nothing partial is released.
        """
        return run_of(self, state, refused=refused, seeded=seeded)

    def plan(self, rows: Mapping[str, int] | int | None = None) -> Plan:
        """Costs and precision of a run; nothing is spent to know it.

        `rows` is how many rows each party has, where known: by party, or one number for all.
        """
        said = dict.fromkeys(self.parties, rows) if isinstance(rows, int) else rows
        if said is not None and set(said) != set(self.parties):
            raise ParameterError(
                f"rows are of {list(said)}; give a number for each of {list(self.parties)}"
            )
        for party, n in (said or {}).items():
            checked_count(n, f"the number of rows of {party!r}", 1)
        return plan_of(self, said)
