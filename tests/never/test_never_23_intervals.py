"""Never print a 95 % interval that covers a single cell less than .93 of the time on the stress
grid without saying so beside it.

The grids are in `tests/intervals` and `benchmarks/coverage.py`; this is the hardest part of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import GRR, OUE, Attribute, Levels, Records
from sottovoce.estimate.intervals import NoiseLines
from sottovoce.testing import seeded
from tests.intervals.exact import LEAST, least_coverage, normal
from tests.intervals.test_two_levels import alike
from tests.intervals.test_two_levels import least_coverage as least_over_levels


@pytest.mark.parametrize("kind", [GRR, OUE], ids=lambda kind: kind.id)
def test_few_noise_events_are_covered(kind: type) -> None:
    mechanism = kind(10, epsilon=6.0)
    for n in (1, 10, 60):
        assert least_coverage(mechanism, n) >= LEAST
    assert least_coverage(mechanism, 60, normal) < LEAST  # the fault


def test_levels_that_differ_completely_are_covered() -> None:
    levels = [GRR(10, epsilon=epsilon) for epsilon in (3.0, 10.0)]
    assert least_over_levels(levels, [20, 180], NoiseLines.combine) >= LEAST
    assert least_over_levels(levels, [20, 180], alike) < 0.8  # the fault


def test_a_smaller_error_shows_no_narrower_interval() -> None:
    """Projection and shrinkage: fractions of 0 and 1 are the only ends that may move inwards."""
    menu = Levels.of(GRR, 4, {"strong": 0.5, "weak": 2.0})
    with seeded(1) as source:
        reports = menu.randomise([0, 0, 1, 2] * 250, level=["strong", "weak"] * 500, source=source)
        counts = menu.aggregate(reports)
        plain = menu.estimate(counts, method="post-stratified")
        low, high = plain.interval()
        for biased in (plain.project(), menu.estimate(counts), menu.estimate(counts).project()):
            assert biased.biased
            assert not np.array_equal(biased.values, plain.values)
            shown = biased.interval()
            assert (shown.low <= np.maximum(low, 0)).all()
            assert (shown.high >= np.minimum(high, 1)).all()


def test_joint_tables_say_that_their_intervals_are_approximate() -> None:
    records = Records([Attribute("a", 2), Attribute("b", 2)], epsilon_average=2.0)
    with seeded(1) as source:
        table = {"a": [0, 1] * 300, "b": [0, 1, 1] * 200}
        counts = records.aggregate(records.randomise(table, source=source))
        assert "intervals are approximate" in str(records.joint(counts, ["a", "b"]))
