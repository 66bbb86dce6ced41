"""Estimates of several groups, put together: the one place where groups are weighted.

With ψ̂_j the unbiased estimate of group j, n_j its people, V_j its noise per person (total over
the values, so that E‖ψ̂_j − ψ_j‖² = V_j / n_j), D the variance of one person's answer (1 − ‖ψ‖²
for shares) and n = Σ n_j:

post-stratified   Σ (n_j / n) ψ̂_j                         unbiased whatever the groups are
pooled            Σ ω_j ψ̂_j,  ω_j ∝ n_j / (V_j + D)        best if all groups are alike
yang-variance     Σ ω_j ψ̂_j,  ω_j ∝ n_j / V_j              published; leaves D out
yang-optimised    the same weights, by numerical minimisation of the published error
unweighted        Σ ω_j ψ̂_j,  ω_j ∝ reports of j           every report counts the same
hybrid            random-effects prediction: each group is drawn towards the common mean as far
                  as the groups are seen to be alike; the default over self-chosen levels
adaptive          pooled + ω (post-stratified − pooled), ω by a James–Stein rule

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", section 3.2
(Eq. 4, Solutions 1 and 2); the corrected weights add the data's own variance D to theirs. The
random-effects moments are those of DerSimonian and Laird 1986, for a vector.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import AlikeWarning, EstimateError, ParameterError
from .estimate import Estimate, Floats
from .guarantee import Guarantee

ALIKE = (
    "people of all groups answer alike: where those who chose another level differ, the estimate "
    "is off by as much as they weigh too little"
)
LEANS = (
    "groups are drawn towards each other as far as they are seen to be alike, so a small "
    "difference between them may be lost"
)
_ROUNDS = 400
_TINY = 1e-300


@dataclass(frozen=True)
class Groups:
    """What the weights need to know of the groups.

    Attributes
    ----------
    values : ndarray of shape (groups, values)
        Unbiased estimates.
    variance : ndarray of the same shape
        Their noise.
    people, reports : ndarray
        How many people each group has, and how many of them reported.
    scatter : float
        D, the variance of one person's answer, total over the values.
    """

    values: Floats
    variance: Floats
    people: Floats
    reports: Floats
    scatter: float

    @property
    def noise(self) -> Floats:
        """Total noise of each group's estimate, V_j / n_j."""
        return np.asarray(np.maximum(self.variance.sum(axis=1), _TINY))

    @property
    def sizes(self) -> Floats:
        """Shares of the people, n_j / n."""
        return np.asarray(self.people / self.people.sum())


def combine(
    estimates: Sequence[Estimate] | Mapping[str, Estimate], *, method: str = "hybrid"
) -> Estimate:
    """One estimate for all people from the estimates of groups of them.

    Parameters
    ----------
    estimates : sequence or mapping of Estimate
        Unbiased estimates of the same question, of people who are in one group each.
    method : str
        A name of this module's table.

    Returns
    -------
    Estimate
        ``assuming`` says what must be true of the groups; weighted methods also warn.

    Examples
    --------
    >>> import sottovoce as sv
    >>> mode = sv.Attribute("commute", ["car", "bike", "train", "foot"])
    >>> answers = ["car", "bike", "car", "foot"] * 5000
    >>> few, many = (sv.ask(answers, values=mode.values, epsilon=e) for e in (0.5, 2.0))
    >>> combine([few, many]).n
    40000
    """
    names = list(estimates) if isinstance(estimates, Mapping) else None
    given = list(estimates.values()) if isinstance(estimates, Mapping) else list(estimates)
    _check(given, method, names)
    if len(given) == 1:
        return replace(given[0], method=method)
    groups = _groups(given)
    guarantee = _together(given)
    common: dict[str, Any] = {
        "n": round(float(groups.people.sum())),
        "reports": round(float(groups.reports.sum())),
        "labels": given[0].labels,
        "name": given[0].name,
        "shares": given[0].shares,
        "guarantee": guarantee,
        "answer_variance": None if given[0].shares else groups.scatter,
        "method": method,
    }
    raw = _weighted(given, groups, groups.sizes, common | {"method": "post-stratified"}, "")
    if method == "post-stratified":
        return raw
    if method in PREDICTIONS:
        predict = PREDICTIONS[method]
        values, truths = predict(groups)
        return _with_replicate(
            Estimate(
                values=values,
                spread=partial(_bootstrap, predict, groups, truths),
                biased=True,
                error_from="bootstrap",
                raw=raw,
                assuming=LEANS,
                **common,
            )
        )
    weights = WEIGHTS[method](groups)
    if np.allclose(weights, groups.sizes, rtol=1e-12):
        return replace(raw, method=method)
    warnings.warn(
        f"{method!r} weighs the groups as if {ALIKE}; 'hybrid' and 'post-stratified' do not "
        "assume it",
        AlikeWarning,
        stacklevel=2,
    )
    return _weighted(given, groups, weights, common, ALIKE)


# --- weights ------------------------------------------------------------------------------------


def person_weights(noise: ArrayLike, people: ArrayLike, *, method: str) -> Floats:
    """000's weights per person, which sum to one over the levels.

    Parameters
    ----------
    noise : array-like
        V_j, the variance of one person's report at each level.
    people : array-like
        n_j.
    method : {"yang-variance", "yang-optimised"}
        Eq. 4, w_j = (1 / V_j) / Σ (1 / V_i); or Solution 1, the numerical minimum of
        Σ n_j w_j² V_j / (Σ n_j w_j)² over weights between 0 and 1 that sum to 1.

    Examples
    --------
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
        return _optimised(v, n)
    raise ParameterError(f"method is {method!r}; allowed are 'yang-variance' and 'yang-optimised'")


def _optimised(v: Floats, n: Floats) -> Floats:
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
    found = minimize(error, np.zeros(v.size), jac=True, method="BFGS", options={"gtol": 1e-10})
    w = np.exp(found.x - found.x.max())
    return np.asarray(w / w.sum())


def _normal(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum())


def _pooled(groups: Groups) -> Floats:
    # n_j / (V_j + D) with V_j = n_j noise_j
    return _normal(groups.people / (groups.people * groups.noise + groups.scatter))


def _yang_variance(groups: Groups) -> Floats:
    return _normal(1 / groups.noise)


def _yang_optimised(groups: Groups) -> Floats:
    return _normal(groups.people * _optimised(groups.people * groups.noise, groups.people))


def _unweighted(groups: Groups) -> Floats:
    return _normal(groups.reports)


WEIGHTS: dict[str, Callable[[Groups], Floats]] = {
    "pooled": _pooled,
    "yang-variance": _yang_variance,
    "yang-optimised": _yang_optimised,
    "unweighted": _unweighted,
}


# --- predictions that look at how alike the groups are ------------------------------------------


def _hybrid(groups: Groups) -> tuple[Floats, Floats]:
    """The random-effects prediction, and group values with its spread, for the bootstrap.

    v_j = V_j/n_j + D/n_j;  a = 1/v;  Q = Σ a_j ‖ψ̂_j − ψ̄‖²;
    τ² = max(0, (Q − (H − 1)) / (Σa − Σa²/Σa));  T_j = D/n_j + τ²;  B_j = T_j / (T_j + V_j/n_j);
    ψ_G the mean of the groups with weights 1 / (T_j + V_j/n_j);
    estimate Σ (n_j/n) [B_j ψ̂_j + (1 − B_j) ψ_G]
    """
    values, noise = groups.values, groups.noise
    own = groups.scatter / groups.people
    a = 1 / (noise + own)
    centre = a @ values / a.sum()
    q = float(a @ ((values - centre) ** 2).sum(axis=1))
    between = max(0.0, (q - (len(a) - 1)) / float(a.sum() - (a @ a) / a.sum()))
    spread = own + between
    keep = spread / (spread + noise)
    g = 1 / (spread + noise)
    common = g @ values / g.sum()
    predicted = keep[:, None] * values + (1 - keep)[:, None] * common
    # With the root of B_j the groups keep the spread T_j that the model gives them.
    truths = common + np.sqrt(keep)[:, None] * (values - common)
    return groups.sizes @ predicted, truths


def _adaptive(groups: Groups) -> tuple[Floats, Floats]:
    """Pooled, moved towards post-stratified by ω = max(0, 1 − max(d−3, 0)/(d−1) · Σv_Z / ΣZ²)."""
    weights, sizes = _pooled(groups), groups.sizes
    pooled, stratified = weights @ groups.values, sizes @ groups.values
    gap = stratified - pooled
    d = groups.values.shape[1]
    extra = float(((sizes**2 - weights**2) @ groups.variance).sum())
    extra -= groups.scatter * float((weights**2 / groups.people).sum() - 1 / groups.people.sum())
    part = max(d - 3, 0) / (d - 1) if d > 1 else 0.0
    squared = float(gap @ gap)
    move = 1.0 if squared == 0 else max(0.0, 1 - part * max(extra, 0.0) / squared)
    value = pooled + move * gap
    return value, value + move * (groups.values - stratified)


Prediction = Callable[[Groups], tuple[Floats, Floats]]
PREDICTIONS: dict[str, Prediction] = {"hybrid": _hybrid, "adaptive": _adaptive}

#: Every method: where it comes from, and whether it is biased when groups differ.
METHODS: dict[str, tuple[str, bool]] = {
    "hybrid": ("random-effects prediction over the groups", True),
    "post-stratified": ("each group on its own, weighted by its people", False),
    "pooled": ("weights n / (V + D): least error if all groups are alike", True),
    "adaptive": ("James–Stein choice between pooled and post-stratified", True),
    "yang-variance": ("Yang et al., Eq. 4 (Solution 2): weights n / V, without D", True),
    "yang-optimised": ("Yang et al., Solution 1: the same weights by optimisation", True),
    "unweighted": ("every report counts the same", True),
}
ALIASES = {"stratified": "post-stratified"}


# --- errors -------------------------------------------------------------------------------------


def _bootstrap(predict: Prediction, groups: Groups, truths: Floats) -> Floats:
    """Mean squared error when groups with such truths are estimated again.

    It spends no privacy and is seeded by the estimates, so that the same ones have the same error.
    """
    digest = hashlib.sha256(np.ascontiguousarray(groups.values).tobytes()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:16], "little"))
    target = groups.sizes @ truths
    deviation = np.sqrt(np.maximum(groups.variance, 0.0))
    total = np.zeros(truths.shape[1])
    for _ in range(_ROUNDS):
        again = truths + deviation * rng.standard_normal(truths.shape)
        total += (predict(replace(groups, values=again))[0] - target) ** 2
    mean: Floats = total / _ROUNDS
    return mean


def _weighted(
    given: Sequence[Estimate], groups: Groups, weights: Floats, common: dict[str, Any], claim: str
) -> Estimate:
    values = weights @ groups.values
    # What a wrong mix of people adds: nothing for the right one, weights = sizes.
    mix = float((weights**2 / groups.people).sum() - 1 / groups.people.sum()) if claim else 0.0

    def scatter() -> Floats:
        if not common["shares"]:
            return np.array([[groups.scatter]])
        return np.asarray(np.diag(values) - np.outer(values, values))

    def covariance() -> Floats:
        parts = [_covariance_of(e) for e in given]
        total = sum(w * w * part for w, part in zip(weights, parts, strict=True))
        return np.asarray(total + mix * scatter())

    single = values * (1 - values) if common["shares"] else np.array([groups.scatter])
    known = all(e._covariance is not None for e in given)
    return _with_replicate(
        Estimate(
            values=values,
            spread=weights**2 @ groups.variance + mix * np.maximum(single, 0.0),
            biased=bool(claim),
            assuming=claim,
            _covariance=covariance if known else None,
            **common,
        )
    )


def _covariance_of(estimate: Estimate) -> Floats:
    found = estimate.covariance
    if found is None:
        raise EstimateError("a group's estimate has no covariance")
    return found


def _with_replicate(estimate: Estimate) -> Estimate:
    """The estimate with made-up repetitions of itself, where it is a distribution."""
    if not estimate.shares:
        return estimate

    def again(frequencies: Floats, rng: np.random.Generator) -> Floats:
        noise = estimate.std_error * rng.standard_normal(frequencies.size)
        return np.asarray(frequencies + noise)

    return replace(estimate, _replicate=again)


def _groups(given: Sequence[Estimate]) -> Groups:
    values = np.array([e.values for e in given])
    variance = np.array([e.variance for e in given])
    people = np.array([e.n for e in given], float)
    reports = np.array([e.n if e.reports is None else e.reports for e in given], float)
    if given[0].shares:
        sizes = people / people.sum()
        common = sizes @ values
        squared = float(common @ common) - float(sizes**2 @ variance.sum(axis=1))
        scatter = min(max(1 - squared, 0.0), 1 - 1 / values.shape[1])
    else:
        own = [e.answer_variance or 0.0 for e in given]
        scatter = max(float(people @ own / people.sum()), 0.0)
    return Groups(values, variance, people, reports, scatter)


def _together(given: Sequence[Estimate]) -> Guarantee:
    """Every group's promises side by side: they are made to different people."""
    for estimate in given:
        if not estimate.guarantee.promises:
            return estimate.guarantee
    promises = (promise for e in given for promise in e.guarantee.promises)
    return Guarantee(tuple(dict.fromkeys(promises)))


def _check(given: Sequence[Estimate], method: str, names: list[str] | None) -> None:
    known = list(METHODS)
    if method not in known:
        raise ParameterError(
            f"there is no method {method!r}; available: {', '.join(map(repr, known))}"
        )
    if not given:
        raise EstimateError("there are no estimates to combine; give at least one")
    for k, estimate in enumerate(given):
        where = repr(names[k]) if names else f"number {k + 1}"
        if not isinstance(estimate, Estimate):
            raise ParameterError(f"{where} is {type(estimate).__name__}; estimates are combined")
        if tuple(estimate.labels) != tuple(given[0].labels) or estimate.shares != given[0].shares:
            raise EstimateError(
                f"{where} estimates other values than the first; groups must answer one question"
            )
        if estimate.error_from == "bootstrap":
            raise EstimateError(
                f"{where} is a biased estimate ({estimate.method}); combine unbiased ones, and "
                "project the result if need be"
            )
        if estimate.n < 1 or not math.isfinite(float(estimate.variance.sum())):
            raise EstimateError(f"{where} rests on no reports; leave it out")
