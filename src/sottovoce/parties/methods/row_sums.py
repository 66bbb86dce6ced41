"""The sums that methods over split rows open, and the evidence in them.

Minimum   Σ_k c_k + DLap(Δ/ε_min), which costs every party ε_min
Surplus   Σ_k a_k c_k + DLap(ΔF), a_k = ⌊F (ε_k − ε_min)⌋: costs party k a_k/F ≤ ε_k − ε_min
Δ = 2 for a substituted record, 1 for one more or less. Weights are rounded down in exact rational
arithmetic, so that no party pays more than its budget. (algorithms.md §3, "Integers".)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ...errors import EstimateError
from ...estimate.intervals import Floats
from ...noise import DiscreteLaplace
from ...promise import Neighbours
from ..design import Design
from ..releases import Release, sensitivity
from ..sums import MOST_ROWS
from .bounds import Weighted
from .evidence import Cells, CellsAlone

_COARSE, _FINE = 64, 1024
_SMALL_SURPLUS = Fraction(1, 10)
_RING = 1 << 63
_MISS = 2.0**-80


def release(
    design: Design,
    name: str,
    weights: Mapping[str, int],
    scale: Fraction,
    *,
    kept: Mapping[str, Fraction] | None = None,
) -> Release:
    """A sum of those present, to which all of them add a share of noise."""
    return Release(
        name=name,
        axes=tuple(range(len(design.shape))),
        shape=design.shape,
        weights={party: weights[party] for party in design.summed if weights.get(party, 0) > 0},
        scale=scale,
        honest=design.honest,
        noise_from=design.summed,
        kept=kept,
    )


def minimum(design: Design, name: str = "y1", part: int = 1) -> Release:
    """The plain sum at a part of the smallest budget."""
    scale = sensitivity(design.neighbours) * part / Fraction(min(design.budgets.values()))
    return release(design, name, dict.fromkeys(design.parties, 1), scale)


def surplus(design: Design) -> Release | None:
    """The weighted sum with what each party has above the smallest budget; None where nobody has.

    F is 64; where a surplus is below .1, it is 1024 or as close to it as the ring of the secure
    sum has room for.
    """
    least = Fraction(min(design.budgets.values()))
    above = {party: Fraction(budget) - least for party, budget in design.budgets.items()}
    small = any(0 < more < _SMALL_SURPLUS for more in above.values())
    denominator = _FINE if small else _COARSE
    while denominator > _COARSE and not _has_room(above, denominator, design.neighbours):
        denominator //= 2
    weights = {party: math.floor(denominator * more) for party, more in above.items()}
    if not any(weights.values()):
        return None
    return release(design, "y2", weights, Fraction(sensitivity(design.neighbours) * denominator))


def _has_room(above: Mapping[str, Fraction], denominator: int, neighbours: Neighbours) -> bool:
    noise = DiscreteLaplace(Fraction(sensitivity(neighbours) * denominator)).reach(_MISS)
    most = math.floor(denominator * max(above.values()))
    # For more rows than there are: how many parties have, they may learn after weights are fixed.
    return MOST_ROWS * most + noise * len(above) < _RING


def people(design: Design, counts: Floats) -> int:
    """N where it is public, else the sum of the noisy counts, at least 1."""
    if design.neighbours is Neighbours.ADD_REMOVE:
        return max(1, round(float(counts.sum())))
    if design.total < 1:
        raise EstimateError("the parties in the sum have no rows; there is nothing to estimate")
    return design.total


def cells(design: Design, counts: Floats, noise: float) -> Cells:
    """Evidence in an unbiased sum."""
    kind = CellsAlone if design.neighbours is Neighbours.ADD_REMOVE else Cells
    return kind(np.asarray(counts, float), noise, people(design, counts))


def weighted(
    design: Design,
    counts: Floats,
    noise: float,
    weights: Mapping[str, float],
    *,
    sampled: bool = False,
) -> Weighted:
    """Evidence in a sum in which the rows of parties weigh differently, or are sampled."""
    own = tuple(float(weights.get(party, 0)) for party in design.summed)
    if design.neighbours is Neighbours.ADD_REMOVE or design.rows is None:
        mean = sum(own) / len(own) or 1.0
        n = max(1, round(float(counts.sum()) / mean))
        return Weighted(counts, noise, n, own, None, sampled=sampled)
    rows = tuple(design.rows[party] for party in design.summed)
    return Weighted(counts, noise, design.total, own, rows, sampled=sampled)
