"""The expectation step of a mixture whose components are cells of a table."""

from __future__ import annotations

from numba import njit

from .vectors import wide_vectors

_LEAST = 1e-300


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def expected_cells(rows, p, counts, back, densities):
    """densities = max(rows pᵀ, 1e-300); back += (counts / densities)ᵀ rows.

    Each row is read once and stays in the cache for both. `rows`, `p` and `back` share a type.
    """
    wide_vectors()
    cells = rows.shape[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        for f in range(p.shape[0]):
            own = p[f]
            total = row[0] * own[0]
            for j in range(1, cells):
                total += row[j] * own[j]
            density = max(float(total), _LEAST)
            densities[i, f] = density
            weight = row.dtype.type(counts[i, f] / density)
            target = back[f]
            for j in range(cells):
                target[j] += weight * row[j]
