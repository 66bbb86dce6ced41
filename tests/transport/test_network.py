"""A run between parties over HTTP is the run in one process; what is wrong is refused and named."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sottovoce.errors import DigestError, FileError, ParameterError, TransportError, WireError
from sottovoce.transport import Machine, Role, drive
from sottovoce.transport.client import HttpOffice
from sottovoce.transport.keys import KeyPair, Party, Roster
from sottovoce.transport.network import Address, Patience, Played, play, serve, take_part
from sottovoce.transport.office import LocalOffice
from sottovoce.transport.post import Seat
from sottovoce.transport.relay import MOST_BYTES, Relay
from sottovoce.transport.sealing import Head, seal
from sottovoce.transport.server import RelayServer
from sottovoce.transport.sessions import Sessions
from sottovoce.transport.tls import file_client

from .parties import PROTOCOL, over_http, through
from .summing import ROUNDS, TOTAL, VALUES, Sum, cast, machines

QUICK = Patience(gathering=10.0, round=0.5)
Wrap = Callable[[str, Machine[Any]], Machine[Any]]


def test_a_run_over_http_is_the_run_in_one_process() -> None:
    roster, keys = cast([4, 2, 5], 3)
    inside = drive(list(machines(roster, 7).values()), ROUNDS)
    outside = over_http(roster, keys, machines(roster, 7), ROUNDS)
    states = [played.state for played in outside.values() if isinstance(played, Played)]
    assert states == inside.states
    curator = outside["curator"]
    assert isinstance(curator, Played)
    assert (curator.state.result, curator.refused, curator.missing) == (TOTAL, (), ())


def test_a_helper_that_never_comes_is_named_and_there_is_no_number() -> None:
    roster, keys = cast([4, 7], 2)
    parts = machines(roster, 1)
    del parts["helper-1"]
    patience = Patience(gathering=0.5, round=5.0)
    curator = over_http(roster, keys, parts, ROUNDS, patience=patience)["curator"]
    assert isinstance(curator, Played)
    assert curator.state.result is None
    assert curator.state.failed == "no sum of helper [1]"
    assert curator.missing == ("helper-1 (round 0)",)


def test_messages_of_a_party_that_breaks_off_reach_nobody() -> None:
    """A host that sent to one helper and stopped: the other helper must not miss it alone."""
    roster, keys = cast([4, 7], 2)
    parts = machines(roster, 1)
    relay = Relay(roster, roster.bind(PROTOCOL), bytes(16), ROUNDS, QUICK)

    class BreaksOff(LocalOffice):
        async def post(self, parcel: bytes) -> None:
            await super().post(parcel)
            raise ConnectionResetError

    played = through(relay, keys, parts, {"host-0": BreaksOff})
    assert relay.missing == {"host-0": 1}
    assert isinstance(played["host-0"], ConnectionResetError)
    curator = played["curator"]
    assert isinstance(curator, Played)
    state: Sum = curator.state
    assert state.people == 7
    assert state.result == int(VALUES[4:].sum())
    assert curator.refused == ()


def _served(
    test: Callable[[Relay, RelayServer, str, Roster, dict[str, KeyPair]], Any],
) -> None:
    roster, keys = cast([4, 7], 2)
    study = roster.bind(bytes(32))

    async def run() -> None:
        relay = Relay(roster, study, bytes(16), ROUNDS, QUICK)
        server = RelayServer(relay, Seat(roster, study, keys["curator"]))
        where = await server.start()
        try:
            async with asyncio.timeout(20):
                await test(relay, server, where, roster, keys)
        finally:
            await server.stop()

    asyncio.run(run())


def _parcel(roster: Roster, keys: dict[str, KeyPair], **changes: Any) -> bytes:
    about: dict[str, Any] = {
        "study": roster.bind(bytes(32)).hex(),
        "session": bytes(16).hex(),
        "round": 1,
        "kind": "share",
        "sender": "host-0",
        "receiver": "helper-0",
        "sequence": 0,
    }
    head = Head(**(about | changes))
    return seal(b"text", head, keys["host-0"], roster.party("helper-0").key)


def _office(where: str, roster: Roster, keys: KeyPair, **changes: Any) -> HttpOffice:
    seat = Seat(roster, roster.bind(bytes(32)), keys)
    about = {"token": seat.token(), "study": seat.study, "timeout": 2.0} | changes
    return HttpOffice(where, **about)


def test_the_same_bytes_are_accepted_once_and_other_bytes_never() -> None:
    async def test(relay: Relay, _: Any, where: str, roster: Roster, keys: Any) -> None:
        office = _office(where, roster, keys["host-0"])
        assert await office.join() == bytes(16)
        for name in ("curator", "helper-0", "helper-1", "host-1"):
            await relay.join(name)
        conducting = asyncio.create_task(relay.conduct())
        await asyncio.sleep(0)
        parcel = _parcel(roster, keys)
        for _ in range(3):
            await office.post(parcel)
        with pytest.raises(WireError, match=r"parcel 0 \(share\) of round 1 .* other content"):
            await office.post(_parcel(roster, keys))
        await office.done(1)
        await office.done(1)
        await office.post(parcel)  # the same answer also after the round
        with pytest.raises(TransportError, match="not belong to the round"):
            await office.post(_parcel(roster, keys, sequence=1))
        for name in ("curator", "helper-0", "helper-1", "host-1"):
            await relay.done(name, 1)
        assert await relay.parcel("helper-0", 1, 0, 5.0) == parcel
        assert await relay.parcel("helper-0", 1, 1, 5.0) == b""
        assert await relay.parcel("helper-1", 1, 0, 5.0) == b""
        conducting.cancel()
        await office.close()

    _served(test)


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"sender": "host-1"}, WireError, "was sent by host-0"),
        ({"sender": "stranger"}, WireError, "'stranger' is not in the roster"),
        ({"receiver": "stranger"}, WireError, "'stranger' is not in the roster"),
        ({"session": "00" * 15 + "01"}, DigestError, "another study, roster or session"),
        ({"study": "00" * 32}, DigestError, "another study, roster or session"),
        ({"round": 2}, TransportError, "not belong to the round"),
    ],
)
def test_the_relay_refuses_parcels_of_others(
    changes: dict[str, Any], error: type[Exception], match: str
) -> None:
    async def test(relay: Relay, _: Any, where: str, roster: Roster, keys: Any) -> None:
        office = _office(where, roster, keys["host-0"])
        await office.join()
        with pytest.raises(error, match=match):
            await office.post(_parcel(roster, keys, **changes))
        await office.close()

    _served(test)


def test_another_roster_and_another_token_are_refused() -> None:
    async def test(relay: Relay, _: Any, where: str, roster: Roster, keys: Any) -> None:
        fewer = Roster(roster.parties[:-1])
        with pytest.raises(DigestError, match="roster differ"):
            await _office(where, fewer, keys["host-0"]).join()
        with pytest.raises(TransportError, match="token is unknown"):
            await _office(where, roster, keys["host-0"], token="00" * 32).join()
        # The token of another study does not help either, whatever study is named.
        other = Seat(roster, bytes(32), keys["host-0"]).token()
        with pytest.raises(TransportError, match="token is unknown"):
            await _office(where, roster, keys["host-0"], token=other).join()

    _served(test)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", b"400"),
        (b"DELETE /v1/join HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /v1/join HTTP/1.1\r\n\r\n", b"401"),
        (b"POST /v1/join HTTP/1.1\r\nA: b\r\nA: b\r\n\r\n", b"400"),
        (b"POST /v1/join HTTP/1.1\r\nA : b\r\n\r\n", b"400"),
        (b"POST /v1/join HTTP/1.1\r\nA: " + b"b" * 20_000 + b"\r\n\r\n", b"400"),
        (b"POST /v1/join HTTP/1.1\r\n%TOKEN\r\n\r\n", b"200"),
        (b"POST /v1/nothing HTTP/1.1\r\n%TOKEN\r\n\r\n", b"404"),
        (b"POST /v1/done/x HTTP/1.1\r\n%TOKEN\r\n\r\n", b"404"),
        (b"POST /v1/done/7 HTTP/1.1\r\n%TOKEN\r\n\r\n", b"410"),
        (b"POST /v1/parcel HTTP/1.1\r\n%TOKEN\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /v1/parcel HTTP/1.1\r\n%TOKEN\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"POST /v1/parcel HTTP/1.1\r\n%TOKEN\r\nContent-Length: 4\r\n\r\nabcd", b"400"),
        (b"POST /v1/parcel HTTP/1.1\r\n%TOKEN\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
    ],
)
def test_requests_that_are_malformed_too_long_or_without_token(
    request_bytes: bytes, status: bytes
) -> None:
    async def test(relay: Relay, _: Any, where: str, roster: Roster, keys: Any) -> None:
        token = Seat(roster, roster.bind(bytes(32)), keys["host-0"]).token().encode()
        host, port = where.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request_bytes.replace(b"%TOKEN", b"Authorization: Bearer " + token))
        assert (await reader.readline()).split()[1] == status
        writer.close()
        await writer.wait_closed()

    _served(test)


def test_the_relay_takes_no_parcel_above_the_limit() -> None:
    roster, _ = cast([4], 2)
    relay = Relay(roster, roster.bind(bytes(32)), bytes(16), ROUNDS)
    with pytest.raises(WireError, match="more than 67,108,864 bytes"):
        relay.accept("host-0", bytes(MOST_BYTES + 1))


def test_plain_http_stays_on_this_machine() -> None:
    roster, keys = cast([4], 2)
    relay = Relay(roster, bytes(32), bytes(16), ROUNDS)
    with pytest.raises(ParameterError, match="needs TLS"):
        RelayServer(relay, Seat(roster, bytes(32), keys["curator"]), host="0.0.0.0")
    with pytest.raises(ParameterError, match="use https"):
        HttpOffice("http://example.org:80", "", bytes(32))


@pytest.mark.parametrize("host", ["127.0.0.1", "a..localhost"])
def test_where_nobody_can_listen_is_named(host: str) -> None:
    roster, keys = cast([4], 2)
    relay = Relay(roster, bytes(32), bytes(16), ROUNDS)
    seat = Seat(roster, bytes(32), keys["curator"])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for port in (taken.getsockname()[1], 99_999):
            server = RelayServer(relay, seat, host=host, port=port, tls=file_client(None))
            said = f"cannot listen on {host}:{port}: .*choose another"
            with pytest.raises(TransportError, match=said):
                asyncio.run(server.start())


def test_a_relay_that_is_not_there_is_named() -> None:
    async def run() -> None:
        office = HttpOffice("http://127.0.0.1:9", "", bytes(32), timeout=0.2)
        with pytest.raises(TransportError, match=r"127\.0\.0\.1:9 did not answer"):
            await office.join()

    asyncio.run(run())


def test_a_lost_answer_is_asked_for_again_with_the_same_bytes() -> None:
    """A relay that hangs up in the middle of the first answers: the run ends all the same."""
    bodies: list[bytes] = []

    async def run() -> None:
        async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            bodies.append(head + await reader.readexactly(3))
            if len(bodies) < 3:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        office = HttpOffice(f"http://127.0.0.1:{port}", "x", bytes(32), timeout=5.0)
        await office.post(b"abc")
        await office.close()
        server.close()

    asyncio.run(run())
    assert len(bodies) == 3
    assert len(set(bodies)) == 1


def test_a_session_is_played_once_and_sessions_about_one_subject_are_counted(
    tmp_path: Any,
) -> None:
    path = tmp_path / "key.sessions"
    one, other = Sessions(path, bytes(32)), Sessions(path, b"x" * 32)
    assert one.count() == 0
    assert (one.note(bytes(16)), one.note(b"x" * 16), other.note(b"y" * 16)) == (1, 2, 1)
    assert (one.count(), other.count()) == (2, 1)
    with pytest.raises(TransportError, match="already"):
        Sessions(path, b"z" * 32).note(bytes(16))
    path.write_bytes(path.read_bytes() + b"altered\n")
    with pytest.raises(FileError, match="altered"):
        one.count()


@pytest.mark.parametrize("written", range(0, 98, 7))
def test_a_note_that_a_full_disk_cut_short_does_not_hide_the_next(
    tmp_path: Path, written: int
) -> None:
    path = tmp_path / "key.sessions"
    sessions = Sessions(path, bytes(32))
    sessions.note(b"a" * 16)
    whole = path.stat().st_size
    sessions.note(b"b" * 16)
    with path.open("r+b") as stream:
        stream.truncate(whole + written)
    assert sessions.note(b"c" * 16) == 2
    assert b"c" * 16 in sessions
    with pytest.raises(TransportError, match="already"):
        sessions.note(b"c" * 16)


def test_runs_about_the_same_subject_are_counted(tmp_path: Path) -> None:
    roster, keys = cast([4, 7], 2)
    sessions = Sessions(tmp_path / "key.sessions", bytes(32))
    for times in (1, 2):
        ends = over_http(roster, keys, machines(roster, times), ROUNDS, sessions=sessions)
        curator = ends["curator"]
        assert isinstance(curator, Played)
        assert (curator.state.result, curator.times) == (TOTAL, times)


def test_nothing_is_sent_in_a_session_that_comes_back(tmp_path: Path) -> None:
    """A relay that runs a session again would get a second sum, or a second set of coins."""
    roster, keys = cast([4, 7], 2)
    sessions = Sessions(tmp_path / "key.sessions", bytes(32))
    sessions.note(bytes(16))
    relay = Relay(roster, roster.bind(PROTOCOL), bytes(16), ROUNDS, QUICK)
    seat = Seat(roster, relay.study, keys["host-0"])
    posted: list[bytes] = []

    class Watched(LocalOffice):
        async def post(self, parcel: bytes) -> None:
            posted.append(parcel)

    with pytest.raises(TransportError, match="already"):
        asyncio.run(
            play(
                machines(roster, 1)["host-0"],
                ROUNDS,
                seat,
                Watched(relay, "host-0"),
                sessions=sessions,
            )
        )
    assert posted == []


def test_a_machine_that_plays_others_is_refused() -> None:
    roster, keys = cast([4, 7], 2)
    seat = Seat(roster, bytes(32), keys["host-0"])
    wrong = machines(roster, 1)["host-1"]
    with pytest.raises(WireError, match="other members than host-0"):
        asyncio.run(take_part(wrong, ROUNDS, seat, "http://127.0.0.1:9"))
    relay = Seat(roster, bytes(32), keys["helper-0"])
    with pytest.raises(WireError, match="not the relay"):
        asyncio.run(serve(machines(roster, 1)["helper-0"], ROUNDS, relay, address=Address()))


def test_with_s1_the_relay_is_s1() -> None:
    keys = [KeyPair.generate().public for _ in range(2)]
    with pytest.raises(Exception, match="must be S1"):
        Roster((Party("a", Role.S1, keys[0]), Party("b", Role.S2, keys[1], relay=True)))
