"""Alternatives for a record: their predicted errors, and their different promises."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import ParameterError
from sottovoce.promise.assumptions import ANY_PART, EQUAL_PART
from sottovoce.records.designs import designs

#: `maths/personal-records.md` (m): n ΣVar for m = 4, l = 6: (split OUE, split SS, sample-one SS).
PAGE = {0.5: (95, 65, 11.7), 1.0: (23, 14.9, 3.3), 2.0: (5.3, 2.3, 2.5), 3.0: (2.3, 0.6, 2.5)}


def by_name(average: float) -> dict[str, float]:
    return {d.name: 6 * d.std_error**2 for d in designs([6] * 4, n=1, average=average)}


@pytest.mark.parametrize("average", PAGE)
def test_the_page_s_figures(average: float) -> None:
    offered = by_name(average)
    _, split, one = PAGE[average]
    assert offered["split by attribute"] == pytest.approx(split, rel=0.05)
    assert offered["sample one attribute"] == pytest.approx(one, rel=0.05)
    better = offered["sample one attribute"] < offered["split by attribute"]
    assert better == (average < 1.8)


@pytest.mark.parametrize(("name", "public"), [("hidden, random", False), ("public, random", True)])
def test_predicted_errors_are_those_of_repetitions(name: str, public: bool) -> None:
    records = sv.Records([sv.Attribute(n, 3) for n in "abc"], epsilon_average=2.0, public=public)
    n = 3000
    table = {name: np.arange(n) % 3 for name in "abc"}
    with testing.seeded(9) as source:
        estimates = [
            records.marginal(
                records.aggregate(records.randomise(table, allocation="random", source=source)),
                ["a"],
            ).values
            for _ in range(120)
        ]
    spread = np.sqrt(np.var(estimates, axis=0).mean())
    wanted = {d.name: d.std_error for d in records.designs(n)}[name]
    # Predictions let answers vary too, which is conservative for fixed ones.
    assert 0.9 < wanted / spread < 1.3


def test_promises_differ() -> None:
    promised = {d.name: d.guarantee for d in designs([3, 4], n=100, average=1.0)}
    assert {g.promises[0].epsilon for g in promised.values()} == {2.0}
    for name in ("sample one attribute", "one GRR on the tuple"):
        assert ANY_PART in promised[name].promises[1].assuming
    assert any("how many bits" in text for text in promised["hidden, equal"].promises[0].assuming)
    assert not any("how many bits" in t for t in promised["public, random"].promises[0].assuming)


def test_a_single_answer_is_promised_its_own_part() -> None:
    promised = {d.name: d.guarantee.promises[1] for d in designs([3, 4, 5], n=100, average=2.0)}
    for name in ("hidden, equal", "split by attribute"):
        assert promised[name].epsilon == 2.0
        assert EQUAL_PART in promised[name].assuming
    assert promised["hidden, random"].epsilon == 6.0
    assert promised["public, random"].epsilon == 5.0  # the others have the floor, .5, at least
    assert promised["one GRR on the tuple"].epsilon == 6.0
    large = {d.name: d.guarantee.promises[1].epsilon for d in designs([3] * 4, n=9, average=15.0)}
    assert large["hidden, random"] == large["public, random"] == 20.0


def test_what_cannot_be_is_left_out_or_refused() -> None:
    names = [d.name for d in designs([10] * 12, n=100, average=1.0)]
    assert "one GRR on the tuple" not in names
    assert "sample one attribute" not in [d.name for d in designs([3] * 5, n=10, average=5.0)]
    with pytest.raises(ParameterError, match="whole number of people"):
        designs([3], n=0, average=1.0)


@pytest.mark.parametrize("average", [0.1, 0.7, 1.1, 2.0, 1 / 3])
@pytest.mark.parametrize("attributes", [1, 2, 3, 7])
@pytest.mark.parametrize("public", [False, True])
def test_a_plan_promises_what_its_records_promise(
    average: float, attributes: int, public: bool
) -> None:
    """Rounded up, and budgets in whole steps."""
    values = [sv.Attribute(f"a{k}", 3) for k in range(attributes)]
    records = sv.Records(values, epsilon_average=average, public=public, floor=average / 3)
    name = f"{'public' if public else 'hidden'}, random"
    (planned,) = (one.guarantee for one in records.designs(1000) if one.name == name)
    epsilons = [promise.epsilon for promise in planned.promises]
    assert epsilons == [promise.epsilon for promise in records.guarantee.promises]
    assert Fraction(epsilons[0]) >= attributes * Fraction(average)
