"""What promises say where other people's answers are related to a person's own."""

from __future__ import annotations

import math
from itertools import product

import pytest

import sottovoce as sv
from sottovoce.mechanisms.mechanism import Mechanism
from sottovoce.promise import Guarantee

PRIOR = (math.e / (math.e + 1), 1 / (math.e + 1))


def beliefs(mechanism: Mechanism, prior: tuple[float, float], people: int) -> list[float]:
    """Of the second answer, after every report of people whose answers are always equal."""
    law = mechanism.channel().exact
    seen = []
    for reports in product(range(len(law[0])), repeat=people):
        likely = [float(math.prod(row[y] for y in reports)) for row in law]
        total = sum(p * q for p, q in zip(prior, likely, strict=True))
        seen.append(prior[1] * likely[1] / total)
    return seen


def text(guarantee: Guarantee) -> str:
    return " ".join(str(guarantee).split())


@pytest.mark.parametrize(("people", "change"), [(1, 1.0), (2, 2.735326), (3, 4.693453)])
def test_a_promise_under_a_prior_assumes_that_others_answer_whatever_they_do(people, change):
    mechanism = sv.LIP(2, epsilon=1.0, prior=PRIOR[::-1])
    after = beliefs(mechanism, PRIOR[::-1], people)
    factors = [b / PRIOR[0] for b in after] + [(1 - b) / PRIOR[1] for b in after]
    assert max(abs(math.log(f)) for f in factors) == pytest.approx(change, abs=1e-5)
    assert "whatever others answer, and knows nothing more" in text(mechanism.guarantee)


@pytest.mark.parametrize(("people", "sure"), [(1, 73.11), (2, 88.08)])
def test_a_local_promise_compares_answers_with_everyone_elses_unchanged(people, sure):
    """Else nobody would be more than 74 % sure, and with a second person's report they are."""
    mechanism = sv.GRR(2, epsilon=1.0)
    after = beliefs(mechanism, (0.5, 0.5), people)
    assert 100 * max(after) == pytest.approx(sure, abs=0.01)
    (promise,) = mechanism.guarantee.promises
    assert (100 * max(after) <= promise.guess) == (people == 1)
    words = "for any two answers of one person, with everyone else's unchanged, anything seen"
    assert words in text(mechanism.guarantee)
