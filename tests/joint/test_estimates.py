"""Marginals, joint tables and their errors, on seeded populations; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import EstimateError, MissingExtraError, ParameterError
from sottovoce.records.joint import METHODS
from sottovoce.records.joint.evidence import FewTogetherWarning

RNG = np.random.default_rng(3)
N = 6000
A = RNG.integers(0, 3, N)
TABLE = {"a": A, "b": np.where(RNG.random(N) < 0.7, A, RNG.integers(0, 3, N)), "c": A % 2}
TRUTH = np.zeros((3, 3))
np.add.at(TRUTH, (TABLE["a"], TABLE["b"]), 1 / N)
ATTRIBUTES = [sv.Attribute("a", 3), sv.Attribute("b", 3), sv.Attribute("c", 2)]
LASSO = ("lasso", "entropy-split", "lopub-2", "lopub-3")


def tv(found, truth) -> float:
    return float(np.abs(np.ravel(found) - np.ravel(truth)).sum() / 2)


@pytest.fixture(scope="module", params=[False, True], ids=["hidden", "public"])
def study(request):
    records = sv.Records(ATTRIBUTES, epsilon_average=3.0, public=request.param)
    with testing.seeded(11) as source:
        reports = records.randomise(TABLE, allocation="random", source=source)
        yield records, records.aggregate(reports)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_labelled_table(study, method: str) -> None:
    if method in LASSO:
        pytest.importorskip("sklearn", reason="the extra 'lasso' (scikit-learn) is not installed")
    if method == "pgm":
        pytest.importorskip("mbi", reason="the extra 'pgm' (mbi) is not installed")
    records, aggregate = study
    table = records.joint(aggregate, ["b", "a"], method=method)
    assert table.names == ["b", "a"]
    assert table.table.shape == (3, 3)
    assert table.labels[1] == "0 | 1"
    assert table.values.sum() == pytest.approx(1)
    assert table.method == method
    assert table.biased is (method != "kronecker")
    most = {
        "model-average": 0.06,
        "em-ll2": 0.06,
        "em-full": 0.06,
        "kronecker": 0.08,
        "pgm": 0.06,
    }.get(method, 0.6)
    assert tv(table.table.T, TRUTH) < most
    assert (table.std_error > 0).any()
    assert np.isfinite(table.std_error).all()
    information = table.mutual_information("a", "b")
    for shown in (table, table.project(), table.conditional(["b"], ["a"]), information):
        assert "intervals are approximate" in str(shown).replace("\n  ", " ")
    one = records.joint(aggregate, ["a"], method=method)
    assert one.labels == (0, 1, 2)
    assert tv(one.values, TRUTH.sum(axis=1)) < 0.25


def test_the_default_sees_dependence_and_says_what_it_averages(study) -> None:
    records, aggregate = study
    assert records.joint(aggregate, ["a", "b", "c"], method="em-ll2").steps > 0
    table = records.joint(aggregate, ["a", "b", "c"])
    assert table.steps is None
    assert sum(table.weights.values()) == pytest.approx(1)
    assert table.weights.get("product", 0) < 1e-3
    information = table.mutual_information("a", "b")
    assert information.values[0] > 0.2
    assert 0 < information.std_error[0] < 0.2
    assert str(information).startswith(
        "mutual information of a and b: 6,000 reports, model-average"
    )
    product = records.joint(aggregate, ["a", "b"], method="product")
    assert product.mutual_information("a", "b").values[0] == pytest.approx(0, abs=1e-12)
    assert product.assuming.startswith("attributes are independent; 95 % intervals are approximate")


def test_a_table_is_consistent_with_itself(study) -> None:
    records, aggregate = study
    whole = records.joint(aggregate, ["c", "a", "b"])
    np.testing.assert_allclose(whole.marginal(["b", "c"]).table, whole.table.sum(axis=1).T)
    np.testing.assert_allclose(records.joint(aggregate, ["b", "c"]).table, whole.table.sum(1).T)
    conditional = whole.conditional(["b"], given=["a"])
    assert conditional.shape == (3, 3)
    np.testing.assert_allclose(conditional.table.sum(axis=1), 1)
    assert conditional.name == "b given a"
    assert conditional.labels[1] == "0 | 1"
    assert 0 < conditional.std_error.min() <= conditional.std_error.max() < 0.2
    np.testing.assert_allclose(
        conditional.table * whole.marginal(["a"]).values[:, None], whole.marginal(["a", "b"]).table
    )
    rows = whole.synthetic(50_000, seed=1)
    assert set(rows) == {"a", "b", "c"}
    assert np.mean(np.array(rows["a"]) == 0) == pytest.approx(
        whole.marginal(["a"]).values[0], abs=0.02
    )
    assert whole.marginal(["a"]).std_error.max() < 0.1


def test_kronecker_is_raw_and_projects_apart(study) -> None:
    records, aggregate = study
    raw = records.joint(aggregate, ["a", "b", "c"], method="kronecker", force=True)
    assert raw.values.min() < 0
    for how in ("norm-sub", "simplex-weighted"):
        projected = raw.project(how)
        assert projected.values.min() >= 0
        assert projected.values.sum() == pytest.approx(1)
        assert projected.raw is raw
        assert projected.biased
        assert projected.std_error.max() > 0
    with pytest.raises(ParameterError, match="no projection"):
        raw.project("clip")


REFUSED = {
    "method": (["a"], {"method": "magic"}, "no method 'magic'"),
    "a text": ("a", {}, "give a list of names"),
    "none": ([], {}, "give a list of names"),
    "unknown": (["z"], {}, "no attribute 'z'"),
    "twice": (["a", "a"], {}, "name one twice"),
    "three by kronecker": (["a", "b", "c"], {"method": "kronecker"}, "force=True"),
    "stop": (["a", "b"], {"method": "em-ll2", "stop": -1}, "'cv' or a number"),
    "stop as text": (["a", "b"], {"method": "em-ll2", "stop": "soon"}, "'cv' or a number"),
    "stop as a list": (["a", "b"], {"method": "em-ll2", "stop": [1]}, "'cv' or a number"),
    "method as a list": (["a"], {"method": ["product"]}, "no method"),
    "a number": (5, {}, "give a list of names"),
    "progress": (["a", "b"], {"progress": 5}, "it must be a function"),
    "option": (["a", "b"], {"method": "lasso", "stop": 3}, "takes no options"),
    "stop of an average": (["a", "b"], {"stop": 3}, "takes 'margins', 'progress'"),
    "margins": (["a", "b"], {"margins": "loose"}, "'pooled' or 'stratified'"),
    "margins as a list": (["a", "b"], {"margins": []}, "'pooled' or 'stratified'"),
}


@pytest.mark.parametrize(("names", "given", "says"), REFUSED.values(), ids=REFUSED)
def test_refused_questions(study, names, given, says) -> None:
    records, aggregate = study
    with pytest.raises(ParameterError, match=says):
        records.joint(aggregate, names, **given)


def test_refused_marginals(study) -> None:
    records, aggregate = study
    with pytest.raises(ParameterError, match="joint for several"):
        records.marginal(aggregate, ["a", "b"])
    with pytest.raises(ParameterError, match="no method"):
        records.marginal(aggregate, ["a"], method="x")
    if not records.public:
        for method in ("known-epsilons", "weighted-epsilons"):
            with pytest.raises(ParameterError, match="divisions are hidden"):
                records.marginal(aggregate, ["a"], method=method)


def test_tables_that_are_too_large_are_refused() -> None:
    records = sv.Records([sv.Attribute(f"a{i}", 40) for i in range(4)], epsilon_average=2.0)
    aggregate = records.aggregate(records.randomise({f"a{i}": [0, 1] for i in range(4)}))
    with pytest.raises(ParameterError, match="2,560,000 cells"):
        records.joint(aggregate, records.names)


def test_pairs_never_reported_together_are_said(study) -> None:
    records, _ = study
    sent = np.ones((N, 3), bool)
    sent[::2, 0], sent[1::2, 2] = False, False
    with testing.seeded(2) as source:
        reports = records.randomise(TABLE, allocation="random", reported=sent, source=source)
        aggregate = records.aggregate(reports)
        # Given b, the two are independent: every 2 × 2 odds ratio is one, and nearly so in an
        # average of tables of which each has this property.
        for method, near in (("em-ll2", 1e-6), ("model-average", 0.1)):
            estimated = records.joint(aggregate, ["a", "b", "c"], method=method)
            assert "'a' and 'c'" in estimated.assuming
            for b in range(3):
                table = estimated.table[:, b]
                ratio = table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])
                assert ratio == pytest.approx(1, abs=near)
        assert records.joint(aggregate, ["a", "c"], method="product").values.size == 6
        with pytest.raises(EstimateError, match="use 'model-average'"):
            records.joint(aggregate, ["a", "c"], method="kronecker")
        sent[:150, 2], sent[:150, 0] = True, True
        reports = records.randomise(TABLE, allocation="random", reported=sent, source=source)
        few = records.aggregate(reports)
        with pytest.warns(FewTogetherWarning, match=r"'a' and 'c' \(150\)"):
            records.joint(few, ["a", "c"])


def test_the_lasso_asks_for_its_extra(monkeypatch, study) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    records, aggregate = study
    with pytest.raises(MissingExtraError, match="lasso"):
        records.joint(aggregate, ["a", "b"], method="lasso")


@pytest.mark.parametrize("public", [False, True], ids=["hidden", "public"])
def test_standard_errors_are_those_of_repetitions(public: bool) -> None:
    records = sv.Records(ATTRIBUTES, epsilon_average=2.0, public=public)
    sent = np.arange(3) < (np.arange(N) % 3 + 1)[:, None]
    sent[:, 1] = True
    found, errors = [], []
    with testing.seeded(21) as source:
        for _ in range(150):
            reports = records.randomise(TABLE, allocation="random", reported=sent, source=source)
            one = records.marginal(records.aggregate(reports), ["b"])
            found.append(one.values)
            errors.append(one.std_error)
    truth = TRUTH.sum(axis=0)
    spread = np.std(found, axis=0)
    # Conservative: the fixed answers' own sampling variance is in it, 1.0 to 1.4 times.
    ratio = (np.mean(errors, axis=0) / spread) ** 2
    assert ((ratio > 0.75) & (ratio < 1.75)).all()
    assert np.abs(np.mean(found, axis=0) - truth).max() < 4 * spread.max() / np.sqrt(150)
    np.testing.assert_allclose(np.sum(found, axis=1), 1, atol=1e-9)


def test_equation_16_is_biased_by_its_formula() -> None:
    records = sv.Records(ATTRIBUTES[:2], epsilon_average=2.0)
    rows = np.tile([3.9, 0.1], (N, 1))
    rows[::2] = rows[::2, ::-1]
    q, used = (1 / (np.exp(3.9) + 1) + 1 / (np.exp(0.1) + 1)) / 2, 1 / (np.exp(2) + 1)
    with testing.seeded(4) as source:
        estimates = [
            records.marginal(
                records.aggregate(records.randomise(TABLE, allocation=rows, source=source)),
                ["a"],
                method="published",
            )
            for _ in range(40)
        ]
    truth = TRUTH.sum(axis=1)
    wanted = (1 - truth) * (q - used) / (0.5 - used)
    error = np.mean([one.values for one in estimates], axis=0) - truth
    np.testing.assert_allclose(error, wanted, atol=0.01)
    assert wanted.min() > 0.2
    assert estimates[0].biased
