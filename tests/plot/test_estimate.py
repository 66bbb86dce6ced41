"""Pictures of one estimate: what is drawn stands where the numbers are."""

from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection

import sottovoce as sv
from sottovoce import Guarantee, plot
from sottovoce.errors import ParameterError
from sottovoce.promise import LDP, Promise, Unit

from . import look
from .conftest import mean, noisy, promise, shares, zipf

FOUR = (0.5, 0.3, 0.25, -0.05)
TWO_LEVELS = tuple(Promise(LDP, 1.0, unit=Unit(level=name)) for name in ("a", "b"))


class TestFewValues:
    def test_a_bar_per_value_in_declared_order(self) -> None:
        ax = shares(FOUR).plot()
        assert [bar.get_width() for bar in look.bars(ax)] == pytest.approx(FOUR)
        assert look.rows(ax) == ["value 0", "value 1", "value 2", "value 3"]
        assert ax.yaxis_inverted()  # the first value on top

    @pytest.mark.parametrize("confidence", [0.5, 0.95])
    def test_error_bars_end_where_the_interval_does(self, confidence: float) -> None:
        est = shares(FOUR)
        (drawn,) = look.whiskers(est.plot(confidence=confidence))
        assert drawn == pytest.approx(np.stack(est.interval(confidence), axis=1))

    def test_only_bars_whose_interval_stays_above_zero_are_filled(self) -> None:
        ax = shares((0.5, 0.05, 0.03, -0.3), 0.02).plot()
        assert look.filled(ax) == [True, True, False, False]
        assert "not clearly above 0" in look.legend(ax)

    def test_the_legend_names_only_what_is_there(self) -> None:
        assert look.legend(shares((0.5, 0.5)).plot()) == ["estimate", "95% interval"]
        assert look.legend(shares((0.0, 0.0)).plot(confidence=0.995)) == [
            "not clearly above 0",
            "99.5% interval",
        ]

    @pytest.mark.parametrize(
        "form", [np.array, lambda t: {f"value {k}": x for k, x in enumerate(t)}]
    )
    def test_truth_stands_at_the_truth(self, form) -> None:
        true = (0.4, 0.3, 0.2, 0.1)
        (drawn,) = look.truth(shares(FOUR).plot(truth=form(true)))
        assert drawn == pytest.approx(np.stack([true, range(4)], axis=1))

    def test_shares_are_in_percent(self) -> None:
        ax = shares(FOUR).plot()
        assert {"0%", "20%"} <= set(look.ticks(ax))
        assert ax.get_xlabel() == "fraction of people"

    def test_small_and_negative_shares_keep_their_digits(self) -> None:
        ticks = look.ticks(shares((1e-4, -1e-4), 1e-5).plot())
        assert len(set(ticks)) == len(ticks)
        assert "−0.01%" in ticks

    def test_forty_are_few_and_forty_one_are_many(self) -> None:
        assert len(look.bars(noisy(40).plot())) == 40
        assert len(look.bars(noisy(41).plot())) == 15


class TestRawAndProjected:
    est = shares((0.6, 0.5, 0.03, -0.05))

    def test_bars_are_projected_and_points_are_raw(self) -> None:
        projected = self.est.project()
        ax = projected.plot()
        assert [bar.get_width() for bar in look.bars(ax)] == pytest.approx(projected.values)
        own, raw = look.whiskers(ax)
        assert own == pytest.approx(np.stack(projected.interval(), axis=1))
        assert raw == pytest.approx(np.stack(self.est.interval(), axis=1))
        assert "unbiased, 95% interval" in look.legend(ax)
        assert "unbiased + norm-sub" in look.title(ax)

    def test_filled_is_what_the_unbiased_interval_says(self) -> None:
        assert look.filled(self.est.project().plot()) == [True, True, False, False]
        projected = shares((0.5, 0.3, 0.035)).project()
        assert projected.values[2] > 0.08  # what the projection added is no evidence
        assert look.filled(projected.plot()) == [True, True, False]

    def test_mle_is_shown_with_the_unbiased_one(self) -> None:
        m = sv.GRR(["a", "b", "c"], epsilon=1.0)
        est = m.estimate(m.aggregate(m.randomise(["a"] * 900 + ["b"] * 100)), method="mle")
        ax = est.plot()
        own, raw = look.whiskers(ax)
        assert own == pytest.approx(np.stack(est.interval(), axis=1))
        assert raw == pytest.approx(np.stack(est.raw.interval(), axis=1))
        assert look.title(ax).endswith("1,000 reports, ε = 1, mle")

    def test_one_that_did_not_converge_says_so(self) -> None:
        text = look.title(shares((0.5, 0.5), converged=False).plot())
        assert "stopped before it converged" in text.replace("\n", " ")

    def test_long_names_do_not_overlap(self) -> None:
        long = tuple(f"By car, with the radio on and nobody else in it {k}" for k in range(8))
        ax = shares((0.125,) * 8, labels=long).plot()
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
        assert all(low.y1 <= high.y0 for high, low in pairwise(boxes))


class TestManyValues:
    est = noisy(1000)
    order = np.argsort(-est.values)

    def test_the_largest_as_bars_with_intervals(self) -> None:
        ax = self.est.plot(top=12)
        assert [bar.get_width() for bar in look.bars(ax)] == pytest.approx(
            self.est.values[self.order[:12]]
        )
        low, high = self.est.interval()
        (drawn,) = look.whiskers(ax)
        assert drawn == pytest.approx(np.stack([low, high], axis=1)[self.order[:12]])
        assert look.rows(ax)[:12] == [f"value {k}" for k in self.order[:12]]
        others = ["rank 13", "rank 250", "rank 500", "rank 750", "rank 1,000"]
        assert look.rows(ax)[12:] == others

    def test_the_others_as_a_curve_in_their_band(self) -> None:
        ax = self.est.plot()
        (curve,) = (line for line in ax.lines if len(line.get_xdata()) == 985)
        assert curve.get_xdata() == pytest.approx(self.est.values[self.order[15:]])
        ends = look.band(ax).get_datalim(ax.transData)
        low, high = self.est.interval()
        assert ends.x0 == pytest.approx(low[self.order[15:]].min())
        assert ends.x1 == pytest.approx(high[self.order[15:]].max())

    def test_truth_of_bars_and_of_the_others(self) -> None:
        true = zipf(1000)
        few, rest = look.truth(self.est.plot(truth=true))
        assert few[:, 0] == pytest.approx(true[self.order[:15]])
        assert rest[:, 0] == pytest.approx(true[self.order[15:]])

    def test_noise_does_not_look_like_signal(self) -> None:
        est = shares(np.random.default_rng(5).normal(0, 0.01, 1000), 0.01)
        assert np.sum(est.interval().low > 0) > 10  # each on its own, some miss zero by chance
        ax = est.plot()
        assert not any(look.filled(ax))
        assert "not clearly above 0, all tested at once (1,000 of 1,000)" in look.legend(ax)

    def test_signal_beyond_the_bars_is_marked_too(self) -> None:
        est = shares([0.04] * 20 + [0.0] * 80, 0.001)
        ax = est.plot()
        assert all(look.filled(ax))
        (marks,) = (c for c in ax.collections if isinstance(c, PathCollection))
        assert np.asarray(marks.get_offsets())[:, 0] == pytest.approx([0.04] * 5)
        assert "not clearly above 0, all tested at once (80 of 100)" in look.legend(ax)

    def test_projected_ranks_equals_as_the_raw_ones_were(self) -> None:
        projected = self.est.project()
        ax = projected.plot()
        assert look.rows(ax)[:15] == [f"value {k}" for k in self.order[:15]]
        own, raw = look.whiskers(ax)
        assert own == pytest.approx(np.stack(projected.interval(), axis=1)[self.order[:15]])
        assert raw == pytest.approx(np.stack(self.est.interval(), axis=1)[self.order[:15]])

    def test_what_a_projection_made_zero_keeps_its_rank(self) -> None:
        est = shares([*np.linspace(-0.05, -0.01, 48), 0.5, 0.6], 0.001).project()
        assert np.sum(est.values > 0) == 2
        expected = [f"value {k}" for k in (49, 48, *range(47, 34, -1))]
        assert look.rows(est.plot())[:15] == expected

    def test_a_hundred_thousand_values_are_drawn_thinned(self) -> None:
        ax = noisy(100_000, 1e-5).plot()
        assert max(len(line.get_xdata()) for line in ax.lines) <= 2000
        assert look.rows(ax)[-1] == "rank 100,000"

    def test_one_value_may_be_left_over(self) -> None:
        ax = noisy(41).plot(top=40)
        assert look.rows(ax)[-1] == "rank 41"

    @pytest.mark.parametrize("top", [0, 41, 2.0, True])
    def test_top_is_checked(self, top) -> None:
        with pytest.raises(ParameterError, match="from 1 to 40"):
            self.est.plot(top=top)


class TestMeans:
    def test_one_dot_in_the_units_of_the_question(self) -> None:
        ax = mean().plot(truth=[41.9])
        (drawn,) = look.whiskers(ax)
        assert drawn == pytest.approx(np.stack(mean().interval(), axis=1))
        assert ax.get_xlabel() == "age"
        assert not any("%" in tick for tick in look.ticks(ax))
        assert ax.get_xlim()[0] > 39  # zero has no meaning here
        assert look.truth(ax)[0] == pytest.approx(np.array([[41.9, 0]]))
        assert look.rows(ax) == ["mean"]

    def test_many_means(self) -> None:
        est = shares(np.arange(50.0), 1.0, fractions=False, name="")
        ax = est.plot(truth=np.arange(50.0))
        assert look.legend(ax)[0] == "estimate, 95% interval"
        assert ax.get_xlabel() == "value"

    def test_truth_by_name_or_a_number(self) -> None:
        for truth in ({"mean": 40.0}, 40.0):
            assert look.truth(mean().plot(truth=truth))[0][0, 0] == 40.0

    @pytest.mark.parametrize("truth", [[1.0, 2.0], {"median": 40.0}, [np.nan]])
    def test_another_truth_is_refused(self, truth) -> None:
        with pytest.raises(ParameterError, match="the truth must"):
            mean().plot(truth=truth)


class TestTitle:
    def test_name_reports_and_epsilon(self) -> None:
        assert look.title(shares(FOUR).plot()) == "commute\n12,345 reports, ε = 1"

    @pytest.mark.parametrize("promises", [(), TWO_LEVELS])
    def test_without_a_single_promise_none_is_claimed(self, promises) -> None:
        est = shares(FOUR, guarantee=Guarantee(promises), name="")
        assert look.title(est.plot()) == "Estimate\n12,345 reports"

    def test_epsilon_is_never_rounded_down(self) -> None:
        est = shares(FOUR, guarantee=promise(0.1).times(3))
        assert "ε = 0.300001" in look.title(est.plot())

    def test_delta_is_shown(self) -> None:
        assert "ε = 2, δ = 1e-06" in look.title(shares(FOUR, guarantee=promise(2.0, 1e-6)).plot())


class TestNames:
    def test_long_names_keep_both_ends(self) -> None:
        name = "Strongly agree with the statement as it was read out to me at the door"
        ax = shares((0.5, 0.5), labels=(name, "x" * 90), name=name * 3).plot()
        first, second = look.rows(ax)
        assert first.startswith("Strongly agree")
        assert first.endswith("at the door")
        assert all(len(line) <= 31 for row in (first, second) for line in row.split("\n"))
        assert all(row.count("\n") == 1 for row in (first, second))
        assert all(len(line) <= 51 for line in look.title(ax).split("\n"))

    def test_dollars_and_lines_are_only_letters(self) -> None:
        ax = shares((0.5, 0.3, 0.2), labels=("$1 to $2", "a\nb", ""), name="a $ b $").plot()
        ax.figure.canvas.draw()  # a formula would fail or lose its signs
        assert look.rows(ax) == [r"\$1 to \$2", "a b", ""]

    def test_numbers_as_names(self) -> None:
        assert look.rows(shares((0.5, 0.5), labels=range(2)).plot()) == ["0", "1"]


class TestPlace:
    @pytest.mark.parametrize("size", [2, 4, 40, 41, 1000])
    def test_given_axes_are_used_and_no_figure_is_made(self, size: int) -> None:
        figure, ax = plt.subplots()
        before = plt.get_fignums()
        assert noisy(size).project().plot(ax) is ax
        assert plot.estimate(noisy(size), ax=ax, truth=zipf(size)) is ax
        assert plt.get_fignums() == before
        assert figure.axes == [ax]

    def test_without_axes_one_figure_is_made(self) -> None:
        noisy(4).plot()
        assert len(plt.get_fignums()) == 1

    @pytest.mark.parametrize(
        "wrong", [{"truth": [0.5]}, {"confidence": 95}, {"confidence": 1.0}, {"top": 0}]
    )
    def test_a_refusal_leaves_no_figure(self, wrong) -> None:
        with pytest.raises(ParameterError):
            noisy(4).plot(**wrong)
        assert not plt.get_fignums()

    @pytest.mark.parametrize("size", [4, 40, 41, 1000])
    @pytest.mark.parametrize("own", [True, False])
    def test_the_legend_covers_nothing_and_nothing_is_cut(self, size: int, own: bool) -> None:
        ax = None if own else plt.subplots()[1]
        assert look.legend_is_clear(noisy(size).project().plot(ax, truth=zipf(size)))

    def test_long_names_leave_room_for_title_and_legend(self) -> None:
        long = "WIDE ANSWERS THAT SAY A LOT OF"
        est = shares((0.6, 0.41, -0.01), labels=("a", "b", long), name=f"{long} {long}")
        assert look.legend_is_clear(est.project().plot(plt.subplots()[1], truth=(0.6, 0.4, 0)))

    def test_names_shrink_to_fit_low_axes(self) -> None:
        _, ax = plt.subplots(figsize=(6.4, 4.8))
        noisy(40).plot(ax)
        ax.figure.canvas.draw()
        tops = [text.get_window_extent().y0 for text in ax.get_yticklabels()]
        heights = [text.get_window_extent().height for text in ax.get_yticklabels()]
        assert max(heights) <= 1.35 * min(np.abs(np.diff(tops)))

    def test_only_estimates_are_plotted(self) -> None:
        with pytest.raises(ParameterError, match="list was given"):
            plot.estimate([0.5, 0.5])
