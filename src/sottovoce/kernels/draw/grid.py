"""Numbers on a grid: round without bias, then answer from a window around the grid point."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_UNIT = 2.0**-53


@compiled
def window_response(words, roundings, positions, steps, window, upper, lower, out, extra, used):
    """Draw cells; (done, extra words used).

    A position in [0, 1] is rounded to i in 0..steps without bias by `roundings`. With probability
    T/2^128 the cell is uniform on i..i+window-1, else on the other `steps` cells. A word's high
    half is the coin, its low half the pick.
    """
    top = upper >> _HALF
    rest = (upper << _HALF) | (lower >> _HALF)
    last = lower << _HALF
    within, beyond = np.uint64(window), np.uint64(steps)
    least_within = np.uint64(2**32) % within  # a division: not once per person
    least_beyond = np.uint64(2**32) % beyond
    for k in range(out.size):
        scaled = positions[k] * steps
        i = np.int64(scaled)
        if np.float64(roundings[k] >> np.uint64(11)) * _UNIT < scaled - i:
            i += 1
        word = words[k]
        coin = word >> _HALF
        inside = coin < top
        at = used
        bound = within if inside else beyond
        limit = least_within if inside else least_beyond
        product = (word & _LOW) * bound
        if coin == top:
            # Tied: more bits decide. Both picks are drawn whatever they say, because a lane that
            # runs out of words starts again, and outcomes that need fewer would be favoured.
            if at + 3 > extra.size:
                return k, used
            inside = extra[at] < rest or (extra[at] == rest and extra[at + 1] < last)
            outer = (extra[at + 2] & _LOW) * beyond  # a power of two: never rejected
            at += 3
            product = np.uint64(0)
            accepted = False
            while not accepted:
                if at >= extra.size:
                    return k, used
                product = (extra[at] & _LOW) * within
                accepted = (product & _LOW) >= least_within
                at += 1
            if not inside:
                product = outer
        else:
            while (product & _LOW) < limit:
                if at >= extra.size:
                    return k, used
                product = (extra[at] & _LOW) * bound
                at += 1
        used = at
        pick = np.int64(product >> _HALF)
        if inside:
            out[k] = i + pick
        else:
            out[k] = pick if pick < i else pick + window
    return out.size, used
