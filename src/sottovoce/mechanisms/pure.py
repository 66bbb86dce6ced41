"""Mechanisms whose report supports a set of values."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contract.reports import Reports
from ..estimate.intervals import Floats
from ..estimate.likelihood import Fit, fit_support
from .mechanism import Method
from .support import SupportMechanism


class PureMechanism(SupportMechanism):
    """A mechanism whose supported values are exchangeable, and counted.

    Estimate and variance as for every `SupportMechanism`, and

    Covariance  n Cov(f_u, f_v) = [(t - q^2) + (f_u + f_v) (s - p q - t + q^2)] / (p - q)^2

    where s is the probability that a report supports the truth and one given other value, and t
    that it supports two given other values. Wang et al. 2017, section 3, for the estimate; the
    covariance is the average over people of that of their support indicators.
    """

    table: ClassVar[str] = "support"

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

    def debias(self, counts: NDArray[Any], n: float) -> Floats:
        return self.fractions(counts, n)

    def debias_rows(self, counts: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
        return self.fractions(counts, n[:, None])

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        p, q = self.p, self.q
        s, t = self.pair
        base = float((t - q * q) / (p - q) ** 2)
        slope = float((s - p * q - t + q * q) / (p - q) ** 2)
        f = np.asarray(frequencies, float)
        matrix: Floats = (base + slope * (f[:, None] + f[None, :])) / n
        np.fill_diagonal(matrix, self.variance(f, n))
        return matrix

    def propagate(self, variances: Floats, n: int, *, full: bool) -> Floats:
        # Each count moves its own value only.
        moved = np.asarray(variances) / (n * self.rounded[1]) ** 2
        return np.diag(moved) if full else moved
