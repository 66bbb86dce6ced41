"""What is promised to a record, by enumeration in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.randomness import exp
from sottovoce.records.allocation import STEPS, in_steps, most_steps, thresholds

from .exact import attribute_law, mixture, record_law, worst_ratio

SIZES = (2, 3)
RECORDS = list(product(range(2), range(3)))


def drawn_q(steps: int) -> Fraction:
    """The exact probability that the kernel compares with."""
    upper, lower = thresholds()[steps].tolist()
    return Fraction(upper << 64 | lower, 1 << 128)


@pytest.mark.parametrize("steps", [0, 1, 2, 100, 1024, 2048, 5000, 20 * 1024 - 1, 20 * 1024])
def test_a_flip_never_says_more_than_its_budget_and_hardly_less(steps: int) -> None:
    q = drawn_q(steps)
    ratio = (1 - q) / q
    bound = exp(Fraction(steps, STEPS))
    assert 1 <= ratio <= bound * (1 + Fraction(1, 10**70))
    assert float(ratio / bound) == pytest.approx(1, abs=1e-15)


def test_budgets_are_rounded_down() -> None:
    rows = [[1.9999999999, 2.0000000001], [2.0, 2.0], [0.0015, 3.9985], [3.0, float("nan")]]
    rounded = in_steps(np.array(rows), 2.0)
    assert rounded.tolist() == [[2047, 2048], [2048, 2048], [1, 4094], [2048, 65535]]


def test_no_record_spends_more_than_its_total_whatever_the_last_digits() -> None:
    average = (2048.4999999) / 2 / STEPS * 1.0
    rows = np.array([[average + 2e-7, average + 2e-7], [1 / STEPS, 2 * average - 1 / STEPS + 1e-9]])
    spent = in_steps(rows, average).astype(int).sum(axis=1)
    assert (spent <= most_steps(2, average)).all()


@pytest.mark.parametrize("division", [(2048, 2048), (3993, 102), (0, 4096)])
def test_each_answer_has_its_budget_and_the_record_the_sum_exactly(division) -> None:
    flips = tuple(drawn_q(steps) for steps in division)
    for size, q in zip(SIZES, flips, strict=True):
        laws = [attribute_law(v, size, q) for v in range(size)]
        assert max(worst_ratio(a, b) for a in laws for b in laws) == (1 - q) / q
    laws = [record_law(record, SIZES, flips) for record in RECORDS]
    worst = max(worst_ratio(a, b) for a in laws for b in laws)
    assert worst == math.prod((1 - q) / q for q in flips)
    total = math.log(worst)
    assert total <= sum(division) / STEPS + 1e-12
    assert total == pytest.approx(sum(division) / STEPS, abs=1e-9)


def test_a_hidden_division_that_ignores_the_answers_keeps_the_total() -> None:
    divisions = [(2048, 2048), (3993, 103), (1024, 3072)]
    weights = [Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)]
    mixed = [
        mixture([record_law(r, SIZES, tuple(map(drawn_q, d))) for d in divisions], weights)
        for r in RECORDS
    ]
    worst = max(worst_ratio(a, b) for a in mixed for b in mixed)
    assert math.log(worst) <= 4 + 1e-12


@pytest.mark.parametrize("floor", [0.0, 0.3, 0.5, 1.25])
@pytest.mark.parametrize("average", [1.25, 1.4999995, 2.0, 15.0])
def test_no_division_gives_an_answer_more_than_is_promised(average: float, floor: float) -> None:
    """The largest part that is accepted, with the last digits that are, against each promise."""
    r = sv.Records([sv.Attribute(name, 2) for name in "abc"], epsilon_average=average, floor=floor)
    most = min(3 * average - 2 * floor, 20.0)
    rest = (3 * average - most) / 2
    for row in ([most, rest, rest], [min(most * (1 + 3e-7), 20.0), rest, rest]):
        (steps,) = in_steps(np.array([row]), np.array([average])).tolist()
        losses = [float(math.log((1 - drawn_q(k)) / drawn_q(k))) for k in steps]
        total, answer = r.guarantee.promises
        assert max(losses) <= answer.epsilon * (1 + 1e-12)
        assert sum(losses) <= total.epsilon * (1 + 1e-12)
        assert answer.epsilon <= max(losses) + 3 / STEPS  # what is promised is hardly more
    assert r.undivided().promises[1].epsilon == average


def test_the_printed_promises() -> None:
    r = sv.Records([sv.Attribute("a", 2), sv.Attribute("b", 3)], epsilon_average=2.0)
    total, one = r.guarantee.promises
    assert (total.epsilon, one.epsilon) == (4.0, 4.0)  # an answer may have all of it
    assert [p.epsilon for p in r.undivided().promises] == [4.0, 2.0]
    words = str(r.guarantee)
    assert "without regard to the answers" in " ".join(words.split())
    assert "how many bits are set reveals much of it" in " ".join(words.split())
    own = r.guarantee_for([3.9, 0.1])
    assert [p.epsilon for p in own.promises] == [4.0, 3.9, 0.1]
    fewer = r.guarantee_for([2.0, math.nan])
    assert [p.epsilon for p in fewer.promises] == [2.0, 2.0]
    public = sv.Records(r.schema, epsilon_average=2.0, public=True)
    assert "how many bits" not in str(public.guarantee)
    dropped = sv.Records([sv.Attribute("a", 2, missing="public")], epsilon_average=1.0)
    assert "who gave no answer is public" in " ".join(str(dropped.guarantee).split())
