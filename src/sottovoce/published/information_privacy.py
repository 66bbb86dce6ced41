"""How useful a channel is for yes/no answers with a known prior: the curves of the papers.

With q0 = Q(1|0), q1 = Q(0|1), κ = 1 − q0 − q1, λ_1 = P_1 (1 − q1) + P_0 q0 and λ_0 = 1 − λ_1, the
error of one person's posterior mean is P_1 P_0 (1 − ρ²), ρ² = P_1 P_0 κ² / (λ_0 λ_1). Without
using the prior at all, the unbiased score of randomised response has E / (E − 1)².

Jiang, Li, Tandon, "Context-aware Data Aggregation with Localized Information Privacy", Eq. 15 and
Figures 2 and 5 to 7, with the true optimum in place of Theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import checked_epsilon
from ..errors import ParameterError
from ..estimate.intervals import Floats

#: What is compared: name, variant, and the part of ε it is given.
MODELS: dict[str, tuple[str, float]] = {
    "ε-LIP": ("optimal", 1.0),
    "ε/2-LIP": ("optimal", 0.5),
    "symmetric LIP": ("symmetric", 1.0),
    "Opt-LDP": ("opt-ldp", 1.0),
    "context-free LDP": ("context-free-ldp", 1.0),
}


#: How many simulated people represent priors from all of [0, 1].
MANY = 10_000


@dataclass(frozen=True)
class Curve:
    """Errors of several models over ε; `sottovoce.plot.lip` draws them.

    Attributes
    ----------
    epsilons : ndarray
    errors : mapping of str to ndarray
        √(average MSE per person) of each model, in the order of `epsilons`.
    unasked : float
        The same where nobody is asked and the prior is taken for the answer.
    prior : str
        Whose it is, in words.
    """

    epsilons: Floats
    errors: dict[str, Floats]
    unasked: float
    prior: str

    def rows(self) -> list[dict[str, float]]:
        """One plain dictionary per ε."""
        return [
            {"epsilon": float(e), **{name: float(v[k]) for name, v in self.errors.items()}}
            for k, e in enumerate(self.epsilons)
        ]


def flips(prior: ArrayLike, epsilon: float, variant: str) -> tuple[Floats, Floats]:
    """(q0, q1) of a variant for the probability of yes, or many of them."""
    p1 = np.asarray(prior, float)
    p0 = 1 - p1
    e, gain = math.exp(epsilon), math.expm1(epsilon)
    if variant == "optimal":
        m1 = np.maximum(p1, 1 - e * p1) / gain
        m0 = np.maximum(p0, 1 - e * p0) / gain
        kappa = 1 / (1 + m0 + m1)
        return np.asarray(kappa * m1), np.asarray(kappa * m0)
    if variant == "symmetric":
        a = np.minimum(p1, p0)
        q = (1 - a) / (e + 1 - 2 * a)
        return np.asarray(q), np.asarray(q)
    if variant == "jiang-theorem2":
        return np.asarray(p1 / e), np.asarray(p0 / e)
    if variant in ("opt-ldp", "context-free-ldp"):
        q = np.full_like(p1, 1 / (e + 1))
        return q, q
    raise ParameterError(f"there is no channel {variant!r} for two values")


def yes_error(prior: ArrayLike, epsilon: float, variant: str = "optimal") -> Floats:
    """Expected squared error of one person's estimate of yes (1) or no (0).

    Examples
    --------
    >>> [round(float(yes_error(0.1, 1.0, v)), 5) for v in ("optimal", "opt-ldp", "symmetric")]
    [0.07914, 0.08199, 0.08088]
    """
    p1 = np.asarray(prior, float)
    if variant == "context-free-ldp":
        return np.asarray(np.full_like(p1, math.exp(epsilon) / math.expm1(epsilon) ** 2))
    q0, q1 = flips(p1, epsilon, variant)
    seen = p1 * (1 - q1) + (1 - p1) * q0
    both = p1 * (1 - p1)
    with np.errstate(invalid="ignore", divide="ignore"):
        reliability = both * (1 - q0 - q1) ** 2 / (seen * (1 - seen))
    return np.asarray(both * (1 - np.where(both > 0, reliability, 0.0)))


def prior_curve(prior: Any, epsilons: Sequence[float] | None = None) -> Curve:
    """√(average MSE) of every model against ε, for one prior or one per person.

    Parameters
    ----------
    prior : float, array-like or "random"
        The probability of yes; or one per person, whose errors are averaged; or "random" for
        people with different priors from all of [0, 1].
    epsilons : sequence of float, optional
        From .5 to 10 by default.

    Examples
    --------
    >>> curve = prior_curve(0.5, [1.0])
    >>> {name: round(float(error[0]), 3) for name, error in curve.errors.items()}
    {'ε-LIP': 0.387, 'ε/2-LIP': 0.46, 'symmetric LIP': 0.387, 'Opt-LDP': 0.443, \
'context-free LDP': 0.96}
    """
    everywhere = isinstance(prior, str) and prior == "random"
    try:
        p = np.atleast_1d(
            np.asarray((np.arange(MANY) + 0.5) / MANY if everywhere else prior, float)
        )
    except (TypeError, ValueError):
        p = np.array([np.nan])
    if p.ndim != 1 or not p.size or not ((p >= 0) & (p <= 1)).all():
        raise ParameterError(
            f"prior is {prior!r:.80}; it must be probabilities of yes from 0 to 1, or 'random'"
        )
    chosen = np.arange(0.5, 10.01, 0.5) if epsilons is None else epsilons
    grid = np.array([checked_epsilon(float(e)) for e in chosen])
    if not grid.size:
        raise ParameterError("there are no epsilons; give at least one")
    errors = {
        name: np.array([math.sqrt(float(yes_error(p, e * part, variant).mean())) for e in grid])
        for name, (variant, part) in MODELS.items()
    }
    people = f"P(yes) = {p[0]:g}" if p.size == 1 else f"{p.size:,} people, each with a prior"
    return Curve(
        grid,
        errors,
        math.sqrt(float((p * (1 - p)).mean())),
        "everyone with a prior of their own" if everywhere else people,
    )
