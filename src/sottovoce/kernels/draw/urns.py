"""Pólya's urn: how many of so many balls go to one share."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ALL = np.uint64(2**32)


@compiled
def fill_urns(balls, parts, hits, done_balls, start, extra, used):
    """Put every ball of every urn; returns (urns done, extra words used).

    Ball i = 1, 2, … hits with probability (1/parts + h)/i, h being the hits so far: a uniform
    integer below parts·i is below 1 + parts·h. Bounds up to 2^32 take the lower half of a word by
    multiply-shift, with rejection (Lemire 2019); larger ones the upper bits of a word, with
    rejection. An urn that runs out of words keeps its balls, and goes on with the next call,
    `start` being the urns done. A rejected word carries nothing over, so that running out favours
    no outcome.
    """
    for urn in range(start, balls.size):
        total, h, i = balls[urn], hits[urn], done_balls[urn]
        while i < total:
            if used == extra.size:
                hits[urn], done_balls[urn] = h, i
                return urn, used
            word = extra[used]
            used += 1
            bound = np.uint64(parts * (i + 1))
            if bound <= _ALL:
                product = (word & _LOW) * bound
                low = product & _LOW
                if low < bound and low < _ALL % bound:
                    continue
                value = product >> _HALF
            else:
                shift, most = np.uint64(0), bound - np.uint64(1)
                while (most << shift) >> np.uint64(63) == 0:
                    shift += np.uint64(1)
                value = word >> shift
                if value >= bound:
                    continue
            if value < np.uint64(1 + parts * h):
                h += 1
            i += 1
        hits[urn], done_balls[urn] = h, i
    return balls.size, used
