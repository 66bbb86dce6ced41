"""Plans for people who differ: levels, fractions, rates and traffic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.participation import best_rates
from sottovoce.promise.assumptions import ANY_PART, EQUAL_PART

MENU = {"strong": 0.5, "normal": 2.0}


def design(name, **asked):
    return next(x for x in sv.plan(**asked) if x.name == name)


# --- levels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fractions", [{"strong": 1, "normal": 1}, {"strong": 0.2, "normal": 0.8}])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_both_errors_are_those_of_the_weights(fractions, rate):
    n, d = 8_000, 10
    planned = design("oue", d=d, n=n, levels=MENU, fractions=fractions, rate=rate)
    total = sum(fractions.values())
    people = np.array([n * fractions[name] / total for name in MENU])
    scatter = 1 - 1 / d
    noise = np.array([sv.OUE(d, epsilon=e).total_variance() for e in MENU.values()])
    noise = (noise + (1 - rate) * scatter) / (rate * people)
    stratified = (people / n) ** 2 @ noise
    assert planned.std_error == pytest.approx(math.sqrt(stratified / d))
    # Where levels agree: everything pooled, and what James and Stein's shrinkage keeps of noise.
    pooled = 1 / (1 / (noise + scatter / people)).sum() - scatter / n
    kept = stats.chi2(d - 1).expect(lambda q: max(0, 1 - (d - 3) / q) ** 2 * q) / (d - 1)
    alike = pooled + kept * (stratified - pooled)
    assert planned.std_error_alike == pytest.approx(math.sqrt(alike / d), rel=1e-6)
    assert planned.std_error_alike < planned.std_error


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_predicted_errors_are_met(rate):
    """Mean squared errors of 150 estimates against both predictions, within six errors.

    That of the default is a prediction for contrasts with one variance for all values, and known.
    """
    n, d, runs = 4_000, 10, 150
    planned = design("oue", d=d, n=n, levels=MENU, rate=rate)
    menu = {name: sv.OUE(d, epsilon=e) for name, e in MENU.items()}
    if rate < 1:
        menu = {name: sv.Sampled(m, rate=rate) for name, m in menu.items()}
    levels = sv.Levels(menu)
    rng = np.random.default_rng(3)
    squares = {"post-stratified": [], "james-stein": []}
    for _ in range(runs):
        values = rng.integers(0, d, n)
        chosen = np.repeat(list(MENU), n // 2)
        counts = levels.aggregate(levels.randomise(values, level=chosen))
        truth = np.bincount(values, minlength=d) / n
        for method, errors in squares.items():
            errors.append(levels.estimate(counts, method=method).error(truth).mse)
    for method, expected, slack in (
        ("post-stratified", planned.std_error, 0.0),
        ("james-stein", planned.std_error_alike, 0.15),
    ):
        seen = np.array(squares[method])
        off = abs(seen.mean() - expected**2)
        assert off < 6 * seen.std() / math.sqrt(runs) + slack * expected**2, method
    assert np.mean(squares["james-stein"]) < np.mean(squares["post-stratified"])


@pytest.mark.parametrize("d", [4, 5, 20])
def test_shrinkage_keeps_what_it_keeps_of_simulated_noise(d):
    """Two levels of which one carries nearly all the noise: the ratio is nearly ρ."""
    noise = np.random.default_rng(4).standard_normal((100_000, d - 1))
    squares = (noise**2).sum(axis=1)
    kept = (np.maximum(0, 1 - (d - 3) / squares) ** 2 * squares).mean() / (d - 1)
    best = design("grr", d=d, n=10**6, levels={"a": 0.05, "b": 12.0})
    assert (best.std_error_alike / best.std_error) ** 2 == pytest.approx(kept, rel=0.03)


def test_few_values_and_numbers_gain_a_little():
    for asked in ({"d": 2}, {"d": 3}, {"bounds": (0, 1)}):
        best = sv.plan(n=10_000, levels={"a": 0.5, "b": 4.0}, **asked).best
        assert 0.5 * best.std_error < best.std_error_alike < 0.8 * best.std_error


def test_people_of_each_level_are_enough_and_not_too_many():
    fractions = {"strong": 0.3, "normal": 0.7}
    best = sv.plan(d=6, levels=MENU, fractions=fractions, error=0.01).best
    assert best.n == sum(best.people.values())
    for name, fraction in fractions.items():
        assert best.people[name] == pytest.approx(fraction * best.n, abs=1)
    assert best.std_error <= 0.01
    fewer = next(
        x
        for x in sv.plan(d=6, levels=MENU, fractions=fractions, n=best.n - 3)
        if x.name == best.name
    )
    assert fewer.std_error > 0.01


@pytest.mark.parametrize("n", [1, 7, 1_000, 12_345])
def test_given_people_are_divided_without_a_rest(n):
    levels = {"a": 1.0, "b": 2.0, "c": 3.0}
    best = sv.plan(d=4, n=n, levels=levels, fractions={"c": 1, "a": 1, "b": 5}).best
    assert sum(best.people.values()) == n
    assert list(best.people) == list(levels)
    assert abs(best.people["b"] - 5 * n / 7) < 1


def test_fractions_are_proportions():
    halves = sv.plan(d=4, n=1_000, levels=MENU, fractions={"normal": 50, "strong": 50})
    assert halves.designs == sv.plan(d=4, n=1_000, levels=MENU).designs


def test_more_people_with_weak_privacy_make_it_better():
    few = sv.plan(d=6, n=1_000, levels=MENU, fractions={"strong": 9, "normal": 1}).best
    many = sv.plan(d=6, n=1_000, levels=MENU, fractions={"strong": 1, "normal": 9}).best
    assert many.std_error < few.std_error


def test_a_promise_for_each_level():
    best = sv.plan(d=6, n=1_000, levels=MENU).best
    assert [p.epsilon for p in best.guarantee.promises] == [0.5, 2.0]
    assert [p.unit.level for p in best.guarantee.promises] == ["strong", "normal"]


def test_means_have_levels_too():
    best = sv.plan(bounds=(0, 50), n=2_000, levels=MENU).best
    units = [
        50**2 * sv.Hybrid((0, 50), epsilon=e).variance_at([0.0, 0.5, 1.0]).max()
        for e in MENU.values()
    ]
    assert best.name == "hybrid"
    assert best.std_error == pytest.approx(math.sqrt(sum(units) / 2 / 2_000))


# --- rates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_a_rate_costs_what_the_exact_variance_says(rate):
    planned = design("grr", d=8, n=20_000, epsilon=1.0, rate=rate)
    sampled = sv.Sampled(sv.GRR(8, epsilon=1.0), rate=rate)
    exact = sampled.variance(np.full(8, 1 / 8), 20_000, method="hajek").mean()
    assert planned.std_error == pytest.approx(math.sqrt(exact), rel=2e-3)  # first order in 1/n
    assert planned.reports == round(20_000 * rate)
    assert planned.traffic == planned.reports * sampled.report_bytes
    assert planned.guarantee == sampled.guarantee


def test_rate_one_is_no_rate():
    assert sv.plan(d=8, n=100, epsilon=1.0, rate=1.0) == sv.plan(d=8, n=100, epsilon=1.0)


def test_how_many_people_and_which_epsilon_at_a_rate():
    error = sv.plan(d=8, n=5_000, epsilon=1.0, rate=0.2).best.std_error
    assert sv.plan(d=8, epsilon=1.0, error=error, rate=0.2).best.n in (5_000, 5_001)
    best = sv.plan(d=8, n=5_000, error=error, rate=0.2).best
    assert best.epsilon == pytest.approx(1.0, abs=1e-3)


# --- traffic -------------------------------------------------------------------------------------


def test_traffic_is_met_with_the_best_rates():
    n, traffic = 10_000, 9_000
    for planned in sv.plan(d=6, n=n, levels=MENU, traffic=traffic):
        assert planned.traffic <= traffic + 1
        assert planned.traffic >= traffic - 1
    planned = design("oue", d=6, n=n, levels=MENU, traffic=traffic)
    menu = [sv.OUE(6, epsilon=e) for e in MENU.values()]
    rates = best_rates(menu, [n / 2] * 2, traffic=traffic / planned.report_bytes, costs=[1, 1])
    assert list(planned.rates.values()) == pytest.approx(rates)
    assert (
        planned.rates["strong"] > planned.rates["normal"]
    )  # noisier reports are worth more of them


def test_the_best_rates_beat_one_rate_for_all():
    best = design("oue", d=6, n=10_000, levels=MENU, traffic=9_000)
    same = design("oue", d=6, n=10_000, levels=MENU, rate=best.reports / 10_000)
    assert same.traffic == pytest.approx(best.traffic, rel=1e-3)
    assert best.std_error < same.std_error


def test_enough_traffic_lets_everyone_report():
    best = sv.plan(d=6, n=1_000, levels=MENU, traffic=1e9).best
    assert best.rates == {}
    assert best.reports == 1_000
    assert best.std_error == sv.plan(d=6, n=1_000, levels=MENU).best.std_error


def test_short_reports_win_where_bytes_are_few():
    assert sv.plan(d=1_000, n=100_000, epsilon=2.0).best.name == "subset"
    assert sv.plan(d=1_000, n=100_000, epsilon=2.0, traffic=100_000).best.name == "projective"


# --- what is shown -------------------------------------------------------------------------------


def test_columns_are_only_those_asked_for():
    plain = [title for title, _ in sv.plan(d=4, n=100, epsilon=1.0).columns()]
    assert plain == ["design", "people", "epsilon", "std error", "bytes"]
    levels = [title for title, _ in sv.plan(d=4, n=100, levels=MENU).columns()]
    assert levels == ["design", "people", "epsilon", "std error", "if alike", "bytes"]
    rates = [title for title, _ in sv.plan(d=4, n=100, epsilon=1.0, rate=0.5).columns()]
    assert rates == ["design", "people", "epsilon", "std error", "bytes", "reports", "bytes sent"]


def test_words_and_rows_say_who_and_how_often():
    plan = sv.plan(d=6, n=10_000, levels=MENU, fractions={"strong": 3, "normal": 7}, traffic=9_000)
    text = str(plan)
    assert "strong ε = 0.5 for 30 %" in text
    assert "9,000 bytes" in text
    assert "strong 3,000 at rate" in text
    row = plan.rows()[0]
    assert row["people_by_level"] == {"strong": 3_000, "normal": 7_000}
    assert set(row["rates"]) == set(MENU)
    assert row["std_error_alike"] < row["std_error"]
    assert "rates" not in sv.plan(d=6, n=10, epsilon=1.0).rows()[0]


@pytest.mark.parametrize(
    "asked",
    [{"levels": MENU}, {"levels": MENU, "traffic": 5_000}, {"epsilon": 1.0, "rate": 0.1}],
)
def test_the_picture_is_drawn_at_the_plans_rates(asked):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plan = sv.plan(d=6, n=3_000, **asked)
    _, by_people = plan.plot()
    x, y = by_people.get_lines()[0].get_data()
    k = int(np.argmin(np.abs(np.asarray(x) - 3_000)))
    assert y[k] == pytest.approx(plan.best.std_error, rel=0.01)
    plt.close("all")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fractions": {"strong": 1}}, "for each of the levels"),
        ({"fractions": {"strong": 1, "normal": 0}}, "positive fraction"),
        ({"fractions": {"strong": 1, "normal": math.inf}}, "positive fraction"),
        ({"fractions": [0.5, 0.5]}, "positive fraction"),
        ({"rate": 0.0}, "above 0 and at most 1"),
        ({"rate": 1.5}, "above 0 and at most 1"),
        ({"rate": True}, "above 0 and at most 1"),
        ({"traffic": 0}, "number of bytes"),
        ({"traffic": 10, "rate": 0.5}, "no rate"),
        ({"traffic": 10, "n": None, "error": 0.1}, "give n"),
        ({"levels": None, "traffic": 10, "error": 0.1}, "give n"),
    ],
)
def test_bad_requirements_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        sv.plan(**{"d": 4, "n": 100, "levels": MENU, **options})


def test_plans_for_records_rank_designs_with_different_promises():
    plan = sv.plan(attributes=[6] * 4, n=10_000, epsilon=3.0)
    names = [design.name for design in plan]
    assert names[0] == "one GRR on the tuple"
    assert {"hidden, random", "public, random", "sample one attribute"} <= set(names)
    errors = [design.std_error for design in plan]
    assert errors == sorted(errors)
    whole, one = plan.best.guarantee.promises
    assert whole.epsilon == one.epsilon == 12.0
    assert ANY_PART in one.assuming
    split = next(design for design in plan if design.name.startswith("split"))
    assert EQUAL_PART in split.guarantee.promises[1].assuming


def test_plans_for_records_work_out_the_people():
    plan = sv.plan(attributes=[4, 2], epsilon=2.0, error=0.01)
    for design in plan:
        assert design.std_error <= 0.01
        assert sv.plan(attributes=[4, 2], epsilon=2.0, n=design.n).requirement.n == design.n
    few = sv.plan(attributes=[4, 2], epsilon=2.0, n=plan.best.n - 1).best
    assert few.std_error > 0.01


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"attributes": []}, "how many values"),
        ({"attributes": [1, 2]}, "two or more"),
        ({"attributes": [4], "d": 3}, "give one of d"),
        ({"attributes": [4], "rate": 0.5}, "neither"),
        ({"attributes": 4}, "how many values"),
    ],
)
def test_bad_plans_for_records_are_refused(given, says):
    with pytest.raises(ParameterError, match=says):
        sv.plan(n=1000, epsilon=1.0, **given)


def test_plans_for_records_have_no_picture():
    with pytest.raises(ParameterError, match="no picture"):
        sv.plan(attributes=[4, 2], n=1000, epsilon=1.0).plot()
