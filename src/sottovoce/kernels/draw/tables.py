"""Draws from any small channel by a table of pairs."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

KEEP = 1 << 15
_KEEP = np.uint64(KEEP)
_BLOCK = 512
_ONE = np.uint64(1)
_FOUR = np.uint64(4)
_FLAG = np.uint64(15)
_HALF = np.uint64(32)
_SIGN = np.uint64(63)


@compiled(interpreted="whole")
def _look_up(words, codes, table, shift, stride, entries):
    for i in range(entries.size):
        entries[i] = table[(np.uint64(words[i]) >> shift) + np.uint64(codes[i]) * stride]


@compiled(interpreted="whole")
def _look_up_same(words, table, shift, entries):
    for i in range(entries.size):
        entries[i] = table[np.uint64(words[i]) >> shift]


@compiled(interpreted="whole")
def _decide(words, codes, entries, low, out):
    """All reports by their first word; whether one of them ties and must be done again.

    Apart from the look-ups, so that the compiler makes full vectors of it.
    """
    wide_vectors()
    tied = np.uint64(0)
    # No branch on what is drawn: it could not be predicted. A negative gap has its first bit set,
    # which chooses the upper of the two reports; stored is only their last 16 bits or 8.
    for i in range(out.size):
        code, entry = np.uint64(codes[i]), entries[i]
        gap = (np.uint64(words[i]) & low) - (entry >> _HALF)
        report = entry >> ((gap >> _SIGN) << _FOUR)
        out[i] = report + ((report >> _FLAG) & _ONE) * (code - _KEEP)
        tied |= (gap - _ONE) & ~gap  # its first bit is set where the gap is zero
    return tied >> _SIGN != 0


@compiled(interpreted="blocks")
def table_response(words, codes, table, upper, lower, out, extra, used):
    """One report per code; returns (done, extra words used).

    A number below 2^128 stands for a report: its first bits choose a cell, and its others are
    compared with the cell's bound; below it one report is meant, from it on another. A word holds
    the first 32 bits. Where they are those of the bound, 96 more decide, so that how many words
    are used depends on the first word alone. An entry of the table has the bound's part within
    the word, the report below it and the other one, in 32, 16 and 16 bits; KEEP stands for the
    code itself. `upper` and `lower` are the bound's next 64 and 32 bits. There is one row of cells
    for every code, or a single one for all.
    """
    rows, cells = table.shape
    flat = table.reshape(rows * cells)
    first, second = upper.reshape(rows * cells), lower.reshape(rows * cells)
    stride = np.uint64(cells if rows > 1 else 0)
    shift = np.uint64(32)
    while cells > 1:
        cells >>= 1
        shift -= _ONE
    low = (_ONE << shift) - _ONE
    room = np.empty(_BLOCK, np.uint64)
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        entries = room[: stop - start]
        if rows == 1:
            _look_up_same(words[start:stop], flat, shift, entries)
        else:
            _look_up(words[start:stop], codes[start:stop], flat, shift, stride, entries)
        if not _decide(words[start:stop], codes[start:stop], entries, low, out[start:stop]):
            continue
        for i in range(start, stop):
            word, code = np.uint64(words[i]), np.uint64(codes[i])
            at = (word >> shift) + code * stride
            if word & low != flat[at] >> _HALF:
                continue
            if used + 2 > extra.size:
                return i, used
            more, most = extra[used], extra[used + 1] >> _HALF
            below = more < first[at] or (more == first[at] and most < second[at])
            report = flat[at] >> (np.uint64(below) << _FOUR)
            out[i] = report + ((report >> _FLAG) & _ONE) * (code - _KEEP)
            used += 2
    return out.size, used
