"""Stretching: rows weigh as much as their party's budget, in one sum (published; by name only).

y = Σ_k w_k c_k + DLap(ΔF/ε_max), w_k = ⌊F ε_k/ε_max⌋, costs party k w_k ε_max/F ≤ ε_k.

sth   simplex(y/Σ w_k n_k): right only where all parties' rows have the same distribution
mm    a mixture of multinomials fitted to y by EM. With α_k = w_k n_k/Σ w_j n_j the likelihood
      depends on the local tables μ_k only through Σ_k α_k μ_k, so it has no unique maximum: EM is
      iterative proportional fitting of α_k μ_ik to the column y, and returns what the start
      implies. From equal tables it returns `sth` after one step.

Paper 002 §6.1 and §7.1; party-marginals.md (f).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import ParameterError
from ...estimate.intervals import Floats, repeatable_generator
from ...estimate.projection import simplex
from ...promise import Neighbours
from ..design import Design
from ..releases import Release, sensitivity
from . import Method, Solved, Sums
from .bounds import Weighted
from .evidence import Evidence
from .plain import local_tables
from .row_sums import cells, release, weighted

_DENOMINATOR = 1024
_FLOOR = 1e-12  # a start of 0 would stay 0
_MOST_ROUNDS, _CLOSE = 1000, 1e-10

STARTS = ("uniform", "random", "noisy-local")
ALIKE = (
    "all parties' rows have the same distribution; where they differ, the values are biased by an "
    "amount that these sums cannot show. The intervals hold anyway, which makes them wide"
)
_LUCKY = (
    "the random tables that the iteration starts from are close to the parties' own, which nothing "
    "supports. The intervals hold anyway, which makes them wide"
)


def stretched(design: Design, part: int = 1) -> Release:
    """The stretched sum at 1/part of every budget."""
    most = Fraction(max(design.budgets.values()))
    weights = {
        party: math.floor(_DENOMINATOR * Fraction(budget) / most)
        for party, budget in design.budgets.items()
    }
    scale = sensitivity(design.neighbours) * _DENOMINATOR * part / most
    return release(design, "stretched", weights, scale)


def pooled_table(evidence: Weighted) -> Floats:
    """The distribution of the weighted rows, projected first: noise may make counts negative."""
    if evidence.rows is None:
        return simplex(evidence.counts / max(1.0, float(evidence.counts.sum())))
    rows = sum(w * n for w, n in zip(evidence.weights, evidence.rows, strict=True))
    return simplex(evidence.counts / max(rows, 1.0))


class STH(Method):
    """The distribution of the stretched rows.

    Not the default: it is biased where parties differ, by an amount that the sums cannot show.
    """

    name = "sth"
    source = "paper 002 §7.1, Stretching"

    def releases(self, design: Design) -> tuple[Release, ...]:
        return (stretched(design),)

    def solve(self, design: Design, sums: Sums) -> Solved:
        counts = self.opened(design, sums)["stretched"]
        opened = stretched(design)
        evidence = weighted(design, counts, opened.variance, opened.weights)
        assuming = "" if evidence.unbiased else ALIKE
        return Solved(pooled_table(evidence), evidence, design.shape, assuming=assuming)


@dataclass(frozen=True)
class MM(Method):
    """The mixture of multinomials.

    `start` is where EM starts, which decides the result: equal tables, random ones (public
    randomness that follows from the sums), or the parties' own tables, for which half of every
    budget is spent. True local tables would give the right result, and are private.

    Not the default: the table is not identifiable, and the result is what the start implies.
    """

    start: str = "uniform"

    source = "paper 002 §6.1, MM"

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise ParameterError(f"start is {self.start!r}; it must be one of {STARTS}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """With the start, unless it is the default."""
        return "mm" if self.start == "uniform" else f"mm-{self.start}"

    def releases(self, design: Design) -> tuple[Release, ...]:
        if self.start == "random" and design.neighbours is Neighbours.ADD_REMOVE:
            raise ParameterError("mm-random needs the parties' numbers of rows to be public")
        if self.start != "noisy-local":
            return (stretched(design),)
        return (stretched(design, 2), *local_tables(design, 2))

    def solve(self, design: Design, sums: Sums) -> Solved:
        opened = self.opened(design, sums)
        releases = self.releases(design)
        first = releases[0]
        stretch = weighted(design, opened["stretched"], first.variance, first.weights)
        evidence: Evidence = stretch
        rows = np.array(stretch.rows or np.ones(len(design.summed)), float)
        if self.start == "noisy-local":
            local = np.stack([opened[r.name] for r in releases[1:]])
            noise = sum(r.variance for r in releases[1:])
            evidence = cells(design, local.sum(axis=0), noise)
            if stretch.rows is None:
                rows = np.maximum(local.sum(axis=1), 1)
            start = simplex(local / np.maximum(rows, 1)[:, None])
        elif self.start == "random":
            start = _random_tables(opened["stretched"], len(design.summed))
        else:
            start = np.full((len(design.summed), design.cells), 1 / design.cells)
        fitted, converged = fit(start, np.array(stretch.weights) * rows, pooled_table(stretch))
        values = rows @ fitted / rows.sum()
        return Solved(
            values, evidence, design.shape, converged=converged, assuming=self._assuming(stretch)
        )

    def _assuming(self, stretch: Weighted) -> str:
        if self.start == "noisy-local" or (stretch.unbiased and self.start == "uniform"):
            return ""
        return ALIKE if self.start == "uniform" else _LUCKY


def fit(start: Floats, sizes: Floats, target: Floats) -> tuple[Floats, bool]:
    """EM for μ (parties × cells): the mixture Σ_k α_k μ_k fitted to a distribution.

    Starts at `start`; `sizes` are w_k n_k, proportional to α_k. Gives μ, and whether it stopped
    changing.
    """
    if not sizes.any():
        return start, False
    weights = sizes / sizes.sum()
    tables = np.maximum(start, _FLOOR)
    tables = tables / tables.sum(axis=1, keepdims=True)
    for _ in range(_MOST_ROUNDS):
        mixture = weights @ tables
        again = tables * np.divide(target, mixture, out=np.zeros_like(target), where=mixture > 0)
        again = again / np.maximum(again.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        change = float(np.abs(again - tables).max())
        tables = again
        if change < _CLOSE:
            return tables, True
    return tables, False


def _random_tables(counts: Floats, parties: int) -> Floats:
    """Random distributions that follow from the opened sums, which are public."""
    return repeatable_generator(counts).dirichlet(np.ones(counts.size), parties)
