"""Pictures: bars with error bars for a few values, a band for many, and the truth where known."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.container import BarContainer, ErrorbarContainer

from sottovoce import GRR, OUE, Attribute, Estimate, plot, testing
from sottovoce.errors import ParameterError


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def few(labels=("car", "bike", "train", "foot"), name: str = "commute") -> Estimate:
    mechanism = OUE(Attribute(name, list(labels)), epsilon=1.0)
    answers = np.array(labels)[np.arange(4000) % len(labels)]
    return mechanism.estimate(mechanism.aggregate(mechanism.randomise(answers)))


def many() -> Estimate:
    mechanism = GRR(1000, epsilon=3.0)
    return mechanism.estimate(mechanism.aggregate(mechanism.randomise(np.arange(5000) % 1000)))


def containers(axes: Axes, kind: type) -> list:
    return [c for c in axes.containers if isinstance(c, kind)]


def test_a_few_values_are_bars_with_error_bars() -> None:
    estimate = few()
    axes = plot.estimate(estimate)
    assert isinstance(axes, Axes)
    (bars,) = containers(axes, BarContainer)
    assert np.allclose([bar.get_width() for bar in bars], estimate.values)
    (errors,) = containers(axes, ErrorbarContainer)
    low, high = estimate.interval()
    segments = np.array(errors.lines[2][0].get_segments())
    assert np.allclose(segments[:, :, 0], np.stack([low, high], axis=1))
    assert [text.get_text() for text in axes.get_yticklabels()] == list(estimate.labels)
    title = axes.get_title(loc="left")
    assert "commute" in title
    assert "4,000" in title


def test_of_many_values_the_largest_are_bars_and_the_rest_a_line_with_a_band() -> None:
    estimate = many()
    axes = plot.estimate(estimate, top=15)
    ranked = np.sort(estimate.values)[::-1]
    (bars,) = containers(axes, BarContainer)
    assert np.allclose([bar.get_width() for bar in bars], ranked[:15])
    assert any(np.isin(line.get_xdata(), ranked[15:]).all() for line in axes.get_lines())
    bands = [c for c in axes.collections if isinstance(c, PolyCollection)]
    assert len(bands) == 1
    low, high = estimate.interval()
    edges = bands[0].get_paths()[0].vertices[:, 0]
    assert low.min() - 1e-12 <= edges.min() < np.median(low)
    assert np.median(high) < edges.max() <= high.max() + 1e-12


def test_the_truth_is_laid_over() -> None:
    truth = [0.4, 0.3, 0.2, 0.1]
    axes = plot.estimate(few(), truth=truth)
    points = [c for c in axes.collections if isinstance(c, PathCollection)]
    assert any(np.allclose(c.get_offsets()[:, 0], truth) for c in points)
    assert "truth" in [text.get_text() for text in axes.get_legend().get_texts()]
    axes = plot.estimate(many(), truth=np.full(1000, 0.001))
    points = [c for c in axes.collections if isinstance(c, PathCollection)]
    assert any(np.allclose(c.get_offsets()[:, 0], 0.001) for c in points)


def test_a_mapping_is_a_truth_and_nonsense_is_not() -> None:
    plot.estimate(few(), truth={"foot": 0.1, "car": 0.4, "bike": 0.3, "train": 0.2})
    with pytest.raises(ParameterError, match="truth"):
        plot.estimate(few(), truth=[1, 2, 3, 4])


def test_given_axes_are_used() -> None:
    figure, axes = plt.subplots()
    assert plot.estimate(few(), ax=axes) is axes
    assert few().plot(ax=axes) is axes
    assert len(figure.axes) == 1


def test_the_confidence_is_said_and_drawn() -> None:
    estimate = few()
    axes = plot.estimate(estimate, confidence=0.5)
    (errors,) = containers(axes, ErrorbarContainer)
    low, _ = estimate.interval(0.5)
    assert np.allclose(np.array(errors.lines[2][0].get_segments())[:, 0, 0], low)
    assert any("50" in text.get_text() for text in axes.get_legend().get_texts())


def test_a_projected_estimate_can_be_drawn() -> None:
    plot.estimate(few().project()).figure.canvas.draw()


@pytest.mark.parametrize(
    "strange", ["$100$", "$", "_hidden", "a\nb", "x" * 200, "50 % off", "\\frac", "$\\frac$"]
)
def test_any_label_can_be_drawn(strange: str) -> None:
    axes = plot.estimate(few((strange, "other"), name=strange))
    axes.figure.canvas.draw()
    shown = axes.get_yticklabels()[0].get_text().replace("\\$", "$")
    flat = " ".join(strange.split())
    assert shown == flat or shown[:10] == flat[:10]


def test_a_seeded_estimate_shows_that_nothing_is_promised() -> None:
    mechanism = OUE(4, epsilon=1.0)
    with testing.seeded(1) as source:
        reports = mechanism.randomise(np.arange(100) % 4, source=source)
        estimate = mechanism.estimate(mechanism.aggregate(reports))
    title = plot.estimate(estimate).get_title(loc="left")
    assert "ε = 1" not in title
