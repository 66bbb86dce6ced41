"""Which values reports support under multiply-shift hashing.

h(c) = ((a c + b) mod 2^W) >> (W - bits), or with codes of two halves
((a₁ c₁ + a₂ c₂ + b) mod 2^W) >> (W - bits), computed in 32-bit arithmetic. Numba widens integers;
the casts keep them at 32 bits, which doubles the lanes of a vector.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_BLOCK = 4096  # reports whose a and b stay in the first-level cache
_BLOCK_OF_PAIRS = 2048
_EVERY = np.uint32(0xFFFFFFFF)


@compiled(interpreted=False)
def hash_support(a, b, codes, mask, width, counts):
    """counts[v] += how many i have ((a[i] codes[v] + b[i]) & mask) < width."""
    wide_vectors()
    for start in range(0, b.size, _BLOCK):
        part = slice(start, min(start + _BLOCK, b.size))
        if mask == _EVERY:  # known when compiled: one step less for each report
            _add(False, a[part], a[part], b[part], codes, codes, _EVERY, width, counts)
        else:
            _add(False, a[part], a[part], b[part], codes, codes, mask, width, counts)


@compiled(interpreted=False)
def hash_support_pairs(a, b, codes, mask, width, counts):
    """counts[v] += how many i have ((a[:, i] · codes[:, v] + b[i]) & mask) < width."""
    wide_vectors()
    for start in range(0, b.size, _BLOCK_OF_PAIRS):
        part = slice(start, min(start + _BLOCK_OF_PAIRS, b.size))
        _add(True, a[0, part], a[1, part], b[part], codes[0], codes[1], mask, width, counts)


@compiled(interpreted=False, inline="always")
def _add(pairs, x, y, z, codes, seconds, mask, width, counts):
    """Four values per pass over a block of reports, so that these are loaded once for four.

    Without pairs the second halves are 0, and the compiler leaves out what is multiplied by them.
    """
    u32 = np.uint32
    one, zero = u32(1), u32(0)
    times = one if pairs else zero
    fours = counts.size // 4 * 4
    for v in range(0, fours, 4):
        c0, c1, c2, c3 = codes[v], codes[v + 1], codes[v + 2], codes[v + 3]
        d0, d1 = u32(seconds[v] * times), u32(seconds[v + 1] * times)
        d2, d3 = u32(seconds[v + 2] * times), u32(seconds[v + 3] * times)
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
    for v in range(fours, counts.size):
        total, d = zero, u32(seconds[v] * times)
        for i in range(x.size):
            value = u32(u32(u32(x[i] * codes[v]) + u32(y[i] * d)) + z[i]) & mask
            total = u32(total + (one if value < width else zero))
        counts[v] += total
