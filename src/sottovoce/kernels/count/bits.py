"""How many rows have each bit set. Bit order: `kernels.draw.bits`."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_ONE = np.uint64(1)
_WIDE = 512  # words of a row that are counted together: 4 KB, long enough for the prefetcher
_ROOM = 1 << 20  # bits that numpy lays out as bytes at a time


@compiled(inline="always")
def _add3(a, b, c):
    """Carry-save adder: (sum, carry) of three bit vectors.

    Written without a shared a ^ b: three-input instructions then take the sum in one step and the
    carry in two.
    """
    return a ^ b ^ c, (a & b) | (c & (a | b))


@compiled
def _sixteen(words, at, stride, size, planes, carry, to):
    """Add 16 rows of `size` <= _WIDE words to four planes; what overflows goes to `carry`.

    Harley and Seal's carry-save tree. Row r starts at word at + r * stride, plane k at word
    k * _WIDE, and the carry, which counts sixteen, at word `to`. Flat indices with a constant
    distance between planes: with a view for each, or an offset, the compiler cannot prove that
    they do not overlap, and gives up on vector instructions.
    """
    wide_vectors()
    for j in range(size):
        i = at + j
        ones, a = _add3(planes[j], words[i], words[i + stride])
        ones, b = _add3(ones, words[i + 2 * stride], words[i + 3 * stride])
        twos, c = _add3(planes[j + _WIDE], a, b)
        ones, a = _add3(ones, words[i + 4 * stride], words[i + 5 * stride])
        ones, b = _add3(ones, words[i + 6 * stride], words[i + 7 * stride])
        twos, d = _add3(twos, a, b)
        fours, e = _add3(planes[j + 2 * _WIDE], c, d)
        ones, a = _add3(ones, words[i + 8 * stride], words[i + 9 * stride])
        ones, b = _add3(ones, words[i + 10 * stride], words[i + 11 * stride])
        twos, c = _add3(twos, a, b)
        ones, a = _add3(ones, words[i + 12 * stride], words[i + 13 * stride])
        ones, b = _add3(ones, words[i + 14 * stride], words[i + 15 * stride])
        twos, d = _add3(twos, a, b)
        fours, f = _add3(fours, c, d)
        eights, out = _add3(planes[j + 3 * _WIDE], e, f)
        planes[j] = ones
        planes[j + _WIDE] = twos
        planes[j + 2 * _WIDE] = fours
        planes[j + 3 * _WIDE] = eights
        carry[to + j] = out


@compiled
def _strip(words, at, stride, size, groups, planes, scratch):
    """Bit-sliced counts of `groups` <= 256 groups of 16 rows: planes 0..12 of weight 2^k."""
    wide_vectors()
    planes[:] = np.uint64(0)
    scratch[:] = np.uint64(0)
    low, middle = planes[: 4 * _WIDE], planes[4 * _WIDE : 8 * _WIDE]
    high, top = planes[8 * _WIDE : 12 * _WIDE], planes[12 * _WIDE :]
    sixteens, carries = scratch[: 16 * _WIDE], scratch[16 * _WIDE :]
    for group in range(groups):
        turn = group % 16
        start = at + group * 16 * stride
        if stride == _WIDE:  # the same call, compiled with constant distances: twice as fast
            _sixteen(words, start, _WIDE, _WIDE, low, sixteens, turn * _WIDE)
        else:
            _sixteen(words, start, stride, size, low, sixteens, turn * _WIDE)
        if turn == 15 or group == groups - 1:
            _sixteen(sixteens, 0, _WIDE, size, middle, carries, group // 16 * _WIDE)
            sixteens[:] = np.uint64(0)
    _sixteen(carries, 0, _WIDE, size, high, top, 0)


@compiled
def _unpack(planes, counts):
    """Add 13 planes to `counts`, 64 cells per word."""
    for j in range(counts.size // 64):
        cell = counts[64 * j : 64 * j + 64]
        for level in range(13):
            word = planes[level * _WIDE + j]
            for bit in range(64):
                cell[bit] += np.int64(((word >> np.uint64(bit)) & _ONE) << np.uint64(level))


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

    Short rows are laid side by side until they fill whole words, and long ones are cut into
    strips, so that one pass works on at most 4 KB of 16 rows. `rows` is C-contiguous and
    8-byte aligned.
    """
    wide_vectors()
    n, width = rows.shape
    side = 1  # the fewest rows that fill whole words
    while side * width % 8:
        side *= 2
    side *= max(1, 8 * _WIDE // (side * width))
    stride = side * width // 8
    groups = n // (16 * side)
    words = rows.reshape(n * width)[: groups * 16 * side * width].view(np.uint64)
    planes = np.empty(13 * _WIDE, np.uint64)
    scratch = np.empty(32 * _WIDE, np.uint64)
    spread = np.zeros(stride * 64, np.int64)
    for start in range(0, groups, 256):
        some = min(256, groups - start)
        for left in range(0, stride, _WIDE):
            size = min(_WIDE, stride - left)
            _strip(words, start * 16 * stride + left, stride, size, some, planes, scratch)
            _unpack(planes, spread[64 * left : 64 * (left + size)])
    counts = np.zeros(width * 8, np.int64)
    for i in range(spread.size):
        counts[i % counts.size] += spread[i]
    for i in range(groups * 16 * side, n):
        for j in range(width):
            byte = rows[i, j]
            for bit in range(8):
                counts[j * 8 + bit] += (byte >> bit) & 1
    return counts
