"""Parities of many reports against many columns of a Hadamard matrix, 64 reports at a time.

The bits of 64 reports are turned into one word for each bit position; the parities of all 64
against a column are the exclusive or of the words of the column's bits.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import count_bits, wide_vectors

_WORDS = 64  # words of each bit position in a block: 4,096 reports, 16 KiB for 32 positions
_BITS = 32
_ONE = np.uint64(1)


@compiled
def _turn(reports, planes):
    """planes[k, w], bit i = bit k of reports[64 w + i]; zero beyond the last report."""
    for w in range(_WORDS):
        first = 64 * w
        many = min(64, reports.size - first)
        for k in range(_BITS):
            planes[k, w] = np.uint64(0)
        for i in range(many):
            report, place = np.uint64(reports[first + i]), np.uint64(i)
            for k in range(_BITS):
                planes[k, w] |= ((report >> np.uint64(k)) & np.uint64(1)) << place


@compiled(interpreted=False)
def odd_parities(reports, columns, counts):
    """counts[v] += how many i have an odd number of bits in reports[i] & columns[v]."""
    wide_vectors()
    planes = np.empty((_BITS, _WORDS), np.uint64)
    odd = np.empty(_WORDS, np.uint64)
    for start in range(0, reports.size, 64 * _WORDS):
        _turn(reports[start : start + 64 * _WORDS], planes)
        for v in range(columns.size):
            column = np.uint64(columns[v])
            odd[:] = np.uint64(0)
            while column:  # from bit to bit: a branch on each of them could not be predicted
                k = count_bits(~column & (column - _ONE))
                column &= column - _ONE
                for w in range(_WORDS):
                    odd[w] ^= planes[k, w]
            total = np.uint64(0)
            for w in range(_WORDS):
                total += count_bits(odd[w])
            counts[v] += np.int64(total)
