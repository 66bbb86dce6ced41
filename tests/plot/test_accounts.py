"""The picture of what a shuffler is worth."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sottovoce.accounting import Comparison, compare
from sottovoce.errors import MissingExtraError, ParameterError
from sottovoce.plot import shuffle

from . import look


@pytest.fixture(scope="module")
def rows() -> list[Comparison]:
    return compare(10, 2_000, 1e-6, [4, 1, 2])


def lines(ax) -> dict[str, np.ndarray]:
    drawn = dict(zip(look.legend(ax), ax.get_lines(), strict=True))
    return {name.split(" trusted")[0]: line.get_xydata() for name, line in drawn.items()}


def test_three_lines_from_left_to_right(rows) -> None:
    drawn = lines(shuffle(rows))
    in_order = sorted(rows, key=lambda row: row.local_epsilon)
    for name, column in (
        ("nobody", "local_error"),
        ("shuffler", "shuffled_error"),
        ("server", "gaussian_error"),
    ):
        true = [(row.epsilon, getattr(row, column)) for row in in_order]
        assert np.allclose(drawn[name], true)


def test_marks_carry_the_local_epsilon(rows) -> None:
    ax = shuffle(rows)
    assert [text.get_text() for text in ax.texts] == ["1", "2", "4"]
    assert look.title(ax) == "What a shuffler is worth\n2,000 people, 10 values, δ = 1e-06"
    assert len({(line.get_color(), line.get_marker()) for line in ax.get_lines()}) == 3


def test_ticks_are_plain_numbers(rows) -> None:
    ax = shuffle(rows)
    ax.figure.canvas.draw()
    named = [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    assert all("$" not in name for name in named)
    assert any(name.endswith("%") for name in named)


@pytest.mark.parametrize("own", [True, False])
def test_the_legend_covers_nothing(rows, own: bool) -> None:
    assert look.legend_is_clear(shuffle(rows, ax=None if own else plt.subplots()[1]))


def test_given_axes_are_used(rows) -> None:
    figure, ax = plt.subplots()
    assert shuffle(iter(rows), ax=ax) is ax
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda rows: [], "at least two"),
        (lambda rows: rows[:1], "at least two"),
        (lambda rows: [1, 2], "cannot be drawn"),
        (lambda rows: [*rows, *compare(10, 2_001, 1e-6, [1])], "differ in values"),
    ],
    ids=["none", "one", "numbers", "two crowds"],
)
def test_what_cannot_be_drawn_leaves_no_figure(rows, wrong, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        shuffle(wrong(rows))
    assert not plt.get_fignums()


def test_without_matplotlib_it_says_what_to_install(rows, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"sottovoce\[plot\]"):
        shuffle(rows)
