"""What an adversary measures: exact losses of opened sums, and masked vectors without masks."""

from __future__ import annotations

from functools import reduce
from itertools import combinations

import numpy as np
from scipy import stats

CELLS = 20_000
_WIDE, _INSIDE = 25, 8  # scales: what is cut off changes a ratio inside by a factor of 1 + e^-34


def share_pmf(scale, parties, width):
    """P(share = k) for k from −width to width: the difference of two negative binomials."""
    k = np.arange(2 * width)
    one = stats.nbinom.pmf(k, 1 / parties, -np.expm1(-1 / float(scale)))
    middle = k.size - 1
    return np.convolve(one, one[::-1])[middle - width : middle + width + 1]


def loss(pmfs, shift, cells, inside):
    """The exact ε of sums with these independent noises when `cells` counts move by `shift`.

    Noise is the sum of all given laws. Ratios of probabilities are taken over outcomes up to
    `inside`; further out they approach e^{shift/scale} from below.
    """
    total = reduce(np.convolve, pmfs)
    middle = total.size // 2
    logs = np.log(total[middle - inside - shift : middle + inside + shift + 1])
    return cells * float(np.abs(logs[shift:] - logs[: logs.size - shift]).max())


def measured(study, party, colluders=(), present=None):
    """ε of one party's people against the curator and some other parties, release by release.

    The adversary subtracts the colluders' counts and noise; what remains is the counts of all
    others with their shares of noise. Releases have independent noise, so that losses add up.
    """
    present = study.parties if present is None else present
    cells = 2 if study.sizes_are_public else 1
    total = 0.0
    for releases in study.releases(None):
        for release in releases:
            weight = release.weights.get(party, 0)
            if not weight:
                continue
            honest = [p for p in release.noise_from if p in present and p not in colluders]
            if not honest:
                return np.inf
            inside = int(_INSIDE * release.scale)
            law = share_pmf(release.scale, release.honest, int(_WIDE * release.scale) + weight)
            total += loss([law] * len(honest), weight, cells, inside)
    return total


def bytes_fit(*words):
    """p-value of the lowest bytes being uniform, alone and in pairs of neighbouring vectors."""
    values = []
    for word in words:
        values.append(stats.chisquare(np.bincount(word.astype(np.uint8), minlength=256)).pvalue)
    for one, two in combinations(words, 2):
        pair = (one & 15).astype(int) * 16 + (two & 15).astype(int)
        values.append(stats.chisquare(np.bincount(pair, minlength=256)).pvalue)
    return min(values)


def tables_of(parties):
    generator = np.random.default_rng(3)
    return [[generator.poisson(2.0, CELLS)] for _ in range(parties)]
