"""Mechanisms for numbers: one or two grids, and what is estimated from their cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
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
from ..estimate.estimate import Estimate, bootstrap, warn_if_useless
from ..estimate.intervals import Interval, normal_quantile
from ..estimate.likelihood import choose_smoothing, smoothed_em
from ..estimate.profile import Profile
from ..randomness import Probability, Source
from .channel import Channel
from .grid import Floats, Grid
from .mechanism import TOO_SMALL, Mechanism, Method
from .tails import MeanLaw

_NARROWEST, _WIDEST = 1e-60, 1e60
BINS = 16
PARTS = 4
_SLIGHT = (1 / 32, 1)
"""Smoothing of the distribution at which the likelihood is expanded."""


class NumericMechanism(Mechanism):
    """Numbers between public bounds; a report is a cell of one of its grids.

    Which grid a person uses is drawn publicly and does not depend on the answer.
    """

    domain: Range

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
    def finest_share(self) -> Probability | None:
        """Probability that the last of two grids is used; None where there is one grid."""
        return None

    @property
    def _finest(self) -> Grid:
        return list(self.grids.values())[-1]

    @property
    def methods(self) -> Mapping[str, Method]:
        mean = {"unbiased": Method("mean of the unbiased scores", biased=False)}
        if self._finest.steps == 1:
            return mean  # one bit carries no information on the spread
        return {
            **mean,
            "variance": Method("unbiased second moment less the squared mean", biased=True),
            "distribution": Method(
                f"EM over {BINS} equal bins, smoothed as reports held out suggest", biased=True
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
        n, blocks = self.domain.position_blocks(answers)
        grids = list(self.grids.values())
        cell = np.empty(n, self.layout[-1].dtype)
        which = np.zeros(n, np.uint8)
        draws = source.draws()
        for where, positions in blocks:
            if self.finest_share is not None:
                coins = source.bernoulli(self.finest_share, positions.size)
                bits = np.unpackbits(coins, count=positions.size, bitorder="little")
                which[where] = bits
            if len(grids) == 1:
                cell[where] = grids[0].draw(draws, positions)
                continue
            for k, grid in enumerate(grids):
                mine = np.flatnonzero(which[where] == k)
                cell[where][mine] = grid.draw(draws, positions[mine])
        return {"cell": cell} if len(grids) == 1 else {"grid": which, "cell": cell}

    def count(self, reports: Reports) -> Mapping[str, NDArray[np.int64]]:
        """How often each cell was reported."""
        cell = np.ascontiguousarray(reports.columns["cell"])
        tables: dict[str, NDArray[np.int64]] = {}
        for k, (name, grid) in enumerate(self.grids.items()):
            mine = cell if len(self.grids) == 1 else cell[reports.columns["grid"] == k]
            tables[name] = kernels.count.histogram(mine, grid.cells)
        if sum(int(table.sum()) for table in tables.values()) != len(reports):
            self.check(reports.columns)  # a report of a grid that does not exist is in no table
        return tables

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

    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        """The analyst's side: the mean, the variance, or the distribution over equal bins."""
        self.accept(aggregate, Aggregate)
        name = self.chosen_method(method)
        if aggregate.reports == 0:
            raise EstimateError("there are no reports, so there is nothing to estimate")
        estimator = {
            "unbiased": self._mean,
            "variance": self._variance,
            "distribution": self._bins,
        }
        estimate = estimator[name](aggregate)
        if name == "unbiased":
            warn_if_useless(estimate, self.domain.high - self.domain.low)
        return replace(estimate, guarantee=self.guarantee_behind(aggregate))

    def _one(self, label: str, value: float, variance: float, n: int, method: str) -> Estimate:
        return Estimate(
            values=np.array([value]),
            spread=np.array([variance]),
            n=n,
            labels=(label,),
            name=self.domain.name,
            guarantee=self.guarantee,
            method=method,
            biased=self.methods[method].biased,
            fractions=False,
            _covariance=partial(np.diag, [variance]),
        )

    def _means(self, aggregate: Aggregate, per_cell: Mapping[str, Floats]) -> float:
        total = sum(float(aggregate.dense(name) @ per_cell[name]) for name in self.grids)
        return total / aggregate.reports

    def _mean(self, aggregate: Aggregate) -> Estimate:
        """Mean, with the exact variance for fixed data at the estimated second moment."""
        n = aggregate.reports
        scores = {name: grid.scores for name, grid in self.grids.items()}
        mean = self._means(aggregate, scores)
        square = self._means(aggregate, {name: s**2 for name, s in scores.items()})
        # The mean squared answer: estimated on a fine grid; from one bit at least the mean squared.
        one_bit = self._finest.steps == 1
        answers = mean**2 if one_bit else max(self._second_moment(aggregate), 0.0)
        exact = self.variance_at(np.linspace(0, 1, 2 * self._finest.steps + 1))
        noise = min(max(square - answers, float(exact.min())), float(exact.max()))
        span = self.domain.high - self.domain.low
        value = self.domain.low + span * mean
        estimate = self._one("mean", value, span**2 * noise / n, n, "unbiased")
        most = max(mean * (1 - mean), 0.0)  # the largest variance between the bounds
        varies = most if one_bit else min(max(answers - mean**2, 0.0), most)
        law = self._law(aggregate)
        interval = partial(_mean_interval, law, mean, noise / n, self.domain.low, span)
        return replace(estimate, answer_variance=span**2 * varies, _interval=interval)

    def _law(self, aggregate: Aggregate) -> MeanLaw:
        """The law of the sum of all scores, with the largest spread that the reports support."""
        finest, n = self._finest, int(aggregate.dense(list(self.grids)[-1]).sum())
        second = 1.0
        if finest.steps > 1 and n:
            error = (finest.variance_of_squares / n) ** 0.5
            second = self._second_moment(aggregate) + 2 * error
        bits = None if self.finest_share is None else next(iter(self.grids.values()))
        fraction = 1.0 if self.finest_share is None else float(self.finest_share.fraction)
        return MeanLaw(aggregate.reports, finest, bits, fraction, second)

    def _second_moment(self, aggregate: Aggregate) -> float:
        """Mean squared position, less rounding to the grid as for evenly spread answers."""
        finest = list(self.grids)[-1]
        table = aggregate.dense(finest)
        rounded = float(table @ self._finest.squares) / max(int(table.sum()), 1)
        return rounded - self._finest.rounding * 2 / 3

    def variance_at(self, position: ArrayLike) -> Floats:
        """Exact variance of one report's score for an answer at this position, from 0 to 1."""
        grids = list(self.grids.values())
        if self.finest_share is None:
            return grids[0].variance_at(position)
        fraction = float(self.finest_share.fraction)
        return fraction * grids[1].variance_at(position) + (1 - fraction) * grids[0].variance_at(
            position
        )

    def _variance(self, aggregate: Aggregate) -> Estimate:
        """Population variance; its error by the delta method on the scores of the finest grid.

        Rounding to the grid cannot be distinguished from spread: its value for evenly spread
        answers is subtracted, and the interval extends downwards by the most that it can be. It
        adds Bernstein's term for few reports and few noise events to the normal half-width, and is
        limited to what numbers between the bounds can have.
        """
        table = aggregate.dense(list(self.grids)[-1])
        n = int(table.sum())
        if n < 2:
            raise EstimateError(f"a variance needs two reports on the fine grid; there are {n}")
        scores, squares = self._finest.scores, self._finest.squares
        mean = float(table @ scores) / n
        noise = (float(table @ scores**2) / n - mean**2) / (n - 1)
        rounded = float(table @ squares) / n - mean**2 + noise
        value = rounded - 2 / 3 * self._finest.rounding
        pull = squares - 2 * mean * scores
        at_points = self._finest.mean_at_points
        least = float((at_points(pull**2) - at_points(pull) ** 2).min())
        seen = (float(table @ pull**2) - float(table @ pull) ** 2 / n) / (n - 1)
        spread = max(seen, least) / n
        span = self.domain.high - self.domain.low
        variance, error = span**2 * value, span**4 * spread
        estimate = self._one("variance", variance, error, aggregate.reports, "variance")
        reach, offset = float(np.ptp(pull)) / n, self._finest.rounding
        interval = partial(_variance_interval, value, spread, reach, offset, span)
        return replace(estimate, _interval=interval)

    def _bins(self, aggregate: Aggregate) -> Estimate:
        """Distribution over equal bins; intervals by profile likelihood over parts of them."""
        counts = np.concatenate(
            [grid.merge_cells(aggregate.dense(name)) for name, grid in self.grids.items()]
        )
        laws = self._bin_laws(BINS)
        smoothing, fit = choose_smoothing(counts, laws, np.ones(BINS))
        again = partial(_bins_again, laws, aggregate.reports, smoothing)
        interval = partial(_bin_intervals, counts, self._bin_laws(BINS * PARTS), fit.values)
        edges = np.linspace(self.domain.low, self.domain.high, BINS + 1)
        labels = [f"[{a:g}, {b:g})" for a, b in pairwise(edges)]
        labels[-1] = labels[-1][:-1] + "]"
        return Estimate(
            values=fit.values,
            spread=partial(bootstrap, fit.values, again, 50),
            assuming=f"answers spread evenly within the {PARTS} quarters of each bin",
            n=aggregate.reports,
            labels=tuple(labels),
            name=self.domain.name,
            guarantee=self.guarantee,
            method="distribution",
            biased=True,
            error_from="bootstrap",
            converged=fit.converged,
            _interval=interval,
        )

    def _bin_laws(self, bins: int) -> Floats:
        laws = [grid.merge_cells(grid.bin_laws(bins)) for grid in self.grids.values()]
        if self.finest_share is None:
            return laws[0]
        fraction = float(self.finest_share.fraction)
        return np.concatenate([(1 - fraction) * laws[0], fraction * laws[1]], axis=1)

    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        """Cells, up to 32 together: among rare ones, the event would be chosen by chance."""
        cell = reports.columns["cell"].astype(np.int64)
        which = reports.columns.get("grid", np.zeros(len(reports), np.uint8))
        few = cell < 2  # the two cells of a single bit stay apart
        return np.stack([which, np.where(few, cell, cell // 32 + 2)], axis=1)

    def every_report(self, way: Way | None = None) -> Reports:
        which = np.concatenate(
            [np.full(grid.cells, k, np.uint8) for k, grid in enumerate(self.grids.values())]
        )
        cell = np.concatenate([np.arange(grid.cells) for grid in self.grids.values()])
        columns = {"cell": cell.astype(self.layout[-1].dtype)}
        if len(self.grids) > 1:
            columns = {"grid": which, **columns}
        return Reports(self.id, self.digest, columns)

    def channel(self, way: Way | None = None) -> Channel:
        """The law at the points of the finest grid; coarser grids round them without bias."""
        steps = self._finest.steps
        fraction = Fraction(1) if self.finest_share is None else self.finest_share.fraction
        rows = []
        for i in range(steps + 1):
            row = [fraction * cell for cell in self._finest.law(i)]
            for grid in list(self.grids.values())[:-1]:
                low, high = grid.law(0), grid.law(1)
                mixed = zip(low, high, strict=True)
                up = Fraction(i, steps)
                row = [(1 - fraction) * ((1 - up) * a + up * b) for a, b in mixed] + row
            rows.append(tuple(row))
        span = self.domain.high - self.domain.low
        inputs = [f"{self.domain.low + span * i / steps:g}" for i in range(steps + 1)]
        return Channel(inputs, [str(k) for k in range(len(rows[0]))], tuple(rows))


def _mean_interval(
    law: MeanLaw, mean: float, variance: float, low: float, span: float, confidence: float
) -> Interval:
    """In the units of the question."""
    ends = np.array(law.interval(mean, confidence, variance**0.5))
    return Interval(low + span * ends[:1], low + span * ends[1:])


def _variance_interval(
    value: float, spread: float, reach: float, offset: float, span: float, confidence: float
) -> Interval:
    """In the units of the question, squared."""
    quantile = normal_quantile(confidence)
    half = quantile * spread**0.5 + quantile**2 * reach / 2
    low = min(max(value - half - offset, 0.0), value)
    high = max(min(value + half + offset, 0.25), value)
    return Interval(np.array([span**2 * low]), np.array([span**2 * high]))


def _bins_again(
    laws: Floats, n: int, smoothing: tuple[float, int], values: Floats, rng: np.random.Generator
) -> Floats:
    law = values @ laws
    counts = rng.multinomial(n, law / law.sum())
    return smoothed_em(counts, laws, values + 1 / (n + BINS), smoothing, slack=0.1).values


def _bin_intervals(
    counts: NDArray[np.int64], laws: Floats, values: Floats, confidence: float
) -> Interval:
    """Of every bin on its own; they hold the estimate, which smoothing may have moved outside."""
    parts = len(laws) // values.size
    profile = Profile(counts, laws, smoothed_em(counts, laws, np.ones(len(laws)), _SLIGHT).values)
    bins = np.eye(values.size).repeat(parts, axis=1)
    low, high = np.array([profile.interval(group, confidence) for group in bins]).T
    return Interval(np.minimum(low, values), np.maximum(high, values))
