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

# Where the rows of a block's table begin. One array at constant distances, and not one for each
# row, lets the compiler use full vectors: it then knows that the rows do not overlap.
_INSIDE, _PLACE, _VALUE, _POWER, _OFFSET, _PICK, _PREFIX, _MISSED, _NUMBER = (
    _BLOCK * row for row in range(9)
)
_ROWS = 9 * _BLOCK


@compiled
def _inverse(divisor):
    """(multiplier, shift): x // divisor is (x * multiplier) >> shift for 0 <= x < 2^29."""
    shift = np.int64(_BITS)
    while (np.int64(1) << (shift - _BITS)) < divisor:
        shift += 1
    return ((np.int64(1) << shift) + divisor - 1) // divisor, shift


@compiled
def _solve(s, codes, order, powers, offsets, out):
    """The reports of a block's lanes: `inside` is -1 or 0, `place` which of the outputs there.

    A value ends in some zeros, of which `power` is q^zeros and `offset` (q^zeros - 1) / (q - 1).
    Coordinates of the report before the value's last 1 are the digits of `prefix`. One pass for
    each coordinate, without branches, over all lanes.
    """
    n = out.size
    length = powers.size - 2  # coordinates of a report besides the one that solves the equation
    least = np.int64(codes[0])
    for i in range(n):
        code = np.int64(codes[i])
        least = min(least, code)
        s[_NUMBER + i] = code
        s[_VALUE + i] = code - offsets[length]
        s[_POWER + i] = 1
        s[_OFFSET + i] = 0
    for zeros in range(1, length + 1):
        edge = offsets[length + 1 - zeros]  # values below it end in at least that many zeros
        if least >= edge:
            break
        before = edge - offsets[length - zeros]
        factor, more = powers[zeros] - powers[zeros - 1], powers[zeros - 1]
        for i in range(n):
            such = (s[_NUMBER + i] - edge) >> 63
            s[_VALUE + i] += before & such
            s[_POWER + i] += factor & such
            s[_OFFSET + i] += more & such
    multiplier, bits = _inverse(order - 1)
    for i in range(n):
        # Outside the set: q^zeros outputs begin at the last 1, the others miss the equation by 1 to
        # q - 1. Inside: outputs below the offset begin after it, and are orthogonal anyway.
        inside = s[_INSIDE + i]
        above = s[_PLACE + i] - s[_POWER + i]
        pick = ((above & ~(above >> 63)) * multiplier) >> bits
        s[_MISSED + i] = (1 + above - pick * (order - 1)) & ~inside
        pick ^= (pick ^ (s[_PLACE + i] - s[_OFFSET + i])) & inside
        s[_PICK + i] = pick & ~(pick >> 63)
    for i in range(n):
        # Exact: the quotient is at least 1 / (2 power) away from an integer, and since pick < 2^26
        # it is rounded by at most 2^-27 / power.
        s[_PREFIX + i] = np.int64((s[_PICK + i] + 0.5) / s[_POWER + i])
        s[_NUMBER + i] = s[_PREFIX + i] + 1
    for depth in range(1, length):  # a leading 1 and then the digits
        more = powers[depth] - offsets[depth] - powers[depth - 1] + offsets[depth - 1]
        last = offsets[depth] - 1
        for i in range(n):
            s[_NUMBER + i] += more & ((last - s[_PREFIX + i]) >> 63)
    multiplier, bits = _inverse(order)
    for _ in range(length):
        for i in range(n):
            number, value = s[_NUMBER + i], s[_VALUE + i]
            quotient = ((number & 0xFFFFFFFF) * multiplier) >> bits
            other = ((value & 0xFFFFFFFF) * multiplier) >> bits
            s[_MISSED + i] -= (number - quotient * order) * (value - other * order)
            s[_NUMBER + i] = quotient
            s[_VALUE + i] = other
    for i in range(n):
        missed, prefix = s[_MISSED + i], s[_PREFIX + i]
        power, offset = s[_POWER + i], s[_OFFSET + i]
        # What is missed less the products, modulo q; it lies between -2^28 and q - 1.
        solved = missed + (((order - 1 - missed) * multiplier) >> bits) * order
        rest = s[_PICK + i] - prefix * power
        s[_NUMBER + i] = (order * prefix + 1 + solved) * power + offset + rest
    for i in range(n):
        inside, place, offset = s[_INSIDE + i], s[_PLACE + i], s[_OFFSET + i]
        early = (place - (offset & inside) - (s[_POWER + i] & ~inside)) >> 63
        simple = place + (offset & ~inside)
        out[i] = s[_NUMBER + i] ^ ((s[_NUMBER + i] ^ simple) & early)


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
    many_outside, many_inside = powers[dimension - 1], offsets[dimension - 1]
    limit_inside = np.int64(2**32) % many_inside
    limit_outside = np.int64(2**32) % many_outside
    top = np.int64(upper >> _HALF)
    s = np.empty(_ROWS, np.int64)
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        redo = np.int64(0)
        some = words[start:stop]
        for k in range(some.size):
            coin = np.int64(some[k] >> _HALF)
            inside = (coin - top) >> 63
            many = many_outside ^ ((many_outside ^ many_inside) & inside)
            limit = limit_outside ^ ((limit_outside ^ limit_inside) & inside)
            product = (some[k] & _LOW) * np.uint64(many)
            s[_INSIDE + k] = inside
            s[_PLACE + k] = np.int64(product >> _HALF)
            redo |= ((coin ^ top) - 1) | (np.int64(product & _LOW) - limit)
        enough = True
        if redo < 0:
            for k in range(some.size):
                done, used = _redo(
                    some[k], k, top, upper, lower, many_inside, many_outside,
                    limit_inside, limit_outside, s, extra, used,
                )  # fmt: skip
                if not done:
                    stop, enough = start + k, False
                    break
        if stop > start:
            _solve(s, codes[start:stop], order, powers, offsets, out[start:stop])
        if not enough:
            return stop, used
    return out.size, used


@compiled
def _redo(
    word, k, top, upper, lower, many_inside, many_outside, limit_inside, limit_outside, s,
    extra, used,
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
        s[_INSIDE + k] = -1 if less else 0
        s[_PLACE + k] = np.int64(first) if less else np.int64(second)
        return True, after
    many, limit = (in_set, limit_in) if coin < top else (beside, limit_out)
    product = (word & _LOW) * many
    if (product & _LOW) >= limit:
        return True, used
    again, after = _below(many, limit, extra, used)
    if after > extra.size:
        return False, used
    s[_PLACE + k] = np.int64(again)
    return True, after
