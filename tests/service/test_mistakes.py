"""What an operator, a sender or an analyst gets wrong: said at once, and with the way out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.service import client
from sottovoce.service.client import Receipt, Server, path_of
from sottovoce.transport.client import HttpOffice
from tests.transport.tls import certificate

TWO = sv.Study(
    "Two questions",
    (
        sv.GRR(sv.Attribute("How do you travel?", ["car", "bike"]), epsilon=1.0),
        sv.GRR(sv.Attribute("tea", ["yes", "no"]), epsilon=1.0),
    ),
)


def said(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.stderr if code else result.stdout


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    TWO.save("study.toml")
    return "study.toml"


@pytest.mark.parametrize("wrong", ["missing", "swapped", "no text"])
def test_a_certificate_that_cannot_be_used_ends_the_server(
    study: str, tmp_path: Path, wrong: str
) -> None:
    pem, key = certificate(tmp_path, "collector")
    Path("junk.pem").write_bytes(b"\0junk")
    files = {"missing": ("no.pem", key), "swapped": (key, pem), "no text": ("junk.pem", key)}[wrong]
    begun = time.monotonic()
    words = said("serve", study, "--port", "0", "--tls", *files, code=1)
    assert time.monotonic() - begun < 20
    assert repr(str(files[0])) in words
    assert "--tls CERT KEY" in words


def test_a_certificate_to_trust_that_is_missing_is_not_tried_again(study: str) -> None:
    with pytest.raises(sv.SottovoceError, match=r"cannot use the certificate 'no\.pem': No such"):
        Server("https://127.0.0.1:9", certificate=Path("no.pem"))


def test_an_analysts_link_as_an_address_is_not_repeated(study: str) -> None:
    link = "https://collector.example/results?key=SECRET"
    words = said("pull", link, "--token", "x", "--out", "c.sva", code=1)
    assert "collector.example/results?…" in words
    assert "SECRET" not in words


def test_who_only_asks_is_not_told_to_send_again(study: str) -> None:
    words = said(
        "pull", "http://127.0.0.1:9", "--token", "x", "--out", "c.sva", "--patience", 0, code=1
    )
    assert words.endswith("; ask again later\n")


@pytest.mark.parametrize("more", [(), ("--study", "study.toml")])
def test_answers_are_not_sent_and_named(study: str, more: tuple[str, ...]) -> None:
    Path("answers.csv").write_text("tea\nyes\nno\n")
    words = said("send", "answers.csv", "--to", "http://127.0.0.1:9", *more, code=1)
    assert "is a table of answers, not reports: run `sottovoce randomise answers.csv" in words


def test_the_next_command_can_be_run_as_it_stands(study: str) -> None:
    name = "How do you travel?"
    Path("r r.svr").write_bytes(TWO.mechanism(name).randomise(["car"] * 9).to_bytes())
    words = said("aggregate", "r r.svr", "--study", study, "--out", "c c.sva", "--question", name)
    following = words.split("Next: sottovoce ")[1].strip()
    assert following == f"estimate 'c c.sva' --study study.toml --question '{name}'"


def test_the_store_stays_the_one_that_was_named(study: str) -> None:
    said("invite", study, "--people", 1, "--out", "codes.csv", "--store", "my store")
    words = said("collection", "close", study, "--store", "my store")
    assert (
        "export study.toml --question 'How do you travel?' --out reports.svr --store 'my store'"
    ) in words
    said("collection", "backup", study, "--store", "my store", "--out", "a.backup")
    assert "add --force" in said(
        "collection", "backup", study, "--store", "my store", "--out", "a.backup", code=1
    )
    said("collection", "backup", study, "--store", "my store", "--out", "a.backup", "--force")
    assert "an empty one (--store)" in said(
        "collection", "restore", study, "a.backup", "--store", "my store", code=1
    )
    words = said("collection", "restore", study, "a.backup", "--store", "other")
    assert "verify study.toml --store other" in words


@contextmanager
def answering(status: int, body: bytes, *, length: int | None = None) -> Iterator[str]:
    """The address of a server that always answers so, and says that it is of this length."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_counts_that_were_cut_off_on_the_way_are_not_saved(study: str) -> None:
    tea = TWO.mechanism("tea")
    counts = tea.aggregate(tea.randomise(["yes"] * 9)).to_bytes()
    with answering(200, counts[:60], length=len(counts)) as address:
        ask = ("pull", address, "--token", "x", "--out", "c.sva", "--patience", 0)
        assert "60 bytes read" in said(*ask, code=1)
    assert not Path("c.sva").exists()
    with answering(200, counts) as address:
        said("pull", address, "--token", "x", "--out", "c.sva")
    assert Path("c.sva").read_bytes() == counts


def test_an_answer_that_is_too_long_is_not_shortened(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST_ANSWER", 100)
    with answering(200, b"SVAG" + bytes(97)) as address:
        ask = ("pull", address, "--token", "x", "--out", "c.sva")
        assert "more than 100 bytes" in said(*ask, code=1)
    assert not Path("c.sva").exists()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Welcome</html>",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"accepted": "9", "refused": [], "receipt": ""}',
        b'{"accepted": 9, "refused": ["x"], "receipt": ""}',
    ],
)
def test_only_what_a_collection_answers_counts_as_sent(study: str, body: bytes) -> None:
    Path("r.svr").write_bytes(TWO.mechanism("tea").randomise(["yes"] * 9).to_bytes())
    with answering(200, body) as address:
        assert "did not answer as a collection does" in said(
            "send", "r.svr", "--to", address, code=1
        )
    assert '"answers": []' in path_of(Path("r.svr")).read_text()


def test_two_that_send_a_file_at_once_send_it_under_the_same_ids(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, save, receipts = Path("r.svr"), Receipt.save, []

    def at_once(self: Receipt, path: Path, **options: bool) -> None:
        monkeypatch.setattr(Receipt, "save", save)
        receipts.append(Receipt.of(path, "http://a", b"", 3))  # before this one is written
        save(self, path, **options)

    monkeypatch.setattr(Receipt, "save", at_once)
    receipts.append(Receipt.of(path, "http://a", b"", 3))
    assert receipts[0] == receipts[1] == Receipt.read(path_of(path))


@pytest.mark.parametrize(
    "change",
    [{"ids": 3}, {"ids": ["x"]}, {"ids": ["00"]}, {"answers": [{}]}, {"answers": 1}, {"more": 1}],
)
def test_a_receipt_of_the_wrong_shape_is_named(study: str, change: dict[str, object]) -> None:
    Path("r.svr").write_bytes(TWO.mechanism("tea").randomise(["yes"] * 9).to_bytes())
    send = ("send", "r.svr", "--to", "http://127.0.0.1:9", "--patience", 0)
    said(*send, code=1)
    kept = path_of(Path("r.svr"))
    kept.write_text(json.dumps({**json.loads(kept.read_text()), **change}))
    assert "'r.svr.receipt' is not a receipt; move it away" in said(*send, code=1)


ADDRESSES = [
    *("collector.example", "ftp://a.example", "http://", "http://127.0.0.1:99999"),
    *("http://127.0.0.1:port", "http://[::1", "https://a..b", "https://a.example/über"),
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_is_no_address_is_named(study: str, address: str) -> None:
    Path("r.svr").write_bytes(TWO.mechanism("tea").randomise(["yes"] * 9).to_bytes())
    about = f"{address!r} is not an address such as"
    assert about in said("send", "r.svr", "--to", address, code=1)
    assert about in said("pull", address, "--token", "x", "--out", "c.sva", code=1)
    with pytest.raises(sv.SottovoceError, match="is not an address such as"):
        HttpOffice(address, "token", bytes(32))


@pytest.mark.parametrize("secret", ["…", "SECRET\nSECRET", "\x00"])
def test_what_is_no_token_or_code_is_not_sent_nor_repeated(study: str, secret: str) -> None:
    Path("r.svr").write_bytes(TWO.mechanism("tea").randomise(["yes"] * 9).to_bytes())
    at = "http://127.0.0.1:9"
    for words in (
        said("send", "r.svr", "--to", at, "--code", secret, code=1),
        said("pull", at, "--token", secret, "--out", "c.sva", code=1),
    ):
        assert "has other characters than" in words
        assert "SECRET" not in words


def test_a_link_does_not_work_for_ever(study: str) -> None:
    words = said("serve", study, "--port", "0", "--link-days", "inf", code=2)
    assert "it must be a number from 0.01 to 36,500" in words
