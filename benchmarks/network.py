"""Sealing, and a whole run between parties over loopback HTTP: what the transport adds.

``python -m benchmarks.network`` prints the tables; n people in four hosts, 30 items, three helpers.
"""

from __future__ import annotations

import asyncio
import time

import numpy as np

from sottovoce.secure import DPDS
from sottovoce.secure.parts import Part, host_part, result_of, server_part
from sottovoce.transport import Inbox, Role
from sottovoce.transport.keys import KeyPair, Party, Roster
from sottovoce.transport.network import Played, serve, take_part
from sottovoce.transport.post import Post, Seat
from sottovoce.transport.sealing import read_head

from .machine import FULL, Effort, number, table

_HOSTS, _HELPERS, _ITEMS = 4, 3, 30


def cast(people: int) -> tuple[Roster, dict[str, KeyPair]]:
    """Aggregator, helpers and hosts."""
    names = ["aggregator", *(f"helper-{k}" for k in range(_HELPERS))]
    names += [f"host-{k}" for k in range(_HOSTS)]
    keys = {name: KeyPair.generate() for name in names}
    parties = [Party("aggregator", Role.AGGREGATOR, keys["aggregator"].public, relay=True)]
    parties += [Party(n, Role.HELPER, keys[n].public) for n in names if n.startswith("helper")]
    parties += [
        Party(n, Role.USER, keys[n].public, people // _HOSTS) for n in names if n.startswith("host")
    ]
    return Roster(tuple(parties)), keys


def sealing(roster: Roster, keys: dict[str, KeyPair], part: Part) -> list[list[str]]:
    """One host's parcels: sealed by it, opened by the helpers."""
    users = len(part.machine.members)
    study = roster.bind(bytes(32))
    _, outbox = part.machine.step(part.machine.start(), Inbox(closed=0))
    batches = list(outbox.batches)
    start = time.perf_counter()
    post = Post(Seat(roster, study, keys["host-0"]), bytes(16))
    parcels = [parcel for batch in batches for parcel in post.parcels(batch)]
    sealed = time.perf_counter()
    posts = {
        name: Post(Seat(roster, study, keys[name]), bytes(16))
        for name in keys
        if name.startswith("helper")
    }
    for parcel in parcels:
        posts[read_head(parcel).receiver].open(parcel, 1)
    opened = time.perf_counter()
    size = sum(map(len, parcels))
    return [
        ["seal, to 3 helpers", number((sealed - start) / users * 1e6), number(size / users)],
        ["open, by 3 helpers", number((opened - sealed) / users * 1e6), ""],
    ]


def whole_run(roster: Roster, keys: dict[str, KeyPair], parts: dict[str, Part]) -> float:
    """Seconds from the first connection to the result, everyone in one process."""
    study = roster.bind(bytes(32))

    async def run() -> Played:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def one(name: str) -> Played:
            part, seat = parts[name], Seat(roster, study, keys[name])
            if seat.party.relay:
                return await serve(part.machine, part.rounds, seat, listening=address.set_result)
            return await take_part(part.machine, part.rounds, seat, await address)

        return (await asyncio.gather(*map(one, parts)))[0]

    start = time.perf_counter()
    played = asyncio.run(run())
    result_of(DPDS(_ITEMS, rate=0.4, helpers=_HELPERS), roster, played.state)
    return time.perf_counter() - start


def section(effort: Effort = FULL) -> str:
    """The tables."""
    people = effort.people(100_000) // _HOSTS * _HOSTS
    protocol = DPDS(_ITEMS, rate=0.4, helpers=_HELPERS, users=people)
    roster, keys = cast(people)
    parts = {}
    for party in roster:
        if party.role is Role.USER:
            codes = np.arange(party.users) % _ITEMS
            parts[party.id] = host_part(protocol, roster, party.id, codes)
        else:
            parts[party.id] = server_part(protocol, roster, party.id)
    rows = sealing(roster, keys, parts["host-0"])
    seconds = whole_run(roster, keys, parts)
    return "\n\n".join(
        [
            table(["parcels", "µs per user", "bytes per user"], rows),
            f"{people:,} people in {_HOSTS} hosts, {_HELPERS} helpers, over loopback HTTP in one "
            f"process: {number(seconds)} s.",
        ]
    )


if __name__ == "__main__":
    print(section())
