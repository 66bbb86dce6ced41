"""The best rates for so much traffic: optimal, exhausted, and refused where there are none."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.participation import best_rates

SETTINGS = [
    ([sv.OUE(8, epsilon=0.5), sv.OUE(8, epsilon=4)], [500, 500], [1, 1], 0.2),
    ([sv.OUE(8, epsilon=0.5), sv.OUE(8, epsilon=4)], [900, 100], [1, 5], 0.7),
    ([sv.GRR(5, epsilon=e) for e in (0.5, 1, 4)], [200, 500, 300], [3, 1, 2], 0.5),
    ([sv.GRR(5, epsilon=e) for e in (0.2, 1, 4)], [10, 500, 300], [1, 1, 1], 0.6),
    ([sv.HadamardResponse(20, epsilon=e) for e in (1, 3)], [500, 500], [1, 2], 0.4),
    ([sv.Hybrid((0, 10), epsilon=e) for e in (0.5, 2)], [300, 700], [3, 3], 0.3),
]


def moment(mechanism):
    """E‖U‖² of one report, from the mechanism's own variances, answers spread evenly."""
    if isinstance(mechanism.domain, sv.Range):
        places = np.linspace(0, 1, 100_001)
        return float(np.mean(mechanism.variance_at(places) + places**2))
    d = mechanism.domain.size
    return float(np.sum(mechanism.variance(np.full(d, 1 / d), 1))) + 1


@pytest.mark.parametrize(("mechanisms", "people", "costs", "part"), SETTINGS)
def test_nothing_on_a_fine_grid_is_better(mechanisms, people, costs, part):
    traffic = part * float(np.dot(people, costs))
    found = best_rates(mechanisms, people, traffic=traffic, costs=costs)
    # Σ n V / π is the part of the variance by inverse rates that rates decide.
    weight = np.array(people) * [moment(m) for m in mechanisms]
    grid = np.linspace(0.005, 1, 200)
    rates = np.array(list(itertools.product(grid, repeat=len(people) - 1)))
    spent = np.array(people) * costs
    rest = (traffic - rates @ spent[:-1]) / spent[-1]
    rates = np.column_stack([rates, rest])[(rest > 0) & (rest <= 1)]
    assert len(rates) > 20
    errors = (weight / rates).sum(axis=1)
    assert errors.min() >= (weight / found).sum() * (1 - 1e-6)
    assert errors.min() < (weight / found).sum() * 1.01


@pytest.mark.parametrize(("mechanisms", "people", "costs", "part"), SETTINGS)
def test_a_byte_is_worth_the_same_everywhere_below_one(mechanisms, people, costs, part):
    """Karush, Kuhn and Tucker: V / (c π²) is one number, and no less where the rate is one."""
    traffic = part * float(np.dot(people, costs))
    rates = best_rates(mechanisms, people, traffic=traffic, costs=costs)
    worth = np.array([moment(m) for m in mechanisms]) / (np.array(costs) * rates**2)
    free = rates < 1
    assert free.any()
    assert worth[free] == pytest.approx(worth[free].max(), rel=1e-3)
    assert (worth[~free] >= worth[free].max() * (1 - 1e-3)).all()
    assert float(np.dot(people, rates * costs)) == pytest.approx(traffic)


@pytest.mark.parametrize(("mechanisms", "people", "costs", "part"), SETTINGS[:4])
def test_it_is_what_the_exact_variance_is_least_at(mechanisms, people, costs, part):
    traffic = part * float(np.dot(people, costs))
    best = best_rates(mechanisms, people, traffic=traffic, costs=costs)
    same = np.full(len(people), part)

    def total(rates):
        shares = np.full(mechanisms[0].domain.size, 1 / mechanisms[0].domain.size)
        each = (
            n**2 * sv.Sampled(m, rate=r).variance(shares, n, method="horvitz-thompson").sum()
            for m, n, r in zip(mechanisms, people, rates.tolist(), strict=True)
        )
        return sum(each)

    assert total(best) < total(same)
    rng = np.random.default_rng(1)
    for _ in range(50):
        other = np.clip(best * np.exp(rng.normal(0, 0.1, best.size)), 1e-6, 1)
        other *= min(1.0, traffic / float(np.dot(people, other * costs)))
        assert total(other) >= total(best) * (1 - 1e-6)


def test_equal_people_get_equal_rates():
    rates = best_rates([sv.GRR(9, epsilon=1)] * 4, [10, 20, 30, 40], traffic=25, costs=[1] * 4)
    assert rates == pytest.approx(0.25)


def test_costs_are_bytes_by_default_and_only_their_ratios_matter():
    mechanisms, people = [sv.OUE(100, epsilon=1), sv.GRR(100, epsilon=1)], [300, 700]
    size = [m.report_bytes for m in mechanisms]
    rates = best_rates(mechanisms, people, traffic=1_000)
    assert rates == pytest.approx(best_rates(mechanisms, people, traffic=1_000, costs=size))
    ten = best_rates(mechanisms, people, traffic=10_000, costs=[10 * c for c in size])
    assert rates == pytest.approx(ten)


def test_who_is_cut_off_at_one_leaves_the_rest_to_the_others():
    rates = best_rates(
        [sv.OUE(8, epsilon=0.1), sv.OUE(8, epsilon=4)], [10, 990], traffic=400, costs=[1, 1]
    )
    assert rates[0] == 1
    assert 10 + 990 * rates[1] == pytest.approx(400)


@pytest.mark.parametrize("traffic", [1_000, 1e300])
def test_enough_for_everyone_is_enough(traffic):
    mechanisms = [sv.GRR(4, epsilon=1), sv.GRR(4, epsilon=2)]
    assert best_rates(mechanisms, [400, 600], traffic=traffic).tolist() == [1, 1]


def test_one_group_and_very_little():
    rates = best_rates([sv.GRR(4, epsilon=1)], [1_000_000], traffic=1)
    assert rates == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"traffic": 0}, "positive number"),
        ({"traffic": -1}, "positive number"),
        ({"traffic": math.nan}, "positive number"),
        ({"traffic": math.inf}, "positive number"),
        ({"traffic": "10"}, "positive number"),
        ({"people": [10]}, "one positive number per mechanism"),
        ({"people": [10, 0]}, "one positive number per mechanism"),
        ({"people": [10, math.nan]}, "one positive number per mechanism"),
        ({"costs": [1]}, "one positive number per mechanism"),
        ({"costs": [1, -1]}, "one positive number per mechanism"),
        ({"mechanisms": []}, "one positive number per mechanism"),
    ],
)
def test_bad_input_is_refused(options, message):
    mechanisms = options.pop("mechanisms", [sv.GRR(4, epsilon=1)] * 2)
    with pytest.raises(ParameterError, match=message):
        best_rates(mechanisms, **{"people": [10, 10], "traffic": 5, **options})


def test_a_menu_has_no_variance_of_its_own():
    menu = sv.Levels.of(sv.GRR, 4, {"a": 1, "b": 2})
    with pytest.raises(ParameterError, match="no variance to plan with"):
        best_rates([menu], [10], traffic=5)
