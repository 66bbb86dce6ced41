"""Estimates: values against hand computation, intervals, projection, frames, and what they say."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import sottovoce as sv
from sottovoce import GRR, OUE, Aggregate, Attribute, Duchi, Estimate
from sottovoce.errors import EstimateError, ParameterError
from sottovoce.mechanisms import REGISTRY
from tests.laws.entries import CATEGORICAL, answers, example

M = OUE(Attribute("colour", ["red", "green", "blue"]), epsilon=1.0)


def estimate_of(*support: int, n: int = 1000, mechanism: OUE = M) -> Estimate:
    counts = Aggregate(mechanism.id, mechanism.digest, {"support": np.array(support)}, n, n)
    return mechanism.estimate(counts)


E = estimate_of(400, 300, 250)


def test_values_by_hand() -> None:
    # q = 1/(e + 1) = .268941421, p = 1/2: (.4 - q)/(p - q) and so on.
    q = 1 / (np.e + 1)
    assert np.allclose(E.values, (np.array([0.4, 0.3, 0.25]) - q) / (0.5 - q), rtol=1e-14)
    assert E.values[2] < 0  # unbiased ones may be
    assert np.allclose(E.values, [0.567209, 0.134419, -0.081977], atol=1e-6)


def test_variance_by_hand() -> None:
    q = 1 / (np.e + 1)
    by_hand = (q * (1 - q) / (0.5 - q) ** 2 + E.values) / 1000  # (1 - p - q)/(p - q) is 1 here
    assert np.allclose(E.variance, by_hand, rtol=1e-12)
    assert np.allclose(E.std_error**2, by_hand, rtol=1e-12)
    assert np.allclose(np.diag(E.covariance), by_hand, rtol=1e-12)


def test_what_it_carries() -> None:
    assert (E.n, E.name, tuple(E.labels)) == (1000, "colour", ("red", "green", "blue"))
    assert (E.method, E.biased, E.error_from, E.raw) == ("unbiased", False, "plug-in", None)
    assert E.guarantee == M.guarantee
    assert np.array_equal(E.counts, E.values * 1000)
    assert estimate_of(1, 1, mechanism=OUE(2, epsilon=1.0)).name == ""


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999, 1e-9, 1 - 1e-9])
def test_intervals_without_a_law_of_their_own_are_scipys_normal(confidence: float) -> None:
    low, high = replace(E, _interval=None).interval(confidence)
    expected = stats.norm.interval(confidence, loc=E.values, scale=E.std_error)
    assert np.allclose(low, expected[0], rtol=1e-7)
    assert np.allclose(high, expected[1], rtol=1e-7)


@pytest.fixture(scope="module")
def mean() -> Estimate:
    m = Duchi((0, 1), epsilon=1.0)
    return m.estimate(m.aggregate(m.randomise([0.25] * 9)))


@pytest.mark.parametrize(
    "confidence", [0, 1, 0.0, 1.0, -0.5, 95, 1.5, float("nan"), None, "0.9", True]
)
def test_a_bad_confidence_is_refused(confidence: object, mean: Estimate) -> None:
    for estimate in (E, mean):
        with pytest.raises(ParameterError, match="confidence"):
            estimate.interval(confidence)


def test_metrics_by_hand() -> None:
    error = estimate_of(500, 268, 268).error([1.0, 0.0, 0.0])
    values = estimate_of(500, 268, 268).values
    gaps = values - [1, 0, 0]
    assert error.mse == pytest.approx((gaps[0] ** 2 + gaps[1] ** 2 + gaps[2] ** 2) / 3)
    assert error.total_l2 == pytest.approx(3 * error.mse)
    assert error.rmse == pytest.approx(error.mse**0.5)
    assert error.tv == pytest.approx((abs(gaps[0]) + abs(gaps[1]) + abs(gaps[2])) / 2)
    assert error.max == pytest.approx(max(abs(gaps)))


def test_the_truth_may_be_a_mapping() -> None:
    by_name = E.error({"blue": 0.2, "red": 0.5, "green": 0.3})
    assert by_name == E.error([0.5, 0.3, 0.2])


@pytest.mark.parametrize(
    "truth",
    [[0.5, 0.5], [0.5, 0.6, 0.2], [1.2, -0.2, 0.0], [0.5, 0.3, float("nan")], {"red": 1.0},
     {"red": 0.5, "green": 0.3, "pink": 0.2}, [[0.5, 0.3, 0.2]]],
    ids=str,
)  # fmt: skip
def test_a_truth_that_is_none_is_refused(truth: object) -> None:
    with pytest.raises(ParameterError, match="truth"):
        E.error(truth)


def simplex(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Nearest distribution by bisection on the multiplier, apart from the library's sorting."""

    def excess(c: float) -> float:
        return float(np.maximum(values - c * weight, 0).sum() - 1)

    reach = (np.abs(values).max() + 1) / weight.min()
    c = optimize.bisect(excess, -reach, reach, xtol=1e-15 * reach, maxiter=500)
    return np.maximum(values - c * weight, 0)


VALUES = st.lists(st.floats(-3, 3), min_size=2, max_size=12)


@given(VALUES)
def test_projection_is_the_nearest_distribution(values: list[float]) -> None:
    from sottovoce.estimate.projection import PROJECTIONS

    array = np.array(values)
    projected = PROJECTIONS["norm-sub"](array, np.ones(array.size))
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-9)
    assert np.allclose(projected, simplex(array, np.ones(array.size)), atol=1e-9)
    again = PROJECTIONS["norm-sub"](projected, np.ones(array.size))
    assert np.allclose(again, projected, atol=1e-12)


@given(VALUES, st.data())
def test_weighted_projection_moves_uncertain_values_more(values: list[float], data) -> None:
    from sottovoce.estimate.projection import PROJECTIONS

    array = np.array(values)
    weight = np.array(data.draw(st.lists(st.floats(0.01, 10), min_size=len(values),
                                         max_size=len(values))))  # fmt: skip
    projected = PROJECTIONS["simplex-weighted"](array, weight)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-9)
    assert np.allclose(projected, simplex(array, weight), atol=1e-7)


@pytest.mark.parametrize("method", ["norm-sub", "simplex-weighted"])
def test_a_projected_estimate_says_so(method: str) -> None:
    projected = E.project(method)
    assert projected.biased
    assert projected.method == f"unbiased + {method}"
    assert projected.error_from == E.error_from
    assert np.array_equal(projected.std_error, E.std_error)  # what projecting gains is not known
    assert projected.raw is E
    assert projected.covariance is None
    assert projected.values.min() >= 0
    assert projected.values.sum() == pytest.approx(1)
    low, high = projected.interval()
    assert low.min() >= 0
    assert high.max() <= 1
    assert (projected.std_error > 0).all()
    assert np.array_equal(projected.project(method).values, projected.values)
    assert not E.biased  # the first one is as it was


def test_the_interval_of_a_projected_estimate_is_that_of_the_unbiased_one() -> None:
    projected = E.project()
    low, high = E.interval()
    for end, own in zip(projected.interval(), (low, high), strict=True):
        inside = (low >= 0) & (high <= 1) & (low <= projected.values) & (projected.values <= high)
        assert inside.any()
        assert np.array_equal(end[inside], own[inside])


def test_an_unknown_projection_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"'clip'.*'norm-sub'"):
        E.project("clip")


def test_frames_of_every_kind() -> None:
    columns = ["value", "estimate", "std_error", "low", "high"]
    frames = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "pyarrow": pa.Table,
    }
    low, high = E.interval(0.9)
    for backend, kind in frames.items():
        frame = E.to_frame(0.9, backend=backend)
        assert isinstance(frame, kind)
        names = frame.column_names if backend == "pyarrow" else list(frame.columns)
        assert names == columns
        got = frame.to_pydict() if backend == "pyarrow" else {c: list(frame[c]) for c in columns}
        assert got["value"] == ["red", "green", "blue"]
        for column, expected in zip(columns[1:], (E.values, E.std_error, low, high), strict=True):
            assert np.array_equal(got[column], expected)
    with pytest.raises(ParameterError, match=r"'excel'.*'polars'"):
        E.to_frame(backend="excel")


def test_rows_are_plain_data() -> None:
    import json

    rows = E.rows()
    assert json.loads(json.dumps(rows)) == rows
    assert [row["value"] for row in rows] == ["red", "green", "blue"]
    assert rows[0]["estimate"] == E.values[0]


def test_an_interval_of_a_biased_estimate_is_clipped_but_holds_the_value() -> None:
    values = np.array([0.5, 1.01, -0.02])
    biased = replace(E, values=values, spread=np.full(3, 0.09), biased=True, _interval=None)
    low, high = biased.interval()
    assert low.tolist() == [0.0, pytest.approx(0.422, abs=1e-3), -0.02]
    assert high.tolist() == [1.0, 1.01, pytest.approx(0.568, abs=1e-3)]


def test_printed_numbers_stand_below_each_other_in_a_terminal() -> None:
    labels = ["日本", "Zu\N{COMBINING DIAERESIS}rich", "plain"]
    mechanism = sv.OUE(sv.Attribute("place", labels), epsilon=4.0)
    _, _, *rows = str(
        mechanism.estimate(mechanism.aggregate(mechanism.randomise(labels * 900)))
    ).splitlines()
    # Two columns for each letter of East Asia, none for an accent of its own.
    assert [row.index("0.") for row in rows] == [8, 11, 10]


def test_printing_shows_values_and_intervals() -> None:
    text = str(E)
    assert "colour: 1,000 reports, unbiased" in text
    low, high = E.interval()
    for k, label in enumerate(E.labels):
        line = next(line for line in text.splitlines() if line.startswith(label))
        assert f"{E.values[k]:.4f}" in line
        assert f"{low[k]:.4f}" in line
        assert f"{high[k]:.4f}" in line
    large = estimate_of(*[270] * 100, mechanism=OUE(100, epsilon=1.0))
    assert "80 more values" in str(large)


def test_a_covariance_too_large_for_memory_is_refused() -> None:
    mechanism = GRR(30_000, epsilon=1.0)
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomise(np.arange(10))))
    with pytest.raises(EstimateError, match="30,000"):
        _ = estimate.covariance
    assert estimate.variance.shape == (30_000,)


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_estimates_and_mechanisms_can_be_pickled(kind) -> None:
    mechanism = example(kind)
    other = pickle.loads(pickle.dumps(mechanism))
    assert other == mechanism
    assert other.digest == mechanism.digest
    counts = mechanism.aggregate(mechanism.randomise(answers(mechanism, 2000)))
    for method in mechanism.methods:
        original = mechanism.estimate(counts, method=method)
        back = pickle.loads(pickle.dumps(original))
        assert np.array_equal(back.values, original.values)
        assert np.array_equal(back.variance, original.variance)
        assert back.guarantee == original.guarantee


@pytest.mark.parametrize("kind", CATEGORICAL.values(), ids=CATEGORICAL)
def test_projected_estimates_can_be_pickled(kind) -> None:
    mechanism = example(kind)
    original = mechanism.estimate(mechanism.aggregate(mechanism.randomise([0, 1, 2, 3] * 500)))
    back = pickle.loads(pickle.dumps(original.project()))
    assert np.array_equal(back.values, original.project().values)
    assert np.array_equal(back.variance, original.project().variance)


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_every_method_is_listed_and_unknown_ones_refused(kind) -> None:
    mechanism = example(kind)
    counts = mechanism.aggregate(mechanism.randomise(answers(mechanism, 2000)))
    assert next(iter(mechanism.methods)) == "unbiased"
    for name, method in mechanism.methods.items():
        estimate = mechanism.estimate(counts, method=name)
        assert (estimate.method, estimate.biased) == (name, method.biased)
        assert method.source
        assert np.isfinite(estimate.std_error).all()
    with pytest.raises(ParameterError, match=r"'magic'.*'unbiased'"):
        mechanism.estimate(counts, method="magic")


WRONG = {
    "a size that is a text": lambda e, f: sv.stratified(
        {"n": e, "s": f}, weights={"n": "9", "s": 1}
    ),
    "no size": lambda e, f: sv.stratified({"n": e, "s": f}, population={"n": None, "s": 10**6}),
    "sizes without names": lambda e, f: sv.stratified({"n": e, "s": f}, weights=["n", "s"]),
    "a weight that is a text": lambda e, _: e.contrast({"yes": "1", "no": -1}),
    "no weight": lambda e, _: e.contrast({"yes": None}),
    "a truth of texts": lambda e, _: e.error(["much", "little"]),
    "a single score": lambda e, _: e.mean(5),
    "a single estimate": lambda e, _: sv.combine(e),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_input_of_the_wrong_kind_is_refused_with_a_reason(wrong):
    m = sv.GRR(["yes", "no"], epsilon=3.0)
    pair = (m.estimate(m.aggregate(m.randomise(["yes", "no"] * 500))) for _ in range(2))
    with pytest.raises(sv.SottovoceError, match=r"must|give|differs|scores were given"):
        wrong(*pair)


def test_a_truth_that_is_not_a_number_is_refused_for_options_too():
    options = sv.ChooseAll(sv.Options("pets", ["cat", "dog"], most=2), epsilon=4.0)
    estimate = options.estimate(options.aggregate(options.randomise([["cat"], []] * 500)))
    with pytest.raises(sv.SottovoceError, match="fractions from 0 to 1"):
        estimate.error([float("nan"), 0.5])


def test_lists_of_reports_or_counts_are_refused_with_what_to_do() -> None:
    question = sv.GRR(["a", "b"], epsilon=1.0)
    reports = question.randomise(["a", "b"])
    with pytest.raises(ParameterError, match="a list of them was given: count each and add"):
        question.aggregate([reports, reports])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"a tuple of them was given: add them with \+"):
        question.estimate((question.aggregate(reports),))  # type: ignore[arg-type]
