"""How many rows of each group have each bit set, in one pass without sorting.

Every group has a counter of 8 bits for each bit of a row, eight to a word: adding a row takes one
shift, mask and sum for each of its words. Counters are emptied before they can overflow. Where
they are few, rows go to four sets of them in turn, so that a row does not wait for the one before,
and after 4 · 255 rows, whatever their groups, all are moved to counters of 16 bits. Where they are
many, each group's are emptied when it has 255 rows.

Bit order: `kernels.draw.bits`.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import add_bits, wide_vectors
from .bits import MOST_BYTES, columns_by_numpy, empty_words
from .histograms import first_outside

_SETS = 4
_MOST = 255  # rows that counters of 8 bits can hold
_SPILLS = 64  # times _SETS * _MOST is what counters of 16 bits can hold
_FEW = 64  # words of all groups together whose counters stay in the first-level cache
_LOW = np.uint64(0x00FF00FF00FF00FF)
_ZERO = np.uint64(0)


def _by_numpy(rows, group, counts):
    bad = first_outside.interpret(group, len(counts))
    if bad >= 0:
        return bad
    order = np.argsort(group, kind="stable")
    stops = np.cumsum(np.bincount(group, minlength=len(counts)))
    for own, mine in zip(counts, np.split(order, stops[:-1]), strict=True):
        own[: 8 * rows.shape[1]] += columns_by_numpy(rows[mine])
    return -1


@compiled(interpreted=_by_numpy, most=MOST_BYTES)
def column_counts_by(rows, group, counts):
    """Add to one row of counts per group; the first position of a group out of range, or -1.

    Nothing is counted when there is one. `rows` is C-contiguous and 8-byte aligned; `counts` has
    64 columns for every eight bytes begun.
    """
    groups = counts.shape[0]
    bad = first_outside(group, groups)
    if bad >= 0:
        return bad
    if rows.shape[1] % 8:
        rows = _in_whole_words(rows)
    length = rows.shape[1] // 8
    words = rows.reshape(rows.size).view(np.uint64)
    if groups * length <= _FEW:
        _few(words, group, groups, length, counts)
    else:
        _many(words, group, groups, length, counts)
    return -1


@compiled
def _in_whole_words(rows):
    """The rows with zeros after them, so that each fills whole words."""
    n, width = rows.shape
    wide = np.zeros((n, (width + 7) // 8 * 8), np.uint8)
    wide[:, :width] = rows
    return wide


@compiled(inline="always")
def _add_rows(words, group, start, stop, groups, length, lanes):
    for i in range(start, stop):
        which = np.uintp(group[i]) + i % np.uintp(_SETS) * np.uintp(groups)
        at = which * length * np.uintp(8)
        for j in range(length):
            add_bits(lanes, at + np.uintp(8) * j, words[i * length + j])


@compiled
def _few(words, group, groups, length, counts):
    wide_vectors()
    size = groups * 8 * length
    lanes = empty_words(_SETS * size)
    lanes[:] = _ZERO
    even, odd = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    n, step = np.uintp(group.size), np.uintp(_SETS * _MOST)
    start, spills = np.uintp(0), 0
    while start < n:
        stop = min(start + step, n)
        if length == 1:  # the same call, compiled with a constant length
            _add_rows(words, group, start, stop, groups, np.uintp(1), lanes)
        elif length == 2:
            _add_rows(words, group, start, stop, groups, np.uintp(2), lanes)
        else:
            _add_rows(words, group, start, stop, groups, np.uintp(length), lanes)
        _spill(lanes, even, odd)
        spills += 1
        if spills == _SPILLS:
            _release_wide(even, 0, counts)
            _release_wide(odd, 1, counts)
            spills = 0
        start = stop
    _release_wide(even, 0, counts)
    _release_wide(odd, 1, counts)


@compiled
def _spill(lanes, even, odd):
    """Move counters of 8 bits to those of 16: bytes 0, 2, 4, 6 of each word, and the others."""
    wide_vectors()
    size = even.size
    for k in range(size):
        a, b, c, d = lanes[k], lanes[k + size], lanes[k + 2 * size], lanes[k + 3 * size]
        even[k] += (a & _LOW) + (b & _LOW) + (c & _LOW) + (d & _LOW)
        a, b, c, d = a >> np.uint64(8), b >> np.uint64(8), c >> np.uint64(8), d >> np.uint64(8)
        odd[k] += (a & _LOW) + (b & _LOW) + (c & _LOW) + (d & _LOW)
    lanes[:] = _ZERO


@compiled
def _release_wide(lanes, first, counts):
    """Add counters of 16 bits to `counts`; they stand for every second byte from `first` on."""
    for g in range(counts.shape[0]):
        for j in range(counts.shape[1] // 64):
            for bit in range(8):
                at = g * counts.shape[1] // 8 + 8 * j + bit
                word = lanes[at]
                for byte in range(first, 8, 2):
                    counts[g, 64 * j + 8 * byte + bit] += np.int64(word & np.uint64(0xFFFF))
                    word >>= np.uint64(16)
                lanes[at] = _ZERO


@compiled(inline="always")
def _add_until_full(words, group, start, size, lanes, filled):
    """Add rows from `start` on until a group has 255; the position after the last one."""
    for i in range(start, np.uintp(group.size)):
        g = np.uintp(group[i])
        at = g * size * np.uintp(8)
        for j in range(size):
            add_bits(lanes, at + np.uintp(8) * j, words[i * size + j])
        full = filled[g] + np.uint8(1)
        filled[g] = full
        if full == _MOST:
            return i + np.uintp(1)
    return np.uintp(group.size)


@compiled
def _many(words, group, groups, length, counts):
    wide_vectors()
    lanes = empty_words(groups * 8 * length)
    lanes[:] = _ZERO
    filled = np.zeros(groups, np.uint8)
    i, n = np.uintp(0), np.uintp(group.size)
    while i < n:
        if length == 1:
            i = _add_until_full(words, group, i, np.uintp(1), lanes, filled)
        elif length == 2:
            i = _add_until_full(words, group, i, np.uintp(2), lanes, filled)
        else:
            i = _add_until_full(words, group, i, np.uintp(length), lanes, filled)
        g = np.int64(group[i - np.uintp(1)])
        if filled[g] == _MOST:
            _release(lanes, g * 8 * length, counts[g])
            filled[g] = np.uint8(0)
    for g in range(groups):
        if filled[g]:
            _release(lanes, g * 8 * length, counts[g])


@compiled
def _release(lanes, at, counts):
    """Add the 8-bit counters of one group, which begin at lanes[at], to `counts`."""
    for j in range(counts.size // 64):
        for bit in range(8):
            word = lanes[at + 8 * j + bit]
            lanes[at + 8 * j + bit] = _ZERO
            for byte in range(8):
                counts[64 * j + 8 * byte + bit] += np.int64(word & np.uint64(255))
                word >>= np.uint64(8)
