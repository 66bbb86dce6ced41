"""Differences in a picture, sorted bars, and titles that state reports."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.estimate.estimate import Estimate
from sottovoce.promise import LDP, Guarantee, Promise


def estimate(values: list[float], **about: object) -> Estimate:
    fields: dict[str, object] = {
        "values": np.array(values),
        "spread": np.full(len(values), 1e-4),
        "n": 4000,
        "reports": 1000,
        "labels": tuple("abc"[: len(values)]),
        "guarantee": Guarantee((Promise(LDP, 1.0),)),
        "name": "x",
    }
    return Estimate(**{**fields, **about})  # type: ignore[arg-type]


FIRST, SECOND = estimate([0.2, 0.3, 0.5]), estimate([0.21, 0.5, 0.29])


def test_both_and_their_difference() -> None:
    left, right = sv.plot.difference(FIRST, SECOND, names=("2025", "2026"))
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["2025", "2026"]
    assert left.get_title("left") == "x\n1,000 and 1,000 reports"
    assert right.get_title("left").startswith("2026 \N{MINUS SIGN} 2025\np = ")
    assert right.get_xlabel() == "difference in percentage points"
    differs, noise = right.collections[1:]
    np.testing.assert_allclose(differs.get_offsets()[:, 0], [0.2, -0.21])
    np.testing.assert_allclose(noise.get_offsets()[:, 0], [0.01])
    assert [t.get_text() for t in left.get_yticklabels()] == ["a", "b", "c"]
    left, _ = sv.plot.difference(FIRST, SECOND, sort=True)
    assert [t.get_text() for t in left.get_yticklabels()] == ["c", "b", "a"]
    with pytest.raises(ParameterError, match="of two estimates"):
        sv.plot.difference(FIRST, 3)  # type: ignore[arg-type]


def test_simultaneous_intervals_are_wider_and_named() -> None:
    _, right = sv.plot.difference(FIRST, SECOND, simultaneous=True)
    names = [text.get_text() for text in right.get_legend().get_texts()]
    assert names[0] == "95% interval for all at once"


def test_sorted_bars() -> None:
    ax = FIRST.plot(sort=True)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["c", "b", "a"]
    ax = FIRST.plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]


def test_titles_state_reports() -> None:
    assert FIRST.plot().get_title("left") == "x\n1,000 reports, ε = 1"
    assert "1,000 reports" in sv.plot.compare([FIRST, SECOND]).get_title("left")
    change = (SECOND - FIRST).plot()
    assert change.get_title("left") == "x\n2,000 reports, ε = 2"
    assert change.get_xlabel() == "difference in percentage points"
