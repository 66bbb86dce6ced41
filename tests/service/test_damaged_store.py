"""A damaged SQLite file of a collection: an error that names it, and nothing is counted wrongly."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from sottovoce.cli import main
from sottovoce.service.codes import Codes, make_codes
from sottovoce.service.collector import Collector, Entry
from sottovoce.service.stores import StoreError, copy_store, open_store
from tests.service.studies import commute, submission

STUDY = commute()
COMMANDS = (("status",), ("verify",), ("export", "--out", "x.svr"), ("backup", "--out", "x.backup"))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a collection with reports and codes, beside its study."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(STUDY.to_toml())
    store = open_store(tmp_path / "s.collection", STUDY.digest)
    Collector(STUDY, store).commit([Entry(submission(STUDY, n)) for n in (30, 40)])
    with store.transaction():
        store.put_fact("study", STUDY.to_toml().encode())
        make_codes(store, STUDY.digest, 3)
    store.settle()
    store.close()
    return tmp_path / "s.collection" / "collection.sqlite"


def run(*words: str) -> str:
    """What a command says on stderr: nothing where it succeeds, else one line."""
    result = CliRunner().invoke(main, ["collection", words[0], "s.toml", *words[1:]])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == (1 if result.stderr else 0)
    assert result.stderr.count("\n") <= 1
    return result.stderr


def edit(path: Path, sql: str) -> None:
    """Change a file behind the back of the store, as damage does."""
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("UPDATE facts SET value = 7 WHERE key = 'study'", "a cell is int, not bytes"),
        ("UPDATE facts SET value = 99999999999999 WHERE key = 'digest'", "has no digest"),
        ("UPDATE facts SET value = x'00' WHERE key LIKE 'sheet/%'", "a sheet of codes is cut off"),
        ("UPDATE blobs SET hour = 'noon'", "a cell is str, not int"),
        ("UPDATE blobs SET people = x'07'", "a cell is bytes, not int"),
        ("UPDATE blobs SET people = people + 1", "recorded"),
        ("UPDATE blobs SET data = substr(data, 1, 70)", "the reports end too early"),
        ("UPDATE blobs SET question = 'other'", "there is no question 'other'"),
        ("UPDATE submissions SET tag = 'text'", "a cell is str, not bytes"),
    ],
)
def test_what_is_not_what_was_written_is_refused(path, sql, reason):
    edit(path, sql)
    with pytest.raises(StoreError, match=reason) as refused:
        everything(path)
    assert "collection.sqlite" in str(refused.value)
    for words in COMMANDS:
        said = run(*words)
        assert not said or "collection.sqlite" in said


def everything(path: Path) -> None:
    """Read all there is, as serving and a backup do."""
    store = open_store(path, STUDY.digest)
    target = open_store(path.with_name("copy.sqlite"), STUDY.digest)
    try:
        copy_store(store, target)
        with store.transaction(write=False):
            Codes(store).refresh()
        Collector(STUDY, store)
    finally:
        store.close()
        target.close()


def test_random_damage_never_ends_in_a_traceback(path):
    good = path.read_bytes()
    chance = random.Random(5)
    refused = 0
    for _ in range(60):
        bad = bytearray(good)
        at = chance.randrange(len(bad))
        bad[at : at + 24] = chance.choice([bytes(24), chance.randbytes(24)])[: len(bad[at:])]
        path.write_bytes(bad if chance.random() < 0.8 else bad[:at])
        for words in COMMANDS:
            refused += bool(run(*words))
            Path("x.svr").unlink(missing_ok=True)
            Path("x.backup").unlink(missing_ok=True)
        for log in path.parent.glob("*.sqlite-*"):
            log.unlink()
    assert refused > 60


def test_a_good_store_is_read_as_before(path):
    assert not any(run(*words) for words in COMMANDS)
