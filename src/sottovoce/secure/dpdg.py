"""DPDG: everyone adds a little Gaussian noise, and only the sum of secret shares is opened.

Noise       user i adds discrete Gaussian noise to every item, of variance (g Δ σ)²/(n − φ), where
            each count is worth g (a public odd number), Δ² = 2 for a substitution and 1 for a
            record more or less, σ the analytic Gaussian's, and φ people may collude or drop out.
            The published share variance (Gσ/n)² has n times too little noise
Scale       g is the smallest odd number with which each share has a standard deviation of at least
            2.5: narrower integer noise would be 0 almost always
Account     exact, of the sum of discrete Gaussian numbers: `accounting.gaussian_shares_delta`. Of
            several rounds that of each one's own noise, `gaussian_rounds_delta`; where it is not
            known how many people they had, by concentrated privacy, which is looser
Estimate    the total divided by g, rounded to the nearest integer (g is odd, so that this is
            symmetric); its noise has variance n' Δ²σ²/(n − φ) + (1 − 1/g²)/12 with n' people

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", section 3.1.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..accounting.gaussian import concentrated_delta, sigma_analytic
from ..accounting.integer_noise import (
    GaussianNoise,
    gaussian_rounds_delta,
    gaussian_share_variance,
    gaussian_shares_delta,
)
from ..accounting.sampled_counts import Neighbours
from ..contract.route import AddedNoise
from ..errors import ParameterError
from ..noise import DiscreteGaussian
from ..noise.samplers import gaussian
from ..promise import Guarantee
from ..randomness import Source
from .counts import GAUSSIAN
from .promises import Sizes
from .protocol import Rows
from .receiving import Flags
from .unconditional import Unconditional

_LEAST_SIGMA = 2.5
_WRAP = 2.0**-100


@dataclass(frozen=True)
class Shares:
    """What one count is worth, and the law of one person's noise."""

    step: int
    law: DiscreteGaussian
    delta: float


class DPDG(Unconditional):
    """True counts plus Gaussian noise to which everyone contributes.

    Parameters
    ----------
    domain, users, neighbours
        As in `Protocol`.
    epsilon, delta : float
        The promise, whatever people answer.
    collusion : int
        φ: how many people may drop out, or work together with a recipient of the result. At least
        1, since somebody who sees the result knows their own noise.
    helpers : int, optional
        As in `DPDS`.

    Examples
    --------
    >>> protocol = DPDG(["car", "bike"], epsilon=1.0, delta=1e-5, collusion=200)
    >>> shares = protocol.shares(1000)
    >>> shares.step, shares.delta <= 1e-5
    (15, True)
    """

    name = "dpdg"
    _least_users = 2
    _least_collusion = 1

    @cached_property
    def sigma(self) -> float:
        """σ for sensitivity 1, as the analytic Gaussian needs it."""
        return sigma_analytic(self.epsilon, self.delta)

    def shares(self, people: int) -> Shares:
        """The noise of one person, in a run of so many."""
        if people <= self.collusion:
            raise ParameterError(
                f"{people:,} people take part and {self.collusion:,} of them may collude or drop "
                "out; somebody else must add noise"
            )
        return _shares(
            self.epsilon, self.delta, self.sigma, people, self.collusion, self.neighbours
        )

    def least_senders(self, people: int) -> tuple[int, int]:
        # One of those who may collude is left, since somebody sees the result.
        return people, people - self.collusion + 1

    def limits(self, people: int) -> tuple[int, int]:
        shares = self.shares(people)
        total = DiscreteGaussian(float(shares.law.sigma) * people**0.5)
        reach = total.reach(_WRAP) + 1
        return -reach, people * shares.step + reach

    def add_noise(self, rows: Rows, first: int, people: int, source: Source) -> Rows:
        shares = self.shares(people)
        noise = gaussian(shares.law.sigma**2, rows.size, source)
        return rows * shares.step + noise.reshape(rows.shape)

    def scale(self, totals: Rows, people: int) -> Rows:
        step = self.shares(people).step
        return np.floor_divide(totals + step // 2, step)

    def noise(self, people: int, senders: Flags) -> AddedNoise:
        shares = self.shares(people)
        variance = int(senders.sum()) * shares.law.variance / shares.step**2
        return AddedNoise(GAUSSIAN, variance + (1 - shares.step**-2) / 12)

    def promise(
        self, people: int, senders: Flags | None, rounds: int, earlier: Sizes = None
    ) -> Guarantee:
        delta, absent = self.delta, 0 if senders is None else people - int(senders.sum())
        # Whoever sees the result knows their own noise, also where as many dropped out as may.
        colluding = max(1, self.collusion - absent)
        hidden = people - absent - colluding
        if people:
            self.shares(people)  # refused where all of them may collude
        if people and (rounds > 1 or hidden < people - self.collusion):
            delta = self._delta(people, hidden, rounds, earlier) if hidden >= 1 else 1.0
        if senders is None or rounds > 1:  # who dropped out before does not collude as well
            every = "in every round " if rounds > 1 else ""
            trusted = f"{every}at most {self.collusion:,} people drop out or"
        else:
            trusted = f"beside {absent:,} people who dropped out, at most {colluding:,}"
        trusted += " work together with anyone who sees the result"
        return self.hold(delta, trusted, people, rounds)

    def _delta(self, people: int, hidden: int, rounds: int, earlier: Sizes) -> float:
        """Of all rounds, in the last of which the noise of so many is unknown to the adversary.

        Earlier rounds had other numbers of people, and so their noise on other lattices; no sum
        was opened with less of it than stays when all who may collude or drop out do.
        """
        if earlier is None and rounds > 1:
            last = max(1.0, (people - self.collusion) / hidden)
            return concentrated_delta(self.epsilon, (rounds - 1 + last) / (2 * self.sigma**2))
        noises = [self._noise(one.people, one.people - self.collusion) for one in earlier or ()]
        noises.append(self._noise(people, hidden))
        return gaussian_rounds_delta(self.epsilon, noises, neighbours=self.neighbours)

    def _noise(self, people: int, hidden: int) -> GaussianNoise:
        shares = self.shares(people)
        return GaussianNoise(float(shares.law.sigma), hidden, shares.step)


@lru_cache(maxsize=64)
def _shares(
    epsilon: float, delta: float, sigma: float, people: int, collusion: int, neighbours: Neighbours
) -> Shares:
    while True:
        variance = gaussian_share_variance(
            sigma, people, tolerated=collusion, neighbours=neighbours
        )
        step = math.ceil(_LEAST_SIGMA / variance**0.5) | 1
        law = DiscreteGaussian(step * variance**0.5)
        achieved = gaussian_shares_delta(
            epsilon, float(law.sigma), people - collusion, step=step, neighbours=neighbours
        )
        if achieved <= delta:
            return Shares(step, law, achieved)
        sigma *= 1 + 1e-4
