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
_MOST_BY_NUMPY = 1 << 22  # compiling takes more than three seconds
_MOST_ADDITIONS = 1 << 24  # for each coordinate


def _sums_by_numpy(counts, order, dimension, sums):
    if order * counts.size > _MOST_ADDITIONS:
        return projective_sums.code(counts, order, dimension, sums)
    order, dimension, many = int(order), int(dimension), counts.shape[1]
    z = np.arange(order)
    outputs, after = counts, np.zeros(many, counts.dtype)
    for length in range(dimension, 0, -1):
        values = order ** (length - 1)
        start = (values - 1) // (order - 1)
        children = outputs[1 : 1 + start * order].reshape(start, order, many)
        if start < len(sums):
            support, table = after, children[:, -z % order]
            for _ in range(length - 1):
                width = support.size
                support = (support + table[0]).ravel()
                rows = (len(table) - 1) // order
                if rows == 0:
                    break
                below = table[1 : 1 + rows * order].reshape(rows, order, order, width)
                lines = below[:, 0, np.repeat(z, order)]
                for b in range(1, order):
                    lines += below[:, b, (np.repeat(z, order) + np.tile(z, order) * b) % order]
                table = lines.reshape(rows, order, order * width)
            stop = min(start + values, len(sums))
            sums[start:stop] = support.reshape(values, many)[: stop - start]
        after = after + outputs[0]
        outputs = _one_by_one(children)
    return None


def _one_by_one(children):
    """Sums over the second axis in the order of the compiled loop."""
    total = children[:, 0].copy()
    for z in range(1, children.shape[1]):
        total += children[:, z]
    return total


@compiled(interpreted=_sums_by_numpy, most=_MOST_BY_NUMPY)
def projective_sums(counts, order, dimension, sums):
    """sums[v, :] = Σ counts[y, :] over the outputs y orthogonal to v; integers or floats.

    Columns are other counts of the same outputs; they are the last axis of every table.
    """
    many = counts.shape[1]
    outputs = counts.copy().reshape(counts.size)
    table = np.empty(counts.size, counts.dtype)
    spare = np.empty(counts.size, counts.dtype)
    after = np.zeros(many, counts.dtype)  # outputs that begin after the value's last nonzero one
    for length in range(dimension, 0, -1):  # of the value up to that coordinate, a 1
        values = 1
        start = 0  # where values of that length start, and how many outputs are one shorter
        for _ in range(length - 1):
            start += values
            values *= order
        if start < len(sums):
            support = np.empty(values * many, counts.dtype)
            support[:many] = after
            for z in range(order):
                to, origin = z * many, (1 + (order - z if z else 0)) * many
                for y in range(0, start * order * many, order * many):
                    for i in range(y, y + many):
                        table[to + i] = outputs[origin + i]
            width = many
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
            stop = min(start + values, len(sums))
            sums[start:stop] = support.reshape(values, many)[: stop - start]
        after += outputs[:many]
        for y in range(start):
            first = (y * order + 1) * many
            for i in range(many):
                total = outputs[first + i]
                for z in range(1, order):
                    total += outputs[first + z * many + i]
                outputs[y * many + i] = total


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
