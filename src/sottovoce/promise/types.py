"""What a promise is about, as data: these types decide what adds up; sentences never do.

The values of the enumerations are stable codes: files carry them, and their meaning is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from typing import Any, TypeVar

from ..errors import GuaranteeError


class Notion(Enum):
    """The definition of privacy."""

    LDP = "ldp"  # local differential privacy
    DP = "dp"  # differential privacy
    LIP = "lip"  # localised information privacy: relative to a public prior

    @property
    def adds_up(self) -> bool:
        """Whether (ε, δ) of several releases may simply be added."""
        return self is not Notion.LIP

    def __str__(self) -> str:
        """The definition's name, in words."""
        from .words import NOTIONS

        return NOTIONS[self]


LDP, DP, LIP = Notion.LDP, Notion.DP, Notion.LIP


class Neighbours(Enum):
    """What an observer cannot distinguish by more than epsilon."""

    SUBSTITUTION = "substitution"  # what one person contributes is replaced
    ADD_REMOVE = "add-remove"  # one person takes part or does not
    BELIEFS = "beliefs"  # before and after the report, under a prior; LIP only
    UNSTATED = "unstated"  # as one round defined them, which is not known here


class Against(Enum):
    """Who may look."""

    REPORTS = "reports"
    SHUFFLED = "shuffled-reports"
    RESULT = "result"
    AGGREGATOR = "aggregator"  # who adds up shares, and the result
    S1 = "s1"  # who learns which items people report, without the result
    S2 = "s2"  # who adds up what elected users send, with nobody's help
    SENDERS = "senders-and-result"  # who sees who reported what, and the result
    HELPERS = "helpers"  # all helpers but one, without the result
    COALITION = "coalition"  # users who work together, without the result
    PARTIES = "curator-and-parties"  # the curator, with other parties who collude, and the result

    def __str__(self) -> str:
        """The observer, in words."""
        from .words import AGAINST

        return AGAINST[self]


class Protected(Enum):
    """What of one person is protected."""

    ANSWER = "answer"  # one answer
    RECORD = "record"  # all reported answers to the attributes of a record
    STUDY = "study"  # the answers to all questions of a study
    CONTRIBUTION = "contribution"  # all that one person contributes to a result
    PARTICIPATION = "participation"  # the same, and whether they contribute at all
    PARTY_RECORD = "party-record"  # all that one party holds about one person


@dataclass(frozen=True, slots=True)
class Unit:
    """What is protected, and of which people.

    Attributes
    ----------
    protects : Protected
        What of one person.
    level : str, optional
        Only of people who chose this level.
    group : str, optional
        Only of people in this group.
    attribute : str, optional
        Which answer; only where one answer is protected.
    answers : int, optional
        Only of people who reported this many answers; only where a record is protected.

    Examples
    --------
    >>> Unit().at_level("strong") == Unit(level="strong")
    True
    >>> print(Unit().at_level("strong"))
    one answer of one person who chose the level 'strong'
    """

    protects: Protected = Protected.ANSWER
    level: str | None = None
    group: str | None = None
    attribute: str | None = None
    answers: int | None = None

    def __post_init__(self) -> None:
        _check_kind(self.protects, Protected, "protects")
        for name in ("level", "group", "attribute"):
            text = getattr(self, name)
            if text is not None and not isinstance(text, str):
                raise GuaranteeError(f"the {name} of a unit is {text!r}; it must be text or None")
        if self.attribute is not None and self.protects is not Protected.ANSWER:
            raise GuaranteeError(
                f"a unit names the attribute {self.attribute!r}, but does not "
                "protect a single answer"
            )
        if self.answers is None:
            return
        if isinstance(self.answers, bool) or not isinstance(self.answers, int) or self.answers < 1:
            raise GuaranteeError(
                f"the answers of a unit are {self.answers!r}; their number is 1 or more, or None"
            )
        if self.protects is not Protected.RECORD:
            raise GuaranteeError(
                f"a unit has {self.answers} answers, but does not protect a record"
            )

    def at_level(self, name: str) -> Unit:
        """The same for people who chose this level; a level that is already set stays."""
        if self.level not in (None, name):
            raise GuaranteeError(
                f"a unit at the level {self.level!r} cannot be at {name!r} as well; these are "
                "different people"
            )
        return replace(self, level=name)

    def in_group(self, name: str) -> Unit:
        """The same for people in this group; a group that is already set becomes part of it."""
        return replace(self, group=name if self.group is None else f"{name} / {self.group}")

    def __str__(self) -> str:
        """What is protected, in words."""
        from .words import unit_words

        return unit_words(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {**asdict(self), "protects": self.protects.value}

    @classmethod
    def from_dict(cls, data: object) -> Unit:
        """The unit that `as_dict` wrote."""
        about = read_fields(data, "unit", tuple(field.name for field in fields(cls)))
        return cls(**{**about, "protects": read_code(Protected, about["protects"], "protects")})


Kind = TypeVar("Kind", bound=Enum)


def read_code(kind: type[Kind], code: object, name: str) -> Kind:
    """The member of an enumeration with this code, or an error that lists the codes."""
    for member in kind:
        if isinstance(code, str) and member.value == code:
            return member
    known = ", ".join(repr(member.value) for member in kind)
    raise GuaranteeError(f"{name} is {code!r}; known codes are {known}")


def read_fields(
    data: object, what: str, needed: tuple[str, ...], ignored: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The required fields of decoded JSON; missing and unknown fields are refused."""
    if not isinstance(data, Mapping):
        raise GuaranteeError(f"a {what} is {data!r}; a table with {', '.join(needed)} is expected")
    missing = [name for name in needed if name not in data]
    strange = [name for name in data if name not in needed and name not in ignored]
    if missing or strange:
        raise GuaranteeError(
            f"a {what} has the fields {', '.join(map(repr, data))}; exactly "
            f"{', '.join(map(repr, needed))} are expected"
        )
    return {name: data[name] for name in needed}


def _check_kind(value: object, kind: type[Enum], name: str) -> None:
    if not isinstance(value, kind):
        members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise GuaranteeError(f"{name} is {value!r}; it must be one of {members}")
