"""Intervals of parts of a distribution by profile likelihood, whatever the rest of it is.

A fraction v of a group of bins belongs to the interval unless every distribution with that
fraction fits the reports significantly worse than the best one:

    2 (max_f ℓ(f) − max_{f: f(group) = v} ℓ(f)) ≤ χ²₄ quantile,   over distributions f

with ℓ replaced by its quadratic expansion at a maximum, the information being the expected one.
That no bin is negative narrows the interval a great deal where the noise alone would leave it
useless; where the reports do not say how a group is divided, the interval says so by its width.
(Rust, Burrus 1972; Stanley, Patil, Kuusela 2022, "Uncertainty quantification for wide-bin
unfolding": one-at-a-time strict bounds.)

Four degrees of freedom instead of one, because where most bins are empty the loss of fit at the
truth exceeds χ²₁: in simulations the .95 quantile of its root was 1.1 to 1.6 for smooth answers,
2.1 to 2.5 for spikes and up to 2.9 when all answers are equal, where one degree allows 1.96 and
four allow 3.08. For smooth answers the intervals are therefore wider than necessary.

Answers that are not spread evenly within a bin (all of them equal, many reports) fit no
distribution over bins. The loss of fit is then divided by Pearson's χ² per degree of freedom of the
best fit, as for overdispersed counts (McCullagh, Nelder 1989, section 4.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .intervals import Floats, normal_quantile

_FREEDOM = 4
_HEAVY = 50.0
_LEAST_EIGENVALUE = 1e-9
_PRECISE = 3e-3


def limit(confidence: float) -> float:
    """The root of the χ²₄ quantile."""
    from scipy.special import gammaincinv

    normal_quantile(confidence)  # refuses what is no confidence
    return sqrt(2 * float(gammaincinv(_FREEDOM / 2, confidence)))


@dataclass(frozen=True, eq=False)
class Profile:
    """The quadratic expansion of the likelihood of `counts` at the distribution `centre`."""

    counts: NDArray[np.int64]  # how often each output was reported
    laws: Floats  # one row per bin: the probabilities of the outputs
    centre: Floats  # under which the outputs have about the right probabilities

    @cached_property
    def _problem(self) -> tuple[Floats, Floats]:
        """A and y with −2 ℓ(f) = |A f − y|² + constant."""
        n = float(self.counts.sum())
        law = np.maximum(self.centre @ self.laws, 1e-300)
        information = n * (self.laws / law) @ self.laws.T
        gradient = self.laws @ (self.counts / law) - n
        values, vectors = np.linalg.eigh(information)
        kept = values > _LEAST_EIGENVALUE * values[-1]
        roots, axes = np.sqrt(values[kept]), vectors[:, kept].T
        matrix = roots[:, None] * axes
        target = matrix @ self.centre + (axes @ gradient) / roots
        return matrix, target

    @cached_property
    def _best(self) -> tuple[float, Floats]:
        return self._misfit(None, self.centre)

    @property
    def fitted(self) -> Floats:
        """The distribution that fits best."""
        return self._best[1]

    def loss(self, group: Floats, fraction: float) -> float:
        """Root of the loss of fit if the group has this fraction; compare it with `limit`."""
        lost = self._misfit(fraction, group)[0] - self._best[0]
        return sqrt(max(lost, 0.0) / self._dispersion)

    @cached_property
    def _dispersion(self) -> float:
        """Pearson's χ² of the best fit per degree of freedom, at least 1."""
        expected = np.maximum(self.counts.sum() * (self.fitted @ self.laws), 1e-300)
        square = float(((self.counts - expected) ** 2 / expected).sum())
        return max(square / max(self.counts.size - 1, 1), 1.0)

    def end(self, group: Floats, bound: float, confidence: float) -> float:
        """The end of the interval towards a bound, 0 or 1.

        The loss of fit reaches the limit there; it grows with the distance from the best fit.
        """
        from scipy.optimize import brentq

        most = limit(confidence)
        middle = min(max(float(group @ self.fitted), 0.0), 1.0)
        if middle == bound or self.loss(group, bound) <= most:
            return bound
        precise = max(_PRECISE * abs(bound - middle), 1e-9)
        end: float = brentq(
            lambda fraction: self.loss(group, fraction) - most, middle, bound, xtol=precise
        )
        return max(end - precise, 0.0) if bound < middle else min(end + precise, 1.0)

    def _misfit(self, fraction: float | None, group: Floats) -> tuple[float, Floats]:
        """Least |A f − y|² over distributions f, with this fraction in the group if it is named."""
        from scipy.optimize import nnls

        matrix, target = self._problem
        heavy = _HEAVY * float(np.abs(matrix).max())
        rows, sides = [np.full(group.size, heavy)], [heavy]
        if fraction is not None:
            rows.append(heavy * group)
            sides.append(heavy * fraction)
        f, _ = nnls(np.vstack([matrix, *rows]), np.concatenate([target, sides]), maxiter=50_000)
        return float(np.sum((matrix @ f - target) ** 2)), f
