"""Mechanisms whose report supports a set of values, the truth with probability p."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contract.collection import Columns
from ..contract.reports import Reports
from ..contract.way import Way
from ..domain.values import Label
from ..errors import ParameterError
from ..estimate.intervals import Floats, ScoreInterval
from .channel import Channel, set_row
from .linear import LinearMechanism
from .mechanism import TOO_SMALL


class SetMechanism(LinearMechanism):
    """A report supports a set of values, the truth with probability p.

    It is uniform among the reports that support the truth, and among the others, unless `channel`
    says otherwise.
    """

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that the truth is supported, exactly."""

    def supports(self, columns: Columns, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Whether each report (rows) supports each of the values with these codes (columns).

        `outcomes` and `channel` are made of it, where they are not written otherwise.
        """
        raise NotImplementedError(type(self).__name__)

    def outcomes(self, reports: Reports, x: Label, y: Label) -> NDArray[Any]:
        return self.supports(reports.columns, self.domain.encode([x, y]).astype(np.int64))

    def report_names(self, reports: Reports) -> list[str]:
        """What the outputs of the channel are called."""
        return [str(y) for y in range(len(reports))]

    def channel(self, way: Way | None = None) -> Channel:
        reports = self.every_report()
        sets = self.supports(reports.columns, np.arange(self.domain.size)).T.tolist()
        rows = tuple(set_row(self.p, row) for row in sets)
        return Channel(self.domain.labels, self.report_names(reports), rows)


class SupportMechanism(SetMechanism):
    """A report supports the truth with probability p and any other value with probability q.

    With c_v of n reports supporting v,

    Estimate    f_v = (c_v / n - q) / (p - q)                                   (unbiased)
    Variance    n Var f_v = [q (1 - q) + f_v (p - q) (1 - p - q)] / (p - q)^2   (fixed data)
    """

    def validate(self) -> None:
        super().validate()
        if self.p <= self.q:  # not even 128 bits can distinguish the truth from the rest
            raise ParameterError(TOO_SMALL.format(epsilon=self.epsilon))

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a given other value is supported, exactly."""

    @cached_property
    def rounded(self) -> tuple[float, float, float, float]:
        """(q, p − q, noise of a value nobody holds, what holding it adds), each rounded once."""
        p, q = self.p, self.q
        base, slope = q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q)
        return float(q), float(p - q), float(base), float(slope)

    def fractions(self, support: NDArray[Any], n: float | NDArray[np.int64]) -> Floats:
        """The estimate from how many of n reports support each value."""
        q, gap, _, _ = self.rounded
        fractions: Floats = support / n
        fractions -= q  # in place: under a menu of levels and rates there are many
        fractions /= gap
        return fractions

    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        _, _, base, slope = self.rounded
        result: Floats = (base + slope * np.asarray(frequencies, float)) / n
        return result

    def variance_rows(self, frequencies: Floats) -> Floats:
        return self.variance(frequencies, 1)

    def score_interval(self, values: Floats, counts: NDArray[np.int64], n: int) -> ScoreInterval:
        _, gap, base, slope = self.rounded
        return ScoreInterval(values, base / n, slope / n, step=0.5 / (n * gap))

    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values; it does not depend on the data."""
        return float(noise_of_all(self.p, self.q, self.domain.size)) / n


def noise_of_all(p: Fraction, q: Fraction, size: int) -> Fraction:
    """Sum of the variances over `size` values from one report; a huge number where p ≤ q."""
    if p <= q:
        return Fraction(1 << 200)
    return size * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)
