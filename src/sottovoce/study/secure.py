"""The contract of a run without a trusted server: question, protocol and roster, in a TOML file.

::

    format = 1

    [question]
    name = "commute"
    values = ["car", "bike", "train", "foot"]    # or edges; missing as in other studies

    [protocol]
    name = "binomial"                            # or dpds, dpdg, dummies, suppressed, tss
    epsilon = 1.0                                # and further parameters of the protocol
    delta = 1e-6

    [[party]]                                    # as `sottovoce secure keygen` writes it
    id = "aggregator"
    role = "aggregator"
    relay = true
    key = "…"

Users and helpers are counted from the roster. Everyone has the same file: its digest, of question,
protocol and roster, is bound into every message.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..contract.collection import canonical_digest
from ..domain.values import Attribute, Domain
from ..errors import SottovoceError, StudyError
from ..secure import DPCS, DPDG, DPDS, TSS, BinomialNoise, Dummies, Protocol, Suppressed
from ..secure.dpds import SecureSum
from ..transport.batch import Role
from ..transport.keys import Roster
from .reading import (
    check_format,
    load_study,
    parse_toml,
    read_attribute,
    refuse_other_entries,
    refuse_unknown,
)

FORMAT = 1
_NOISE = {"epsilon", "delta", "collusion", "neighbours"}
_SAMPLING = _NOISE | {"rate", "count"}

#: Protocols by the name they have in files and commands, with the parameters that each takes.
PROTOCOLS: Mapping[str, tuple[type[Protocol], set[str]]] = {
    "binomial": (BinomialNoise, _NOISE),
    "dpdg": (DPDG, _NOISE),
    "dummies": (Dummies, _NOISE | {"rate"}),
    "suppressed": (Suppressed, _NOISE | {"rate"}),
    "dpds": (DPDS, _SAMPLING),
    "tss": (TSS, _SAMPLING | {"report", "selection", "gamma", "committee", "published"}),
    "dpcs": (DPCS, _SAMPLING | {"shared"}),
}


def protocol_of(
    name: Any,
    domain: Domain,
    parameters: Mapping[str, Any],
    *,
    users: int | None = None,
    helpers: int | None = None,
) -> Protocol:
    """A protocol by its name; parameters that it does not have are refused.

    Examples
    --------
    >>> from sottovoce.domain.values import Domain
    >>> protocol_of("binomial", Domain(3), {"epsilon": 1.0}, users=500).name
    'binomial-noise'
    """
    if not isinstance(name, str) or name not in PROTOCOLS:
        raise StudyError(f"the protocol is {name!r}; it must be one of {', '.join(PROTOCOLS)}")
    kind, known = PROTOCOLS[name]
    refuse_unknown(parameters, known, f"the protocol {name!r}")
    arguments: dict[str, Any] = dict(parameters)
    if issubclass(kind, SecureSum):
        arguments["helpers"] = helpers
    elif helpers:
        raise StudyError(f"the protocol {name!r} has no helpers, but {helpers} are given")
    try:
        return kind(domain, users=users, **arguments)
    except TypeError as error:
        missing = str(error).partition("argument: ")[2] or str(error)
        raise StudyError(f"the protocol {name!r} needs the parameter {missing}") from error


@dataclass(frozen=True)
class SecureStudy:
    """What is asked, how it is counted, and who takes part."""

    question: Attribute
    protocol: Protocol
    roster: Roster
    subject: bytes  # digest of question and protocol; runs with other people have the same

    @property
    def digest(self) -> bytes:
        """Of everything; bound into every message."""
        return self.roster.bind(self.subject)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> SecureStudy:
        """The study of a file's data."""
        refuse_other_entries(data, {"format", "question", "protocol", "party"}, "secure")
        check_format(data, FORMAT)
        about, how = data.get("question"), data.get("protocol")
        if not isinstance(about, Mapping) or not isinstance(how, Mapping):
            raise StudyError("a secure study needs the tables [question] and [protocol]")
        if not all(isinstance(value, (str, int, float)) for value in how.values()):
            raise StudyError("the entries of [protocol] are text and numbers only")
        refuse_unknown(about, {"name", "values", "edges", "missing"}, "[question]")
        roster = Roster.from_entries(data.get("party", []))
        users, helpers = roster.count(Role.USER), roster.count(Role.HELPER)
        parameters = {key: value for key, value in how.items() if key != "name"}
        try:
            question = read_attribute(about)
            name = how.get("name")
            protocol = protocol_of(name, question, parameters, users=users, helpers=helpers)
        except SottovoceError as error:
            raise StudyError(str(error)) from error
        subject = canonical_digest(
            "secure study", {"question": question.canonical(), "protocol": dict(how)}
        )
        return cls(question, protocol, roster, subject)

    @classmethod
    def from_toml(cls, text: str) -> SecureStudy:
        """The study of a text."""
        return cls.from_data(parse_toml(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SecureStudy:
        """The study in a file; an error names it."""
        return load_study(path, cls.from_data)
