"""Stores and the collector: whole or not at all, once, in no order; the same on both engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.contract.reports import Reports
from sottovoce.errors import EstimateError
from sottovoce.service.codes import Codes, hash_code, make_codes
from sottovoce.service.collector import (
    CLOSED,
    CONFLICT,
    NO_CODE,
    REPEATED,
    STORED,
    Collector,
    Entry,
    _Tally,
)
from sottovoce.service.stores import Blob, Store, StoreError, copy_store, open_store
from sottovoce.service.submission import unpack
from tests.service.studies import body, commute, reports, several, submission

STUDY = commute()
Opener = Callable[..., Store]


def collector(opened: Opener, study: sv.Study = STUDY) -> tuple[Collector, Store]:
    store = opened(study.digest)
    return Collector(study, store, clock=lambda: 3600 * 1000 + 1234.5), store


def test_counts_are_those_of_the_reports_and_survive_a_restart(opened: Opener) -> None:
    study = several()
    first, _ = collector(opened, study)
    entries = [Entry(submission(study, n)) for n in (1, 7, 2)]
    assert first.commit(entries) == [STORED] * 3
    for one in study:
        batches = [entry.submission.reports[one.name] for entry in entries]
        assert first.aggregate(one.name) == one.aggregate(Reports.concatenate(batches))
    again, _ = collector(opened, study)
    assert all(again.aggregate(name) == first.aggregate(name) for name in study.names)
    assert again.hours() == first.hours() == {1000: 10}


def test_a_replay_counts_once_and_other_bytes_are_refused(opened: Opener) -> None:
    one, _ = collector(opened)
    data = body(STUDY, 2)
    entry = Entry(unpack(data, STUDY))
    assert one.commit([entry, entry, entry]) == [STORED, REPEATED, REPEATED]
    other = Entry(unpack(body(STUDY, 3, identifier=data[:16]), STUDY))
    assert one.commit([entry, other]) == [REPEATED, CONFLICT]
    again, _ = collector(opened)
    assert again.commit([other, entry]) == [CONFLICT, REPEATED]
    assert again.people("commute") == 2


def test_nothing_is_stored_after_a_close_and_replays_are_still_known(opened: Opener) -> None:
    one, _ = collector(opened)
    entry = Entry(submission(STUDY))
    one.commit([entry])
    other = opened(STUDY.digest)  # as by the command line
    with other.transaction():
        other.put_fact("closed", b"1000")
    assert one.commit([Entry(submission(STUDY)), entry]) == [CLOSED, REPEATED]
    assert one.people("commute") == 1


def test_a_failed_commit_leaves_nothing(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    one, store = collector(opened)
    entry = Entry(submission(STUDY, 3))
    with monkeypatch.context() as patch:
        patch.setattr(store, "add_submissions", lambda rows: (_ for _ in ()).throw(StoreError("x")))
        with pytest.raises(StoreError):
            one.commit([entry])
    assert not one.healthy
    assert one.commit([entry]) == [STORED]
    assert one.healthy
    assert one.people("commute") == 3


def test_counts_are_never_those_of_a_part_while_the_store_is_read_again(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, store = collector(opened)
    for _ in range(3):
        one.commit([Entry(submission(STUDY, 4))])
    whole, blobs = one.aggregate("commute"), store.blobs
    seen = []

    def breaking() -> Iterator[Blob]:
        for blob in blobs():
            yield blob
            seen.append(one.aggregate("commute") == whole)
            if len(seen) == 2:
                raise StoreError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(store, "add_submissions", lambda rows: (_ for _ in ()).throw(StoreError("x")))
        with pytest.raises(StoreError):
            one.commit([Entry(submission(STUDY))])
        patch.setattr(store, "blobs", breaking)
        with pytest.raises(StoreError, match="gone"):
            one.probe()
    assert seen == [True, True]
    assert not one.healthy
    assert one.aggregate("commute") == whole
    assert one.people("commute") == 12
    one.probe()
    assert one.healthy
    assert one.aggregate("commute") == whole


def test_what_was_stored_and_could_not_be_counted_is_counted_later(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = several()
    one, _ = collector(opened, study)
    entry = Entry(submission(study, 5))
    with monkeypatch.context() as patch:
        patch.setattr(_Tally, "add", lambda *_: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            one.commit([entry])
    assert not one.healthy
    assert one.commit([entry]) == [REPEATED]
    assert [one.people(name) for name in study.names] == [5] * len(study)


def test_order_within_a_commit_is_random_and_time_is_whole_hours(opened: Opener) -> None:
    one, store = collector(opened)
    question = STUDY.mechanism()
    values = [k % 4 for k in range(400)]
    sent = reports(question, 400)
    columns = {"value": sent.columns["value"].copy()}
    columns["value"][:] = sorted(values)
    ordered = Reports(sent.collection, sent.digest, columns)
    data = bytes(range(16)) + ordered.to_bytes()
    one.commit([Entry(unpack(data, STUDY))])
    with store.transaction():
        (blob,) = store.blobs()
    kept = Reports.from_bytes(blob.data, expect=question).columns["value"].tolist()
    assert kept != sorted(values)  # the chance of the same order is below 1e-200
    assert sorted(kept) == sorted(values)
    assert blob.hour == 1000


def test_a_store_of_another_study_is_refused_or_apart(opened: Opener, address: str) -> None:
    one, _ = collector(opened)
    one.commit([Entry(submission(STUDY, 5))])
    other = commute("Another study")
    if address.startswith("postgresql"):
        second, _ = collector(opened, other)
        with pytest.raises(EstimateError):
            second.aggregate("commute")
        assert one.people("commute") == 5
    else:
        with pytest.raises(StoreError, match="another study"):
            opened(other.digest)


def test_only_one_process_serves(opened: Opener) -> None:
    first, second = opened(STUDY.digest), opened(STUDY.digest)
    first.lock()
    with pytest.raises(StoreError, match="served by another"):
        second.lock()


def test_a_missing_store_is_not_created_by_looking(opened: Opener) -> None:
    with pytest.raises(StoreError, match="no collection"):
        opened(STUDY.digest, create=False)


def test_backup_and_restore_give_the_same_collection(opened: Opener, tmp_path: Path) -> None:
    study = several()
    one, store = collector(opened, study)
    entry = Entry(submission(study, 4))
    one.commit([entry])
    file = tmp_path / "copy.backup"
    backup = open_store(file, study.digest)
    copy_store(store, backup)
    restored = open_store(tmp_path / "elsewhere", study.digest)
    copy_store(backup, restored)
    again = Collector(study, restored)
    assert all(again.aggregate(name) == one.aggregate(name) for name in study.names)
    assert again.commit([entry]) == [REPEATED]
    with pytest.raises(StoreError, match="not empty"):
        copy_store(backup, restored)
    backup.close()
    restored.close()


# --- invitation codes -----------------------------------------------------------------------------


def test_a_code_works_once_and_a_retry_needs_none(opened: Opener) -> None:
    one, store = collector(opened)
    with store.transaction():
        (code, other) = make_codes(store, STUDY.digest, 2)
    hashed = hash_code(code.lower().replace("-", " "), STUDY.digest)
    entry = Entry(submission(STUDY), hashed)
    outcomes = one.commit([Entry(submission(STUDY)), entry, Entry(submission(STUDY), hashed)])
    assert outcomes == [NO_CODE, STORED, NO_CODE]
    assert one.commit([Entry(entry.submission)]) == [REPEATED]
    again, _ = collector(opened)
    assert again.commit([Entry(submission(STUDY), hashed)]) == [NO_CODE]
    assert again.codes.numbers == (2, 1)
    two_people = Entry(submission(STUDY, 2), hash_code(other, STUDY.digest))
    assert again.commit([two_people]) == [NO_CODE]


def test_a_code_is_free_again_if_the_commit_fails(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, store = collector(opened)
    with store.transaction():
        (code,) = make_codes(store, STUDY.digest, 1)
    entry = Entry(submission(STUDY), hash_code(code, STUDY.digest))
    with monkeypatch.context() as patch:
        patch.setattr(store, "add_submissions", lambda rows: (_ for _ in ()).throw(StoreError("x")))
        with pytest.raises(StoreError):
            one.commit([entry])
    assert one.commit([entry]) == [STORED]


def test_a_code_whose_commit_seemed_to_fail_is_used_once(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, store = collector(opened)
    with store.transaction():
        (code, other) = make_codes(store, STUDY.digest, 2)
    used, free = (hash_code(text, STUDY.digest) for text in (code, other))
    first, execute = Entry(submission(STUDY), used), store.execute

    def lost(sql: str, *parameters: Any) -> Any:
        result = execute(sql, *parameters)
        if sql == "COMMIT":
            raise StoreError("the connection is gone")  # with the answer
        return result

    with monkeypatch.context() as patch:
        patch.setattr(store, "execute", lost)
        with pytest.raises(StoreError):
            one.commit([first])
    entries = [first, Entry(submission(STUDY), used), Entry(submission(STUDY), free)]
    assert one.commit(entries) == [REPEATED, NO_CODE, STORED]
    again, _ = collector(opened)
    assert again.codes.numbers == one.codes.numbers == (2, 2)
    assert again.people("commute") == one.people("commute") == 2


def test_codes_of_another_study_are_of_no_use() -> None:
    assert hash_code("ABCD", STUDY.digest) != hash_code("ABCD", commute("x").digest)


def test_many_codes_fill_several_sheets(opened: Opener) -> None:
    store = opened(STUDY.digest)
    with store.transaction():
        codes = make_codes(store, STUDY.digest, 5000, people=3)
        book = Codes(store)
        book.refresh()
        assert book.numbers == (5000, 0)
        assert book.use(hash_code(codes[4999], STUDY.digest), 3)
        assert book.write()
        assert store.count_facts("sheet/") == 2
    assert not any(code.replace("-", "").encode() in value for _, value in _facts(store)
                   for code in codes[:3])  # fmt: skip


def _facts(store: Store) -> list[tuple[str, bytes]]:
    with store.transaction():
        return store.facts()


def test_the_store_alone_does_not_link_a_code_to_a_report(tmp_path: Path) -> None:
    """Whatever order people come in, the stored content is the same but for random keys.

    Two people with codes a and b report x and y; or a reports y and b reports x. Facts are equal,
    and the log that would show a commit is empty.
    """
    question = STUDY.mechanism()
    sent = reports(question, 2)
    x, y = sent[0:1], sent[1:2]

    def content(swap: bool) -> tuple[object, ...]:
        store = open_store(tmp_path / str(swap), STUDY.digest)
        with store.transaction():
            store.put_fact("sheet/000000", sheet)
        one = Collector(STUDY, store, clock=lambda: 3600.0 * 5)
        for code, report in zip(codes, (y, x) if swap else (x, y), strict=True):
            entry = Entry(
                unpack(code.encode()[:16] + report.to_bytes(), STUDY),
                hash_code(code, STUDY.digest),
            )
            assert one.commit([entry]) == [STORED]
        with store.transaction():
            blobs = sorted((b.question, b.hour, b.people, b.data) for b in store.blobs())
            facts = store.facts()
        log = (tmp_path / str(swap) / "collection.sqlite-wal").stat().st_size
        store.close()
        return blobs, facts, log

    maker = open_store(tmp_path / "codes", STUDY.digest)
    with maker.transaction():
        codes = make_codes(maker, STUDY.digest, 2)
        sheet = dict(maker.facts())["sheet/000000"]
    maker.close()
    straight, swapped = content(False), content(True)
    assert straight == swapped
    assert straight[2] == 0
