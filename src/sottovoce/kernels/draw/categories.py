"""Categories: exact uniform integers, and randomised response."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_WORD = np.uint64(64)
_NO = np.uint64(0)
_YES = np.uint64(1)
_BLOCK = 1024


@compiled
def _below(bound, limit, extra, used):
    """One uniform integer below `bound` <= 2^32 by multiply-shift; (value, extra words used).

    A product whose low half is below limit = 2^32 mod bound is drawn again (Lemire 2019), which
    makes the result exactly uniform. `used` beyond extra.size says that the words ran out.
    """
    while used < extra.size:
        product = (extra[used] & _LOW) * bound
        used += 1
        if (product & _LOW) >= limit:
            return product >> _HALF, used
    return np.uint64(0), extra.size + 1


@compiled
def below(words, bound, out, extra, used):
    """Fill `out` with uniform integers below `bound`; returns (done, extra words used)."""
    limit = np.uint64(2**32) % bound
    for i in range(out.size):
        product = (words[i] & _LOW) * bound
        value = product >> _HALF
        if (product & _LOW) < limit:
            value, after = _below(bound, limit, extra, used)
            if after > extra.size:
                return i, used
            used = after
        out[i] = value
    return out.size, used


@compiled
def _grr_lane(code, high, size, half, upper, lower, extra, used):
    """Redo one lane exactly: (report, extra words used), `used` beyond extra.size if they ran out.

    `high` are the `half` bits already drawn for the keep coin; the pick among others is fresh.
    How many words are used must not depend on how the coin falls: a lane that runs out of words
    starts again, and outcomes that need fewer of them would be favoured.
    """
    top = upper >> (_WORD - half)
    keep = high < top
    if high == top:  # tied: compare the remaining bits of the threshold with fresh ones
        if used + 2 > extra.size:
            return code, extra.size + 1
        rest = (upper << half) | (lower >> (_WORD - half))
        keep = extra[used] < rest or (extra[used] == rest and extra[used + 1] < (lower << half))
        used += 2
    others = np.uint64(size - 1)
    other, used = _below(others, np.uint64(2**32) % others, extra, used)
    if keep:
        return code, used
    return other + (_YES if other >= code else _NO), used


# The two block loops are the same in 32-bit and in 64-bit arithmetic, without comparisons:
# x >> 31 (or 63) is -1 for a negative x. That, and casts that keep numba from widening, is what
# the compiler turns into full vectors. A lane that must be done again is flagged.


@compiled(interpreted="whole")
def _grr_block32(words, codes, others, top, limit, out, again):
    """A coin of 12 bits and a pick of 20; others < 2^12."""
    i32, u32 = np.int32, np.uint32
    some = i32(0)
    for i in range(out.size):
        code = i32(codes[i])
        high = i32(words[i] >> u32(20))
        product = u32(u32(words[i] & u32(0xFFFFF)) * u32(others))
        other = i32(product >> u32(20))
        other = i32(other + i32(1) + i32(i32(other - code) >> i32(31)))
        keep = i32(i32(high - i32(top)) >> i32(31))
        out[i] = i32(other ^ i32(i32(other ^ code) & keep))
        tied = i32(i32(high ^ i32(top)) - i32(1))
        redo = i32(tied | i32(i32(product & u32(0xFFFFF)) - i32(limit)))
        again[i] = u32(redo) >> u32(31)
        some = i32(some | redo)
    return some < 0


@compiled(interpreted="whole")
def _grr_block64(words, codes, others, top, limit, out, again):
    """A coin of 32 bits and a pick of 32; others < 2^31."""
    some = np.int64(0)
    for i in range(out.size):
        code = np.int64(codes[i])
        high = np.int64(words[i] >> _HALF)
        product = np.int64(words[i] & _LOW) * others
        other = product >> 32
        other += 1 + ((other - code) >> 63)
        out[i] = other ^ ((other ^ code) & ((high - top) >> 63))
        redo = ((high ^ top) - 1) | ((product & 0xFFFFFFFF) - limit)
        again[i] = np.uint64(redo) >> np.uint64(63)
        some |= redo
    return some < 0


@compiled(interpreted="blocks")
def grr(words, codes, size, upper, lower, out, extra, used):
    """Keep codes[i] with probability T/2^128, else one of the others; (done, extra words used).

    One word of 32 or 64 bits per report: its high bits are compared with the threshold, its low
    bits pick among the others. A block runs without branches; lanes that tied or were rejected
    are done again exactly. When `extra` runs out, the lane is left for the next call.
    """
    coin = np.uint64(12 if words.itemsize == 4 else 32)
    low = (_YES << (np.uint64(words.itemsize * 8) - coin)) - _YES
    others = np.int64(size - 1)
    limit = np.int64((low + _YES) % np.uint64(others))
    top = np.int64(upper >> (_WORD - coin))
    flags = np.zeros(_BLOCK, np.uint8)
    eights = flags.view(np.uint64)
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        some_words, some_codes, some_out = words[start:stop], codes[start:stop], out[start:stop]
        again = flags[: stop - start]
        if words.itemsize == 4:
            redo = _grr_block32(some_words, some_codes, others, top, limit, some_out, again)
        else:
            redo = _grr_block64(some_words, some_codes, others, top, limit, some_out, again)
        if not redo:
            continue
        for eight in range((stop - start + 7) // 8):
            if eights[eight] == 0:
                continue
            for i in range(start + 8 * eight, min(start + 8 * eight + 8, stop)):
                if flags[i - start]:
                    high = np.uint64(words[i]) >> (np.uint64(words.itemsize * 8) - coin)
                    report, after = _grr_lane(
                        np.uint64(codes[i]), high, size, coin, upper, lower, extra, used
                    )
                    if after > extra.size:
                        return i, used
                    used = after
                    out[i] = report
    return out.size, used
