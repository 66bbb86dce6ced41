"""Numbers: the default has a distribution at every epsilon, or says beforehand that it has none."""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce.planning.choose import best_kind


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 0.61, 0.62, 1.0, 2.0, 5.0, 20.0])
def test_the_default_has_a_distribution_at_every_epsilon(epsilon):
    age = sv.Range("age", 0, 120)
    mechanism = best_kind(age, [epsilon])(age, epsilon=epsilon)
    assert "distribution" in mechanism.methods
    assert "mean only" not in mechanism.words
    designs = sv.plan(bounds=(0, 120), n=1000, epsilon=epsilon)
    ours = next(design for design in designs if design.name == mechanism.id)
    if epsilon <= 8:  # beyond, nothing but the rounding to the grid is left
        assert ours.std_error < 1.16 * designs.best.std_error


def test_a_plan_says_which_designs_have_only_a_mean():
    assert "Only the mean: duchi and hybrid" in str(sv.plan(bounds=(0, 1), n=1000, epsilon=0.5))
    assert "Only the mean: duchi (" in str(sv.plan(bounds=(0, 1), n=1000, epsilon=1.0))
    assert "Only the mean" not in str(sv.plan(d=4, n=1000, epsilon=1.0))
    levels = sv.plan(bounds=(0, 1), n=1000, levels={"a": 1.0, "b": 2.0})
    assert "only the mean of a number" in str(levels)


def test_levels_and_rates_say_that_they_have_only_a_mean():
    age = sv.Range("age", 0, 120)
    menu = sv.Levels.of(best_kind(age, [0.5, 2.0]), age, {"a": 0.5, "b": 2.0})
    assert menu.words.endswith("mean only")
    assert {type(m) for m in menu.menu.values()} == {sv.Hybrid}
    assert sv.Sampled(sv.Piecewise(age, epsilon=1.0), rate=0.5).words.endswith("mean only")
    assert not sv.Sampled(sv.GRR(3, epsilon=1.0), rate=0.5).words.endswith("mean only")
