"""`sottovoce.plot` itself: how it is reached, and what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sottovoce as sv
from sottovoce.errors import MissingExtraError
from sottovoce.plot import paint

from .conftest import shares

REACH = """
import sys
from sottovoce import plot
import sottovoce as sv, sottovoce.plot.estimate, sottovoce.plot.compare
assert "matplotlib" not in sys.modules
assert sv.plot is plot and callable(plot.estimate) and callable(plot.compare)
"""


def test_it_is_reached_in_every_way_and_loads_matplotlib_late() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", REACH], check=True)


@pytest.mark.parametrize(
    "draw", [lambda est: est.plot(), lambda est: sv.plot.compare([est])], ids=["plot", "compare"]
)
def test_without_matplotlib_it_says_what_to_install(draw, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"sottovoce\[plot\]"):
        draw(shares((0.5, 0.5)))


def test_no_window_is_opened(monkeypatch) -> None:
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda *a, **k: pytest.fail("a window was opened"))
    shares((0.5, 0.5)).plot()
    sv.plot.compare([shares((0.5, 0.5))])


def test_settings_stay_as_they_were() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    shares((0.5, 0.5)).plot()
    assert dict(mpl.rcParams) == before


def test_colours_are_okabe_and_itos() -> None:
    assert {*paint.SERIES, paint.VERMILLION, paint.BLACK} <= {
        "#000000",
        "#E69F00",
        "#56B4E9",
        "#009E73",
        "#F0E442",
        "#0072B2",
        "#D55E00",
        "#CC79A7",
    }
