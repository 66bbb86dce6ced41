"""Steps that the compiler is asked for by name: what they do, for the interpreter."""

from __future__ import annotations

import numpy as np

from .compiling import replaced

_EIGHT = np.arange(8, dtype=np.uint64)
_LOWEST = np.uint64(0x0101010101010101)


@replaced(by="intrinsics")
def wide_vectors():
    """Ask the compiler for 512-bit vectors in the function that calls this."""


@replaced(by="intrinsics")
def add_bits(lanes, at, word):
    """Add each bit of `word` to a counter of 8 bits: bit 8 j + k to byte j of lanes[at + k]."""
    lanes[int(at) : int(at) + 8] += (word >> _EIGHT) & _LOWEST
