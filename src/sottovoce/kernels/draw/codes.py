"""Codes that a draw starts from: range checks, look-ups in a public grid, hashes.

Public codes in two halves are computed rather than stored, by a Feistel network of four rounds:
(high, low) becomes (low, high xor F(low)), where F mixes the half with the round's key. It is a
bijection whatever F is.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_YES = np.uint64(1)
_BLOCK = 1024


@compiled(interpreted="whole")
def _narrow_all(values, last, out):
    """Copy integers into `out`; whether one is outside 0..last."""
    bad = np.int64(0)
    for i in range(values.size):
        wide = np.int64(values[i])  # an unsigned value beyond 2^63 becomes negative
        bad |= wide | (last - wide)  # negative as soon as one of the two is
        out[i] = wide
    return bad < 0


@compiled(interpreted="blocks")
def narrow(values, size, out):
    """Copy integers into `out`; the first index whose value is outside 0..size-1, or -1."""
    last = np.int64(size - 1)
    if _narrow_all(values, last, out):
        for i in range(values.size):
            wide = np.int64(values[i])
            if wide < 0 or wide > last:
                return i
    return -1


@compiled
def positions(values, keys, out):
    """Fill `out` with where each value stands among a few keys; the first index of none, or -1.

    Values and keys are 64-bit patterns, the keys different; looked up in a table by a
    multiplicative hash, with places to spare so that most are found at once.
    """
    bits = 1
    while (1 << bits) < 4 * keys.size:
        bits += 1
    last = np.uint64((1 << bits) - 1)
    shift = np.uint64(64 - bits)
    places = np.full(1 << bits, -1, np.int64)
    for k in range(keys.size):
        at = (keys[k] * _GOLDEN) >> shift
        while places[at] >= 0:
            at = (at + _YES) & last
        places[at] = k
    for i in range(values.size):
        at = (values[i] * _GOLDEN) >> shift
        while places[at] >= 0 and keys[places[at]] != values[i]:
            at = (at + _YES) & last
        if places[at] < 0:
            return i
        out[i] = places[at]
    return -1


@compiled
def first_distinct(words, shift, seen, out, found):
    """Append words >> shift to `out`, which holds `found`, where they are new; how many it holds.

    `seen` has a bit for every possible one.
    """
    u8 = np.uint8
    for i in range(words.size):
        if found == out.size:
            break
        code = np.uint32(words[i] >> np.uint32(shift))
        place, bit = np.uintp(code >> np.uint32(3)), u8(u8(1) << u8(code & np.uint32(7)))
        if not seen[place] & bit:
            seen[place] |= bit
            out[found] = code
            found += 1
    return found


@compiled(interpreted="whole")
def _look_up(positions, public, out):
    for i in range(out.size):
        out[i] = public[np.uintp(positions[i])]


@compiled(interpreted="whole")
def _hash_block(a, b, codes, mask, shift, out):
    wide_vectors()
    u32 = np.uint32
    for i in range(out.size):
        multiplier, offset = u32(u32(a[i] | u32(1)) & mask), u32(b[i] & mask)
        a[i], b[i] = multiplier, offset
        out[i] = u32(u32(u32(u32(multiplier * codes[i]) + offset) & mask) >> shift)


@compiled(interpreted="blocks")
def hash_codes(a, b, codes, public, mask, shift, out):
    """out[i] = ((a[i] public[codes[i]] + b[i]) & mask) >> shift.

    a and b come as random words, and are made an odd number and one of so many bits in place.
    """
    room = np.empty(_BLOCK, np.uint32)  # a loop that looks up codes has no vectors
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        part, public_codes = slice(start, stop), room[: stop - start]
        _look_up(codes[part], public, public_codes)
        _hash_block(a[part], b[part], public_codes, mask, shift, out[part])


@compiled
def pair_codes(positions, keys, half, out):
    """out[0, i], out[1, i] = the two halves, of `half` bits each, of the code of positions[i].

    F is the finaliser of MurmurHash3 (Appleby, public domain) at half + key.
    """
    u32 = np.uint32
    shift, mask = u32(half), u32((1 << half) - 1)
    for i in range(positions.size):
        high = u32(u32(positions[i]) >> shift)
        low = u32(u32(positions[i]) & mask)
        for k in range(keys.size):
            x = u32(low + keys[k])
            x = u32(u32(x ^ (x >> u32(16))) * u32(0x85EBCA6B))
            x = u32(u32(x ^ (x >> u32(13))) * u32(0xC2B2AE35))
            x = u32(x ^ (x >> u32(16)))
            high, low = low, u32(high ^ u32(x & mask))
        out[0, i] = high
        out[1, i] = low


@compiled
def hash_pairs(a1, a2, b, codes, mask, shift, out):
    """out[i] = ((a1[i] codes[0, i] + a2[i] codes[1, i] + b[i]) & mask) >> shift.

    a1, a2 and b come as random words, and are cut to so many bits in place.
    """
    u32 = np.uint32
    for i in range(out.size):
        first, second, offset = u32(a1[i] & mask), u32(a2[i] & mask), u32(b[i] & mask)
        a1[i], a2[i], b[i] = first, second, offset
        total = u32(u32(first * codes[0, i]) + u32(second * codes[1, i]))
        out[i] = u32(u32(u32(total + offset) & mask) >> shift)
