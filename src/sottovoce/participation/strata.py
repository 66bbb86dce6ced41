"""People in strata of one rate each, and the variance of every estimator over them.

Of stratum h: n_h people, rate π_h, S_h reports, f_h the mean answer (a vector of fractions, or one
mean), C_h the average noise covariance of one report, M_h the average of x xᵀ over its people
(diag f_h for fractions), Σ_h = M_h − f_h f_hᵀ, e_h = E[1/S_h | S_h ≥ 1]. Data are fixed; noise and
sampling are random:

horvitz-thompson  (1/n²) Σ n_h [C_h + (1 − π_h) M_h] / π_h                             exact
post-stratified   Σ (n_h/n)² [e_h C_h + (e_h − 1/n_h) n_h/(n_h − 1) Σ_h]               exact
hajek             the same with one stratum; over several, first order about the pooled mean
hajek-ipw         (1/n²) Σ n_h [C_h + (1 − π_h) D_h] / π_h,  D_h as M_h about f          first order
biswas-c-hat      as horvitz-thompson, which it is for a pure protocol                 exact
biswas-g, wang-c, biswas-t   from the covariance of the supporting reports themselves  exact

Estimated variances put the estimated f_h in, S_h/π_h for n_h in weighted sums, and 1/(S_h − 1)
for e_h. Biswas, Cormode and Maple's own variances of g and ĉ are in `published.node_sampling`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..estimate.intervals import Ends, Floats, ScoreInterval, Terms
from ..mechanisms.categorical import PureMechanism
from .moments import Means, Noise, NoiseLine


@dataclass(frozen=True, eq=False)
class Strata:
    """What is known, or estimated, about the people at each rate."""

    rates: Floats  # π_h
    people: Floats  # n_h
    answers: Means  # f_h
    second: Means  # diagonal of M_h; the same object as `answers` for fractions
    noise: Noise  # C_h
    inverse: Floats  # e_h, expected or as seen
    pure: PureMechanism | None = None  # what made the reports, where that is pure
    fractions: bool = True  # whether the values are fractions of people
    size: float | None = None  # n, where `people` are estimated but all of them are known
    line: NoiseLine | None = None  # how C_h depends on f_h, where it was counted

    @property
    def n(self) -> float:
        """All people."""
        return float(self.people.sum()) if self.size is None else self.size

    def only(self, which: Any) -> Strata:
        """Some of the strata."""
        every = np.arange(self.rates.size)
        rows = every[which]
        if np.array_equal(rows, every):  # the usual case, and the tables may be long
            return self
        answers = self.answers.only(rows)
        return replace(
            self,
            rates=self.rates[rows],
            people=self.people[rows],
            answers=answers,
            second=answers if self.second is self.answers else self.second.only(rows),
            noise=self.noise.only(rows),
            inverse=self.inverse[rows],
            line=None if self.line is None else self.line.only(rows),
        )

    def seen(self, reported: NDArray[Any], *, size: float | None = None) -> Strata:
        """With the people that the reports stand for, S_h / π_h, in place of n_h."""
        return replace(self, people=reported * inverse_rates(self.rates), size=size)

    @property
    def means(self) -> Floats:
        """f_h, one row per stratum."""
        return self.answers.table

    @property
    def own(self) -> Floats:
        """Diagonal of Σ_h, one row per stratum."""
        return self.second.table - self.means**2

    @cached_property
    def mean(self) -> Floats:
        """The mean over all people."""
        return np.asarray(self.answers.sum(self.people) / self.people.sum())


def inverse_rates(rates: Floats) -> Floats:
    """1 / π_h, and 0 where nobody can report."""
    return np.divide(1.0, rates, out=np.zeros_like(rates), where=rates > 0)


def seen_inverse(reported: NDArray[np.int64]) -> Floats:
    """1 / (S_h − 1) as an estimate of e_h, and 1 for a single report."""
    return np.asarray(1 / np.maximum(reported - 1, 1))


def variance(strata: Strata, method: str) -> Floats:
    """Variance of each value."""
    noise, drawn = variance_parts(strata, method)
    return noise + drawn


def variance_parts(strata: Strata, method: str) -> tuple[Floats, Floats]:
    """Variance of each value in two parts: from the noise of the reports, and from the draw."""
    if method in SUPPORT:
        nobody = Means(np.zeros_like(strata.means))
        found, least = (
            _support(replace(strata, answers=answers), method, full=False)
            for answers in (strata.answers, nobody)
        )
        return least, found - least
    noise, drawn, what = _terms(strata, method)
    scale = _scale(strata, method)
    varies = drawn @ strata.own if what == "own" else strata.second.sum(drawn)
    if what == "about":  # M_h about the centre, without a table of it for every stratum
        centre, first = _centre(strata, method), varies
        if strata.second is not strata.answers:
            first = strata.answers.sum(drawn)
        varies = varies - 2 * centre * first + centre**2 * drawn.sum()
    return strata.noise.sum(noise) / scale, varies / scale


def score_interval(
    values: Floats, strata: Strata, method: str, per_report: float
) -> ScoreInterval | None:
    """The interval of a weighted sum of the strata's own estimates.

    `per_report` is by how much one report more moves the fraction of reports with a property.
    """
    if strata.line is None:
        return None
    if method in SUPPORT and strata.pure is not None:
        base, all_hold = (
            float(_support(replace(strata, answers=Means(held)), method, full=False)[0])
            for held in (np.zeros((strata.rates.size, 1)), np.ones((strata.rates.size, 1)))
        )
        step = 0.5 * per_report / strata.pure.rounded[1]
        return ScoreInterval(values, base, all_hold - base, step=step)
    noise, drawn, what = _terms(strata, method)
    scale = _scale(strata, method)
    line, mixed = strata.line.sum(noise / scale), float(drawn.sum()) / scale
    if line is None:
        return None
    # About the mean, as within each stratum, people add f (1 − f); about zero, f itself.
    linear, curved = (mixed, 0.0) if what == "second" else (0.0, mixed)
    return replace(
        line.times(1.0, slope=linear),
        values=values,
        draw=curved,
        step=per_report * line.step,
        most=line.most and partial(_with_draw, line.most, linear, per_report),
    )


def _with_draw(
    most: Callable[[Floats, Ends], Terms | None],
    linear: float,
    per_report: float,
    weights: Floats,
    ends: Ends,
) -> Terms | None:
    """The line of combinations and what drawing people adds about zero: their mean square."""
    if (terms := most(weights, ends)) is None:
        return None
    base, slope, step = terms
    low, high = (linear * (end / (ends[1] - ends[0])) ** 2 for end in ends)
    return base + low, slope + high - low, None if step is None else per_report * step


def drawn_per_person(strata: Strata, method: str) -> tuple[float, float, bool]:
    """The least and the most that the draw adds where the numbers of people in one stratum differ.

    That is per unit of the variance of numbers, if these people are scaled to be all of them; or
    of their mean square, if the last is true.
    """
    _, drawn, what = _terms(strata, method)
    people = strata.people * strata.rates if method == "hajek" else strata.people
    some = people > 0
    each = drawn[some] / (people[some] / people.sum()) / _scale(strata, method)
    return float(each.min()), float(each.max()), what == "second"


def with_least(noise: Floats, drawn: Floats) -> Floats:
    """An estimated variance from its two parts: at least half of what the noise adds.

    Where no report supports a value, the plain estimate of its variance would be zero.
    """
    both = noise + drawn
    return np.maximum(both, noise / 2, out=both)


def each_variance(strata: Strata) -> Floats:
    """Estimated variance of each stratum's own estimate, one row per stratum."""
    noise, drawn = own_terms(strata.people, strata.inverse)
    means, second = strata.means, strata.second.table
    return kernels.count.strata_variance(strata.noise.table(), second, means, noise, drawn)


def own_terms(people: NDArray[Any], inverse: Floats) -> tuple[Floats, Floats]:
    """How much C_h counts in the variance of a stratum's own estimate, and how much Σ_h."""
    finite = people / np.maximum(people - 1, 1)
    return inverse, np.maximum((inverse - 1 / people) * finite, 0.0)


def covariance(strata: Strata, method: str) -> Floats:
    """Covariance matrix of the values."""
    if method in SUPPORT:
        return _support(strata, method, full=True)
    noise, drawn, what = _terms(strata, method)
    centre = _centre(strata, method)
    total = np.diag(strata.second.sum(drawn))
    if what == "own":
        total -= (drawn[:, None] * strata.means).T @ strata.means
    if what == "about":
        cross = np.outer(strata.answers.sum(drawn), centre)
        total += drawn.sum() * np.outer(centre, centre) - cross - cross.T
    return np.asarray((total + strata.noise.matrix_sum(noise)) / _scale(strata, method))


def _centre(strata: Strata, method: str) -> Floats:
    if method == "hajek":  # what the pooled estimate has as its expectation
        weights = strata.people * strata.rates
        return np.asarray(strata.answers.sum(weights) / weights.sum())
    return strata.mean


def _scale(strata: Strata, method: str) -> float:
    if method == "hajek" and strata.rates.size > 1:
        return float(strata.people @ strata.rates) ** 2
    return strata.n**2


def _terms(s: Strata, method: str) -> tuple[Floats, Floats, str]:
    """How much C_h counts, how much the answers themselves, and which of their moments.

    That is M_h ("second"), M_h about f ("about"), or Σ_h ("own").
    """
    if method in ("horvitz-thompson", "biswas-c-hat", "hajek-ipw"):
        noise = s.people / s.rates
        return noise, noise * (1 - s.rates), "about" if method == "hajek-ipw" else "second"
    if method == "hajek" and s.rates.size > 1:
        noise = s.people * s.rates
        return noise, noise * (1 - s.rates), "about"
    noise, drawn = own_terms(s.people, s.inverse)
    return s.people**2 * noise, s.people**2 * drawn, "own"


#: Estimators that only scale and shift the number A of supporting reports.
SUPPORT = ("wang-c", "biswas-g", "biswas-t")


def _support(strata: Strata, method: str, *, full: bool) -> Floats:
    """From Cov(A_u, A_v) = Σ_j π_j P(both supported) − π_j² r_ju r_jv."""
    if strata.pure is None:  # methods are offered for pure mechanisms alone
        raise TypeError("only a pure mechanism has supporting reports")
    p, q = float(strata.pure.p), float(strata.pure.q)
    s, t = (float(x) for x in strata.pure.pair)
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
