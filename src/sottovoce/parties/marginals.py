"""The public parameters of marginals between parties, over split rows or over split columns.

Everyone computes the same from them: which sums are opened, what they cost and promise, and how
they are cut into blocks. ε_k is what the releases of all marginals really cost party k, exactly
(`Method.spent`); it is at most its budget, and releases add up by basic composition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

from ..checks import float_above
from ..domain.values import Attribute
from ..errors import ParameterError, ShareError
from ..promise import DP, Against, Guarantee, Neighbours, Promise, Protected, Unit
from .blocks import Block
from .design import Design
from .engines import COMPARED, Engine
from .methods import Method, Sums
from .oblivious import Coins, delta
from .products import Plan as Products
from .releases import Release, deltas
from .sums import MOST_ROWS, SumDesign

_NEVER = 2.0**-60
_NOISE = ("shares", "oblivious")
_MOST_CELLS = 1 << 26

# What promises assume, as sentences.
SEVERAL = (
    "nobody has more than one row in a party's data; two rows of one person cost twice as much, "
    "and a person in the data of several parties is protected by the sum of what these parties "
    "spend"
)
COMPUTATIONAL = (
    "masks are computed from X25519 and AES, which an observer cannot break; every party uses the "
    "key that the study names, and its system's randomness"
)
ONCE = (
    "epsilon counts this run alone; other runs over the same data add to it, and each party's "
    "ledger says what has been spent"
)
FOLLOWED = (
    "parties and curator who work together may show each other all they see, and send what the "
    "protocol says: in products of columns, and in noise that nobody draws, an altered message "
    "could single out a row"
)
ALIGNED = (
    "everyone's rows are about the same people, which the parties compare by their keys; who these "
    "people are is known to all parties"
)
OWN_COLUMNS = (
    "whoever looks does not hold what differs between the two records: a party that works with the "
    "curator knows its own columns, and only the other columns are hidden from it"
)
PUBLIC_SIZES = "how many rows each party has is public"
ALONE = (
    "no party works with the curator or with another party; everyone follows the protocol, and may "
    "look at the result"
)


@dataclass(frozen=True, init=False, eq=False)
class Marginals(ABC):
    """A study between parties; see `Horizontal` and `Vertical` for the parameters."""

    asked: tuple[Any, Any]  # the constructor's schema and attributes
    marginals: tuple[tuple[str, ...], ...]
    budgets: Mapping[str, Fraction]
    fractions: tuple[Fraction, ...]
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
        for design, names in zip(self.designs(None), self.marginals, strict=True):
            if design.cells > _MOST_CELLS:
                raise ParameterError(
                    f"the table of {list(names)} has {design.cells:,} cells; at most "
                    f"{_MOST_CELLS:,} can be added up, so leave out attributes or join values"
                )
            for party, epsilon in self.method.spent(design).items():
                if epsilon > design.budgets[party]:
                    raise ParameterError(
                        f"the method {self.method.name!r} would cost {party!r} more than its budget"
                    )

    # --- what the split decides -----------------------------------------------------------------

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """Of all public parameters."""

    @property
    @abstractmethod
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The sizes of the axes of every marginal."""

    @abstractmethod
    def people(self, rows: Mapping[str, int]) -> int:
        """How many people the rows of parties are about."""

    @abstractmethod
    def product_plan(self, rows: int) -> Products:
        """What the engine computes over so many rows."""

    # --- what is opened, and what it costs ------------------------------------------------------

    @cached_property
    def sum_design(self) -> SumDesign:
        """Who adds up, in which rounds: after hello, and with an engine after its rounds."""
        masked = 3 if self.dropouts else 2
        if self.engine is not None:
            masked = COMPARED + self.engine.rounds(len(self.parties)) + 1
        colluders = max(self.collusion, 1)
        return SumDesign(self.digest, self.parties, 1, masked, self.dropouts, colluders)

    @property
    def dealer(self) -> bool:
        """Whether a dealer takes part."""
        return self.engine is not None and self.engine.dealer

    def designs(
        self, rows: Mapping[str, int] | None, present: Sequence[str] | None = None
    ) -> tuple[Design, ...]:
        """The public parameters of every marginal, with its fraction of the budgets."""
        return tuple(
            Design(
                shape,
                {party: epsilon * part for party, epsilon in self.budgets.items()},
                self.collusion,
                self.dropouts,
                self.neighbours,
                None if rows is None else dict(rows),
                None if present is None else tuple(present),
                self.noise == "oblivious",
            )
            for shape, part in zip(self.shapes, self.fractions, strict=True)
        )

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
        trusted = _trust(self.engine, self.collusion, self.dropouts, len(self.parties))
        sizes = (PUBLIC_SIZES,) if self.sizes_are_public else ()
        return (*trusted, self.people_are, *sizes, COMPUTATIONAL, ONCE)

    def promised(self, costs: Mapping[str, Fraction], releases: Sequence[Release]) -> Guarantee:
        """One promise for each party that spends so much on these releases."""
        protects = Protected.PARTY_RECORD if self.sizes_are_public else Protected.PARTICIPATION
        spare = deltas(releases, costs)
        return Guarantee(
            tuple(
                self._promise(epsilon, spare[party], Unit(protects, group=party))
                for party, epsilon in costs.items()
            )
        )

    def _promise(self, epsilon: Fraction, spare: Fraction, unit: Unit) -> Promise:
        """What is really spent, rounded up; noise that nobody draws adds its own δ."""
        loss = float_above(epsilon), float_above(spare + Fraction(delta(epsilon, self.coins)))
        return Promise(DP, *loss, self.neighbours, unit, Against.PARTIES, self.assuming)

    def check_sums(self, sums: Sums, rows: Mapping[str, int] | None) -> None:
        """Refuse totals that no rows and noise can give: messages were altered."""
        # Where numbers of rows are hidden, masks that do not cancel still lie far beyond them.
        known = dict.fromkeys(self.parties, MOST_ROWS) if rows is None else rows
        for (_, release), cells in zip(self.all_releases(rows), sums, strict=True):
            reach = release.shares * release.share_law.reach(_NEVER / release.shares)
            most = self._most(release, known)
            if int(cells.min()) < -reach or int(cells.max()) > most + reach:
                raise ShareError(
                    f"no result: totals of {release.name!r} lie outside what these rows can give; "
                    "a share or a masked vector was altered, or made with other hellos"
                )

    def _most(self, release: Release, rows: Mapping[str, int]) -> int:
        """The largest total of a cell without noise."""
        return self.people({party: release.weights.get(party, 0) * n for party, n in rows.items()})


def _colluders(collusion: int, dropouts: int = 0) -> str:
    """Whom the promise holds against, as a sentence."""
    others = "one other party works" if collusion == 1 else f"{collusion} other parties work"
    missing = f" and at most {dropouts} dropped out" if dropouts else ""
    return (
        f"at most {others} with the curator{missing}; all the rest add their noise and follow the "
        "protocol"
    )


def _trust(engine: Engine | None, collusion: int, dropouts: int, parties: int) -> tuple[str, ...]:
    """Whom a promise trusts, as sentences: no more colluders than the engine tolerates."""
    if engine is None:
        return (_colluders(collusion, dropouts),)
    alone = engine.tolerates(parties) < collusion + 1  # the curator is one of them
    return (ALONE if alone else _colluders(collusion), engine.assuming, FOLLOWED)
