"""Mechanisms for numbers: one or two grids, and what is estimated from their cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..contract.aggregate import Aggregate, exact_sum
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.way import Way
from ..domain.ranges import Range
from ..domain.values import Domain, Label, code_dtype
from ..errors import EstimateError, ParameterError, WireError
from ..estimate.estimate import Estimate, warn_if_useless
from ..randomness import Draws, Probability, Source
from .channel import Channel
from .grid import Floats, Grid, draw_cells
from .mechanism import TOO_SMALL, Mechanism, Method
from .numeric_distribution import Bins, estimate_distribution
from .numeric_estimates import estimate_mean, estimate_variance

_NARROWEST, _WIDEST = 1e-60, 1e60


class NumericMechanism(Mechanism):
    """Numbers between public bounds; a report is a cell of one of its grids.

    Which grid a person uses is drawn publicly and does not depend on the answer.
    """

    domain: Range
    counted_by = frozenset({"histogram", "histogram_by"})

    def __init__(
        self,
        domain: Domain | int | Sequence[Label] | Sequence[float],
        *,
        epsilon: float,
        study: bytes | None = None,
    ) -> None:
        super().__init__(Range.of(domain), epsilon=epsilon, study=study)

    def validate(self) -> None:
        super().validate()
        width = self.domain.high - self.domain.low
        if not _NARROWEST <= width <= _WIDEST:
            raise ParameterError(
                f"the bounds are {width:g} apart; variances are computed only for widths from "
                f"{_NARROWEST:g} to {_WIDEST:g}. Choose other units"
            )
        if any(grid.slope <= 0 for grid in self.grids.values()):
            raise ParameterError(TOO_SMALL.format(epsilon=self.epsilon))

    @property
    @abstractmethod
    def grids(self) -> Mapping[str, Grid]:
        """The grids by name, the finest last."""

    @property
    def finest_fraction(self) -> Probability | None:
        """Probability that the last of two grids is used; None where there is one grid."""
        return None

    @property
    def finest(self) -> Grid:
        """The grid whose reports carry information on the spread of answers."""
        return list(self.grids.values())[-1]

    @property
    def grid_fractions(self) -> list[tuple[Grid, Fraction]]:
        """Every grid with the probability that a person uses it, the finest last."""
        last = Fraction(1) if self.finest_fraction is None else self.finest_fraction.fraction
        return list(zip(self.grids.values(), (1 - last, last)[-len(self.grids) :], strict=True))

    @property
    def methods(self) -> Mapping[str, Method]:
        mean = {"unbiased": Method("mean of the unbiased scores", biased=False)}
        if self.finest.steps == 1:
            return mean  # one bit carries no information on the spread
        return {
            **mean,
            "variance": Method("unbiased second moment less the squared mean", biased=True),
            "distribution": Method(
                "EM over parts of the range, smoothed as reports held out suggest",
                biased=True,
            ),
        }

    @property
    def layout(self) -> tuple[Column, ...]:
        cell = Column("cell", code_dtype(max(g.cells for g in self.grids.values())).str)
        return (Column("grid", "u1"), cell) if len(self.grids) > 1 else (cell,)

    def check(self, columns: Columns) -> None:
        cell, which = columns["cell"], columns.get("grid")
        sizes = [grid.cells for grid in self.grids.values()]
        if which is not None and which.size and int(which.max()) >= len(sizes):
            raise WireError(f"a report names grid {int(which.max())}; there are {len(sizes)}")
        for k, size in enumerate(sizes):
            mine = cell if which is None else cell[which == k]
            if mine.size and int(mine.max()) >= size:
                raise WireError(f"a report names cell {int(mine.max())} of a grid of {size}")

    def draw(self, answers: Any, source: Source) -> Columns:
        """Round to the grid, then answer from the window or outside it."""
        numbers, bounds = self.domain.plain_numbers(answers)
        grids, second = list(self.grids.values()), self.finest_fraction
        cell = np.empty(numbers.size, self.layout[-1].dtype)
        which = None if second is None else np.empty(numbers.size, np.uint8)

        def some(draws: Draws, people: slice) -> bool:
            own = None if which is None else which[people]
            return draw_cells(draws, grids, second, numbers[people], bounds, own, cell[people])

        if not all(source.over_ranges(some, numbers.size, work=60 * numbers.size)):
            self.domain.coded(answers)  # raises, and says which number is out of bounds
        return {"cell": cell} if which is None else {"grid": which, "cell": cell}

    def count(self, reports: Reports) -> Mapping[str, NDArray[np.int64]]:
        """How often each cell was reported."""
        cell, sizes = reports.columns["cell"], [grid.cells for grid in self.grids.values()]
        if len(sizes) == 1:
            counts = kernels.count.histogram(cell, sizes[0])[None]
        else:
            which = reports.columns["grid"]
            counts = kernels.count.histogram_by(which, cell, len(sizes), max(sizes))
        for row, size in zip(counts, sizes, strict=True):
            if row[size:].any():
                self.check(reports.columns)  # raises: a cell that its own grid does not have
        return {
            name: row[:size].copy()
            for name, row, size in zip(self.grids, counts, sizes, strict=True)
        }

    def check_aggregate(self, aggregate: Aggregate) -> None:
        tables = {n: t for n, t in aggregate.tables.items() if isinstance(t, np.ndarray)}
        shapes = {name: table.shape for name, table in tables.items()}
        expected = {name: (grid.cells,) for name, grid in self.grids.items()}
        if shapes != expected or len(tables) != len(aggregate.tables):
            raise WireError(f"the tables are {shapes}; {self.id!r} has {expected}")
        if aggregate.route is not None:
            raise WireError(f"counts of {self.id!r} cannot come from a protocol")
        total = sum(exact_sum(table) for table in tables.values())
        least = min(int(table.min()) for table in tables.values())
        if least < 0 or not total == aggregate.reports == aggregate.people:
            raise WireError(f"the cells hold {total} reports, not {aggregate.reports}")

    @property
    def words(self) -> str:
        return super().words + ", mean only" * (self.finest.steps == 1)

    def chosen_method(self, method: str | None) -> str:
        if method in ("variance", "distribution") and self.finest.steps == 1:
            raise ParameterError(
                f"{self.id!r} at epsilon {self.epsilon:g} sends one bit, which carries information "
                f"on the mean only; for the method {method!r}, collect with 'piecewise'"
            )
        return super().chosen_method(method)

    def estimate(
        self, aggregate: Aggregate, *, method: str | None = None, bins: Bins | None = None
    ) -> Estimate:
        """The analyst's side: the mean, the variance, or the distribution over bins.

        Parameters
        ----------
        method : {"unbiased", "variance", "distribution"}
            The mean is "unbiased", the default; a `Histogram` is "distribution".
        bins : int or sequence of float, optional
            Of a distribution: how many equal bins (16 by default), or their edges from bound to
            bound.
        """
        self.accept(aggregate, Aggregate)
        name = self.chosen_method("distribution" if method is None and bins is not None else method)
        if bins is not None and name != "distribution":
            raise ParameterError(f"bins belong to a distribution, not to {name!r}")
        if aggregate.reports == 0:
            raise EstimateError("there are no reports, so there is nothing to estimate")
        if name == "distribution":
            estimate: Estimate = estimate_distribution(self, aggregate, bins)
        elif name == "variance":
            estimate = estimate_variance(self, aggregate)
        else:
            estimate = estimate_mean(self, aggregate)
            warn_if_useless(estimate, self.domain.high - self.domain.low)
        guarantee = self.guarantee_behind(aggregate)
        return replace(estimate, guarantee=guarantee, _origins=aggregate.marks_of())

    def variance_at(self, position: ArrayLike) -> Floats:
        """Exact variance of one report's score for an answer at this position, from 0 to 1."""
        each = (float(part) * grid.variance_at(position) for grid, part in self.grid_fractions)
        return np.asarray(sum(each))

    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        """Cells, up to 32 together: among rare ones, the event would be chosen by chance."""
        cell = reports.columns["cell"].astype(np.int64)
        which = reports.columns.get("grid", np.zeros(len(reports), np.uint8))
        few = cell < 2  # the two cells of a single bit stay apart
        return np.stack([which, np.where(few, cell, cell // 32 + 2)], axis=1)

    def every_report(self, way: Way | None = None) -> Reports:
        sizes = [grid.cells for grid in self.grids.values()]
        numbers = {
            "grid": np.repeat(np.arange(len(sizes)), sizes),
            "cell": np.concatenate([np.arange(size) for size in sizes]),
        }
        columns = {column.name: numbers[column.name].astype(column.dtype) for column in self.layout}
        return Reports(self.id, self.digest, columns)

    def channel(self, way: Way | None = None) -> Channel:
        """The law at the points of the finest grid; coarser grids round them without bias."""
        steps, rows = self.finest.steps, []
        for i in range(steps + 1):
            row: list[Fraction] = []
            for grid, part in self.grid_fractions:
                below, up = divmod(Fraction(i * grid.steps, steps), 1)
                law = grid.law(below)
                if up:
                    pair = zip(law, grid.law(below + 1), strict=True)
                    law = [(1 - up) * a + up * b for a, b in pair]
                row += [part * cell for cell in law]
            rows.append(tuple(row))
        span = self.domain.high - self.domain.low
        inputs = [f"{self.domain.low + span * i / steps:g}" for i in range(steps + 1)]
        return Channel(inputs, [str(k) for k in range(len(rows[0]))], tuple(rows))
