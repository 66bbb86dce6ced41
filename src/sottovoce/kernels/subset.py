"""Subsets of exact size from independent bits."""

from __future__ import annotations

import numpy as np
from numba import njit

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def resize_subsets(rows, sizes, codes, truth, d, omega, start, extra, used):
    """Make every row a set of exactly `omega` values that holds the truth iff its coin says so.

    The rows come as independent bits of one probability, `sizes` as their numbers of set bits.
    Without the truth's bit such a set is, given its size, uniform among sets of that size; adding
    or removing uniform others keeps it so, until the size is right. Returns (rows done, extra
    words used): a row that ran out of words keeps its changes, and goes on with the next call,
    `start` being the rows done.
    """
    limit = np.uint64(2**32) % np.uint64(d)
    bound = np.uint64(d)
    for i in range(start, rows.shape[0]):
        code = np.int64(codes[i])
        size = sizes[i] - ((rows[i, code >> 3] >> (code & 7)) & 1)
        rows[i, code >> 3] &= ~(1 << (code & 7))
        holds = (truth[i >> 3] >> (i & 7)) & 1
        wanted = omega - holds
        while size != wanted:
            if used >= extra.size:
                sizes[i] = size
                return i, used
            product = (extra[used] & _LOW) * bound
            used += 1
            if (product & _LOW) < limit:
                continue
            v = np.int64(product >> _HALF)
            is_set = (rows[i, v >> 3] >> (v & 7)) & 1
            if size < wanted and not is_set and v != code:
                rows[i, v >> 3] |= 1 << (v & 7)
                size += 1
            elif size > wanted and is_set:
                rows[i, v >> 3] &= ~(1 << (v & 7))
                size -= 1
        if holds:
            rows[i, code >> 3] |= 1 << (code & 7)
    return rows.shape[0], used
