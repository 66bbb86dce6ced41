"""One small run for the tests of journals and of ended runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sottovoce.transport import Machine
from sottovoce.transport.keys import KeyPair, Roster
from sottovoce.transport.network import Patience, Played, serve, take_part
from sottovoce.transport.post import Seat

from .pads import ROUNDS, cast

ROSTER, KEYS = cast(3)
STUDY = ROSTER.bind(bytes(32))


def run_all(
    machines: dict[str, Machine[Any]],
    options: Callable[[str], dict[str, Any]] = lambda _: {},
    roster: Roster = ROSTER,
    keys: dict[str, KeyPair] = KEYS,
    studies: dict[str, bytes] | None = None,
) -> dict[str, Played | BaseException]:
    async def run() -> dict[str, Played | BaseException]:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def one(name: str) -> Played:
            seat = Seat(roster, (studies or {}).get(name, STUDY), keys[name])
            if name == "curator":
                patience = Patience(10.0, 10.0)
                announce = address.set_result
                return await serve(
                    machines[name],
                    ROUNDS,
                    seat,
                    patience=patience,
                    listening=announce,
                    **options(name),
                )
            return await take_part(
                machines[name], ROUNDS, seat, await address, timeout=5.0, **options(name)
            )

        async with asyncio.timeout(20):
            ends = await asyncio.gather(*map(one, machines), return_exceptions=True)
        return dict(zip(machines, ends, strict=True))

    return asyncio.run(run())
