"""Mechanisms given by a table of probabilities, drawn exactly from 32 bits at a time."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..accounting.information import leakage
from ..checks import number
from ..contract.reports import Reports
from ..contract.way import Way
from ..domain.values import Label
from ..errors import EstimateError, ParameterError
from ..estimate.intervals import Floats, ScoreInterval
from ..estimate.likelihood import Fit, em
from .categorical import Drawing, ScoredMechanism
from .channel import Channel
from .linear import Size
from .prior_channels import IntegerChannel, drawing_tables
from .prior_estimates import fit_mixing, inverse, shrunk

_MOST_SCORES = 1 << 20  # answers times outputs, whose products are computed
_MOST_CORRELATED = 512


class ChannelMechanism(ScoredMechanism):
    """A report is one of a few outputs, drawn from the answer's row of a channel.

    A subclass gives the channel in whole numbers out of 2^128 and the fractions at which its
    unbiased estimate has the lowest variance.
    """

    @property
    @abstractmethod
    def integers(self) -> IntegerChannel:
        """Q(y|x) 2^128, as it is drawn."""

    @property
    @abstractmethod
    def centre(self) -> Floats:
        """The fractions of the values at which to be best."""

    @cached_property
    def digest(self) -> bytes:
        """As for every mechanism, computed once: it covers a number per value."""
        return super().digest

    @cached_property
    def matrix(self) -> Floats:
        """Q(y|x) as floats."""
        if self._mix is not None:
            keep, rest = self._mix
            return np.asarray(rest + keep * np.eye(rest.size))
        return np.array([[cell / 2.0**128 for cell in row] for row in self.integers.rows])

    @cached_property
    def _mix(self) -> tuple[float, Floats] | None:
        """(κ, κ m) where the channel mixes; None for a general one."""
        law = self.integers
        if law.rows:
            return None
        return law.keep / 2.0**128, np.array([cell / 2.0**128 for cell in law.rest])

    @cached_property
    def _score(self) -> Floats | None:
        """Of a general channel: the matrix from output fractions to unbiased ones, if it exists."""
        return inverse(self.matrix, self.centre)

    @property
    def invertible(self) -> bool:
        """Whether the fractions can be estimated without bias."""
        return self._mix is not None or self._score is not None

    @property
    def _combination(self) -> Floats:
        if self._score is None:
            raise EstimateError(
                f"different fractions give the same reports under this channel of {self.id!r}, so "
                f"there is no unbiased estimate; available: {', '.join(map(repr, self.methods))}"
            )
        return self._score

    @property
    def cells(self) -> int:
        return self.integers.outputs

    @cached_property
    def _tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return drawing_tables(self.integers)

    def knows_scores(self, many: int) -> bool:
        return bool(self.cells * self.domain.size <= _MOST_SCORES)

    def scores_of(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self._linear_map(1))

    def noise_of(self, scores: Floats) -> Floats:
        squares, means = scores**2 @ self.matrix.T, scores @ self.matrix.T
        return np.asarray(np.maximum(squares - means**2, 0.0))

    @property
    def drawing(self) -> Drawing:
        return np.uint32, kernels.draw.table_response, self._tables

    def debias(self, counts: NDArray[Any], n: float) -> Floats:
        if self._mix is not None:
            keep, rest = self._mix
            return np.asarray((counts / n - rest) / keep)
        return np.asarray(self._combination @ (counts / n))

    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        f = np.asarray(frequencies, float)
        if self._mix is None:
            return np.asarray(np.diag(self.covariance(f, n)))
        keep, rest = self._mix
        noise = rest * (1 - rest) + keep * f * (1 - 2 * rest - keep)
        return np.asarray(noise / (keep**2 * n))

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        f = np.asarray(frequencies, float)
        if self._mix is None:
            # At estimated fractions below zero this could be negative; true ones never are.
            g, people, q = self._combination, np.maximum(f, 0.0), self.matrix
            people = people / people.sum()
            outputs = np.diag(people @ q) - (q * people[:, None]).T @ q
            return np.asarray(g @ outputs @ g.T / n)
        keep, rest = self._mix
        cross = keep * np.outer(rest, f)
        matrix = -(np.outer(rest, rest) + cross + cross.T) / (keep**2 * n)
        np.fill_diagonal(matrix, self.variance(f, n))
        return np.asarray(matrix)

    def score_interval(self, values: Floats, counts: NDArray[Any], n: Size) -> ScoreInterval | None:
        if self._mix is None:
            return self._general_interval(values, n)
        keep, rest = self._mix
        base, slope = rest * (1 - rest) / keep**2, (1 - 2 * rest - keep) / keep
        return ScoreInterval(values, base / n, slope / n, step=0.5 / (n * keep))

    def _general_interval(self, values: Floats, n: Size) -> ScoreInterval | None:
        """With the largest variance of a report's score over the answers of others.

        Given f_v it is at most f_v s_vv + (1 − f_v) max_{x≠v} s_xv, where s_xv is the variance of
        the score for v of someone who answered x.
        """
        if self._score is None:
            return None
        mean = self.matrix @ self._score.T
        square = self.matrix @ (self._score**2).T
        each = square - mean**2
        own = np.diag(each).copy()
        np.fill_diagonal(each, 0.0)
        base, reach = each.max(axis=0), np.ptp(self._score, axis=1)
        return ScoreInterval(values, base / n, (own - base) / n, step=0.5 * reach / n)

    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values, where every value is equally frequent."""
        d = self.domain.size
        return float(self.variance(np.full(d, 1 / d), n).sum())

    def _law(self, frequencies: Floats) -> Floats:
        """Probability of every output: Σ_x f_x Q(y|x)."""
        if self._mix is None:
            return np.asarray(frequencies @ self.matrix)
        keep, rest = self._mix
        return np.asarray(rest * frequencies.sum() + keep * frequencies)

    def _back(self, weights: Floats) -> Floats:
        """Σ_y w_y Q(y|x) for every value."""
        if self._mix is None:
            return np.asarray(self.matrix @ weights)
        keep, rest = self._mix
        return np.asarray(rest @ weights + keep * weights)

    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        if self._mix is None:
            # Where several distributions are equally likely, the one reached from the centre.
            start = np.ones(self.domain.size) if self.invertible else self.centre
            return em(counts, self._law, self._back, start)
        return fit_mixing(counts / n, *self._mix)

    def prior_fractions(self, name: str, counts: Any, n: int, sd: float | None) -> Floats:
        """Fractions that rely on the prior."""
        if name == "shrunk":
            tau = number(sd, "prior_sd", "a number of at least 0")
            if tau < 0:
                raise ParameterError(f"prior_sd is {sd!r}; it must be a number of at least 0")
            small = self.domain.size <= _MOST_CORRELATED
            noise = (self.covariance if small else self.variance)(self.centre, n)
            return shrunk(self.debias(counts, n), self.centre, noise, tau, n)
        # Σ_y c_y / n P(x|y), P(x|y) = P_x Q(y|x) / λ_y
        return self.centre * self._back(counts / n / self._law(self.centre))

    def mmse_error(self) -> float:
        """Expected squared error of one person's posterior mean, total over the values.

        Σ_x P_x − Σ_y λ_y Σ_x P(x|y)²; for two values twice the error of their common number.
        """
        p, rare = self.centre, 1 / self._law(self.centre)
        if self._mix is None:
            return float(1 - p**2 @ (self.matrix**2 @ rare))
        keep, rest = self._mix
        return float(1 - p**2 @ (rest**2 @ rare + (2 * rest + keep) * keep * rare))

    @property
    def leakage(self) -> float:
        """Mutual information of answer and report at the prior, in nats."""
        if self._mix is None:
            return leakage(self.matrix, self.centre)
        keep, rest = self._mix
        seen = rest + keep * self.centre
        other, own = (1 - self.centre) * rest, self.centre * (rest + keep)
        return float(other @ np.log(rest / seen) + own @ np.log((rest + keep) / seen))

    def outcomes(self, reports: Reports, x: Label, y: Label) -> NDArray[Any]:
        return reports.columns["value"]

    def decode_steps(self, n: int) -> float:
        return n + self.domain.size

    def channel(self, way: Way | None = None) -> Channel:
        self.refuse_large(self.cells)
        law = self.integers
        rows = tuple(law.law(x) for x in range(self.domain.size))
        labels = self.domain.labels
        named = [str(labels[y]) if not law.rows else f"report {y}" for y in range(self.cells)]
        return Channel(labels, named, rows)
