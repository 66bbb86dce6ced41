"""The worked examples of `maths/algorithms.md`, sections 1 and 2, to the digits given."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.estimate.projection import PROJECTIONS
from sottovoce.records.allocation import flip
from sottovoce.records.joint.blocks import Expectation, block_of
from sottovoce.records.joint.closed import from_moments
from sottovoce.records.joint.em import best_stop, full_step, pair_step, run
from sottovoce.records.joint.groups import Group
from sottovoce.records.joint.hidden import mixing_weights, phi_of

EXACT = {"abs": 5.1e-7}


def near(found, wanted) -> None:
    np.testing.assert_allclose(np.ravel(found), np.ravel(wanted), rtol=0, atol=5.1e-7)


def test_example_1a() -> None:
    q, ones = np.array([[0.05], [0.2], [0.4]]), np.arange(4)[:, None]
    w = mixing_weights(q, [3], ones, np.array([30.0, 45, 20, 5]))
    near(w, [0.349394, 0.141662, 0.508944])
    phi = phi_of(q, w, [3])
    near(phi, [0.589212, 0.161409, 0.087971])
    near(phi[[1, 2, 1]] / phi[1], [1, 0.545020, 1])
    near(phi[[1, 0, 1]] / phi[0], [0.273940, 1, 0.273940])
    few = np.array([3.0, 4, 2, 1])
    near(phi_of(q, mixing_weights(q, [3], ones, few), [3]), [0.618314, 0.154594, 0.072498])


def test_example_1b() -> None:
    q = flip(np.array([[0.4, 3.6], [2, 2], [3.6, 0.4]]))
    ones = np.array([(i, j) for i in range(3) for j in range(4)])
    counts = np.array([[10, 14, 4, 1], [20, 26, 9, 2], [5, 6, 2, 1]], float).ravel()
    w = mixing_weights(q, [2, 3], ones, counts)
    near(w, [0.586665, 0.042599, 0.370736])
    phi = phi_of(q, w, [2, 3])
    near(phi, [0.491251, 0.099737, 0.058901, 0.230553, 0.008998, 0.001827])
    rows = phi[np.ix_([0, 1], [2, 1, 1])]
    near(rows / rows.max(), [0.590566, 1, 1, 0.018316, 0.090213, 0.090213])


PATTERNS = {
    "ABC": {
        "000": (5, 1, 5, 4, 2),
        "001": (1, 2, 1, 3, 1),
        "010": (1, 3, 2, 2, 2),
        "011": (1, 0, 1, 5, 0),
        "100": (2, 2, 1, 2, 4),
        "101": (2, 0, 0, 3, 4),
        "110": (3, 1, 1, 2, 0),
        "111": (2, 3, 3, 1, 5),
        "*01": (0, 1, 0, 1, 1),
    },
    "AB": {"00": (1, 1, 2, 1, 1), "11": (2, 0, 2, 1, 2)},
    "BC": {"01": (0, 1, 1, 0, 0)},
}
BITS = {"0": (1, 0), "1": (0, 1), "*": (0, 0)}
START = np.multiply.outer(np.multiply.outer([0.5, 0.5], [0.6, 0.4]), [0.55, 0.45])


@pytest.fixture(scope="module")
def example():
    blocks, folds = [], []
    for names, patterns in PATTERNS.items():
        order = sorted(patterns, key=lambda text: text[::-1])
        counts = np.array([patterns[text] for text in order])
        bits = tuple(np.array([BITS[text[a]] for text in order], bool) for a in range(len(names)))
        flips = np.full((len(order), len(names)), 0.2)
        axes = tuple("ABC".index(name) for name in names)
        blocks.append(block_of(Group(axes, 3, bits, counts.sum(axis=1), 2.0, flips)))
        folds.append(counts)
    return blocks, folds


def test_example_2_rows(example) -> None:
    blocks, _ = example
    near(blocks[2].rows(), np.outer([1, 0.25], [0.25, 1]))


def test_example_2_expectation(example) -> None:
    blocks, _ = example
    r, ll, _ = Expectation(blocks, START.shape, [b.counts[:, None] for b in blocks])(START[None])
    wanted = [1.111729, 0.992884, 0.924753, 0.897806, 0.892829, 0.977543, 0.980410, 1.254109]
    near(r, wanted)
    assert ll[0] == pytest.approx(-1.320749, **EXACT)


STEPS = {
    "ll2, 1": (
        pair_step,
        1,
        (0.198017, 0.130649, 0.093914, 0.076215, 0.133382, 0.130847, 0.107394, 0.129584),
        None,
    ),
    "ll2, 500": (
        pair_step,
        500,
        (0.358878, 0.089698, 0.040778, 0.016954, 0.043424, 0.100006, 0.072505, 0.277757),
        -1.275725,
    ),
    "full, 1": (
        full_step,
        1,
        (0.196230, 0.132478, 0.095658, 0.074428, 0.135168, 0.129017, 0.105650, 0.131370),
        None,
    ),
    "full, 100": (
        full_step,
        100,
        (0.329257, 0.114343, 0.063454, 0.000033, 0.069386, 0.075830, 0.047313, 0.300385),
        -1.274321,
    ),
}


@pytest.mark.parametrize(("step", "many", "cells", "likelihood"), STEPS.values(), ids=STEPS)
def test_example_2_paths(example, step, many, cells, likelihood) -> None:
    p, ll, _ = run(example[0], START[None], step, many)
    near(p, cells)
    if likelihood is not None:
        assert ll[0] == pytest.approx(likelihood, **EXACT)


def test_example_2_stop(example) -> None:
    blocks, folds = example
    best, held = best_stop(blocks, START[None], folds)
    assert best == 6
    near(
        held[:8],
        [-1.318438, -1.319898, -1.318742, -1.317066, -1.315846, -1.315174, -1.314910, -1.314916],
    )
    assert held[500] == pytest.approx(-1.322951, **EXACT)
    near(
        run(blocks, START[None], pair_step, best)[0],
        [0.306165, 0.104551, 0.056448, 0.036700, 0.070920, 0.105421, 0.083496, 0.236300],
    )


def test_example_2_kronecker() -> None:
    both = np.array([[0.16, 0.10, 0.08], [0.10, 0.10, 0.08]])
    moments = {(0,): np.array([0.38, 0.32]), (1,): np.array([0.35, 0.30, 0.25]), (0, 1): both}
    table, mom = from_moments(moments, [2, 3])
    near([mom[0,], mom[1,], mom[0, 1]], [0.2, 0.2, 0.035])
    near(table, [0.629412, 0.050980, -0.056863, 0.076471, 0.203922, 0.096078])
    projected = PROJECTIONS["norm-sub"](table.ravel(), np.ones(6))
    near(projected, [0.618039, 0.039608, 0, 0.065098, 0.192549, 0.084706])
