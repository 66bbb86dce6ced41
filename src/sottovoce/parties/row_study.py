"""The public parameters of marginals over split rows; everyone computes the same from them."""

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
from .budgets import exact_budgets, exact_fractions
from .counting import NOISE, check_size
from .design import Design
from .engines import COMPARED, trusted_members
from .engines.mpyc import Mpyc
from .hellos import SumDesign
from .methods import Method, Sums
from .oblivious import Coins, delta
from .products import Plan as Products
from .promises import FOLLOWED, rows_guarantee
from .releases import Release

_NEVER = 2.0**-60


@dataclass(frozen=True, init=False, eq=False)
class RowStudy:
    """What parties agreed on; see `Horizontal` for the parameters."""

    schema: Schema
    marginals: tuple[tuple[str, ...], ...]
    budgets: Mapping[str, Fraction]
    fractions: tuple[Fraction, ...]
    collusion: int
    dropouts: int
    neighbours: Neighbours
    method: Method
    noise: str
    engine: Mpyc | None

    name = "horizontal"

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
        checked = exact_budgets(budgets)
        asked = _marginals(attributes)
        own = schema if isinstance(schema, Schema) else Schema(schema)
        people = len(checked)
        if isinstance(dropouts, bool) or not isinstance(dropouts, int) or dropouts < 0:
            raise ParameterError(f"dropouts is {dropouts!r}; it must be a whole number from 0 on")
        # Double masking needs K − drop-outs > (K + collusion)/2.
        most = people - 1 - 2 * dropouts
        engine = None
        if noise == "oblivious":
            engine = Mpyc() if addresses is None else Mpyc().at(addresses, tuple(checked))
            most = max(1, engine.tolerates(people) - 1)
        values: dict[str, Any] = {
            "schema": own,
            "marginals": asked,
            "budgets": checked,
            "fractions": exact_fractions(fractions, asked),
            "collusion": most if collusion is None else collusion,
            "dropouts": dropouts,
            "neighbours": _neighbours(neighbours),
            "method": _method(method),
            "noise": noise,
            "engine": engine,
        }
        for field_name, value in values.items():
            object.__setattr__(self, field_name, value)
        self._check()

    def _check(self) -> None:
        if self.engine is not None:
            self._check_oblivious(self.engine)
        elif self.noise not in NOISE:
            known = ", ".join(map(repr, (*NOISE, "oblivious")))
            raise ParameterError(f"noise is {self.noise!r}; it can come from {known}")
        for names in self.marginals:
            for name in names:
                if self.schema[name].missing == "public":
                    raise ParameterError(
                        f"{name!r} declares public who gave no answer; between parties take "
                        "missing='value', since parties must not publish who is in a sum"
                    )
            check_size(math.prod(self.shape(names)), f"the marginal of {list(names)}")
        if self.dropouts and len(self.parties) < 2 + 2 * self.dropouts:
            raise ParameterError(
                f"of {len(self.parties)} parties {self.dropouts} may not drop out: then nothing "
                "would stop a curator from opening two different sums; at least "
                f"{2 + 2 * self.dropouts} parties are needed"
            )
        self.sum_design  # noqa: B018  the thresholds of double masking are refused here
        for design in self.designs(None):
            for party, epsilon in self.method.spent(design).items():
                if epsilon > design.budgets[party]:
                    raise ParameterError(
                        f"the method {self.method.name!r} would cost {party!r} more than its budget"
                    )

    def _check_oblivious(self, engine: Mpyc) -> None:
        most = max(1, engine.tolerates(len(self.parties)) - 1)
        if self.dropouts:
            raise ParameterError("noise='oblivious' needs all parties to the end: dropouts=0")
        if most < self.collusion < len(self.parties):
            raise ParameterError(
                f"collusion is {self.collusion}, but oblivious noise of {len(self.parties)} "
                f"parties stays hidden only while at most {most} of them work with the curator; "
                "take noise='shares'"
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

    @cached_property
    def digest(self) -> bytes:
        """Of all public parameters."""
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

    @cached_property
    def _attributes(self) -> tuple[Attribute, ...]:
        """Every attribute of some marginal, once, in the order of the schema."""
        asked = {name for names in self.marginals for name in names}
        return tuple(attribute for attribute in self.schema if attribute.name in asked)

    @cached_property
    def sum_design(self) -> SumDesign:
        """Who adds up, in which rounds."""
        masked = 3 if self.dropouts else 2
        if self.engine is not None:
            masked = COMPARED + self.engine.rounds(len(self.parties)) + 1
        return SumDesign(
            self.digest, self.parties, 1, masked, self.dropouts, max(self.collusion, 1)
        )

    def shape(self, names: Sequence[str]) -> tuple[int, ...]:
        """The sizes of some attributes."""
        return tuple(self.schema[name].size for name in names)

    def designs(
        self, rows: Mapping[str, int] | None, present: Sequence[str] | None = None
    ) -> tuple[Design, ...]:
        """The public parameters of every marginal, with its fraction of the budgets."""
        return tuple(
            Design(
                self.shape(names),
                {party: epsilon * part for party, epsilon in self.budgets.items()},
                self.collusion,
                self.dropouts,
                self.neighbours,
                None if rows is None else dict(rows),
                None if present is None else tuple(present),
                self.engine is not None,
            )
            for names, part in zip(self.marginals, self.fractions, strict=True)
        )

    def releases(self, rows: Mapping[str, int] | None) -> tuple[tuple[Release, ...], ...]:
        """The sums that are opened, for every marginal."""
        return tuple(tuple(self.method.releases(design)) for design in self.designs(rows))

    def blocks(self, rows: Mapping[str, int] | None) -> tuple[Block, ...]:
        """How vectors are cut into releases, and in which ring each is added up."""
        total = None if rows is None else sum(rows.values())
        return tuple(
            Block.of(f"{m}/{release.name}", release, total)
            for m, releases in enumerate(self.releases(rows))
            for release in releases
        )

    def rows_said(self, said: Mapping[int, int]) -> Mapping[str, int] | None:
        """Numbers of rows from the hellos; None where they are not public.

        Raises
        ------
        ShareError
            Where a party says what it must not say.
        """
        for k, rows in said.items():
            if (rows < 1) is self.sizes_are_public:
                what = "no number of rows" if self.sizes_are_public else "its number of rows"
                raise ShareError(f"{self.parties[k]!r} sent {what}, against the study; stopped")
        if not self.sizes_are_public:
            return None
        return {self.parties[k]: rows for k, rows in sorted(said.items())}

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
        return self.promised(self.costs_of(None), self.designs(None)[0])

    def promised(self, costs: Mapping[str, Fraction], design: Design) -> Guarantee:
        """One promise for each party that spends so much."""
        if self.engine is None:
            return rows_guarantee(costs, design)
        coins = self.noise_plan().noises
        deltas = {party: Fraction(delta(epsilon, coins)) for party, epsilon in costs.items()}
        trusted = trusted_members(self.engine, self.collusion, len(self.parties))
        return rows_guarantee(costs, design, deltas, (*trusted, FOLLOWED))

    def noise_plan(self) -> Products:
        """The noise that the engine draws for all releases, where parties draw none."""
        releases = [release for some in self.releases(None) for release in some]
        coins = tuple(Coins(release.cells, release.scale) for release in releases)
        return Products((), 1, 64, (), coins)

    def check_sums(self, sums: Sums, rows: Mapping[str, int] | None) -> None:
        """Refuse totals that no rows and noise can give: messages were altered."""
        if rows is None:
            return
        releases = [release for some in self.releases(rows) for release in some]
        for release, cells in zip(releases, sums, strict=True):
            reach = release.shares * release.share_law.reach(_NEVER / release.shares)
            most = sum(release.weights.get(party, 0) * n for party, n in rows.items())
            if cells.min() < -reach or cells.max() > most + reach:
                raise ShareError(
                    f"no result: totals of {release.name!r} lie outside what these rows can give; "
                    "a masked vector was altered, or made with other hellos"
                )


def _marginals(attributes: Any) -> tuple[tuple[str, ...], ...]:
    allowed = 'a list of names such as ["age", "smoker"], or a list of such lists'
    if isinstance(attributes, (str, bytes)) or not isinstance(attributes, Sequence):
        raise ParameterError(f"attributes are {attributes!r}; give {allowed}")
    if all(isinstance(name, str) for name in attributes):
        attributes = [attributes]
    marginals = []
    for names in attributes:
        if isinstance(names, str) or not isinstance(names, Sequence) or not names:
            raise ParameterError(f"one marginal is {names!r}; give {allowed}")
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ParameterError(f"the attributes {list(names)} must be names, each once")
        marginals.append(tuple(names))
    if not marginals:
        raise ParameterError(f"no attributes were given; give {allowed}")
    if len({frozenset(names) for names in marginals}) < len(marginals):
        raise ParameterError("two marginals have the same attributes; ask for each once")
    return tuple(marginals)


def _neighbours(asked: str | Neighbours) -> Neighbours:
    for known in (Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE):
        if asked in (known, known.value):
            return known
    raise ParameterError(
        f"neighbours is {asked!r}; it must be 'substitution' (what a record contains is protected) "
        "or 'add-remove' (also whether there is one)"
    )


def _method(asked: str | Method) -> Method:
    if isinstance(asked, Method):
        return asked
    from .methods.registry import ROWS

    if asked not in ROWS:
        known = ", ".join(map(repr, ROWS))
        raise ParameterError(f"there is no method {asked!r} for split rows; there are {known}")
    return ROWS[asked]
