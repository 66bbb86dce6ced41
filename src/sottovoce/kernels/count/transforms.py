"""The fast Walsh-Hadamard transform."""

from __future__ import annotations

from ..compiling import compiled


@compiled
def walsh_hadamard(table):
    """Transform every row of an int64 table in place; the row length is a power of two."""
    size = table.shape[1]
    for row in range(table.shape[0]):
        half = 1
        while half < size:
            for start in range(0, size, 2 * half):
                low = table[row, start : start + half]
                high = table[row, start + half : start + 2 * half]
                for k in range(half):
                    a = low[k]
                    b = high[k]
                    low[k] = a + b
                    high[k] = a - b
            half *= 2
