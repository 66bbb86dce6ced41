"""Runs at the same time: those with other people do not wait, those with the same people do.

Nor does one replace the output of another that it has not seen.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from pathlib import Path

import pytest

from sottovoce.collect import release as releasing
from sottovoce.collect.fingerprint import Content
from sottovoce.collect.ledger import Entry, Ledger, Subject
from sottovoce.collect.receipts import Release


def subject(letter: str, path: str, prefixes: dict[int, str] | None = None) -> Subject:
    certain = bool(prefixes)
    content = Content(8, letter * 64, "", {"c": letter * 64}, prefixes or {}, certain)
    return Subject("s", "q", "grr", "0" * 64, "c", path, content)


def release(entry: Entry) -> None:
    number = len(entry.receipt().releases) + 1
    kept = entry.kept(number, "svr")
    kept.write_bytes(b"reports")
    entry.write(entry.receipt().with_release(Release("2026-01-01", 8, kept.name, {})))


def test_runs_with_other_answers_do_not_wait(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with ledger.entry(subject("a", "/a")), ThreadPoolExecutor(1) as pool:

        def other() -> bool:
            with Ledger(tmp_path / "ledger").entry(subject("b", "/b")):
                return True

        assert pool.submit(other).result(timeout=30)
    assert [path.name for path in (tmp_path / "ledger").iterdir()] == ["key"]


VERSIONS = {
    "changed": (subject("a", "/a"), subject("b", "/a")),
    "copied, with more people": (
        subject("a", "/a", {8: "c" * 64}),
        subject("b", "/b", {8: "c" * 64, 9: "b" * 64}),
    ),
}


@pytest.mark.parametrize("before", [0, 1], ids=["first", "again"])
@pytest.mark.parametrize("versions", VERSIONS.values(), ids=VERSIONS)
def test_two_versions_of_a_file_at_once_see_each_other(
    tmp_path: Path, versions: tuple[Subject, Subject], before: int
) -> None:
    """Otherwise the people in both would be released twice without anybody being told."""
    one, other = versions
    ledger = Ledger(tmp_path / "ledger")
    for _ in range(before):
        with ledger.entry(one) as entry:
            release(entry)

    def second() -> int:
        with Ledger(tmp_path / "ledger").entry(other) as entry:
            return sum(len(receipt.releases) for receipt in entry.others())

    with ThreadPoolExecutor(1) as pool:
        with ledger.entry(one) as entry:
            seen = pool.submit(second)
            with pytest.raises(NotYetError):
                seen.result(timeout=0.5)
            release(entry)
        assert seen.result(timeout=30) == before + 1


def test_an_output_that_appears_meanwhile_is_not_replaced(folder, run, fails, monkeypatch) -> None:
    draw, command = releasing.draw, ("randomise", "answers.csv", "--study", "study.toml", "--out")

    def meanwhile(*arguments):
        Path("reports.svr").write_bytes(b"of another run")
        return draw(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(releasing, "draw", meanwhile)
        assert "exists already" in fails(*command, "reports.svr")
    assert Path("reports.svr").read_bytes() == b"of another run"
    assert "drawn on" in run(*command, "own.svr").stdout  # once
