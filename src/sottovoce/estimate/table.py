"""An estimated table over several attributes, and what can be computed from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..checks import checked_count
from ..domain.columns import first_few
from ..domain.values import Attribute
from ..errors import EstimateError, ParameterError
from . import display
from .cells import Cells, Change, product_labels, spread_of
from .estimate import Estimate
from .intervals import Floats, Interval
from .projection import PROJECTIONS, check_projection
from .ratios import RowIntervals


@dataclass(frozen=True, eq=False, repr=False)
class Table(Cells):
    """An estimated joint distribution, cells in row-major order of the attributes as asked.

    Attributes
    ----------
    steps : int, optional
        How many steps an iteration took; with a cross-validated stop, 0 means that no dependence
        was found and the product of the attributes' own distributions is returned.
    weights : mapping, optional
        Where several models are averaged: the weight of each.
    notes : callable, optional
        From some attributes' names to the metadata of their own estimate: reports, assumptions.
    """

    steps: int | None = None
    weights: Mapping[str, float] | None = None
    notes: Callable[[Sequence[str]], dict[str, Any]] | None = field(default=None, repr=False)

    @property
    def names(self) -> list[str]:
        """The attributes' names in order."""
        return [attribute.name for attribute in self.attributes]

    @cached_property
    def table(self) -> Floats:
        """The values with one axis per attribute."""
        return self.values.reshape([attribute.size for attribute in self.attributes])

    def marginal(self, names: Sequence[str]) -> Table:
        """The distribution of some of the attributes, in the order given: an exact sum."""
        axes = self._axes(names)
        kept = tuple(self.attributes[a] for a in axes)
        summed = partial(_sum_over, self.table.shape, tuple(axes))
        again = self._changed(summed)
        values = summed(self.values)[0]
        about = {} if self.notes is None else self.notes([a.name for a in kept])
        return replace(
            self,
            **about,
            values=values,
            spread=spread_of(values, again),
            labels=product_labels(kept),
            name=" × ".join(attribute.name for attribute in kept),
            attributes=kept,
            again=again,
            raw=None,
            _covariance=None,
        )

    def project(self, method: str = "norm-sub") -> Table:
        """The nearest table with no negative cell that sums to one; see `Estimate.project`."""
        check_projection(method)
        raw = self.raw if isinstance(self.raw, Table) else self
        weights = raw.variance if method != "norm-sub" else np.ones(raw.values.size)
        values = PROJECTIONS[method](raw.values, weights)
        again = raw._changed(partial(_project_each, method, weights))
        return replace(
            raw,
            values=values,
            spread=spread_of(values, again),
            method=f"{raw.method} + {method}",
            biased=True,
            again=again,
            raw=raw,
        )

    def conditional(self, of: Sequence[str], given: Sequence[str]) -> Conditional:
        """P(of | given), the fractions among people with the same given answers.

        Its `table` has one row for each combination of the given attributes; NaN where nobody has
        it. Its intervals are Fieller's, from the errors of the cells and of their rows.
        """
        self._axes(of), self._axes(given)  # a text would be split into characters below
        both = self.marginal([*given, *of])
        rows = int(np.prod([self.attributes[a].size for a in self._axes(given)]))

        values, about = self._compute(both, partial(_divide, rows))
        return Conditional(
            values=values,
            labels=both.labels,
            name=f"{' × '.join(of)} given {' × '.join(given)}",
            shape=(rows, values.size // rows),
            attributes=both.attributes,
            again=both._changed(partial(_divide, rows)),
            _interval=None if both.again is None else RowIntervals(both.values, both.again, rows),
            **about,
        )

    def mutual_information(self, one: str, other: str) -> Information:
        """How much information two attributes carry about each other, in nats: a single value.

        Noise looks like dependence, so it tends to be too large; its error includes this.
        """
        both = self.marginal([one, other])
        values, about = self._compute(both, partial(_information, both.table.shape))
        name = f"mutual information of {one} and {other}"
        return Information(values=values, labels=("nats",), name=name, fractions=False, **about)

    def _compute(self, both: Table, change: Change) -> tuple[Floats, dict[str, Any]]:
        """A function of the table, and the metadata of its estimate."""
        again = both._changed(change)
        values = change(both.values[None])[0]
        about = {
            "spread": spread_of(values, again, 0.0),
            "n": self.n,
            "reports": both.reports,
            "guarantee": self.guarantee,
            "method": self.method,
            "biased": True,
            "error_from": self.error_from,
            "assuming": both.assuming,
        }
        return values, about

    def synthetic(self, n: int, *, seed: int | None = None, backend: str = "pandas") -> Any:
        """A data frame of n synthetic records with this distribution, one column per attribute.

        It spends no privacy: only the released estimate is used. Negative cells count as zero.

        Parameters
        ----------
        n : int
            How many records.
        seed : int, optional
            For the same records every time.
        backend : {"pandas", "polars", "pyarrow"}
            Which library's frame to make.
        """
        checked_count(n, "n", 1)
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise ParameterError(
                f"seed is {seed!r}; it must be a whole number of at least 0, or None"
            )
        p = np.maximum(self.values, 0)
        cells = np.random.default_rng(seed).choice(p.size, n, p=p / p.sum())
        places = np.unravel_index(cells, self.table.shape)
        columns = {
            attribute.name: attribute.decode(where)
            for attribute, where in zip(self.attributes, places, strict=True)
        }
        return display.to_frame(columns, backend)

    def _axes(self, names: Sequence[str]) -> list[int]:
        if isinstance(names, str) or not names:
            raise ParameterError(f"names are {names!r}; give a list of some of {self.names}")
        for name in names:
            if name not in self.names:
                raise ParameterError(
                    f"there is no attribute {name!r}; choose from {first_few(self.names)}"
                )
        if len(set(names)) != len(names):
            raise ParameterError(f"{list(names)} names an attribute twice")
        return [self.names.index(name) for name in names]


@dataclass(frozen=True, eq=False)
class Conditional(Cells):
    """Fractions of some attributes among people with the same values of others.

    Attributes
    ----------
    shape : tuple of int
        Combinations of the given attributes, and of those that the fractions refer to.
    attributes : tuple of Attribute
        The given attributes, then those that the fractions refer to.
    """

    shape: tuple[int, int] = (1, 1)

    @property
    def given(self) -> tuple[Attribute, ...]:
        """The attributes whose values the people have in common."""
        size, k = 1, 0
        while size < self.shape[0]:
            size, k = size * self.attributes[k].size, k + 1
        return self.attributes[:k]

    @property
    def table(self) -> Floats:
        """One row, with sum one, for every combination of the given attributes."""
        return self.values.reshape(self.shape)

    @property
    def counts(self) -> Floats:
        """Refused: these fractions are of the people with the given answers, not of everyone."""
        raise EstimateError(
            "conditional fractions are not of all people; take the counts of the joint table"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Information(Estimate):
    """A mutual information, which is never negative."""

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """An interval by the normal approximation, cut off at zero."""
        low, high = super().interval(confidence, simultaneous=simultaneous)
        return Interval(np.maximum(low, 0), high)


def _sum_over(shape: tuple[int, ...], axes: tuple[int, ...], cells: Floats) -> Floats:
    """Tables summed over all but some axes, these in the order given."""
    table = cells.reshape(-1, *shape)
    others = tuple(a + 1 for a in range(len(shape)) if a not in axes)
    rest = [a for a in range(len(shape)) if a in axes]
    order = [rest.index(a) + 1 for a in axes]
    return np.asarray(table.sum(axis=others).transpose(0, *order).reshape(len(table), -1))


def _project_each(method: str, weights: Floats, tables: Floats) -> Floats:
    return np.array([PROJECTIONS[method](table, weights) for table in tables])


def _divide(rows: int, tables: Floats) -> Floats:
    """Every row of a table divided by its sum; NaN for empty rows."""
    cells = np.maximum(tables, 0).reshape(len(tables), rows, -1)
    total = cells.sum(axis=2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(total > 0, cells / total, np.nan).reshape(tables.shape))


def _information(shape: tuple[int, ...], tables: Floats) -> Floats:
    """Σ p log(p / (p_a p_b)) of each table."""
    from scipy.special import rel_entr

    p = np.maximum(tables, 0).reshape(-1, *shape)
    p = p / p.sum(axis=(1, 2), keepdims=True)
    apart = p.sum(axis=2, keepdims=True) * p.sum(axis=1, keepdims=True)
    nats = rel_entr(p, apart).sum(axis=(1, 2))
    # Independence may come out below zero by rounding.
    return np.asarray(np.maximum(nats, 0)[:, None])
