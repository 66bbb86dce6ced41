"""Good vectors are read and written to the same bytes; bad ones are refused by their error."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from sottovoce import Reports, Study, errors, testing
from sottovoce.contract.codec import decode_reports, encode_reports
from sottovoce.errors import WireError
from vectors import make
from vectors.describe import plain

from . import read

REPORTS = read.some("good", "hand", "seeded", kind="reports")
AGGREGATES = read.some("good", kind="aggregate")
BYTES = {**REPORTS, **AGGREGATES}


def each(vectors: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("vector", vectors.values(), ids=vectors.keys())


def test_making_them_again_changes_nothing() -> None:
    by_name = {name: make.text(vector) for name, vector in make.every()}
    stored = {
        path.name: path.read_text(encoding="utf-8")
        for path in read.FOLDER.glob("*.json")
        if not path.name.startswith("hand_")
    }
    assert by_name.keys() == stored.keys()
    for name, text in by_name.items():
        assert text == stored[name], f"{name} is made differently now"


def test_every_collection_has_a_vector() -> None:
    from sottovoce.mechanisms import REGISTRY

    every = {*REGISTRY, "participation", "pmoue", "heavy-hitters"}
    for start in ("good", "seeded"):
        assert {v["collection"] for v in read.some(start, kind="reports").values()} == every


@each(REPORTS)
def test_reports_are_read(vector: dict[str, Any]) -> None:
    collection = read.collection(vector)
    reports = Reports.from_bytes(read.data(vector), expect=collection)
    assert reports.collection == vector["collection"]
    assert reports.digest.hex() == vector["digest"]
    assert reports.seeded == vector["seeded"]
    assert {k: column.tolist() for k, column in reports.columns.items()} == vector["columns"]
    assert [c.dtype.str for c in reports.columns.values()] == [
        np.dtype(column.dtype).str for column in collection.layout
    ]


@each(REPORTS)
def test_reports_are_written_to_the_same_bytes(vector: dict[str, Any]) -> None:
    batches = list(decode_reports(read.data(vector), expect=read.collection(vector)))
    assert [len(batch) for batch in batches] == vector["envelopes"]
    last = len(batches) - 1
    again = b"".join(encode_reports(batch, more=k < last) for k, batch in enumerate(batches))
    assert again == read.data(vector)


@each(AGGREGATES)
def test_aggregates_are_read_and_written(vector: dict[str, Any]) -> None:
    aggregate = read.read(vector)
    assert (aggregate.people, aggregate.reports) == (vector["people"], vector["reports"])
    assert aggregate.seeded == vector["seeded"]
    assert {name: plain(table) for name, table in aggregate.tables.items()} == vector["tables"]
    chosen = aggregate.candidates
    assert (None if chosen is None else chosen.tolist()) == vector.get("candidates")
    route = aggregate.route
    assert (None if route is None else route.as_dict()) == vector["route"]
    assert aggregate.to_bytes() == read.data(vector)


@each(read.some("good", kind="study"))
def test_studies_are_read_and_written(vector: dict[str, Any]) -> None:
    study = Study.from_toml(vector["toml"])
    assert study.digest.hex() == vector["digest"]
    digests = {name: study.collection(name).digest.hex() for name in study.names}
    assert digests == vector["collections"]
    assert study.to_toml() == vector["toml"]


@each(read.some("seeded"))
def test_a_seed_draws_the_same_everywhere(vector: dict[str, Any]) -> None:
    collection = read.collection(vector)
    with testing.seeded(vector["seed"]) as source:
        choice = vector.get("choice", {})
        reports = collection.randomise(vector["answers"], source=source, **choice)
    assert reports.to_bytes() == read.data(vector)


def test_the_bit_order_is_the_one_written_by_hand() -> None:
    vector = read.ALL["hand_oue"]
    collection = read.collection(vector)
    reports = Reports.from_bytes(read.data(vector), expect=collection)
    for k, values in enumerate(vector["supports"]):
        counts = collection.aggregate(reports[k : k + 1]).tables["support"]
        assert np.flatnonzero(counts).tolist() == values


def test_the_digest_is_sha256_of_canonical_text() -> None:
    text = (
        'sottovoce collection v1\n{"domain":{"edges":null,"missing":"refuse","values":10},'
        '"mechanism":"oue","parameters":{"epsilon":1.0}}'
    )
    assert hashlib.sha256(text.encode()).hexdigest() == read.ALL["hand_oue"]["digest"]


@each(read.some("bad"))
def test_bad_vectors_are_refused_by_their_error(vector: dict[str, Any]) -> None:
    collection = read.collection(vector)  # not inside: only the bytes are bad
    assert collection is not None
    with pytest.raises(WireError) as caught:
        read.read(vector)
    assert type(caught.value) is getattr(errors, vector["error"])
    assert vector["says"] in str(caught.value)


@each(BYTES)
def test_every_truncation_is_refused(vector: dict[str, Any]) -> None:
    data = read.data(vector)
    for size in range(len(data)):
        with pytest.raises(WireError):
            read.read(vector, data[:size])


@each(BYTES)
def test_every_extension_by_one_byte_is_refused(vector: dict[str, Any]) -> None:
    data = read.data(vector)
    for byte in range(256):
        with pytest.raises(WireError):
            read.read(vector, data + bytes([byte]))


@each(BYTES)
def test_a_missing_first_byte_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        read.read(vector, read.data(vector)[1:])


@each(BYTES)
def test_every_flipped_bit_is_refused_or_read_as_itself(vector: dict[str, Any]) -> None:
    # What is read must say what the bytes say: writing it gives the same bytes again.
    data = read.data(vector)
    outcomes = {"read": 0, "refused": 0}
    for bit in range(8 * len(data)):
        other = bytearray(data)
        other[bit // 8] ^= 1 << bit % 8
        try:
            decoded = read.read(vector, bytes(other))
        except WireError:
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        if len(vector.get("envelopes", [1])) == 1:
            assert decoded.to_bytes() == bytes(other)
    assert outcomes["refused"] >= 8 * 48  # at least every bit of magic, version and digest


@each(BYTES)
def test_random_bytes_never_do_anything_but_fail(vector: dict[str, Any]) -> None:
    rng = np.random.default_rng(len(vector["bytes"]))
    data = read.data(vector)
    for _ in range(300):
        other = bytearray(data)
        for at in rng.integers(0, max(len(data), 1), rng.integers(1, 6)):
            other[at] = rng.integers(256)
        start = 48 if rng.random() < 0.5 else 0  # half of them leave the head alone
        other[:start] = data[:start]
        try:
            read.read(vector, bytes(other))
        except WireError:
            continue


@pytest.mark.parametrize("given", [None, "SVRP", 7, [1, 2], np.zeros(3, np.uint8)])
def test_only_bytes_are_read(given: Any) -> None:
    for name in ("good_grr", "good_aggregate_grr"):
        vector = read.ALL[name]
        with pytest.raises(WireError, match="bytes"):
            read_any(vector, given)


def read_any(vector: dict[str, Any], given: Any) -> Any:
    from sottovoce import Aggregate

    kind = Aggregate if vector["kind"] == "aggregate" else Reports
    return kind.from_bytes(given, expect=read.collection(vector))


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_every_kind_of_bytes_is_read(wrap: Any) -> None:
    for name in ("good_grr", "good_aggregate_grr"):
        vector = read.ALL[name]
        assert read_any(vector, wrap(read.data(vector))).to_bytes() == read.data(vector)


def test_a_study_reads_the_reports_of_its_questions() -> None:
    study = Study.from_toml(read.ALL["good_study"]["toml"])
    vector = read.ALL["good_grr_study"]
    assert Reports.from_bytes(read.data(vector), expect=study).digest.hex() == vector["digest"]
    with pytest.raises(errors.DigestError, match="do not belong to the"):
        Reports.from_bytes(read.data(read.ALL["good_grr"]), expect=study)
