"""Histograms of codes, of everyone and of each group."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled

_BLOCK = 32_768  # values that are still in the second-level cache after they were checked
_ROW = 256  # bytes that are added up side by side
_MOST_BY_NUMPY = 1 << 23  # values or cells
_MOST_ROWS = 255  # of ones, before a byte overflows


def _first_outside_by_numpy(values, size):
    wrong = np.flatnonzero((values < 0) | (values >= size))
    return wrong[0] if wrong.size else -1


@compiled(interpreted=_first_outside_by_numpy)
def first_outside(values, size):
    """The first position whose value is not one of 0..size-1, or -1."""
    # Of an unsigned type the least needs no pass: the compiler drops it.
    worst = values.dtype.type(0)
    least = values.dtype.type(0)
    for i in range(values.size):
        worst = max(worst, values[i])
        least = min(least, values[i])
    if least >= 0 and np.uint64(worst) < np.uint64(size):
        return -1
    for i in range(values.size):
        if values[i] < 0 or np.uint64(values[i]) >= np.uint64(size):
            return i
    return -1


def _zeros_and_ones_by_numpy(values, counts):
    if values.size and values.max() > 1:
        return False
    ones = np.count_nonzero(values)
    counts += [values.size - ones, ones]
    return True


@compiled(interpreted=_zeros_and_ones_by_numpy)
def zeros_and_ones(values, counts):
    """Count zeros and ones in bytes; False, and nothing counted, where there is another value.

    The bytes are added up in bytes, of which a vector has many, before these overflow.
    """
    sums = np.zeros(_ROW, np.uint8)
    ones, every = np.int64(0), np.uint8(0)
    whole = values.size // _ROW * _ROW
    for start in range(0, whole, _MOST_ROWS * _ROW):
        for row in range(start, min(start + _MOST_ROWS * _ROW, whole), _ROW):
            part = values[row : row + _ROW]
            for k in range(_ROW):
                sums[k] += part[k]
                every |= part[k]
        for k in range(_ROW):
            ones += np.int64(sums[k])
            sums[k] = 0
    for i in range(whole, values.size):
        ones += np.int64(values[i])
        every |= values[i]
    if every > 1:
        return False
    counts[0] += values.size - ones
    counts[1] += ones
    return True


@compiled
def _many_cells(values, counts):
    """The same in one pass, with cells of 32 bits: half as many bytes to keep in the cache."""
    cells = np.zeros(counts.size, np.uint32)
    for start in range(0, values.size, _BLOCK):
        part = values[start : min(start + _BLOCK, values.size)]
        bad = first_outside(part, counts.size)
        if bad >= 0:
            return start + bad
        for i in range(part.size):
            cells[part[i]] += np.uint32(1)
    for v in range(counts.size):
        counts[v] += np.int64(cells[v])
    return -1


def _histogram_by_numpy(values, counts):
    bad = _first_outside_by_numpy(values, counts.size)
    if bad < 0:
        counts += np.bincount(values.astype(np.intp), minlength=counts.size)
    return bad


@compiled(interpreted=_histogram_by_numpy, most=_MOST_BY_NUMPY)
def histogram(values, counts):
    """Add how often each of 0..counts.size-1 occurs; the first position of another value, or -1.

    Nothing is counted when there is one. Four tables break the dependency between neighbouring
    equal values; a large domain takes one, so that it stays in the cache. Values are checked in
    blocks, which are then still in the cache, so that memory is read once.
    """
    size = counts.size
    chunk = 1 << 30  # a 32-bit cell cannot overflow within it
    if 65_536 < size < values.size <= chunk:
        return _many_cells(values, counts)
    if size > 65_536:
        bad = first_outside(values, size)
        if bad >= 0:
            return bad
        for i in range(values.size):
            counts[values[i]] += 1
        return -1
    total = np.zeros(size, np.int64)
    tables = np.zeros((4, size), np.uint32)
    for start in range(0, values.size, _BLOCK):
        part = values[start : min(start + _BLOCK, values.size)]
        bad = first_outside(part, size)
        if bad >= 0:
            return start + bad
        _add_block(part, tables)
        if (start + _BLOCK) % chunk == 0:
            _empty(tables, total)
    _empty(tables, total)
    counts += total
    return -1


@compiled
def _add_block(part, tables):
    t0, t1, t2, t3 = tables[0], tables[1], tables[2], tables[3]
    eights = part.size // 8 * 8
    for i in range(0, eights, 8):
        t0[part[i]] += np.uint32(1)
        t1[part[i + 1]] += np.uint32(1)
        t2[part[i + 2]] += np.uint32(1)
        t3[part[i + 3]] += np.uint32(1)
        t0[part[i + 4]] += np.uint32(1)
        t1[part[i + 5]] += np.uint32(1)
        t2[part[i + 6]] += np.uint32(1)
        t3[part[i + 7]] += np.uint32(1)
    for i in range(eights, part.size):
        t0[part[i]] += np.uint32(1)


@compiled
def _empty(tables, total):
    """Move the counts of the four tables."""
    for v in range(total.size):
        for k in range(4):
            total[v] += np.int64(tables[k, v])
            tables[k, v] = np.uint32(0)


def _histogram_by_by_numpy(group, values, table):
    groups, size = table.shape
    bad = [_first_outside_by_numpy(values, size), _first_outside_by_numpy(group, groups)]
    if max(bad) >= 0:
        return min(bad) if min(bad) >= 0 else max(bad)
    cells = group.astype(np.intp) * size + values.astype(np.intp)
    table += np.bincount(cells, minlength=table.size).reshape(table.shape)
    return -1


@compiled(interpreted=_histogram_by_by_numpy)
def histogram_by(group, values, table):
    """Add to one row of the table per group; the first position out of range, or -1.

    Nothing is counted when there is one. Few cells are counted in four tables, as in `histogram`.
    """
    groups, size = table.shape
    bad, bad_group = first_outside(values, size), first_outside(group, groups)
    if bad >= 0 and bad_group >= 0:
        return min(bad, bad_group)
    if bad >= 0 or bad_group >= 0:
        return max(bad, bad_group)
    cells = groups * size
    counts = table.reshape(cells)
    row = np.uintp(size)
    if cells > 16_384:
        for i in range(values.size):
            counts[np.uintp(group[i]) * row + np.uintp(values[i])] += 1
        return -1
    chunk = 1 << 30  # a 32-bit cell cannot overflow within it
    one = np.uint32(1)
    for start in range(0, values.size, chunk):
        part, own = values[start : start + chunk], group[start : start + chunk]
        tables = np.zeros((4, cells), np.uint32)
        t0, t1, t2, t3 = tables[0], tables[1], tables[2], tables[3]
        fours = part.size // 4 * 4
        for i in range(0, fours, 4):
            t0[np.uintp(own[i]) * row + np.uintp(part[i])] += one
            t1[np.uintp(own[i + 1]) * row + np.uintp(part[i + 1])] += one
            t2[np.uintp(own[i + 2]) * row + np.uintp(part[i + 2])] += one
            t3[np.uintp(own[i + 3]) * row + np.uintp(part[i + 3])] += one
        for i in range(fours, part.size):
            t0[np.uintp(own[i]) * row + np.uintp(part[i])] += one
        for v in range(cells):
            counts[v] += np.int64(t0[v]) + np.int64(t1[v]) + np.int64(t2[v]) + np.int64(t3[v])
    return -1
