"""Sampling: parties with smaller budgets keep each row with some probability (published).

Party k keeps each row with probability p_k, in secret, and the sum gets noise for ε_max. With
b = e^{ε_max/2} for a substituted record, the largest ratio of probabilities is
(p b + 1 − p)/(p/b + 1 − p); it is e^{ε_k} at

    p_k = (e^{ε_k} − 1)/((b − 1) + e^{ε_k}(1 − 1/b)),

and for one record more or less p_k = (e^{ε_k} − 1)/(e^{ε_max} − 1). Rates are rounded down. How
many rows were kept is never published.

sah   rows split: y/Σy, right only where all parties' rows have the same distribution
sav   columns split: a row counts if all parties keep it, so that y/(n Π p_k) is unbiased

Paper 002 §5 and §7.1; party-marginals.md (g) has the exact rate for substitutions.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...estimate.projection import simplex
from ...promise import Neighbours
from ..design import Design
from ..releases import Release, sensitivity
from . import Method, Solved, Sums, teams
from .bounds import Weighted
from .row_sums import release, weighted
from .stretching import ALIKE

_BITS = 64
_DIGITS = 60


@lru_cache(maxsize=1024)
def rate(budget: Fraction, most: Fraction, neighbours: Neighbours) -> Fraction:
    """With which probability a row is kept, rounded down: it then costs at most `budget`."""
    if budget >= most:
        return Fraction(1)
    with localcontext() as context:
        context.prec = _DIGITS
        own = (Decimal(budget.numerator) / Decimal(budget.denominator)).exp()
        full = (Decimal(most.numerator) / Decimal(most.denominator)).exp()
        if neighbours is Neighbours.ADD_REMOVE:
            exact = (own - 1) / (full - 1)
        else:
            root = full.sqrt()
            exact = (own - 1) / ((root - 1) + own * (1 - 1 / root))
        # 60 digits are far more than 64 bits; one unit less makes up for their rounding.
        units = int((exact * (1 << _BITS)).to_integral_value(ROUND_FLOOR)) - 1
    return Fraction(max(units, 0), 1 << _BITS)


class _Sampling(Method):
    """What both have in common: the cost of a sampled release is the party's own budget."""

    def spent(self, design: Design) -> dict[str, Fraction]:
        """Every party's budget: rates are rounded down by less than 2^−62."""
        return {party: Fraction(budget) for party, budget in design.budgets.items()}

    @staticmethod
    def rates(design: Design) -> dict[str, Fraction]:
        """p_k of every party."""
        most = Fraction(max(design.budgets.values()))
        return {
            party: rate(Fraction(budget), most, design.neighbours)
            for party, budget in design.budgets.items()
        }


class SAH(_Sampling):
    """The distribution of the sampled rows.

    Not the default: it is biased where parties differ, and always less precise than mh or sth.
    """

    name = "sah"
    source = "paper 002 §5.1; party-marginals.md (g)"

    def releases(self, design: Design) -> tuple[Release, ...]:
        scale = sensitivity(design.neighbours) / Fraction(max(design.budgets.values()))
        rates = self.rates(design)
        kept = {party: rates[party] for party in design.summed}
        every = dict.fromkeys(design.parties, 1)
        return (release(design, "sampled", every, scale, kept=kept),)

    def solve(self, design: Design, sums: Sums) -> Solved:
        counts = self.opened(design, sums)["sampled"]
        (opened,) = self.releases(design)
        rates = {party: float(rate) for party, rate in self.rates(design).items()}
        evidence = weighted(design, counts, opened.variance, rates, sampled=True)
        values = simplex(counts / max(1.0, float(counts.sum())))
        assuming = "" if evidence.unbiased else ALIKE
        return Solved(values, evidence, design.shape, assuming=assuming)


class SAV(_Sampling):
    """The table of the rows that all parties kept.

    Not the default: all parties keep few rows in common, so it is less precise than mv.
    """

    name = "sav"
    source = "paper 002 §5.2 and §7.1"

    def releases(self, design: Design) -> tuple[Release, ...]:
        most = Fraction(max(design.budgets.values()))
        every = tuple(range(len(design.shape)))
        return (teams.table_release(design, "sampled", every, most, kept=self.rates(design)),)

    def solve(self, design: Design, sums: Sums) -> Solved:
        counts = self.opened(design, sums)["sampled"]
        (opened,) = self.releases(design)
        kept = float(math.prod(self.rates(design).values()))
        n = teams.rows(design)
        evidence = Weighted(counts, opened.variance, n, (kept,), (n,), sampled=True)
        values = simplex(np.asarray(counts / (n * kept)))
        return Solved(values, evidence, design.shape)
