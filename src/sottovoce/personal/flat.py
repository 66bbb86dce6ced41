"""All levels of a menu at once: what `Levels.estimates` gives `combine`, without an estimate each.

Of level j and rate π_h, with S_jh reports of n_jh people and A_jh of them supporting a value:

Estimate    u_jh = (A_jh / S_jh − q_j) / (p_j − q_j), and Σ_h (n_jh / n_j) u_jh of the level
Variance    as post-stratified in `personal.strata`; without rates as `PureMechanism.variance`

Python that runs once per level would take longer than to count a hundred thousand reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..combine import Groups
from ..estimate import Floats
from ..mechanism import LinearMechanism, Mechanism, PureMechanism
from .moments import AnyNoise, KnownMeans
from .sampled import FEW_RATES, Sampled
from .strata import Strata, each_variance

Tables = Mapping[str, NDArray[np.int64]]


def groups_of(levels: Sequence[Mechanism], tables: Tables) -> Groups | None:
    """The levels as groups, or None where they must be estimated one by one."""
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
    counts = np.stack([tables[f"{k}/{level.table}"] for k, level in enumerate(levels)])
    people = tables["people"].astype(float)
    values, noise = _debiased(levels, counts, people[:, None])
    return Groups.of(values, noise / people[:, None], people, people)


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
    means, noise = _debiased(inner, counts, reported[:, :, None])
    flat = (len(levels) * many, means.shape[2])
    answers = KnownMeans(means.reshape(flat))
    strata = Strata(
        rates=np.concatenate([level.grid for level in levels]),
        people=asked.reshape(-1).astype(float),
        answers=answers,
        second=answers,
        noise=AnyNoise(noise.reshape(flat), lambda h: np.diag(noise.reshape(flat)[h])),
        inverse=np.where(reported > 1, 1 / np.maximum(reported - 1, 1), 1.0).reshape(-1),
    )
    variance = each_variance(strata).reshape(means.shape)
    people = asked.sum(axis=1).astype(float)
    weights = asked / people[:, None]
    return Groups.of(
        np.einsum("lr,lrv->lv", weights, means),
        np.einsum("lr,lrv->lv", weights**2, variance),
        people,
        reported.sum(axis=1).astype(float),
    )


def _debiased(
    mechanisms: Sequence[PureMechanism], counts: NDArray[np.int64], reports: NDArray[Any]
) -> tuple[Floats, Floats]:
    """Unbiased shares, and the noise of one report, at each level."""
    shape = (len(mechanisms), *[1] * (counts.ndim - 1))
    q, gap, base, slope = (
        np.array(column).reshape(shape)
        for column in zip(*(mechanism.rounded for mechanism in mechanisms), strict=True)
    )
    means = counts * (1 / (reports * gap))
    means -= q / gap
    noise = slope * means
    noise += base
    return means, noise
