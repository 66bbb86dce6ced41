"""Marginals over rows that several parties hold: everyone has the same attributes of other people.

Every party counts its own rows, adds its share of noise, and sends the result masked; the curator
opens the sums and turns them into labelled tables. See `sums` for the messages, `releases` for what
they cost, `methods` for what is opened and how tables are estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..contract.collection import canonical_digest
from ..domain.schema import Schema
from ..domain.values import Attribute
from ..errors import ParameterError
from ..promise import Guarantee, Neighbours
from .counting import Rows
from .design import exact_budgets, exact_fractions, marginals_of
from .engines import engine_of
from .machines import RowsParty
from .marginals import SEVERAL
from .methods import Method, Solved
from .methods.registry import ROWS
from .products import Plan as Products
from .protocol import Protocol
from .releases import Release
from .tables import NoisyTable, noisy_table

_HELLO_BYTES = 32 + 8
_RECEIPT_BYTES = 512


@dataclass(frozen=True, init=False, eq=False)
class Horizontal(Protocol):
    """Marginals over rows of K parties, each with a budget of its own.

    Parameters
    ----------
    schema : Schema or sequence of Attribute
        The public attributes that every party has.
    attributes : sequence of str, or sequence of such sequences
        The attributes of the marginal, or those of several marginals, which divide the budgets.
    budgets : mapping of str to number
        ε of each party for the whole run; a float counts as the decimal number that it prints as.
    fractions : mapping or sequence, optional
        How several marginals divide each budget: fractions that add up to at most 1, by marginal
        or in order. Equal by default.
    collusion : int, optional
        How many parties may work with the curator: by default all but one, or as many as
        `dropouts` allows.
    dropouts : int
        How many parties may be missing from the sums.
    neighbours : {"substitution", "add-remove"}
        What is protected: the content of a record (numbers of rows are public), or also whether
        somebody has one (they are not).
    method : str
        How tables are estimated from sums.
    noise : {"shares", "oblivious"}
        Whether parties add shares of the noise, or the package mpyc draws it so that nobody knows
        any of it, as long as fewer than half of parties and curator work together.
    addresses : mapping of str to str, optional
        With oblivious noise: host:port of every party's process, and of the curator's.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = sv.Schema([sv.Attribute("smoker", ["yes", "no"]), sv.Attribute("ward", 3)])
    >>> h = Horizontal(schema, ["smoker", "ward"], {"A": 0.5, "B": 1.0}, method="mh")
    >>> h.spent()
    {'A': 0.5, 'B': 0.5}
    """

    schema: Schema

    name = "horizontal"
    split = "split rows"
    methods = ROWS
    people_are = SEVERAL
    tolerant = "noise='shares'"
    party_kind = RowsParty
    options = ("fractions", "collusion", "dropouts", "neighbours", "method", "noise", "addresses")

    def __init__(
        self,
        schema: Schema | Sequence[Attribute],
        attributes: Sequence[str] | Sequence[Sequence[str]],
        budgets: Mapping[str, Any],
        *,
        fractions: Any = None,
        collusion: int | None = None,
        dropouts: int = 0,
        neighbours: str | Neighbours = "substitution",
        method: str | Method = "sjs",
        noise: str = "shares",
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        checked, asked = exact_budgets(budgets), marginals_of(attributes)
        own = schema if isinstance(schema, Schema) else Schema(schema)
        if isinstance(dropouts, bool) or not isinstance(dropouts, int) or dropouts < 0:
            raise ParameterError(f"dropouts is {dropouts!r}; it must be a whole number from 0 on")
        self._agree(
            asked=(own, asked),
            schema=own,
            marginals=asked,
            budgets=checked,
            fractions=exact_fractions(fractions, asked),
            collusion=collusion,
            # Double masking needs K − drop-outs > (K + collusion)/2.
            most=len(checked) - 1 - 2 * dropouts,
            dropouts=dropouts,
            neighbours=_neighbours(neighbours),
            method=method,
            noise=noise,
            engine=engine_of("mpyc") if noise == "oblivious" else None,
            addresses=addresses,
        )
        if self.dropouts and self.engine is not None:
            raise ParameterError("noise='oblivious' needs all parties to the end: dropouts=0")
        if self.dropouts and len(self.parties) < 2 + 2 * self.dropouts:
            raise ParameterError(
                f"of {len(self.parties)} parties {self.dropouts} may not drop out: then nothing "
                "would stop a curator from opening two different sums; at least "
                f"{2 + 2 * self.dropouts} parties are needed"
            )
        self.sum_design  # noqa: B018  the thresholds of double masking are refused here
        self._check(self.schema[name] for names in asked for name in names)

    @cached_property
    def _attributes(self) -> tuple[Attribute, ...]:
        """Every attribute of some marginal, once, in the order of the schema."""
        asked = {name for names in self.marginals for name in names}
        return tuple(attribute for attribute in self.schema if attribute.name in asked)

    @cached_property
    def digest(self) -> bytes:
        about = {
            "attributes": [attribute.canonical() for attribute in self._attributes],
            "marginals": [list(names) for names in self.marginals],
            "budgets": [[party, str(epsilon)] for party, epsilon in self.budgets.items()],
            "fractions": [str(part) for part in self.fractions],
            "collusion": self.collusion,
            "dropouts": self.dropouts,
            "neighbours": self.neighbours.value,
            "method": self.method.name,
            "noise": self.noise,
        }
        return canonical_digest("horizontal", about)

    def shape(self, names: Sequence[str]) -> tuple[int, ...]:
        """The sizes of some attributes."""
        return tuple(self.schema[name].size for name in names)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self.shape(names) for names in self.marginals)

    def people(self, rows: Mapping[str, int]) -> int:
        return sum(rows.values())

    def product_plan(self, rows: int) -> Products:
        """The noise that the engine draws for all releases, where parties draw none."""
        return Products((), 1, 64, (), self.coins)

    def own_table(self, name: str, data: Any) -> Rows:
        return Rows.of(data, self._attributes, may_be_empty=not self.sizes_are_public)

    def labelled(self, marginal: int, solved: Solved, guarantee: Guarantee) -> NoisyTable:
        attributes = [self.schema[name] for name in self.marginals[marginal]]
        return noisy_table(solved, attributes, guarantee, self.method)

    def described(self, marginal: int, release: Release) -> str:
        return f"{' × '.join(self.marginals[marginal])}: {release.name}, {release.cells:,} cells"

    def bytes_sent(self, rows: Mapping[str, int] | None) -> int:
        people = len(self.parties)
        words = sum(block.cells * block.bits // 8 for block in self.blocks(rows))
        sent = people * (people * _HELLO_BYTES + 32 + words) + people * _RECEIPT_BYTES
        if self.dropouts:
            sent += people * (people - 1) * (128 + 64 + 32) + people * people * (64 + 1 + 1)
        return sent


def _neighbours(asked: str | Neighbours) -> Neighbours:
    for known in (Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE):
        if asked in (known, known.value):
            return known
    raise ParameterError(
        f"neighbours is {asked!r}; it must be 'substitution' (what a record contains is protected) "
        "or 'add-remove' (also whether there is one)"
    )
