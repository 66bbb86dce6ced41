"""Methods over split columns that open one table per budget level (`teams`), and the minimum.

pbs-gls        constrained least squares over all levels; the default
pbs            as published: weighted averages (5), then multiplied down the levels
pbs-gaussian   the same with the Gaussian noise of the text: (ε, δ), only for ε < 1
mv             the whole table at the smallest budget

Paper 002 §6.2 and §7.1; algorithms.md §4; party-marginals.md (h).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...accounting.integer_noise import gaussian_shares_delta
from ...errors import ParameterError
from ...estimate.intervals import Floats
from ...estimate.projection import simplex
from ..design import Design
from ..releases import GaussianCost, Release
from . import Method, Solved, Sums, teams
from .evidence import Cells, LeastSquares
from .nested import Nested, constrained

_SIGMA_UNITS = 1 << 20
#: From here on integer noise is as good as real noise; below the second, mostly 0.
_WIDE, _NARROW = 3.0, 0.5


class _Segmented(Method):
    """One table per budget level."""

    def releases(self, design: Design) -> tuple[Release, ...]:
        order = teams.ascending(design)
        return tuple(
            self._level(teams.table_release(design, f"level-{i + 1}", order[i:], delta), delta)
            for i, delta in teams.segments(design)
        )

    def _level(self, release: Release, epsilon: Fraction) -> Release:
        """The release of a level that may cost so much."""
        return release

    def nested(self, design: Design, sums: Sums) -> tuple[Nested, Floats, LeastSquares]:
        """The opened levels, the raw least-squares table and the evidence in it."""
        nested = Nested.of(design, self.releases(design), self.opened(design, sums))
        raw, taus = nested.least_squares()
        evidence = LeastSquares(
            nested.in_design(raw), nested.n, nested.order, nested.sizes, tuple(taus)
        )
        return nested, raw, evidence


class PBSGLS(_Segmented):
    """Constrained least squares."""

    name = "pbs-gls"
    source = "algorithms.md §4"

    def solve(self, design: Design, sums: Sums) -> Solved:
        nested, raw, evidence = self.nested(design, sums)
        best = constrained(nested, raw / nested.n)
        values = nested.in_design(best.table)
        return Solved(values, evidence, design.shape, converged=best.certified)


class PBS(_Segmented):
    """As published, with counts divided by the public N, and clipped at the end.

    Not the default: it divides by noisy marginals, which may be near 0 or negative;
    pbs-gls uses the same sums.
    """

    name = "pbs"
    source = "paper 002 §6.2, (3)–(5)"

    def solve(self, design: Design, sums: Sums) -> Solved:
        nested, _, evidence = self.nested(design, sums)
        levels, _ = nested.averages()
        table = levels[-1] / nested.n
        for level in levels[-2::-1]:
            below = level.sum(axis=0)
            ratio = np.divide(table, below, out=np.zeros_like(below), where=below != 0)
            table = level * ratio
        table = np.maximum(table, 0)
        total = table.sum()
        table = table / total if total > 0 else np.full(table.shape, 1 / table.size)
        return Solved(nested.in_design(table), evidence, design.shape)


@dataclass(frozen=True)
class PBSGaussian(PBS):
    """With Gaussian noise of standard deviation c √2/Δ_i, c² = 2 ln(1.25/δ).

    A substituted record moves two counts, so the L2 sensitivity is √2. The formula holds for
    ε < 1 only. Every level costs δ once more.

    Not the default: it makes a weaker promise (ε, δ) than pbs, for ε < 1 only, with more noise.
    """

    delta: Fraction = Fraction(1, 1_000_000)  # of each level

    name = "pbs-gaussian"
    source = "paper 002 §6.2, Gaussian mechanism"

    def _level(self, release: Release, epsilon: Fraction) -> Release:
        if epsilon >= 1:
            raise ParameterError(
                f"a level has ε = {float(epsilon):g}; the Gaussian formula holds for ε < 1 only. "
                "Use method='pbs', or budgets whose steps are below 1"
            )
        c = math.sqrt(2 * math.log(1.25 / float(self.delta)))
        sigma = c * math.sqrt(2 / release.honest) / float(epsilon)
        # Rounded up, with room for the rounding of the floating-point formula.
        share = Fraction(math.ceil(sigma * (1 + 1e-12) * _SIGMA_UNITS), _SIGMA_UNITS)
        self._check_width(float(share), float(epsilon), release.honest)
        return replace(release, scale=share, gaussian=GaussianCost(epsilon, self.delta))

    def _check_width(self, share: float, epsilon: float, honest: int) -> None:
        """Refuse narrow integer noise that keeps less than the formula of real numbers says."""
        if share >= _WIDE:
            return
        if share < _NARROW or gaussian_shares_delta(epsilon, share, honest) > self.delta:
            raise ParameterError(
                f"each party would add noise of σ = {share:.3g} only, which as whole numbers does "
                f"not keep δ = {float(self.delta):g}; choose a smaller delta"
            )


class MV(Method):
    """The whole table at the smallest budget.

    Not the default: it leaves unused what the others have above the smallest budget.
    """

    name = "mv"
    source = "paper 002 §7.1, Minimum"

    def releases(self, design: Design) -> tuple[Release, ...]:
        least = Fraction(min(design.budgets.values()))
        every = tuple(range(len(design.shape)))
        return (teams.table_release(design, "y", every, least),)

    def solve(self, design: Design, sums: Sums) -> Solved:
        (opened,) = self.releases(design)
        n = teams.rows(design)
        evidence = Cells(self.opened(design, sums)["y"], opened.variance, n)
        return Solved(simplex(evidence.counts / n), evidence, design.shape)
