"""The commands around a collection, from `study new` to counts at home, with a real server."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.contract.aggregate import Aggregate
from sottovoce.contract.reports import ReportWriter
from sottovoce.service import demo
from sottovoce.service.client import path_of
from tests.service.serving import client, post, running
from tests.service.studies import body, commute, reports
from tests.transport.tls import certificate

STUDY = commute()


def run(*arguments: str | Path, code: int = 0) -> Any:
    result: Result = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout) if not code else result.stderr


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    STUDY.save(path)
    return path


def file_of(path: Path, n: int) -> Path:
    with ReportWriter(path) as writer:
        writer.append(reports(STUDY.mechanism(), n))
    return path


@contextmanager
def process(*arguments: str | Path) -> Iterator[dict[str, Any]]:
    """`sottovoce serve` in a process of its own."""
    command = [sys.executable, "-m", "sottovoce.cli", "serve", *map(str, arguments)]
    with subprocess.Popen(
        [*command, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        try:
            lines = []
            for line in server.stdout or ():
                lines.append(line)
                if line == b"}\n":
                    break
            yield json.loads(b"".join(lines))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
            assert server.stderr is not None
            said = server.stderr.read()
    assert server.returncode == 0, said
    assert said == b""


def test_from_reports_to_counts_at_home(study_file: Path, tmp_path: Path) -> None:
    sent = file_of(tmp_path / "reports.svr", 300)
    with process(study_file) as about:
        to = about["participants"][0]
        assert run("send", sent, "--to", to)["accepted"] == 300
        again = run("send", sent, "--to", to)
        assert again["accepted"] == 300
        assert run("send", sent, "--to", f"{to}/")["receipts"] == again["receipts"]
        assert run("send", file_of(tmp_path / "b.svr", 5), "--to", to)["accepted"] == 5
        out = tmp_path / "counts.sva"
        assert run("pull", to, "--token", about["token"], "--out", out)["people"] == 305
        assert "nothing that you may" in run(
            "pull", to, "--token", "x", "--out", tmp_path / "c.sva", code=1
        )
    assert "what follows key= in the link" in run("pull", to, "--out", out, code=2)
    assert Aggregate.load(out, expect=STUDY).people == 305
    status = run("collection", "status", study_file)
    assert status["people"] == {"commute": 305}
    assert status["submissions"] == 2
    verified = run("collection", "verify", study_file, "--receipt", again["receipts"][0])
    assert verified == {"study": STUDY.title, "blobs": 2, "reports": 305, "receipt": True}
    assert run("collection", "verify", study_file, "--receipt", "00" * 16)["receipt"] is False
    assert "has 32 hexadecimal digits; `sottovoce send`" in run(
        "collection", "verify", study_file, "--receipt", f"{sent}.receipt", code=1
    )
    with process(study_file) as about:
        assert run("send", sent, "--to", about["participants"][0], code=1)  # another address


def test_a_long_file_is_divided_and_an_interrupted_one_goes_on(
    study_file: Path, tmp_path: Path
) -> None:
    sent = file_of(tmp_path / "long.parquet", 25_000)
    assert "--study" in run("send", sent, "--to", "http://127.0.0.1:9", code=1)
    with running(STUDY, tmp_path / "study.collection") as server:
        about = run("send", sent, "--to", server.address, "--study", study_file)
        assert about["accepted"] == 25_000
        assert len(about["receipts"]) == 3
        receipt = json.loads(path_of(sent).read_text())
        receipt["answers"] = receipt["answers"][:1]  # as if it had been interrupted
        path_of(sent).write_text(json.dumps(receipt))
        assert run("send", sent, "--to", server.address, "--study", study_file) == about
        assert server.collector.people("commute") == 25_000
        assert "a code is good for one" in run(
            "send", sent, "--to", server.address, "--study", study_file, "--code", "X", code=1
        )


def test_invitations(study_file: Path, tmp_path: Path) -> None:
    codes = tmp_path / "codes.csv"
    with running(STUDY, tmp_path / "study.collection") as server, client(server) as one:
        assert post(one, body(STUDY)).status_code == 200
        assert run("invite", study_file, "--people", "3", "--out", codes)["codes"] == 3
        assert codes.stat().st_mode & 0o77 == 0
        _, first, second, _ = codes.read_text().splitlines()
        assert post(one, body(STUDY)).status_code == 403
        used = post(one, body(STUDY), **{"sottovoce-code": first})
        assert used.status_code == 200
        again = post(one, body(STUDY), **{"sottovoce-code": first})
        unknown = post(one, body(STUDY), **{"sottovoce-code": "0000-0000-0000-0000"})
        assert again.status_code == 403
        assert again.content == unknown.content
        sent = file_of(tmp_path / "one.svr", 1)
        assert run("send", sent, "--to", server.address, "--code", second)["accepted"] == 1
    status = run("collection", "status", study_file)
    assert (status["codes"], status["codes_used"]) == (3, 2)
    assert "0 codes" in run(
        "invite", study_file, "--people", "0", "--out", codes, "--force", code=1
    )


def test_close_export_backup_restore(study_file: Path, tmp_path: Path) -> None:
    with running(STUDY, tmp_path / "study.collection") as server, client(server) as one:
        data = body(STUDY, 40)
        post(one, data)
        assert run("collection", "close", study_file) == {
            "study": STUDY.title, "closed": True, "already": False,
        }  # fmt: skip
        assert post(one, body(STUDY)).status_code == 410
        assert post(one, data).status_code == 200
    for name in ("reports.svr", "reports.parquet", "counts.sva"):
        out = tmp_path / name
        assert run("collection", "export", study_file, "--out", out)["reports"] == 40
    loaded = sv.Reports.from_bytes((tmp_path / "reports.svr").read_bytes(), expect=STUDY)
    assert STUDY.mechanism().aggregate(loaded) == Aggregate.load(
        tmp_path / "counts.sva", expect=STUDY
    )
    saved = tmp_path / "monday.backup"
    run("collection", "backup", study_file, "--out", saved)
    elsewhere = tmp_path / "elsewhere"
    run("collection", "restore", study_file, saved, "--store", elsewhere)
    status = run("collection", "status", study_file, "--store", elsewhere)
    assert (status["people"], status["closed"]) == ({"commute": 40}, True)
    assert "not empty" in run("collection", "restore", study_file, saved, code=1)
    assert "no collection" in run(
        "collection", "status", study_file, "--store", tmp_path / "none", code=1
    )


def test_damage_is_noticed(study_file: Path, tmp_path: Path) -> None:
    with running(STUDY, tmp_path / "study.collection") as server, client(server) as one:
        post(one, body(STUDY, 40))
    import sqlite3

    with sqlite3.connect(tmp_path / "study.collection" / "collection.sqlite") as connection:
        connection.execute("UPDATE blobs SET people = 41")
    connection.close()
    assert "damaged" in run("collection", "verify", study_file, code=1)


def test_a_link_may_go_to_a_private_file(study_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "link"
    with process(study_file, "--link-file", file) as about:
        assert "token" not in about
        assert about["analyst"] == str(file)
        link = file.read_text().strip()
        assert file.stat().st_mode & 0o77 == 0
        assert httpx.get(link, follow_redirects=True).status_code == 200


def test_the_demo_fills_the_page() -> None:
    with process("--demo") as about, httpx.Client(follow_redirects=True) as one:
        end = time.monotonic() + 30
        while "more people" not in (page := one.get(about["analyst"]).text):
            assert time.monotonic() < end, page
            time.sleep(0.3)
    assert not Path(about["store"]).exists()


def test_the_demo_ends_while_people_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = []

    async def run() -> None:
        loop, began, ending = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

        def send(*_: object) -> None:
            loop.call_soon_threadsafe(began.set)
            answered.append(asyncio.run_coroutine_threadsafe(ending.wait(), loop).result(10))

        monkeypatch.setattr(demo, "_send", send)
        crowd = asyncio.create_task(demo.answer(demo.demo_study(), "http://127.0.0.1:9"))
        await began.wait()
        crowd.cancel()
        ending.set()  # the server's loop must be free for its answer
        with suppress(asyncio.CancelledError):
            await crowd

    asyncio.run(run())
    assert answered == [True]


def test_serve_needs_a_study_or_the_demo(study_file: Path) -> None:
    assert "not both" in run("serve", code=1)
    assert "not both" in run("serve", study_file, "--demo", code=1)


def test_a_token_does_not_travel_in_the_clear(tmp_path: Path) -> None:
    out = tmp_path / "c.sva"
    assert "https" in run("pull", "http://example.org", "--token", "x", "--out", out, code=1)


def test_a_server_that_is_away_is_named(tmp_path: Path) -> None:
    sent = file_of(tmp_path / "r.svr", 1)
    said = run("send", sent, "--to", "http://127.0.0.1:9", "--patience", "0.3", code=1)
    assert "nothing is counted twice" in said
    ids = json.loads(path_of(sent).read_text())["ids"]
    run("send", sent, "--to", "http://127.0.0.1:9", "--patience", "0", code=1)
    assert json.loads(path_of(sent).read_text())["ids"] == ids
    assert len(list(tmp_path.iterdir())) == 2


def test_tls(study_file: Path, tmp_path: Path) -> None:
    pem, key = certificate(tmp_path, "collector")
    sent = file_of(tmp_path / "r.svr", 3)
    with process(study_file, "--tls", pem, key) as about:
        to = about["participants"][0]
        assert to.startswith("https://")
        trusted = ("--certificate", pem)
        assert run("send", sent, "--to", to, *trusted)["accepted"] == 3
        assert "certificate" in run("send", file_of(tmp_path / "b.svr", 1), "--to", to, code=1)
        out = tmp_path / "c.sva"
        assert run("pull", to, "--token", about["token"], "--out", out, *trusted)["people"] == 3
        signed_in = httpx.get(about["analyst"], verify=ssl.create_default_context(cafile=pem))
        assert "secure" in signed_in.headers["set-cookie"].lower()
