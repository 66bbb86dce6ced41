"""Numbers on a grid: round without bias, then answer from a window around the grid point."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_UNIT = 2.0**-53
_BLOCK = 1024

# The first 16 bits of a word round, the next 16 are the coin, and the last 32 of 64 the pick. The
# block loops decide all lanes by them, without comparisons: x >> 63 (or 31) is -1 for a negative x.
# That, and casts that keep numba from widening, is what the compiler turns into full vectors. A
# lane that ties or whose pick is rejected is flagged and done again exactly.


@compiled
def _block_of_bits(words, numbers, low, high, top, out, again):
    """One step and a window of one cell; whether a lane must be done again, and one is outside."""
    wide_vectors()
    i32, u32 = np.int32, np.uint32
    width = high - low
    some, outside = i32(0), False
    for k in range(out.size):
        x = numbers[k]
        outside |= not (low <= x <= high)
        point = i32((x - low) / width * 65536.0)
        rounding, coin = i32(words[k] >> u32(16)), i32(words[k] & u32(0xFFFF))
        up = i32(i32(rounding - point) >> i32(31))
        inside = i32(i32(coin - i32(top)) >> i32(31))
        out[k] = i32(i32(up ^ ~inside) & i32(1))
        redo = i32(i32(i32(rounding ^ point) - i32(1)) | i32(i32(coin ^ i32(top)) - i32(1)))
        again[k] = u32(redo) >> u32(31)
        some = i32(some | redo)
    return some < 0, outside


@compiled
def _block(words, numbers, low, high, steps, window, top, least, out, again):
    """The same for any grid whose steps are a power of two."""
    wide_vectors()
    width = high - low
    scale = np.float64(steps) * 65536.0
    some, outside = np.int64(0), False
    for k in range(out.size):
        x = numbers[k]
        outside |= not (low <= x <= high)
        scaled = np.int64((x - low) / width * scale)
        word = words[k]
        rounding, coin = np.int64(word >> np.uint64(48)), np.int64(word >> _HALF) & 0xFFFF
        part = scaled & 0xFFFF
        point = (scaled >> 16) - ((rounding - part) >> 63)
        inside = (coin - top) >> 63
        product = np.int64(word & _LOW) * (steps ^ ((steps ^ window) & inside))
        pick = product >> 32
        beyond = pick + (window & ~((pick - point) >> 63))
        out[k] = beyond ^ ((beyond ^ (point + pick)) & inside)
        redo = ((rounding ^ part) - 1) | ((coin ^ top) - 1)
        redo |= ((product & 0xFFFFFFFF) - least) & inside
        again[k] = np.uint64(redo) >> np.uint64(63)
        some |= redo
    return some < 0, outside


@compiled
def _block_of_two(words, numbers, low, high, which, grids, tops, leasts, out, again):
    """The same where everyone has one of two grids, by `which`."""
    wide_vectors()
    width = high - low
    steps, window, top, least = grids[0, 0], grids[0, 1], tops[0], leasts[0]
    more_steps, more_window = steps ^ grids[1, 0], window ^ grids[1, 1]
    more_top, more_least = top ^ tops[1], least ^ leasts[1]
    some, outside = np.int64(0), False
    for k in range(out.size):
        x = numbers[k]
        outside |= not (low <= x <= high)
        second = -np.int64(which[k])
        own_steps, own_window = steps ^ (more_steps & second), window ^ (more_window & second)
        own_top = top ^ (more_top & second)
        scaled = np.int64((x - low) / width * np.float64(own_steps << 16))
        word = words[k]
        rounding, coin = np.int64(word >> np.uint64(48)), np.int64(word >> _HALF) & 0xFFFF
        part = scaled & 0xFFFF
        point = (scaled >> 16) - ((rounding - part) >> 63)
        inside = (coin - own_top) >> 63
        product = np.int64(word & _LOW) * (own_steps ^ ((own_steps ^ own_window) & inside))
        pick = product >> 32
        beyond = pick + (own_window & ~((pick - point) >> 63))
        out[k] = beyond ^ ((beyond ^ (point + pick)) & inside)
        redo = ((rounding ^ part) - 1) | ((coin ^ own_top) - 1)
        redo |= ((product & 0xFFFFFFFF) - (least ^ (more_least & second))) & inside
        again[k] = np.uint64(redo) >> np.uint64(63)
        some |= redo
    return some < 0, outside


@compiled
def _lane(rounding, coin, position, steps, window, upper, lower, extra, used):
    """Redo one lane exactly: (cell, extra words used), `used` beyond extra.size if they ran out.

    `rounding` and `coin` are the 16 bits already drawn for either; the pick is fresh. How many
    words are used must not depend on what they say: a lane that runs out of words starts again, and
    outcomes that need fewer of them would be favoured. So both picks are drawn.
    """
    if used + 4 > extra.size:
        return np.int64(0), extra.size + 1
    scaled = position * steps
    point = np.int64(scaled)
    bits = (rounding << np.uint64(37)) | (extra[used] >> np.uint64(27))
    if np.float64(bits) * _UNIT < scaled - point:
        point += 1
    top = upper >> np.uint64(48)
    rest = (upper << np.uint64(16)) | (lower >> np.uint64(48))
    middle, last = extra[used + 1], extra[used + 2]
    tied = middle < rest or (middle == rest and last < (lower << np.uint64(16)))
    inside = coin < top or (coin == top and tied)
    outer = np.int64(((extra[used + 3] & _LOW) * np.uint64(steps)) >> _HALF)  # never rejected
    used += 4
    within = np.uint64(window)
    least = np.uint64(2**32) % within
    product = np.uint64(0)
    accepted = False
    while not accepted:
        if used >= extra.size:
            return np.int64(0), extra.size + 1
        product = (extra[used] & _LOW) * within
        accepted = (product & _LOW) >= least
        used += 1
    if inside:
        return point + np.int64(product >> _HALF), used
    return (outer if outer < point else outer + window), used


@compiled
def window_response(words, numbers, low, high, which, grids, thresholds, out, extra, used):
    """Draw cells for numbers from low to high; (done, extra words used), done −1 if one is outside.

    A row of `grids` is (steps, window), one of `thresholds` the halves of T: a position between 0
    and 1 is rounded to i in 0..steps without bias, to a multiple of 2^-53. With probability T/2^128
    the cell is uniform on i..i+window-1, else on the other `steps` cells. There are two grids where
    `which` is an array of zeros and ones. Words have 32 bits where all grids have one step, a
    window of one cell and so no pick; else 64.
    """
    tops = (thresholds[:, 0] >> np.uint64(48)).astype(np.int64)
    leasts = np.int64(2**32) % grids[:, 1]
    flags = np.zeros(_BLOCK, np.uint8)
    eights = flags.view(np.uint64)
    short = words.itemsize == 4
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        some_words, some, cells = words[start:stop], numbers[start:stop], out[start:stop]
        again = flags[: stop - start]
        if which is not None:
            own = which[start:stop]
            redo, outside = _block_of_two(
                some_words, some, low, high, own, grids, tops, leasts, cells, again
            )
        elif short:
            redo, outside = _block_of_bits(some_words, some, low, high, tops[0], cells, again)
        else:
            redo, outside = _block(
                some_words, some, low, high, grids[0, 0], grids[0, 1], tops[0], leasts[0],
                cells, again,
            )  # fmt: skip
        if outside:
            return -1, used
        if not redo:
            continue
        for eight in range((stop - start + 7) // 8):
            if eights[eight] == 0:
                continue
            for k in range(start + 8 * eight, min(start + 8 * eight + 8, stop)):
                if not flags[k - start]:
                    continue
                g = 0
                if which is not None:
                    g = np.int64(which[k])
                word = np.uint64(words[k]) << (_HALF if short else np.uint64(0))
                cell, after = _lane(
                    word >> np.uint64(48), (word >> _HALF) & np.uint64(0xFFFF),
                    (numbers[k] - low) / (high - low), grids[g, 0], grids[g, 1],
                    thresholds[g, 0], thresholds[g, 1], extra, used,
                )  # fmt: skip
                if after > extra.size:
                    return k, used
                used = after
                out[k] = cell
    return out.size, used
