"""Aggregates and estimates are plain data: they pickle, and nothing is stored in them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.records.joint import METHODS, OPTIONS

N = 3000
A = np.arange(N) % 3
TABLE = {"a": A, "b": np.where(np.arange(N) % 4 == 0, A, 2), "c": A % 2}
NEEDS = {"lasso": "sklearn", "entropy-split": "sklearn", "lopub-2": "sklearn"}
NEEDS |= {"lopub-3": "sklearn", "pgm": "mbi"}


@pytest.fixture(scope="module", params=[False, True], ids=["hidden", "public"])
def study(request):
    attributes = [sv.Attribute("a", 3), sv.Attribute("b", 3), sv.Attribute("c", 2)]
    records = sv.Records(attributes, epsilon_average=4.0, public=request.param)
    with testing.seeded(5) as source:
        yield records, records.aggregate(records.randomise(TABLE, source=source))


def same(one: sv.Estimate) -> sv.Estimate:
    """An estimate that was pickled before its errors were asked for."""
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.values, one.values)
    np.testing.assert_array_equal(again.std_error, one.std_error)
    assert str(again) == str(one)
    return again


@pytest.mark.parametrize("method", METHODS)
def test_tables_and_what_is_computed_from_them(study, method: str) -> None:
    if method in NEEDS:
        pytest.importorskip(NEEDS[method], reason=f"{NEEDS[method]} is not installed")
    records, aggregate = study
    options = {"progress": lambda *_: None} if "progress" in OPTIONS.get(method, ()) else {}
    table = records.joint(aggregate, ["a", "b"], method=method, **options)
    again = same(table)
    same(again.marginal(["b"]))
    same(again.conditional(["a"], given=["b"]))
    same(again.mutual_information("a", "b"))
    same(again.project())


def test_marginals_and_calibrated_tables(study) -> None:
    records, aggregate = study
    for method in ("self-calibrated", "published", *(("weighted-epsilons",) * records.public)):
        one = records.marginal(aggregate, ["a"], method=method)
        again = same(one)
        np.testing.assert_array_equal(again.covariance, one.covariance)
        same(again.project())
    same(records.joint(aggregate, ["a", "b"], margins="stratified"))


def test_questions_leave_nothing_in_an_aggregate(study) -> None:
    records, aggregate = study
    before = pickle.dumps(aggregate)
    records.joint(aggregate, ["a", "c"])
    records.marginal(aggregate, ["a"])
    assert pickle.dumps(aggregate) == before
    assert pickle.loads(before) == aggregate


def test_equal_reports_have_equal_answers_from_one_fit(study) -> None:
    records, aggregate = study
    copy = pickle.loads(pickle.dumps(aggregate))
    one, other = (records.joint(x, ["a", "b"]) for x in (aggregate, copy))
    np.testing.assert_array_equal(one.values, other.values)
    assert one.again is not None
    assert other.again is not None
    np.testing.assert_array_equal(one.again(), other.again())
