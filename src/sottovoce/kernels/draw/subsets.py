"""Subsets of exact size: from independent bits, or of few values from a table of all of them."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import count_bits, wide_vectors

_BLOCK = 1024
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_INDEX = np.uintp


@compiled(inline="always", interpreted=lambda row: np.bitwise_count(row).sum(dtype=np.int64))
def _size(row):
    """How many bits of a row are set."""
    size = np.int64(0)
    for k in range(row.size):  # the compiler takes many bytes at a time
        size += np.int64(count_bits(row[k]))
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
    at, end = _INDEX(2 * used), _INDEX(picks.size)
    for i in range(start, rows.shape[0]):
        row, code = rows[i], np.int64(codes[i])
        own_byte, own_bit = code >> 3, np.uint8(1 << (code & 7))
        row[own_byte] &= ~own_bit
        holds = np.int64((truth[i >> 3] >> (i & 7)) & 1)
        missing = omega - holds - _size(row)
        # No branch on whether a picked bit is set: it could not be predicted. While values are
        # added the truth's bit is set, and while they are removed it is clear, so that picking
        # the truth changes nothing.
        row[own_byte] |= own_bit
        while missing > 0 and at < end:
            product = np.uint64(picks[at]) * bound
            at += _INDEX(1)
            if (product & _LOW) >= limit:
                v = _INDEX(product >> _HALF)
                byte, bit = row[v >> _INDEX(3)], np.uint8(v & _INDEX(7))
                row[v >> _INDEX(3)] = byte | np.uint8(1 << bit)
                missing -= 1 - np.int64((byte >> bit) & 1)
        row[own_byte] &= ~own_bit
        while missing < 0 and at < end:
            product = np.uint64(picks[at]) * bound
            at += _INDEX(1)
            if (product & _LOW) >= limit:
                v = _INDEX(product >> _HALF)
                byte, bit = row[v >> _INDEX(3)], np.uint8(v & _INDEX(7))
                row[v >> _INDEX(3)] = byte & ~np.uint8(1 << bit)
                missing += np.int64((byte >> bit) & 1)
        if missing != 0:
            return i, extra.size
        row[own_byte] |= own_bit & np.uint8(-holds)
    return rows.shape[0], (np.int64(at) + 1) // 2


@compiled(interpreted="whole")
def _look_up(words, sets, top, length, limit, entries):
    """The set of others of each report; whether a coin ties or a pick is rejected."""
    again = np.int64(0)
    for i in range(entries.size):
        high = np.int64(words[i] >> _HALF)
        product = np.int64(words[i] & _LOW) * length
        outside = 1 + ((high - top) >> 63)
        entries[i] = sets[np.uintp((product >> 32) + outside * length)]
        again |= ((high ^ top) - 1) | ((product & 0xFFFFFFFF) - limit)
    return again < 0


@compiled(interpreted="whole")
def _place(words, codes, entries, top, out):
    """Every other value moves to its own bit, and the truth comes in between."""
    wide_vectors()
    for i in range(out.size):
        inside = (np.int64(words[i] >> _HALF) - top) >> 63
        truth = np.int64(1) << np.int64(codes[i])
        others = np.int64(entries[i])
        out[i] = (others & (truth - 1)) | ((others & -truth) << 1) | (truth & inside)


@compiled(interpreted="blocks")
def small_subsets(words, codes, table, upper, lower, out, extra, used):
    """One set per code, as bits; returns (done, extra words used).

    The high half of a word is a coin with probability T/2^128 of holding the truth, its low half
    picks among the sets of others in the table: row 0 for those with the truth, row 1 for the
    rest. Both rows have the same length, so that how many words are used does not depend on the
    coin; a lane that runs out of them starts again.
    """
    length = np.int64(table.shape[1])
    limit = np.int64(2**32) % length
    sets = table.reshape(table.size)
    top = np.int64(upper >> _HALF)
    rest, last = (upper << _HALF) | (lower >> _HALF), lower << _HALF
    room = np.empty(_BLOCK, table.dtype)
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        entries = room[: stop - start]
        again = _look_up(words[start:stop], sets, top, length, limit, entries)
        _place(words[start:stop], codes[start:stop], entries, top, out[start:stop])
        if not again:
            continue
        for i in range(start, stop):
            high = np.int64(words[i] >> _HALF)
            product = np.int64(words[i] & _LOW) * length
            if high != top and (product & 0xFFFFFFFF) >= limit:
                continue
            inside = high < top
            at = used
            if high == top:
                if at + 2 > extra.size:
                    return i, used
                inside = extra[at] < rest or (extra[at] == rest and extra[at + 1] < last)
                at += 2
            while (product & 0xFFFFFFFF) < limit:
                if at >= extra.size:
                    return i, used
                product = np.int64(extra[at] & _LOW) * length
                at += 1
            used = at
            truth = np.int64(1) << np.int64(codes[i])
            others = np.int64(sets[np.uintp((product >> 32) + (0 if inside else length))])
            others = (others & (truth - 1)) | ((others & -truth) << 1)
            out[i] = others | truth if inside else others
    return out.size, used
