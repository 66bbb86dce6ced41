"""Records: unary encodings with a budget for every person and attribute."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled

_HALF = np.uint16(32_768)
_TOP = np.uint64(48)
_UP = np.uint64(16)
_SKIP = np.uint16(0xFFFF)


@compiled
def record_bits(words, codes, steps, sizes, starts, thresholds, bits, extra, used):
    """Pack the bits of each record; returns (done, extra words used).

    `words` are 16 random bits for every bit of every record. The true value's bit is a fair coin;
    every other one is 1 when its random number is below the 128-bit threshold of the attribute's
    budget: 16 bits decide, or in a tie 112 more, whatever the outcome.
    """
    total = starts[-1]
    for i in range(codes.shape[0]):
        before = used
        for a in range(sizes.size):
            budget = steps[i, a]
            if budget == _SKIP:
                continue
            upper, lower = thresholds[budget, 0], thresholds[budget, 1]
            top = np.uint16(upper >> _TOP)
            truth = codes[i, a]
            for j in range(sizes[a]):
                place = starts[a] + j
                word = words[i * total + place]
                if j == truth:
                    one = word < _HALF
                else:
                    one = word < top
                    if word == top:
                        if used + 2 > extra.size:
                            for k in range(bits.shape[1]):
                                bits[i, k] = 0
                            return i, before
                        middle = (upper << _UP) | (lower >> _TOP)
                        one = extra[used] < middle or (
                            extra[used] == middle
                            and (extra[used + 1] >> _UP) < (lower << _UP) >> _UP
                        )
                        used += 2
                if one:
                    bits[i, place >> 3] |= np.uint8(1 << (place & 7))
    return codes.shape[0], used
