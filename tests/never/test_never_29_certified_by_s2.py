"""Never certify two-stage sampling by what S2 alone sees once the result is published; with
adaptive selection never leave ε* out.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.promise import Against

RATE, COUNT = 1 - math.exp(-0.5), 100


def tss(**parameters: object) -> sv.secure.TSS:
    return sv.secure.TSS(30, rate=RATE, report=0.4, count=COUNT, **parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("committee", [None, 5])
def test_a_published_result_is_certified_against_those_who_see_senders(
    committee: int | None,
) -> None:
    protocol = tss(delta=1e-4, collusion=2, committee=committee)
    observers = {promise.against for promise in protocol.guarantee.promises}
    assert Against.SENDERS in observers
    assert Against.S2 not in observers
    assert Against.RESULT not in observers
    promise = protocol.guarantee.promises[0]
    with_output = protocol.design.delta_with_output(promise.epsilon, COUNT, insiders=2)
    assert with_output <= promise.delta
    # The fault: S2 alone sees far less.
    assert protocol.design.delta_alone(promise.epsilon, COUNT) < with_output / 10


def test_published_is_the_default() -> None:
    assert tss().published


@pytest.mark.parametrize(
    ("items", "report", "gamma"), [(5, 0.4, 2.0), (4, 0.5, 6.0), (3, 0.7, 1.5)]
)
def test_epsilon_star_is_what_the_reported_items_show(
    items: int, report: float, gamma: float
) -> None:
    """Exact laws of the set of someone who holds item 0, and of someone who holds item 1."""
    protocol = sv.secure.TSS(
        items, rate=0.5, report=report, selection="adaptive", gamma=gamma, collusion=1
    )
    sets = list(combinations(range(items), protocol.design.reported))

    def law(own: int) -> np.ndarray:
        weights = np.array([gamma if own in chosen else 1.0 for chosen in sets])
        return 0.5 * weights / weights.sum() + 0.5 / len(sets)

    assert protocol.design.epsilon_star == pytest.approx(float(np.log(law(0) / law(1)).max()))


def test_adaptive_selection_always_shows_epsilon_star() -> None:
    for published in (True, False):
        protocol = tss(delta=1e-2, selection="adaptive", gamma=2, collusion=2, published=published)
        star = protocol.design.epsilon_star
        assert star > 0
        local = {p.against: p.epsilon for p in protocol.guarantee.promises}
        assert local[Against.S1] == local[Against.COALITION] == star
        if published:
            uniform = tss(delta=1e-2, collusion=2).guarantee.promises[0].epsilon
            assert local[Against.SENDERS] > uniform
