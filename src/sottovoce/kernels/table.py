"""Draws from any small channel by a table over 16 random bits."""

from __future__ import annotations

import numpy as np
from numba import njit

KEEP = np.uint16(65_534)
UNSURE = np.uint16(65_535)
_BLOCK = 4096
_CELL = np.uint64(48)
_REST = np.uint64(16)


@njit(cache=True, nogil=True)
def _search(high, low, upper, lower):
    """How many of the rising 128-bit bounds are at most (high, low)."""
    first, last = 0, upper.size
    while first < last:
        middle = (first + last) // 2
        if upper[middle] < high or (upper[middle] == high and lower[middle] <= low):
            first = middle + 1
        else:
            last = middle
    return first


@njit(cache=True, nogil=True)
def table_response(words, codes, table, upper, lower, labels, out, extra, used):
    """One report per code; returns (done, extra words used).

    `table[row, w]` is the report that all 128-bit numbers with the top bits w stand for, KEEP for
    the code itself, or UNSURE where a bound falls among them: then 112 more bits decide. There is
    one row for every code, or a single one for all. `upper` and `lower` are the bounds of each
    row, `labels` the reports between them. How many words are used depends on w alone.
    """
    rows = table.shape[0]
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        unsure = 0
        if rows == 1:
            single = table[0]
            for i in range(start, stop):
                found = single[words[i]]
                out[i] = codes[i] if found == KEEP else found
                unsure += found == UNSURE
        else:
            for i in range(start, stop):
                found = table[codes[i], words[i]]
                out[i] = found
                unsure += found == UNSURE
        if unsure == 0:
            continue
        for i in range(start, stop):
            row = 0 if rows == 1 else np.int64(codes[i])
            if table[row, words[i]] != UNSURE:
                continue
            if used + 2 > extra.size:
                return i, used
            high = (np.uint64(words[i]) << _CELL) | (extra[used] >> _REST)
            found = labels[row, _search(high, extra[used + 1], upper[row], lower[row])]
            out[i] = codes[i] if found == KEEP else found
            used += 2
    return out.size, used
