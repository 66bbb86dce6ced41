"""What parties open: sums with noise, as public data that everyone computes alike.

A run opens a few sums ("releases"). Party k multiplies its counts by a public integer w_k and adds
a share of discrete Laplace noise of scale b; any `honest` of the shares already add up to that
noise, so that the others may collude or drop out:

Cost      a party's rows change Σ_k w_k c_k by at most Δ w_k in all cells together, Δ = 2 for a
          substituted record and 1 for one more or less: ε_k = Δ w_k / b
Variance  `shares` shares in the sum: V = (shares/honest) 2α/(1 − α)², α = e^{−1/b}
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..noise import DiscreteGaussian, DiscreteLaplace, Polya
from ..promise import Neighbours


@dataclass(frozen=True)
class GaussianCost:
    """What Gaussian noise costs the people of every party whose counts it is added to."""

    epsilon: Fraction  # of one release, for a substituted record
    delta: Fraction


@dataclass(frozen=True)
class Release:
    """One sum that is opened."""

    name: str  # of the release within its marginal, such as "y1"
    #: Which axes of the marginal it has; the counts are summed over all others.
    axes: tuple[int, ...]
    shape: tuple[int, ...]  # the sizes of these axes
    #: What each party's counts are multiplied by; parties that contribute no counts are absent.
    weights: Mapping[str, int]
    #: b, of the noise that any `honest` shares add up to; where the noise is Gaussian, the σ of one
    #: share.
    scale: Fraction
    honest: int  # how many of the shares make up the noise
    noise_from: tuple[str, ...]  # the parties that add a share
    #: Sampling (SAH, SAV): the probability with which a party keeps each of its rows, in secret.
    kept: Mapping[str, Fraction] | None = None
    #: Discrete Gaussian noise instead of Laplace noise, and what it costs.
    gaussian: GaussianCost | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.honest <= len(self.noise_from):
            raise ParameterError(
                f"noise of {len(self.noise_from)} parties of whom {self.honest} are honest; "
                "at least one must be, and at most all"
            )
        if any(weight < 1 for weight in self.weights.values()):
            raise ParameterError(f"weights are {dict(self.weights)}; they are integers above 0")

    @property
    def shares(self) -> int:
        """How many shares of noise are in the sum."""
        return len(self.noise_from)

    @property
    def cells(self) -> int:
        """How many sums are opened."""
        return math.prod(self.shape)

    @property
    def share_law(self) -> Polya | DiscreteGaussian:
        """The law of one party's share of the noise."""
        if self.gaussian is not None:
            return DiscreteGaussian(self.scale)
        return Polya(self.scale, self.honest)

    @property
    def variance(self) -> float:
        """Of the noise in one cell of the sum."""
        if self.gaussian is not None:
            return DiscreteGaussian(self.scale).variance * self.shares
        return DiscreteLaplace(self.scale).variance * self.shares / self.honest

    def cost(self, party: str, neighbours: Neighbours) -> Fraction:
        """What the release costs a party's people, without the effect of sampling."""
        if self.gaussian is not None:
            return self.gaussian.epsilon if party in self.weights else Fraction(0)
        return sensitivity(neighbours) * self.weights.get(party, 0) / self.scale

    @property
    def delta(self) -> Fraction:
        """δ of the release; 0 for Laplace noise."""
        return Fraction(0) if self.gaussian is None else self.gaussian.delta


def summed(table: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    """A table summed over all axes but these, which come in this order; flat."""
    others = tuple(axis for axis in range(table.ndim) if axis not in axes)
    left = sorted(axes)
    part = table.sum(axis=others, dtype=table.dtype)
    return np.asarray(part.transpose([left.index(axis) for axis in axes]).reshape(-1))


def sensitivity(neighbours: Neighbours) -> int:
    """By how much one person changes the counts of a table in all cells together."""
    return 1 if neighbours is Neighbours.ADD_REMOVE else 2


def deltas(releases: Sequence[Release], parties: Iterable[str]) -> dict[str, Fraction]:
    """δ that releases cost each party's people; 0 for Laplace noise."""
    return {
        party: sum((r.delta for r in releases if party in r.weights), Fraction(0))
        for party in parties
    }
