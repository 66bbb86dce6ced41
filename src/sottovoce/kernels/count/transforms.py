"""The fast Walsh-Hadamard transform, and what Hadamard response makes of it.

Value v of Hadamard response has block v mod B and column v div B + 1.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import transform_eight, wide_vectors

_NEAR = 4096  # cells that stay in the first-level cache
_LANES = 32  # values of a row, four vectors


@compiled
def walsh_hadamard(table):
    """Transform every row of a table in place; the row length is a power of two.

    The factors commute. Those between near cells come first, for one stretch of cells after the
    other while it is in the cache, three of them at once where cells are neighbours; then the
    others, two at a time.
    """
    wide_vectors()
    cells, size = table.reshape(table.size), table.shape[1]
    near = min(size, _NEAR)
    for start in range(0, cells.size, near):
        stretch = cells[start : start + near]
        half = 1
        if near >= 8:
            for k in range(0, near, 8):
                transform_eight(stretch, k)
            half = 8
        _factors_between(stretch, half, near)
    if near < size:
        for start in range(0, cells.size, size):
            _factors_between(cells[start : start + size], near, size)


@compiled(inline="always")
def _four(a, b, c, d):
    """The transform of four cells."""
    a, b, c, d = a + b, a - b, c + d, c - d
    return a + c, b + d, a - c, b - d


@compiled
def _factors_between(cells, half, size):
    """The factors from distance `half` on up to below `size`."""
    wide_vectors()
    while 4 * half <= size:
        for start in range(0, cells.size, 4 * half):
            # Views, which the compiler can check to lie apart; of indices it cannot be sure.
            p, q = cells[start : start + half], cells[start + half : start + 2 * half]
            r, s = cells[start + 2 * half : start + 3 * half], cells[start + 3 * half :][:half]
            for k in range(half):
                a, b, c, d = _four(p[k], q[k], r[k], s[k])
                p[k], q[k], r[k], s[k] = a, b, c, d
        half *= 4
    if half < size:
        for start in range(0, cells.size, 2 * half):
            p, q = cells[start : start + half], cells[start + half : start + 2 * half]
            for k in range(half):
                a, b = p[k], q[k]
                p[k], q[k] = a + b, a - b


@compiled
def hadamard_values(counts, blocks, gaps, values):
    """values[g, v]: the transform of row g of the counts at block and column of v, over gaps[g].

    The blocks of a row are transformed in a small table of their own, for many rows that are short.
    Where columns go up to half the block, as for a power of two of values, the other half is added
    to it before: all columns but the last are then in the transform of half the size, and the last
    one is the difference of both halves.
    """
    wide_vectors()
    block_size = counts.shape[1] // blocks
    half = block_size // 2
    folded = values.shape[1] <= half * blocks
    columns = half if folded else block_size
    cells = np.empty((blocks, columns), np.int64)
    last = np.zeros(blocks, np.int64)  # where folded, what stands after the other columns
    for g in range(counts.shape[0]):
        if folded:
            for block in range(blocks):
                part = counts[g, block * block_size : (block + 1) * block_size]
                last[block] = _fold(part[:half], part[half:], cells[block])
        else:
            cells.reshape(cells.size)[:] = counts[g]
        walsh_hadamard(cells)
        _interleave(cells, last, 1 / gaps[g], values[g])


@compiled
def _fold(first, second, sums):
    """Add two halves, and return the sum of their differences."""
    wide_vectors()
    difference = 0
    for k in range(sums.size):
        a, b = first[k], second[k]
        sums[k] = a + b
        difference += a - b
    return difference


@compiled
def _interleave(cells, last, scale, row):
    """row[v] = scale times the cell of block v mod B and column v div B + 1.

    Rows of one, two and four blocks are written out, so that the compiler turns them into vectors.
    """
    wide_vectors()
    blocks, columns = cells.shape
    whole = min(columns - 1, row.size // blocks)  # columns that have a value in every block
    if blocks == 1:
        a, out = cells[0, 1 : whole + 1], row[:whole]
        for k in range(whole):
            out[k] = a[k] * scale
    elif blocks == 2:
        a, b, out = cells[0, 1 : whole + 1], cells[1, 1 : whole + 1], row[: 2 * whole]
        for k in range(whole):
            out[2 * k] = a[k] * scale
            out[2 * k + 1] = b[k] * scale
    elif blocks == 4:
        a, b, out = cells[0, 1 : whole + 1], cells[1, 1 : whole + 1], row[: 4 * whole]
        c, d = cells[2, 1 : whole + 1], cells[3, 1 : whole + 1]
        for k in range(whole):
            out[4 * k] = a[k] * scale
            out[4 * k + 1] = b[k] * scale
            out[4 * k + 2] = c[k] * scale
            out[4 * k + 3] = d[k] * scale
    else:
        for block in range(blocks):
            for k in range(whole):
                row[k * blocks + block] = cells[block, k + 1] * scale
    for v in range(whole * blocks, row.size):
        block, column = v % blocks, v // blocks + 1
        row[v] = (cells[block, column] if column < columns else last[block]) * scale


@compiled
def block_noise(fractions, blocks, own, other, gap, noise):
    """(own b + other (1 − b)) / gap² − f, b being the fraction of v's block, f of v within 0..b.

    A row of fractions need not be a distribution; its blocks are made one, of equal parts where
    no sum is above 0. Values are taken in rows of whole vectors, in which every block has one
    place or more.
    """
    wide_vectors()
    lanes = max(blocks, _LANES)
    sums, squares = np.empty(lanes), np.empty(lanes)
    size = fractions.shape[1]
    for g in range(fractions.shape[0]):
        row, out = fractions[g], noise[g]
        sums[:] = 0.0
        for start in range(0, size, lanes):
            part = row[start : start + lanes]
            for k in range(part.size):
                sums[k] += part[k]
        for k in range(blocks, lanes):
            sums[k % blocks] += sums[k]
        total = 0.0
        for block in range(blocks):
            sums[block] = max(sums[block], 0.0)
            total += sums[block]
        for block in range(blocks):
            b = sums[block] / total if total > 0 else 1 / blocks
            sums[block], squares[block] = b, (b * own + (1 - b) * other) / (gap * gap)
        for k in range(blocks, lanes):
            sums[k], squares[k] = sums[k % blocks], squares[k % blocks]
        for start in range(0, size, lanes):
            part, target = row[start : start + lanes], out[start : start + lanes]
            for k in range(part.size):
                target[k] = squares[k] - min(max(part[k], 0.0), sums[k])
