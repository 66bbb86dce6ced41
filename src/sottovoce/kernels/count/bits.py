"""How many rows have each bit set. Bit order: `kernels.draw.bits`.

Rows are added in bit planes: plane k holds bit k of 64 counters in each word, and sixteen rows are
added by carry-save adders, without a branch (Muła, Kurz, Lemire 2018, arXiv:1611.07612). Short
rows are laid side by side until they fill whole vectors of eight words.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import add_sixteens, wide_vectors

_WIDE = 512  # words of a row that are counted together: their planes stay in the second-level cache
_STRIP_AHEAD = 64  # words of each row of a strip that are fetched before they are read
_GROUPS = 256  # of sixteen rows, whose counts fit into 13 planes
_INDEX = np.uintp
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_BYTE = 255  # rows whose counts fit into a byte
MOST_BYTES = 1 << 27  # of rows that numpy counts in a tenth of a second; compiling takes two


@compiled
def _strip(words, at, stride, size, groups, planes, scratch):
    """Bit-sliced counts of `groups` <= _GROUPS groups of 16 rows: planes 0..12 of weight 2^k.

    Row r starts at word at + r * stride; plane k at word k * size. Sixteens are added to planes
    4..7 when there are sixteen of them, and their carries to planes 8..11 in the end.
    """
    wide_vectors()
    gap, one, here = size, _INDEX(1), _INDEX(0)
    planes[:] = _ZERO
    scratch[:] = _ZERO
    sixteens, carries = scratch[: 16 * gap], scratch[16 * gap :]
    whole = stride <= _WIDE
    block = _INDEX(16) * stride  # words from one group to the next
    for group in range(0, groups, 16):
        some = _INDEX(min(16, groups - group))
        if some < 16:
            sixteens[:] = _ZERO
        # Rows of several vectors are read as they come from memory, and not vector by vector.
        together = some if size == 8 else one
        for first in range(_INDEX(0), some, together):
            start = at + (_INDEX(16 * group) + _INDEX(16) * first) * stride
            for j in range(_INDEX(0), size, _INDEX(8)):
                to = first * gap + j
                # Whole rows are fetched a group ahead, in the order in which they lie in memory:
                # sixteen vectors for each column, though a column has one of each row.
                ahead = block + _INDEX(15) * j if whole else _INDEX(_STRIP_AHEAD)
                apart = _INDEX(8) if whole else stride
                first_row = start + j
                add_sixteens(
                    words, first_row, stride, together, planes, j, gap, sixteens, to, ahead, apart
                )
        to = _INDEX(group // 16) * gap
        for j in range(_INDEX(0), size, _INDEX(8)):
            add_sixteens(
                sixteens, j, gap, one, planes, 4 * gap + j, gap, carries, to + j, here, gap
            )
    for j in range(_INDEX(0), size, _INDEX(8)):
        add_sixteens(
            carries, j, gap, one, planes, 8 * gap + j, gap, planes, 12 * gap + j, here, gap
        )


@compiled
def _unpack(planes, groups, counts):
    """Add the planes of `groups` groups of 16 rows to `counts`, 64 cells per word."""
    wide_vectors()
    size = counts.size // 64
    levels = 5
    while groups >> (levels - 4):
        levels += 1
    for j in range(size):
        own = counts[64 * j : 64 * j + 64]
        for level in range(levels):
            word = planes[level * size + j]
            for bit in range(64):
                own[bit] += np.int64(((word >> np.uint64(bit)) & _ONE) << np.uint64(level))


@compiled
def empty_words(size):
    """Memory that begins with a line of the cache, so that no vector of eight words is in two."""
    words = np.empty(size + 8, np.uint64)
    first = -(words.ctypes.data // 8) % 8
    return words[first : first + size]


@compiled
def room_for(stride):
    """Scratch memory of `add_whole` for rows of so many words."""
    return empty_words(45 * min(_WIDE, (stride + 7) // 8 * 8))


@compiled
def add_whole(words, at, stride, groups, room, counts):
    """Add groups of 16 rows of `stride` words, from word `at` on, to 64 counts for each word.

    `counts` has room for whole vectors of eight words, and so many words follow each row.
    """
    for start in range(0, groups, _GROUPS):
        some = min(_GROUPS, groups - start)
        for left in range(0, stride, _WIDE):
            size = (min(_WIDE, stride - left) + 7) // 8 * 8
            planes, scratch = room[: 13 * size], room[13 * size : 45 * size]
            first = _INDEX(at + start * 16 * stride + left)
            _strip(words, first, _INDEX(stride), _INDEX(size), some, planes, scratch)
            _unpack(planes, some, counts[64 * left : 64 * (left + size)])


@compiled
def _add_bytes(every, begin, end, counts):
    """Add the bits of some bytes of all rows, one after the other."""
    at = 8 * begin % counts.size
    for i in range(begin, end):
        own, byte = counts[at : at + 8], np.int64(every[i])
        for bit in range(8):
            own[bit] += (byte >> bit) & 1
        at = at + 8 if at + 8 < counts.size else 0


def columns_by_numpy(rows):
    """The same as `column_counts`, whose compilation takes several seconds."""
    counts = np.zeros(8 * rows.shape[1], np.int64)
    for start in range(0, len(rows), _BYTE):
        bits = np.unpackbits(rows[start : start + _BYTE], axis=1, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.uint8)
    return counts


@compiled(interpreted=columns_by_numpy, most=MOST_BYTES)
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
    words = rows.reshape(n * width)[: n * width // 8 * 8].view(np.uint64)
    # Vectors that begin with a line of the cache are read at once, and others in two parts: where
    # rows are whole vectors, the first few words are left out and the columns turned by as many.
    turned = -words.ctypes.data // 8 % 8 if stride % 8 == 0 and words.size > 8 else 0
    groups = (words.size - turned) // (16 * stride)
    if stride % 8:  # the last vector of a row reads into the next, and that of the last must not
        groups = max(0, groups - 1)
    spread = np.zeros((stride + 7) // 8 * 512, np.int64)
    add_whole(words, turned, stride, groups, room_for(stride), spread)
    counts = np.zeros(width * 8, np.int64)
    for i in range(64 * stride):
        counts[(64 * turned + i) % counts.size] += spread[i]
    every = rows.reshape(n * width)
    _add_bytes(every, 0, 8 * turned, counts)
    _add_bytes(every, 8 * (turned + groups * 16 * stride), every.size, counts)
    return counts
