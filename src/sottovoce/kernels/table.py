"""Draws from any small channel by a table of pairs."""

from __future__ import annotations

import numpy as np
from numba import njit

KEEP = np.uint32(1 << 16)
_BLOCK = 1024
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_FLAG = np.uint64(16)
_HALF = np.uint64(32)
_SIGN = np.uint64(63)


@njit(cache=True, nogil=True)
def table_response(words, codes, bounds, upper, lower, labels, out, extra, used):
    """One report per code; returns (done, extra words used).

    A number below 2^128 stands for a report: its first bits choose a cell, and its others are
    compared with the cell's bound; below it the report is labels[2 cell + 1], else labels[2 cell].
    A word holds the first 32 bits. Where they are those of the bound, 96 more decide, so that how
    many words are used depends on the first word alone. `bounds` has the bounds' parts within the
    word, `upper` and `lower` the next 64 and 32 bits. The label KEEP stands for the code itself.
    There is one row of cells for every code, or a single one for all.
    """
    rows, cells = bounds.shape
    first, label_of = bounds.reshape(rows * cells), labels.reshape(rows * cells * 2)
    stride = np.uint64(cells if rows > 1 else 0)
    shift = np.uint64(32)
    while cells > 1:
        cells >>= 1
        shift -= _ONE
    low = (_ONE << shift) - _ONE
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        tied = np.uint64(0)
        # No branch on what is drawn: it could not be predicted.
        for i in range(start, stop):
            word, code = np.uint64(words[i]), np.uint64(codes[i])
            at = (word >> shift) + code * stride
            gap = (word & low) - np.uint64(first[at])
            label = np.uint64(label_of[at * _TWO + (gap >> _SIGN)])
            out[i] = label + code * (label >> _FLAG)
            tied |= (gap - _ONE) & ~gap  # its first bit is set where the gap is zero
        if tied >> _SIGN == 0:
            continue
        for i in range(start, stop):
            word, code = np.uint64(words[i]), np.uint64(codes[i])
            at = (word >> shift) + code * stride
            if word & low != first[at]:
                continue
            if used + 2 > extra.size:
                return i, used
            row, cell = np.int64(at) // bounds.shape[1], np.int64(at) % bounds.shape[1]
            more, most = extra[used], extra[used + 1] >> _HALF
            below = more < upper[row, cell] or (
                more == upper[row, cell] and most < lower[row, cell]
            )
            label = np.uint64(label_of[at * _TWO + np.uint64(below)])
            out[i] = label + code * (label >> _FLAG)
            used += 2
    return out.size, used
