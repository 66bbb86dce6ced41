"""What the people of each stratum answer, and the noise of their reports: f_h and C_h.

`NoiseLine` says how that noise depends on the truth, for intervals.

As tables with a row per stratum, or from counts. Estimates are linear in the counts, and the noise
of reports is linear in the answers, so that sums over a thousand strata need no such tables.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..estimate.intervals import Ends, Floats, NoiseLines, ScoreInterval, Terms
from ..mechanisms.categorical import SupportMechanism
from ..mechanisms.linear import LinearMechanism

Rows = NDArray[np.intp]


class Means:
    """f_h of each stratum, from a table with a row for each."""

    def __init__(self, table: Floats) -> None:
        self.table = table

    def sum(self, weights: Floats) -> Floats:
        """Σ a_h f_h."""
        return np.asarray(weights @ self.table)

    def only(self, rows: Rows) -> Means:
        """Of some strata."""
        return Means(self.table[rows])


class CountedMeans(Means):
    """From counts: each stratum's unbiased estimate, and zero where nobody reported."""

    def __init__(
        self, mechanism: LinearMechanism, counts: NDArray[np.int64], reported: NDArray[np.int64]
    ) -> None:
        self.mechanism, self.counts, self.reported = mechanism, counts, reported

    @cached_property
    def table(self) -> Floats:  # type: ignore[override]
        means = self.mechanism.debias_rows(self.counts, np.maximum(self.reported, 1))
        if not self.reported.all():
            means[self.reported == 0] = 0.0
        return means

    def sum(self, weights: Floats) -> Floats:
        if weights.size == 1:  # the table then has all there is
            return np.asarray(weights[0] * self.table[0])
        used = np.where(self.reported > 0, weights, 0.0)
        total = float(used.sum())
        if total == 0:
            return np.zeros(len(self.mechanism.labels))
        counts = kernels.count.weighted_sum(self.counts, used / np.maximum(self.reported, 1))
        return self.mechanism.debias(counts, total) * total

    def only(self, rows: Rows) -> Means:
        return CountedMeans(self.mechanism, self.counts[rows], self.reported[rows])


class Noise:
    """C_h of each stratum, from a table of the diagonals, where these are all that is known."""

    def __init__(self, each: Floats) -> None:
        self.each = each

    def table(self) -> Floats:
        """The diagonals, one row per stratum."""
        return self.each

    def sum(self, weights: Floats) -> Floats:
        """Diagonal of Σ a_h C_h."""
        return np.asarray(weights @ self.each)

    def matrix_sum(self, weights: Floats) -> Floats:
        """Σ a_h C_h."""
        return np.diag(self.sum(weights))

    def only(self, rows: Rows) -> Noise:
        """Of some strata."""
        return Noise(self.each[rows])


class NoiseOfMeans(Noise):
    """From what people answer: C_h is linear in f_h."""

    def __init__(self, mechanism: LinearMechanism, means: Means) -> None:
        self.mechanism, self.means = mechanism, means

    def table(self) -> Floats:
        return self.mechanism.variance_rows(self.means.table)

    def sum(self, weights: Floats) -> Floats:
        total = float(weights.sum())
        return total * self.mechanism.variance(self.means.sum(weights) / total, 1)

    def matrix_sum(self, weights: Floats) -> Floats:
        total = float(weights.sum())
        return total * self.mechanism.covariance(self.means.sum(weights) / total, 1)

    def only(self, rows: Rows) -> Noise:
        return NoiseOfMeans(self.mechanism, self.means.only(rows))


class NoiseLine:
    """How the noise of a report depends on the truth: a, b and h of `estimate.intervals`."""

    def __init__(
        self,
        mechanism: LinearMechanism,
        counts: NDArray[np.int64],
        reported: NDArray[np.int64],
        rows: Rows | slice = slice(None),
    ) -> None:
        self.mechanism, self._every, self._reported, self._rows = mechanism, counts, reported, rows

    @property
    def reported(self) -> NDArray[np.int64]:
        """Reports of each stratum."""
        return self._reported[self._rows]

    @property
    def _counts(self) -> NDArray[np.int64]:
        """Those of each stratum; not looked at where the noise does not depend on them."""
        known = isinstance(self.mechanism, SupportMechanism)
        return self._every[:1] if known else self._every[self._rows]

    def sum(self, weights: Floats) -> ScoreInterval | None:
        """Of Σ a_h C_h, with the step h of one report; None where it is not known.

        Of some mechanisms it is estimated from the counts. Those of the strata then count as their
        noise does, as if as many people had reported as give their average the same error.
        """
        reports, counts = np.maximum(self.reported, 1), self._counts
        parts = np.where(self.reported > 0, weights, 0.0)
        parts /= parts.sum()
        n = 1 / float(parts**2 @ (1 / reports))
        one = counts[0]
        if len(counts) > 1:
            one = n * kernels.count.weighted_sum(counts, parts / reports)
        line = self.mechanism.score_interval(np.zeros(1), one, n)
        if line is None:
            return None
        factor = n * float(weights.sum())
        every = self._every[self._rows]
        combined = every[0] if len(every) == 1 else n * (parts / reports @ every)
        most = partial(self._most, combined, n, factor, n)
        return replace(line.times(factor), step=n * line.step, most=most)

    def each(self, weights: Floats, draw: Floats) -> NoiseLines | None:
        """Of a_h C_h and the drawing of people, for every stratum alone; all of them report."""
        n = self.reported[:, None].astype(float)
        line = self.mechanism.score_interval(np.zeros(1), self._counts, n)
        if line is None:
            return None
        own = line.times(n * weights[:, None])
        base, slope, step = map(np.asarray, (own.base, own.slope, own.step))
        least = own.least and (np.asarray(own.least[0]), np.asarray(own.least[1]))
        pairs = own.pairs and (np.asarray(own.pairs[0]), np.asarray(own.pairs[1]))
        lines = NoiseLines(base, slope, draw[:, None], step, least=least, pairs=pairs)
        if pairs is not None:
            return lines
        rows = zip(self._every[self._rows], n[:, 0], weights, draw, strict=True)
        return replace(lines, each=tuple(partial(self._combinations, *row) for row in rows))

    def _most(
        self,
        counts: NDArray[Any],
        n: float,
        factor: float,
        scale: float,
        weights: Floats,
        ends: Ends,
    ) -> Terms | None:
        """The line of combinations, with noise times a factor and steps on a scale."""
        values = self.mechanism.debias(counts, n)
        terms = self.mechanism.sum_line(values, n, weights, ends)
        if terms is None:
            return None
        base, slope, step = terms
        return factor * base, factor * slope, None if step is None else scale * step

    def _combinations(
        self,
        counts: NDArray[Any],
        n: float,
        weight: float,
        draw: float,
        weights: Floats,
        ends: Ends,
    ) -> ScoreInterval | None:
        """Their interval from the reports of one stratum, where C_h counts `weight` times."""
        line = self.mechanism.score_interval(np.zeros(1), counts, n)
        if line is None:
            return None
        most = partial(self._most, counts, n, n * weight, 1.0)
        own = replace(line, values=self.mechanism.debias(counts, n), draw=draw, most=most)
        return own.combinations(weights, ends)

    def only(self, rows: Rows) -> NoiseLine:
        """Of some strata."""
        kept = np.arange(len(self._every))[self._rows][rows]
        return NoiseLine(self.mechanism, self._every, self._reported, kept)
