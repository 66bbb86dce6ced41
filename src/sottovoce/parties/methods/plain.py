"""Methods without shrinkage where rows are split: the minimum budget, and every party alone.

mh            Σ_k c_k + DLap(2/ε_min): the best linear unbiased design for three or more cells
independent   every party's own table with full noise at its own budget, added up
product       one table per attribute at ε_min/d, multiplied as if attributes were independent
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np

from ...estimate.projection import simplex
from ..design import Design
from ..releases import Release, sensitivity
from . import Method, Solved, Sums
from .bounds import OneWay
from .row_sums import cells, minimum, release

_INDEPENDENCE = (
    "the attributes are independent of each other; the intervals hold anyway, which makes them wide"
)


class MH(Method):
    """The sum of all rows at the smallest budget."""

    name = "mh"
    source = "paper 002 §7.1, Minimum"

    def releases(self, design: Design) -> tuple[Release, ...]:
        return (minimum(design),)

    def solve(self, design: Design, sums: Sums) -> Solved:
        evidence = cells(design, self.opened(design, sums)["y1"], minimum(design).variance)
        return Solved(simplex(evidence.counts / evidence.n), evidence, design.shape)


class Independent(Method):
    """Every party's table with noise of its own; the tables are added up.

    Not the default: it adds the noise of all parties together; mh needs less.
    """

    name = "independent"
    source = "paper 002 §7.1, Independent"

    def releases(self, design: Design) -> tuple[Release, ...]:
        return local_tables(design, 1)

    def solve(self, design: Design, sums: Sums) -> Solved:
        opened = self.opened(design, sums)
        noise = sum(r.variance for r in self.releases(design))
        evidence = cells(design, sum(opened.values(), np.zeros(design.cells)), noise)
        return Solved(simplex(evidence.counts / evidence.n), evidence, design.shape)


def local_tables(design: Design, part: int) -> tuple[Release, ...]:
    """Every present party's own table, at 1/part of its budget: its full noise, nobody else's."""
    scale = sensitivity(design.neighbours) * part
    return tuple(
        replace(
            release(design, f"local-{party}", {party: 1}, scale / Fraction(design.budgets[party])),
            honest=1,
            noise_from=(party,),
        )
        for party in design.summed
    )


class Product(Method):
    """One table per attribute; the joint table is their product.

    Not the default: it assumes that the attributes are independent.
    """

    name = "product"
    source = "paper 002 §7.1, Product"

    def releases(self, design: Design) -> tuple[Release, ...]:
        many = len(design.shape)
        return tuple(
            replace(minimum(design, f"axis-{a}", many), axes=(a,), shape=(design.shape[a],))
            for a in range(many)
        )

    def solve(self, design: Design, sums: Sums) -> Solved:
        opened = self.opened(design, sums)
        tables = tuple(cells(design, opened[r.name], r.variance) for r in self.releases(design))
        ways = [simplex(table.counts / table.n) for table in tables]
        values = reduce(np.multiply.outer, ways).reshape(-1)
        if len(tables) == 1:
            return Solved(values, tables[0], design.shape)
        return Solved(values, OneWay(tables), design.shape, assuming=_INDEPENDENCE)
