"""What an operator, a sender or an analyst gets wrong: said at once, and with the way out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.service.client import Server
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
    assert "export study.toml --out reports.svr --store 'my store'" in words
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
