"""The public parameters of a marginal over split columns; everyone computes the same from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..checks import float_above
from ..contract.collection import canonical_digest
from ..domain.schema import Schema
from ..domain.values import Attribute
from ..errors import ParameterError, ShareError
from ..promise import Guarantee, Neighbours
from .blocks import Block
from .budgets import exact_budgets
from .column_promises import columns_guarantee
from .counting import check_size
from .design import Design
from .engines import COMPARED, Engine, engine_of
from .hellos import SumDesign
from .methods import Method, Sums
from .oblivious import Coins
from .products import Plan, Product, products_of
from .releases import Release

_NEVER = 2.0**-60
_NOISE = ("shares", "oblivious")


@dataclass(frozen=True, init=False, eq=False)
class ColumnStudy:
    """What parties agreed on; see `Vertical` for the parameters."""

    schemas: Mapping[str, Schema]
    attributes: tuple[str, ...]
    budgets: Mapping[str, Fraction]
    engine: Engine
    collusion: int
    method: Method
    noise: str
    key: str
    holds: Mapping[str, str]

    name = "vertical"
    dropouts = 0
    neighbours = Neighbours.SUBSTITUTION

    def __init__(
        self,
        schemas: Mapping[str, Schema | Sequence[Attribute]],
        attributes: Sequence[str],
        budgets: Mapping[str, Any],
        *,
        engine: str | Engine = "dealer",
        collusion: int | None = None,
        method: str | Method = "pbs-gls",
        noise: str = "shares",
        key: str = "person_id",
        holds: Mapping[str, str] | None = None,
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        checked = exact_budgets(budgets)
        if not isinstance(schemas, Mapping) or set(schemas) != set(checked):
            raise ParameterError(
                f"schemas are of {list(schemas)} and budgets of {list(checked)}; every party needs "
                "one of each"
            )
        own = {
            party: one if isinstance(one := schemas[party], Schema) else Schema(one)
            for party in checked
        }
        chosen = engine_of(engine) if isinstance(engine, str) else engine
        if addresses is not None:
            chosen = chosen.at(addresses, tuple(checked))
        most = max(1, min(len(checked) - 1, chosen.tolerates(len(checked)) - 1))
        values: dict[str, Any] = {
            "schemas": own,
            "attributes": _names(attributes),
            "budgets": checked,
            "engine": chosen,
            "collusion": most if collusion is None else collusion,
            "method": _method(method),
            "noise": noise,
            "key": key,
            "holds": dict(holds or {}),
        }
        for field_name, value in values.items():
            object.__setattr__(self, field_name, value)
        self._check(most)

    def _check(self, most: int) -> None:
        if self.collusion > most and self.collusion < len(self.parties):
            raise ParameterError(
                f"collusion is {self.collusion}, but the engine {self.engine.name!r} protects "
                f"{len(self.parties)} parties only while at most {most} of them work with the "
                "curator; take engine='dealer' or 'cheetah'"
            )
        if self.noise not in _NOISE:
            raise ParameterError(f"noise is {self.noise!r}; it can come from {', '.join(_NOISE)}")
        if self.noise == "oblivious" and self.engine.name != "mpyc":
            raise ParameterError(
                "noise='oblivious' is drawn by the engine 'mpyc'; take engine='mpyc'"
            )
        if not isinstance(self.key, str) or not self.key:
            raise ParameterError(f"key is {self.key!r}; it is the name of the shared key's column")
        for attribute in self.columns:
            if attribute.missing == "public":
                raise ParameterError(
                    f"{attribute.name!r} declares public who gave no answer; between parties take "
                    "missing='value', since every person must be in everyone's rows"
                )
            if attribute.name == self.key:
                raise ParameterError(f"the key {self.key!r} is no attribute of a table")
        check_size(math.prod(self.shape), f"the table of {list(self.attributes)}")
        for party, epsilon in self.costs_of(None).items():
            if epsilon > self.budgets[party]:
                raise ParameterError(
                    f"the method {self.method.name!r} would cost {party!r} more than its budget"
                )
        if self.noise == "oblivious" and any(r.gaussian for r in self.releases(None)[0]):
            raise ParameterError("noise='oblivious' is Laplace noise; take another method")

    # --- who holds what -------------------------------------------------------------------------

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in order."""
        return tuple(self.budgets)

    @cached_property
    def held(self) -> dict[str, tuple[str, ...]]:
        """The attributes of the table that each party brings, in the order asked."""
        holders: dict[str, str] = {}
        for name in self.attributes:
            known = [party for party in self.parties if name in _names_of(self.schemas[party])]
            if not known:
                raise ParameterError(f"no party has the attribute {name!r}")
            chosen = self.holds.get(name, known[0])
            if len(known) > 1 and name not in self.holds:
                raise ParameterError(
                    f"{name!r} is held by {' and '.join(map(repr, known))}; say whose column "
                    f"counts, such as holds={{{name!r}: {known[0]!r}}}"
                )
            if chosen not in known:
                raise ParameterError(f"{chosen!r} does not have the attribute {name!r}")
            holders[name] = chosen
        held = {
            party: tuple(name for name in self.attributes if holders[name] == party)
            for party in self.parties
        }
        idle = [party for party, names in held.items() if not names]
        if idle:
            raise ParameterError(
                f"{' and '.join(map(repr, idle))} would bring no attribute to this table; leave "
                "them out"
            )
        return held

    def attributes_of(self, party: str) -> tuple[Attribute, ...]:
        """What a party brings to the table."""
        return tuple(self.schemas[party][name] for name in self.held[party])

    @cached_property
    def columns(self) -> tuple[Attribute, ...]:
        """All attributes, party after party."""
        return tuple(one for party in self.parties for one in self.attributes_of(party))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the parties' axes."""
        return tuple(
            math.prod(one.size for one in self.attributes_of(party)) for party in self.parties
        )

    # --- what is computed and opened ------------------------------------------------------------

    @property
    def dealer(self) -> bool:
        """Whether a dealer takes part."""
        return self.engine.dealer

    @cached_property
    def digest(self) -> bytes:
        """Of all public parameters."""
        about = {
            "attributes": list(self.attributes),
            "held": [
                [party, [one.canonical() for one in self.attributes_of(party)]]
                for party in self.parties
            ],
            "budgets": [[party, str(epsilon)] for party, epsilon in self.budgets.items()],
            "engine": self.engine.name,
            "collusion": self.collusion,
            "method": self.method.name,
            "noise": self.noise,
            "key": self.key,
        }
        return canonical_digest("vertical", about)

    @cached_property
    def sum_design(self) -> SumDesign:
        """Who adds up, in which rounds: after hello, comparison and the engine's rounds."""
        masked = COMPARED + self.engine.rounds(len(self.parties)) + 1
        return SumDesign(self.digest, self.parties, 1, masked)

    @property
    def message_rounds(self) -> int:
        """How many rounds of messages a run has."""
        return self.sum_design.opening + 1

    def design(self, rows: Mapping[str, int] | None) -> Design:
        """The marginal as methods see it."""
        said = None if rows is None else dict(rows)
        oblivious = self.noise == "oblivious"
        return Design(self.shape, self.budgets, self.collusion, rows=said, oblivious=oblivious)

    def releases(self, rows: Mapping[str, int] | None) -> tuple[tuple[Release, ...], ...]:
        """The sums that are opened; one marginal only."""
        return (tuple(self.method.releases(self.design(rows))),)

    def blocks(self, rows: Mapping[str, int] | None) -> tuple[Block, ...]:
        """How vectors are cut into releases, and in which ring each is added up."""
        people = None if rows is None else max(rows.values())
        (releases,) = self.releases(rows)
        return tuple(Block.of(f"0/{release.name}", release, people) for release in releases)

    def products(self) -> tuple[Product, ...]:
        """The tables that are computed in shares."""
        return products_of(self.releases(None)[0])

    def coins(self) -> tuple[Coins, ...]:
        """Noise that nobody draws, for every release; none where parties add noise shares."""
        if self.noise != "oblivious":
            return ()
        return tuple(Coins(release.cells, release.scale) for release in self.releases(None)[0])

    def product_plan(self, rows: int) -> Plan:
        """The public form of the products over so many rows."""
        said = dict.fromkeys(self.parties, rows)
        bits = max(block.bits for block in self.blocks(said))
        return Plan(self.shape, rows, bits, self.products(), self.coins())

    def rows_said(self, said: Mapping[int, int]) -> dict[str, int]:
        """Numbers of rows from the hellos.

        Raises
        ------
        ShareError
            Where a party has none.
        """
        for k, rows in said.items():
            if rows < 1:
                raise ShareError(f"{self.parties[k]!r} sent no number of rows; stopped")
        return {self.parties[k]: rows for k, rows in sorted(said.items())}

    # --- what it costs --------------------------------------------------------------------------

    def costs_of(self, rows: Mapping[str, int] | None) -> dict[str, Fraction]:
        """ε that a run costs every party, exactly."""
        return dict(self.method.spent(self.design(rows)))

    def spent(self, rows: Any = None) -> dict[str, float]:
        """ε that a run charges every party, rounded up: whether or not it ends well."""
        return {party: float_above(epsilon) for party, epsilon in self.costs_of(None).items()}

    @property
    def guarantee(self) -> Guarantee:
        """One promise for each party, and one for all attributes of a person together."""
        return columns_guarantee(self, self.releases(None)[0], self.costs_of(None))

    def check_sums(self, sums: Sums, rows: Mapping[str, int]) -> None:
        """Refuse totals that no rows and noise can give: messages were altered."""
        most = max(rows.values())
        for release, cells in zip(self.releases(rows)[0], sums, strict=True):
            reach = release.shares * release.share_law.reach(_NEVER / release.shares)
            if cells.min() < -reach or cells.max() > most + reach:
                raise ShareError(
                    f"no result: totals of {release.name!r} lie outside what these rows can give; "
                    "a share or a masked vector was altered"
                )


def _names(attributes: Any) -> tuple[str, ...]:
    if isinstance(attributes, (str, bytes)) or not isinstance(attributes, Sequence):
        raise ParameterError(f"attributes are {attributes!r}; give a list of names")
    names = tuple(attributes)
    if not names or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            f"attributes are {attributes!r}; give the names of one table, such as "
            '["age", "diagnosis"]'
        )
    if len(set(names)) < len(names):
        raise ParameterError(f"the attributes {list(names)} must be names, each once")
    return names


def _names_of(schema: Schema) -> set[str]:
    return {attribute.name for attribute in schema}


def _method(asked: str | Method) -> Method:
    if isinstance(asked, Method):
        return asked
    from .methods.registry import COLUMNS

    if asked not in COLUMNS:
        known = ", ".join(map(repr, COLUMNS))
        raise ParameterError(f"there is no method {asked!r} for split columns; there are {known}")
    return COLUMNS[asked]
