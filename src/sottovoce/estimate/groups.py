"""Groups of people, each with its own unbiased estimate, and one estimate for all of them.

The methods are those of `estimate.combine`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import AlikeWarning, EstimateError, ParameterError
from .count_intervals import CountInterval, GroupedCountInterval
from .estimate import Estimate, join_claims
from .intervals import Floats, Later, NoiseLines, ScoreInterval, fit_noise_line
from .mean_intervals import MeanInterval, join_means
from .ordered import mean_intervals

ALIKE = (
    "people of all groups answer alike: where they do not, the estimate is biased towards the "
    "groups with more weight"
)
LEANS = (
    "estimates of the groups are shrunk towards each other as far as the data support it, so small "
    "differences between them may be lost; the intervals do not assume this"
)
#: What the intervals of groups need: lines of noise, counts, or means.
Known = NoiseLines | tuple[CountInterval, ...] | tuple[MeanInterval, ...]
_TINY = 1e-300
_TRANSLATION = 0.31  # standard errors that a contrast of few values is moved at most


def _noise_line(estimate: Estimate) -> ScoreInterval | None:
    """How the noise of an estimate depends on the truth, where that is known or can be seen."""
    if (known := estimate.noise_lines) is not None:
        return known
    if estimate.own_interval is None and estimate.fractions and estimate.error_from == "plug-in":
        return fit_noise_line(estimate.values, estimate.variance)
    return None


@dataclass(frozen=True)
class Groups:
    """What the weights need to know about the groups; a row or a number for each of them."""

    values: Floats  # unbiased estimates ψ̂_j
    variance: Floats  # their noise
    people: Floats  # n_j
    reports: Floats  # how many of them reported
    answers_vary: Floats | None = None  # how much numbers vary; of fractions the values say it
    #: Each group's own, where the noise of its reports is known as a function of the truth.
    intervals: Known | Later | None = None

    @classmethod
    def of_estimates(cls, estimates: Sequence[Estimate]) -> Self:
        """The groups of several estimates."""
        vary = None
        if not estimates[0].fractions:
            vary = np.array([e.answer_variance or 0.0 for e in estimates])
        lines = (_noise_line(estimate) for estimate in estimates)
        own = tuple(line for line in lines if line is not None)
        every = (estimate.own_interval for estimate in estimates)
        counted = tuple(one for one in every if isinstance(one, CountInterval))
        known: Known | None = mean_intervals(estimates)
        if len(counted) == len(estimates):
            known = counted
        elif len(own) == len(estimates):
            known = NoiseLines.of(own)
        return cls(
            np.array([e.values for e in estimates]),
            np.array([e.variance for e in estimates]),
            np.array([e.n for e in estimates], float),
            np.array([e._sent for e in estimates], float),
            vary,
            known,
        )

    @cached_property
    def scatter(self) -> float:
        """D, the variance of one person's answer, total over the values."""
        if self.answers_vary is not None:
            return max(float(self.sizes @ self.answers_vary), 0.0)
        values, variance = self.together
        varies = 1 - float(values @ values - variance.sum())
        return min(max(varies, 0.0), 1 - 1 / values.size)

    @cached_property
    def together(self) -> tuple[Floats, Floats]:
        """Every group weighted by its people, the unbiased estimate, and its noise."""
        return self.sum(self.sizes)

    def sum(self, weights: Floats) -> tuple[Floats, Floats]:
        """Σ ω_j ψ̂_j, and its noise."""
        return weights @ self.values, weights**2 @ self.variance

    def interval(
        self, values: Floats, weights: Floats
    ) -> ScoreInterval | MeanInterval | GroupedCountInterval | None:
        """The interval of Σ ω_j ψ̂_j; that of counts is for weights by people."""
        known = self._known
        if known is None:
            return None
        if isinstance(known, NoiseLines):
            return known.combine(self.values, weights)
        means = tuple(one for one in known if isinstance(one, MeanInterval))
        counts = tuple(one for one in known if isinstance(one, CountInterval))
        return join_means(means, weights) if means else GroupedCountInterval(values, counts)

    def alike_interval(self, weights: Floats) -> ScoreInterval | None:
        """That of fractions for other weights, if all groups are alike; None where not known.

        A wrong mix of people adds to the noise at a fraction what drawing people would add.
        """
        known = self._known
        if isinstance(known, tuple):
            lines = [one.lines if isinstance(one, CountInterval) else None for one in known]
            seen = [line for line in lines if line is not None]
            known = NoiseLines.of(seen) if len(seen) == len(lines) else None
        if known is None:
            return None
        own = known.combine(self.values, weights)
        return replace(own, draw=own.draw + self.mix(weights))

    @cached_property
    def _known(self) -> Known | None:
        own = self.intervals.make() if isinstance(self.intervals, Later) else self.intervals
        return own if own is None or isinstance(own, NoiseLines) else tuple(own)

    @cached_property
    def noise(self) -> Floats:
        """Total noise of each group's estimate, V_j / n_j."""
        return np.asarray(np.maximum(self.variance.sum(axis=1), _TINY))

    @cached_property
    def sizes(self) -> Floats:
        """Fractions of the people, n_j / n."""
        return np.asarray(self.people / self.people.sum())

    def mix(self, weights: Floats) -> float:
        """What a wrong mix of people adds, times D: nothing for the right one, the sizes."""
        return float((weights**2 / self.people).sum() - 1 / self.people.sum())


def combine_groups(
    groups: Groups,
    *,
    method: str,
    covariance: Callable[[Floats], Floats] | None,
    assuming: Sequence[str] = (),
    biased: bool = False,
    **about: Any,
) -> Estimate:
    """`combine` from tables, for two or more groups at once.

    `covariance` leads from weights ω_j to Σ ω_j² Cov(ψ̂_j), `assuming` and `biased` are properties
    of the groups' own estimates, and `about` has labels, name, fractions and guarantee.
    """
    about |= {
        "n": round(float(groups.people.sum())),
        "reports": round(float(groups.reports.sum())),
        "answer_variance": None if about["fractions"] else groups.scatter,
        "biased": biased,
    }
    raw = _weighted(groups, groups.sizes, groups.together, covariance, join_claims(assuming), about)
    if method == "post-stratified":
        return raw
    if method in PREDICTIONS:
        about |= {"method": method, "biased": True, "assuming": join_claims([*assuming, LEANS])}
        return Estimate(values=PREDICTIONS[method](groups), spread=raw.variance, raw=raw, **about)
    weights = _weights(groups, method)
    if np.allclose(weights, groups.sizes, rtol=1e-12):
        return replace(raw, method=method)
    warnings.warn(
        f"{method!r} weighs the groups as if {ALIKE}; 'james-stein' and 'post-stratified' do not "
        "assume it",
        AlikeWarning,
        stacklevel=3,
    )
    about |= {"method": method, "biased": True}
    values, noise = groups.sum(weights)
    single = np.maximum(values * (1 - values), 0.0) if about["fractions"] else groups.scatter
    found = values, noise + groups.mix(weights) * single
    return _weighted(groups, weights, found, covariance, join_claims([*assuming, ALIKE]), about)


def _weighted(
    groups: Groups,
    weights: Floats,
    found: tuple[Floats, Floats],
    covariance: Callable[[Floats], Floats] | None,
    assuming: str,
    about: Mapping[str, Any],
) -> Estimate:
    values, spread = found
    whole = interval = None
    if covariance is not None:
        whole = partial(
            _weighted_covariance, groups, weights, values, covariance, about["fractions"]
        )
    if weights is groups.sizes:
        interval = Later(partial(groups.interval, values, weights))
    elif about["fractions"]:
        interval = Later(partial(groups.alike_interval, weights))
    return Estimate(
        values=values,
        spread=spread,
        assuming=assuming,
        _covariance=whole,
        _interval=interval,
        **{"method": "post-stratified", **about},
    )


def _weighted_covariance(
    groups: Groups,
    weights: Floats,
    values: Floats,
    parts: Callable[[Floats], Floats],
    fractions: bool,
) -> Floats:
    mix = groups.mix(weights)
    if not fractions:
        return np.asarray(parts(weights) + mix * groups.scatter)
    return np.asarray(parts(weights) + mix * (np.diag(values) - np.outer(values, values)))


def covariance_of(given: Sequence[Estimate], weights: Floats) -> Floats:
    """Σ ω_j² Cov(ψ̂_j) of estimates that know their covariance."""
    parts = []
    for estimate in given:
        if (found := estimate.covariance) is None:
            raise EstimateError("a group's estimate has no covariance")
        parts.append(found)
    return np.asarray(sum(w * w * part for w, part in zip(weights, parts, strict=True)))


# --- weights that sizes and noise decide ----------------------------------------------------


def person_weights(noise: ArrayLike, people: ArrayLike, *, method: str) -> Floats:
    """000's weights per person, which sum to one over the levels.

    `noise` has V_j, the variance of one person's report at each level, and `people` n_j. The method
    is "yang-variance", Eq. 4, w_j = (1 / V_j) / Σ (1 / V_i); or "yang-optimised", Solution 1, the
    numerical minimum of Σ n_j w_j² V_j / (Σ n_j w_j)² over weights between 0 and 1 that sum to 1.

    >>> noise = 1 / np.expm1([0.1, 0.4, 0.7, 1.0])
    >>> person_weights(noise, [250] * 4, method="yang-variance").round(4).tolist()
    [0.0316, 0.1477, 0.3045, 0.5162]
    """
    v, n = np.asarray(noise, float), np.asarray(people, float)
    if v.ndim != 1 or v.shape != n.shape or not ((v > 0).all() and (n > 0).all()):
        raise ParameterError(
            f"noise is {noise!r} and people {people!r}; give one positive number each per level"
        )
    if method == "yang-variance":
        return np.asarray((1 / v) / (1 / v).sum())
    if method == "yang-optimised":
        return _optimise(v, n)
    raise ParameterError(f"method is {method!r}; allowed are 'yang-variance' and 'yang-optimised'")


def _optimise(v: Floats, n: Floats) -> Floats:
    """Solution 1. Sum and bounds hold by w = softmax(x); the objective is scaled to be near one."""
    from scipy.optimize import minimize

    def error(x: Floats) -> tuple[float, Floats]:
        w = np.exp(x - x.max())
        w /= w.sum()
        total = float(n @ w)
        value = float((n * v) @ w**2) / total**2
        slope = 2 * n / total**2 * (w * v - value * total)
        return value * scale, w * (slope - w @ slope) * scale

    scale = float(n.sum() ** 2 / (n @ v))
    solution = minimize(error, np.zeros(v.size), jac=True, method="BFGS", options={"gtol": 1e-10})
    w = np.exp(solution.x - solution.x.max())
    return np.asarray(w / w.sum())


#: From groups to weights ω_j, in any unit, that depend on their sizes and noise alone.
WEIGHTS: dict[str, Callable[[Groups], Floats]] = {
    "pooled": lambda groups: groups.people / (groups.people * groups.noise + groups.scatter),
    "yang-variance": lambda groups: 1 / groups.noise,
    "yang-optimised": lambda g: g.people * _optimise(g.people * g.noise, g.people),
    "unweighted": lambda groups: groups.reports,
}


def _weights(groups: Groups, method: str) -> Floats:
    weights = WEIGHTS[method](groups)
    return np.asarray(weights / weights.sum())


# --- estimates that use how alike the groups are --------------------------------------------


def _james_stein(groups: Groups) -> Floats:
    """Independent contrasts between the groups, each shrunk on its own.

    With the groups in the order of their precision a_j (most precise first), A_k = Σ_{j≤k} a_j and
    P_k = Σ_{j≤k} a_j ψ̂_j / A_k, the contrasts Z_k = ψ̂_k − P_{k−1} are uncorrelated with each
    other and with P_H. The post-stratified estimate is

        S = P_H + Σ_{k≥2} c_k Z_k,   c_k = s_k − (a_k / A_k) Σ_{j≤k} s_j,   s_j = n_j / n

    and the estimate is the same with B_k Z_k in place of Z_k. With C_k the variances of Z_k over d
    values, of which m are free (d − 1 fractions), and Q_k = (m / d) Σ Z_kv² / C_kv,

        B_k = max(0, 1 − (m_k − 2) / Q_k)        for m ≥ 3 (James and Stein 1961, positive part)
        B_k = max(0, 1 − .31 √m / √Q_k)          for fewer (a limited translation)

    where m_k = Σ C_k / max C_k − (d − m) is Bock's effective dimension (1975). Since the Z_k and
    P_H are uncorrelated, each step of the first kind lowers the total squared error whatever the
    groups are, and one of the second raises it by at most .31² = 9.6 %.
    """
    fractions = groups.answers_vary is None
    order = np.argsort(groups.noise, kind="stable")
    values, variance = groups.values[order], groups.variance[order]
    precision, sizes = 1 / groups.noise[order], groups.sizes[order]
    free = max(values.shape[-1] - fractions, 1)
    mean, spread = values[0], variance[0]
    shifted = np.zeros_like(mean)
    reach, weight = precision[0], sizes[0]
    for k in range(1, len(values)):
        contrast, noise = values[k] - mean, np.maximum(variance[k] + spread, _TINY)
        reach, weight = reach + precision[k], weight + sizes[k]
        part = precision[k] / reach
        kept = _kept(contrast, noise, free)
        shifted = shifted + (sizes[k] - part * weight) * kept * contrast
        mean = mean + part * contrast
        spread = (1 - part) ** 2 * spread + part**2 * variance[k]
    return np.asarray(mean + shifted)


def _kept(contrast: Floats, noise: Floats, free: int) -> float:
    """B_k, how much of a contrast is kept."""
    size = contrast.size
    distance = free / size * float((contrast**2 / noise).sum())
    if distance <= 0:
        return 0.0
    if free < 3:
        return max(0.0, 1 - _TRANSLATION * math.sqrt(free / distance))
    dimension = float(noise.sum() / noise.max()) - (size - free)
    return max(0.0, 1 - max(dimension - 2, 0.0) / distance)


def _random_effects(groups: Groups) -> Floats:
    """Random-effects prediction.

    v_j = V_j/n_j + D/n_j;  a = 1/v;  Q = Σ a_j ‖ψ̂_j − ψ̄‖²;
    τ² = max(0, (Q − (H − 1)) / (Σa − Σa²/Σa));  T_j = D/n_j + τ²;  B_j = T_j / (T_j + V_j/n_j);
    ψ_G the mean of the groups with weights 1 / (T_j + V_j/n_j);
    estimate Σ (n_j/n) [B_j ψ̂_j + (1 − B_j) ψ_G]
    """
    noise, sizes = groups.noise, groups.sizes
    own = groups.scatter / groups.people
    a = 1 / (noise + own)
    whole = a.sum()
    gap = groups.values - a @ groups.values / whole
    q = float(a @ (gap**2).sum(axis=1))
    between = max(0.0, (q - (a.size - 1)) / float(whole - (a * a).sum() / whole))
    g = 1 / (own + between + noise)
    keep = (own + between) * g
    weights = sizes * keep + (sizes @ (1 - keep)) * g / g.sum()
    return np.asarray(weights @ groups.values)


def _adaptive(groups: Groups) -> Floats:
    """Pooled, moved towards post-stratified by ω = max(0, 1 − max(d−3, 0)/(d−1) · Σv_Z / ΣZ²)."""
    weights, sizes = _weights(groups, "pooled"), groups.sizes
    gap = (sizes - weights) @ groups.values
    extra = float(((sizes**2 - weights**2) @ groups.variance).sum())
    extra -= groups.scatter * groups.mix(weights)
    part = max(gap.size - 3, 0) / (gap.size - 1) if gap.size > 1 else 0.0
    squared = float(gap @ gap)
    move = max(1 - part * max(extra, 0.0) / squared, 0.0) if squared > 0 else 1.0
    return np.asarray((weights + move * (sizes - weights)) @ groups.values)


PREDICTIONS: dict[str, Callable[[Groups], Floats]] = {
    "james-stein": _james_stein,
    "random-effects": _random_effects,
    "adaptive": _adaptive,
}
