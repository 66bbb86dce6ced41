"""Numbers on a grid: round without bias, then answer from a window around the grid point."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_UNIT = 2.0**-53
_BLOCK = 1024

# The first bits of a word round, the next are the coin: 16 each of 32 bits, 12 each of 64, where 12
# more choose the grid and 28 are the pick. The block loops decide all lanes by them, without
# comparisons: x >> 63 (or 31) is -1 for a negative x. That, and casts that keep numba from
# widening, is what the compiler turns into full vectors. A lane that ties or whose pick is rejected
# is flagged and done again exactly.
_SHORT, _LONG = np.uint64(16), np.uint64(12)
_WORD = np.uint64(64)


@compiled(interpreted="whole")
def _block_of_bits(words, numbers, low, high, top, out, again):
    """One step and a window of one cell; whether a lane must be done again, and one is outside."""
    wide_vectors()
    i32, u32 = np.int32, np.uint32
    width = high - low
    some, outside = i32(0), False
    for k in range(out.size):
        x = numbers[k]
        outside |= ((low <= x) & (x <= high)) ^ True  # also of what is no number
        point = i32((x - low) / width * 65536.0)
        rounding, coin = i32(words[k] >> u32(16)), i32(words[k] & u32(0xFFFF))
        up = i32(i32(rounding - point) >> i32(31))
        inside = i32(i32(coin - i32(top)) >> i32(31))
        out[k] = i32(i32(up ^ ~inside) & i32(1))
        redo = i32(i32(i32(rounding ^ point) - i32(1)) | i32(i32(coin ^ i32(top)) - i32(1)))
        again[k] = u32(redo) >> u32(31)
        some = i32(some | redo)
    return some < 0, outside


@compiled(interpreted="whole")
def _block(words, numbers, low, high, grids, tops, leasts, which, out, again):
    """The same for any grid whose steps are a power of two; of two, one is drawn into `which`."""
    wide_vectors()
    width, zero = high - low, np.int64(0)
    steps, window, top, least = grids[0, 0], grids[0, 1], tops[0], leasts[0]
    more_steps, more_window, more_top, more_least, border = zero, zero, zero, zero, zero
    if which is not None:
        more_steps, more_window = steps ^ grids[1, 0], window ^ grids[1, 1]
        more_top, more_least, border = top ^ tops[1], least ^ leasts[1], tops[2]
    some, outside = zero, False
    for k in range(out.size):
        x = numbers[k]
        outside |= ((low <= x) & (x <= high)) ^ True  # also of what is no number
        word = words[k]
        second, redo = zero, zero
        if which is not None:
            choice = np.int64(word >> np.uint64(28)) & 0xFFF
            second, redo = (choice - border) >> 63, (choice ^ border) - 1
            which[k] = -second
        own_steps, own_window = steps ^ (more_steps & second), window ^ (more_window & second)
        own_top, own_least = top ^ (more_top & second), least ^ (more_least & second)
        scaled = np.int64((x - low) / width * np.float64(own_steps << 12))
        rounding, coin = np.int64(word >> np.uint64(52)), np.int64(word >> np.uint64(40)) & 0xFFF
        part = scaled & 0xFFF
        point = (scaled >> 12) - ((rounding - part) >> 63)
        inside = (coin - own_top) >> 63
        product = (np.int64(word) & 0xFFFFFFF) * (own_steps ^ ((own_steps ^ own_window) & inside))
        pick = product >> 28
        beyond = pick + (own_window & ~((pick - point) >> 63))
        out[k] = beyond ^ ((beyond ^ (point + pick)) & inside)
        redo |= ((rounding ^ part) - 1) | ((coin ^ own_top) - 1)
        redo |= ((product & 0xFFFFFFF) - own_least) & inside
        again[k] = np.uint64(redo) >> np.uint64(63)
        some |= redo
    return some < 0, outside


@compiled
def _below(bits, many, threshold, first, second):
    """Whether 128 bits are below T: the first `many` as drawn, the others from two fresh words."""
    upper, lower = threshold
    top = upper >> (_WORD - many)
    rest = (upper << many) | (lower >> (_WORD - many))
    return bits < top or (
        bits == top and (first < rest or (first == rest and second < (lower << many)))
    )


@compiled
def _lane(word, many, position, grids, thresholds, extra, used):
    """Redo one lane exactly: (grid, cell, extra words used), these beyond extra.size if too few.

    `many` bits of the word each round, are the coin and choose the grid, as far as they were drawn;
    the pick is fresh. How many words are used must not depend on what they say: a lane that runs
    out of words starts again, and outcomes that need fewer of them would be favoured. So all are
    drawn, and both picks of either grid.
    """
    zero = np.int64(0)
    if used + 7 > extra.size:
        return zero, zero, extra.size + 1
    grid = zero
    if len(grids) > 1:
        choice = (word << (many + many)) >> (_WORD - many)
        grid += _below(choice, many, thresholds[2], extra[used], extra[used + 1])
    steps, window = grids[grid]
    scaled = position * steps
    point = np.int64(scaled)
    bits = (word >> (_WORD - many)) << (np.uint64(53) - many)
    bits |= extra[used + 2] >> (np.uint64(11) + many)
    if np.float64(bits) * _UNIT < scaled - point:
        point += 1
    coin = (word << many) >> (_WORD - many)
    inside = _below(coin, many, thresholds[grid], extra[used + 3], extra[used + 4])
    outer = np.int64(((extra[used + 5] & _LOW) * np.uint64(steps)) >> _HALF)  # never rejected
    used += 6
    inner = zero
    for g in range(len(grids)):
        within = np.uint64(grids[g, 1])
        least = np.uint64(2**32) % within
        product = np.uint64(0)
        accepted = False
        while not accepted:
            if used >= extra.size:
                return zero, zero, extra.size + 1
            product = (extra[used] & _LOW) * within
            accepted = (product & _LOW) >= least
            used += 1
        if g == grid:
            inner = np.int64(product >> _HALF)
    if inside:
        return grid, point + inner, used
    return grid, (outer if outer < point else outer + window), used


@compiled(interpreted="blocks")
def window_response(words, numbers, low, high, grids, thresholds, which, out, extra, used):
    """Draw cells for numbers from low to high; (done, extra words used), done −1 if one is outside.

    A row of `grids` is (steps, window), one of `thresholds` the halves of T: a position between 0
    and 1 is rounded to i in 0..steps without bias, to a multiple of 2^-53. With probability T/2^128
    the cell is uniform on i..i+window-1, else on the other `steps` cells. Of two grids the second
    is taken with the probability in the last row of `thresholds`, and `which` says so; of one it is
    None. Words have 32 bits where that grid has one step, a window of one cell and so no pick; else
    64.
    """
    short = words.itemsize == 4
    many = _SHORT if short else _LONG
    tops = (thresholds[:, 0] >> (_WORD - many)).astype(np.int64)
    leasts = np.int64(2**28) % grids[:, 1]
    flags = np.zeros(_BLOCK, np.uint8)
    eights = flags.view(np.uint64)
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        some_words, some, cells = words[start:stop], numbers[start:stop], out[start:stop]
        again = flags[: stop - start]
        if short:
            redo, outside = _block_of_bits(some_words, some, low, high, tops[0], cells, again)
        else:
            own = None if which is None else which[start:stop]
            redo, outside = _block(
                some_words, some, low, high, grids, tops, leasts, own, cells, again
            )
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
                word = np.uint64(words[k]) << (_HALF if short else np.uint64(0))
                position = (numbers[k] - low) / (high - low)
                grid, cell, after = _lane(word, many, position, grids, thresholds, extra, used)
                if after > extra.size:
                    return k, used
                used = after
                out[k] = cell
                if which is not None:
                    which[k] = grid
    return out.size, used
