"""Whether people who report fewer attributes answer like the others, and what to do if not.

A joint table uses the reports of all people, each for the attributes that it contains. It is right
if which attributes people report has nothing to do with their answers. The reports themselves can
contradict this: the self-calibrated fractions f_m of an attribute in strata of people who report
equally many attributes, or the same ones, have covariances V_m, so that

    X² = Σ_m (f_m − f)ᵀ V_m⁻¹ (f_m − f),   f = (Σ V_m⁻¹)⁻¹ Σ V_m⁻¹ f_m

is χ² with (strata − 1)(l − 1) degrees of freedom if they are alike (Wald's test of homogeneity).

`calibrated` scales a table by iterative proportional fitting until every attribute has the
distribution that `marginal` estimates by strata, which needs no such assumption; what is assumed
then is only that answers are associated in the same way (equal odds ratios).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...contract.sparse import Sparse
from ...estimate.cells import Repetitions, spread_of
from ...estimate.intervals import Floats
from ...estimate.projection import simplex
from ...estimate.table import Table
from ..marginal import Part, marginal, self_calibrated
from .average import fitted_to
from .evidence import Evidence, UnlikeWarning, evidence_of
from .groups import Content, Group, groups_of

if TYPE_CHECKING:
    from ..records import Records

LEVEL = 1e-3  # the chance of a false alarm for each table
_MOST_SETS = 32
_SWEEPS = 50


def warn_of_unlike(records: Records, aggregate: Sparse, asked: Sequence[int]) -> None:
    """Warn about attributes that people of different strata answer differently."""
    evidence = evidence_of(records, aggregate)
    if not (evidence.mixed(asked) or evidence.levels):
        return
    content = Content(records, aggregate)
    unlike = [a for a in asked if p_value(content, a) < LEVEL / len(asked)]
    if not unlike:
        return
    listed = ", ".join(repr(records.names[a]) for a in unlike)
    warnings.warn(
        f"people who {_differ(evidence, asked)} answer {listed} differently (p < {LEVEL:g}), "
        "which contradicts the assumption of a joint table; margins='stratified' gives every "
        "attribute the "
        "distribution that `marginal` estimates",
        UnlikeWarning,
        stacklevel=4,
    )


def _differ(evidence: Evidence, asked: Sequence[int]) -> str:
    """In what the strata of a table differ."""
    ways = ["report different attributes"] * evidence.mixed(asked)
    return " or ".join(ways + ["chose different levels"] * evidence.levels)


@lru_cache(maxsize=64)
def p_value(content: Content, position: int) -> float:
    """The p-value of the hypothesis that all strata have one distribution of an attribute.

    The smaller of two, doubled: strata by how many attributes are reported, and by which; each
    by the level as well.
    """
    evidence = evidence_of(content.records, content.aggregate)
    sets = evidence.sets[evidence.sets[:, position]]
    groups = groups_of(content.records, content.aggregate, [position])
    partitions = [groups]
    if len(groups) < len(sets) <= _MOST_SETS:
        partitions.append(_by_set(content, position))
    p_values = [homogeneity([self_calibrated([group]) for group in some]) for some in partitions]
    return min(1.0, len(p_values) * min(p_values))


def homogeneity(strata: Sequence[Part | None]) -> float:
    """The p-value of Wald's test over strata with enough data; 1 for fewer than two."""
    from scipy.stats import chi2

    parts = [part for part in strata if part is not None]
    if len(parts) < 2:
        return 1.0
    # Fractions sum to one, so the last of them adds nothing.
    values = [part[0][:-1] for part in parts]
    precisions = [np.linalg.inv(part[1][:-1, :-1]) for part in parts]
    total = np.sum(precisions, axis=0)
    mean = np.linalg.solve(total, sum(p @ f for p, f in zip(precisions, values, strict=True)))
    distance = sum((f - mean) @ p @ (f - mean) for p, f in zip(precisions, values, strict=True))
    return float(chi2.sf(distance, (len(parts) - 1) * len(mean)))


def _by_set(content: Content, position: int) -> list[Group]:
    """The reports of one attribute in groups of people who report the same attributes."""
    records = content.records
    every = groups_of(records, content.aggregate, range(len(records.schema)))
    return [g.only([g.axes.index(position)], (0,)) for g in every if position in g.axes]


@dataclass(frozen=True, eq=False)
class Scaled:
    """Tables scaled to margins that are drawn anew for each, by their covariances."""

    tables: Repetitions
    shape: tuple[int, ...]
    margins: tuple[Floats, ...]
    covariances: tuple[Floats, ...]

    def __call__(self) -> Floats:
        rng = np.random.default_rng(len(self.margins))
        cells = np.maximum(self.tables(), 0)
        drawn = [
            simplex(rng.multivariate_normal(m, v, len(cells), method="eigh"))
            for m, v in zip(self.margins, self.covariances, strict=True)
        ]
        return _scaled(cells, self.shape, drawn)


def calibrated(records: Records, aggregate: Sparse, table: Table) -> Table:
    """A table whose attributes have the distributions that `marginal` estimates by strata."""
    single = [marginal(records, aggregate, [name]) for name in table.names]
    margins = [one.values for one in single]
    matrices = [np.asarray(one.covariance) for one in single]
    shape = table.table.shape
    values = _scaled(table.values[None], shape, [simplex(m)[None] for m in margins])[0]
    again = None
    if table.again is not None:
        scaled = Scaled(table.again, shape, tuple(margins), tuple(matrices))
        again = Repetitions(scaled, table.again.wider)
    evidence = replace(evidence_of(records, aggregate), stratified=True)
    return replace(
        table,
        values=values,
        spread=spread_of(values, again),
        method=f"{table.method} + stratified margins",
        biased=True,
        again=again,
        notes=evidence.about,
        **evidence.about(table.names),
    )


def _scaled(cells: Floats, shape: tuple[int, ...], margins: Sequence[Floats]) -> Floats:
    wanted: dict[tuple[int, ...], Floats] = {(a,): margin for a, margin in enumerate(margins)}
    tables = fitted_to(cells.reshape(-1, *shape), wanted, _SWEEPS)
    return tables.reshape(len(cells), -1)
