"""Never accuse without a stated false-alarm rate: an audit corrects for everything it compares."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import sottovoce as sv
from tests.audit.test_false_alarms import DEFAULT, accusation


def test_the_default_rate_is_one_in_a_thousand_and_is_stated() -> None:
    assert 1 - inspect.signature(sv.audit).parameters["confidence"].default <= DEFAULT * (1 + 1e-9)
    (finding,) = sv.audit(sv.GRR(3, epsilon=1.0), trials=2000)
    assert finding.false_alarms == DEFAULT
    assert "accused in at most 1 of 1,000 audits" in " ".join(str(finding).split())
    assert finding.as_dict()["false_alarms"] == DEFAULT


@pytest.mark.parametrize("levels", [2, 10])
def test_every_level_of_a_menu_is_corrected_for(levels: int) -> None:
    menu = sv.Levels.of(sv.GRR, 3, {f"level {k}": 0.5 + k / 10 for k in range(levels)})
    findings = sv.audit(menu, trials=2000)
    assert len(findings) == levels
    assert {finding.comparisons for finding in findings} == {levels}
    worst = max(accusation(1.0, DEFAULT / levels, np.exp(-1.0) * p) for p in (0.5, 0.9, 0.97))
    assert 1 - (1 - worst) ** levels <= DEFAULT


def test_planted_fault_without_the_correction() -> None:
    worst = max(accusation(1.0, 0.05, np.exp(-1.0) * p) for p in (0.5, 0.9, 0.97))
    assert 1 - (1 - worst) ** 10 > 50 * DEFAULT
