"""Tidy columns, frames and notebook displays."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.estimate.display import Format
from sottovoce.estimate.estimate import Estimate
from sottovoce.promise import LDP, Guarantee, Promise
from sottovoce.testing import seeded

NUMBERS = ["estimate", "std_error", "low", "high"]
PROMISED = Guarantee((Promise(LDP, 1.0),))


def estimate(values: list[float], error: float = 0.012, **about: object) -> Estimate:
    fields: dict[str, object] = {
        "values": np.array(values),
        "spread": np.full(len(values), error**2),
        "n": 1000,
        "labels": tuple("abcdef"[: len(values)]),
        "guarantee": PROMISED,
        "name": "x",
    }
    return Estimate(**{**fields, **about})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def joint():
    records = sv.Records(
        [sv.Attribute("low", ["a", "b"]), sv.Attribute("age", ["young", "old"])], epsilon_average=3
    )
    with seeded(1) as source:
        answers = {"low": ["a", "b"] * 500, "age": ["young"] * 500 + ["old"] * 500}
        counts = records.aggregate(records.randomise(answers, source=source))
        yield records.joint(counts, ["low", "age"])


def test_one_column_per_attribute(joint) -> None:
    frame = joint.to_frame()
    # An attribute whose name a number has gets a word in front.
    assert list(frame.columns) == ["attribute low", "age", *NUMBERS]
    assert frame["age"].tolist() == ["young", "old"] * 2
    by_age = joint.conditional(["low"], ["age"])
    assert list(by_age.to_frame().columns) == ["age", "attribute low", *NUMBERS]
    assert by_age.to_frame().groupby("age")["estimate"].sum().tolist() == pytest.approx([1, 1])
    assert [attribute.name for attribute in by_age.given] == ["age"]
    assert list(joint.marginal(["age"]).to_frame().columns) == ["age", *NUMBERS]
    assert list(estimate([0.4, 0.6]).to_frame().columns) == ["value", *NUMBERS]


def test_cells_of_tables_have_contrasts(joint) -> None:
    gap = joint.contrast({("a", "young"): 1, ("b", "young"): -1})
    assert gap.values[0] == pytest.approx(joint.table[0, 0] - joint.table[1, 0])
    assert 0 < gap.std_error[0] <= joint.std_error[0] + joint.std_error[2]
    by_age = joint.conditional(["low"], ["age"])
    assert by_age.contrast({("young", "a"): 1, ("old", "a"): -1}).unit == "points"
    with pytest.raises(sv.SottovoceError, match="the same reports"):
        _ = joint.marginal(["age"]) - joint.marginal(["age"])
    assert joint.simultaneous().method == "Bonferroni"


def test_synthetic_records_are_a_frame(joint) -> None:
    frame = joint.synthetic(200, seed=1)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["low", "age"]
    assert len(frame) == 200
    assert joint.synthetic(5, seed=1, backend="polars").shape == (5, 2)


def test_numbers_have_equal_digits() -> None:
    written = Format.of(estimate([0.1, 0.9]))
    assert [written.number(x) for x in (0.1, 0.95123, -0.00001, float("nan"))] == [
        "10.0",
        "95.1",
        "0.0",
        "–",
    ]
    difference = estimate([0.1, 0.9]) - estimate([0.2, 0.8])
    points = Format.of(difference)
    assert points.interval(-0.1, 0.02) == "-10.0 to +2.0"
    mean = estimate([41.2345], error=0.5, fractions=False)
    assert Format.of(mean).number(41.2345) == "41.23"
    incomes = estimate([3_164_021.7], error=20_000.0, fractions=False)
    assert Format.of(incomes).interval(-5_500, 3_164_021.7) == "-5,500 to 3,164,022"
    assert "3,164,022" in str(incomes)
    exact = estimate([0.5, 0.5], error=0.0)
    assert Format.of(exact).decimals == 1


def test_the_empty_text_has_a_label_that_can_be_seen() -> None:
    one = estimate([0.4, 0.6], labels=("", "tea"))
    assert str(one).splitlines()[2].startswith('""  ')
    assert ">&quot;&quot;</td>" in one._repr_html_()
    assert one.rows()[0]["value"] == ""


def cells(html: str) -> list[str]:
    return re.findall(r"<td[^>]*text-align:right[^>]*>([^<]*)</td>", html)


def test_notebooks() -> None:
    html = estimate([0.1, 0.9])._repr_html_()
    assert cells(html) == ["10.0 %", "7.6 to 12.4 %", "90.0 %", "87.6 to 92.4 %"]
    assert PROMISED.line() in html  # the guarantee in one line
    change = (estimate([0.1, 0.9]) - estimate([0.2, 0.8]))._repr_html_()
    assert "difference in points" in change
    assert "&lt;.0001" in change
    mechanism = sv.GRR(sv.Attribute("<b>", ["yes", "no"]), epsilon=1.0)
    reports = mechanism.randomise(["yes"] * 7)
    shown = {
        "plan": (sv.plan(d=4, n=10_000, epsilon=1.0), "std error"),
        "choice": (sv.choose(4, epsilon=1.0), "decode steps"),
        "study": (sv.Study("S", (mechanism,)), PROMISED.line()),
        "reports": (reports, "7 reports"),
        "aggregate": (mechanism.aggregate(reports), reports.digest.hex()),
    }
    for what, part in shown.values():
        html = what._repr_html_()
        assert part in html
        assert "<b>" not in html.replace("<div><b>", "", 1)  # names are escaped
    with seeded(1) as source:
        marked = mechanism.randomise(["yes"], source=source)._repr_html_()
    assert "there is no privacy" in marked


def test_errors_of_plans_have_equal_digits() -> None:
    for rows in (sv.plan(d=6, n=10_000, epsilon=1.0).table(), sv.choose(6, epsilon=1.0).table()):
        column = rows[0].index("std error")
        assert len({len(row[column].partition(".")[2]) for row in rows[1:]}) == 1


def test_plans_of_records_name_both_epsilons() -> None:
    plan = sv.plan(attributes=[4, 4, 2], n=10_000, epsilon=2.0)
    assert "ε = 2 for each attribute, 6 for the record" in str(plan)
    titles, first, *_ = plan.table()
    assert first[titles.index("record epsilon")] == "6"


def test_text_of_a_difference_has_p_values() -> None:
    text = str(estimate([0.1, 0.9]) - estimate([0.11, 0.89]))
    assert "difference" in text
    assert "p-value" in text
    assert replace(estimate([0.5, 0.5]), name="").columns()["value"] == ["a", "b"]


def test_in_a_console_things_take_one_line(joint) -> None:
    assert repr(estimate([0.4, 0.6])) == "<Estimate x: 1,000 reports, unbiased, 2 values>"
    assert repr(joint) == "<Table low × age: 1,000 reports, model-average, 4 values>"
    assert repr(joint.mutual_information("low", "age")).startswith("<Information ")
    m = sv.Sampled(sv.GRR(["a", "b"], epsilon=1.0), rate=0.5)
    reports = m.randomise(["a", "b"] * 500)
    assert (
        repr(reports) == f"<Reports participation: {len(reports)}, digest {m.digest.hex()[:12]}…>"
    )
    counts = m.aggregate(reports)
    assert f"{counts.reports:,} reports of 1,000 people, digest " in repr(counts)
    with seeded(1) as source:
        assert repr(m.randomise(["a"], source=source)).endswith("…, drawn from a seed>")


SHORT = [
    sv.Domain(5),
    sv.Domain(["a", "b"], missing="value"),
    sv.Domain(edges=[0, 0.5, float("inf")]),
    sv.Attribute("smokes", [1, 2], wording=["yes", "no"]),
    sv.Attribute.bins("age", [0, 18, 65], missing="public"),
    sv.Range("age", 0, 120.5, clip=True),
    sv.Options("tools", ["R", "Python"], most=1),
    sv.GRR(sv.Attribute("commute", ["car", "bike"]), epsilon=1.0),
    sv.Sampled(sv.OUE(3, epsilon=1.0), rate=0.1),
    sv.Levels({"weak": sv.GRR(3, epsilon=2.0), "strong": sv.GRR(3, epsilon=0.5)}),
    sv.Sampled(sv.Levels.of(sv.OUE, 3, {"a": 0.5, "b": 2.0}), rate=[0.1, 0.5]),
    sv.Records([sv.Attribute("a", 2), sv.Attribute("b", ["x", "y"])], epsilon_average=1.0),
]


@pytest.mark.parametrize("one", SHORT, ids=repr)
def test_what_makes_an_object_is_how_it_is_shown(one) -> None:
    names = {name: getattr(sv, name) for name in sv.__all__}
    assert eval(repr(one), {**names, "inf": float("inf")}) == one


def test_many_values_and_long_ones_are_shown_in_short() -> None:
    many = sv.OUE([f"value {k}" for k in range(100_000)], epsilon=1.0)
    assert repr(many).startswith("OUE(domain=Domain(['value 0', 'value 1', ")
    assert len(repr(many)) < 200
    assert len(repr(sv.Attribute("q", ["x" * 10_000, "y"]))) < 200


@pytest.mark.parametrize(
    ("value", "error", "row"),
    [
        (25175.5436, 650.0, "mean   25,176  23,902 to 26,450"),
        (44163854.8508, 7.5e6, "mean   44,163,855  29,464,125 to 58,863,585"),
        (4.123e-7, 1.5e-8, "mean   0.000000412  0.000000383 to 0.000000442"),
        (28.99, 0.4, "mean      28.99     28.21 to   29.77"),
    ],
)
def test_a_mean_has_as_many_digits_as_its_error_is_worth(value, error, row) -> None:
    one = estimate([value], error, labels=("mean",), fractions=False)
    assert re.sub(" +", " ", str(one).splitlines()[2]) == re.sub(" +", " ", row)


def test_the_columns_of_a_difference_stand_below_their_titles() -> None:
    change = estimate([0.5, 0.5]) - estimate([0.4, 0.6])
    _, titles, first, _ = str(change).splitlines()
    assert len(titles) == len(first)


def test_a_fraction_of_which_only_rounding_is_uncertain_has_the_digits_of_its_interval() -> None:
    m = sv.Hybrid((0.0, 10.0), epsilon=1.0)
    with seeded(1) as source:
        reports = m.randomise(np.linspace(0, 10, 2000), source=source)
        whole = m.estimate(m.aggregate(reports), method="distribution", bins=1)
    assert whole.std_error[0] < 1e-12
    assert Format.of(whole).decimals <= 2
