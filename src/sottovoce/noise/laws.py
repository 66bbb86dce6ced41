"""Laws of integer noise: how they are drawn, their moments, probabilities and quantiles.

Laplace    P(k) = tanh(1/(2s)) e^{−|k|/s},           variance 1/(2 sinh²(1/(2s))),   scale s
Gaussian   P(k) ∝ e^{−k²/(2σ²)},                     variance ≤ σ²
Binomial   P(k) = C(n, k) p^k (1−p)^{n−k},           variance n p (1−p)
Pólya      the difference of two negative binomial numbers with shape r = 1/parties and
           α = e^{−1/s}: variance 2rα/(1−α)², and `parties` of them add up to the Laplace law
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import checked_count, number
from ..errors import ParameterError
from ..randomness import Source, refuse_seeded, source_of
from . import binomial, samplers
from .binomial import Floats

_MOST_SCALE = 1 << 40
_EXACT_SUMS = 4  # from this sigma on the sums over the integers are the integrals
_TAIL_SCALES = 50  # beyond so many scales the probability is below e^-50
_NARROW = 1e-18  # of probability may lie outside the table behind `quantile`


class Law(ABC):
    """The law of one integer of noise."""

    @abstractmethod
    def _draw(self, n: int, source: Source) -> samplers.Integers: ...

    @abstractmethod
    def log_pmf(self, k: ArrayLike) -> Floats:
        """Logarithm of the probability of k; −∞ outside the support."""

    @abstractmethod
    def reach(self, miss: float) -> int:
        """A number r such that noise further than r from its mean has probability ≤ `miss`."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The exact variance."""

    @property
    def mean(self) -> float:
        """The exact mean."""
        return 0.0

    @property
    def support(self) -> tuple[int, int] | None:
        """The smallest and the largest value, or None where every integer is possible."""
        return None

    @property
    def bound(self) -> int | None:
        """The largest absolute value, or None where there is none."""
        return None if self.support is None else max(map(abs, self.support))

    def draw(self, n: int, source: Source | None = None) -> NDArray[np.int64]:
        """n independent integers of exactly this law, from the system's randomness."""
        n, source = checked_count(n, "n", 0), source_of(source)
        if source.seeded:
            refuse_seeded("this noise was")
        return self._draw(n, source)

    def quantile(self, q: float) -> int:
        """The smallest integer k with P(X ≤ k) ≥ q, for 0 < q < 1."""
        number(q, "q", "a probability between 0 and 1", lambda chance: 0 < chance < 1)
        width = self.reach(_NARROW)
        middle = round(self.mean)
        k = np.arange(middle - width - 1, middle + width + 2)
        mass = np.exp(self.log_pmf(k))
        if q <= 0.5:
            return int(k[np.searchsorted(np.cumsum(mass), q)])
        # P(X ≤ k) ≥ q means P(X > k) ≤ 1 − q; small upper tails keep their digits.
        above = np.cumsum(mass[::-1])[::-1] - mass
        return int(k[int(np.flatnonzero(above <= 1 - q)[0])])


@dataclass(frozen=True)
class DiscreteLaplace(Law):
    """P(k) ∝ e^{−|k|/scale}: for counts of sensitivity Δ, scale = Δ/ε gives ε.

    Parameters
    ----------
    scale : int, Fraction or float
        Above 0. A float counts as the exact rational number that it is.

    Examples
    --------
    >>> law = DiscreteLaplace(2)
    >>> round(law.variance, 4), law.quantile(0.975)
    (7.8354, 6)
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _rational(self.scale, "scale"))

    @property
    def variance(self) -> float:
        return 0.5 / math.sinh(0.5 / float(self.scale)) ** 2 if self.scale > 0.001 else 0.0

    def log_pmf(self, k: ArrayLike) -> Floats:
        scale = float(self.scale)
        logs: Floats = math.log(math.tanh(0.5 / scale)) - np.abs(np.asarray(k, float)) / scale
        return logs

    def reach(self, miss: float) -> int:
        return max(0, math.ceil(-math.log(_checked_miss(miss) / 2) * float(self.scale)))

    def _draw(self, n: int, source: Source) -> samplers.Integers:
        return samplers.laplace(self.scale, n, source)


@dataclass(frozen=True)
class DiscreteGaussian(Law):
    """P(k) ∝ e^{−k²/(2 sigma²)}.

    Sums of several such numbers are close to this law but not of it; they have accounts of their
    own (`sottovoce.accounting.noise_delta` takes any law).

    Parameters
    ----------
    sigma : int, Fraction or float
        Above 0. A float counts as the exact rational number that it is.

    Examples
    --------
    >>> DiscreteGaussian(10).variance
    100.0
    >>> round(DiscreteGaussian(0.5).variance, 4)
    0.215
    """

    sigma: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _rational(self.sigma, "sigma"))

    @property
    def variance(self) -> float:
        if self.sigma >= _EXACT_SUMS:
            return float(self.sigma**2)
        k = np.arange(-self.reach(1e-300), self.reach(1e-300) + 1)
        return float(k.astype(float) ** 2 @ np.exp(self.log_pmf(k)))

    def log_pmf(self, k: ArrayLike) -> Floats:
        sigma = float(self.sigma)
        logs: Floats = -0.5 * (np.asarray(k, float) / sigma) ** 2 - self._log_total()
        return logs

    def _log_total(self) -> float:
        """ln Σ_k e^{−k²/(2σ²)}; the integral is off by the factor 1 + 2e^{−2π²σ²}."""
        sigma = float(self.sigma)
        if self.sigma >= _EXACT_SUMS:
            return math.log(sigma) + 0.5 * math.log(2 * math.pi)
        far = math.ceil(40 * sigma) + 1
        return math.log(math.fsum(math.exp(-0.5 * (k / sigma) ** 2) for k in range(-far, far + 1)))

    def reach(self, miss: float) -> int:
        return math.ceil(float(self.sigma) * math.sqrt(-2 * math.log(_checked_miss(miss) / 2)))

    def _draw(self, n: int, source: Source) -> samplers.Integers:
        return samplers.gaussian(self.sigma**2, n, source)


@dataclass(frozen=True)
class Binomial(Law):
    """The number of heads among `trials` coins; as noise, subtract the mean from the sum.

    Parameters
    ----------
    trials : int
        How many coins.
    probability : Fraction, int or float
        Of heads; a fair coin by default. A float counts as the exact rational number that it is.

    Examples
    --------
    >>> law = Binomial(62)
    >>> law.mean, law.variance, law.bound, law.quantile(0.975)
    (31.0, 15.5, 62, 39)
    """

    trials: int
    probability: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", checked_count(self.trials, "trials", 1))
        p = _rational(self.probability, "probability")
        if p >= 1:
            raise ParameterError(f"probability is {float(p)!r}; it must be between 0 and 1")
        object.__setattr__(self, "probability", p)

    @property
    def mean(self) -> float:
        return float(self.trials * self.probability)

    @property
    def variance(self) -> float:
        return float(self.trials * self.probability * (1 - self.probability))

    @property
    def support(self) -> tuple[int, int]:
        return 0, self.trials

    def log_pmf(self, k: ArrayLike) -> Floats:
        return binomial.log_pmf(k, self.trials, float(self.probability))

    def reach(self, miss: float) -> int:
        """By Hoeffding's bound."""
        far = math.ceil(math.sqrt(-self.trials * math.log(_checked_miss(miss) / 2) / 2))
        return min(far, self.trials)

    def _draw(self, n: int, source: Source) -> samplers.Integers:
        return samplers.binomial(np.full(n, self.trials), self.probability, source)


@dataclass(frozen=True)
class Polya(Law):
    """One party's share of discrete Laplace noise: `parties` of them add up to it exactly.

    Warning
    -------
    One share alone protects next to nothing: it is 0 most of the time, and with one share fewer the
    sum is no longer Laplace. Whoever contributes a share knows it and can subtract it, and a share
    that never arrives is missing. So `parties` must count only those who stay: with K contributors
    of whom t may collude, see the result or drop out, take parties = K − t, with t ≥ 1. With
    K = 10, parties = 10 and nine colluders a nominal ε of 1 for a substitution is really 5.57. A
    release must carry the shares of all K, and shares travel masked or encrypted, never in clear.

    Parameters
    ----------
    scale : int, Fraction or float
        Of the Laplace noise that the shares add up to.
    parties : int
        How many shares make up that noise.

    Examples
    --------
    >>> share = Polya(2, parties=4)
    >>> share.variance * 4 == DiscreteLaplace(2).variance
    True
    """

    scale: Fraction
    parties: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _rational(self.scale, "scale"))
        object.__setattr__(self, "parties", checked_count(self.parties, "parties", 1))

    @property
    def total(self) -> DiscreteLaplace:
        """The law of the sum of `parties` shares."""
        return DiscreteLaplace(self.scale)

    @property
    def variance(self) -> float:
        return self.total.variance / self.parties

    def log_pmf(self, k: ArrayLike) -> Floats:
        """(1−α)^{2r} α^{|k|} Γ(r+|k|)/(Γ(r) |k|!) ₂F₁(r, r+|k|; |k|+1; α²).

        scipy's ₂F₁ overflows for r = ½ and for large scales; there the ratios of neighbours come
        from α(k+1−r) P(k+1) = (1+α²) k P(k) − α(k−1+r) P(k−1), which is stable from the tail down.
        """
        from scipy.special import gammaln, hyp2f1

        r, size = 1 / self.parties, np.abs(np.asarray(k, float))
        log_alpha = -1 / float(self.scale)
        logs: Floats = (
            2 * r * math.log(-math.expm1(log_alpha))
            + size * log_alpha
            + gammaln(r + size)
            - gammaln(r)
            - gammaln(size + 1)
            + np.log(hyp2f1(r, r + size, size + 1, math.exp(2 * log_alpha)))
        )
        overflowed = np.isfinite(size) & ~np.isfinite(logs) & (size == np.floor(size))
        if overflowed.any():
            table = self._log_table(int(size[overflowed].max()))
            logs = np.where(overflowed, table[np.where(overflowed, size, 0).astype(np.int64)], logs)
        return logs

    def _log_table(self, most: int) -> Floats:
        """ln P(k) for k from 0 to `most`, by the recurrence."""
        r, alpha = 1 / self.parties, math.exp(-1 / float(self.scale))
        far = most + math.ceil(_TAIL_SCALES * float(self.scale))
        ratios = np.empty(far)
        ratio = alpha
        for k in range(far, 0, -1):
            ratio = alpha * (k - 1 + r) / ((1 + alpha**2) * k - alpha * (k + 1 - r) * ratio)
            ratios[k - 1] = ratio
        logs = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
        return logs[: most + 1] - math.log(1 + 2 * np.exp(logs[1:]).sum())

    def reach(self, miss: float) -> int:
        """A share is at most the geometric number that it is a part of."""
        return self.total.reach(miss)

    def _draw(self, n: int, source: Source) -> samplers.Integers:
        if self.parties == 1:  # the only share is the whole noise
            return self.total._draw(n, source)
        first = samplers.negative_binomial(self.scale, self.parties, n, source)
        return first - samplers.negative_binomial(self.scale, self.parties, n, source)


def _rational(value: Any, name: str) -> Fraction:
    allowed = "a number above 0, at most 2^40"
    number(value, name, allowed)
    exact = Fraction(value) if isinstance(value, Rational) else Fraction(float(value))
    if not 0 < exact <= _MOST_SCALE:
        raise ParameterError(f"{name} is {value!r}; it must be {allowed}")
    return exact


def _checked_miss(miss: float) -> float:
    return number(miss, "miss", "a probability above 0", lambda chance: 0 < chance <= 1)
