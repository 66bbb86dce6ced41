"""Every party of a roster in one process, each with its own keys and its own way to the relay."""

from __future__ import annotations

import asyncio
from typing import Any

from sottovoce.transport import Machine
from sottovoce.transport.keys import KeyPair, Roster
from sottovoce.transport.network import Played, play, serve, take_part
from sottovoce.transport.office import LocalOffice
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import Relay

PROTOCOL = bytes(32)
Results = dict[str, Played | BaseException]


def over_http(
    roster: Roster,
    keys: dict[str, KeyPair],
    machines: dict[str, Machine[Any]],
    rounds: int,
    **options: Any,
) -> Results:
    """Over loopback HTTP; `machines` may leave parties out."""
    study = roster.bind(PROTOCOL)

    async def run() -> Results:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def one(name: str) -> Played:
            seat = Seat(roster, study, keys[name])
            if name == roster.relay.id:
                return await serve(
                    machines[name], rounds, seat, listening=address.set_result, **options
                )
            return await take_part(machines[name], rounds, seat, await address, timeout=5.0)

        async with asyncio.timeout(30):
            done = await asyncio.gather(*map(one, machines), return_exceptions=True)
        return dict(zip(machines, done, strict=True))

    return asyncio.run(run())


def through(
    relay: Relay,
    keys: dict[str, KeyPair],
    machines: dict[str, Machine[Any]],
    offices: dict[str, type[LocalOffice]] | None = None,
) -> Results:
    """Through a relay of one's own, without HTTP; some may have a way to it of their own."""

    async def one(name: str) -> Played:
        office = (offices or {}).get(name, LocalOffice)(relay, name)
        seat = Seat(relay.roster, relay.study, keys[name])
        return await play(machines[name], relay.rounds, seat, office)

    async def run() -> Results:
        conducting = asyncio.create_task(relay.conduct())
        async with asyncio.timeout(30):
            done = await asyncio.gather(*map(one, machines), return_exceptions=True)
            await conducting
        return dict(zip(machines, done, strict=True))

    return asyncio.run(run())
