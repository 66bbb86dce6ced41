"""Aggregates: overflow, storage, and counts beyond what any test could draw."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import GRR, OUE, Aggregate
from sottovoce.errors import DigestError, EstimateError, FileError, MergeError, WireError

M = OUE(3, epsilon=1.0)
COUNTS = st.lists(st.integers(0, 2**40), min_size=3, max_size=3)


def counts(*cells: int, n: int | None = None, seeded: bool = False) -> Aggregate:
    n = max(cells) if n is None else n
    return Aggregate(M.id, M.digest, {"support": np.array(cells)}, n, n, seeded)


def support(aggregate: Aggregate) -> list[int]:
    return aggregate.tables["support"].tolist()


@given(COUNTS, COUNTS, COUNTS)
def test_merging_is_exact_integer_addition(a: list[int], b: list[int], c: list[int]) -> None:
    total = counts(*a) + counts(*b) + counts(*c)
    assert support(total) == [sum(cells) for cells in zip(a, b, c, strict=True)]
    assert total.people == total.reports == max(a) + max(b) + max(c)
    assert total == counts(*c) + (counts(*a) + counts(*b))


def test_a_count_that_would_overflow_is_refused() -> None:
    half = 1 << 62
    big = counts(half, 0, half - 1, n=(1 << 61))
    with pytest.raises(MergeError, match="2\\^63"):
        big + big
    fine = counts(half - 1, 0, 0, n=5)
    assert support(fine + fine)[0] == 2 * (half - 1)


def test_too_many_reports_are_refused() -> None:
    with pytest.raises(MergeError, match="2\\^62"):
        counts(0, 0, 0, n=1 << 62)
    with pytest.raises(MergeError, match="-1"):
        counts(0, 0, 0, n=-1)
    large = counts(0, 0, 0, n=(1 << 62) - 1)
    with pytest.raises(MergeError):
        large + counts(1, 0, 0)


def test_sum_starts_from_nothing() -> None:
    parts = [counts(1, 2, 3), counts(4, 5, 6)]
    assert sum(parts) == parts[0] + parts[1]
    with pytest.raises(TypeError):
        1 + parts[0]
    with pytest.raises(TypeError):
        parts[0] + 0.5


def test_what_does_not_belong_together_is_not_merged() -> None:
    for other in (OUE(3, epsilon=2.0), OUE(4, epsilon=1.0), GRR(3, epsilon=1.0)):
        zero = other.aggregate(other.randomise([]))
        with pytest.raises(MergeError, match="do not belong together"):
            counts(1, 2, 3) + zero
        with pytest.raises(DigestError):
            other.estimate(counts(1, 2, 3))


def test_equality_looks_at_everything() -> None:
    base = counts(1, 2, 3, n=5)
    assert base == counts(1, 2, 3, n=5)
    for other in (
        counts(1, 2, 4, n=5),
        counts(1, 2, 3, n=6),
        counts(1, 2, 3, n=5, seeded=True),
        Aggregate(M.id, bytes(32), base.tables, 5, 5),
        Aggregate("x", M.digest, base.tables, 5, 5),
        Aggregate(M.id, M.digest, {"other": [1, 2, 3]}, 5, 5),
        Aggregate(M.id, M.digest, {"support": [1, 2]}, 5, 5),
        Aggregate(M.id, M.digest, base.tables, 6, 5),
    ):
        assert base != other
    assert base != 5
    with pytest.raises(TypeError):
        hash(base)


def test_tables_are_frozen_and_owned() -> None:
    mine = np.array([1, 2, 3])
    aggregate = Aggregate(M.id, M.digest, {"support": mine}, 5, 5)
    mine[0] = 99
    assert support(aggregate) == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        aggregate.tables["support"][0] = 7
    with pytest.raises(TypeError):
        aggregate.tables["more"] = mine


def test_big_counts_are_estimated_without_loss() -> None:
    n = 1 << 60
    p, q = M.p, M.q
    cells = [round(n * (q + (p - q) * f)) for f in (1, 0, 0)]
    estimate = M.estimate(counts(*map(int, cells), n=n))
    assert np.allclose(estimate.values, [1, 0, 0], atol=1e-12)
    assert (estimate.std_error < 1e-8).all()


def test_nothing_to_estimate_is_said() -> None:
    with pytest.raises(EstimateError, match="no reports"):
        M.estimate(counts(0, 0, 0))


class TestFiles:
    def test_save_and_load(self, tmp_path: Path) -> None:
        aggregate = counts(1, 2, 3, n=5, seeded=True)
        aggregate.save(tmp_path / "a.sva")
        assert Aggregate.load(tmp_path / "a.sva", expect=M) == aggregate
        aggregate.save(str(tmp_path / "a.sva"))  # again, over the old one
        assert [path.name for path in tmp_path.iterdir()] == ["a.sva"]

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match=r"nowhere\.sva"):
            Aggregate.load(tmp_path / "nowhere.sva", expect=M)

    def test_a_damaged_file_is_named_and_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "a.sva"
        data = counts(1, 2, 3).to_bytes()
        for damaged in (b"", data[:-1], data + b"x", b"PK" + data[2:], data[:8] + data[9:]):
            path.write_bytes(damaged)
            with pytest.raises(WireError, match=r"a\.sva"):
                Aggregate.load(path, expect=M)

    def test_another_mechanism_is_refused(self, tmp_path: Path) -> None:
        counts(1, 2, 3).save(tmp_path / "a.sva")
        with pytest.raises(DigestError, match="epsilon"):
            Aggregate.load(tmp_path / "a.sva", expect=OUE(3, epsilon=2.0))


def test_aggregates_can_be_copied_and_sent_to_other_processes() -> None:
    aggregate = counts(1, 2, 3)
    assert pickle.loads(pickle.dumps(aggregate)) == aggregate
    assert copy.deepcopy(aggregate) == aggregate
