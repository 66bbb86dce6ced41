"""Hadamard response: draw a report.

Outputs are (block, r): block * size + r, with `size` a power of two. The set of a value is, in its
block, every r whose bits shared with j are even in number.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import count_bits, wide_vectors

_BLOCK = 256
_LOW = np.uint64(0xFFFF)


@compiled(inline="always")
def _report(code, inside, where, r, block_bits, size_bits):
    """The output of one lane, without a branch; `inside` is -1 or 0, `where` one of the halves.

    In the own block a uniform r is made even or odd against j by flipping the lowest bit of j in
    it, which keeps it uniform.
    """
    own = inside | ((where - 1) >> 63)
    block = code & ((1 << block_bits) - 1)
    j = (code >> block_bits) + 1
    wrong = (np.int64(count_bits(j & r)) & 1) ^ (1 + inside)
    r ^= (j & -j) & -wrong & own
    other = (where - 1) >> 1
    other += 1 + ((other - block) >> 63)
    return ((other ^ ((other ^ block) & own)) << size_bits) | r


@compiled(interpreted="whole")
def _hadamard_block(words, codes, block_bits, size_bits, top, halves, limit, out):
    """A block of reports; whether some lane must be done again."""
    wide_vectors()
    redo = np.int64(0)
    r_mask = (np.int64(1) << size_bits) - 1
    for i in range(out.size):
        word = words[i]
        coin = np.int64(word >> np.uint64(48))
        product = np.int64((word >> np.uint64(32)) & _LOW) * halves
        r = np.int64(word & np.uint64(0xFFFFFFFF)) & r_mask
        inside = (coin - top) >> 63
        out[i] = _report(np.int64(codes[i]), inside, product >> 16, r, block_bits, size_bits)
        redo |= ((coin ^ top) - 1) | ((product & 0xFFFF) - limit)
    return redo < 0


@compiled(interpreted="blocks")
def hadamard_response(words, codes, block_bits, size_bits, upper, lower, out, extra, used):
    """Draw reports; (done, extra words used).

    A word is 16 bits for the coin, 16 for where a report outside the set goes, 32 for r. Outside
    the set, 2 B - 1 halves of blocks are equally likely: half 0 is the rest of the own block, the
    others are two for each other block. A block of lanes runs without branches; lanes whose coin
    tied or whose half was rejected are done again exactly.
    """
    top = np.int64(upper >> np.uint64(48))
    rest = (upper << np.uint64(16)) | (lower >> np.uint64(48))
    last = lower << np.uint64(16)
    halves = np.int64(2) * (np.int64(1) << block_bits) - 1
    limit = np.int64(2**16) % halves
    for start in range(0, out.size, _BLOCK):
        stop = min(start + _BLOCK, out.size)
        some_out = out[start:stop]
        redo = _hadamard_block(
            words[start:stop],
            codes[start:stop],
            block_bits,
            size_bits,
            top,
            halves,
            limit,
            some_out,
        )
        if not redo:
            continue
        for i in range(start, stop):
            word = words[i]
            coin = np.int64(word >> np.uint64(48))
            product = np.int64((word >> np.uint64(32)) & _LOW) * halves
            if coin != top and (product & 0xFFFF) >= limit:
                continue
            inside = (coin - top) >> 63
            at = used
            if coin == top:
                if at + 2 > extra.size:
                    return i, used
                less = extra[at] < rest or (extra[at] == rest and extra[at + 1] < last)
                inside = np.int64(-1 if less else 0)
                at += 2
            while (product & 0xFFFF) < limit:
                if at >= extra.size:
                    return i, used
                product = np.int64(extra[at] & _LOW) * halves
                at += 1
            used = at
            r = np.int64(word & np.uint64(0xFFFFFFFF)) & ((np.int64(1) << size_bits) - 1)
            code = np.int64(codes[i])
            out[i] = _report(code, inside, product >> 16, r, block_bits, size_bits)
    return out.size, used
