"""Plans and choices: the predictions are the mechanisms' own, and the inverse questions invert."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError, UselessEstimateWarning
from sottovoce.mechanisms.registry import by_id, compared_kinds
from sottovoce.planning.choose import best_kind
from tests.laws.entries import CATEGORICAL


@pytest.mark.parametrize("d", [2, 4, 20, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_best_design_has_the_least_error(d, epsilon):
    plan = sv.plan(d=d, n=10_000, epsilon=epsilon)
    errors = [design.std_error for design in plan]
    assert errors == sorted(errors)
    fractions = {kind.id for kind in compared_kinds() if kind.id in CATEGORICAL}
    assert {design.name for design in plan} == fractions
    kinds = {"grr": sv.GRR, "oue": sv.OUE, "subset": sv.SubsetSelection}
    for design in plan:
        if design.name in kinds:
            m = kinds[design.name](d, epsilon=epsilon)
            assert design.std_error == pytest.approx(math.sqrt(m.total_variance(10_000) / d))
            assert design.guarantee == m.guarantee


def test_predicted_errors_are_met():
    """Mean squared error of 1000 estimates against the prediction, within six errors of it."""
    m = sv.plan(d=6, n=5_000, epsilon=1.0).best
    assert m.name == "subset"
    answers = np.repeat(np.arange(6), [2500, 1000, 700, 500, 200, 100])
    truth = np.bincount(answers) / answers.size
    mechanism = sv.SubsetSelection(6, epsilon=1.0)
    squares = np.array(
        [
            mechanism.estimate(mechanism.aggregate(mechanism.randomise(answers))).error(truth).mse
            for _ in range(1000)
        ]
    )
    gap = squares.mean() - m.std_error**2
    # The exact deviation of one mean of squares, because the sample's own is small whenever the
    # errors happen to be. Six of them, with the skewness that is left: a false alarm of 5e-9.
    deviation = math.sqrt(2 * np.sum(mechanism.covariance(truth, answers.size) ** 2)) / 6
    assert abs(gap) < 6 * deviation / math.sqrt(squares.size)


@pytest.mark.parametrize("question", [{"d": 4}, {"d": 300}, {"bounds": (0, 50)}])
def test_how_many_people_and_which_epsilon_invert_the_error(question):
    error = sv.plan(**question, n=5_000, epsilon=1.0).best.std_error
    people = sv.plan(**question, epsilon=1.0, error=error).best
    assert people.n in (5_000, 5_001)
    epsilon = sv.plan(**question, n=5_000, error=error).best
    assert epsilon.epsilon == pytest.approx(1.0, abs=1e-3)
    assert epsilon.std_error <= error * (1 + 1e-9)


def test_levels_are_equal_groups_weighted_by_size():
    plan = sv.plan(d=10, n=1_000, levels={"strong": 0.5, "weak": 2.0})
    design = next(x for x in plan if x.name == "oue")
    variance = sum(sv.OUE(10, epsilon=e).total_variance(500) / 10 for e in (0.5, 2.0)) / 4
    assert design.std_error == pytest.approx(math.sqrt(variance))
    assert [p.epsilon for p in design.guarantee.promises] == [0.5, 2.0]
    with pytest.raises(ParameterError, match="no single epsilon"):
        _ = design.epsilon


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 10, "epsilon": 1.0}, r"give one of d \(the number of values\), bounds"),
        ({"d": 4, "bounds": (0, 1), "n": 10, "epsilon": 1.0}, "give one of d"),
        ({"d": 4, "epsilon": 1.0}, "two of"),
        ({"d": 4, "n": 10, "epsilon": 1.0, "levels": {"a": 1.0}}, "not both"),
        ({"d": 1, "n": 10, "epsilon": 1.0}, "two values"),
        ({"d": 4, "n": 0, "epsilon": 1.0}, "at least 1"),
        ({"d": 4, "n": 10, "epsilon": -1.0}, "above 0"),
        ({"d": 4, "n": 10, "error": math.nan}, "positive"),
        ({"d": 4, "epsilon": 1.0, "error": 2}, "0.02 stands for 2 percentage points"),
        ({"attributes": [2, 2], "epsilon": 1.0, "error": 1}, "must be below 1"),
        ({"d": 4, "n": 10, "epsilon": 1.0, "delta": 1.0}, "below 1"),
        ({"d": 4, "n": 10, "levels": {}}, "empty"),
        ({"d": 4, "n": 10, "epsilon": 1.0, "error": 0.001}, "no design reaches"),
        ({"d": 4, "n": 10, "error": 1e-9}, "no design reaches"),
        ({"d": 4, "n": 10, "error": 1e-9}, ": ask more people, or allow a larger error$"),
        ({"d": 4, "epsilon": 1, "error": 1e-9}, ": choose a larger epsilon, or allow a larger"),
    ],
)
def test_bad_requirements_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        sv.plan(**options)


def test_a_useless_estimate_says_how_many_people_are_enough():
    m = sv.GRR(4, epsilon=0.2)
    # Not drawn: of 20 reports, 10 or more name the same value in 5 % of all runs, and the advice,
    # which rests on the noisy estimate's own error, is then far too careful.
    few = sv.Aggregate(m.id, m.digest, {"support": np.full(4, 5)}, 20, 20)
    with pytest.warns(UselessEstimateWarning, match="About ([0-9,]+) people") as caught:
        m.estimate(few)
    enough = int(str(caught[0].message).split("About ")[1].split(" people")[0].replace(",", ""))
    half = 1.96 * math.sqrt(m.variance(np.full(4, 0.25), enough).max())
    assert half == pytest.approx(0.05, rel=1e-3)


def test_a_useless_mean_warns_in_its_own_units():
    m = sv.Duchi((0, 100), epsilon=0.2)
    with pytest.warns(UselessEstimateWarning, match="range of 100"):
        m.estimate(m.aggregate(m.randomise([50, 60])))


@pytest.mark.filterwarnings("error::sottovoce.errors.UselessEstimateWarning")
def test_a_useful_estimate_does_not_warn():
    m = sv.GRR(4, epsilon=1.0)
    m.estimate(m.aggregate(m.randomise([0, 1, 2, 3] * 1000)))


def test_choose_ranks_by_what_is_preferred():
    by_error = sv.choose(1000, 1.0)
    assert by_error.mechanism.id == "subset"
    assert [c.std_error for c in by_error] == sorted(c.std_error for c in by_error)
    assert sv.choose(1000, 1.0, prefer="size").mechanism.id == "projective"
    assert sv.choose(100_000, 1.0, prefer="decode").mechanism.id == "hadamard"
    assert sv.choose(3, 3.0).mechanism.id == "grr"


@pytest.mark.parametrize("d", [2, 5, 9, 10, 50, 1000])
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 2.0, 5.0])
def test_nothing_beats_subset_selection(d, epsilon):
    subset = sv.SubsetSelection(d, epsilon=epsilon).total_variance()
    for candidate in sv.choose(d, epsilon):
        assert candidate.mechanism.total_variance() >= subset * (1 - 1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"prefer": "speed"}, "'decode'"), ({"n": 0}, "at least 1"), ({"epsilon": 0.0}, "above 0")],
)
def test_bad_choices_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        sv.choose(4, **{"epsilon": 1.0, **options})


def test_the_picture_has_a_line_per_design():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plan = sv.plan(d=6, n=1_000, epsilon=1.0)
    by_epsilon, by_people = plan.plot()
    assert len(by_epsilon.get_lines()) == len(by_people.get_lines()) == len(plan.designs)
    x, y = by_people.get_lines()[0].get_data()
    assert np.allclose(np.diff(np.log(y)) / np.diff(np.log(x)), -0.5)
    plt.close("all")


def test_functions_win_over_their_rooms():
    import sottovoce.planning.choose
    import sottovoce.planning.plan  # noqa: F401

    for _ in range(2):
        assert sv.plan(d=4, n=100, epsilon=1.0).designs
        assert sv.choose(4, 1.0).candidates


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 4.0, 8.0, 16.0])
@pytest.mark.parametrize("size", [8193, 100_000, 1_000_000, 1 << 24, 1 << 31])
def test_defaults_for_very_many_values_have_short_reports_and_nearly_the_lowest_error(
    size: int, epsilon: float
) -> None:
    domain = sv.Domain(size)
    kind = best_kind(domain, [epsilon])
    ranked = {type(one.mechanism): one for one in sv.choose(domain, epsilon)}
    chosen, lowest = ranked[kind], min(one.std_error for one in ranked.values())
    assert chosen.report_bytes <= 16
    assert chosen.std_error <= 1.1 * lowest


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 6.0])
def test_defaults_for_very_many_values_are_decoded_quickly(epsilon: float) -> None:
    """Where that costs a percent or two of error: OLH takes a step for each value and report."""
    ranked = {type(one.mechanism): one for one in sv.choose(100_000, epsilon)}
    chosen = ranked[best_kind(sv.Domain(100_000), [epsilon])]
    assert chosen.decode_steps < 0.2 * ranked[sv.OLH].decode_steps
    assert chosen.std_error < 1.02 * min(one.std_error for one in ranked.values())


@pytest.mark.parametrize("n", [10, 10_000, 1_000_000, 100_000_000])
@pytest.mark.parametrize("size", [10_000, 100_000])
def test_defaults_are_decoded_quickly_however_many_people_are_known_to_come(
    n: int, size: int
) -> None:
    ranked = {type(one.mechanism): one for one in sv.choose(size, 1.0, n)}
    chosen = ranked[best_kind(sv.Domain(size), [1.0], n)]
    assert chosen.decode_steps <= 2e8 + 2 * n  # OLH takes n times size
    assert chosen.std_error < 1.02 * min(one.std_error for one in ranked.values())


@pytest.mark.parametrize("epsilon", [0.05, 16.0, 20.0])
@pytest.mark.parametrize("size", [(1 << 27) + 1, 1 << 30, 1 << 31])
def test_what_is_recommended_can_be_counted(size: int, epsilon: float) -> None:
    recommended = [one.mechanism for one in sv.choose(size, epsilon)]
    plans = [sv.plan(d=size, n=1000, epsilon=epsilon), sv.plan(d=size, n=10**9, error=1e-6)]
    recommended += [by_id(x.name)(size, epsilon=x.epsilon) for plan in plans for x in plan]
    for mechanism in recommended:
        counts = mechanism.aggregate(mechanism.randomise([size - 1, 7]), values=[7, size - 1])
        assert counts.reports == 2
    assert "grr" in {one.mechanism.id for one in sv.choose(1 << 27, epsilon)}


@pytest.mark.parametrize("size", [2, 100, 8192])
def test_defaults_for_fewer_values_have_the_lowest_error(size: int) -> None:
    for epsilon in (0.1, 1.0, 4.0, 16.0):
        assert best_kind(sv.Domain(size), [epsilon]) is type(sv.choose(size, epsilon).mechanism)
