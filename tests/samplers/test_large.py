"""The other mechanisms over larger domains, through what each report says of single values.

For a person with answer x, whether the report supports x + k has a known probability, whatever x
is; so all people are tested together, for k = 0 (the truth) and several others.
"""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce import (
    OLH,
    SUE,
    HadamardResponse,
    Mechanism,
    ProjectiveGeometryResponse,
    Reports,
    SubsetSelection,
)
from sottovoce.mechanisms.categorical import PureMechanism
from sottovoce.mechanisms.subset import starting_64ths

from .budget import RejectedError, joined, judge, spend
from .statistics import extreme, fit

N = 400_000
CASES: list[Mechanism] = [
    SUE(13, epsilon=1.0),
    SUE(128, epsilon=3.0),
    SubsetSelection(9, epsilon=4.0),
    SubsetSelection(13, epsilon=0.5),
    SubsetSelection(100, epsilon=1.0),
    SubsetSelection(101, epsilon=4.0),
    SubsetSelection(1000, epsilon=2.0),
    OLH(1000, epsilon=1.0),
    OLH(100_000, epsilon=3.0),
    OLH(1 << 31, epsilon=3.0),
    HadamardResponse(37, epsilon=5.0),
    HadamardResponse(1000, epsilon=1.0),
    HadamardResponse(70_000, epsilon=3.0),
    HadamardResponse(1 << 31, epsilon=3.0),
    ProjectiveGeometryResponse(37, epsilon=2.0),
    ProjectiveGeometryResponse(1000, epsilon=0.3),
    ProjectiveGeometryResponse(70_000, epsilon=3.0),
]
mechanisms = pytest.mark.parametrize(
    "mechanism", CASES, ids=[f"{m.id}-{m.domain.size}" for m in CASES]
)
SHIFTS = (1, 2, 7, 8)


def says(mechanism: Mechanism, reports: Reports, values: np.ndarray) -> np.ndarray:
    """What report i says of values[i]: 1 supports it, 0 does not, -1 speaks of another block.

    Written from the formulas, apart from the library's own decoding.
    """
    columns = {name: column.astype(np.int64) for name, column in reports.columns.items()}
    if "bits" in columns:
        rows = np.arange(values.size)
        return columns["bits"][rows, values // 8] >> (values % 8) & 1
    if isinstance(mechanism, OLH) and mechanism.parts == 2:
        high, low = mechanism.codes_of(values).astype(np.int64)
        # Products of 32 and 16 bits, whose sum stays below 2^63.
        hashed = (columns["a1"] * high + columns["a2"] * low + columns["b"]) % (1 << 32)
        return (hashed >> (32 - mechanism.bucket_bits) == columns["y"]).astype(np.int64)
    if isinstance(mechanism, OLH):
        codes = mechanism.codes.astype(np.int64)[values]
        hashed = (columns["a"] * codes + columns["b"]) % (1 << 32)
        return (hashed >> (32 - mechanism.bucket_bits) == columns["y"]).astype(np.int64)
    if isinstance(mechanism, ProjectiveGeometryResponse):
        return orthogonal(columns["y"], values, mechanism.prime, mechanism.dimension)
    assert isinstance(mechanism, HadamardResponse)
    block, r = np.divmod(columns["y"], mechanism.block_size)
    even = np.bitwise_count(r & (values // mechanism.blocks + 1)) % 2 == 0
    return np.where(block == values % mechanism.blocks, even, -1)


def orthogonal(y: np.ndarray, values: np.ndarray, w: int, t: int) -> np.ndarray:
    """Σ of the products of the coordinates is 0 modulo w: a value ends in 1 and zeros."""
    sizes = np.cumsum([w**k for k in range(t)])
    last = np.searchsorted(sizes, values, side="right")  # where the value has its last 1
    code = values - np.append(0, sizes)[last]
    total, node = np.zeros(y.size, np.int64), y.copy()
    for k in range(t - 1, -1, -1):
        coordinate = np.where(node > 0, (node - 1) % w, node == 0)
        node = np.where(node > 0, (node - 1) // w, -1)
        total += coordinate * np.where(k < last, code % w, k == last)
        code = np.where(k < last, code // w, code)
    return (total % w == 0).astype(np.int64)


def laws(mechanism: Mechanism) -> tuple[list[float], list[float], list[float]]:
    """Chances of (another block, no, yes) for the truth, its own block, and another block."""
    if isinstance(mechanism, PureMechanism | ProjectiveGeometryResponse):
        p, q = float(mechanism.p), float(mechanism.q)
        return [0, 1 - p, p], [0, 1 - q, q], [0, 1 - q, q]
    assert isinstance(mechanism, HadamardResponse)
    p, s = float(mechanism.inside.fraction), mechanism.block_size // 2
    miss = (1 - p) * s / (mechanism.cells - s)  # the chance of a set that is not the answer's
    own = (p + miss) / 2
    return [1 - p - miss, miss, p], [1 - 2 * own, own, own], [1 - 2 * miss, miss, miss]


def people(mechanism: Mechanism) -> np.ndarray:
    # At most 100,003 different answers, spread over a very large domain.
    some = np.arange(N, dtype=np.int64) * 7919 % min(mechanism.domain.size, 100_003)
    return some * 21_473 % mechanism.domain.size if mechanism.domain.size > 100_003 else some


def p_value(mechanism: Mechanism, answers: np.ndarray, reports: Reports) -> float:
    d, blocks = mechanism.domain.size, getattr(mechanism, "blocks", 1)
    truth, same_block, other_block = laws(mechanism)
    said = says(mechanism, reports, answers)
    p_values = [fit(np.bincount(said + 1, minlength=3), truth)]
    for k in SHIFTS:
        values = (answers + k) % d
        other = says(mechanism, reports, values)
        same = values % blocks == answers % blocks
        for some, law in ((same, same_block), (~same, other_block)):
            if some.any():
                p_values.append(fit(np.bincount(other[some] + 1, minlength=3), law))
    pair = says(mechanism, reports, (answers + 1) % d)
    if isinstance(mechanism, PureMechanism):
        s = float(mechanism.pair[0])
        p_values.append(extreme(np.sum((said == 1) & (pair == 1)), N, s) if s else 1.0)
    # Neighbouring people use neighbouring words: their truths must be told independently.
    first, second = said[:-1:2] == 1, said[1::2] == 1
    p_values.append(extreme(np.sum(first & second), N // 2, truth[2] ** 2))
    return joined(p_values)


@mechanisms
def test_reports_say_what_they_should(mechanism: Mechanism) -> None:
    answers = people(mechanism)
    name = f"{mechanism.id} {mechanism.domain.size}"
    spend("large", name, p_value(mechanism, answers, mechanism.randomise(answers)))


@mechanisms
def test_a_truth_told_too_often_is_noticed(mechanism: Mechanism) -> None:
    # Some people whose report does not speak for their answer get the report of one whose does.
    answers = people(mechanism)
    reports = mechanism.randomise(answers)
    said = says(mechanism, reports, answers)
    # Among all people: of the first d, with few values, hardly anyone may be told right.
    right = np.flatnonzero(said == 1)
    by_answer = dict(zip(answers[right].tolist(), right.tolist(), strict=True))
    wrong = np.flatnonzero(said != 1)[::8]
    sources = np.array([by_answer.get(int(answers[i]), i) for i in wrong])
    columns = {name: column.copy() for name, column in reports.columns.items()}
    for column in columns.values():
        column[wrong] = column[sources]
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, Reports(reports.collection, reports.digest, columns)))


@mechanisms
def test_reports_about_the_next_value_are_noticed(mechanism: Mechanism) -> None:
    answers = people(mechanism)
    with pytest.raises(RejectedError):
        judge(
            p_value(mechanism, (answers + 1) % mechanism.domain.size, mechanism.randomise(answers))
        )


@mechanisms
def test_neighbours_with_the_same_randomness_are_noticed(mechanism: Mechanism) -> None:
    # Pairs with the same answer, a fifth of which send the same report.
    answers = np.repeat(people(mechanism)[: N // 2], 2)
    reports = mechanism.randomise(answers)
    columns = {name: column.copy() for name, column in reports.columns.items()}
    where = np.arange(0, N, 10)
    for column in columns.values():
        column[where + 1] = column[where]
    with pytest.raises(RejectedError):
        judge(p_value(mechanism, answers, Reports(reports.collection, reports.digest, columns)))


def test_subsets_start_empty_and_with_random_bits() -> None:
    larger = [m for m in CASES if isinstance(m, SubsetSelection) and m.domain.size > 16]
    starts = {starting_64ths(m.omega, m.domain.size) for m in larger}
    assert 0 in starts
    assert len(starts) == 3


@pytest.mark.parametrize("d", [2, 3, 9, 13, 64, 100, 1000])
def test_a_subset_has_exactly_its_size(d: int) -> None:
    for epsilon in (0.1, 1.0, 5.0):
        mechanism = SubsetSelection(d, epsilon=epsilon)
        bits = mechanism.randomise(np.arange(5000) % d).columns["bits"]
        assert (np.bitwise_count(bits).sum(axis=1) == mechanism.omega).all()
