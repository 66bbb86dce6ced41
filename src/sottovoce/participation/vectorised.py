"""All levels of a menu at once: what `Levels.estimates` gives `combine`, without an estimate each.

Of level j and rate π_h, with S_jh reports of n_jh people and A_jh of them supporting a value:

Estimate    u_jh = (A_jh / S_jh − q_j) / (p_j − q_j), and Σ_h (n_jh / n_j) u_jh of the level
Variance    as post-stratified in `participation.strata`; without rates as `PureMechanism.variance`

Python that runs once per level would take longer than to count a hundred thousand reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..estimate.combine import Groups
from ..estimate.estimate import Floats
from ..mechanisms.linear import LinearMechanism
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.pure import PureMechanism
from .sampled import FEW_RATES, Sampled
from .strata import own_terms, seen_inverse

Tables = Mapping[str, NDArray[np.int64]]


def groups_of(levels: Sequence[Mechanism], tables: Tables) -> Groups | None:
    """The levels as groups, or None where they must be estimated one by one.

    Levels without rates of their own may have tables with a row for each rate of what wraps them;
    then there is a row of groups for each.
    """
    if len(levels) < 2 or not tables["people"].all():
        return None
    pure = [level for level in levels if _is_pure(level)]
    if len(pure) == len(levels):
        return _of_pure(pure, tables)
    sampled = [level for level in levels if type(level) is Sampled]
    return _of_sampled(sampled, tables) if len(sampled) == len(levels) else None


def _is_pure(mechanism: Mechanism) -> TypeGuard[PureMechanism]:
    """Whether it estimates as all pure mechanisms do; one of its own kind may not."""
    if not isinstance(mechanism, PureMechanism):
        return False
    kind = type(mechanism)
    return (
        kind.estimate is LinearMechanism.estimate
        and kind.debias is PureMechanism.debias
        and kind.variance is PureMechanism.variance
    )


def _of_pure(levels: Sequence[PureMechanism], tables: Tables) -> Groups:
    counts = np.stack([tables[f"{k}/{level.table}"] for k, level in enumerate(levels)], axis=-2)
    people = tables["people"].reshape(-1, 1)
    one = np.ones(people.shape)
    values, variance = kernels.count.stratified(
        counts.reshape(people.size, 1, -1), _laws(levels), people, one, one / people, 0 * one
    )
    shape, sizes = counts.shape, people.reshape(counts.shape[:-1]).astype(float)
    return Groups(values.reshape(shape), variance.reshape(shape), sizes, sizes)


def _of_sampled(levels: Sequence[Sampled], tables: Tables) -> Groups | None:
    inner = [level.inner for level in levels if _is_pure(level.inner)]
    many = len(levels[0].rates)
    alike = len(inner) == len(levels) and all(len(level.rates) == many for level in levels)
    if not alike or many > FEW_RATES:
        return None
    asked, reported = (
        np.stack([tables[f"{k}/{name}"] for k in range(len(levels))])
        for name in ("asked", "reported")
    )
    if not reported.all():  # there are gaps, or levels that nobody can speak for
        return None
    counts = np.stack([tables[f"{k}/in/{m.table}"] for k, m in enumerate(inner)])
    people = asked.sum(axis=1).astype(float)
    values, variance = kernels.count.stratified(
        counts,
        _laws(inner),
        reported,
        asked / people[:, None],
        *own_terms(asked, seen_inverse(reported)),
    )
    return Groups(values, variance, people, reported.sum(axis=1).astype(float))


def _laws(levels: Sequence[PureMechanism]) -> Floats:
    return np.array([level.rounded for level in levels])
