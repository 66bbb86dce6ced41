"""Projective geometry: sums of counts over the hyperplanes.

Numbers of values and outputs: `kernels.draw.projective`. Coordinates of the values are settled one
after the other, from the last to the first. After some of them, the table has for every choice of
those, every beginning of an output and every z the sum over the outputs that begin like that and
need z from the coordinates to come; one more coordinate costs q additions per entry, so that all
sums take about q t K of them instead of K^2 / q: the dynamic programme of Feldman, Nelson, Nguyen,
Talwar 2022.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled

_INDEX = np.uintp
_LONG = 8  # entries that are worth a loop of their own


@compiled(interpreted=False)
def projective_sums(counts, order, dimension, sums):
    """sums[v] = Σ counts[y] over the outputs y orthogonal to v; int64 or float64."""
    outputs = counts.copy()
    table = np.empty_like(counts)
    spare = np.empty_like(counts)
    after = counts[0] - counts[0]  # outputs that begin after the value's last nonzero coordinate
    for length in range(dimension, 0, -1):  # of the value up to that coordinate, a 1
        values = 1
        start = 0  # where values of that length start, and how many outputs are one shorter
        for _ in range(length - 1):
            start += values
            values *= order
        if start < sums.size:
            support = np.empty(values, counts.dtype)
            support[0] = after
            for first in range(0, start * order, order):
                table[first] = outputs[first + 1]
                for z in range(1, order):
                    table[first + z] = outputs[first + 1 + order - z]
            width = 1
            rows = start
            while rows > 0:
                # The output that begins here: its 1 needs z to be the coordinate itself.
                for k in range(order - 1, -1, -1):
                    for i in range(width):
                        support[k * width + i] = support[i] + table[k * width + i]
                rows = (rows - 1) // order
                _settle(table, order, width, rows, spare)
                table, spare = spare, table
                width *= order
            stop = min(start + values, sums.size)
            sums[start:stop] = support[: stop - start]
        after += outputs[0]
        for y in range(start):
            total = outputs[y * order + 1]
            for z in range(1, order):
                total += outputs[y * order + 1 + z]
            outputs[y] = total


@compiled(interpreted=False)
def _settle(table, order, width, rows, spare):
    """spare[y, z, k, :] = Σ_b table[q y + 1 + b, z + k b, :] for all k: lines of every slope."""
    length = order * width
    line = np.empty(length, table.dtype)
    for y in range(rows):
        base = (y * order + 1) * length
        if width >= _LONG:
            for z in range(order):
                for k in range(order):
                    target = _INDEX(((y * order + z) * order + k) * width)
                    at = _INDEX(base + z * width)
                    for i in range(_INDEX(width)):
                        spare[target + i] = table[at + i]
                    for b in range(1, order):
                        at = _INDEX(base + b * length + (z + k * b) % order * width)
                        for i in range(_INDEX(width)):
                            spare[target + i] += table[at + i]
            continue
        for k in range(order):  # all z at a time
            for i in range(length):
                line[i] = table[base + i]
            for b in range(1, order):
                shift = (k * b) % order * width
                part = table[base + b * length : base + (b + 1) * length]
                for i in range(length - shift):
                    line[i] += part[shift + i]
                for i in range(shift):
                    line[length - shift + i] += part[i]
            for z in range(order):
                target = ((y * order + z) * order + k) * width
                for i in range(width):
                    spare[target + i] = line[z * width + i]
