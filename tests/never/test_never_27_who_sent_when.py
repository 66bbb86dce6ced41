"""Never store or log who sent a report, when to the second, or in which order.

The part that a relay has in it: it hands parcels out by sender, in whatever order they came; it
keeps no clock, its answers have no date, and it writes no log. The twin keeps the order. A journal,
which runs between organisations can be resumed from, is refused where people's messages travel.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import permutations
from pathlib import Path

import pytest

from sottovoce.errors import ParameterError
from sottovoce.transport.journal import open_journal
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import Patience, Relay
from sottovoce.transport.sealing import Head, read_head, seal
from sottovoce.transport.server import RelayServer
from tests.transport.parties import PROTOCOL
from tests.transport.summing import ROUNDS, cast

HOSTS = ("host-0", "host-1", "host-2")
ROSTER, KEYS = cast([1, 1, 1], 2)


def parcel(sender: str, sequence: int) -> bytes:
    study, session = ROSTER.bind(PROTOCOL).hex(), bytes(16).hex()
    head = Head(study, session, 1, "share", sender, "helper-0", sequence)
    return seal(b"text", head, KEYS[sender], KEYS["helper-0"].public)


class InOrder(Relay):
    """The twin: the order of arrival is the order of delivery."""

    def accept(self, name: str, parcel: bytes) -> None:
        self._order[name] = len(self._seen)
        super().accept(name, parcel)


def delivered(kind: type[Relay], order: tuple[str, ...]) -> list[tuple[str, int]]:
    async def run() -> list[tuple[str, int]]:
        relay = kind(ROSTER, ROSTER.bind(PROTOCOL), bytes(16), ROUNDS, Patience(5, 5))
        for party in ROSTER:
            await relay.join(party.id)
        conducting = asyncio.create_task(relay.conduct())
        await relay.parcel("helper-0", 0, 0, 5.0)
        for name in order:
            for sequence in (1, 0):
                relay.accept(name, parcel(name, sequence))
        for party in ROSTER:
            await relay.done(party.id, 1)
        heads = []
        while data := await relay.parcel("helper-0", 1, len(heads), 5.0):
            heads.append(read_head(data))
        conducting.cancel()
        return [(head.sender, head.sequence) for head in heads]

    return asyncio.run(run())


def test_the_order_of_arrival_is_forgotten() -> None:
    orders = [delivered(Relay, order) for order in permutations(HOSTS)]
    assert all(order == orders[0] for order in orders)
    assert orders[0] == [(name, k) for name in HOSTS for k in (0, 1)]


def test_an_order_that_is_kept_is_caught() -> None:
    orders = {tuple(delivered(InOrder, order)) for order in permutations(HOSTS)}
    assert len(orders) > 1


def test_no_journal_is_kept_of_what_people_send(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="never kept"):
        open_journal(
            tmp_path / "journal", Seat(ROSTER, bytes(32), KEYS["curator"]), journal="relay"
        )
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_logged_or_printed_and_answers_have_no_date(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    answers: list[bytes] = []

    async def run() -> None:
        relay = Relay(ROSTER, ROSTER.bind(PROTOCOL), bytes(16), ROUNDS, Patience(5, 5))
        server = RelayServer(relay, Seat(ROSTER, relay.study, KEYS["curator"]))
        where = await server.start()
        token = Seat(ROSTER, relay.study, KEYS["host-0"]).token()
        for bearer in (token, "wrong"):
            host, port = where.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            head = f"POST /v1/join HTTP/1.1\r\nAuthorization: Bearer {bearer}\r\n\r\n"
            writer.write(head.encode())
            answers.append(await reader.readuntil(b"\r\n\r\n"))
            writer.close()
            await writer.wait_closed()
        await server.stop()

    asyncio.run(run())
    assert [answer.split()[1] for answer in answers] == [b"200", b"401"]
    assert not any(b"date" in answer.lower() for answer in answers)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")
