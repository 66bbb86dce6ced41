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
from ..vectors import high_half, wide_vectors
from .categories import _below

_BLOCK = 512
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SIGN = np.int32(31)
_SIXTEEN = 1 << 16

# Rows of a block's tables. One array at constant distances, and not one for each row, lets the
# compiler use full vectors: it then knows that the rows do not overlap.
_INSIDE, _PLACE, _VALUE, _POWER, _OFFSET, _PICK, _PREFIX, _MISSED, _NUMBER = range(9)
_DIGITS, _OTHERS, _SUM = range(3)

# Numbers are below 2^29, so that 32 bits hold them. A quotient is the whole part of (x + 1/2) times
# a reciprocal: exact, because (x + 1/2) / divisor is at least 1 / (2 divisor) away from a whole
# number, and rounding moves it by less than 2^-22 / divisor. Steps are inlined before they are
# compiled, and so compiled once: else they would be again in the function that calls them.


@compiled(interpreted="whole", inline="always", error_model="numpy")
def _toss(s, words, top, many_inside, many_outside, limit_inside, limit_outside):
    """Where each report lies, and whether any of them has to be drawn again."""
    wide_vectors()
    redo = np.int64(0)
    for i in range(words.size):
        coin = np.int64(words[i] >> _HALF)
        inside = (coin - top) >> 63
        many = many_outside ^ ((many_outside ^ many_inside) & inside)
        limit = limit_outside ^ ((limit_outside ^ limit_inside) & inside)
        product = (words[i] & _LOW) * np.uint64(many)
        s[_INSIDE, i] = inside
        s[_PLACE, i] = np.int64(product >> _HALF)
        redo |= ((coin ^ top) - 1) | (np.int64(product & _LOW) - limit)
    return redo < 0


@compiled(interpreted="whole", inline="always", error_model="numpy")
def _set_out(s, codes, least, order, powers, offsets):
    """The numbers whose digits are multiplied, and by what the report misses the equation.

    Of each lane, `inside` is -1 or 0 and `place` which of the outputs there. A value ends in some
    zeros, of which `power` is q^zeros and `offset` (q^zeros - 1) / (q - 1). Coordinates of the
    report before the value's last 1 are the digits of `prefix`. One pass for each coordinate,
    without branches, over all lanes.
    """
    wide_vectors()
    i32 = np.int32
    n = codes.size
    length = powers.size - 2  # coordinates of a report besides the one that solves the equation
    below = i32(order - 1)
    longest = i32(offsets[length])
    for i in range(n):
        code = i32(codes[i])
        s[_NUMBER, i] = code
        s[_VALUE, i] = i32(code - longest)
        s[_POWER, i] = i32(1)
        s[_OFFSET, i] = i32(0)
    for zeros in range(1, length + 1):
        edge = i32(offsets[length + 1 - zeros])  # values below it end in at least that many zeros
        if least >= edge:
            break
        before = i32(edge - offsets[length - zeros])
        factor, more = i32(powers[zeros] - powers[zeros - 1]), i32(powers[zeros - 1])
        for i in range(n):
            such = i32(i32(s[_NUMBER, i] - edge) >> _SIGN)
            s[_VALUE, i] = i32(s[_VALUE, i] + i32(before & such))
            s[_POWER, i] = i32(s[_POWER, i] + i32(factor & such))
            s[_OFFSET, i] = i32(s[_OFFSET, i] + i32(more & such))
    part = 1.0 / (order - 1)
    for i in range(n):
        # Outside the set: q^zeros outputs begin at the last 1, the others miss the equation by 1 to
        # q - 1. Inside: outputs below the offset begin after it, and are orthogonal anyway.
        inside, place = s[_INSIDE, i], s[_PLACE, i]
        above = i32(place - s[_POWER, i])
        above = i32(above & ~i32(above >> _SIGN))
        pick = i32((above + 0.5) * part)
        s[_MISSED, i] = i32(i32(1 + i32(above - i32(pick * below))) & ~inside)
        pick = i32(pick ^ i32(i32(pick ^ i32(place - s[_OFFSET, i])) & inside))
        pick = i32(pick & ~i32(pick >> _SIGN))
        prefix = i32((pick + 0.5) / s[_POWER, i])
        s[_PICK, i] = pick
        s[_PREFIX, i] = prefix
        s[_NUMBER, i] = i32(prefix + 1)
    for depth in range(1, length):  # a leading 1 and then the digits
        more = i32(powers[depth] - offsets[depth] - powers[depth - 1] + offsets[depth - 1])
        last = i32(offsets[depth] - 1)
        for i in range(n):
            deeper = i32(i32(last - s[_PREFIX, i]) >> _SIGN)
            s[_NUMBER, i] = i32(s[_NUMBER, i] + i32(more & deeper))


@compiled(interpreted="whole", inline="always", error_model="numpy")
def _subtract_products(s, n, order, length):
    """Subtract the digits of `number` times those of `value` from what is missed."""
    wide_vectors()
    i32 = np.int32
    part, q = 1.0 / order, i32(order)
    for _ in range(0, length):  # two bounds: not a loop over lanes
        for i in range(n):
            number, value = s[_NUMBER, i], s[_VALUE, i]
            rest, other = i32((number + 0.5) * part), i32((value + 0.5) * part)
            digit = i32(number - i32(rest * q))
            s[_MISSED, i] = i32(s[_MISSED, i] - i32(digit * i32(value - i32(other * q))))
            s[_NUMBER, i] = rest
            s[_VALUE, i] = other


@compiled(interpreted="whole", inline="always", error_model="numpy")
def _subtract_short_products(s, short, n, order, length):
    """The same with 16 bits for each digit and for the sum of the products.

    A number is cut into pieces of some digits, such that the high half of a product with
    2^16 / order, rounded up, is the quotient of a piece.
    """
    wide_vectors()
    i32, u16 = np.int32, np.uint16
    digits, piece = 0, 1
    while piece * order * (order - 1) <= _SIXTEEN:
        piece *= order
        digits += 1
    reciprocal, q = u16((_SIXTEEN + order - 1) // order), u16(order)
    part, base = 1.0 / piece, i32(piece)
    for i in range(n):
        short[_SUM, i] = u16(0)
    for done in range(0, length, digits):
        if length - done <= digits:
            for i in range(n):
                short[_DIGITS, i] = u16(s[_NUMBER, i])
                short[_OTHERS, i] = u16(s[_VALUE, i])
        else:
            for i in range(n):
                number, value = s[_NUMBER, i], s[_VALUE, i]
                rest, other = i32((number + 0.5) * part), i32((value + 0.5) * part)
                short[_DIGITS, i] = u16(i32(number - i32(rest * base)))
                short[_OTHERS, i] = u16(i32(value - i32(other * base)))
                s[_NUMBER, i] = rest
                s[_VALUE, i] = other
        for _ in range(0, min(length - done, digits)):
            for i in range(n):
                number, value = short[_DIGITS, i], short[_OTHERS, i]
                rest, other = high_half(number, reciprocal), high_half(value, reciprocal)
                digit = u16(number - u16(rest * q))
                product = u16(digit * u16(value - u16(other * q)))
                short[_SUM, i] = u16(short[_SUM, i] + product)
                short[_DIGITS, i] = rest
                short[_OTHERS, i] = other
    for i in range(n):
        s[_MISSED, i] = i32(s[_MISSED, i] - i32(short[_SUM, i]))


@compiled(interpreted="whole", inline="always", error_model="numpy")
def _solve(s, order, out):
    """The reports, once the products are subtracted from what is missed."""
    wide_vectors()
    i32 = np.int32
    q, below = i32(order), i32(order - 1)
    part = 1.0 / order
    for i in range(out.size):
        prefix, power, missed = s[_PREFIX, i], s[_POWER, i], s[_MISSED, i]
        # What is missed less the products, modulo q; it lies between -2^28 and q - 1.
        solved = i32(missed + i32(i32((i32(below - missed) + 0.5) * part) * q))
        rest = i32(s[_PICK, i] - i32(prefix * power))
        point = i32(i32(i32(i32(q * prefix) + 1) + solved) * power)
        inside, place, offset = s[_INSIDE, i], s[_PLACE, i], s[_OFFSET, i]
        number = i32(i32(point + offset) + rest)
        early = i32(i32(place - i32(i32(offset & inside) + i32(power & ~inside))) >> _SIGN)
        simple = i32(place + i32(offset & ~inside))
        out[i] = i32(number ^ i32(i32(number ^ simple) & early))


@compiled(interpreted="blocks", error_model="numpy")
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
    short_products = (dimension - 1) * (order - 1) * (order - 1) < _SIXTEEN
    s, short = np.empty((9, _BLOCK), np.int32), np.empty((3, _BLOCK), np.uint16)
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        some = words[start:stop]
        again = _toss(s, some, top, many_inside, many_outside, limit_inside, limit_outside)
        enough = True
        if again:
            for k in range(some.size):
                done, used = _redo(
                    some[k], k, top, upper, lower, many_inside, many_outside,
                    limit_inside, limit_outside, s, extra, used,
                )  # fmt: skip
                if not done:
                    stop, enough = start + k, False
                    break
        if stop > start:
            block = codes[start:stop]
            least = np.int32(block[0])
            for k in range(block.size):
                least = min(least, np.int32(block[k]))
            _set_out(s, block, least, order, powers, offsets)
            if short_products:
                _subtract_short_products(s, short, stop - start, order, dimension - 1)
            else:
                _subtract_products(s, stop - start, order, dimension - 1)
            _solve(s, order, out[start:stop])
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
        s[_INSIDE, k] = -1 if less else 0
        s[_PLACE, k] = np.int64(first) if less else np.int64(second)
        return True, after
    many, limit = (in_set, limit_in) if coin < top else (beside, limit_out)
    product = (word & _LOW) * many
    if (product & _LOW) >= limit:
        return True, used
    again, after = _below(many, limit, extra, used)
    if after > extra.size:
        return False, used
    s[_PLACE, k] = np.int64(again)
    return True, after
