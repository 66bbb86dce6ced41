"""How parties compute additive shares of one table of all their columns, by name.

dealer    triples from a dealer who sees no data; any parties but one may collude
mpyc      Shamir sharing between parties, curator and helpers, of whom a majority is honest
cheetah   homomorphic two-party products (SPU); no dealer, any parties but one may collude

Every engine ends with one share of every product at each party, modulo 2^b, that is uniform given
the others' but one; a masked sum then opens sums of the shares with noise, and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ParameterError
from ...sharing.triples import Codes, Words
from ...transport import Batch
from ..products import Plan

#: The round in which parties compare their rows; engines act from its end on.
COMPARED = 2


class PartyEngine(ABC):
    """One party's side. It keeps nothing: its state is an argument, as of a `Machine`."""

    kinds: frozenset[str]  # of the messages that are for it

    @abstractmethod
    def start(self) -> Any:
        """The state before the run."""

    @abstractmethod
    def take(self, state: Any, batch: Batch, plan: Plan) -> Any:
        """Take in one batch; raises ShareError or WireError for what nobody can have sent."""

    @abstractmethod
    def close(
        self, state: Any, number: int, plan: Plan, columns: Sequence[Codes]
    ) -> tuple[Any, tuple[Batch, ...]]:
        """Act when a round is closed, from round `COMPARED` on; `columns` are for each product."""

    @abstractmethod
    def shares(self, state: Any) -> list[Words]:
        """The party's shares of all products, once the engine's last round is closed."""


class Engine(ABC):
    """One way to compute products."""

    name: str  # as in `engine=…`
    dealer: bool = False  # whether a dealer takes part
    assuming: str  # what must be true for the parties to learn nothing, in words

    @abstractmethod
    def rounds(self, parties: int) -> int:
        """How many rounds of messages there are between comparing rows and the masked sum."""

    @abstractmethod
    def party(self, index: int, parties: Sequence[str]) -> PartyEngine:
        """One party's side; parties are members of `Role.PARTY` by their place."""

    def curator(self, parties: Sequence[str]) -> PartyEngine | None:
        """The curator's side, where it computes as well."""
        return None

    def at(self, addresses: Mapping[str, str], parties: Sequence[str]) -> Engine:
        """The same with its processes at these addresses, by party."""
        raise ParameterError(f"the engine {self.name!r} has no addresses: it needs no processes")

    def here(self, parties: int) -> Engine:
        """The same with all members on this machine, for simulations."""
        return self

    def tolerates(self, parties: int) -> int:
        """How many of the parties and the curator may work together: all but one party."""
        return parties

    def bytes(self, plan: Plan) -> int | None:
        """What parties and dealer send for the products; None where it is not known."""
        return None

    def check(self) -> None:  # noqa: B027  most engines need nothing
        """Raise where the engine cannot run here."""


def engine_of(name: str, **options: Any) -> Engine:
    """The engine of a name."""
    from . import cheetah, dealer, mpyc

    known: dict[str, Any] = {one.name: one for one in (dealer.Dealer, mpyc.Mpyc, cheetah.Cheetah)}
    if name not in known:
        raise ParameterError(f"engine is {name!r}; engines are {', '.join(map(repr, known))}")
    engine: Engine = known[name](**options)
    return engine
