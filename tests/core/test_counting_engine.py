"""Counting goes through one seam: another engine takes its place and gives the same counts."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import kernels, parallel
from sottovoce.errors import ParameterError, WireError
from sottovoce.kernels import count
from sottovoce.mechanisms import REGISTRY
from tests.laws.entries import answers, example

each = pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)


def first(outside: np.ndarray) -> int:
    return int(outside.argmax()) if outside.any() else -1


def histogram(values, counts):
    bad = first((values < 0) | (values >= counts.size))
    if bad < 0:
        np.add.at(counts, values, 1)
    return bad


def histogram_by(group, values, table):
    bad = first((group >= len(table)) | (values >= table.shape[1]))
    if bad < 0:
        np.add.at(table, (group, values), 1)
    return bad


def column_counts(rows):
    return np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)


def column_counts_by(rows, group, counts):
    bad = first(group >= len(counts))
    if bad < 0:
        np.add.at(
            counts[:, : 8 * rows.shape[1]], group, np.unpackbits(rows, axis=1, bitorder="little")
        )
    return bad


def hash_support(a, b, codes, mask, width, counts):
    counts += (((a[:, None] * codes + b[:, None]) & mask) < width).sum(axis=0)


PLAIN = {
    "histogram": histogram,
    "histogram_by": histogram_by,
    "column_counts": column_counts,
    "column_counts_by": column_counts_by,
    "hash_support": hash_support,
    "row_sums": lambda counts: counts.sum(axis=1),
}


def counting(calls: list[str]) -> dict[str, object]:
    """The plain engine, which writes down what was asked of it."""

    def noted(name):
        def kernel(*arrays):
            calls.append(name)
            return PLAIN[name](*arrays)

        return kernel

    return {name: noted(name) for name in PLAIN}


def broken(*_):
    raise RuntimeError("this engine counts nothing")


def same(a: sv.Aggregate, b: sv.Aggregate) -> bool:
    return set(a.tables) == set(b.tables) and all(
        np.array_equal(a.tables[name], b.tables[name]) for name in a.tables
    )


@each
def test_another_engine_counts_every_mechanism_alike(kind) -> None:
    mechanism, calls = example(kind), []
    reports = mechanism.randomise(answers(mechanism, 300))
    group = np.arange(300) % 3
    with kernels.use(counting(calls)):
        whole = mechanism.aggregate(reports)
        asked = len(calls)
        people, tables = mechanism.count_by(reports, group.astype(np.uint8), 3)
    assert 0 < asked < len(calls)
    assert same(whole, mechanism.aggregate(reports))
    expected = mechanism.count_by(reports, group.astype(np.uint8), 3)
    assert np.array_equal(people, expected[0])
    assert all(np.array_equal(tables[name], expected[1][name]) for name in tables)


@each
def test_no_mechanism_counts_past_the_engine(kind) -> None:
    mechanism = example(kind)
    reports = mechanism.randomise(answers(mechanism, 30))
    with (
        kernels.use(dict.fromkeys(count.COMPILED, broken)),
        pytest.raises(RuntimeError, match="counts nothing"),
    ):
        mechanism.aggregate(reports)


def test_a_replaced_engine_is_refused_bad_reports_in_the_same_words() -> None:
    mechanism = sv.GRR(3, epsilon=1.0)
    bad = sv.Reports(mechanism.id, mechanism.digest, {"value": np.array([0, 1, 7], np.uint8)})
    messages = []
    for functions in ({}, PLAIN):
        with kernels.use(functions), pytest.raises(WireError) as refused:
            mechanism.aggregate(bad)
        messages.append(str(refused.value))
    assert messages == ["a report has 7; allowed are 0 to 2"] * 2


def test_what_an_engine_leaves_out_stays_as_it_was() -> None:
    values = np.array([0, 1, 1])
    with kernels.use({"histogram": broken}):
        with kernels.use({"row_sums": lambda counts: counts.sum(axis=1) + 1}):
            assert kernels.count.row_sums(np.eye(2, dtype=np.int64)).tolist() == [2, 2]
            with pytest.raises(RuntimeError):
                kernels.count.histogram(values, 2)
        assert kernels.count.row_sums(np.eye(2, dtype=np.int64)).tolist() == [1, 1]
    assert kernels.count.histogram(values, 2).tolist() == [1, 2]


def test_an_engine_with_an_unknown_kernel_is_refused() -> None:
    with (
        pytest.raises(ParameterError, match=r"no counting kernels 'grr'.*'histogram'"),
        kernels.use({"grr": broken}),
    ):
        pass


def test_the_engine_counts_in_the_threads_of_a_call_and_in_no_other(monkeypatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_THREADS", "2")
    inside, outside = [], []
    with kernels.use({"histogram": broken}):
        parallel.over_ranges(lambda part: inside.append(count.kernel("histogram")), 2, work=10**9)
        other = threading.Thread(target=lambda: outside.append(count.kernel("histogram")))
        other.start()
        other.join()
    assert inside == [broken, broken]
    assert outside != [broken]


def test_an_empty_engine_gives_the_work_back() -> None:
    def refuse(*arrays: np.ndarray) -> int:
        raise AssertionError("this engine was left")

    with kernels.use({"histogram": refuse}):
        with kernels.use({"row_sums": refuse}):
            assert count.replaced("histogram")
        with sv.scale.counting("cpu") as engine:
            assert (engine, count.replaced("histogram")) == ("cpu", False)
            assert count.histogram(np.array([0, 2]), 3).tolist() == [1, 0, 1]
        assert count.replaced("histogram")
