"""Generalised randomised response (k-RR, direct encoding).

Channel     P(y|x) = p if y = x else q,   p = e^ε / (e^ε + d − 1),  q = (1 − p) / (d − 1)
Estimate    f̂_v = (c_v / n − q) / (p − q)
Covariance  `PureMechanism.covariance` with s = t = 0: a report supports one value
Guarantee   ε-LDP, tight; p is rounded down to a multiple of 2^-128

Kairouz, Bonawitz, Ramage 2016 (arXiv:1602.07387 v2), section 2; Wang et al. 2017, section 4.1.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.collection import Columns
from ..contract.reports import Reports
from ..domain.values import Label
from ..estimate.likelihood import Fit, fit_outcomes
from ..randomness import Probability
from .categorical import Drawing, OutputMechanism, PureMechanism
from .channel import set_probability
from .mechanism import Method
from .registry import register

_MOST_SHORT = 4096  # up to here 16 bits choose among the others with few rejections


@register("grr")
class GRR(OutputMechanism, PureMechanism):
    """Keep the answer with probability p, else report one of the others.

    The smallest reports, and the lowest error when d < 3 e^ε + 2.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    epsilon : float
        Privacy parameter.

    Examples
    --------
    >>> m = GRR(["yes", "no"], epsilon=1.0)
    >>> round(float(m.p), 4)
    0.7311
    """

    @property
    def keep(self) -> Probability:
        """The drawn probability of keeping the answer."""
        return keep_probability(self.epsilon, self.domain.size)

    @property
    def p(self) -> Fraction:
        return self.keep.fraction

    @property
    def q(self) -> Fraction:
        return (1 - self.p) / (self.domain.size - 1)

    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(0)

    @property
    def drawing(self) -> Drawing:
        return grr_drawing(self.domain.size, self.keep)

    def support(self, reports: Reports) -> NDArray[np.int64]:
        return self.tally(reports)

    @property
    def counting_key(self) -> Hashable:
        return self.id, self.domain.size

    @property
    def methods(self) -> Mapping[str, Method]:
        return {**super().methods, "mle": Method("maximum likelihood, in closed form", biased=True)}

    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        return fit_outcomes(counts.astype(float), n, float(self.p), float(self.q))

    def outcomes(self, reports: Reports, x: Label, y: Label) -> NDArray[Any]:
        return reports.columns["value"]

    def decode_steps(self, n: int) -> float:
        return n + self.domain.size

    def supports(self, columns: Columns, codes: NDArray[np.int64]) -> NDArray[Any]:
        return np.asarray(columns["value"][:, None] == codes)

    def report_names(self, reports: Reports) -> list[str]:
        return [str(label) for label in self.domain.labels]


def keep_probability(epsilon: float, size: int) -> Probability:
    """The drawn probability of keeping one of `size` values."""
    return set_probability(epsilon, 1, size - 1)


def grr_drawing(size: int, keep: Probability) -> Drawing:
    """How randomised response is drawn on codes below `size`."""
    word = np.uint32 if size <= _MOST_SHORT else np.uint64
    return word, kernels.draw.grr, (size, *keep.words)
