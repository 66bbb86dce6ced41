"""Error against communication: the lines are the exact variances, and collections lie on them."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.plot import communication

from . import look

BINOMIAL = np.array([math.comb(100, k) / 2**100 for k in range(101)])


@pytest.mark.parametrize(
    ("epsilon", "at_tenth", "at_one"), [(1.0, 3.42, 1.05), (4.0, 0.155, 0.046), (6.0, 0.053, 0.013)]
)
def test_the_papers_setting_has_the_pages_distances(epsilon, at_tenth, at_one):
    """TV of ĉ for Bin(100, ½) and 50,000 people."""
    ax = communication(
        sv.GRR(101, epsilon=epsilon), 50_000, frequencies=BINOMIAL, methods=["biswas-c-hat"]
    )
    rate, distance = ax.get_lines()[0].get_data()
    assert (rate[0], rate[-1]) == (0.1, 1.0)
    assert distance[0] == pytest.approx(at_tenth, rel=0.03)
    assert distance[-1] == pytest.approx(at_one, rel=0.06)


def test_lines_are_the_exact_variances():
    m, shares = sv.OUE(5, epsilon=1), [0.5, 0.2, 0.1, 0.1, 0.1]
    methods = ["hajek", "biswas-c-hat", "biswas-g", "horvitz-thompson", "post-stratified"]
    ax = communication(
        m, 900, frequencies=shares, rates=[0.2, 0.7], error="std_error", methods=methods
    )
    for line, method in zip(ax.get_lines(), methods, strict=True):
        for k, rate in ((0, 0.2), (-1, 0.7)):
            variance = sv.Sampled(m, rate=rate).variance(shares, 900, method=method)
            assert line.get_xdata()[k] == rate
            assert line.get_ydata()[k] == pytest.approx(math.sqrt(variance.mean()))
    assert look.legend(ax) == [f"{method}, predicted" for method in methods]


def test_collections_lie_on_the_predicted_line_and_projected_ones_below():
    """Means over 40 collections and four rates, within a tenth: about 15 standard errors."""
    m = sv.GRR(20, epsilon=1)
    answers = np.random.default_rng(1).binomial(19, 0.5, 5_000)
    ax = communication(m, answers=answers, rates=[0.2, 0.4, 0.6, 1.0], repeats=40)
    line, raw, projected = ax.get_lines()[:3]
    expected = np.interp(raw.get_xdata(), *line.get_data())
    assert raw.get_xdata() == pytest.approx([0.2, 0.4, 0.6, 1.0])
    assert np.mean(raw.get_ydata() / expected) == pytest.approx(1, abs=0.1)
    assert (np.asarray(projected.get_ydata()) < raw.get_ydata()).all()
    assert look.legend(ax)[1:] == ["hajek, mean of 40 collections", "the same, projected"]


def test_reports_have_a_scale_of_their_own():
    ax = communication(sv.GRR(4, epsilon=1), 5_000)
    (reports,) = ax.child_axes
    ax.figure.canvas.draw()
    assert reports.get_xlabel() == "reports sent"
    assert np.allclose(reports.get_xlim(), np.array(ax.get_xlim()) * 5_000)
    assert "5,000" in [text.get_text() for text in reports.get_xticklabels()]


def test_the_title_says_what_it_is():
    ax = communication(sv.GRR(4, epsilon=1), 5_000)
    assert look.title(ax) == "Error against communication\nGRR over 4 values, ε = 1, 5,000 people"
    assert ax.get_ylabel() == "total variation distance"


def test_where_raw_estimates_say_nothing_is_marked():
    (words,) = communication(sv.GRR(101, epsilon=1), 100_000).texts
    assert "further apart" in words.get_text()
    assert not communication(sv.GRR(4, epsilon=4), 50_000).texts


def test_collections_that_nobody_reports_to_are_left_out():
    ax = communication(sv.GRR(2, epsilon=1), answers=[0, 1], rates=[1e-9, 1.0], repeats=1)
    assert ax.get_lines()[1].get_xdata() == pytest.approx([1.0])
    assert "hajek, one collection" in look.legend(ax)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("answers", [None, [0, 1, 2] * 99])
def test_the_legend_covers_nothing_and_nothing_is_cut(own, answers):
    ax = None if own else plt.subplots()[1]
    n = 297 if answers is None else None
    drawn = communication(sv.GRR(3, epsilon=1), n, answers=answers, repeats=1, ax=ax)
    assert look.legend_is_clear(drawn)
    assert ax is None or drawn is ax
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "or their answers"),
        ({"n": 10, "answers": [0, 1]}, "give either n"),
        ({"answers": []}, "at least one person"),
        ({"n": 0}, "at least 1"),
        ({"n": 10, "frequencies": [1.0]}, "sum to one"),
        ({"n": 10, "frequencies": [0.5, 0.4, 0.0]}, "sum to one"),
        ({"n": 10, "rates": [0.5]}, "at least two"),
        ({"n": 10, "rates": [0.0, 0.5]}, "above 0"),
        ({"n": 10, "rates": [0.5, 1.5]}, "probability"),
        ({"n": 10, "error": "l2"}, "'std_error'"),
        ({"n": 10, "methods": "hajek"}, "give a list"),
        ({"n": 10, "methods": ["wang-c"]}, "unbiased ones"),
        ({"n": 10, "methods": []}, "give a list"),
        ({"n": 10, "repeats": 0}, "at least 1"),
    ],
)
def test_bad_input_is_refused_and_leaves_no_figure(wrong, message):
    with pytest.raises(ParameterError, match=message):
        communication(sv.GRR(3, epsilon=1), **wrong)
    assert not plt.get_fignums()


def test_only_mechanisms_for_values_are_drawn():
    for mechanism in (sv.Hybrid((0, 1), epsilon=1), sv.Sampled(sv.GRR(3, epsilon=1), rate=0.5)):
        with pytest.raises(ParameterError, match="not for a set of values"):
            communication(mechanism, 10)
