"""How many rows have each bit set. Bit order: `kernels.draw.bits`.

Rows are added in bit planes: plane k holds bit k of 64 counters in each word, and sixteen rows are
added by carry-save adders, without a branch (Muła, Kurz, Lemire 2018, arXiv:1611.07612). Short
rows are laid side by side until they fill whole vectors of eight words.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import add_sixteen, wide_vectors

_WIDE = 128  # words of a row that are counted together: their planes stay in the first-level cache
_AHEAD = 2048  # words ahead of those being counted that are fetched from memory
_GROUPS = 256  # of sixteen rows, whose counts fit into 13 planes
_INDEX = np.uintp
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_ROOM = 1 << 20  # bits that numpy lays out as bytes at a time


@compiled
def _strip(words, at, stride, size, groups, planes, scratch):
    """Bit-sliced counts of `groups` <= _GROUPS groups of 16 rows: planes 0..12 of weight 2^k.

    Row r starts at word at + r * stride; plane k at word k * _WIDE. Sixteens are added to planes
    4..7 when there are sixteen of them, and their carries to planes 8..11 in the end.
    """
    wide_vectors()
    planes[:] = _ZERO
    scratch[:] = _ZERO
    sixteens, carries = scratch[: 16 * _WIDE], scratch[16 * _WIDE :]
    gap, here = _INDEX(_WIDE), _INDEX(0)
    for group in range(groups):
        turn, start = group % 16, at + _INDEX(16 * group) * stride
        to = _INDEX(turn * _WIDE)
        for j in range(_INDEX(0), size, _INDEX(8)):
            add_sixteen(words, start + j, stride, planes, j, gap, sixteens, to + j, _INDEX(_AHEAD))
        if turn == 15 or group == groups - 1:
            to = _INDEX(group // 16 * _WIDE)
            for j in range(_INDEX(0), size, _INDEX(8)):
                add_sixteen(sixteens, j, gap, planes, 4 * gap + j, gap, carries, to + j, here)
            sixteens[:] = _ZERO
    for j in range(_INDEX(0), size, _INDEX(8)):
        add_sixteen(carries, j, gap, planes, 8 * gap + j, gap, planes, 12 * gap + j, here)


@compiled
def _unpack(planes, counts):
    """Add 13 planes to `counts`, 64 cells per word."""
    wide_vectors()
    for j in range(counts.size // 64):
        for bit in range(64):
            total = _ZERO
            for level in range(13):
                word = planes[level * _WIDE + j]
                total |= ((word >> np.uint64(bit)) & _ONE) << np.uint64(level)
            counts[64 * j + bit] += np.int64(total)


def _by_numpy(rows):
    """The same as `column_counts`, whose compilation takes several seconds."""
    counts = np.zeros(8 * rows.shape[1], np.int64)
    step = 1 + _ROOM // counts.size
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        counts += np.unpackbits(some, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return counts


@compiled(interpreted=_by_numpy)
def column_counts(rows):
    """How many rows have each bit set: int64 array of 8 * rows.shape[1].

    Long rows are cut into strips. `rows` is C-contiguous and 8-byte aligned.
    """
    n, width = rows.shape
    side = 1  # the fewest rows that fill whole words, and whole vectors where that is not too wide
    while side * width % 8:
        side *= 2
    times = 1
    while side * width * times % 64:
        times *= 2
    if side * width * times <= 8 * _WIDE:
        side *= times
    stride = side * width // 8
    groups = n // (16 * side)
    if stride % 8:  # the last vector of a row reads into the next, and that of the last must not
        groups = max(0, groups - 1)
    words = rows.reshape(n * width)[: n * width // 8 * 8].view(np.uint64)
    planes = np.empty(13 * _WIDE, np.uint64)
    scratch = np.empty(32 * _WIDE, np.uint64)
    spread = np.zeros((stride + 7) // 8 * 512, np.int64)
    for start in range(0, groups, _GROUPS):
        some = min(_GROUPS, groups - start)
        for left in range(0, stride, _WIDE):
            size = (min(_WIDE, stride - left) + 7) // 8 * 8
            at = _INDEX(start * 16 * stride + left)
            _strip(words, at, _INDEX(stride), _INDEX(size), some, planes, scratch)
            _unpack(planes, spread[64 * left : 64 * (left + size)])
    counts = np.zeros(width * 8, np.int64)
    for i in range(64 * stride):
        counts[i % counts.size] += spread[i]
    for i in range(groups * 16 * side, n):
        for j in range(width):
            byte = rows[i, j]
            for bit in range(8):
                counts[j * 8 + bit] += (byte >> bit) & 1
    return counts
