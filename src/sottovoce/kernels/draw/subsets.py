"""Subsets of exact size from independent bits."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import count_bits

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@compiled(inline="always")
def _size(row):
    """How many bits of a row are set."""
    size = np.int64(0)
    whole = row.size // 8 * 8
    for word in row[:whole].view(np.uint64):
        size += np.int64(count_bits(word))
    for byte in row[whole:]:
        size += np.int64(count_bits(byte))
    return size


@compiled
def resize_subsets(rows, codes, truth, d, omega, start, extra, used):
    """Make every row a set of exactly `omega` values that holds the truth iff its coin says so.

    The rows come as independent bits of one probability. Without the truth's bit such a set is,
    given its size, uniform among sets of that size; adding or removing uniform others keeps it so,
    until the size is right. Returns (rows done, extra words used): a row that ran out of words
    keeps its changes, and goes on with the next call, `start` being the rows done. A word makes two
    picks; what is left of the last one is not used.
    """
    limit = np.uint64(2**32) % np.uint64(d)
    bound = np.uint64(d)
    picks = extra.view(np.uint32)
    at = 2 * used
    for i in range(start, rows.shape[0]):
        code = np.int64(codes[i])
        own_byte, own_bit = code >> 3, np.uint8(1 << (code & 7))
        rows[i, own_byte] &= ~own_bit
        size = _size(rows[i])
        holds = (truth[i >> 3] >> (i & 7)) & 1
        wanted = omega - holds
        # No branch on whether a picked bit is set: it could not be predicted. While values are
        # added the truth's bit is set, and while they are removed it is clear, so that picking
        # the truth changes nothing.
        rows[i, own_byte] |= own_bit
        while size < wanted and at < picks.size:
            product = np.uint64(picks[at]) * bound
            at += 1
            if (product & _LOW) >= limit:
                v = np.int64(product >> _HALF)
                byte = rows[i, v >> 3]
                rows[i, v >> 3] = byte | np.uint8(1 << (v & 7))
                size += 1 - ((byte >> (v & 7)) & 1)
        rows[i, own_byte] &= ~own_bit
        while size > wanted and at < picks.size:
            product = np.uint64(picks[at]) * bound
            at += 1
            if (product & _LOW) >= limit:
                v = np.int64(product >> _HALF)
                byte = rows[i, v >> 3]
                rows[i, v >> 3] = byte & ~np.uint8(1 << (v & 7))
                size -= (byte >> (v & 7)) & 1
        if size != wanted:
            return i, extra.size
        if holds:
            rows[i, own_byte] |= own_bit
    return rows.shape[0], (at + 1) // 2
