"""The estimators of 001 and of the node-sampling page, written down again, for many runs at once.

Reports of stratum h: S_h in all, A_h of them supporting the value; both are arrays whose first
axis goes over runs and whose last axis goes over strata. Everything is as the page has it, so
that the library's own formulas are compared with something that shares no code with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Setting:
    """People in strata: one rate each, and the share of them that holds the value."""

    kind: type
    d: int
    epsilon: float
    rates: tuple[float, ...]
    people: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def n(self) -> int:
        return sum(self.people)

    @property
    def holders(self) -> Array:
        """Numbers of holders, which are whole."""
        return np.rint(np.multiply(self.people, self.shares)).astype(np.int64)

    @property
    def frequencies(self) -> Array:
        """One row of shares per stratum; the others hold the other values alike."""
        own = self.holders / np.array(self.people)
        rows = np.repeat((1 - own)[:, None] / (self.d - 1), self.d, axis=1)
        rows[:, 0] = own
        return rows

    @property
    def truth(self) -> float:
        return float(self.holders.sum() / self.n)

    def __str__(self) -> str:
        rates = ",".join(f"{rate:g}" for rate in self.rates)
        shares = ",".join(f"{share:g}" for share in self.shares)
        return f"{self.kind.__name__}-d{self.d}-eps{self.epsilon:g}-{rates}-f{shares}"


@dataclass(frozen=True)
class Runs:
    """What was seen in many runs, and what everyone knows."""

    supporting: Array
    reported: Array
    rates: Array
    people: Array
    p: float
    q: float

    @property
    def n(self) -> float:
        return float(self.people.sum())

    @property
    def gap(self) -> float:
        return self.p - self.q

    @property
    def means(self) -> Array:
        """u_h, the unbiased estimate of each stratum."""
        return (self.supporting / self.reported - self.q) / self.gap

    def debiased(self, weights: Any) -> Array:
        """Σ_j w_j U_j over the reports, the weights by stratum."""
        return (self.supporting - self.q * self.reported) @ np.asarray(weights) / self.gap

    def squares(self, centre: Array) -> Array:
        """Σ_j (U_j − centre)² over the reports of each stratum."""
        yes, no = (1 - self.q) / self.gap - centre, -self.q / self.gap - centre
        return self.supporting * yes**2 + (self.reported - self.supporting) * no**2


def simulate(setting: Setting, p: float, q: float, runs: int, rng: np.random.Generator) -> Runs:
    """Draw who reports and what their reports support."""
    people, holders = np.array(setting.people), setting.holders
    size = (runs, people.size)
    own = rng.binomial(holders, setting.rates, size)
    others = rng.binomial(people - holders, setting.rates, size)
    supporting = rng.binomial(own, p) + rng.binomial(others, q)
    return Runs(supporting, own + others, np.array(setting.rates), people, p, q)


def values(runs: Runs) -> dict[str, Array]:
    """Every estimate of the value's share."""
    a, s, pi, n = runs.supporting, runs.reported, runs.rates, runs.n
    weighted = runs.debiased(1 / pi)

    def shifted(total: Array, size: float) -> Array:
        return (total / size - runs.q) / runs.gap

    return {
        "hajek": runs.debiased(np.ones(pi.size)) / s.sum(axis=1),
        "horvitz-thompson": weighted / n,
        "hajek-ipw": weighted / (s @ (1 / pi)),
        "post-stratified": runs.means @ runs.people / n,
        "wang-c": shifted(a.sum(axis=1), n),
        "biswas-g": shifted(a @ (1 / pi), n),
        "biswas-c-hat": weighted / n,
        "biswas-t": shifted(a.sum(axis=1), float(runs.people @ pi)),
    }


def expected(setting: Setting, p: float, q: float) -> dict[str, float]:
    """What each estimate is on average: the truth, or where it is biased what the page says."""
    people, pi = np.array(setting.people), np.array(setting.rates)
    share = setting.holders / people
    asked = people * pi
    mean = float(asked @ share / asked.sum())  # weighted by rate, as T and the pooled mean are
    support = float(asked @ (q + share * (p - q)))
    unbiased = dict.fromkeys(
        ("horvitz-thompson", "hajek-ipw", "post-stratified", "biswas-g", "biswas-c-hat"),
        setting.truth,
    )
    wang = (support / setting.n - q) / (p - q)
    return {**unbiased, "hajek": mean, "biswas-t": mean, "wang-c": wang}


def estimated_variances(runs: Runs) -> dict[str, Array]:
    """V̂ of each estimate, from the reports alone."""
    s, pi, people, n = runs.reported, runs.rates, runs.people, runs.n
    estimates = values(runs)
    by_weight = runs.squares(np.zeros(1)) @ (1 / pi**2) / n**2 - estimates["horvitz-thompson"] / n
    return {
        "hajek": _pooled(runs),
        "horvitz-thompson": by_weight,
        "biswas-c-hat": by_weight,
        "hajek-ipw": _by_inverse(runs, estimates["hajek-ipw"]),
        "post-stratified": _alone(runs) @ (people / n) ** 2,
        "wang-c": _support(runs) @ pi**2 / n**2,
        "biswas-g": _support(runs).sum(axis=1) / n**2,
        "biswas-t": _support(runs) @ pi**2 / float(people @ pi) ** 2,
    } | ({"hajek": _alone(runs)[:, 0]} if s.shape[1] == 1 else {})


def _alone(runs: Runs) -> Array:
    """n²[r̂(1−r̂)/((S−1)(p−q)²) − f̂(1−f̂)/n] / n² of each stratum."""
    r, f = runs.supporting / runs.reported, runs.means
    return r * (1 - r) / ((runs.reported - 1) * runs.gap**2) - f * (1 - f) / runs.people


def _by_inverse(runs: Runs, f: Array) -> Array:
    """Σ (U − f̂)² / (π N̂)² − f̂(1−f̂)/n."""
    asked_estimate = runs.reported @ (1 / runs.rates)
    return runs.squares(f[:, None]) @ (1 / runs.rates**2) / asked_estimate**2 - f * (1 - f) / runs.n


def _pooled(runs: Runs) -> Array:
    """Σ_h n_h π_h [C_h + (1 − π_h) E(x − c)²] / (Σ n_h π_h)², with C_h + E(x − c)² = E(U − c)².

    c is what the pooled mean is on average, Σ n_h π_h f_h / Σ n_h π_h.
    """
    u, asked = runs.means, runs.people * runs.rates
    c = (u @ asked / asked.sum())[:, None]
    about = u - 2 * u * c + c**2
    each = runs.squares(c) / runs.reported - runs.rates * about
    return each @ asked / asked.sum() ** 2


def _support(runs: Runs) -> Array:
    """Var(Σ A/π) / (p−q)² of each stratum: n [f p(1−πp) + (1−f) q(1−πq)] / (π (p−q)²)."""
    p, q, pi, f = runs.p, runs.q, runs.rates, runs.means
    return runs.people * (f * p * (1 - pi * p) + (1 - f) * q * (1 - pi * q)) / (pi * runs.gap**2)
