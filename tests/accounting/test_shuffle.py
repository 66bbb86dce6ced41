"""Shuffled reports: against enumeration, the papers' numbers, and what must be refused."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.accounting import shuffle, shuffle_delta
from sottovoce.errors import ParameterError
from sottovoce.promise import DP, OWN_DEVICE, Guarantee

from .exact import blanket, clones, clones_precisely, only_the_pair, shuffled_grr

room = sys.modules["sottovoce.accounting.shuffle"]  # the function hides its module
SMALL = [(d, n) for d, n in ((2, 6), (3, 6), (4, 5), (5, 4))]
LOCAL = (0.5, 1.0, 2.0, 4.0)
PARTS = (0.0, 0.1, 0.3, 0.6, 0.9)


def law(local: float, people: int, values: int = 0, log_miss: float = 60.0) -> room._Law:
    bound = "grr" if values else "numerical"
    return room._Law.of(local, people, bound, values or 2, log_miss)


# --- numbers -------------------------------------------------------------------------------------


def test_numbers_of_the_notes() -> None:
    assert shuffle(2.0, 5000, 1e-6).epsilon == pytest.approx(0.225, abs=5e-4)
    assert shuffle(2.0, 1000, 1e-6).epsilon == pytest.approx(0.545, abs=6e-4)
    assert shuffle(2.0, 5000, 1e-6, bound="grr", d=100).epsilon == pytest.approx(0.042, abs=5e-4)


def test_the_closed_form_is_the_larger_one() -> None:
    stated = shuffle(2.0, 5000, 1e-6, bound="closed-form").epsilon
    power, n = math.exp(2.0), 5000
    printed = (power - 1) / (power + 1) * (8 * math.sqrt(power * math.log(4e6) / n) + 8 * power / n)
    assert math.log1p(printed) == pytest.approx(0.653, abs=6e-4)  # as printed in the paper
    assert stated == pytest.approx(0.6864, abs=1e-4)  # as in its authors' code


# --- enumeration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("local", [0.01, 1.0, 10.0, 15.0, 20.0])
@pytest.mark.parametrize("below", [1e-4, 1e-6, 1e-9, 1e-12, 1e-14])
def test_close_to_the_local_epsilon_nothing_is_rounded_away(local: float, below: float) -> None:
    """There the terms of δ cancel: at ε = 20 (1 − 1e−9) 5e−59 was stated instead of 2e−8."""
    epsilon = local * (1 - below)
    with mpmath.workdps(60):
        for people in (2, 3, 20):
            true = clones_precisely(people, local, epsilon)
            assert shuffle_delta(local, people, epsilon) >= true
            stated = shuffle(local, people, float(true) / 2).epsilon
            assert clones_precisely(people, local, stated) <= float(true) / 2


@pytest.mark.parametrize(("d", "n"), SMALL)
@pytest.mark.parametrize("local", LOCAL)
def test_no_answers_of_the_others_lose_more_than_promised(d: int, n: int, local: float) -> None:
    for part in PARTS:
        true = shuffled_grr(d, n, local, part * local)
        stated = shuffle_delta(local, n, part * local, bound="grr", d=d)
        assert true <= stated
        assert stated <= shuffle_delta(local, n, part * local) * (1 + 1e-9)
        if d > 2 and part <= 0.1:
            assert stated == pytest.approx(true, rel=2e-6, abs=1e-9)  # here it is exact


@pytest.mark.parametrize(("d", "n", "local", "epsilon"), [(3, 6, 1.0, 0.6), (4, 6, 1.0, 0.6),
                                                          (5, 5, 2.0, 1.2)])  # fmt: skip
def test_counting_only_the_pair_would_be_caught(
    d: int, n: int, local: float, epsilon: float
) -> None:
    # The reports outside the pair tell whether the person's own is among them.
    true = shuffled_grr(d, n, local, epsilon)
    assert only_the_pair(d, n, local, epsilon) < 0.995 * true
    assert shuffle_delta(local, n, epsilon, bound="grr", d=d) >= true


@pytest.mark.parametrize(("d", "n"), [*SMALL, (7, 9), (20, 12), (3, 40)])
def test_the_blanket_is_summed_right(d: int, n: int) -> None:
    for local in (0.1, *LOCAL, 8.0):
        for part in PARTS:
            stated = law(local, n, d).delta(part * local)
            assert stated == pytest.approx(blanket(d, n, local, part * local), rel=1e-9, abs=1e-24)


@pytest.mark.parametrize("n", [2, 3, 10, 60])
def test_the_clones_are_summed_right(n: int) -> None:
    for local in (0.1, *LOCAL, 8.0):
        for part in PARTS:
            true = clones(n, local, part * local, math.exp(-local))
            assert law(local, n).delta(part * local) == pytest.approx(true, rel=1e-9, abs=1e-24)


def test_stronger_clones_would_be_caught() -> None:
    # Their theorem has an erratum: 2 / (e^ε + 1) is right for two values, not for any mechanism.
    for n in (10, 60):
        stronger = clones(n, 2.0, 0.5, 2 / (math.exp(2.0) + 1))
        assert stronger < 0.8 * shuffle_delta(2.0, n, 0.5)
        assert stronger == pytest.approx(law(2.0, n, 2).delta(0.5), rel=1e-9)


def test_a_tail_left_out_would_be_caught() -> None:
    exact = law(2.0, 2000).delta(0.3)
    short = law(2.0, 2000, log_miss=3.0)
    assert short.delta(0.3) >= exact
    assert replace(short, missed=0.0).delta(0.3) < exact
    exact, short = law(2.0, 2000, 5).delta(0.2), law(2.0, 2000, 5, log_miss=3.0)
    assert short.delta(0.2) >= exact
    assert replace(short, missed=0.0).delta(0.2) < exact


@pytest.mark.parametrize("values", [0, 3, 40])
def test_groups_never_make_delta_smaller(values: int, monkeypatch) -> None:
    exact = [law(2.0, 3000, values).delta(e) for e in (0.05, 0.1, 0.3)]
    for cells, pairs in ((2000, 50), (500, 10), (64, 2)):
        monkeypatch.setattr(room, "_MOST_CELLS", cells)
        monkeypatch.setattr(room, "_MOST_PAIRS", pairs)
        monkeypatch.setattr(room, "_LEAST_GROUPS", 4)
        grouped = law(2.0, 3000, values)
        stated = [grouped.delta(e) for e in (0.05, 0.1, 0.3)]
        assert all(a >= b * (1 - 1e-12) for a, b in zip(stated, exact, strict=True))
    if not values:  # at the largest m of each group instead of the least, δ would be too small
        width = int(grouped.pair[1] - grouped.pair[0])
        assert replace(grouped, pair=grouped.pair + width - 1).delta(0.1) < exact[1]


@pytest.mark.parametrize("values", [0, 3, 10])
def test_groups_cost_little(values: int, monkeypatch) -> None:
    bound = {"bound": "grr", "d": values} if values else {}
    stated = shuffle(1.0, 20_000, 1e-6, **bound).epsilon
    monkeypatch.setattr(room, "_MOST_CELLS", 300_000)
    monkeypatch.setattr(room, "_MOST_PAIRS", 300_000)
    exact = shuffle(1.0, 20_000, 1e-6, **bound).epsilon
    assert exact * (1 - 1e-7) <= stated <= exact * 1.002


def test_a_large_crowd_against_scipys_own_binomials() -> None:
    from scipy import stats

    n, local, epsilon = 200_000, 1.0, 0.008
    keep, power = math.e / (math.e + 1), math.exp(epsilon)
    c = np.arange(n)
    weight = stats.binom.pmf(c, n - 1, math.exp(-local))
    c, weight = c[weight > 1e-25], weight[weight > 1e-25]
    share = (power * keep - (1 - keep)) / ((2 * keep - 1) * (1 + power))
    first = np.floor(share * (c + 1)) + 1
    tail = stats.binom.sf(first - 1, c, 0.5)
    step = stats.binom.pmf(first - 1, c, 0.5)
    true = weight @ ((keep - power * (1 - keep)) * step - math.expm1(epsilon) * tail)
    assert law(local, n).delta(epsilon) == pytest.approx(true, rel=1e-7)


# --- order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [100, 3_000, 100_000])
@pytest.mark.parametrize("local", [0.25, 1.0, 2.0, 4.0])
def test_each_bound_lies_below_the_more_general(n: int, local: float) -> None:
    general = shuffle(local, n, 1e-6).epsilon
    for d in (2, 3, 10, 200):
        assert shuffle(local, n, 1e-6, bound="grr", d=d).epsilon <= general * (1 + 1e-7)
    if local <= room.closed_form_limit(n, 1e-6):
        assert general <= shuffle(local, n, 1e-6, bound="closed-form").epsilon
    assert general <= local


def test_the_promise_is_kept_and_barely() -> None:
    for options in ({}, {"bound": "grr", "d": 12}):
        stated = shuffle(1.5, 4000, 1e-7, **options)
        assert shuffle_delta(1.5, 4000, stated.epsilon, **options) <= 1e-7 * (1 + 2e-6)
        assert shuffle_delta(1.5, 4000, stated.epsilon * 0.999, **options) > 1e-7


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.05, 6),
    st.integers(2, 10**5),
    st.floats(-12, -2),
    st.sampled_from([None, 2, 3, 17, 5000]),
)
def test_more_people_or_a_larger_delta_never_cost(local, n, log_delta, d) -> None:
    bound = {} if d is None else {"bound": "grr", "d": d}
    delta = 10.0**log_delta
    stated = shuffle(local, n, delta, **bound).epsilon
    loose = 1 + 2e-3  # groups of messages begin at other places
    assert 0 <= stated <= local
    assert shuffle(local, 2 * n, delta, **bound).epsilon <= stated * loose + 1e-9
    assert shuffle(local, n, 3 * delta, **bound).epsilon <= stated * loose + 1e-9
    assert stated <= shuffle(local * 1.1, n, delta, **bound).epsilon * loose + 1e-9


@pytest.mark.parametrize("bound", [{}, {"bound": "grr", "d": 3}])
def test_ten_million_people(bound) -> None:
    few, many = (shuffle(1.0, n, 1e-6, **bound).epsilon for n in (10**5, 10**7))
    assert 10 < few / many < 14  # a little more than 1/√n


def test_more_than_enough_people_are_counted_as_enough() -> None:
    assert shuffle(5.0, 10**30, 1e-6).epsilon == shuffle(5.0, 10**8, 1e-6).epsilon


@pytest.mark.parametrize("delta", [1e-300, 1e-30, 0.5, 0.999])
@pytest.mark.parametrize("people", [2, 1000])
@pytest.mark.parametrize("local", [1e-12, 20.0])
def test_extremes_are_promises_too(local: float, people: int, delta: float) -> None:
    for bound in ({}, {"bound": "grr", "d": 2}, {"bound": "grr", "d": 10**6}):
        stated = shuffle(local, people, delta, **bound)
        assert 0 <= stated.epsilon <= local
        assert stated.delta == delta


def test_delta_at_the_ends() -> None:
    assert shuffle_delta(1.0, 100, 1.0) == 0.0
    assert shuffle_delta(1.0, 100, 50.0) == 0.0
    assert shuffle_delta(20.0, 2, 0.0) <= 1.0


# --- what is promised, what is refused -----------------------------------------------------------


def test_who_is_trusted_is_said() -> None:
    stated = shuffle(2.0, 5000, 1e-6)
    said = " ".join(stated.words().split())
    assert stated.notion == DP
    assert OWN_DEVICE in stated.assuming
    for words in ("trusted shuffler", "5,000 people", "epsilon = 2", "every label", "shuffled"):
        assert words in said
    grr = shuffle(2.0, 5000, 1e-6, bound="grr", d=1000)
    assert "GRR over 1,000 values" in " ".join(grr.words().split())


def test_rounds_of_shuffled_reports_add_up() -> None:
    once = Guarantee((shuffle(2.0, 5000, 1e-6),))
    assert once.times(2).epsilon == 2 * once.epsilon
    assert once.times(2).delta == 2e-6


def test_a_label_makes_the_crowd_smaller() -> None:
    stated = shuffle(2.0, 5000, 1e-6, labelled=True, crowd=1000)
    assert stated.epsilon == shuffle(2.0, 1000, 1e-6).epsilon
    said = " ".join(stated.words().split())
    assert "1,000 people with the same label" in said
    assert "5,000" not in said


@pytest.mark.parametrize("people", [0, -5, 2.0, True, "5000", None, math.nan])
def test_wrong_people(people) -> None:
    with pytest.raises(ParameterError, match="people"):
        shuffle(1.0, people, 1e-6)
    with pytest.raises(ParameterError, match="people"):
        shuffle_delta(1.0, people, 0.5)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 21, True, "1", None])
def test_wrong_epsilons(epsilon) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        shuffle(epsilon, 100, 1e-6)
    with pytest.raises(ParameterError, match="epsilon"):
        shuffle_delta(epsilon, 100, 0.5)


@pytest.mark.parametrize("epsilon", [-1, math.nan, math.inf, True, "1", None])
def test_wrong_central_epsilons(epsilon) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        shuffle_delta(1.0, 100, epsilon)


@pytest.mark.parametrize("delta", [-1e-6, 1, 2.0, math.nan, True, "1e-6", None])
def test_wrong_deltas(delta) -> None:
    with pytest.raises(ParameterError, match="delta"):
        shuffle(1.0, 100, delta)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"bound": "stronger"}, "'numerical', 'grr' or 'closed-form'"),
        ({"bound": None}, "'numerical', 'grr' or 'closed-form'"),
        ({"bound": "grr"}, "needs d"),
        ({"bound": "grr", "d": 1}, "at least 2"),
        ({"bound": "grr", "d": 2.0}, "whole number"),
        ({"bound": "grr", "d": True}, "whole number"),
        ({"d": 4}, "only bound='grr'"),
        ({"bound": "closed-form", "d": 4}, "only bound='grr'"),
        ({"crowd": 10}, "labelled=True"),
        ({"labelled": "yes"}, "True or False"),
        ({"labelled": True, "crowd": 101}, "only 100 people"),
        ({"labelled": True, "crowd": 0}, "crowd is 0"),
    ],
)
def test_wrong_options(options, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        shuffle(1.0, 100, 1e-6, **options)


def test_the_other_function_takes_no_closed_form() -> None:
    with pytest.raises(ParameterError, match="'numerical' or 'grr'"):
        shuffle_delta(1.0, 100, 0.5, bound="closed-form")
