"""Mechanisms whose report supports the truth with probability p, any other value with q."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParameterError
from ..estimate.intervals import Floats, ScoreInterval
from .linear import LinearMechanism
from .mechanism import TOO_SMALL


class SupportMechanism(LinearMechanism):
    """A report supports a set of values.

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
    def p(self) -> Fraction:
        """Probability that the truth is supported, exactly."""

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
        p, q, d = self.p, self.q, self.domain.size
        return float(d * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)) / n
