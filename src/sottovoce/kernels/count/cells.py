"""The expectation step over the cells of a table.

How likely a pattern is under a cell depends only on which of the cell's bits the pattern has set,
so the masses of the 2^k combinations are enough. They are summed over one axis after the other:
the cells divide into those whose bit is 0 and those whose bit is 1, and patterns that agree on the
first axes share these sums. Where many patterns follow, the sums of all subsets of each four
values are computed first, so that an axis of l values costs l / 4 additions of rows instead of l
("four Russians": Arlazarov, Dinic, Kronrod and Faradžev 1970). What each combination is owed goes
the same way back, transposed.

Layout: axis a has rows [value a][values of the axes after it][fit][bits of the axes before it], so
that one row is one run of numbers. Rows are read and written eight numbers at a time, which may
touch the next ones: what is read there is not used, and what is added there is 0.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..lanes import (
    choose,
    evens,
    fill,
    first_mixed,
    lane0,
    lane1,
    lane2,
    lane3,
    lane4,
    lane5,
    lane6,
    lane7,
    lanes,
    load,
    odds,
    second_mixed,
    store,
    swap_four,
    swap_one,
    swap_two,
)

_LEAST = 1e-300
_WORTH_SUBSETS = 4  # patterns of an axis for each of the axes before it


@compiled(interpreted=False, inline="always")
def _subset_sums_of(rows, start, size, width, wide, at):
    for g in range((size + 3) // 4):
        for u in range(0, wide, 8):
            row, to = start + 4 * g * width + u, at + 16 * g * wide + u
            a, b = load(rows, row), load(rows, row + width)
            c, d = load(rows, row + 2 * width), load(rows, row + 3 * width)
            store(rows, to, fill(0.0))
            store(rows, to + wide, a)
            store(rows, to + 2 * wide, b)
            store(rows, to + 3 * wide, a + b)
            for s in range(4):
                store(rows, to + (s + 4) * wide, load(rows, to + s * wide) + c)
            for s in range(8):
                store(rows, to + (s + 8) * wide, load(rows, to + s * wide) + d)


@compiled(interpreted=False)
def _subset_sums(rows, start, size, width, wide, at):
    """The sums of all 16 subsets of each four rows."""
    if width == 8:  # known when compiled: half the time
        _subset_sums_of(rows, start, size, 8, 8, at)
    else:
        _subset_sums_of(rows, start, size, width, wide, at)


@compiled(interpreted=False, inline="always")
def _complement(code, g, size):
    """The other values of group g."""
    return code ^ ((1 << min(4, size - 4 * g)) - 1)


@compiled(interpreted=False)
def _add_up(rows, size, wide, at):
    """The sum of all rows, behind those of their subsets."""
    groups = (size + 3) // 4
    for u in range(0, wide, 8):
        total = fill(0.0)
        for g in range(groups):
            total = total + load(rows, at + (16 * g + _complement(0, g, size)) * wide + u)
        store(rows, at + 16 * groups * wide + u, total)


@compiled(interpreted=False)
def _add_to_all(rows, at, size, width, wide, start):
    """Each row += what all are owed, which is then 0."""
    total = at + 16 * ((size + 3) // 4) * wide
    for u in range(0, wide, 8):
        every = load(rows, total + u)
        store(rows, total + u, fill(0.0))
        for v in range(size):
            row = start + v * width + u
            store(rows, row, load(rows, row) + every)


@compiled(interpreted=False, inline="always")
def _add_subsets_of(rows, at, size, width, wide, start):
    nothing = fill(0.0)
    for g in range((size + 3) // 4):
        for u in range(0, wide, 8):
            row, of = start + 4 * g * width + u, at + 16 * g * wide + u
            a = b = c = d = nothing
            for s in range(4):
                x, y = load(rows, of + (4 * s + 1) * wide), load(rows, of + (4 * s + 2) * wide)
                z = load(rows, of + (4 * s + 3) * wide)
                a = a + x + z
                b = b + y + z
                t = load(rows, of + 4 * s * wide) + x + y + z
                if s & 1:
                    c = c + t
                if s & 2:
                    d = d + t
            for s in range(16):
                store(rows, of + s * wide, nothing)
            store(rows, row, load(rows, row) + a)
            store(rows, row + width, load(rows, row + width) + b)
            store(rows, row + 2 * width, load(rows, row + 2 * width) + c)
            store(rows, row + 3 * width, load(rows, row + 3 * width) + d)


@compiled(interpreted=False)
def _add_subsets(rows, at, size, width, wide, start):
    """Each row += what its subsets are owed, which is then 0."""
    if width == 8:
        _add_subsets_of(rows, at, size, 8, 8, start)
    else:
        _add_subsets_of(rows, at, size, width, wide, start)


@compiled(interpreted=False, inline="always")
def _mask(codes, i, first, v):
    """−1 where the bit of value v is set, else 0."""
    return -((np.int64(codes[i, first + (v >> 2)]) >> (v & 3)) & 1)


@compiled(interpreted=False, inline="always")
def _split(subsets, rows, start, codes, i, first, size, width, wide, u):
    """The sums of the rows whose bit is 0, and of those whose bit is 1."""
    nothing = fill(0.0)
    zero = one = nothing
    if subsets:
        for g in range((size + 3) // 4):
            code = np.int64(codes[i, first + g])
            zero = zero + load(rows, start + (16 * g + _complement(code, g, size)) * wide + u)
            one = one + load(rows, start + (16 * g + code) * wide + u)
    else:
        for v in range(size):
            row, mask = load(rows, start + v * width + u), _mask(codes, i, first, v)
            zero = zero + choose(mask, nothing, row)
            one = one + choose(mask, row, nothing)
    return zero, one


@compiled(interpreted=False, inline="always")
def _join(subsets, rows, start, codes, i, first, size, width, wide, u, zero, one):
    """The transposed step: rows += zero or one by their bit."""
    if subsets:
        for g in range((size + 3) // 4):
            code = np.int64(codes[i, first + g])
            unset = start + (16 * g + _complement(code, g, size)) * wide + u
            at = start + (16 * g + code) * wide + u
            store(rows, unset, load(rows, unset) + zero)
            store(rows, at, load(rows, at) + one)
    else:
        for v in range(size):
            at = start + v * width + u
            store(rows, at, load(rows, at) + choose(_mask(codes, i, first, v), one, zero))


@compiled(interpreted=False, inline="always")
def _find(codes, i, first, size, start, wide, places):
    """Where the sums of a pattern's values in each group of four are, and then that of all."""
    groups = (size + 3) // 4
    for g in range(groups):
        places[g] = start + (16 * g + np.int64(codes[i, first + g])) * wide
    places[groups] = start + 16 * groups * wide


@compiled(interpreted=False)
def _down(subsets, rows, start, codes, i, first, size, width, wide, to, places):
    """The rows of the next axis, from those of one axis and a pattern's bits on it."""
    groups = (size + 3) // 4
    if subsets:
        _find(codes, i, first, size, start, wide, places)
    for u in range(0, wide, 8):
        zero = one = fill(0.0)
        if subsets:  # what is not in the one sum is in the other
            for g in range(groups):
                one = one + load(rows, places[g] + u)
            zero = max(load(rows, places[groups] + u) - one, zero)
        else:
            zero, one = _split(False, rows, start, codes, i, first, size, width, wide, u)
        store(rows, to + 2 * u, first_mixed(zero, one))
        store(rows, to + 2 * u + 8, second_mixed(zero, one))


@compiled(interpreted=False)
def _up(subsets, rows, start, codes, i, first, size, width, wide, of, places):
    """What the rows of the next axis are owed goes to those of one axis, and is then 0."""
    groups = (size + 3) // 4
    if subsets:
        _find(codes, i, first, size, start, wide, places)
    for u in range(0, wide, 8):
        x, y = load(rows, of + 2 * u), load(rows, of + 2 * u + 8)
        zero, one = evens(x, y), odds(x, y)
        store(rows, of + 2 * u, fill(0.0))
        store(rows, of + 2 * u + 8, fill(0.0))
        if subsets:
            store(rows, places[groups] + u, load(rows, places[groups] + u) + zero)
            more = one - zero
            for g in range(groups):
                store(rows, places[g] + u, load(rows, places[g] + u) + more)
        else:
            _join(False, rows, start, codes, i, first, size, width, wide, u, zero, one)


@compiled(interpreted=False, inline="always")
def _patterns_of(
    subsets, rows, owed, start, codes, begin, end, first, size, half, leaf, law, laws, counts, d, f
):
    most = counts.shape[0] - 1
    f1, f2, f3, f4 = min(f + 1, most), min(f + 2, most), min(f + 3, most), min(f + 4, most)
    f5, f6, f7 = min(f + 5, most), min(f + 6, most), min(f + 7, most)
    least = fill(_LEAST)
    for i in range(begin, end):
        at = law[i] * 2 * leaf
        t = fill(0.0)
        for u in range(0, leaf, 8):
            zero, one = _split(subsets, rows, start, codes, i, first, size, leaf, leaf, u)
            t = t + load(laws, at + u) * zero + load(laws, at + leaf + u) * one
        # Each fit's density in all of its lanes, and its counts likewise.
        w = fill(counts[f, i])
        if half >= 8:
            t = t + swap_one(t, t)
            t = t + swap_two(t, t)
            t = max(t + swap_four(t, t), least)
        elif half == 4:
            t = t + swap_one(t, t)
            t = max(t + swap_two(t, t), least)
            x, y = counts[f, i], counts[f1, i]
            w = lanes(x, x, x, x, y, y, y, y)
            d[f1, i] = lane4(t)
        elif half == 2:
            t = max(t + swap_one(t, t), least)
            x, y, z, v = counts[f, i], counts[f1, i], counts[f2, i], counts[f3, i]
            w = lanes(x, x, y, y, z, z, v, v)
            d[f1, i], d[f2, i], d[f3, i] = lane2(t), lane4(t), lane6(t)
        else:
            t = max(t, least)
            x, y, z, v = counts[f4, i], counts[f5, i], counts[f6, i], counts[f7, i]
            w = lanes(counts[f, i], counts[f1, i], counts[f2, i], counts[f3, i], x, y, z, v)
            d[f1, i], d[f2, i], d[f3, i], d[f4, i] = lane1(t), lane2(t), lane3(t), lane4(t)
            d[f5, i], d[f6, i], d[f7, i] = lane5(t), lane6(t), lane7(t)
        d[f, i] = lane0(t)
        w = w / t
        for u in range(0, leaf, 8):
            zero, one = load(laws, at + u) * w, load(laws, at + leaf + u) * w
            _join(subsets, owed, start, codes, i, first, size, leaf, leaf, u, zero, one)


@compiled(interpreted=False)
def _patterns(
    subsets, rows, owed, start, codes, begin, end, first, size, half, law, laws, counts, d, f
):
    """Densities of patterns that differ on the last axis only, and what its rows are owed."""
    if half > 8:
        _patterns_of(
            False, rows, owed, start, codes, begin, end, first, size, half, half, law, laws,
            counts, d, f,
        )  # fmt: skip
    elif subsets:  # known when compiled: a third of the time
        _patterns_of(
            True, rows, owed, start, codes, begin, end, first, size, half, 8, law, laws, counts, d,
            f,
        )  # fmt: skip
    else:
        _patterns_of(
            False, rows, owed, start, codes, begin, end, first, size, half, 8, law, laws, counts, d,
            f,
        )  # fmt: skip


@compiled(interpreted=False)
def expected_cells(codes, change, law, laws, sizes, p, counts, back, densities, begin_at, end_at):
    """densities = max(L p, 1e-300) and back += Lᵀ(counts / densities), for each of several fits.

    Parameters
    ----------
    codes : uint8, patterns × groups; the bits of each four values of an axis, the first lowest
    change : patterns; the first axis on which a pattern differs from the one before it, or more
        than the last for none; patterns come sorted, the first axis varying least
    law : patterns; which row of `laws` they have
    laws : different × 2 × max(8, 2^(k−1)); the likelihood for the last axis's bit and for the bits
        of the others, the first axis the highest; repeated for each fit where these are fewer
        than eight
    p, back : fits × cells
    counts, densities : fits × patterns
    begin_at, end_at : int; the patterns to work on
    """
    axes, many = sizes.size, p.shape[0]
    last, half = axes - 1, 1 << (axes - 1)
    fits = max(1, 8 // half)
    width, wide = np.full(axes, fits), np.zeros(axes, np.int64)  # of a row; in whole eights
    first = np.zeros(axes + 1, np.int64)  # where the codes of an axis begin,
    begin = np.zeros(axes + 1, np.int64)  # its rows,
    room = np.zeros(axes + 1, np.int64)  # and their subsets
    for a in range(axes):
        for b in range(a + 1, axes):
            width[a] *= sizes[b]
        width[a] <<= a
        wide[a] = (width[a] + 7) // 8 * 8
        groups = (sizes[a] + 3) // 4
        first[a + 1] = first[a] + groups
        begin[a + 1] = begin[a] + 4 * groups * width[a] + 16
        room[a + 1] = room[a] + (16 * groups + 1) * wide[a]
    changes = np.zeros(axes + 1, np.int64)
    for i in range(begin_at, end_at):
        changes[change[i] if i > begin_at else 0] += 1
    subsets, start = np.zeros(axes, np.bool_), np.zeros(axes, np.int64)
    before = patterns = 0
    for a in range(axes):
        before, patterns = max(1, patterns), patterns + changes[a]
        if a == last:
            patterns = end_at - begin_at
        subsets[a] = patterns >= _WORTH_SUBSETS * before and (a < last or half <= 8)
        room[a] += begin[axes]
        start[a] = room[a] if subsets[a] else begin[a]
    room[axes] += begin[axes]
    # Apart by less than a page, so that reading one does not wait for writing the other.
    rows, owed = np.zeros(room[axes]), np.zeros(room[axes] + 264)[264:]
    flat, places = laws.reshape(-1), np.zeros(first[axes] + 1, np.int64)
    for f in range(0, many, fits):
        for c in range(p.shape[1]):
            for k in range(fits):
                rows[c * fits + k] = p[min(f + k, many - 1), c]
        if subsets[0]:
            _subset_sums(rows, begin[0], sizes[0], width[0], wide[0], room[0])
            _add_up(rows, sizes[0], wide[0], room[0])
        i = begin_at
        while i < end_at:
            for a in range(change[i] if i > begin_at else 0, last):
                b = a + 1
                _down(
                    subsets[a], rows, start[a], codes, i, first[a], sizes[a], width[a], wide[a],
                    begin[b], places,
                )  # fmt: skip
                if subsets[b]:
                    _subset_sums(rows, begin[b], sizes[b], width[b], wide[b], room[b])
                    if b < last:
                        _add_up(rows, sizes[b], wide[b], room[b])
            end = i + 1
            while end < end_at and change[end] >= last:
                end += 1
            _patterns(
                subsets[last], rows, owed, start[last], codes, i, end, first[last], sizes[last],
                half, law, flat, counts, densities, f,
            )  # fmt: skip
            for b in range(last, change[end] if end < end_at else 0, -1):
                a = b - 1
                if subsets[b]:
                    _add_subsets(owed, room[b], sizes[b], width[b], wide[b], begin[b])
                    if b < last:
                        _add_to_all(owed, room[b], sizes[b], width[b], wide[b], begin[b])
                _up(
                    subsets[a], owed, start[a], codes, i, first[a], sizes[a], width[a], wide[a],
                    begin[b], places,
                )  # fmt: skip
            i = end
        if subsets[0]:
            _add_subsets(owed, room[0], sizes[0], width[0], wide[0], begin[0])
            if last > 0:
                _add_to_all(owed, room[0], sizes[0], width[0], wide[0], begin[0])
        for c in range(p.shape[1]):
            for k in range(fits):
                if f + k < many:
                    back[f + k, c] += owed[c * fits + k]
                owed[c * fits + k] = 0.0
