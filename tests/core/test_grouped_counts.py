"""Counts of groups, look-ups and sums against slow ones."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import kernels
from sottovoce.errors import WireError
from sottovoce.participation.reports import pick_rows, speaking_rows

SHORT = [sv.OLH, sv.HadamardResponse, sv.ProjectiveGeometryResponse]
KINDS = [sv.GRR, sv.OUE, sv.SUE, sv.SubsetSelection, *SHORT]


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 16, 24, 129])
@pytest.mark.parametrize("groups", [1, 3, 17, 300])
def test_bits_are_counted_by_group(width, groups):
    rng = np.random.default_rng([width, groups])
    rows = rng.integers(0, 256, (1500, width), np.uint8)
    group = rng.integers(0, groups, 1500).astype(np.uint16)
    bits = np.unpackbits(rows, axis=1, bitorder="little").astype(np.int64)
    wanted = np.zeros((groups, 8 * width), np.int64)
    np.add.at(wanted, group, bits)
    assert np.array_equal(
        kernels.count.column_counts_by(rows, group, groups)[:, : 8 * width], wanted
    )


@pytest.mark.parametrize("groups", [1, 5, 200])
@pytest.mark.parametrize("width", [1, 16])
def test_no_counter_overflows(groups, width):
    """All bits set, and more rows than counters of 8 or of 16 bits can hold."""
    n = 200_003
    group = np.zeros(n, np.uint8)
    group[: n // 2] = groups - 1
    counts = kernels.count.column_counts_by(np.full((n, width), 255, np.uint8), group, groups)
    wanted = np.bincount(group, minlength=groups)
    assert np.array_equal(counts[:, : 8 * width], np.repeat(wanted[:, None], 8 * width, axis=1))


@pytest.mark.parametrize("n", [0, 1, 3, 4, 1001])
@pytest.mark.parametrize(("groups", "size"), [(1, 2), (7, 300), (900, 100)])
def test_values_are_counted_by_group(n, groups, size):
    rng = np.random.default_rng(n)
    group = rng.integers(0, groups, n).astype(np.uint16)
    values = rng.integers(0, size, n).astype(np.uint16)
    wanted = np.zeros((groups, size), np.int64)
    np.add.at(wanted, (group, values), 1)
    assert np.array_equal(kernels.count.histogram_by(group, values, groups, size), wanted)


def test_a_group_or_value_out_of_range_is_refused():
    count = kernels.count
    rows, group = np.zeros((5, 8), np.uint8), np.array([0, 1, 2, 1, 0], np.uint8)
    with pytest.raises(WireError, match="of group 2; allowed are 0 to 1"):
        count.column_counts_by(rows, group, 2)
    values = np.array([0, 1, 2, 1, 0], np.uint8)
    with pytest.raises(WireError, match="of group 2; allowed are 0 to 1"):
        count.histogram_by(group, values, 2, 3)
    with pytest.raises(WireError, match="has 2; allowed are 0 to 1"):
        count.histogram_by(group, values, 3, 2)
    with pytest.raises(WireError, match="5 reports and 4 groups"):
        count.histogram_by(group[:4], values, 3, 3)
    assert count.histogram_by(group, values, 3, 3).sum() == 5


@pytest.mark.parametrize(
    "value",
    [np.uint8(7), np.uint16(60_000), np.uint64(2**63 + 1), np.int8(-1), np.int64(-(2**40))],
)
@pytest.mark.parametrize("place", [0, 17, 99])
def test_the_kernel_says_where_the_first_value_out_of_range_is(value, place):
    from sottovoce.kernels.count.histograms import histogram, histogram_by

    values = np.zeros(100, value.dtype)
    values[place:] = value
    for size in (7, 1 << 17):
        if 0 <= value < size:
            continue
        counts = np.zeros(size, np.int64)
        assert histogram(values, counts) == place
        assert not counts.any()
        with pytest.raises(WireError, match=f"a report has {int(value)}; allowed"):
            kernels.count.histogram(values, size)
    table = np.zeros((2, 7), np.int64)
    group = np.zeros(100, np.uint8)
    assert histogram_by(group, values, table) == place
    assert histogram_by(values, group, table.T.copy()) == place
    assert not table.any()


@pytest.mark.parametrize("size", [1, 2, 5, 1024])
def test_positions_among_keys(size):
    rng = np.random.default_rng(size)
    keys = rng.permutation(np.linspace(0, 1, size)) if size > 1 else np.array([0.1])
    where = rng.integers(0, size, 5000)
    out = np.empty(5000, np.uint16)
    asked = keys[where]
    assert kernels.draw.positions(asked.view(np.uint64), keys.view(np.uint64), out) == -1
    assert np.array_equal(out, where)
    asked[[17, 4000]] = np.nextafter(asked[17], 2)
    assert kernels.draw.positions(asked.view(np.uint64), keys.view(np.uint64), out) == 17


def test_sums_over_groups():
    rng = np.random.default_rng(2)
    counts, weights = rng.integers(0, 1000, (40, 13)), rng.normal(size=40)
    assert kernels.count.weighted_sum(counts, weights) == pytest.approx(weights @ counts)
    assert np.array_equal(kernels.count.row_sums(counts), counts.sum(axis=1))


def test_sums_over_the_strata_of_groups():
    rng = np.random.default_rng(4)
    counts, reports = rng.integers(0, 20, (4, 6, 13)), rng.integers(20, 40, (4, 6))
    laws = np.array([[0.1, 0.5, 0.36, 0.6], [0.4, 0.2, 6.0, 0.1]])
    weights, noise, drawn = rng.uniform(size=(3, 4, 6, 1))
    q, gap, base, slope = laws[[0, 1, 0, 1]].T[:, :, None, None]
    f = (counts / reports[:, :, None] - q) / gap
    c = noise * (base + slope * f)
    v = c + 9 * drawn * (f - f**2)
    assert 0 < (v < c / 2).sum() < v.size
    mean, spread = kernels.count.stratified(
        counts, laws, reports, weights[..., 0], noise[..., 0], 9 * drawn[..., 0]
    )
    assert mean == pytest.approx((weights * f).sum(axis=1), rel=1e-12)
    assert spread == pytest.approx((weights**2 * np.maximum(v, c / 2)).sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 9, 70])
def test_each_group_is_counted_as_if_alone(kind, d):
    m, rng = kind(d, epsilon=1.0), np.random.default_rng(d)
    reports = m.randomise(rng.integers(0, d, 900))
    group = rng.integers(0, 5, 900).astype(np.uint8)
    group[group == 3] = 4  # a group without reports
    people, tables = m.count_by(reports, group, 5)
    for k in range(5):
        part = {name: column[group == k] for name, column in reports.columns.items()}
        alone = m.aggregate(sv.Reports(m.id, m.digest, part))
        assert people[k] == alone.reports
        assert np.array_equal(tables[m.table][k], alone.tables[m.table])


def test_numbers_are_counted_by_group_too():
    m = sv.Hybrid((0, 1), epsilon=1.0)
    reports = m.randomise(np.linspace(0, 1, 400))
    group = np.arange(400) % 3
    people, tables = m.count_by(reports, group, 3)
    assert people.tolist() == [134, 133, 133]
    whole = m.aggregate(reports)
    assert all(np.array_equal(tables[n].sum(axis=0), t) for n, t in whole.tables.items())


@pytest.mark.parametrize(
    "silent",
    [[], [0, 0, 0], [0, 0, 4], [7], [3, 0, 0], [0, 2, 0, 0, 1, 0], [0, 1] * 100, [1, 1, 0, 0, 1]],
)
def test_reports_are_told_from_silence(silent):
    column = np.array(silent, np.uint16)
    rows, quiet = speaking_rows(column)
    assert np.array_equal(quiet, np.flatnonzero(column))
    assert np.array_equal(pick_rows(np.arange(column.size), rows), np.flatnonzero(column == 0))


def test_a_frozen_table_is_kept_and_another_is_copied():
    m = sv.GRR(3, epsilon=1.0)
    table = np.array([1, 2, 3])
    copy = sv.Aggregate(m.id, m.digest, {"support": table}, 6, 6).tables["support"]
    table[0] = 99
    assert copy.tolist() == [1, 2, 3]
    assert not copy.flags.writeable
    kept = sv.Aggregate(m.id, m.digest, {"support": copy}, 6, 6).tables["support"]
    assert kept is copy
    turned = np.array([[1, 2], [3, 4]]).T
    turned.flags.writeable = False
    (other,) = sv.Aggregate(m.id, m.digest, {"x": turned}, 6, 6).tables.values()
    assert other.flags.c_contiguous
