"""The contract of a study between organisations: tables, budgets and roster, in a TOML file.

::

    format = 1
    title = "Smoking and diagnosis in three hospitals"

    [protocol]
    split = "rows"                    # everyone has rows of the same attributes; or "columns"
    method = "sjs"                    # all entries below are optional
    collusion = 2                     # how many parties may work with the curator; K − 1
    dropouts = 0                      # rows: how many parties may be missing from the sums
    neighbours = "substitution"       # rows: or "add-remove"
    noise = "shares"                  # or "oblivious"
    engine = "dealer"                 # columns: or "mpyc", "cheetah"
    key = "person_id"                 # columns: what rows are matched by; needed

    [budgets]                         # ε of every party for the whole study
    A = 0.1
    B = 0.5
    C = 1.0

    [addresses]                       # mpyc (also oblivious noise) and cheetah: where they listen
    A = "127.0.0.1:9101"              # on this machine, or the near end of an encrypted tunnel
    B = "127.0.0.1:9102"
    curator = "127.0.0.1:9100"        # mpyc only

    [[attribute]]                     # public values or bins, never taken from the data
    name = "age"
    edges = [0, 40, 65, inf]
    holders = ["A", "B"]              # columns: who has it
    holder = "A"                      # columns: whose values count; enough if only one has it

    [[marginal]]                      # a table to be released, of all attributes by default
    attributes = ["age", "smoker"]
    fraction = 0.5                    # rows: several divide every budget, by default equally

    [[party]]                         # as `sottovoce parties keygen` writes it
    id = "A"
    role = "party"                    # or curator (with relay = true), or dealer
    key = "…"

Everyone has the same file. The digest of all of it, roster included, is bound into every message;
a rehearsal with synthetic rows has another digest, so that it never mixes with a real run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..contract.collection import canonical_digest
from ..domain.schema import Schema
from ..domain.values import Attribute
from ..errors import SottovoceError, StudyError
from ..transport.batch import Role
from ..transport.keys import Party, Roster
from ..transport.relay import MOST_BYTES
from .party_entries import (
    Marginal,
    read_attributes,
    read_budgets,
    read_entries,
    read_marginals,
    read_options,
)
from .reading import check_format, load_study, parse_toml, refuse_other_entries

if TYPE_CHECKING:
    from ..parties.protocol import Protocol

FORMAT = 1
_WORD, _HEADS = 8, 1 << 16  # bytes of a cell in the larger ring, and of all there is around them
_ROLES = (Role.PARTY, Role.CURATOR, Role.DEALER)
#: Budgets are of ε. The δ of oblivious noise is far below this; ledgers add it up all the same.
_NEGLIGIBLE = 2.0**-50
_TABLES = {
    *("format", "title", "protocol", "budgets", "addresses", "attribute", "marginal", "party"),
}


@dataclass(frozen=True)
class PartyStudy:
    """What organisations agreed on.

    Examples
    --------
    >>> study = PartyStudy.from_toml('''
    ... format = 1
    ... protocol = {split = "rows", collusion = 1}
    ... budgets = {A = 0.1, B = 0.5, C = 1}
    ... [[attribute]]
    ... name = "smoker"
    ... values = ["yes", "no"]
    ... ''')
    >>> study.marginals[0].attributes, study.budgets["A"]
    (('smoker',), Fraction(1, 10))
    """

    title: str  # in one line
    options: Mapping[str, Any]  # of the table [protocol]: split, method and so on
    #: ε of each party for the whole study, in the order of the roster.
    budgets: Mapping[str, Fraction]
    schema: Schema  # all attributes
    holders: Mapping[str, str]  # where columns are split: whose values of an attribute count
    marginals: tuple[Marginal, ...]  # what is released
    entries: tuple[Party, ...] = ()  # the roster; empty while keys are still being made
    rehearsal: bool = False  # whether rows are synthetic (`--dry-run`)

    # --- what it says ---------------------------------------------------------------------------

    @property
    def rows_split(self) -> bool:
        """Whether everyone has rows of the same attributes."""
        return bool(self.options["split"] == "rows")

    @property
    def parties(self) -> tuple[str, ...]:
        """The organisations with data."""
        return tuple(self.budgets)

    @property
    def sizes_are_public(self) -> bool:
        """Whether everyone learns how many rows each party has."""
        return self.options.get("neighbours") != "add-remove"

    @property
    def key(self) -> str | None:
        """Where columns are split: the column that rows are matched by."""
        return self.options.get("key")

    def attributes_of(self, party: str) -> tuple[Attribute, ...]:
        """What a party's data must have columns for."""
        self.budget_of(party)
        wanted = {name for marginal in self.marginals for name in marginal.attributes}
        return tuple(
            attribute
            for attribute in self.schema
            if attribute.name in wanted and self.holders.get(attribute.name, party) == party
        )

    def budget_of(self, party: str) -> Fraction:
        """What a party may spend on the study."""
        if party not in self.budgets:
            raise StudyError(
                f"there is no party {party!r} in the study; there are {', '.join(self.budgets)}"
            )
        return self.budgets[party]

    def cost_of(self, party: str) -> Fraction:
        """What a run of the study costs a party, exactly; never more than its budget."""
        budget = self.budget_of(party)
        # Logarithms of sampled releases are rounded up in the 50th digit, beyond which the
        # protocol has refused what costs more than the budget.
        return min(self.protocol.costs_of(None)[party], budget)

    def delta_of(self, party: str) -> Fraction:
        """δ that a run costs a party beside ε: that of noise which nobody draws, else 0."""
        self.budget_of(party)
        promises = self.protocol.guarantee.promises
        return next(Fraction(p.delta) for p in promises if p.unit.group == party)

    @cached_property
    def protocol(self) -> Protocol:
        """How the tables are computed."""
        options = {key: value for key, value in self.options.items() if key != "split"}
        if self.rows_split:
            from ..parties.horizontal import Horizontal

            lists = [list(marginal.attributes) for marginal in self.marginals]
            fractions = [marginal.fraction for marginal in self.marginals]
            return Horizontal(self.schema, lists, self.budgets, fractions=fractions, **options)
        from ..parties.vertical import Vertical

        if len(self.marginals) > 1 or self.marginals[0].fraction != 1:
            raise StudyError(
                "where columns are split a study releases one table and spends the budgets on it; "
                "write a study for every table"
            )
        schemas = {party: Schema(self.attributes_of(party)) for party in self.parties}
        return Vertical(schemas, list(self.marginals[0].attributes), self.budgets, **options)

    @cached_property
    def roster(self) -> Roster:
        """Who takes part, with their keys."""
        if not self.entries:
            raise StudyError(
                "the study has no entries [[party]] yet; `sottovoce parties keygen` makes one for "
                "every party, for the curator and for the dealer if there is one"
            )
        roster = Roster(self.entries)
        if not all(party.role in _ROLES for party in roster):
            raise StudyError(
                "a roster here has parties, one curator, and a dealer where one is needed"
            )
        if not roster.certified:
            raise StudyError(
                "the entries [[party]] have no certificates, which receipts are checked with; make "
                "them with `sottovoce parties keygen`"
            )
        dealers, needed = roster.count(Role.DEALER), int(self.protocol.dealer)
        if dealers != needed:
            raise StudyError(
                f"the roster has {dealers} entries with the role dealer; this protocol needs "
                f"{needed}"
            )
        return roster

    @cached_property
    def subject(self) -> bytes:
        """Digest of everything but the roster; studies with other keys have the same."""
        return canonical_digest("party study", self._canonical())

    @cached_property
    def digest(self) -> bytes:
        """Of everything; bound into every message. A rehearsal's is another one."""
        whole = self.roster.bind(self.subject)
        return canonical_digest("rehearsal", whole.hex()) if self.rehearsal else whole

    @property
    def verify_keys(self) -> dict[str, bytes]:
        """The keys that signatures are checked with: of parties by name, of others by role."""
        return {
            party.id if party.role is Role.PARTY else party.role.value: party.verify_key
            for party in self.roster
            if party.verify_key is not None
        }

    def rehearsed(self) -> PartyStudy:
        """The same study with synthetic rows."""
        return replace(self, rehearsal=True)

    def _canonical(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "protocol": dict(self.options),
            "budgets": [[party, str(budget)] for party, budget in self.budgets.items()],
            "attributes": [attribute.canonical() for attribute in self.schema],
            "holders": dict(self.holders),
            "marginals": [
                [list(marginal.attributes), str(marginal.fraction)] for marginal in self.marginals
            ],
        }

    # --- files ----------------------------------------------------------------------------------

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> PartyStudy:
        """The study of a file's data; everything in it is checked."""
        refuse_other_entries(data, _TABLES, "parties")
        check_format(data, FORMAT)
        title = data.get("title", "Study between parties")
        if not isinstance(title, str) or not title or not title.isprintable():
            raise StudyError(f"the title is {title!r}; it must be text in one line")
        try:
            entries = read_entries(data.get("party", []))
            options = read_options(data.get("protocol"), data.get("addresses"))
            budgets = read_budgets(data.get("budgets"), entries)
            schema, holders = read_attributes(data.get("attribute"), options, budgets)
            marginals = read_marginals(data.get("marginal"), schema)
            study = cls(title, options, budgets, schema, holders, marginals, entries)
            if entries:
                _ = study.roster
            for party in budgets:
                if not study.attributes_of(party):
                    raise StudyError(
                        f"{party} holds none of the attributes in the tables; leave {party} out "
                        "of [budgets], or name an attribute of which it is the holder"
                    )
            _check_message(study)
            if any(p.delta > _NEGLIGIBLE for p in study.protocol.guarantee.promises):
                raise StudyError(
                    f"the method {options.get('method')!r} spends delta as well, and budgets are "
                    "of epsilon alone; take another method, or simulate it"
                )
        except StudyError:
            raise
        except SottovoceError as error:
            raise StudyError(str(error)) from error
        return study

    @classmethod
    def from_toml(cls, text: str) -> PartyStudy:
        """The study of a text."""
        return cls.from_data(parse_toml(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PartyStudy:
        """The study in a file; an error names it."""
        return load_study(path, cls.from_data)


def _check_message(study: PartyStudy) -> None:
    """Refuse tables that no message can carry: a party would find out after it was charged."""
    cells = sum(block.cells for block in study.protocol.blocks(None))
    if _WORD * cells > MOST_BYTES - _HEADS:
        most = (MOST_BYTES - _HEADS) // _WORD
        raise StudyError(
            f"the sums have {cells:,} cells together; a party sends at most {most:,} in one "
            "message, so leave out attributes or join values, or write a study for every table"
        )
