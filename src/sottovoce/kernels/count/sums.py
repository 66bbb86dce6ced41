"""Sums over groups and their strata, and the expectation step of mixtures."""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from ..vectors import wide_vectors

_LEAST = 1e-300
_FAST = {"reassoc", "contract", "nsz"}


@compiled
def row_sums(counts):
    """The sum of each row, without a call for each."""
    sums = np.zeros(counts.shape[0], np.int64)
    for g in range(sums.size):
        row, total = counts[g], np.int64(0)
        for k in range(row.size):
            total += row[k]
        sums[g] = total
    return sums


@compiled
def weighted_sum(counts, weights):
    """Σ weights[g] counts[g]: integers are turned to floats on the way, not in a table."""
    wide_vectors()
    total = np.zeros(counts.shape[1])
    for g in range(counts.shape[0]):
        weight, row = weights[g], counts[g]
        for k in range(total.size):
            total[k] += weight * row[k]
    return total


@compiled
def stratified(counts, laws, reports, weights, noise, drawn):
    """Σ_h w_gh f_gh of each group's strata, and Σ_h w_gh² max(v_gh, c_gh / 2), a row per group.

    f = (counts / reports − q) / gap,  c = noise (base + slope f),  v = c + drawn (f − f²), where
    the groups take (q, gap, base, slope) from the laws in turn. Tables of f, c and v would outgrow
    the cache.
    """
    wide_vectors()
    groups, strata, size = counts.shape
    mean, spread = np.zeros((groups, size)), np.zeros((groups, size))
    for g in range(groups):
        q, gap, base, slope = laws[g % len(laws)]
        shift = q / gap
        for h in range(strata):
            row, scale = counts[g, h], 1 / (reports[g, h] * gap)
            weight, square = weights[g, h], weights[g, h] * weights[g, h]
            a, b = noise[g, h], drawn[g, h]
            for k in range(size):
                f = row[k] * scale - shift
                c = a * (base + slope * f)
                v = c + b * (f - f * f)
                mean[g, k] += weight * f
                spread[g, k] += square * max(v, c / 2)
    return mean, spread


@compiled
def strata_variance(noise, second, means, noisy, drawn):
    """max(c + drawn_h (M − f²), c / 2) with c = noisy_h C, a row per stratum, in one pass."""
    wide_vectors()
    spread = np.empty(means.shape)
    for h in range(means.shape[0]):
        a, b = noisy[h], drawn[h]
        each, square, mean, out = noise[h], second[h], means[h], spread[h]
        for k in range(out.size):
            c = a * each[k]
            out[k] = max(c + b * (square[k] - mean[k] * mean[k]), c / 2)
    return spread


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
