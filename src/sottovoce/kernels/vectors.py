"""Steps that the compiler is asked for by name: what they do, for the interpreter."""

from __future__ import annotations

import numpy as np

from .compiling import replaced

_EIGHT = np.arange(8, dtype=np.uint64)
_LOWEST = np.uint64(0x0101010101010101)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@replaced(by="intrinsics")
def wide_vectors():
    """Ask the compiler for 512-bit vectors in the function that calls this."""


@replaced(by="intrinsics")
def add_bits(lanes, at, word):
    """Add each bit of `word` to a counter of 8 bits: bit 8 j + k to byte j of lanes[at + k]."""
    lanes[int(at) : int(at) + 8] += (word >> _EIGHT) & _LOWEST


@replaced(by="intrinsics")
def transform_eight(cells, at):
    """The Walsh-Hadamard transform of cells[at : at + 8] in place."""
    eight = cells[int(at) : int(at) + 8].reshape(2, 2, 2)
    for axis in (2, 1, 0):
        a, b = np.moveaxis(eight, axis, 0).copy()
        sums = np.moveaxis(eight, axis, 0)
        sums[0], sums[1] = a + b, a - b


@replaced(by="intrinsics")
def count_bits(word):
    """How many bits of an unsigned integer are set."""
    return np.bitwise_count(word).astype(word.dtype)


@replaced(by="intrinsics")
def compare_planes(words, at, stride, planes, threshold, less, equal, to):
    """Compare 2,048 random numbers, spread over bit planes, with the top bits of a threshold."""
    lower, same = np.zeros(32, np.uint64), np.full(32, _ALL)
    for plane in range(int(planes) - 1, -1, -1):
        bit = _ALL if (int(threshold) >> (63 - plane)) & 1 else np.uint64(0)
        start = int(at) + plane * int(stride)
        zero = ~words[start : start + 32]
        lower = (bit & zero) | (lower & (bit | zero))
        same &= bit ^ zero
    less[int(to) : int(to) + 32] = lower
    equal[int(to) : int(to) + 32] = same


@replaced(by="intrinsics")
def add_sixteens(words, at, stride, groups, planes, low, gap, carry, to, ahead, apart):
    """Add groups of sixteen rows of eight words to counters that are spread over bit planes."""
    for group in range(int(groups)):
        first, end = int(at) + 16 * group * int(stride), int(to) + group * int(gap)
        over = [words[first + r * int(stride) :][:8] for r in range(16)]
        for level in range(4):
            total = planes[int(low) + level * int(gap) :][:8]
            for k in range(0, len(over), 2):
                a, b, c = over[k], over[k + 1], total.copy()
                total[:] = a ^ b ^ c
                over[k // 2] = (a & b) | (c & (a | b))
            over = over[: len(over) // 2]
        carry[end : end + 8] = over[0]


@replaced(by="intrinsics")
def high_half(x, y):
    """The upper 16 of the 32 bits of a product of two numbers of 16 bits."""
    return np.uint16((np.uint32(x) * np.uint32(y)) >> np.uint32(16))
