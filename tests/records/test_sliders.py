"""Sliders keep the total and stay where everybody's budget must be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.records.allocation import described_epsilon, slide

SHARES = st.lists(st.floats(0, 20), min_size=1, max_size=6)


@given(SHARES, st.floats(0, 1), st.integers(0, 5), st.floats(0, 1))
def test_what_can_be_reached_is_reached_within_the_limits(shares, part, which, where) -> None:
    floor = part * min(shares)
    attribute, total, others = which % len(shares), sum(shares), len(shares) - 1
    low, high = max(floor, total - 20 * others), min(20, total - floor * others)
    value = low + where * (high - low)
    after = slide(shares, attribute, value, floor=floor)
    assert after[attribute] == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert after.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
    assert after.min() >= floor
    assert after.max() <= 20


def test_proportions_stay_above_the_floor() -> None:
    np.testing.assert_allclose(slide([2.0, 3.0, 1.0], 0, 4.0), [4.0, 1.5, 0.5])
    np.testing.assert_allclose(slide([2.0, 3.0, 1.0], 0, 4.0, floor=0.5), [4.0, 4 / 3, 2 / 3])
    np.testing.assert_allclose(slide([19.0, 15.0, 5.0], 0, 9.0), [9.0, 20.0, 10.0])
    np.testing.assert_allclose(slide([4.0, 0.0, 0.0], 0, 1.0), [1.0, 1.5, 1.5])
    np.testing.assert_array_equal(slide([3.0, np.nan, 1.0], 2, 4.0), [0.0, np.nan, 4.0])


def test_records_accept_what_a_slider_gives() -> None:
    records = sv.Records([sv.Attribute(n, 3) for n in "abc"], epsilon_average=2.0, public=True)
    row = slide([2.0, 2.0, 2.0], 0, 5.0, floor=records.floor)
    assert row.tolist() == [5.0, 0.5, 0.5]
    assert records.guarantee_for(row).promises[1].epsilon == 5.0


REFUSED = {
    "beyond the limit of another": (([20.0, 20.0], 0, 0.0), "from 20 to 20"),
    "below zero": (([2.0, 2.0, 2.0], 0, -1.0), "from 0 to 6"),
    "more than the total": (([2.0, 2.0, 2.0], 0, 7.0), "from 0 to 6"),
    "the only one": (([3.0, np.nan], 0, 2.0), "from 3 to 3"),
    "unreported": (([2.0, np.nan], 1, 1.0), "position of a reported one"),
    "a name": (([2.0, 2.0], "a", 1.0), "attribute is 'a'"),
    "a float": (([2.0, 2.0], 1.0, 1.0), "attribute is 1.0"),
    "a truth": (([2.0, 2.0], True, 1.0), "attribute is True"),
    "out of range": (([2.0, 2.0], 2, 1.0), "attribute is 2"),
    "text": (([2.0, 2.0], 0, "1"), "value is '1'"),
    "no number": (([2.0, 2.0], 0, float("nan")), "value is nan"),
    "infinite": (([float("inf"), 2.0], 1, 3.0), "budgets go from 2 to inf"),
    "negative": (([-1.0, 2.0], 1, 1.0), "budgets go from -1 to 2"),
    "nothing": (([], 0, 1.0), "give one person's budgets"),
    "all unreported": (([np.nan, np.nan], 0, 1.0), "give one person's budgets"),
    "two rows": (([[2.0, 2.0], [2.0, 2.0]], 0, 1.0), "give one person's budgets"),
    "words": (("x", 0, 1.0), "give one person's budgets"),
    "ragged": (([[2.0], [1.0, 2.0]], 0, 1.0), "give one person's budgets"),
}


@pytest.mark.parametrize(("given", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_with_what_can(given, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        slide(*given)


@pytest.mark.parametrize(("floor", "says"), [(0.5, "from 0.5 to 3.5"), (3.0, "budgets go from 2")])
def test_the_floor_is_known(floor: float, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        slide([2.0, 2.0], 0, 4.0, floor=floor)


@pytest.mark.parametrize("floor", [-1, 21, "x", True, float("nan")])
def test_bad_floors(floor) -> None:
    with pytest.raises(ParameterError, match="floor is"):
        slide([2.0, 2.0], 0, 1.0, floor=floor)


@pytest.mark.parametrize(
    "given", [[], "x", [-1, 2], [[np.nan, np.nan]], [[1.0, 2.0], [np.nan] * 2], [[[1.0]]], None]
)
def test_only_budgets_are_described(given) -> None:
    with pytest.raises(ParameterError, match="budgets"):
        described_epsilon(given)
