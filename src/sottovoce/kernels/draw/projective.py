"""Projective geometry response: draw a report.

Vectors of length t over the integers modulo a prime q. A value is a vector whose last nonzero
coordinate is 1, numbered by what stands before it: first those of one coordinate, then those of two
and so on, each time with the coordinates as the digits of a number. An output is a vector whose
first nonzero coordinate is 1, numbered like the nodes of a heap: output y followed by the
coordinate u is output q y + 1 + u, and 0 is a single 1. The set of a value is every output that is
orthogonal to it. Since the last nonzero coordinate of a value is 1, the others of a report can be
chosen freely and that one solves the equation, so that no vector ever has to be scaled.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from .categories import _below

_BLOCK = 256
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_BITS = 29  # numbers that are divided by multiplication are below 2^29


@compiled
def _inverse(divisor):
    """(multiplier, shift): x // divisor is (x * multiplier) >> shift for 0 <= x < 2^29."""
    shift = np.int64(_BITS)
    while (np.int64(1) << (shift - _BITS)) < divisor:
        shift += 1
    return ((np.int64(1) << shift) + divisor - 1) // divisor, shift


@compiled
def _tables(order, dimension):
    """Rows for k = 0..t: q^k, (q^k - 1) / (q - 1), and how to divide by q^k."""
    tables = np.zeros((4, dimension + 1), np.int64)
    tables[0, 0] = 1
    for k in range(dimension):
        tables[0, k + 1] = tables[0, k] * order
        tables[1, k + 1] = tables[1, k] * order + 1
    for k in range(dimension):
        tables[2, k], tables[3, k] = _inverse(tables[0, k])
    return tables


@compiled
def _solve(inside, place, codes, order, tables, scratch, zeros, out):
    """The reports of some lanes: `inside` is -1 or 0, `place` which of the outputs there.

    A value ends in `zeros` zeros. Coordinates of the report before its last 1 are the digits of
    `prefix`, those after it are `rest`. One pass for each coordinate, without branches, over all
    lanes.
    """
    n = out.size
    powers, offsets, turns, shifts = tables[0], tables[1], tables[2], tables[3]
    value, prefix, rest = scratch[0], scratch[1], scratch[2]
    missed, number, dot = scratch[3], scratch[4], scratch[5]
    length = powers.size - 2  # coordinates of a report besides the one that solves the equation
    least = np.int64(codes[0])
    for i in range(n):
        value[i] = np.int64(codes[i])
        least = min(least, value[i])
        dot[i] = 0
    for k in range(length, 0, -1):
        if least >= offsets[k]:
            break
        for i in range(n):
            dot[i] -= (value[i] - offsets[k]) >> 63
    for i in range(n):
        zeros[i] = np.uint64(dot[i])
        dot[i] = 0
    multiplier, bits = _inverse(order - 1)
    for i in range(n):
        power, offset = powers[zeros[i]], offsets[zeros[i]]
        value[i] -= offsets[np.uint64(length) - zeros[i]]
        # Outside the set: q^zeros outputs begin at the last 1, the others miss the equation by 1 to
        # q - 1. Inside: outputs below the offset begin after it, and are orthogonal anyway.
        above = place[i] - power
        pick = ((above & ~(above >> 63)) * multiplier) >> bits
        missed[i] = (1 + above - pick * (order - 1)) & ~inside[i]
        pick ^= (pick ^ (place[i] - offset)) & inside[i]
        pick &= ~(pick >> 63)
        prefix[i] = (pick * turns[zeros[i]]) >> shifts[zeros[i]]
        rest[i] = pick - prefix[i] * power
        number[i] = prefix[i] + 1
    for depth in range(1, length):  # a leading 1 and then the digits
        more = powers[depth] - offsets[depth] - powers[depth - 1] + offsets[depth - 1]
        last = offsets[depth] - 1
        for i in range(n):
            number[i] += more & ((last - prefix[i]) >> 63)
    multiplier, bits = _inverse(order)
    for _ in range(length):
        for i in range(n):
            quotient = ((number[i] & 0xFFFFFFFF) * multiplier) >> bits
            other = ((value[i] & 0xFFFFFFFF) * multiplier) >> bits
            dot[i] += (number[i] - quotient * order) * (value[i] - other * order)
            number[i] = quotient
            value[i] = other
    for i in range(n):
        power, offset = powers[zeros[i]], offsets[zeros[i]]
        solved = missed[i] - dot[i] + ((dot[i] * multiplier) >> bits) * order
        solved += order & (solved >> 63)
        report = (order * prefix[i] + 1 + solved) * power + offset + rest[i]
        early = (place[i] - (offset & inside[i]) - (power & ~inside[i])) >> 63
        simple = place[i] + (offset & ~inside[i])
        out[i] = report ^ ((report ^ simple) & early)


@compiled
def projective_response(words, codes, order, dimension, upper, lower, out, extra, used):
    """Draw reports; (done, extra words used).

    A word is 32 bits for the coin and 32 for the place among the outputs in the set or outside. A
    lane whose coin tied draws both places, so that how many words it uses does not depend on the
    coin: it starts again when they run out.
    """
    tables = _tables(order, dimension)
    many_outside, many_inside = tables[0, dimension - 1], tables[1, dimension - 1]
    limit_inside = np.int64(2**32) % many_inside
    limit_outside = np.int64(2**32) % many_outside
    top = np.int64(upper >> _HALF)
    inside = np.empty(_BLOCK, np.int64)
    place = np.empty(_BLOCK, np.int64)
    scratch = np.empty((6, _BLOCK), np.int64)
    zeros = np.empty(_BLOCK, np.uint64)
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        redo = np.int64(0)
        for i in range(start, stop):
            coin = np.int64(words[i] >> _HALF)
            inside[i - start] = (coin - top) >> 63
            many = many_outside ^ ((many_outside ^ many_inside) & inside[i - start])
            limit = limit_outside ^ ((limit_outside ^ limit_inside) & inside[i - start])
            product = words[i] & _LOW
            product = product * np.uint64(many)
            place[i - start] = np.int64(product >> _HALF)
            redo |= ((coin ^ top) - 1) | (np.int64(product & _LOW) - limit)
        enough = True
        if redo < 0:
            for i in range(start, stop):
                done, used = _redo(
                    words[i], i - start, top, upper, lower, many_inside, many_outside,
                    limit_inside, limit_outside, inside, place, extra, used,
                )  # fmt: skip
                if not done:
                    stop, enough = i, False
                    break
        if stop > start:
            some = codes[start:stop]
            _solve(inside, place, some, order, tables, scratch, zeros, out[start:stop])
        if not enough:
            return stop, used
    return out.size, used


@compiled
def _redo(
    word, k, top, upper, lower, many_inside, many_outside, limit_inside, limit_outside, inside,
    place, extra, used,
):  # fmt: skip
    """Draw lane k again exactly where its coin tied or its place was rejected; (done, used)."""
    coin = np.int64(word >> _HALF)
    in_set, limit_in = np.uint64(many_inside), np.uint64(limit_inside)
    beside, limit_out = np.uint64(many_outside), np.uint64(limit_outside)
    if coin == top:
        if used + 2 > extra.size:
            return False, used
        rest = (upper << _HALF) | (lower >> _HALF)
        less = extra[used] < rest or (extra[used] == rest and extra[used + 1] < (lower << _HALF))
        first, after = _below(in_set, limit_in, extra, used + 2)
        second, after = _below(beside, limit_out, extra, after)
        if after > extra.size:
            return False, used
        inside[k] = -1 if less else 0
        place[k] = np.int64(first) if less else np.int64(second)
        return True, after
    many, limit = (in_set, limit_in) if coin < top else (beside, limit_out)
    product = (word & _LOW) * many
    if (product & _LOW) >= limit:
        return True, used
    again, after = _below(many, limit, extra, used)
    if after > extra.size:
        return False, used
    place[k] = np.int64(again)
    return True, after
