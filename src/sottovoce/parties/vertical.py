"""Marginals over columns that several parties hold, each some attributes of the same people.

The parties compare their rows by key, compute additive shares of the table of all their columns
(`engines`), and every party sums its shares to those of each release, adds its share of noise and
sends the result masked; the curator opens the sums and turns them into a labelled table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..contract.collection import canonical_digest
from ..domain.schema import Schema
from ..domain.tables import columns_of
from ..domain.values import Attribute
from ..errors import AnswerError, ParameterError
from ..promise import Guarantee, Neighbours, Protected, Unit
from ..randomness import Source
from ..transport.in_process import Tamper
from .alignment import Columns, Keys, check_rows
from .counting import Rows
from .design import exact_budgets, marginals_of
from .engines import Engine, engine_of
from .machines import ColumnsParty
from .marginals import ALIGNED, OWN_COLUMNS
from .methods import Method, Solved
from .methods.registry import COLUMNS
from .products import Plan as Products
from .products import Product, products_of
from .protocol import Protocol
from .releases import Release
from .run import Plan, Run
from .tables import NoisyTable, noisy_table


@dataclass(frozen=True, init=False, eq=False)
class Vertical(Protocol):
    """A marginal over columns of K parties, each with a budget of its own.

    Parameters
    ----------
    schemas : mapping of str to Schema
        The public attributes of every party.
    attributes : sequence of str
        The attributes of the table, in its order. Several of one party act as one.
    budgets : mapping of str to number
        ε of each party for what it holds about a person.
    engine : {"dealer", "mpyc", "cheetah"}
        How shares of the table are computed; see `docs/parties-engines.md` for whom each trusts.
    collusion : int, optional
        How many parties may work with the curator: by default all but one, or as many as the
        engine allows.
    method : str
        How the table is estimated from sums.
    noise : {"shares", "oblivious"}
        Whether parties add shares of the noise, or the engine mpyc draws it so that nobody knows
        any of it.
    key : str
        The column that says whom a row is about.
    holds : mapping of str to str, optional
        Whose column counts where several parties have an attribute.
    addresses : mapping of str to str, optional
        For engines whose processes talk to each other: host:port of every party, and with mpyc of
        the curator as "curator".

    Examples
    --------
    >>> import sottovoce as sv
    >>> a = sv.Schema([sv.Attribute("age", ["young", "old"])])
    >>> b = sv.Schema([sv.Attribute("diagnosis", ["flu", "cold", "none"])])
    >>> v = Vertical({"A": a, "B": b}, ["diagnosis", "age"], {"A": 0.5, "B": 1.0})
    >>> v.spent()
    {'A': 0.5, 'B': 1.0}
    >>> [promise.epsilon for promise in v.guarantee.promises]
    [0.5, 1.0, 1.0]
    """

    schemas: Mapping[str, Schema]
    engine: Engine
    key: str
    holds: Mapping[str, str]

    name = "vertical"
    split = "split columns"
    methods = COLUMNS
    people_are = ALIGNED
    tolerant = "engine='dealer' or 'cheetah'"
    party_kind = ColumnsParty
    options = ("engine", "collusion", "method", "noise", "key", "holds", "addresses")

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
        checked, asked = exact_budgets(budgets), marginals_of(attributes)
        if len(asked) > 1:
            raise ParameterError(
                f"attributes are {attributes!r}; give the names of one table, such as "
                '["age", "diagnosis"]'
            )
        if not isinstance(schemas, Mapping) or set(schemas) != set(checked):
            raise ParameterError(
                f"schemas are of {list(schemas)} and budgets of {list(checked)}; every party needs "
                "one of each"
            )
        own = {
            party: one if isinstance(one := schemas[party], Schema) else Schema(one)
            for party in checked
        }
        self._agree(
            asked=(own, asked[0]),
            schemas=own,
            marginals=asked,
            budgets=checked,
            fractions=(Fraction(1),),
            engine=engine if isinstance(engine, Engine) else engine_of(engine),
            collusion=collusion,
            most=len(checked) - 1,
            dropouts=0,
            neighbours=Neighbours.SUBSTITUTION,
            method=method,
            noise=noise,
            key=key,
            holds=dict(holds or {}),
            addresses=addresses,
        )
        if noise == "oblivious" and self.engine.name != "mpyc":
            raise ParameterError(
                "noise='oblivious' is drawn by the engine 'mpyc'; take engine='mpyc'"
            )
        if not isinstance(key, str) or not key:
            raise ParameterError(f"key is {key!r}; it is the name of the shared key's column")
        if key in self.attributes:
            raise ParameterError(f"the key {key!r} is no attribute of a table")
        self._check(self.columns)
        if noise == "oblivious" and any(r.gaussian for r in self.releases(None)[0]):
            raise ParameterError("noise='oblivious' is Laplace noise; take another method")

    # --- who holds what -------------------------------------------------------------------------

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the table, in its order."""
        return self.marginals[0]

    @cached_property
    def held(self) -> dict[str, tuple[str, ...]]:
        """The attributes of the table that each party brings, in the order asked."""
        holders = {name: self._holder(name) for name in self.attributes}
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

    def _holder(self, name: str) -> str:
        """Whose column of an attribute counts."""
        known = [
            party for party in self.parties if name in {one.name for one in self.schemas[party]}
        ]
        if not known:
            raise ParameterError(f"no party has the attribute {name!r}")
        if len(known) > 1 and name not in self.holds:
            raise ParameterError(
                f"{name!r} is held by {' and '.join(map(repr, known))}; say whose column "
                f"counts, such as holds={{{name!r}: {known[0]!r}}}"
            )
        chosen = self.holds.get(name, known[0])
        if chosen not in known:
            raise ParameterError(f"{chosen!r} does not have the attribute {name!r}")
        return chosen

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

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return (self.shape,)

    def own_table(self, name: str, data: Any) -> Columns:
        """A party's columns as one axis, its rows sorted by key."""
        keys = Keys.of(columns_of(data, [self.key])[0], f"the key {self.key!r}")
        rows = Rows.of(data, self.attributes_of(name))
        if len(rows) != len(keys.order):
            raise AnswerError(f"it has {len(keys.order)} keys, {len(rows)} rows")
        return Columns(rows.cells(rows.names)[keys.order], keys)

    # --- what is computed and opened ------------------------------------------------------------

    @cached_property
    def digest(self) -> bytes:
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

    def people(self, rows: Mapping[str, int]) -> int:
        return max(rows.values())  # everyone's rows are about the same people

    def rows_said(self, said: Mapping[int, int]) -> Mapping[str, int] | None:
        """Numbers of rows from the hellos; ShareError where they differ."""
        rows = super().rows_said(said)
        check_rows(self.parties, said)
        return rows

    def products(self) -> tuple[Product, ...]:
        """The tables that are computed in shares."""
        return products_of(self.releases(None)[0])

    def product_plan(self, rows: int) -> Products:
        """The public form of the products over so many rows."""
        bits = max(block.bits for block in self.blocks(dict.fromkeys(self.parties, rows)))
        return Products(self.shape, rows, bits, self.products(), self.coins)

    def promised(self, costs: Mapping[str, Fraction], releases: Sequence[Release]) -> Guarantee:
        """Promises per party, and for a whole person: the sum of what all releases cost."""
        parties = super().promised(costs, releases)
        whole = sum((r.cost(next(iter(r.weights)), self.neighbours) for r in releases), Fraction(0))
        spare = sum((r.delta for r in releases), Fraction(0))
        person = self._promise(whole, spare, Unit(Protected.RECORD))
        person = replace(person, assuming=(*person.assuming, OWN_COLUMNS))
        return Guarantee((*parties.promises, person))

    # --- what is shown --------------------------------------------------------------------------

    def labelled(self, marginal: int, solved: Solved, guarantee: Guarantee) -> NoisyTable:
        """The table, with its attributes in the order asked."""
        axes, start = [], 0
        for names in self.held.values():  # the attributes that make up each party's axis
            axes.append(range(start, start + len(names)))
            start += len(names)
        whole = noisy_table(solved, self.columns, guarantee, self.method, axes=axes)
        asked = list(self.attributes)
        return whole if [one.name for one in self.columns] == asked else whole.marginal(asked)

    def described(self, marginal: int, release: Release) -> str:
        team = " and ".join(repr(self.parties[axis]) for axis in release.axes)
        return f"{release.name}: {release.cells:,} cells of {team}"

    def bytes_sent(self, rows: Mapping[str, int] | None) -> int:
        """Payload of masked vectors and, where the number of rows is known, of the products."""
        words = sum(block.cells * block.bits // 8 for block in self.blocks(rows))
        computed = None if rows is None else self.engine.bytes(self.product_plan(self.people(rows)))
        return (computed or 0) + words * len(self.parties)

    def plan(self, rows: Mapping[str, int] | int | None = None) -> Plan:
        """Costs and precision of a run over so many rows; nothing is spent to know it."""
        return super().plan(self.people(rows) if isinstance(rows, Mapping) else rows)

    def simulate(
        self,
        frames: Mapping[str, Any],
        *,
        key: str | None = None,
        method: str | Method | None = None,
        source: Source | None = None,
        views: bool | None = None,
        tamper: Tamper | None = None,
    ) -> Run:
        """As `Horizontal.simulate`; `key` is another key column than the study's."""
        study = self if key is None else self.varied(key=key)
        return super(Vertical, study).simulate(
            frames, method=method, source=source, views=views, tamper=tamper
        )
