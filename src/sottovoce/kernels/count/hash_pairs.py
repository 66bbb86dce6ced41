"""Which values reports support under multiply-shift hashing of codes in two halves.

h(c) = ((a₁ c₁ + a₂ c₂ + b) mod 2^W) >> (W - bits), computed in 32-bit arithmetic; the casts keep
numba from widening, as in `hashes`.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_BLOCK = 2048  # reports whose a and b stay in the first-level cache


@compiled(interpreted=False)
def hash_support_pairs(a, b, codes, mask, width, counts):
    """counts[v] += how many i have ((a[:, i] · codes[:, v] + b[i]) & mask) < width.

    Four values per pass over a block of reports, so that a and b are loaded once for four.
    """
    wide_vectors()
    u32 = np.uint32
    one, zero = u32(1), u32(0)
    many = counts.size
    fours = many // 4 * 4
    for start in range(0, b.size, _BLOCK):
        stop = min(start + _BLOCK, b.size)
        x, y, z = a[0, start:stop], a[1, start:stop], b[start:stop]
        for v in range(0, fours, 4):
            c0, c1, c2, c3 = codes[0, v], codes[0, v + 1], codes[0, v + 2], codes[0, v + 3]
            d0, d1, d2, d3 = codes[1, v], codes[1, v + 1], codes[1, v + 2], codes[1, v + 3]
            n0, n1, n2, n3 = zero, zero, zero, zero
            for i in range(x.size):
                h0 = u32(u32(u32(x[i] * c0) + u32(y[i] * d0)) + z[i]) & mask
                h1 = u32(u32(u32(x[i] * c1) + u32(y[i] * d1)) + z[i]) & mask
                h2 = u32(u32(u32(x[i] * c2) + u32(y[i] * d2)) + z[i]) & mask
                h3 = u32(u32(u32(x[i] * c3) + u32(y[i] * d3)) + z[i]) & mask
                n0 = u32(n0 + (one if h0 < width else zero))
                n1 = u32(n1 + (one if h1 < width else zero))
                n2 = u32(n2 + (one if h2 < width else zero))
                n3 = u32(n3 + (one if h3 < width else zero))
            counts[v] += n0
            counts[v + 1] += n1
            counts[v + 2] += n2
            counts[v + 3] += n3
        for v in range(fours, many):
            total = zero
            for i in range(x.size):
                value = u32(u32(u32(x[i] * codes[0, v]) + u32(y[i] * codes[1, v])) + z[i]) & mask
                total = u32(total + (one if value < width else zero))
            counts[v] += total
