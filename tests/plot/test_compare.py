"""Several estimates in one picture."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection

from sottovoce import Guarantee
from sottovoce.errors import ParameterError
from sottovoce.plot import compare
from sottovoce.plot.paint import MARKERS

from . import look
from .conftest import mean, noisy, promise, shares, zipf

A = shares((0.5, 0.3, 0.25, -0.05), 0.02)
B = shares((0.45, 0.3, 0.15, 0.1), 0.05, guarantee=promise(0.5))
MANY = {"first": noisy(1000), "weak": noisy(1000, 0.006, seed=2)}


def dots(ax) -> list[PathCollection]:
    return [c for c in ax.collections if isinstance(c, PathCollection)]


class TestFewValues:
    def test_a_dot_and_an_interval_for_each(self) -> None:
        ax = compare({"A": A, "B": B})
        for est, drawn in zip((A, B), look.whiskers(ax), strict=True):
            assert drawn == pytest.approx(np.stack(est.interval(), axis=1))
        assert look.legend(ax) == ["A", "B"]
        assert look.rows(ax) == list(A.labels)
        assert ax.get_xlabel() == "fraction of people, 95% intervals"
        assert {"0%", "20%"} <= set(look.ticks(ax))

    def test_dots_of_one_value_do_not_hide_each_other(self) -> None:
        ax = compare([A] * 7)
        heights = [container.lines[0].get_ydata()[0] for container in ax.containers]
        assert len(set(heights)) == 7
        assert -0.5 < min(heights) < max(heights) < 0.5

    def test_markers_differ_not_only_colours(self) -> None:
        ax = compare([A] * 9)
        looks = {(c.lines[0].get_marker(), c.lines[0].get_color()) for c in ax.containers}
        assert len(looks) == 9
        assert len({marker for marker, _ in looks}) == len(MARKERS)

    def test_truth_crosses_every_dot_of_its_value(self) -> None:
        true = (0.4, 0.3, 0.2, 0.1)
        ax = compare([A, B], truth=true)
        lines = [c.get_segments() for c in ax.collections if isinstance(c, LineCollection)][-1]
        assert [segment[0, 0] for segment in lines] == pytest.approx(true)
        assert look.legend(ax)[-1] == "truth"

    def test_means(self) -> None:
        ax = compare({"one": mean(), "two": mean(42.0)}, truth=[41.0])
        assert ax.get_xlabel() == "age, 95% intervals"
        assert not any("%" in tick for tick in look.ticks(ax))


class TestManyValues:
    def test_a_dot_per_value_at_its_error(self) -> None:
        true = zipf(1000)
        ax = compare(MANY, truth=true)
        for est, drawn in zip(MANY.values(), dots(ax), strict=True):
            errors = np.asarray(drawn.get_offsets())[:, 0]
            assert errors == pytest.approx(np.sort(100 * (est.values - true)))
        assert ax.get_xlabel() == "difference from truth, in percentage points (pp)"

    def test_rows_say_error_and_coverage(self) -> None:
        true = zipf(1000)
        rows = look.rows(compare(MANY, truth=true))
        for row, (name, est) in zip(rows, MANY.items(), strict=True):
            low, high = est.interval()
            held = np.mean((low <= true) & (true <= high))
            rmse = 100 * est.error(true).rmse
            assert row == f"{name}\nRMSE {rmse:.2f} pp, {held:.0%} within interval"

    def test_bars_are_as_wide_as_a_typical_interval(self) -> None:
        ax = compare(MANY, truth=zipf(1000), confidence=0.5)
        for bar, est in zip(ax.patches, MANY.values(), strict=True):
            low, high = est.interval(0.5)
            assert bar.get_width() == pytest.approx(100 * np.median(high - low))
            assert bar.get_x() == pytest.approx(-bar.get_width() / 2)

    def test_without_truth_widths_and_agreement_with_the_first(self) -> None:
        ax = compare(MANY)
        (drawn,) = dots(ax)
        gap = MANY["weak"].values - MANY["first"].values
        assert np.asarray(drawn.get_offsets())[:, 0] == pytest.approx(np.sort(100 * gap))
        half = 1.959964 * np.hypot(0.002, 0.006)
        agree = np.mean(np.abs(gap) <= half)
        assert look.rows(ax) == ["first\n±0.39 pp", f"weak\n±1.2 pp, {agree:.0%} agree"]
        assert ax.patches[1].get_width() == pytest.approx(200 * half)
        assert ax.get_xlabel() == "difference from first, in percentage points (pp)"

    def test_many_means_have_no_percentage_points(self) -> None:
        est = shares(np.arange(50.0), 1.0, fractions=False)
        ax = compare([est, est], truth=np.arange(50.0))
        assert "pp" not in ax.get_xlabel() + look.rows(ax)[0]

    def test_dots_stay_in_their_row_and_are_thinned(self) -> None:
        ax = compare([noisy(100_000, 1e-5)], truth=zipf(100_000))
        (drawn,) = dots(ax)
        heights = np.asarray(drawn.get_offsets())[:, 1]
        assert len(heights) <= 2000
        assert np.abs(heights).max() <= 0.42

    def test_too_many_dots_are_summed_up(self) -> None:
        assert len(look.rows(compare([noisy(40)] * 4))) == 40
        assert len(look.rows(compare([noisy(40)] * 5))) == 5
        assert len(look.rows(compare([noisy(41)] * 2))) == 2


class TestNames:
    def test_method_and_epsilon(self) -> None:
        ax = compare([A, B, A.project()])
        assert look.legend(ax) == [
            "unbiased, ε = 1",
            "unbiased, ε = 0.5",
            "unbiased + norm-sub, ε = 1",
        ]

    def test_equal_ones_are_numbered(self) -> None:
        assert look.legend(compare([A, A])) == ["unbiased, ε = 1 (1)", "unbiased, ε = 1 (2)"]

    def test_names_a_legend_would_skip_are_kept(self) -> None:
        assert look.legend(compare({"_a": A, "$b$": B})) == ["_a", r"\$b\$"]

    def test_title_says_what_is_common(self) -> None:
        none = shares(A.values, guarantee=Guarantee.none("a seed"))
        assert look.title(compare([A, A])) == "commute\n12,345 reports, ε = 1"
        assert look.title(compare([A, B])) == "commute\n12,345 reports, ε = 0.5 to 1"
        assert look.title(compare([A, none])) == "commute\n12,345 reports"
        assert look.title(compare([A, shares(A.values, n=9, name="x")])) == (
            "Comparison\n2 estimates, ε = 1"
        )


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ([], "nothing to compare"),
            ({}, "nothing to compare"),
            (A, "several estimates"),
            (7, "several estimates"),
            ([A, 0.5], "float was among them"),
            ([A, shares(A.values, labels=tuple("abcd"))], "only one has 'a'"),
            ([A, shares(A.values, labels=A.labels[::-1])], "in another order"),
            ([A, shares((0.5, 0.5))], "only one has 'value 2'"),
            ([shares([1.0], labels=("mean",)), mean()], "fractions and the other means"),
        ],
    )
    def test_what_cannot_be_compared(self, given, says: str) -> None:
        with pytest.raises(ParameterError, match=says):
            compare(given)
        assert not plt.get_fignums()

    @pytest.mark.parametrize("wrong", [{"truth": [1.0]}, {"confidence": 2}])
    def test_what_is_wrong_leaves_no_figure(self, wrong) -> None:
        with pytest.raises(ParameterError):
            compare([A, B], **wrong)
        assert not plt.get_fignums()


class TestPlace:
    @pytest.mark.parametrize("given", [[A, B], MANY])
    def test_given_axes_are_used_and_no_figure_is_made(self, given) -> None:
        figure, ax = plt.subplots()
        assert compare(given, ax=ax) is ax
        assert plt.get_fignums() == [figure.number]
        assert figure.axes == [ax]

    @pytest.mark.parametrize("given", [[A, B], [A, B, A.project()] * 4, MANY])
    @pytest.mark.parametrize("own", [True, False])
    def test_the_legend_covers_nothing_and_nothing_is_cut(self, given, own: bool) -> None:
        ax = None if own else plt.subplots()[1]
        assert look.legend_is_clear(compare(given, ax=ax))
