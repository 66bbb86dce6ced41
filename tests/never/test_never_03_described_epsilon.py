"""Never show ε_w or Theorem 3's m·min ε_i as a guarantee."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.promise import Guarantee, Promise, Protected, Unit
from sottovoce.records.allocation import described_epsilon

SOURCE = Path(sv.__file__).parent
RECORDS = sv.Records([sv.Attribute("a", 3), sv.Attribute("b", 3)], epsilon_average=2.0)


def test_the_guarantee_is_the_sum_and_never_less() -> None:
    row = [3.9, 0.1]
    assert described_epsilon(row)[0] == pytest.approx(0.295)
    epsilons = [promise.epsilon for promise in RECORDS.guarantee_for(row).promises]
    assert epsilons == [4.0, 3.9, 0.1]
    assert RECORDS.guarantee_for(row).promises[0].unit == Unit(Protected.RECORD, answers=2)


def test_it_says_that_it_is_not_a_guarantee_and_is_no_promise() -> None:
    assert "NOT a guarantee" in (described_epsilon.__doc__ or "")
    assert not isinstance(described_epsilon([[3.9, 0.1]]), Promise | Guarantee)


def test_nothing_in_the_product_uses_it() -> None:
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and "described_epsilon" in ast.dump(node.func):
                pytest.fail(f"{file} calls described_epsilon")
