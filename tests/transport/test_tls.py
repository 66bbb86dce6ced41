"""Runs over TLS with pinned certificates."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sottovoce.errors import ParameterError, TransportError
from sottovoce.transport.client import HttpOffice
from sottovoce.transport.network import Address, Played, serve, take_part
from sottovoce.transport.post import Seat

from .parties import PROTOCOL
from .summing import ROUNDS, TOTAL, cast, machines
from .tls import certificate


def test_a_run_over_tls_with_the_pinned_certificate_alone(tmp_path: Path) -> None:
    roster, keys = cast([4, 7], 2)
    pem, key = certificate(tmp_path, "relay")
    other, _ = certificate(tmp_path, "other")
    parts, study = machines(roster, 3), roster.bind(PROTOCOL)

    async def run() -> tuple[Any, ...]:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        at = Address(certificate=pem, key=key)

        async def one(name: str) -> Played:
            seat = Seat(roster, study, keys[name])
            if seat.party.relay:
                return await serve(
                    parts[name], ROUNDS, seat, address=at, listening=address.set_result
                )
            where = await address
            assert where.startswith("https://")
            if name == "host-0":  # first with a certificate that is not the relay's
                office = HttpOffice(where, seat.token(), study, other, timeout=0.2)
                with pytest.raises(TransportError, match="did not answer"):
                    await office.join()
            return await take_part(parts[name], ROUNDS, seat, where, certificate=pem)

        async with asyncio.timeout(20):
            return tuple(await asyncio.gather(*map(one, parts)))

    assert asyncio.run(run())[0].state.result == TOTAL


def test_a_certificate_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"nothing\.pem"):
        HttpOffice("https://127.0.0.1:1", "", bytes(32), tmp_path / "nothing.pem")
