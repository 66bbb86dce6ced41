"""Too much, too slow, too often: cut off with a reason, and everyone else is served."""

from __future__ import annotations

import json
import socket
import ssl
import time
from pathlib import Path

import httpx
import pytest

from sottovoce.service.ingest import Limits, Rates
from sottovoce.service.server import Running
from tests.service.serving import client, post, running
from tests.service.studies import body, commute
from tests.transport.tls import certificate

STUDY = commute()


def connect(server: Running) -> socket.socket:
    host, port = server.address.partition("://")[2].split(":")
    return socket.create_connection((host, int(port)), timeout=15)


def answer(connection: socket.socket) -> bytes:
    """Everything until the server hangs up."""
    parts = []
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def status(data: bytes) -> int:
    return int(data.split(b" ", 2)[1]) if data else 0


HEAD = b"POST /api/v1/reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\n"


def test_large_bodies_are_cut_off_unread(tmp_path: Path) -> None:
    with running(STUDY, tmp_path) as server:
        with connect(server) as one:
            one.sendall(HEAD + b"content-length: 400000000\r\n\r\n" + bytes(1000))
            said = answer(one)
            assert status(said) == 413
            assert b"application/problem+json" in said
        with connect(server) as one:  # without saying how long it is
            one.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
            sent = 0
            try:
                while sent < 400_000_000:
                    one.sendall(b"10000\r\n" + bytes(65536) + b"\r\n")
                    sent += 65536
            except ConnectionError:
                pass
            assert sent < 20_000_000
        with connect(server) as one:  # a head without an end
            one.sendall(b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 100_000)
            assert status(answer(one)) == 413
        with client(server) as one_more:
            assert post(one_more, body(STUDY)).status_code == 200


def test_a_compression_bomb_is_not_unpacked(tmp_path: Path) -> None:
    with running(STUDY, tmp_path) as server, client(server) as one:
        for coding in ("gzip", "deflate", "br", "gzip, gzip"):
            assert post(one, b"\x1f\x8b" * 50, **{"content-encoding": coding}).status_code == 415


def test_slow_connections_are_cut_off(tmp_path: Path) -> None:
    with running(STUDY, tmp_path, seconds=0.6) as server:
        start = time.monotonic()
        slow = []
        for opening in (
            b"",
            b"GE",
            b"GET / HTTP/1.1\r\nhost: x\r\n",
            HEAD + b"content-length: 500\r\n\r\nabc",
            HEAD + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
            b"GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nab",
        ):
            for _ in range(5):
                one = connect(server)
                one.sendall(opening)
                slow.append(one)
        with client(server) as good:
            assert post(good, body(STUDY)).status_code == 200
        answers = [answer(one) for one in slow]
        assert time.monotonic() - start < 8
        assert all(status(said) == 408 for said in answers[:25])
        for one in slow:
            one.close()


def test_tls_handshakes_are_limited_in_time(tmp_path: Path) -> None:
    pem, key = certificate(tmp_path, "collector")
    files = {"certificate": pem, "key": key}
    with running(STUDY, tmp_path / "store", settings=files, seconds=0.6) as server:
        start = time.monotonic()
        for opening in (b"", b"\x16\x03\x01"):
            with connect(server) as one:
                one.sendall(opening)
                answer(one)
        assert time.monotonic() - start < 8
        trusted = ssl.create_default_context(cafile=pem)
        health = httpx.get(f"{server.address}/health", verify=trusted)
        assert health.status_code == 200


def test_too_many_connections_get_503_and_then_are_served(tmp_path: Path) -> None:
    with running(STUDY, tmp_path, connections=10) as server:
        idle = [connect(server) for _ in range(10)]
        time.sleep(0.2)
        with connect(server) as one:
            one.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            said = answer(one)
            assert status(said) == 503
            assert b"retry-after: " in said
        for other in idle:
            other.close()
        time.sleep(0.2)
        with client(server) as good:
            assert good.get("/health").status_code == 200


def test_more_than_can_wait_gets_503_with_a_time(tmp_path: Path) -> None:
    with running(STUDY, tmp_path, waiting_bytes=5000) as server:
        with connect(server) as one:
            one.sendall(HEAD + b"content-length: 4990\r\n\r\n")  # reserved, and not sent
            time.sleep(0.2)
            with client(server) as other:
                busy = post(other, body(STUDY))
                assert busy.status_code == 503
                assert int(busy.headers["retry-after"]) > 0
        time.sleep(0.2)
        with client(server) as other:
            assert post(other, body(STUDY)).status_code == 200


def test_too_often_gets_429_with_a_time(tmp_path: Path) -> None:
    with running(STUDY, tmp_path, rate=1.0, burst=5) as server, client(server) as one:
        answers = [post(one, body(STUDY)) for _ in range(8)]
        assert [a.status_code for a in answers[:5]] == [200] * 5
        assert 429 in [a.status_code for a in answers[5:]]
        refused = answers[-1]
        assert int(refused.headers["retry-after"]) > 0
        assert json.loads(refused.content)["type"].endswith(":rate")


def test_rates_are_by_address_and_forgotten() -> None:
    now = [0.0]
    rates = Rates(Limits(1, rate=2.0, burst=2), clock=lambda: now[0])
    assert [rates.allows("a") for _ in range(3)] == [True, True, False]
    assert rates.allows("b")
    now[0] = 0.5
    assert rates.allows("a")
    assert not rates.allows("a")
    for k in range(50_000):
        rates.allows(str(k))
    assert len(rates._buckets) <= Rates._MOST


def test_what_is_no_http_is_refused_without_a_word_in_the_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(STUDY, tmp_path) as server:
        for nonsense in (b"\x16\x03\x01\x02\x00", b"HELO\r\n\r\n", b"GET\r\n\r\n", bytes(100)):
            with connect(server) as one:
                one.sendall(nonsense)
                assert status(answer(one)) == 400
        upgrade = {"connection": "upgrade", "upgrade": "websocket"}
        assert httpx.get(f"{server.address}/health", headers=upgrade).status_code == 200
    assert capfd.readouterr() == ("", "")


def test_shutdown_commits_what_was_received(tmp_path: Path) -> None:
    with running(STUDY, tmp_path) as server, client(server) as one:
        assert post(one, body(STUDY, 7)).status_code == 200
    with running(STUDY, tmp_path) as server:
        assert server.collector.people("commute") == 7
