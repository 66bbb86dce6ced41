"""One party's part of a protocol that runs between machines, and the result at the last server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..errors import ParameterError
from ..randomness import Source, source_of
from ..transport import Machine, Role
from ..transport.keys import Roster
from .dpcs import DPCS
from .protocol import Prepared, Protocol, aggregate_of


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
    people = roster.count(Role.USER)
    servers = protocol.server_machines(people, protocol.field(people), source_of(source))
    _check_roster(protocol, roster, servers)
    machine = next(m for m in servers if m.role is role and m.members == members)
    return Part(machine, protocol.message_rounds(people), machine is servers[-1])


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
    drawn, people = source_of(source), roster.count(Role.USER)
    prepared = protocol.prepare(codes, drawn, first=members.start, people=people)
    return users_part(protocol, roster, name, prepared, source=drawn)


def users_part(
    protocol: Protocol,
    roster: Roster,
    name: str,
    prepared: Prepared,
    *,
    source: Source | None = None,
) -> Part:
    """The part of a host whose users have drawn their coins already."""
    members, people = roster.members(name), roster.count(Role.USER)
    shared, drawn = protocol.field(people), source_of(source)
    _check_roster(protocol, roster, protocol.server_machines(people, shared, drawn))
    machine = protocol.users_machine(prepared, members, people, shared, drawn)
    return Part(machine, protocol.message_rounds(people), False)


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


def _check_roster(protocol: Protocol, roster: Roster, servers: Sequence[Machine[Any]]) -> None:
    needed = Counter(machine.role for machine in servers)
    if isinstance(protocol, DPCS):
        raise ParameterError(
            f"{protocol.name} has a curator who sees every answer; it runs in one process only"
        )
    for role in Role:
        if role is not Role.USER and roster.count(role) != needed[role]:
            raise ParameterError(
                f"{protocol.name} needs {needed[role]} with the role {role.value!r}, but the "
                f"roster has {roster.count(role)}"
            )
