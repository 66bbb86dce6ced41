"""Bits: exact Bernoulli lanes.

A probability is an integer T out of 2^128, given as its upper and lower 64 bits. A lane is 1 when
128 random bits, read from the top, are below T. Lanes are compared lazily: most are decided by
the first few bits, and only undecided lanes draw more.

Bit order everywhere: bit v is bit (v mod 8) of byte (v div 8), least significant first.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import compare_planes, wide_vectors

_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_STRIP = 512  # words of output whose ties are looked for together
_RESERVE = 128  # words of `extra` that the lanes of one word may need: two each


def _compare_by_numpy(words, planes, upper, lower, out, undecided, extra, used):
    """The same as `bernoulli`, whose compilation takes a second."""
    out[:], undecided[:] = np.uint64(0), _ALL
    for plane, random in enumerate(words.reshape(-1, out.size)):
        if (int(upper) >> (63 - plane)) & 1:
            out |= undecided & ~random
            undecided &= random
        else:
            undecided &= ~random
    return _settle_by_numpy(out, undecided, planes, upper, lower, 0, extra, used)


def _settle_by_numpy(out, undecided, planes, upper, lower, start, extra, used):
    """The same as `settle`: every lane takes the next word."""
    rest = ((int(upper) << 64 | int(lower)) << int(planes)) & ((1 << 128) - 1)
    ties = start + np.flatnonzero(undecided[start:])
    if not rest or not ties.size:
        return out.size, used
    lanes = np.bitwise_count(undecided[ties]).astype(np.int64)
    before = used + np.cumsum(lanes) - lanes
    many = int(np.searchsorted(before, extra.size - _RESERVE, side="right"))
    some, end = ties[:many], used + int(lanes[:many].sum())
    draws, first = extra[used:end], np.uint64(rest >> 64)
    if (draws == first).any():  # that lane takes two words, and those after it later ones
        return settle.__wrapped__(out, undecided, planes, upper, lower, start, extra, used)
    tied = undecided[some]
    less = np.unpackbits(tied.view(np.uint8), bitorder="little")
    less[less != 0] = draws < first
    out[some] |= np.packbits(less, bitorder="little").view(np.uint64)
    return (int(ties[many]) if many < ties.size else out.size), end


@compiled(interpreted=_compare_by_numpy)
def bernoulli(words, planes, upper, lower, out, undecided, extra, used):
    """Fill `out` with Bernoulli lanes; returns (first unsettled word, extra words used).

    `words` holds `planes` bit planes of `out.size` words each, plane-major, `planes` <= 64.
    """
    wide_vectors()
    size, many = np.uintp(out.size), np.uintp(planes)
    whole = size - size % np.uintp(32)
    for i in range(np.uintp(0), whole, np.uintp(32)):
        compare_planes(words, i, size, many, upper, out, undecided, i)
    for i in range(whole, size):
        less, equal = np.uint64(0), _ALL
        for plane in range(planes):
            random = words[plane * out.size + i]
            if (upper >> np.uint64(63 - plane)) & _ONE:
                less |= equal & ~random
                equal &= random
            else:
                equal &= ~random
        out[i], undecided[i] = less, equal
    start = np.int64(0)  # not a literal, for which it would be compiled again
    return settle(out, undecided, planes, upper, lower, start, extra, used)


@compiled(interpreted=_settle_by_numpy)
def settle(out, undecided, planes, upper, lower, start, extra, used):
    """Decide the lanes that tied on the first `planes` bits, with fresh bits from `extra`.

    Stops before a word whose lanes might need more than what is left of `extra`, and returns its
    index: refill and call again with it as `start`.
    """
    shift = np.uint64(planes)
    # The rest of the threshold, moved to the top of two 64-bit words. A shift by 64 is undefined.
    first = upper
    second = lower
    if planes == 64:
        first, second = lower, np.uint64(0)
    elif planes > 0:
        first = (upper << shift) | (lower >> (np.uint64(64) - shift))
        second = lower << shift
    if first == 0 and second == 0:  # nothing left to be below: every tie is "not less"
        return out.size, used
    # One word in eight has a tie; a branch on which one it is could not be predicted.
    places = np.empty(_STRIP, np.intp)
    for begin in range(start, out.size, _STRIP):
        many = 0
        for i in range(begin, min(begin + _STRIP, out.size)):
            places[many] = i
            many += undecided[i] != 0
        for place in range(many):
            i = places[place]
            if used + _RESERVE > extra.size:
                return i, used
            lanes, less = undecided[i], out[i]
            while lanes:
                lane = lanes & (~lanes + _ONE)
                lanes ^= lane
                draw = extra[used]
                used += 1
                less |= lane if draw < first else np.uint64(0)
                if draw == first:
                    less |= lane if extra[used] < second else np.uint64(0)
                    used += 1
            out[i] = less
    return out.size, used


def _place_by_numpy(rows, codes, truth, last_mask):
    """The same as `place_truth`."""
    people, byte, bit = np.arange(len(rows)), codes >> 3, (codes & 7).astype(np.uint8)
    coins = np.unpackbits(truth, count=len(rows), bitorder="little")
    rows[people, byte] = (rows[people, byte] & ~(np.uint8(1) << bit)) | (coins << bit)
    rows[:, -1] &= last_mask


@compiled(interpreted=_place_by_numpy)
def place_truth(rows, codes, truth, last_mask):
    """Overwrite bit codes[i] of row i with bit i of `truth`; clear the padding of the last byte."""
    last = rows.shape[1] - 1
    for i in range(rows.shape[0]):
        byte = codes[i] >> 3
        bit = codes[i] & 7
        coin = (truth[i >> 3] >> (i & 7)) & 1
        rows[i, byte] = (rows[i, byte] & ~(1 << bit)) | (coin << bit)
        rows[i, last] &= last_mask
