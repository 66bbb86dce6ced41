"""The tables of a party study's file, read and checked one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..checks import fraction_of
from ..domain.schema import Schema
from ..errors import StudyError
from ..transport.batch import Role
from ..transport.keys import Party
from .reading import at_place, read_attribute, refuse_unknown

_BOTH = {"split", "method", "collusion", "noise"}
_OPTIONS = {
    "rows": _BOTH | {"dropouts", "neighbours"},
    "columns": _BOTH | {"engine", "key"},
}
_ATTRIBUTE = {"name", "values", "edges", "missing"}


@dataclass(frozen=True)
class Marginal:
    """A table to be released, and its fraction of every party's budget."""

    attributes: tuple[str, ...]
    fraction: Fraction


def read_options(about: Any, addresses: Any) -> dict[str, Any]:
    """The table [protocol], and [addresses] where an engine has processes of its own."""
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
    if addresses is None:
        return dict(about)
    drawn = about.get("noise") == "oblivious"
    if not (split == "columns" or drawn) or not isinstance(addresses, Mapping):
        raise StudyError(
            'a table [addresses] belongs to noise = "oblivious", or to split = "columns" with an '
            'engine such as "mpyc"; it has an entry such as A = "127.0.0.1:9101" for every party'
        )
    return {**about, "addresses": dict(addresses)}


def read_entries(given: Any) -> tuple[Party, ...]:
    """The entries [[party]], which may still be missing."""
    if not isinstance(given, list):
        raise StudyError("a roster is a list of entries [[party]]")
    return tuple(Party.from_dict(entry) for entry in given)


def read_budgets(given: Any, entries: tuple[Party, ...]) -> dict[str, Fraction]:
    """The table [budgets], in the order of the roster where there is one."""
    if not isinstance(given, Mapping) or not given:
        raise StudyError("the study lacks [budgets], with an epsilon for every party: A = 0.5")
    budgets = {party: exact_number(own, f"the budget of {party}") for party, own in given.items()}
    named = [entry.id for entry in entries if entry.role is Role.PARTY]
    if entries and set(named) != set(budgets):
        raise StudyError(
            f"[budgets] names {', '.join(budgets)}, and the entries [[party]] with the role party "
            f"are {', '.join(named) or 'none'}; they must be the same"
        )
    # Members of a role are numbered in the order of the roster.
    return {party: budgets[party] for party in named} if entries else budgets


def exact_number(number: Any, what: str) -> Fraction:
    """A number as it is written: 0.1 is one tenth."""
    try:
        exact = fraction_of(str(number)) if type(number) in (int, float, str) else Fraction(0)
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if exact <= 0:
        raise StudyError(f'{what} is {number!r}; it must be a number above 0, such as 0.5 or "1/3"')
    return exact


def read_attributes(
    given: Any, options: Mapping[str, Any], budgets: Mapping[str, Fraction]
) -> tuple[Schema, dict[str, str]]:
    """The entries [[attribute]], and where columns are split whose values count."""
    if not isinstance(given, list) or not given or not all(isinstance(x, Mapping) for x in given):
        raise StudyError("the study lacks attributes; each is a table [[attribute]]")
    attributes, holders = [], {}
    for number, about in enumerate(given, 1):
        where = f"attribute {number} ({about.get('name')!r})"
        split = options["split"] == "columns"
        refuse_unknown(about, _ATTRIBUTE | ({"holder", "holders"} if split else set()), where)
        if ("values" in about) == ("edges" in about):
            raise StudyError(f"{where} needs one of values and edges")
        with at_place(where):
            attributes.append(read_attribute(about))
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


def read_marginals(given: Any, schema: Schema) -> tuple[Marginal, ...]:
    """The entries [[marginal]]; without any, the table of all attributes."""
    if given is None:
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
            exact_number(about["fraction"], f"fraction of {where}") if "fraction" in about else None
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
