"""Never store or log who sent a report, when to the second, or in which order.

The part that a relay has in it: it hands parcels out by sender, in whatever order they came; it
keeps no clock, its answers have no date, and it writes no log. The twin keeps the order. A journal,
which runs between organisations can be resumed from, is refused where people's messages travel.

The part of a collection service: what two people send is stored alike in whichever order and at
whichever minute of an hour they come, in one commit or, but for random keys, in two. The twin keeps
a number for every commit. What a monitor may read every second does not change when a report comes.
That no address or user agent is kept is tested with a real server, in
`tests/service/test_faults.py`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from itertools import permutations
from pathlib import Path

import pytest

from sottovoce.errors import ParameterError
from sottovoce.service.collector import Collector, Entry
from sottovoce.service.metrics import Metrics
from sottovoce.service.stores import Blob, open_store
from sottovoce.service.stores.sqlite import SqliteStore
from sottovoce.service.submission import Submission, unpack
from sottovoce.transport.journal import open_journal
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import Patience, Relay
from sottovoce.transport.sealing import Head, read_head, seal
from sottovoce.transport.server import RelayServer
from tests.service.studies import commute, reports
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


# --- a collection service -------------------------------------------------------------------------

STUDY = commute()


def two_people() -> list[Submission]:
    """Different reports, under ids of their own."""
    batch = reports(STUDY.mechanism(), 2)
    batch.columns["value"][:] = [0, 3]
    ids = (os.urandom(16), os.urandom(16))
    return [unpack(ids[k] + batch[k : k + 1].to_bytes(), STUDY) for k in range(2)]


def stored(folder: Path, commits: list[list[Submission]], minute: int) -> list[tuple[object, ...]]:
    """All that a store shows, without the random keys of blobs."""
    store = open_store(folder, STUDY.digest)
    collector = Collector(STUDY, store, clock=lambda: 3600 * 400_000 + 60 * minute)
    for commit in commits:
        collector.commit([Entry(one) for one in commit])
    with store.transaction():
        tables = [row[0] for row in store.execute("SELECT name FROM sqlite_master")]
        content: list[tuple[object, ...]] = [tuple(sorted(tables))]
        content += store.execute("SELECT * FROM facts").fetchall()
        content += store.execute("SELECT * FROM submissions").fetchall()
        columns = "question, hour, people, reports, data"
        content += sorted(store.execute(f"SELECT {columns} FROM blobs").fetchall())
    store.close()
    return content


def test_order_and_minute_leave_no_trace_in_a_store(tmp_path: Path) -> None:
    a, b = two_people()
    apart = [stored(tmp_path / f"{m}", [[a], [b]], m) for m in (3, 58)]
    swapped = stored(tmp_path / "swapped", [[b], [a]], 30)
    assert apart[0] == apart[1] == swapped
    # In one commit reports are in random order: both orders come, whoever was first.
    together = {str(stored(tmp_path / f"t{k}", [[a, b]], 1)) for k in range(28)}
    reverse = {str(stored(tmp_path / f"r{k}", [[b, a]], 1)) for k in range(28)}
    assert together == reverse  # each has both orders; one is missing with probability 4 · 2^-28
    assert len(together) == 2


def test_a_number_for_every_commit_would_be_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def numbered(store: SqliteStore, blob: Blob) -> None:
        key = store.count_blobs().to_bytes(8, "big")
        row = (key, blob.question, blob.hour, blob.people, blob.reports, blob.data + key)
        store.execute("INSERT INTO blobs VALUES (?, ?, ?, ?, ?, ?)", row)

    monkeypatch.setattr(SqliteStore, "add_blob", numbered)
    a, b = two_people()
    first, second = ([[a], [b]], [[b], [a]])
    assert stored(tmp_path / "1", first, 0) != stored(tmp_path / "2", second, 0)


def figures(metrics: Metrics, collector: Collector, hour: int) -> str:
    """What a monitor reads; the memory of this process depends on all tests before."""
    text = metrics.render(collector.hours(), hour, collector.healthy)
    return "".join(line for line in text.splitlines(True) if "memory" not in line)


def test_a_monitor_does_not_see_when_a_report_comes(tmp_path: Path) -> None:
    store, metrics, hour = open_store(tmp_path, STUDY.digest), Metrics(), 400_000
    collector = Collector(STUDY, store, clock=lambda: 3600.0 * hour)
    before = figures(metrics, collector, hour)
    for one in two_people():
        metrics.waiting_bytes += one.nbytes
        assert figures(metrics, collector, hour) == before
        with metrics.commit():
            collector.commit([Entry(one)])
        metrics.waiting_bytes -= one.nbytes
        assert figures(metrics, collector, hour) == before
    later = figures(metrics, collector, hour + 1)
    assert "sottovoce_people 2\n" in later
    assert "sottovoce_commit_seconds 0.000000\n" not in later
    store.close()
