"""One party's part of a protocol that runs between machines, and the result at the last server.

A host draws the coins of its own people by drawing everyone's and keeping those of its members:
what one person draws depends on their answer, their place in the roster and the number of people,
and on nothing of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..errors import ParameterError
from ..randomness import Source, source_of
from ..transport import Machine, Role
from ..transport.keys import Roster
from .protocol import Plan, Prepared, Protocol, aggregate_of


@dataclass(frozen=True, eq=False)
class Part:
    """What one party plays.

    Attributes
    ----------
    machine : Machine
        Its role, for its members.
    rounds : int
        How many rounds of messages the protocol has.
    last : bool
        Whether the result ends up with this party.
    """

    machine: Machine[Any]
    rounds: int
    last: bool


def server_part(
    protocol: Protocol, roster: Roster, name: str, *, source: Source | None = None
) -> Part:
    """The part of a server, who has no answers.

    Parameters
    ----------
    protocol : Protocol
        What is run.
    roster : Roster
        Who takes part.
    name : str
        Of the party.
    source : Source, optional
        For elections; the system's by default.
    """
    role, members = roster.party(name).role, roster.members(name)
    if role is Role.USER:
        raise ParameterError(f"{name} is a host of users; it sends answers (`secure send`)")
    people, items = roster.count(Role.USER), protocol.items
    blank = Prepared(np.zeros((people, items), np.int64), np.zeros((people, items), bool))
    plan = _plan(protocol, roster, blank, source_of(source))
    machine = next(m for m in plan.machines if m.role is role and m.members == members)
    return Part(machine, plan.rounds, machine is plan.machines[-1])


def host_part(
    protocol: Protocol,
    roster: Roster,
    name: str,
    codes: NDArray[Any],
    *,
    source: Source | None = None,
) -> Part:
    """The part of a host of users.

    Parameters
    ----------
    protocol, roster, name
        As for `server_part`.
    codes : array of int
        Its people's answers, as the domain encodes them.
    source : Source, optional
        Their coins and shares; the system's by default.
    """
    members = roster.members(name)
    if roster.party(name).role is not Role.USER:
        raise ParameterError(f"{name} is a server; answers come from hosts of users")
    if codes.size != len(members):
        raise ParameterError(
            f"there are {codes.size:,} answers, but {name} has {len(members):,} users in the roster"
        )
    here, drawn = slice(members.start, members.stop), source_of(source)
    everyone = np.zeros(roster.count(Role.USER), codes.dtype)
    everyone[here] = codes
    plan = _plan(protocol, roster, protocol.prepare(everyone, drawn), drawn)
    machine: Any = next(machine for machine in plan.machines if machine.role is Role.USER)
    columns = {"secrets", "sets"} & {field.name for field in fields(machine)}
    own = {column: getattr(machine, column)[here].copy() for column in columns}
    return Part(replace(machine, members=members, **own), plan.rounds, False)


def result_of(
    protocol: Protocol,
    roster: Roster,
    state: Any,
    *,
    rounds: int = 1,
    seeded: bool = False,
    refused: tuple[str, ...] = (),
) -> Aggregate:
    """The last server's counts with their route.

    Parameters
    ----------
    protocol, roster
        What was run, between whom.
    state : object
        The last state of the last server's machine.
    rounds : int
        How often these people have drawn coins for this protocol.
    seeded : bool
        Whether coins came from a seed.
    refused : tuple of str
        Messages that were refused, for the error.

    Raises
    ------
    ShareError
        Where items have no total; it names them.
    """
    people = roster.count(Role.USER)
    shared = protocol.field(people)
    return aggregate_of(protocol, state.outcome, shared, people, rounds, seeded, refused)


def _plan(protocol: Protocol, roster: Roster, prepared: Prepared, source: Source) -> Plan:
    people = roster.count(Role.USER)
    plan = protocol.plan(prepared, protocol.field(people), source, None)
    needed: dict[Role, int] = {}
    for machine in plan.machines:
        needed[machine.role] = needed.get(machine.role, 0) + len(machine.members)
    if Role.CURATOR in needed:
        raise ParameterError(
            f"{protocol.name} has a curator who sees every answer; it runs in one process only"
        )
    for role in Role:
        if roster.count(role) != needed.get(role, 0):
            raise ParameterError(
                f"{protocol.name} needs {needed.get(role, 0)} with the role {role.value!r}, but "
                f"the roster has {roster.count(role)}"
            )
    return plan
