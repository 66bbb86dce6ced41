"""Which values reports support under multiply-shift hashing.

h(c) = ((a c + b) mod 2^W) >> (W - bits), computed in 32-bit arithmetic. Numba widens integers;
the casts keep them at 32 bits, which doubles the lanes of a vector.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_BLOCK = 4096  # reports whose a and b stay in the first-level cache


@compiled(interpreted=False)
def hash_support(a, b, codes, mask, width, counts):
    """counts[v] += how many i have ((a[i] codes[v] + b[i]) & mask) < width.

    Four values per pass over a block of reports, so that a and b are loaded once for four.
    """
    wide_vectors()
    u32 = np.uint32
    one, zero = u32(1), u32(0)
    fours = codes.size // 4 * 4
    for start in range(0, a.size, _BLOCK):
        x = a[start : min(start + _BLOCK, a.size)]
        y = b[start : min(start + _BLOCK, a.size)]
        for v in range(0, fours, 4):
            c0, c1, c2, c3 = codes[v], codes[v + 1], codes[v + 2], codes[v + 3]
            n0, n1, n2, n3 = zero, zero, zero, zero
            if mask == u32(0xFFFFFFFF):
                for i in range(x.size):
                    n0 = u32(n0 + (one if u32(u32(x[i] * c0) + y[i]) < width else zero))
                    n1 = u32(n1 + (one if u32(u32(x[i] * c1) + y[i]) < width else zero))
                    n2 = u32(n2 + (one if u32(u32(x[i] * c2) + y[i]) < width else zero))
                    n3 = u32(n3 + (one if u32(u32(x[i] * c3) + y[i]) < width else zero))
            else:
                for i in range(x.size):
                    n0 = u32(n0 + (one if u32(u32(u32(x[i] * c0) + y[i]) & mask) < width else zero))
                    n1 = u32(n1 + (one if u32(u32(u32(x[i] * c1) + y[i]) & mask) < width else zero))
                    n2 = u32(n2 + (one if u32(u32(u32(x[i] * c2) + y[i]) & mask) < width else zero))
                    n3 = u32(n3 + (one if u32(u32(u32(x[i] * c3) + y[i]) & mask) < width else zero))
            counts[v] += n0
            counts[v + 1] += n1
            counts[v + 2] += n2
            counts[v + 3] += n3
        for v in range(fours, codes.size):
            total = zero
            for i in range(x.size):
                value = u32(u32(u32(x[i] * codes[v]) + y[i]) & mask)
                total = u32(total + (one if value < width else zero))
            counts[v] += total
