"""Never forget that budget is per released marginal.

Releasing all 560 three-way marginals of 16 attributes at ε each would cost 560 ε: several
marginals of one run divide the budget, and what is spent is the sum over all of them.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError

SCHEMA = sv.Schema([sv.Attribute(f"a{k}", 2) for k in range(16)])
BUDGETS = {"A": 0.5, "B": 1.0}


def test_all_marginals_together_cost_the_budget_and_not_each() -> None:
    every = [list(names) for names in combinations([a.name for a in SCHEMA], 3)]
    study = sv.parties.Horizontal(SCHEMA, every, BUDGETS, method="mh")
    assert len(study.marginals) == 560
    assert study.costs_of(None) == {"A": Fraction(1, 2), "B": Fraction(1, 2)}
    (release,) = study.releases(None)[0]
    assert release.scale == 2 * 560 * 2  # noise for ε/560
    # The fault: each at the whole budget.
    one = sv.parties.Horizontal(SCHEMA, every[0], BUDGETS, method="mh")
    assert 560 * one.costs_of(None)["A"] == 280


def test_marginals_cannot_take_more_than_the_budget() -> None:
    with pytest.raises(ParameterError, match="must not exceed 1"):
        sv.parties.Horizontal(SCHEMA, [["a0"], ["a1"]], BUDGETS, fractions=[1, 1])


def test_a_second_run_is_charged_again() -> None:
    study = sv.parties.Horizontal(SCHEMA, ["a0"], BUDGETS, method="mh")
    rows = {"a0": [0, 1, 1, 0]}
    runs = [study.simulate(dict.fromkeys("AB", rows)) for _ in range(2)]
    both = runs[0].guarantee + runs[1].guarantee
    assert [promise.epsilon for promise in both.promises] == [1.0, 1.0]
