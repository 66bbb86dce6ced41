"""Mechanisms whose report supports a set of values."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contract.reports import Reports
from ..errors import ParameterError
from ..estimate.intervals import Floats, ScoreInterval
from ..estimate.likelihood import Fit, fit_support
from .linear import LinearMechanism
from .mechanism import TOO_SMALL, Method


class PureMechanism(LinearMechanism):
    """A mechanism whose report supports a set of values.

    The true value is supported with probability p, every other one with probability q. With c_v
    reports out of n supporting v,

    Estimate    f_v = (c_v / n - q) / (p - q)                                   (unbiased)
    Variance    n Var f_v = [q (1 - q) + f_v (p - q) (1 - p - q)] / (p - q)^2   (fixed data)
    Covariance  n Cov(f_u, f_v) = [(t - q^2) + (f_u + f_v) (s - p q - t + q^2)] / (p - q)^2

    where s is the probability that a report supports the truth and one given other value, and t
    that it supports two given other values. Wang et al. 2017, section 3, for the estimate; the
    covariance is the average over people of that of their support indicators.
    """

    table: ClassVar[str] = "support"

    def validate(self) -> None:
        super().validate()
        if self.p <= self.q:  # not even 128 bits can distinguish the truth from the rest
            raise ParameterError(TOO_SMALL.format(epsilon=self.epsilon))

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that the truth is supported, exactly."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a given other value is supported, exactly."""

    @property
    @abstractmethod
    def pair(self) -> tuple[Fraction, Fraction]:
        """(s, t): both of two values supported, one of them the truth or neither."""

    @abstractmethod
    def support(self, reports: Reports) -> NDArray[np.int64]:
        """How many reports support each value."""

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "unbiased": Method("Wang et al. 2017, section 3", biased=False),
            "mle": Method(
                "maximum of the support counts' likelihood, bits treated separately", biased=True
            ),
        }

    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        return fit_support(counts.astype(float), n, float(self.p), float(self.q))

    def restricted(self, candidates: NDArray[np.int64] | None) -> Self:
        if candidates is None:
            return self
        view = copy.copy(self)
        object.__setattr__(view, "candidates", candidates)
        return view

    @property
    def cells(self) -> int:
        return self.domain.size

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        return self.support(reports)

    @cached_property
    def rounded(self) -> tuple[float, float, float, float]:
        """(q, p − q, noise of a value nobody holds, what holding it adds), each rounded once."""
        p, q = self.p, self.q
        base, slope = q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q)
        return float(q), float(p - q), float(base), float(slope)

    def debias(self, counts: NDArray[Any], n: float | NDArray[np.int64]) -> Floats:
        q, gap, _, _ = self.rounded
        fractions: Floats = counts / n
        fractions -= q  # in place: under a menu of levels and rates there are many
        fractions /= gap
        return fractions

    def debias_rows(self, counts: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
        return self.debias(counts, n[:, None])

    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        _, _, base, slope = self.rounded
        result: Floats = (base + slope * np.asarray(frequencies, float)) / n
        return result

    def variance_rows(self, frequencies: Floats) -> Floats:
        return self.variance(frequencies, 1)

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        p, q = self.p, self.q
        s, t = self.pair
        base = float((t - q * q) / (p - q) ** 2)
        slope = float((s - p * q - t + q * q) / (p - q) ** 2)
        f = np.asarray(frequencies, float)
        matrix: Floats = (base + slope * (f[:, None] + f[None, :])) / n
        np.fill_diagonal(matrix, self.variance(f, n))
        return matrix

    def score_interval(self, values: Floats, counts: NDArray[np.int64], n: int) -> ScoreInterval:
        _, gap, base, slope = self.rounded
        return ScoreInterval(values, base / n, slope / n, step=0.5 / (n * gap))

    def propagate(self, variances: Floats, n: int, *, full: bool) -> Floats:
        # Each count moves its own value only.
        moved = np.asarray(variances) / (n * self.rounded[1]) ** 2
        return np.diag(moved) if full else moved

    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values; it does not depend on the data."""
        p, q, d = self.p, self.q, self.domain.size
        return float(d * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)) / n
