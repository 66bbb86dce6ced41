"""Public codes of values in two halves, computed rather than stored.

A Feistel network of four rounds over pairs of halves: (high, low) becomes (low, high xor F(low)),
where F mixes the half with the round's key. It is a bijection whatever F is.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled


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
