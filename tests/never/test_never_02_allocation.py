"""Never claim PLDP ε_total when the allocation may depend on the data."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.records import allocation
from sottovoce.records import allocation_blocks as shares
from tests.joint.test_exact import worst

RECORDS = sv.Records([sv.Attribute("a", 16), sv.Attribute("b", 16)], epsilon_average=2.0)


def test_the_claim_would_be_false() -> None:
    # Theorem 4 claims 4 for records divided (2, 2) and (3.9, .1).
    for size, true in ((2, 4.41), (4, 9.03), (16, 36.8)):
        loss = worst(size, 3.9, 2.0) + worst(size, 0.1, 2.0)
        other = worst(size, 2.0, 3.9) + worst(size, 2.0, 0.1)
        assert math.isclose(max(loss, other), true, rel_tol=2e-3)


def test_every_promise_assumes_that_answers_played_no_part() -> None:
    for row in ([2.0, 2.0], [3.9, 0.1], [2.0, math.nan]):
        for promise in RECORDS.guarantee_for(row).promises:
            assert any("without regard to the answers" in text for text in promise.assuming)
            assert any("otherwise nothing is promised" in text for text in promise.assuming)
    words = " ".join(str(RECORDS.guarantee).split())
    assert words.count("without regard to the answers") == len(RECORDS.guarantee.promises)


def test_no_helper_that_divides_is_given_the_answers() -> None:
    for helper in (allocation.equal, allocation.random, allocation.slide, allocation.checked):
        parameters = set(inspect.signature(helper).parameters)
        assert not parameters & {"table", "columns", "answers", "values", "codes"}
    # Where columns come in, only who answered is read, and only where that is declared public.
    assert "codes_of" not in inspect.getsource(shares)


@pytest.mark.parametrize("allocation", ["random", "equal"])
def test_from_one_seed_everyone_divides_alike_whatever_they_answer(allocation: str) -> None:
    schema = [sv.Attribute(name, 4) for name in "abc"]
    records = sv.Records(schema, epsilon_average=2.0, public=True)  # everyone's steps are sent
    drawn = []
    for answers in (np.zeros(300, int), np.full(300, 3), np.arange(300) % 4):
        with testing.seeded(6) as source:
            table = {"a": answers, "b": answers[::-1], "c": answers}
            reports = records.randomise(table, source=source, allocation=allocation)
        drawn.append(reports.columns["steps"].tolist())
    assert drawn[0] == drawn[1] == drawn[2]
    assert (len(set(map(tuple, drawn[0]))) > 1) == (allocation == "random")
