"""Projective geometry response: draw a report.

Vectors of length t over the integers modulo a prime q. A value is a vector whose last nonzero
coordinate is 1; one whose last n coordinates are 0 has its other t - n - 1 coordinates as the
digits of a number, and all those with n = 0 come first, then n = 1 and so on. An output is a vector
whose first nonzero coordinate is 1, numbered like the nodes of a heap: output y followed by the
coordinate u is output q y + 1 + u, and 0 is a single 1. The set of a value is every output that is
orthogonal to it. Since coordinate m = t - n of a value is 1, the others of a report can be chosen
freely and coordinate m solves the equation, so that no vector ever has to be scaled.
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
def _solve(inside, place, codes, order, dimension, powers, offsets, out):
    """The reports of some lanes: `inside` is -1 or 0, `place` which of the outputs there.

    Coordinates before m are the digits of `prefix`, those after m are `rest`; one pass for each
    coordinate, without branches, over all lanes.
    """
    n = out.size
    value = np.empty(n, np.int64)
    power = np.empty(n, np.int64)
    offset = np.empty(n, np.int64)
    turn = np.empty(n, np.int64)
    shift = np.empty(n, np.int64)
    for i in range(n):
        value[i] = codes[i]
        power[i] = 1
        offset[i] = 0
        turn[i] = np.int64(1) << _BITS
        shift[i] = _BITS
    largest = np.int64(0)
    for i in range(n):
        largest = max(largest, value[i])
    start = powers[dimension - 1]
    for zeros in range(1, dimension):  # which values end in that many zeros
        if largest < start:
            break
        size, low = powers[zeros], offsets[zeros]
        multiplier, bits = _inverse(size)
        before = powers[dimension - zeros]
        for i in range(n):
            such = (start - 1 - np.int64(codes[i])) >> 63
            value[i] -= before & such
            power[i] ^= (power[i] ^ size) & such
            offset[i] ^= (offset[i] ^ low) & such
            turn[i] ^= (turn[i] ^ multiplier) & such
            shift[i] ^= (shift[i] ^ bits) & such
        start += powers[dimension - 1 - zeros]
    prefix = np.empty(n, np.int64)
    rest = np.empty(n, np.int64)
    total = np.empty(n, np.int64)
    multiplier, bits = _inverse(order - 1)
    for i in range(n):
        # Outside the set: q^n outputs begin at coordinate m, the others miss the equation by 1 to
        # q - 1. Inside: outputs below the offset begin after m, and are orthogonal anyway.
        above = place[i] - power[i]
        pick = ((above & ~(above >> 63)) * multiplier) >> bits
        missed = 1 + above - pick * (order - 1)
        total[i] = missed & ~inside[i]
        pick ^= (pick ^ (place[i] - offset[i])) & inside[i]
        pick &= ~(pick >> 63)
        prefix[i] = (pick * turn[i]) >> shift[i]
        rest[i] = pick - prefix[i] * power[i]
    number = np.empty(n, np.int64)
    for i in range(n):
        number[i] = prefix[i] + 1
    for depth in range(1, dimension - 1):  # a leading 1 and then the digits
        more = powers[depth] - offsets[depth] - powers[depth - 1] + offsets[depth - 1]
        least = offsets[depth] - 1
        for i in range(n):
            number[i] += more & ((least - prefix[i]) >> 63)
    dot = np.zeros(n, np.int64)
    multiplier, bits = _inverse(order)
    for _ in range(dimension - 1):
        for i in range(n):
            quotient = ((number[i] & 0xFFFFFFFF) * multiplier) >> bits
            other = ((value[i] & 0xFFFFFFFF) * multiplier) >> bits
            dot[i] += (number[i] - quotient * order) * (value[i] - other * order)
            number[i] = quotient
            value[i] = other
    for i in range(n):
        residue = dot[i] - ((dot[i] * multiplier) >> bits) * order
        solved = total[i] - residue
        solved += order & (solved >> 63)
        report = (order * prefix[i] + 1 + solved) * power[i] + offset[i] + rest[i]
        early = (place[i] - (offset[i] & inside[i]) - (power[i] & ~inside[i])) >> 63
        simple = place[i] + (offset[i] & ~inside[i])
        out[i] = report ^ ((report ^ simple) & early)


@compiled
def projective_response(words, codes, order, dimension, upper, lower, out, extra, used):
    """Draw reports; (done, extra words used).

    A word is 32 bits for the coin and 32 for the place among the outputs in the set or outside. A
    lane whose coin tied draws both places, so that how many words it uses does not depend on the
    coin: it starts again when they run out.
    """
    powers = np.ones(dimension + 1, np.int64)
    offsets = np.zeros(dimension + 1, np.int64)
    for k in range(dimension):
        powers[k + 1] = powers[k] * order
        offsets[k + 1] = offsets[k] * order + 1
    many_inside, many_outside = offsets[dimension - 1], powers[dimension - 1]
    limit_inside = np.int64(2**32) % many_inside
    limit_outside = np.int64(2**32) % many_outside
    top = np.int64(upper >> _HALF)
    inside = np.empty(_BLOCK, np.int64)
    place = np.empty(_BLOCK, np.int64)
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
        size = stop - start
        _solve(
            inside[:size], place[:size], codes[start:stop], order, dimension, powers, offsets,
            out[start:stop],
        )  # fmt: skip
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
        less = extra[used] < rest or (
            extra[used] == rest and extra[used + 1] < (lower << _HALF)
        )
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
