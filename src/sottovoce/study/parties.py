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
    noise = "shares"                  # rows: or "oblivious"
    engine = "dealer"                 # columns: or "mpyc", "cheetah"
    key = "person_id"                 # columns: what rows are matched by; needed

    [budgets]                         # ε of every party for the whole study
    A = 0.1
    B = 0.5
    C = 1.0

    [[attribute]]                     # public values or bins, never taken from the data
    name = "age"
    edges = [0, 40, 65, inf]
    holders = ["A", "B"]              # columns: who has it
    holder = "A"                      # columns: whose values count; enough if only one has it

    [[marginal]]                      # a table to be released; several divide the budgets
    attributes = ["age", "smoker"]
    fraction = 0.5                    # of every budget; equal parts by default

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
from typing import TYPE_CHECKING, Any, TypeAlias

from ..contract.collection import canonical_digest
from ..domain.values import Attribute, Schema
from ..errors import SottovoceError, StudyError
from ..transport.batch import Role
from ..transport.keys import Party, Roster
from .reading import load_toml, parse_toml, read_attribute, refuse_unknown

if TYPE_CHECKING:
    from ..parties.horizontal import Horizontal
    from ..parties.vertical import Vertical

    PartyProtocol: TypeAlias = Horizontal | Vertical

FORMAT = 1
_TABLES = {"format", "title", "protocol", "budgets", "attribute", "marginal", "party"}
_BOTH = {"split", "method", "collusion"}
_OPTIONS = {
    "rows": _BOTH | {"dropouts", "neighbours", "noise"},
    "columns": _BOTH | {"engine", "key"},
}
_ATTRIBUTE = {"name", "values", "edges", "missing"}


@dataclass(frozen=True)
class Marginal:
    """A table to be released, and its fraction of every party's budget."""

    attributes: tuple[str, ...]
    fraction: Fraction


@dataclass(frozen=True)
class PartyStudy:
    """What organisations agreed on.

    Attributes
    ----------
    title : str
        In one line.
    options : mapping
        Of the table [protocol]: split, method and so on.
    budgets : mapping of str to Fraction
        ε of each party for the whole study, in the order of the roster.
    schema : Schema
        All attributes.
    holders : mapping of str to str
        Where columns are split: whose values of an attribute count.
    marginals : tuple of Marginal
        What is released.
    entries : tuple of Party
        The roster; empty while keys are still being made.
    rehearsal : bool
        Whether rows are synthetic (`--dry-run`).

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

    title: str
    options: Mapping[str, Any]
    budgets: Mapping[str, Fraction]
    schema: Schema
    holders: Mapping[str, str]
    marginals: tuple[Marginal, ...]
    entries: tuple[Party, ...] = ()
    rehearsal: bool = False

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

    @cached_property
    def protocol(self) -> PartyProtocol:
        """How the tables are computed."""
        return _protocol(self)

    @cached_property
    def roster(self) -> Roster:
        """Who takes part, with their keys."""
        if not self.entries:
            raise StudyError(
                "the study has no entries [[party]] yet; `sottovoce parties keygen` makes one for "
                "every party, for the curator and for the dealer if there is one"
            )
        roster = Roster(self.entries)
        _check_roster(self, roster)
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
        refuse_unknown(data, _TABLES, "the study")
        if data.get("format") != FORMAT or isinstance(data.get("format"), bool):
            raise StudyError(f"the format is {data.get('format')!r}; this version reads {FORMAT}")
        title = data.get("title", "Study between parties")
        if not isinstance(title, str) or not title or not title.isprintable():
            raise StudyError(f"the title is {title!r}; it must be text in one line")
        try:
            entries = _entries(data.get("party", []))
            options = _options(data.get("protocol"))
            budgets = _budgets(data.get("budgets"), entries)
            schema, holders = _attributes(data.get("attribute"), options, budgets)
            marginals = _marginals(data.get("marginal"), schema)
            study = cls(title, options, budgets, schema, holders, marginals, entries)
            if entries:
                _check_roster(study, study.roster)
            for party in budgets:
                if not study.attributes_of(party):
                    raise StudyError(
                        f"{party} holds none of the attributes in the tables; leave {party} out "
                        "of [budgets], or name an attribute of which it is the holder"
                    )
            _ = study.protocol  # which refuses parameters that cannot be
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
        data = load_toml(path)
        try:
            return cls.from_data(data)
        except StudyError as error:
            raise StudyError(f"{os.fspath(path)!r}: {error}") from error


def _protocol(study: PartyStudy) -> PartyProtocol:
    from ..parties.horizontal import Horizontal
    from ..parties.vertical import Vertical

    lists = [list(marginal.attributes) for marginal in study.marginals]
    options = {name: value for name, value in study.options.items() if name not in ("split", "key")}
    if study.rows_split:
        return Horizontal(study.schema, lists, study.budgets, **options)
    schemas = {party: Schema(study.attributes_of(party)) for party in study.parties}
    return Vertical(schemas, lists, study.budgets, **options)


def _options(about: Any) -> dict[str, Any]:
    if not isinstance(about, Mapping) or about.get("split") not in _OPTIONS:
        raise StudyError(
            'a study between parties needs a table [protocol] with split = "rows" (everyone has '
            'rows of the same attributes) or split = "columns" (everyone has some attributes of '
            "the same people)"
        )
    split = about["split"]
    refuse_unknown(about, _OPTIONS[split], f'[protocol] with split = "{split}"')
    if not all(isinstance(value, (str, int)) for value in about.values()):
        raise StudyError("the entries of [protocol] are text and whole numbers only")
    if split == "columns" and not (isinstance(about.get("key"), str) and about["key"]):
        raise StudyError(
            '[protocol] lacks key, such as key = "person_id": the column, in the data of every '
            "party, that says which rows are about the same person"
        )
    return dict(about)


def _entries(given: Any) -> tuple[Party, ...]:
    if not isinstance(given, list):
        raise StudyError("a roster is a list of entries [[party]]")
    return tuple(Party.from_dict(entry) for entry in given)


def _budgets(given: Any, entries: tuple[Party, ...]) -> dict[str, Fraction]:
    if not isinstance(given, Mapping) or not given:
        raise StudyError("the study lacks [budgets], with an epsilon for every party: A = 0.5")
    budgets = {party: _exact(epsilon, f"the budget of {party}") for party, epsilon in given.items()}
    named = [entry.id for entry in entries if entry.role is Role.PARTY]
    if entries and set(named) != set(budgets):
        raise StudyError(
            f"[budgets] names {', '.join(budgets)}, and the entries [[party]] with the role party "
            f"are {', '.join(named) or 'none'}; they must be the same"
        )
    # Members of a role are numbered in the order of the roster.
    return {party: budgets[party] for party in named} if entries else budgets


def _exact(number: Any, what: str) -> Fraction:
    """A number as it is written: 0.1 is one tenth."""
    try:
        exact = Fraction(str(number)) if type(number) in (int, float, str) else Fraction(0)
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if exact <= 0:
        raise StudyError(f'{what} is {number!r}; it must be a number above 0, such as 0.5 or "1/3"')
    return exact


def _attributes(
    given: Any, options: Mapping[str, Any], budgets: Mapping[str, Fraction]
) -> tuple[Schema, dict[str, str]]:
    if not isinstance(given, list) or not given or not all(isinstance(x, Mapping) for x in given):
        raise StudyError("the study lacks attributes; each is a table [[attribute]]")
    attributes, holders = [], {}
    for number, about in enumerate(given, 1):
        where = f"attribute {number} ({about.get('name')!r})"
        split = options["split"] == "columns"
        refuse_unknown(about, _ATTRIBUTE | ({"holder", "holders"} if split else set()), where)
        if ("values" in about) == ("edges" in about):
            raise StudyError(f"{where} needs one of values and edges")
        try:
            attributes.append(read_attribute(about))
        except StudyError:
            raise
        except SottovoceError as error:
            raise StudyError(f"{where}: {error}") from error
        if split:
            holders[attributes[-1].name] = _holder(about, budgets, where)
    if options.get("key") in {attribute.name for attribute in attributes}:
        raise StudyError(
            f"{options['key']!r} is the key and an attribute; the key only matches rows, and is "
            "in no table"
        )
    return Schema(attributes), holders


def _holder(about: Mapping[str, Any], budgets: Mapping[str, Fraction], where: str) -> str:
    """Whose values count; where several parties have an attribute the study must say it."""
    holders = about.get("holders", [about["holder"]] if "holder" in about else [])
    if not isinstance(holders, list) or not holders:
        raise StudyError(f'{where} needs its holder, such as holder = "{next(iter(budgets))}"')
    for party in [*holders, about.get("holder", holders[0])]:
        if party not in budgets:
            raise StudyError(
                f"{where} is held by {party!r}, who is not in [budgets]: {', '.join(budgets)}"
            )
    if "holder" not in about and len(holders) > 1:
        raise StudyError(
            f"{where} is held by {' and '.join(holders)}, whose values may differ; say whose "
            f'count with holder = "{holders[0]}"'
        )
    holder = about.get("holder", holders[0])
    if holder not in holders:
        raise StudyError(f"{where} has the holder {holder}, who is not among {', '.join(holders)}")
    return str(holder)


def _marginals(given: Any, schema: Schema) -> tuple[Marginal, ...]:
    if given is None:  # the table of all attributes
        return (Marginal(tuple(attribute.name for attribute in schema), Fraction(1)),)
    if not isinstance(given, list) or not given or not all(isinstance(x, Mapping) for x in given):
        raise StudyError("tables to be released are entries [[marginal]]")
    marginals: list[Marginal] = []
    for number, about in enumerate(given, 1):
        where = f"marginal {number}"
        refuse_unknown(about, {"attributes", "fraction"}, where)
        names = about.get("attributes")
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            raise StudyError(f"{where} lacks attributes, a list of names")
        if len(set(names)) < len(names):
            raise StudyError(f"{where} names an attribute twice")
        for name in names:
            _ = schema[name]  # refuses names that are not there
        fraction = (
            _exact(about["fraction"], f"fraction of {where}") if "fraction" in about else None
        )
        marginals.append(Marginal(tuple(names), fraction or Fraction(1, len(given))))
    stated = sum("fraction" in about for about in given)
    total = sum((marginal.fraction for marginal in marginals), Fraction(0))
    if stated not in (0, len(given)) or total > 1:
        raise StudyError(
            f"the marginals have fractions of the budget that sum to {float(total):g}; give one "
            "for every marginal, at most 1 together, or none for equal parts"
        )
    return tuple(marginals)


def _check_roster(study: PartyStudy, roster: Roster) -> None:
    others = [party.id for party in roster if party.role not in _ROLES]
    if others:
        raise StudyError(
            f"{', '.join(others)} has a role of other protocols; here roles are party, curator "
            "and dealer"
        )
    curators = [party for party in roster if party.role is Role.CURATOR]
    if len(curators) != 1 or not curators[0].relay:
        raise StudyError(
            f"the roster has {len(curators)} curators with the relay; it must have exactly one "
            'entry with role = "curator" and relay = true'
        )
    dealers, needed = roster.count(Role.DEALER), int(study.protocol.dealer)
    if dealers != needed:
        raise StudyError(
            f"the roster has {dealers} entries with the role dealer; this protocol has {needed}"
        )


_ROLES = (Role.PARTY, Role.CURATOR, Role.DEALER)
