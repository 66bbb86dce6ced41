"""The histogram of a number: areas, intervals and quantiles stand where the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import plot
from sottovoce.errors import ParameterError

from . import look
from .conftest import shares


@pytest.fixture(scope="module")
def histogram():
    mechanism = sv.Piecewise(sv.Range("age", 0, 100), epsilon=3.0)
    counts = mechanism.aggregate(mechanism.randomise(np.linspace(0, 100, 3000)))
    return mechanism.estimate(counts, bins=[0, 20, 40, 60, 100])


def test_a_wide_bin_has_the_area_of_its_fraction(histogram) -> None:
    ax = histogram.plot()
    areas = [bar.get_width() * bar.get_height() for bar in look.bars(ax)]
    assert np.array(areas) / 20 == pytest.approx(histogram.values)
    assert ax.get_ylabel() == "fraction of people per 20"
    assert ax.get_xlabel() == "age"
    assert ax.get_xlim() == (0, 100)


def test_the_median_is_marked_with_its_interval(histogram) -> None:
    ax = histogram.plot(confidence=0.9)
    median = histogram.median(confidence=0.9)
    (span,) = (line for line in ax.lines if list(line.get_xdata()) == [median.low, median.high])
    assert span.get_ydata()[0] <= ax.get_ylim()[1]
    assert str(median).split(" (")[0].replace(": ", " ") in look.legend(ax)  # as it is printed
    assert "90% interval" in look.legend(ax)
    without = look.legend(histogram.plot(quantiles=()))
    assert not any("median" in name for name in without)


def test_other_estimates_are_refused() -> None:
    with pytest.raises(ParameterError, match="method='distribution'"):
        plot.histogram(shares((0.5, 0.5)))


def test_a_variance_is_in_squared_units() -> None:
    mechanism = sv.Piecewise(sv.Range("age", 0, 100), epsilon=3.0)
    counts = mechanism.aggregate(mechanism.randomise(np.linspace(0, 100, 3000)))
    ax = mechanism.estimate(counts, method="variance").plot()
    assert ax.get_xlabel() == "variance of age, in squared units"
    assert mechanism.estimate(counts).plot().get_xlabel() == "age"
