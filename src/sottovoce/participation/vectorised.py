"""All levels at once: what the levels' estimates give `combine`, without an estimate each.

Of level j and rate π_h, with S_jh reports of n_jh people and A_jh of them supporting a value:

Estimate    u_jh = (A_jh / S_jh − q_j) / (p_j − q_j), and Σ_h (n_jh / n_j) u_jh of the level
Variance    as post-stratified in `participation.strata`; without rates as `PureMechanism.variance`

Python that runs once per level would take longer than counting a hundred thousand reports.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import kernels
from ..estimate.combine import Groups
from ..estimate.intervals import ScoreInterval
from ..mechanisms.pure import PureMechanism
from .sample import FEW_RATES, Sample
from .strata import own_terms, seen_inverse


def groups_of(samples: Sequence[Sample]) -> Groups | None:
    """The levels as groups, or None where they must be estimated one by one."""
    pure = [s.mechanism for s in samples if isinstance(s.mechanism, PureMechanism)]
    many = samples[0].rates.size
    alike = len(pure) == len(samples) and all(s.rates.size == many for s in samples)
    if len(samples) < 2 or not alike or many > FEW_RATES:
        return None
    asked, reported = (np.stack([getattr(s, n) for s in samples]) for n in ("asked", "reported"))
    if not reported.all():  # there are gaps, or levels that nobody can speak for
        return None
    counts = np.stack([s.tables[m.table] for s, m in zip(samples, pure, strict=True)])
    people = asked.sum(axis=1).astype(float)
    everyone = all((s.rates == 1).all() for s in samples)
    terms = (
        (1 / reported, np.zeros(reported.shape))
        if everyone
        else own_terms(asked, seen_inverse(reported))
    )
    laws = np.array([mechanism.rounded for mechanism in pure])
    values, variance = kernels.count.stratified(
        counts, laws, reported, asked / people[:, None], *terms
    )
    weights = asked / people[:, None]
    loud, mixed = ((weights**2 * term).sum(axis=1) for term in terms)
    steps = 0.5 * (weights / reported).max(axis=1)
    intervals = tuple(
        ScoreInterval(f, a * base, a * slope, b, step / gap)
        for f, (_, gap, base, slope), a, b, step in zip(
            values, laws.tolist(), loud.tolist(), mixed.tolist(), steps.tolist(), strict=True
        )
    )
    heard = reported.sum(axis=1).astype(float)
    return Groups(values, variance, people, heard, intervals=intervals)
