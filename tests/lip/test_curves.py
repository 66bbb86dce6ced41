"""The curves of the paper's Figures 2 and 5 to 7, with the true optimum."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

import sottovoce as sv
from sottovoce import LIP
from sottovoce.errors import ParameterError
from sottovoce.published.information_privacy import MODELS, flips, prior_curve, yes_error


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("prior", [0.01, 0.1, 0.5, 0.99, "random"])
def test_the_models_stand_in_their_true_order(prior: float | str) -> None:
    curve = prior_curve(prior)
    assert list(curve.errors) == list(MODELS)
    lip, half, symmetric, response, free = curve.errors.values()
    assert (np.diff([lip, symmetric, response], axis=0) >= -1e-12).all()
    assert (half >= response - 1e-12).all()  # never "half the epsilon and more useful"
    assert (free >= response).all()
    for error in (lip, half, symmetric, response):
        assert (error <= curve.unasked + 1e-12).all()
        assert (np.diff(error) <= 1e-12).all()
    assert curve.epsilons[0] == 0.5
    assert curve.epsilons[-1] == 10


def test_known_points() -> None:
    curve = prior_curve(0.01, [1.0, 4.0, 8.0])
    squared = {name: (error**2).tolist() for name, error in curve.errors.items()}
    assert squared["ε-LIP"] == pytest.approx([0.009791, 0.004638, 0.000007], abs=6e-7)
    assert squared["Opt-LDP"] == pytest.approx([0.009795, 0.006509, 0.000325], abs=6e-7)
    assert squared["ε/2-LIP"] == pytest.approx([0.009874, 0.009348, 0.004638], abs=6e-7)
    assert squared["context-free LDP"][0] == pytest.approx(math.e / (math.e - 1) ** 2)
    assert curve.rows()[1]["epsilon"] == 4.0


def test_skew_to_either_side_is_the_same() -> None:
    few, many = prior_curve(0.01), prior_curve(0.99)
    for name in MODELS:
        assert few.errors[name] == pytest.approx(many.errors[name])


def test_priors_from_everywhere_are_the_limit_of_random_ones() -> None:
    rng = np.random.default_rng(7)
    everywhere, some = prior_curve("random"), prior_curve(rng.random(50_000))
    for name in MODELS:
        assert some.errors[name] == pytest.approx(everywhere.errors[name], rel=0.02)
    assert some.prior == "50,000 people, each with a prior"
    assert everywhere.unasked == pytest.approx(math.sqrt(1 / 6), abs=1e-6)


def test_the_formula_is_that_of_the_mechanism() -> None:
    for variant in ("optimal", "symmetric", "opt-ldp", "jiang-theorem2"):
        for p in (0.02, 0.4):
            mechanism = LIP(2, prior=p, epsilon=1.3, variant=variant)
            error = float(yes_error(p, 1.3, variant))
            assert mechanism.mmse_error() / 2 == pytest.approx(error, abs=1e-12)


def test_a_sure_answer_has_no_error() -> None:
    for p in (0.0, 1.0):
        for variant in ("optimal", "symmetric", "opt-ldp"):
            assert float(yes_error(p, 1.0, variant)) == 0.0


@pytest.mark.parametrize("prior", [-0.1, 1.1, math.nan, [], "often", None, [[0.5]], {"yes": 0.5}])
def test_what_is_no_prior_is_refused(prior: object) -> None:
    with pytest.raises(ParameterError, match="prior is"):
        prior_curve(prior)


def test_what_are_no_epsilons_is_refused() -> None:
    with pytest.raises(ParameterError, match="no epsilons"):
        prior_curve(0.5, [])
    with pytest.raises(ParameterError, match="at most 20"):
        prior_curve(0.5, [21.0])
    with pytest.raises(ParameterError, match="there is no channel"):
        flips(0.5, 1.0, "a-optimal")


# --- the picture --------------------------------------------------------------------------------


def test_one_curve_on_its_own_figure() -> None:
    curve = prior_curve(0.1)
    ax = sv.plot.lip(curve)
    assert ax.get_title(loc="left") == "P(yes) = 0.1"
    assert ax.get_yscale() == "log"
    drawn = {line.get_label(): line for line in ax.get_lines()}
    assert list(drawn) == [*MODELS, "the prior, without asking"]
    for name, error in curve.errors.items():
        assert drawn[name].get_ydata() == pytest.approx(error)
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(drawn)


@pytest.mark.parametrize("panels", [1, 2, 3, 4])
def test_the_legend_lies_within_the_figure(panels: int) -> None:
    curves = [prior_curve(p, [1.0, 2.0]) for p in (0.1, 0.2, 0.3, 0.4)[:panels]]
    figure = sv.plot.lip(curves)[0].figure
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    assert 0 <= box.y0 < box.y1 <= figure.bbox.height


def test_several_curves_and_given_axes() -> None:
    curves = [prior_curve(p) for p in (0.01, "random")]
    axes = sv.plot.lip(curves)
    assert [ax.get_title(loc="left") for ax in axes] == [curve.prior for curve in curves]
    _, mine = plt.subplots(1, 2)
    assert sv.plot.lip(curves, ax=mine) == list(mine)
    _, one = plt.subplots()
    assert sv.plot.lip(curves[0], ax=one) is one
    assert one.get_legend() is not None
    with pytest.raises(ParameterError, match="as many axes"):
        sv.plot.lip(curves, ax=[one])
    for wrong in ([], [1], "curve"):
        with pytest.raises(ParameterError, match="prior_curve"):
            sv.plot.lip(wrong)


def test_estimates_say_both_levels_in_their_title() -> None:
    mechanism = LIP(prior={"yes": 0.1, "no": 0.9}, epsilon=1.0)
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomise(["yes", "no"] * 500)))
    title = estimate.plot().get_title(loc="left")
    assert "ε = 1 under the prior, 1.22 without" in title  # 1.2119, never rounded down
    other = mechanism.estimate(mechanism.aggregate(mechanism.randomise(["yes", "no"] * 500)))
    both = sv.plot.compare([estimate, other]).get_title(loc="left")
    assert "ε = 1 under the prior, 1.22 without" in both
