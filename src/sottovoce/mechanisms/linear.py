"""Mechanisms over a set of values whose estimate is linear in their counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..contract.aggregate import Aggregate, exact_sum
from ..contract.reports import Reports, split_reports
from ..contract.route import Route
from ..domain.values import Domain
from ..errors import EstimateError, ParameterError, WireError
from ..estimate.estimate import Estimate, warn_if_useless
from ..estimate.intervals import Ends, Floats, ScoreInterval, Terms
from ..estimate.likelihood import Fit
from .mechanism import Counted, Mechanism

MOST_OUTPUTS = 4096
MOST_COUNTERS = 1 << 27  # a gigabyte of them
TINY = 4

#: How many reports: of one group, or a column with a row for each of several.
Size = float | Floats


class LinearMechanism(Mechanism):
    """A mechanism over a set of values whose unbiased estimate is linear in its counts.

    A subclass says what is counted (`tally`), how counts become fractions (`debias`), and what
    the variance and covariance of those are when the data are fixed.
    """

    def validate(self) -> None:
        super().validate()
        if self.domain.size < 2:
            raise ParameterError(
                f"{self.id!r} is for a set of values, and {self.domain.name!r} is a number; for "
                "numbers use Duchi, Piecewise or Hybrid, or public bins (Attribute.bins)"
            )

    #: Whether `tally` counts the chosen values alone; otherwise all, from which they are selected.
    counts_chosen: ClassVar[bool] = False

    #: What the aggregate's table of counts is called; stored, so it never changes.
    table: ClassVar[str] = "outputs"

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many counts an aggregate of all values holds."""

    @property
    def counters(self) -> int:
        """How many counts an aggregate holds: of all values, or of the chosen ones."""
        return self.cells if self.candidates is None else self.candidates.size

    @abstractmethod
    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """The counts of some reports."""

    def _select(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of what `tally` counted, the counts of the chosen values."""
        every = self.candidates is None or self.counts_chosen
        return counts if every else counts[..., self.candidates]

    def _refuse_counters(self) -> None:
        """Refuse to count more values or outputs than fit in memory."""
        counters = self.counters if self.counts_chosen else self.cells
        if counters > MOST_COUNTERS:
            raise ParameterError(
                f"{self.id!r} over {self.domain.size:,} values would need {counters:,} counters; "
                f"at most {MOST_COUNTERS:,} are kept. Count chosen values only, with values= "
                "(--candidates), which 'olh' and 'hadamard' can do without counters for all"
            )

    def check_countable(self) -> None:
        """Raise ParameterError where neither all values nor chosen ones could be counted."""
        if self.cells > MOST_COUNTERS:
            self.restricted(np.zeros(1, np.int64))._refuse_counters()

    def tally_by(self, reports: Reports, group: NDArray[Any], groups: int) -> NDArray[np.int64]:
        """The counts of the reports of each group, one row per group."""
        counts = np.zeros((groups, self.counters), np.int64)
        for k, part in split_reports(reports, group, groups):
            counts[k] = self.tally(part)
        return counts

    def count(self, reports: Reports) -> Mapping[str, NDArray[np.int64]]:
        self._refuse_counters()
        return {self.table: self._select(self.tally(reports))}

    def count_by(self, reports: Reports, group: NDArray[Any], groups: int) -> Counted:
        self._refuse_counters()
        if groups == 1:
            return np.array([len(reports)]), {self.table: self._select(self.tally(reports))[None]}
        counts = self.tally_by(reports, group, groups)
        marked = counts.size <= group.size and self.marks_per_report
        people = self._people_in(counts) if marked else kernels.count.histogram(group, groups)
        return people, {self.table: self._select(counts)}

    def _people_in(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many reports were counted in each row: the counts of all values say it."""
        return np.asarray(kernels.count.row_sums(counts) // (self.marks_per_report or 1))

    @abstractmethod
    def debias(self, counts: NDArray[Any], n: float) -> Floats:
        """Unbiased fractions from the counts of n reports: linear in c / n, for weighted counts."""

    def debias_rows(self, counts: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
        """The same for many groups: a row of counts and a positive number of reports for each."""
        rows = zip(counts, n.tolist(), strict=True)
        return np.stack([self.debias(row, many) for row, many in rows])

    @abstractmethod
    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        """The distribution under which the counts of n reports are most likely."""

    @property
    def marks_per_report(self) -> int | None:
        """How many counts each report raises by one; None where that varies."""
        return None

    @abstractmethod
    def decode_steps(self, n: int) -> float:
        """Elementary steps from n reports to the estimate, to compare mechanisms by."""

    @abstractmethod
    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values."""

    @abstractmethod
    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        """Exact variance of each estimated value when the data are fixed."""

    def variance_rows(self, frequencies: Floats) -> Floats:
        """Variances of one report for many groups, a row of fractions for each."""
        return np.stack([self.variance(row, 1) for row in frequencies])

    @abstractmethod
    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        """Exact covariance matrix of the estimated values when the data are fixed."""

    def covariance_behind(
        self, values: Floats, aggregate: Aggregate
    ) -> Callable[[], Floats] | None:
        """Computes the covariance matrix of the values estimated from these counts, if it can."""
        return (
            partial(self.covariance, values, aggregate.reports) if self.knows_covariance else None
        )

    def spread(self, values: Floats, counts: NDArray[np.int64], n: int) -> Floats:
        """Estimated variance of each value."""
        return self.variance(values, n)

    def of_aggregate(self, aggregate: Aggregate) -> Self:
        """The same mechanism for the values that were counted, which must be of its domain."""
        chosen = aggregate.candidates
        if chosen is None:
            return self
        if aggregate.route is not None:
            raise WireError("counts of chosen values cannot come from a protocol")
        inside = chosen.size and chosen.min() >= 0 and chosen.max() < self.domain.size
        if not inside or np.unique(chosen).size < chosen.size:
            raise WireError("the chosen values are none, or outside the domain, or one is twice")
        return self.restricted(chosen)

    def check_aggregate(self, aggregate: Aggregate) -> None:
        self.of_aggregate(aggregate)._check_counts(aggregate)

    def _check_counts(self, aggregate: Aggregate) -> None:
        counts, n, route = aggregate.tables.get(self.table), aggregate.reports, aggregate.route
        if set(aggregate.tables) != {self.table} or not isinstance(counts, np.ndarray):
            raise WireError(f"tables {sorted(aggregate.tables)}; {self.id!r} has {self.table!r}")
        if counts.shape != (self.counters,):
            raise WireError(f"counts of shape {counts.shape}; {self.counters} are expected")
        if n != aggregate.people:
            raise WireError(f"{n} reports of {aggregate.people} people, but everyone reports")
        least, most = int(counts.min()), int(counts.max())
        if not (least >= 0 and most <= n if route is None else route.allows(least, most, n)):
            raise WireError(f"a count lies outside what {n} reports allow")
        if route is None and not self._allows_sum(exact_sum(counts), n):
            marks = self.marks_per_report
            raise WireError(f"the counts sum to {exact_sum(counts)}; {n} reports give {marks} each")

    def _allows_sum(self, total: int, n: int) -> bool:
        """Whether the counts of n reports can sum to this; those of other values are not seen."""
        marks = self.marks_per_report
        if marks is None:
            return True
        unseen = self.cells - self.counters
        return max(marks - unseen, 0) * n <= total <= min(marks, self.counters) * n

    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        """The analyst's side: fractions with their error."""
        self.accept(aggregate, Aggregate)
        name = self.chosen_method(method)
        if aggregate.candidates is not None and self.candidates is None:
            return self.of_aggregate(aggregate).estimate(aggregate, method=name)
        n, counts = aggregate.reports, aggregate.dense(self.table)
        if n == 0:
            raise EstimateError("there are no reports, so there is nothing to estimate")
        if self.candidates is not None and name != "unbiased":
            raise EstimateError(
                f"{name!r} estimates the whole distribution, and only {len(self.labels):,} chosen "
                "values were counted; use 'unbiased', or count all values"
            )
        if aggregate.route is not None:
            return self._estimate_routed(aggregate, aggregate.route, name)
        values = self.debias(counts, n)
        own = self.score_interval(values, counts, n)
        raw = Estimate(
            values=values,
            spread=self.spread(values, counts, n),
            n=n,
            labels=self.labels,
            name=self.domain.name,
            guarantee=self.guarantee_behind(aggregate),
            exclusive=self.domain.exclusive,
            complete=self.candidates is None,
            _covariance=self.covariance_behind(values, aggregate),
            _interval=own and replace(own, most=partial(self.sum_line, values, n)),
            _origins=aggregate.marks_of(),
        )
        warn_if_useless(raw, 1.0)
        if name == "unbiased":
            return raw
        fit = self.maximise(counts, n)
        return replace(
            raw,
            values=fit.values,
            method=name,
            biased=True,
            converged=fit.converged,
            raw=raw,
            _covariance=None,
            _interval=None,
        )

    def score_interval(self, values: Floats, counts: NDArray[Any], n: Size) -> ScoreInterval | None:
        """The interval of unbiased estimates, where a value's noise is known from its fraction.

        Of several groups at once: a row of counts and of n for each, which gives a row of its
        parameters.
        """
        return None

    def sum_line(self, values: Floats, n: float, weights: Floats, ends: Ends) -> Terms | None:
        """The line of the largest noise of combinations of values; see `estimate.intervals`.

        None where it is not known, or would take too long to compute.
        """
        return None

    def _estimate_routed(self, aggregate: Aggregate, route: Route, method: str) -> Estimate:
        """Unbiased fractions from counts to which a protocol added noise, or which it thinned.

        With c the counts without the noise's mean, A the linear map of `debias`, σ² the variance of
        the noise in a cell and r the probability with which a holder was kept, the covariance is
        that of the mechanism plus A diag((1 − r) max(c, 0) + σ²) Aᵀ / r².
        """
        if method != "unbiased":
            raise EstimateError(
                f"counts by {route.protocol!r} have noise of their own, which {method!r} does not "
                "account for; use 'unbiased', and project the estimate if necessary"
            )
        if route.kept < 1 and self.marks_per_report != 1:
            raise EstimateError(
                f"a report of {self.id!r} raises several counts, so holders cannot have been kept "
                "one by one; only counts with one mark for each report can be thinned"
            )
        if route.threshold:
            raise EstimateError(f"{self.id!r} cannot be estimated from suppressed counts")
        n, counts = aggregate.reports, aggregate.dense(self.table)
        scale = 1 / route.kept
        shift = self.debias(np.zeros(self.cells, np.int64), n)
        values = shift + scale * (self.debias(counts, n) - shift)
        noise = mean = 0.0
        if route.noise is not None:
            noise, mean = route.noise.variance, route.noise.mean
        if mean:
            values -= scale * mean * (self.debias(np.ones(self.cells, np.int64), n) - shift)
        added = scale**2 * ((1 - route.kept) * np.maximum(counts - mean, 0) + noise)
        own = self.score_interval(values, counts, n)
        if own is not None:
            own = own.times(1.0, base=self.propagate(added, n, full=False))
        estimate = Estimate(
            values=values,
            spread=self.variance(values, n) + self.propagate(added, n, full=False),
            n=n,
            labels=self.domain.labels,
            name=self.domain.name,
            guarantee=self.guarantee_behind(aggregate),
            exclusive=self.domain.exclusive,
            _covariance=partial(self._routed_covariance, values, added, n),
            _interval=own,
            _origins=aggregate.marks_of(),
        )
        warn_if_useless(estimate, 1.0)
        return estimate

    def _routed_covariance(self, values: Floats, added: Floats, n: int) -> Floats:
        return self.covariance(values, n) + self.propagate(added, n, full=True)

    def propagate(self, variances: Floats, n: int, *, full: bool) -> Floats:
        """A diag(v) Aᵀ of independent errors in the counts, or its diagonal."""
        if self.cells > MOST_OUTPUTS:
            raise EstimateError(
                f"errors of {self.cells:,} counts cannot be carried over one by one; at most "
                f"{MOST_OUTPUTS:,} are"
            )
        linear = self._linear_map(n)
        weighted = linear * variances
        return np.asarray(weighted @ linear.T if full else (weighted * linear).sum(axis=1))

    def _linear_map(self, n: int) -> Floats:
        """A: what one more in each count of n reports adds to the fractions."""
        zero = self.debias(np.zeros(self.cells, np.int64), n)
        units = np.eye(self.cells, dtype=np.int64)
        return np.stack([self.debias(unit, n) - zero for unit in units], axis=1)

    def tiny(self) -> Self:
        return replace(self, domain=Domain(min(self.domain.size, TINY)))

    def refuse_large(self, outputs: int) -> None:
        """Refuse to write down a channel that does not fit."""
        if outputs > MOST_OUTPUTS:
            raise ParameterError(
                f"the channel of {self.id!r} over {self.domain.size} values has more than "
                f"{MOST_OUTPUTS:,} outputs; use .tiny().channel() for its law in small"
            )


def tally_together(
    parts: Sequence[tuple[LinearMechanism, NDArray[np.intp]]],
    reports: Reports,
    group: NDArray[Any],
) -> list[Counted]:
    """What `count_by` gives for each mechanism and its groups, in one pass over the reports.

    All have the same `tally_key`. The first has the most cells, and the reports have its columns.
    """
    widest = parts[0][0]
    widest._refuse_counters()
    groups = sum(own.size for _, own in parts)
    counts = widest.tally_by(reports, group, groups)
    marked = counts.size <= group.size and all(m.marks_per_report for m, _ in parts)
    people = None if marked else kernels.count.histogram(group, groups)
    counted: list[Counted] = []
    for mechanism, own in parts:
        rows = counts[own]
        if rows[:, mechanism.cells :].any():
            raise WireError(
                f"a report of {mechanism.words} has a number that is not one of 0 to "
                f"{mechanism.cells - 1}"
            )
        rows = np.ascontiguousarray(rows[:, : mechanism.cells])
        many = mechanism._people_in(rows) if people is None else people[own]
        counted.append((many, {mechanism.table: rows}))
    return counted
