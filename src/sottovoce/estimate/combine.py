"""Estimates of several groups, combined: the one place where groups are weighted.

With ψ̂_j the unbiased estimate of group j, n_j its people, V_j its noise per person (total over
the values, so that E‖ψ̂_j − ψ_j‖² = V_j / n_j), D the variance of one person's answer (1 − ‖ψ‖²
for fractions) and n = Σ n_j:

post-stratified   Σ (n_j / n) ψ̂_j                         unbiased whatever the groups are
pooled            Σ ω_j ψ̂_j,  ω_j ∝ n_j / (V_j + D)        best if all groups are alike
yang-variance     Σ ω_j ψ̂_j,  ω_j ∝ n_j / V_j              published; leaves D out
yang-optimised    the same weights, by numerical minimisation of the published error
unweighted        Σ ω_j ψ̂_j,  ω_j ∝ reports of j           every report counts the same
james-stein       the post-stratified estimate with each independent contrast between the groups
                  shrunk towards zero as far as the data support it; the default over levels
random-effects    random-effects prediction: each group is shrunk towards the common mean
adaptive          pooled + ω (post-stratified − pooled), ω by a James–Stein rule

Yang et al., "Fair and Differentially Private Distributed Frequency Estimation", section 3.2
(Eq. 4, Solutions 1 and 2); the corrected weights add the data's own variance D to theirs. The
random-effects moments are those of DerSimonian and Laird 1986, for a vector. Errors and intervals
of james-stein, random-effects and adaptive are those of the post-stratified estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..errors import EstimateError, ParameterError
from ..promise import Guarantee
from .estimate import Estimate
from .groups import Groups, combine_groups, covariance_of, person_weights

__all__ = ["ALIASES", "METHODS", "combine", "person_weights"]

#: Every method: where it comes from, and whether it is biased when groups differ.
METHODS: dict[str, tuple[str, bool]] = {
    "james-stein": ("contrasts between groups, each shrunk on its own", True),
    "random-effects": ("random-effects prediction over the groups", True),
    "post-stratified": ("each group on its own, weighted by its people", False),
    "pooled": ("weights n / (V + D): lowest error if all groups are alike", True),
    "adaptive": ("James–Stein choice between pooled and post-stratified", True),
    "yang-variance": ("Yang et al., Eq. 4 (Solution 2): weights n / V, without D", True),
    "yang-optimised": ("Yang et al., Solution 1: the same weights by optimisation", True),
    "unweighted": ("every report counts the same", True),
}
ALIASES = {"stratified": "post-stratified", "hybrid": "random-effects"}


def combine(
    estimates: Sequence[Estimate] | Mapping[str, Estimate], *, method: str = "james-stein"
) -> Estimate:
    """One estimate for all people from the estimates of groups of them.

    Parameters
    ----------
    estimates : sequence or mapping of Estimate
        Unbiased estimates of the same question, of people who are in one group each.
    method : str
        How groups are weighted; the table of `sottovoce.estimate.combine` has the names.

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
    method = ALIASES.get(method, method)
    names = list(estimates) if isinstance(estimates, Mapping) else None
    try:
        groups = list(estimates.values() if isinstance(estimates, Mapping) else estimates)
    except TypeError as error:
        kind = type(estimates).__name__
        message = f"the estimates are of type {kind}; give a list of estimates, or a mapping"
        raise ParameterError(message) from error
    _check(groups, method, names)
    if len(groups) == 1:
        return replace(groups[0], method=method)
    # Of options, who chose two of them together is not known, so there is no covariance.
    known = all(e._covariance is not None and e.exclusive for e in groups)
    return combine_groups(
        Groups.of_estimates(groups),
        method=method,
        covariance=partial(covariance_of, groups) if known else None,
        assuming=[e.assuming for e in groups],
        biased=any(e.biased for e in groups),
        labels=groups[0].labels,
        name=groups[0].name,
        fractions=groups[0].fractions,
        exclusive=groups[0].exclusive,
        complete=groups[0].complete,
        guarantee=_together(groups, names),
        _origins=tuple(source for estimate in groups for source in estimate._sources),
    )


def with_guarantee(estimate: Estimate, guarantee: Guarantee) -> Estimate:
    """An estimate, and the unbiased one behind it, under another guarantee."""
    raw = estimate.raw and replace(estimate.raw, guarantee=guarantee)
    return replace(estimate, guarantee=guarantee, raw=raw)


def _together(estimates: Sequence[Estimate], names: Sequence[str] | None) -> Guarantee:
    """Every group's promises side by side: they are made to different people, named by group."""
    for estimate in estimates:
        if not estimate.guarantee.promises:
            return estimate.guarantee
    groups = names or [f"group {k}" for k in range(1, len(estimates) + 1)]
    labelled = (
        estimate.guarantee.in_group(str(group))
        for group, estimate in zip(groups, estimates, strict=True)
    )
    return Guarantee(tuple(promise for guarantee in labelled for promise in guarantee.promises))


def _check(groups: Sequence[Estimate], method: str, names: list[str] | None) -> None:
    known = list(METHODS)
    if method not in known:
        raise ParameterError(
            f"there is no method {method!r}; available: {', '.join(map(repr, known))}"
        )
    if not groups:
        raise EstimateError("there are no estimates to combine; give at least one")
    seen: set[int] = set()
    for k, estimate in enumerate(groups):
        where = repr(names[k]) if names else f"number {k + 1}"
        if not isinstance(estimate, Estimate):
            raise ParameterError(f"{where} is {type(estimate).__name__}; it must be an Estimate")
        if (
            tuple(estimate.labels) != tuple(groups[0].labels)
            or estimate.fractions != groups[0].fractions
            or estimate.exclusive != groups[0].exclusive
        ):
            raise EstimateError(
                f"{where} estimates other values than the first; all groups must answer the same "
                "question"
            )
        if estimate.selected:
            raise EstimateError(
                f"{where} has the values that were frequent among its own people, and intervals "
                "that allow for this; add up the counts of the groups, and estimate from the sum"
            )
        if estimate.raw is not None or (estimate.biased and estimate.error_from == "bootstrap"):
            raise EstimateError(
                f"{where} is a biased estimate ({estimate.method}); combine unbiased ones, and "
                "project the result if necessary"
            )
        if estimate.n < 1 or not math.isfinite(float(estimate.variance.sum())):
            raise EstimateError(f"{where} is based on no reports; leave it out")
        if seen & estimate.roots:
            raise EstimateError(
                f"{where} comes from the same reports as one before it, whose people would count "
                "twice; leave it out"
            )
        seen |= estimate.roots
