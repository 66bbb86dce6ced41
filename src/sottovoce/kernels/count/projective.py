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


@compiled(interpreted=False)
def projective_sums(counts, order, dimension, sums):
    """sums[v] = Σ counts[y] over the outputs y orthogonal to v; int64 or float64."""
    outputs = counts.copy()
    table = np.empty_like(counts)
    spare = np.empty_like(counts)
    line = np.empty_like(counts)
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
            for y in range(start):
                for z in range(order):
                    table[y * order + z] = outputs[y * order + 1 + (order - z) % order]
            width = 1
            rows = start
            while rows > 0:
                # The output that begins here: its 1 needs z to be the coordinate itself.
                for k in range(order - 1, -1, -1):
                    for i in range(width):
                        support[k * width + i] = support[i] + table[k * width + i]
                rows = (rows - 1) // order
                _settle(table, order, width, rows, line, spare)
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
def _settle(table, order, width, rows, line, spare):
    """spare[y, z, k, :] = Σ_b table[q y + 1 + b, z + k b, :] for all k: lines of every slope."""
    length = order * width
    for y in range(rows):
        for k in range(order):
            base = (y * order + 1) * length
            for i in range(length):
                line[i] = table[base + i]
            for b in range(1, order):
                base = (y * order + 1 + b) * length
                shift = (k * b) % order * width
                first = table[base + shift : base + length]
                for i in range(length - shift):
                    line[i] += first[i]
                last = line[length - shift : length]
                for i in range(shift):
                    last[i] += table[base + i]
            for z in range(order):
                target = spare[((y * order + z) * order + k) * width :]
                part = line[z * width :]
                for i in range(width):
                    target[i] = part[i]
