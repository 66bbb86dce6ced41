"""One party's part of a protocol that runs between machines, and the result at the last server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..errors import ParameterError
from ..randomness import Source, source_of
from ..transport import Machine, Role
from ..transport.keys import Roster
from .dpcs import DPCS
from .promises import with_hosts
from .protocol import Prepared, Protocol, aggregate_of
from .receiving import Setting
from .rounds import CollectingServer, StatingUsers, WithRounds, stated_rounds


def _once() -> int:
    return 1


@dataclass(frozen=True, eq=False)
class Part:
    """What one party plays: its machine, the protocol's rounds, and whether it has the result."""

    machine: Machine[Any]
    rounds: int
    last: bool


def server_part(
    protocol: Protocol, roster: Roster, name: str, *, source: Source | None = None
) -> Part:
    """The part of a server, who has no answers; the source is for elections."""
    role, members = roster.party(name).role, roster.members(name)
    if role is Role.USER:
        raise ParameterError(f"{name} is a host of users; it sends answers (`secure send`)")
    setting, servers = _servers(protocol, roster, source)
    machine = next(m for m in servers if m.role is role and m.members == members)
    last = machine is servers[-1]
    played = CollectingServer(machine, setting.people) if last else machine
    return Part(played, protocol.message_rounds(setting.people), last)


def host_part(
    protocol: Protocol,
    roster: Roster,
    name: str,
    codes: NDArray[Any],
    *,
    source: Source | None = None,
    drawn: Callable[[], int] = _once,
) -> Part:
    """The part of a host of users, with their answers as the domain encodes them.

    `drawn` says how many rounds about the same subject they are in, this one included; it is
    asked when the run begins.
    """
    members = roster.members(name)
    if roster.party(name).role is not Role.USER:
        raise ParameterError(f"{name} is a server; answers come from hosts of users")
    if codes.size != len(members):
        raise ParameterError(
            f"there are {codes.size:,} answers, but {name} has {len(members):,} users in the roster"
        )
    entropy, people = source_of(source), roster.count(Role.USER)
    prepared = protocol.prepare(codes, entropy, first=members.start, people=people)
    return users_part(protocol, roster, name, prepared, source=entropy, drawn=drawn)


def users_part(
    protocol: Protocol,
    roster: Roster,
    name: str,
    prepared: Prepared,
    *,
    source: Source | None = None,
    drawn: Callable[[], int] = _once,
) -> Part:
    """The part of a host whose users have drawn their coins already."""
    setting, servers = _servers(protocol, roster, source)
    machine = protocol.users_machine(prepared, roster.members(name), setting)
    users = StatingUsers(machine, drawn, servers[-1].role)
    return Part(users, protocol.message_rounds(setting.people), False)


def result_of(
    protocol: Protocol,
    roster: Roster,
    state: Any,
    *,
    rounds: int = 1,
    seeded: bool = False,
    refused: tuple[str, ...] = (),
) -> Aggregate:
    """The last server's counts with their route, from its machine's last state.

    `rounds` is how often the server knows these people to have drawn coins for this protocol; where
    their hosts state more, that counts. `refused` messages are for the error, which names the items
    that have no total.
    """
    people = roster.count(Role.USER)
    if isinstance(state, WithRounds):
        rounds = max(rounds, stated_rounds(roster, state))
    aggregate = aggregate_of(protocol, state.outcome, people, rounds, seeded, refused)
    if aggregate.route is None:
        return aggregate
    promised = with_hosts(aggregate.route.guarantee, largest_host(roster))
    return replace(aggregate, route=replace(aggregate.route, guarantee=promised))


def largest_host(roster: Roster) -> int:
    """How many people one host plays, at most."""
    return max((party.users for party in roster if party.role is Role.USER), default=1)


def _servers(
    protocol: Protocol, roster: Roster, source: Source | None
) -> tuple[Setting, list[Machine[Any]]]:
    """The run of a roster, and its servers; refused where the roster has others."""
    setting = protocol.setting(roster.count(Role.USER), source_of(source))
    servers = protocol.server_machines(setting)
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
    return setting, servers
