"""Joint tables that workers estimate are those that are estimated here, in every respect."""

from __future__ import annotations

import pickle
from dataclasses import fields

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import EstimateError, ParameterError, TransportError
from sottovoce.records.joint.evidence import FewTogetherWarning
from sottovoce.scale import clusters
from sottovoce.scale import tables as room

METHODS = [
    ("model-average", {}),
    ("em-ll2", {"stop": 3}),
    ("em-full", {"margins": "stratified"}),
    ("kronecker", {}),
    ("product", {"margins": "stratified"}),
]


def records_of(n: int, epsilon: float = 4.0, *, public: bool = False):
    """Records of three attributes and their counts."""
    schema = [sv.Attribute(name, 2) for name in "abc"]
    records = sv.Records(schema, epsilon_average=epsilon, public=public)
    answers = {name: np.arange(n) % (k + 2) % 2 for k, name in enumerate("abc")}
    return records, records.aggregate(records.randomise(answers))


@pytest.fixture
def worker(monkeypatch):
    """An engine that does its tasks here, and sends what a cluster would send."""

    def run(task, shared, items):
        for item in reversed(items):
            yield from task(pickle.loads(pickle.dumps(shared)), item)

    monkeypatch.setattr(room, "runner_of", lambda engine, here: run)
    return "worker"


def test_tables_of_an_iterator_are_all_estimated(worker) -> None:
    records, counts = records_of(3000)
    for engine in (None, worker):
        pairs = iter(["ab", "ca"])
        tables = sv.scale.joint_tables(records, counts, pairs, engine=engine, method="em-full")
        assert [table.name for table in tables] == ["a × b", "c × a"]


def test_tables_of_seeded_reports_promise_nothing_on_a_cluster_either(worker) -> None:
    records, _ = records_of(1)
    answers = {name: np.arange(3000) % (k + 2) % 2 for k, name in enumerate("abc")}
    with testing.seeded(1) as source:
        counts = records.aggregate(records.randomise(answers, source=source))
        for engine in (None, worker):
            options = {"engine": engine, "method": "em-full"}
            (table,) = sv.scale.joint_tables(records, counts, ["ab"], **options)
            assert not table.guarantee.promises


@pytest.mark.parametrize("tables", [None, "ab", 3])
def test_what_is_no_list_of_tables_is_refused(tables) -> None:
    records, counts = records_of(10)
    with pytest.raises(ParameterError, match="give the attributes of each table"):
        sv.scale.joint_tables(records, counts, tables)


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_a_table_is_put_together_from_numbers_and_text(worker, method, options) -> None:
    records, counts = records_of(3000)
    pairs = ["ab", "ca"]
    here = sv.scale.joint_tables(records, counts, pairs, method=method, **options)
    there = sv.scale.joint_tables(records, counts, pairs, engine=worker, method=method, **options)
    for one, other in zip(here, there, strict=True):
        for field in fields(one):
            ours, theirs = getattr(one, field.name), getattr(other, field.name)
            if field.name == "notes":
                assert ours == theirs or ours(["a"]) == theirs(["a"])
            elif field.name == "values":
                np.testing.assert_array_equal(ours, theirs)
            elif field.name not in ("spread", "again"):
                assert ours == theirs, field.name
        for few in (lambda t: t, lambda t: t.marginal(["a"]), lambda t: t.project()):
            np.testing.assert_array_equal(few(one).std_error, few(other).std_error)
            np.testing.assert_array_equal(few(one).interval(), few(other).interval())
        assert pickle.loads(pickle.dumps(other)).std_error.tolist() == one.std_error.tolist()


def test_warnings_and_errors_of_workers_arrive(worker) -> None:
    # With public budgets, how much reports can say does not depend on chance.
    records, counts = records_of(60, public=True)
    with pytest.warns(FewTogetherWarning, match="hardly more than a guess"):
        sv.scale.joint_tables(records, counts, ["ab"], engine=worker, method="em-full")
    with pytest.raises(EstimateError, match="almost pure noise"):
        sv.scale.joint_tables(*records_of(60, 0.05, public=True), ["ab"], engine=worker)


def test_a_table_that_does_not_come_back_is_an_error(monkeypatch) -> None:
    monkeypatch.setattr(room, "runner_of", lambda engine, here: lambda *_: iter(()))
    with pytest.raises(TransportError, match="2 tables did not come back"):
        sv.scale.joint_tables(*records_of(60), ["ab", "bc"], engine="lost")


def test_an_asynchronous_client_is_refused() -> None:
    class Client:
        asynchronous = True

    Client.__module__ = "distributed.client"
    with pytest.raises(ParameterError, match="asynchronous"):
        clusters.runner_of(Client(), "")
