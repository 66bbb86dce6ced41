"""People in strata of one rate each, and the variance of every estimator over them.

Of stratum h: n_h people, rate π_h, S_h reports, f_h the mean answer (a vector of shares, or one
mean), C_h the average noise covariance of one report, M_h the average of x xᵀ over its people
(diag f_h for shares), Σ_h = M_h − f_h f_hᵀ, e_h = E[1/S_h | S_h ≥ 1]. Data are fixed; noise and
sampling are random:

horvitz-thompson  (1/n²) Σ n_h [C_h + (1 − π_h) M_h] / π_h                             exact
post-stratified   Σ (n_h/n)² [e_h C_h + (e_h − 1/n_h) n_h/(n_h − 1) Σ_h]               exact
hajek             the same with one stratum; over several, first order about the pooled mean
hajek-ipw         (1/n²) Σ n_h [C_h + (1 − π_h) D_h] / π_h,  D_h as M_h about f          first order
biswas-c-hat      as horvitz-thompson, which it is for a pure protocol                 exact
biswas-g, wang-c, biswas-t   from the covariance of the supporting reports themselves  exact

Estimated variances put the estimated f_h in, S_h/π_h for n_h in weighted sums, and 1/(S_h − 1)
for e_h. Biswas, Cormode and Maple's own variances of g and ĉ are in `personal.published`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimate import Floats
from ..mechanism import PureMechanism


@dataclass(frozen=True, eq=False)
class Strata:
    """What is known, or estimated, of the people at each rate.

    Attributes
    ----------
    rates, people : ndarray of shape (H,)
        π_h and n_h.
    means : ndarray of shape (H, k)
        f_h.
    second : ndarray of shape (H, k)
        Diagonal of M_h; equal to the means for shares.
    noise : ndarray of shape (H, k)
        Diagonal of C_h.
    matrix : callable
        C_h as a matrix, for covariances.
    inverse : ndarray of shape (H,)
        e_h, expected or as seen.
    shares : bool
        Whether the values are shares of people.
    """

    rates: Floats
    people: Floats
    means: Floats
    second: Floats
    noise: Floats
    matrix: Callable[[int], Floats]
    inverse: Floats
    shares: bool = True

    @property
    def n(self) -> float:
        """All people."""
        return float(self.people.sum())

    def only(self, which: Any) -> Strata:
        """Some of the strata."""
        rows = np.arange(self.rates.size)[which]
        return replace(
            self,
            rates=self.rates[rows],
            people=self.people[rows],
            means=self.means[rows],
            second=self.second[rows],
            noise=self.noise[rows],
            matrix=lambda h: self.matrix(int(rows[h])),
            inverse=self.inverse[rows],
        )

    def seen(self, reported: NDArray[Any]) -> Strata:
        """With the people that the reports stand for, S_h / π_h, in place of n_h."""
        with np.errstate(divide="ignore", invalid="ignore"):
            people = np.where(self.rates > 0, reported / self.rates, 0.0)
        return replace(self, people=people)

    @property
    def mean(self) -> Floats:
        """The mean over all people."""
        return np.asarray(self.people @ self.means / self.n)


def variance(strata: Strata, method: str, pure: PureMechanism | None) -> Floats:
    """Variance of each value."""
    if method in SUPPORT:
        return _support(strata, method, _pure(pure), full=False)
    column = np.newaxis
    whole = replace(
        strata,
        rates=strata.rates[:, column],
        people=strata.people[:, column],
        inverse=strata.inverse[:, column],
    )
    centre = _centre(strata, method)
    about = whole.second - 2 * whole.means * centre + centre**2
    own = whole.second - whole.means**2
    terms = TERMS[method](whole, whole.noise, whole.second, own, about)
    return np.asarray(terms.sum(axis=0) / _scale(strata, method))


def covariance(strata: Strata, method: str, pure: PureMechanism | None) -> Floats:
    """Covariance matrix of the values."""
    if method in SUPPORT:
        return _support(strata, method, _pure(pure), full=True)
    k = strata.means.shape[1]
    total = np.zeros((k, k))
    centre = _centre(strata, method)
    for h in range(strata.rates.size):
        f = strata.means[h]
        second = np.diag(strata.second[h])
        cross = np.outer(f, centre)
        about = second - cross - cross.T + np.outer(centre, centre)
        one = replace(
            strata,
            rates=strata.rates[h],
            people=strata.people[h],
            inverse=strata.inverse[h],
        )
        own = second - np.outer(f, f)
        total += TERMS[method](one, strata.matrix(h), second, own, about)
    return np.asarray(total / _scale(strata, method))


def _centre(strata: Strata, method: str) -> Floats:
    if method == "hajek":  # what the pooled estimate has as its expectation
        weights = strata.people * strata.rates
        return np.asarray(weights @ strata.means / weights.sum())
    return strata.mean


def _scale(strata: Strata, method: str) -> float:
    if method == "hajek" and strata.rates.size > 1:
        return float(strata.people @ strata.rates) ** 2
    return strata.n**2


def _horvitz(s: Strata, noise: Floats, second: Floats, own: Floats, about: Floats) -> Floats:
    return np.asarray(s.people * (noise + (1 - s.rates) * second) / s.rates)


def _ipw(s: Strata, noise: Floats, second: Floats, own: Floats, about: Floats) -> Floats:
    return np.asarray(s.people * (noise + (1 - s.rates) * about) / s.rates)


def _stratified(s: Strata, noise: Floats, second: Floats, own: Floats, about: Floats) -> Floats:
    finite = s.people / np.maximum(s.people - 1, 1)
    sampling = (s.inverse - 1 / s.people) * finite
    return np.asarray(s.people**2 * (s.inverse * noise + np.maximum(sampling, 0.0) * own))


def _hajek(s: Strata, noise: Floats, second: Floats, own: Floats, about: Floats) -> Floats:
    if s.means.shape[0] == 1:
        return _stratified(s, noise, second, own, about)
    return np.asarray(s.people * s.rates * (noise + (1 - s.rates) * about))


TERMS: dict[str, Callable[[Strata, Floats, Floats, Floats, Floats], Floats]] = {
    "horvitz-thompson": _horvitz,
    "biswas-c-hat": _horvitz,
    "hajek-ipw": _ipw,
    "post-stratified": _stratified,
    "hajek": _hajek,
}

#: Estimators that only scale and shift the number A of supporting reports.
SUPPORT = ("wang-c", "biswas-g", "biswas-t")


def _pure(pure: PureMechanism | None) -> PureMechanism:
    if pure is None:  # methods are offered for pure mechanisms alone
        raise TypeError("only a pure mechanism has supporting reports")
    return pure


def _support(strata: Strata, method: str, pure: PureMechanism, *, full: bool) -> Floats:
    """From Cov(A_u, A_v) = Σ_j π_j P(both supported) − π_j² r_ju r_jv."""
    p, q = float(pure.p), float(pure.q)
    s, t = (float(x) for x in pure.pair)
    total = np.zeros((strata.means.shape[1],) * (2 if full else 1))
    rates, people = strata.rates, strata.people
    size = float(people @ rates) if method == "biswas-t" else strata.n
    for h in range(rates.size):
        f, rate = strata.means[h], rates[h]
        single = f * p * (1 - rate * p) + (1 - f) * q * (1 - rate * q)
        part = single
        if full:
            either = f[:, None] + f[None, :]
            part = either * (s - rate * p * q) + (1 - either) * (t - rate * q * q)
            np.fill_diagonal(part, single)
        weight = 1 / rate if method == "biswas-g" else rate
        total += people[h] * weight * part
    return np.asarray(total / ((p - q) * size) ** 2)


@lru_cache(maxsize=4096)
def expected_inverse(people: int, rate: float) -> float:
    """E[1/S | S ≥ 1] for S binomial: exactly summed over all but 1e-16 of its mass."""
    from scipy.stats import binom

    if rate >= 1 or people == 0:
        return 1 / max(people, 1)
    if rate <= 0:
        return math.inf
    mean, sd = people * rate, math.sqrt(people * rate * (1 - rate))
    low, high = max(1, math.floor(mean - 40 - 10 * sd)), min(people, math.ceil(mean + 40 + 10 * sd))
    sizes = np.arange(low, high + 1)
    mass = binom.pmf(sizes, people, rate)
    return float((mass / sizes).sum() / mass.sum())
