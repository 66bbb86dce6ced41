"""Maximum likelihood over distributions: expectation–maximisation, and one exact special case."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_STEPS = 5_000
SLACK = 0.01
_LEAST_MASS = 1e-12
_MOST_HALVINGS = 200


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it had converged; the estimate says `converged=False`."""


@dataclass(frozen=True)
class Fit:
    """The result of an iteration."""

    values: Floats
    steps: int
    converged: bool


def em(
    counts: NDArray[np.int64],
    law: Callable[[Floats], Floats],
    back: Callable[[Floats], Floats],
    start: Floats,
    *,
    most_steps: int = MOST_STEPS,
    slack: float = SLACK,
) -> Fit:
    """Maximise Σ_y counts_y log law(f)_y over distributions f.

    Parameters
    ----------
    law : callable
        f to the probabilities of the outputs, Σ_x f_x P(y|x); linear.
    back : callable
        Weights w of the outputs to Σ_y w_y P(y|x), one per value.
    start : ndarray
        Where to begin; a value that is zero there stays out of the plain steps.
    slack : float
        The rule: stop when the log-likelihood is surely within this of its maximum. By concavity
        n (max_x g_x − 1), g = back(counts / n / law(f)), bounds what is still to be gained.

    Notes
    -----
    The plain step is f ← f g (Dempster, Laird, Rubin 1977). It is slow where values shrink to
    zero or must grow from nearly nothing, so two remedies are tried at each step and kept when
    they raise the likelihood: higher powers of g, and some mass moved to the values with g > 1
    (the vertex direction of Böhning 1995).
    """
    total = int(counts.sum())
    share = counts / total
    seen = share > 0

    def likelihood(at: Floats) -> float:
        return float(share[seen] @ np.log(at[seen]))

    f = start / start.sum()
    at = law(f)
    mass = 0.1
    for step in range(1, most_steps + 1):
        weights = np.zeros_like(share)
        weights[seen] = share[seen] / at[seen]
        g = back(weights)
        if total * (g.max() - 1) <= slack:
            return Fit(f, step, True)
        plain = f * g
        plain /= plain.sum()
        rising = np.maximum(g - 1, 0.0)
        rising /= rising.sum()
        at_plain, at_rising = law(plain), law(rising)
        f, at, best = plain, at_plain, likelihood(at_plain)
        mass = min(4 * mass, 0.5)
        while mass > _LEAST_MASS:
            mixed = (1 - mass) * at_plain + mass * at_rising
            if (value := likelihood(mixed)) > best:
                f, at, best = (1 - mass) * plain + mass * rising, mixed, value
                break
            mass /= 4
        for power in (4, 16, 64):
            bold = plain * g ** (power - 1)
            bold /= bold.sum()
            at_bold = law(bold)
            if (value := likelihood(at_bold)) <= best:
                break
            f, at, best = bold, at_bold, value
    warnings.warn(
        f"no maximum of the likelihood within {most_steps:,} steps; the estimate is what was "
        "reached, marked converged=False",
        ConvergenceWarning,
        stacklevel=4,
    )
    return Fit(f, most_steps, False)


def fit_outcomes(counts: Floats, n: int, p: float, q: float) -> Fit:
    """Maximise Σ_v c_v log r_v, r_v = q + (p − q) f_v, over distributions: randomised response.

    At the maximum every positive f_v has r_v = k c_v / n, the others r_v = q; k is found by
    sorting: the counts from the largest on are kept while theirs stays above q.
    """
    falling = np.sort(counts)[::-1] / n
    kept = np.arange(1, counts.size + 1)
    scale = (1 - q * (counts.size - kept)) / np.cumsum(falling)
    last = np.flatnonzero(scale * falling > q)[-1]
    r = np.maximum(q, scale[last] * counts / n)
    values = (r - q) / (p - q)
    return Fit(values / values.sum(), 1, True)


def fit_support(support: Floats, n: int, p: float, q: float) -> Fit:
    """Maximise the likelihood of support counts taken as independent, over distributions.

    Σ_v c_v log r_v + (n − c_v) log(1 − r_v) with r_v = q + (p − q) f_v. It is concave and
    separable, so at the maximum every positive f_v has the same slope μ (p − q):
    c − n r = μ r (1 − r). The μ that makes the sum one is found by bisection.
    """

    def at(mu: float) -> Floats:
        b = n + mu
        root = np.sqrt(np.maximum(b * b - 4 * mu * support, 0.0))
        r = 2 * support / (b + root) if b > 0 else (b - root) / (2 * mu)
        result: Floats = np.maximum((r - q) / (p - q), 0.0)
        return result

    low, high = -float(n), float(n)
    while at(low).sum() < 1:
        low *= 2
    while at(high).sum() > 1:
        high *= 2
    steps = 0
    while steps < _MOST_HALVINGS and high - low > 1e-13 * max(abs(low), abs(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).sum() > 1 else (low, middle)
        steps += 1
    values = at((low + high) / 2)
    return Fit(values / values.sum(), steps, True)
