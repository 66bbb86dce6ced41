"""Maximum likelihood over distributions: EM, smoothed or not, and two exact cases; a bootstrap."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .intervals import Floats, repeatable_generator

MOST_STEPS = 5_000
SLACK = 0.01
SMOOTHINGS = ((0.0, 0), (1 / 128, 1), (1 / 32, 1), (1 / 8, 1), (1 / 2, 1), (1 / 2, 4))
"""Smoothing after each step, from none to strong: weight of the neighbours, and how many times."""
FOLDS = 5
_MOST_EXACT = 10**9  # reports that numpy deals without replacement
_LEAST_GAIN = 1.0
_LEAST_CHANGE = 1e-6
_LEAST_MASS = 1e-12
_MOST_HALVINGS = 200

Replicate = Callable[[Floats, np.random.Generator], Floats]


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

    `law` leads from f to the probabilities of the outputs, Σ_x f_x P(y|x), and `back` from weights
    w of the outputs to Σ_y w_y P(y|x). A value that is zero at the start stays out of the plain
    steps. The iteration stops when the log-likelihood is surely within `slack` of its maximum: by
    concavity n (max_x g_x − 1), g = back(counts / n / law(f)), bounds what is still to be gained.

    The plain step is f ← f g (Dempster, Laird, Rubin 1977). It is slow where values shrink to
    zero or must grow from nearly nothing, so two remedies are tried at each step and kept when
    they raise the likelihood: higher powers of g, and some mass moved to the values with g > 1
    (the vertex direction of Böhning 1995).
    """
    total = int(counts.sum())
    fractions = counts / total
    seen = fractions > 0

    def likelihood(at: Floats) -> float:
        return float(fractions[seen] @ np.log(at[seen]))

    f = start / start.sum()
    at = law(f)
    mass = 0.1
    for step in range(1, most_steps + 1):
        weights = np.zeros_like(fractions)
        weights[seen] = fractions[seen] / at[seen]
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
        f"no maximum of the likelihood within {most_steps:,} steps; the estimate is the last "
        "iterate, marked converged=False",
        ConvergenceWarning,
        stacklevel=4,
    )
    return Fit(f, most_steps, False)


def smoothed_em(
    counts: NDArray[np.int64],
    laws: Floats,
    start: Floats,
    smoothing: tuple[float, int],
    slack: float = SLACK,
) -> Fit:
    """EM on ordered bins with smoothing after each step (EMS).

    Each step is that of EM followed by a moving average of every bin with its neighbours, which
    counts as many times as `smoothing` says (one of `SMOOTHINGS`; with weight 0 this is `em`); a
    bin at the edge keeps the part of the neighbour that it lacks. `laws` has a row per bin: the
    probabilities of the outputs.

    Silverman, Jones, Wilson, Nychka 1990, "A smoothed EM approach to indirect estimation
    problems"; Li, Wang, Lopuhaä-Zwakenberg, Li, Skoric 2020, "Estimating numerical distributions
    under local differential privacy", section 5.5 (weight ½, once).
    """
    weight, times = smoothing
    if times == 0:
        return em(counts, lambda f: f @ laws, lambda w: laws @ w, start, slack=slack)
    fractions = counts / counts.sum()
    f = start / start.sum()
    for step in range(1, MOST_STEPS + 1):
        law = f @ laws
        update = f * (laws @ np.divide(fractions, law, out=np.zeros_like(law), where=law > 0))
        for _ in range(times):
            padded = np.concatenate([update[:1], update, update[-1:]])
            update = (1 - weight) * update + weight / 2 * (padded[:-2] + padded[2:])
        update /= update.sum()
        change = float(np.abs(update - f).max())
        f = update
        if change <= _LEAST_CHANGE:
            return Fit(f, step, True)
    return Fit(f, MOST_STEPS, False)


def choose_smoothing(
    counts: NDArray[np.int64], laws: Floats, start: Floats
) -> tuple[tuple[float, int], Fit]:
    """The smoothing with the highest likelihood of reports held out, and the fit of all with it.

    Reports are dealt into five folds; each fold is judged by the fit of the other four. Less
    smoothing must gain at least one unit of log-likelihood. The deal is a function of the counts,
    so that the same counts give the same estimate.
    """
    generator = repeatable_generator(counts)
    folds = _deal(counts, generator)
    best, chosen = -np.inf, SMOOTHINGS[-1]
    fit = Fit(start / start.sum(), 0, True)
    for smoothing in reversed(SMOOTHINGS):
        score = 0.0
        whole = smoothed_em(counts, laws, start, smoothing, slack=0.1)
        for held_out in folds:
            begin = whole.values + 1e-3 / start.size
            law = smoothed_em(counts - held_out, laws, begin, smoothing, slack=0.1).values @ laws
            seen = held_out > 0
            score += float(held_out[seen] @ np.log(np.maximum(law[seen], 1e-300)))
        if score > best + _LEAST_GAIN:
            best, chosen, fit = score, smoothing, whole
    return chosen, fit


def _deal(counts: NDArray[np.int64], generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """Reports dealt at random into folds whose sizes differ by at most one, or hardly at all."""
    total, rest = int(counts.sum()), counts.copy()
    if total >= _MOST_EXACT:  # each on its own: the sizes differ by some √total
        return list(generator.multinomial(counts, [1 / FOLDS] * FOLDS).T)
    folds = []
    for k in range(min(FOLDS, total) if total > 1 else 0):
        size = total // FOLDS + (k < total % FOLDS)
        if k == FOLDS - 1:
            fold = rest
        else:
            fold = generator.multivariate_hypergeometric(rest, size, method="marginals")
        rest = rest - fold
        folds.append(fold)
    return [fold for fold in folds if 0 < int(fold.sum()) < total]


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


def bootstrap(values: Floats, again: Replicate, replicates: int | None = None) -> Floats:
    """Mean squared change of `values` when data drawn from them are estimated again.

    It spends no privacy, being computed from the released estimate alone, and needs no secrecy:
    the generator is seeded by the values, so that the same estimate has the same error.
    """
    generator = repeatable_generator(values)
    rounds = replicates or (200 if values.size <= 4096 else 20)
    total = np.zeros(values.size)
    for _ in range(rounds):
        total += (again(values, generator) - values) ** 2
    mean: Floats = total / rounds
    return mean
