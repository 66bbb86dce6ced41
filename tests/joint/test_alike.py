"""People who report fewer attributes may answer differently: said, tested, and corrected."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.records.joint.alike import homogeneity, p_value
from sottovoce.records.joint.evidence import ALIKE, ALIKE_TOGETHER, UnlikeWarning
from sottovoce.records.joint.groups import Content

N = 20_000


def study(unlike: float, seed: int, *, public: bool = False, epsilon: float = 3.0):
    """Half of the people report a and b, the others only a; their answers to a may differ."""
    rng = np.random.default_rng(seed)
    both = np.arange(N) % 2 == 0
    a = (rng.random(N) < np.where(both, 0.5 + unlike, 0.5 - unlike)).astype(int)
    b = np.where(rng.random(N) < 0.5, a, rng.integers(0, 2, N))
    attributes = [sv.Attribute("a", 2), sv.Attribute("b", 2)]
    records = sv.Records(attributes, epsilon_average=epsilon, public=public)
    sent = np.stack([np.ones(N, bool), both], axis=1)
    with testing.seeded(seed) as source:
        reports = records.randomise({"a": a, "b": b}, reported=sent, source=source)
        yield records, records.aggregate(reports), a.mean()


@pytest.mark.parametrize("public", [False, True])
def test_a_refuted_assumption_is_warned_of_and_can_be_done_without(public: bool) -> None:
    for records, aggregate, truth in study(0.15, 1, public=public):
        with pytest.warns(UnlikeWarning, match="answer 'a' differently"):
            pooled = records.joint(aggregate, ["a", "b"])
        assert ALIKE in pooled.assuming
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            right = records.joint(aggregate, ["a", "b"], margins="stratified")
        own = records.marginal(aggregate, ["a"])
        one = right.marginal(["a"])
        assert one.values == pytest.approx(own.project().values, abs=1e-6)
        assert abs(one.values[1] - truth) < 4 * own.std_error[1]
        assert one.std_error == pytest.approx(own.std_error, rel=0.6)
        assert right.method == "model-average + stratified margins"
        assert ALIKE_TOGETHER in right.assuming
        assert ALIKE not in right.assuming


def test_nothing_is_said_where_people_are_alike_or_report_the_same() -> None:
    for records, aggregate, _ in study(0.0, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = records.joint(aggregate, ["a", "b"])
            assert ALIKE in table.assuming
            assert ALIKE not in table.marginal(["a"]).assuming
            assert ALIKE in records.joint(aggregate, ["a", "b"], method="kronecker").assuming
            assert ALIKE in records.joint(aggregate, ["a", "b"], method="product").assuming


def test_p_values_are_uniform_or_rather_larger_where_people_are_alike() -> None:
    p_values = [
        p_value(Content(r, g.sparse("patterns")), 0) for s in range(40) for r, g, _ in study(0.0, s)
    ]
    assert np.mean(np.array(p_values) < 0.2) < 0.45
    assert min(p_values) > 1e-4


def test_homogeneity_by_hand() -> None:
    # One free fraction with variance .01 in both: X² = (.3)² / .02 = 4.5 with one degree.
    matrix = np.array([[0.01, -0.01], [-0.01, 0.01]])
    strata = [(np.array([0.5, 0.5]), matrix, 10), None, (np.array([0.8, 0.2]), matrix, 10)]
    assert homogeneity(strata) == pytest.approx(0.033894853524689274)
    assert homogeneity(strata[:2]) == 1.0
