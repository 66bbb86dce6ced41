"""Never initialise MM (002) from true local marginals.

It is the only start for which "no distortion" comes out right, and it is not private. EM sees
nothing but opened sums: with the same sums, other local tables give the same result.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sottovoce.errors import ParameterError
from sottovoce.parties.design import Design
from sottovoce.parties.methods.registry import ROWS
from sottovoce.parties.methods.stretching import MM, STARTS, fit

# Two splits of one table: the stretched sums 1·c_A + 2·c_B are equal, the true tables are not.
BUDGETS = {"A": Fraction(1, 2), "B": Fraction(1)}
SPLITS = (([40, 0], [0, 30]), ([0, 40], [20, 10]))
SIZES = {"A": 40, "B": 30}
DESIGN = Design((2,), BUDGETS, 1, rows=SIZES)


def test_every_start_is_public_or_noisy() -> None:
    mixtures = [method for method in ROWS.values() if isinstance(method, MM)]
    assert [method.start for method in mixtures] == list(STARTS)
    for method in mixtures:
        assert all(cost <= BUDGETS[name] for name, cost in method.spent(DESIGN).items())
        for release in method.releases(DESIGN):
            assert release.variance > 0  # nothing is opened without noise
    with pytest.raises(ParameterError, match="it must be one of"):
        MM("local")


def test_the_result_follows_from_the_opened_sums() -> None:
    (release,) = ROWS["mm"].releases(DESIGN)
    ratio = release.weights["B"] / release.weights["A"]
    assert ratio == 2
    stretched = [np.array(a) + 2 * np.array(b) for a, b in SPLITS]
    assert np.array_equal(*stretched)
    truths = [(np.array(a) + np.array(b)) / 70 for a, b in SPLITS]
    assert not np.allclose(*truths)
    sums = [release.weights["A"] * stretched[0].astype(np.int64)]
    values = ROWS["mm"].solve(DESIGN, sums).values
    assert not any(np.allclose(values, truth, atol=0.01) for truth in truths)
    # The fault: a start from the true local tables reproduces either truth, from equal sums.
    for (a, b), truth in zip(SPLITS, truths, strict=True):
        local = np.array([np.array(a) / 40, np.array(b) / 30])
        fitted, _ = fit(local, np.array([40.0, 60.0]), stretched[0] / 100)
        assert np.allclose(np.array([40.0, 30.0]) @ fitted / 70, truth)
