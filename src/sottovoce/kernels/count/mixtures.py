"""The expectation step of mixtures: of a few components, and of the cells of a table."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_LEAST = 1e-300
_FAST = {"reassoc", "contract", "nsz"}


@compiled(interpreted=False, fastmath=_FAST)
def expected_weights(law, weights, counts, back):
    """back = lawᵀ(counts / max(law weights, 1e-300)), each row of `law` read once."""
    wide_vectors()
    back[:] = 0.0
    for i in range(law.shape[0]):
        total = 0.0
        for j in range(weights.size):
            total += law[i, j] * weights[j]
        scale = counts[i] / max(total, _LEAST)
        for j in range(weights.size):
            back[j] += scale * law[i, j]


@compiled(interpreted=False, fastmath=_FAST)
def _gather(above, below, bits, cells, size, inner):
    """below[c, bit of v, u] += above[c, v, u], from zero."""
    wide_vectors()
    below[: cells * 2 * inner] = 0.0
    for c in range(cells):
        for v in range(size):
            source = (c * size + v) * inner
            target = (c * 2 + bits[v]) * inner
            for u in range(inner):
                below[target + u] += above[source + u]


@compiled(interpreted=False, fastmath=_FAST)
def _scatter(below, above, bits, cells, size, inner):
    """above[c, v, u] += below[c, bit of v, u]; then below is zero again."""
    wide_vectors()
    for c in range(cells):
        for v in range(size):
            target = (c * size + v) * inner
            source = (c * 2 + bits[v]) * inner
            for u in range(inner):
                above[target + u] += below[source + u]
    below[: cells * 2 * inner] = 0.0


@compiled(interpreted=False, fastmath=_FAST)
def expected_cells(bits, change, values, sizes, starts, p, counts, back, densities):
    """One expectation step over the cells of a table for `many` distributions at once.

    How likely a pattern is under a cell depends only on which of the cell's bits are set, so the
    masses of the 2^k combinations are enough; patterns come sorted with the last axis varying
    least, and share the sums over the axes that did not change.

    Parameters
    ----------
    bits : uint8, patterns × all bits
    change : patterns; the last axis on which a pattern differs from the one before, −1 for none
    values : patterns × 2^k, the likelihood for each combination, the first axis the highest bit
    p, back : cells × many
    counts, densities : patterns × many; densities = max(L p, 1e-300),
        back += Lᵀ(counts / densities)
    """
    axes, many = sizes.size, p.shape[1]
    cells = np.ones(axes + 1, np.int64)  # of the axes before a
    inner = np.full(axes + 1, many)  # combinations of the axes from a on, times many
    for a in range(axes):
        cells[a + 1] = cells[a] * sizes[a]
    for a in range(axes - 1, -1, -1):
        inner[a] = inner[a + 1] * 2
    begin = np.zeros(axes + 1, np.int64)
    for a in range(axes):
        begin[a + 1] = begin[a] + cells[a] * inner[a]
    masses, owed = np.zeros(begin[axes]), np.zeros(begin[axes])
    above, total = p.reshape(-1), back.reshape(-1)
    for i in range(bits.shape[0]):
        changed = change[i] if i else axes - 1
        if i:
            for a in range(1, changed + 1):
                own = bits[i - 1, starts[a] : starts[a] + sizes[a]]
                to = total if a == axes - 1 else owed[begin[a + 1] :]
                _scatter(owed[begin[a] :], to, own, cells[a], sizes[a], inner[a + 1])
        for a in range(changed, -1, -1):
            own = bits[i, starts[a] : starts[a] + sizes[a]]
            of = above if a == axes - 1 else masses[begin[a + 1] :]
            _gather(of, masses[begin[a] :], own, cells[a], sizes[a], inner[a + 1])
        for f in range(many):
            density = 0.0
            for u in range(values.shape[1]):
                density += values[i, u] * masses[u * many + f]
            density = max(density, _LEAST)
            densities[i, f] = density
            weight = counts[i, f] / density
            for u in range(values.shape[1]):
                owed[u * many + f] = values[i, u] * weight
        own = bits[i, : sizes[0]]
        to = total if axes == 1 else owed[begin[1] :]
        _scatter(owed, to, own, 1, sizes[0], inner[1])
    if bits.shape[0]:
        for a in range(1, axes):
            own = bits[-1, starts[a] : starts[a] + sizes[a]]
            to = total if a == axes - 1 else owed[begin[a + 1] :]
            _scatter(owed[begin[a] :], to, own, cells[a], sizes[a], inner[a + 1])
