"""Integer noise on counts: exact accounts without any assumption on the data.

Binomial    the sum of r fair coins, tossed by different people: one count moves by one, so δ is
            that of Bin(r, ½) against Bin(r, ½) + 1
Any law     of integer noise, symmetric about its mean, from its probabilities
Gaussian    n people, of whom φ drop out or collude, add noise of variance Δ²σ²/(n − φ) each, with
            Δ² = 2 for a substitution and 1 for a record more or less (the published (Gσ/n)² has
            n times too little noise)

Substitution moves two counts, each with noise of its own, in opposite directions. Coins that
colluders know or that never arrive protect nobody: r counts the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_count, checked_delta, checked_loss, checked_positive, float_above
from ..errors import ParameterError
from ..noise import DiscreteGaussian
from ..noise.binomial import log_pmf
from .pairs import Pair, composed_delta, release_delta, shifted, support
from .sampled_counts import Neighbours, check_neighbours
from .search import smallest

_MOST_COINS = 10**12
_LEAST_SIGMA = 0.5
_MOST_TERMS = 1 << 16


def binomial_noise_delta(
    epsilon: float, coins: int, *, neighbours: Neighbours = "substitute", rounds: int = 1
) -> float:
    """The delta of counts to which so many fair coins were added each, rounded up.

    Parameters
    ----------
    epsilon : float
        From 0 on.
    coins : int
        Coins per count that are in the result and unknown to whoever sees it.
    neighbours : {"substitute", "add-remove"}
        One person's item changes, or one person's record becomes the empty one.
    rounds : int
        Releases with fresh coins; from 2 on an upper bound.

    Examples
    --------
    >>> f"{binomial_noise_delta(1.0, 62, neighbours='add-remove'):.1e}"
    '9.6e-06'
    """
    epsilon, coins = checked_loss(epsilon), checked_count(coins, "coins", 1)
    check_neighbours(neighbours)
    k, missed = support(coins, 0.5)
    return _delta(shifted(log_pmf(k, coins, 0.5), missed), epsilon, neighbours, rounds)


def smallest_coins(
    epsilon: float,
    delta: float,
    *,
    neighbours: Neighbours = "substitute",
    insiders: int = 0,
    rounds: int = 1,
) -> int:
    """How many fair coins per count keep (epsilon, delta), whatever the data.

    `insiders` is how many of the coins may be known or missing; that many are added.

    Examples
    --------
    >>> smallest_coins(1.0, 1e-5), smallest_coins(1.0, 1e-5, neighbours="add-remove")
    (115, 62)
    """
    epsilon = checked_loss(epsilon)
    return smallest(
        "number of coins",
        lambda coins: binomial_noise_delta(epsilon, coins, neighbours=neighbours, rounds=rounds),
        _MOST_COINS,
        epsilon=epsilon,
        delta=delta,
        insiders=insiders,
    )


def noise_delta(
    epsilon: float,
    log_probabilities: NDArray[np.float64],
    *,
    missed: float = 0.0,
    neighbours: Neighbours = "substitute",
    rounds: int = 1,
) -> float:
    """The delta of counts with integer noise of a given law, rounded up.

    Parameters
    ----------
    epsilon : float
        From 0 on.
    log_probabilities : array
        Logarithms of the noise's probabilities at consecutive integers, symmetric about the mean.
    missed : float
        At least the probability of all other integers.
    neighbours, rounds
        As in `binomial_noise_delta`.
    """
    logs = np.asarray(log_probabilities, float)
    if logs.ndim != 1 or logs.size < 2 or not np.isfinite(logs).all():
        raise ParameterError("log_probabilities must be finite, of two or more integers in a row")
    if not np.allclose(logs, logs[::-1], rtol=1e-9, atol=1e-9):
        raise ParameterError("log_probabilities must be symmetric; this account needs it")
    check_neighbours(neighbours)
    pair = shifted(logs, checked_delta(missed, "missed"))
    return _delta(pair, checked_loss(epsilon), neighbours, rounds)


def gaussian_shares_delta(
    epsilon: float,
    sigma: float,
    people: int,
    *,
    step: int = 1,
    neighbours: Neighbours = "substitute",
    rounds: int = 1,
) -> float:
    """The delta of counts times `step`, to which people add discrete Gaussian noise; rounded up.

    The sum of m discrete Gaussian numbers differs from the discrete Gaussian law of variance m σ²
    by a factor between e^−τ and e^τ, τ = 10 Σ_{k<m} e^{−2π²σ²k/(k+1)} (the τ of Kairouz, Liu,
    Steinke 2021, arXiv:2102.06387, for σ ≥ 1/2; tests compare it with exact convolutions), so that
    δ(ε) ≤ e^{tτ} δ'(ε − 2tτ) with δ' the exact delta of that law and t the number of noisy counts
    that a neighbour moves, over all rounds.

    Parameters
    ----------
    epsilon : float
        From 0 on.
    sigma : float
        Of each person's noise; at least 0.5.
    people : int
        Whose noise is in the result and unknown to whoever sees it.
    step : int
        What one person adds to a count.
    neighbours, rounds
        As in `binomial_noise_delta`.

    Examples
    --------
    >>> f"{gaussian_shares_delta(1.0, 3.7306, 100, step=10, neighbours='add-remove'):.2e}"
    '1.00e-05'
    """
    rounds = checked_count(rounds, "rounds", 1)
    noise = GaussianNoise(sigma, people, step)
    return gaussian_rounds_delta(epsilon, [noise] * rounds, neighbours=neighbours)


@dataclass(frozen=True)
class GaussianNoise:
    """The noise of one round: `people` add discrete Gaussian numbers to counts times `step`."""

    sigma: float  # of each person's; at least 0.5
    people: int  # whose noise is in the result and unknown to whoever sees it
    step: int = 1  # what one person adds to a count

    def __post_init__(self) -> None:
        checked_count(self.people, "people", 1), checked_count(self.step, "step", 1)
        if checked_positive(self.sigma, "sigma") < _LEAST_SIGMA:
            raise ParameterError(
                f"sigma is {self.sigma!r}; below {_LEAST_SIGMA} rounding to integers leaves hardly "
                "any noise; scale the counts up"
            )

    @property
    def gap(self) -> float:
        """τ: how far, in logarithms, the sum is from one discrete Gaussian number."""
        order = np.arange(1, min(self.people, _MOST_TERMS))
        gap = np.exp(-2 * np.pi**2 * self.sigma**2 * order / (order + 1)).sum()
        gap += max(0, self.people - _MOST_TERMS) * np.exp(-2 * np.pi**2 * self.sigma**2 * 0.999)
        return 10.0 * float(gap)

    def pair(self) -> Pair:
        """One noisy count with a person more, against without, for one discrete Gaussian number."""
        law = DiscreteGaussian(self.sigma * self.people**0.5)
        reach = law.reach(1e-300)
        return shifted(law.log_pmf(np.arange(-reach, reach + 1)), 1e-300, self.step)


def gaussian_rounds_delta(
    epsilon: float, noises: Iterable[GaussianNoise], *, neighbours: Neighbours = "substitute"
) -> float:
    """The delta of several rounds, each with its own noise, as in `gaussian_shares_delta`.

    Rounds of different numbers of people have noise on different lattices; the account composes
    them all.

    Examples
    --------
    >>> many, few = GaussianNoise(3.7306, 100, 10), GaussianNoise(4.2, 9, 3)
    >>> f"{gaussian_rounds_delta(1.0, [many, few], neighbours='add-remove'):.1e}"
    '4.6e-04'
    """
    epsilon, alike = checked_loss(epsilon), Counter(noises)
    check_neighbours(neighbours)
    if not alike:
        raise ParameterError("an account of rounds needs at least one round")
    moved = 2 if neighbours == "substitute" else 1
    tau = moved * sum(noise.gap * rounds for noise, rounds in alike.items())
    releases = [([noise.pair()] * moved, rounds) for noise, rounds in alike.items()]
    ideal = composed_delta(releases, epsilon - 2 * tau)  # which may be below 0
    return min(1.0, float(np.exp(tau)) * ideal)


def gaussian_share_variance(
    sigma: float, people: int, *, tolerated: int = 0, neighbours: Neighbours = "substitute"
) -> float:
    """The variance that each of `people` adds to their count vector, rounded up.

    Parameters
    ----------
    sigma : float
        Standard deviation for sensitivity 1, as `sigma_analytic` gives it.
    people : int
        How many add noise.
    tolerated : int
        How many of them may drop out or collude.
    neighbours : {"substitute", "add-remove"}
        A substitution moves two counts, so its sensitivity is √2.

    Examples
    --------
    >>> round(gaussian_share_variance(3.7306, 1000, tolerated=200), 4)
    0.0348
    """
    sigma = checked_positive(sigma, "sigma")
    people, tolerated = checked_count(people, "people", 1), checked_count(tolerated, "tolerated", 0)
    check_neighbours(neighbours)
    if tolerated >= people:
        raise ParameterError(
            f"tolerated is {tolerated:,} of {people:,} people; at least one person must add noise "
            "that remains"
        )
    square = Fraction(sigma) ** 2 * (2 if neighbours == "substitute" else 1)
    return float_above(square / (people - tolerated))


def _delta(pair: Pair, epsilon: float, neighbours: Neighbours, rounds: int) -> float:
    """Both counts of a substitution have the same pair: the law is symmetric about its mean."""
    parts = [pair, pair] if neighbours == "substitute" else [pair]
    return release_delta(parts, epsilon, checked_count(rounds, "rounds", 1))
