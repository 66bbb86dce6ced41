"""The distribution of one attribute, without knowing anybody's budget.

With c_j of s records setting bit j of an attribute of l values, all bits but the true one are set
with the average q̄ of the hidden q, so that

    q̄ = (Σ_j c_j / s − ½) / (l − 1),    f_j = (c_j / s − q̄) / (½ − q̄)

and f sums to one by itself. Each person's influence on f_j is
ψ = [y_j − (1 − f_j)(Σ_i y_i − ½) / (l − 1)] / (½ − q̄), up to a constant; its variance over s is
that of f_j (conservative: 1.0 to 1.4 times that for fixed data). Strata of people who report
equally many attributes are estimated separately, since their budgets have other laws. Where people
are sampled, so is the number w_h s of people in each stratum: (1 − rate) Σ w_h (f_h − f)² / s more.

Few records may agree by chance, so that their variance is far too small. The noise alone gives f_j
at least the variance of independent bits: ¼ for the true value, and for the others
E q(1 − q) ≥ q̄/2, since no q exceeds ½ (with public budgets q(1 − q) is known). The fractions in
this bound are those with two more people for the value and two against it, as in Agresti and
Coull 1998. Intervals have at least its noise at every f that they contain, and reach half of what
one bit moves a fraction beyond the normal ones (`estimate.intervals`).

With public budgets the score s_uj = (y_uj − q_u) / (½ − q_u) of person u is unbiased for the
person's own answer, with variance [f_j/4 + (1 − f_j) q_u(1 − q_u)] / (½ − q_u)². The method
`known-epsilons` is its plain mean, which the smallest budgets dominate. `weighted-epsilons` weights
by

    w_u = 1 / (v_u + (1 − 1/l) / l),   f̂_j = Σ_u w_u s_uj / Σ_u w_u,   f_j = f̂_j − (Σ_i f̂_i − 1) / l

where v_u is the variance for equal fractions, so that weights depend on epsilons alone, and the
second term is there because unequal weights represent people unequally. Weights need what the
privacy promise needs as well: that people divide epsilon without regard to their answers.

Eq. 16 of the PLDP paper has q(ε_average) in place of q̄, which is biased upwards for every value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..contract.sparse import Sparse
from ..errors import EstimateError, ParameterError
from ..estimate.estimate import Estimate
from ..estimate.intervals import Floats, ScoreInterval
from .allocation import flip
from .joint.groups import Group, groups_of, positions

if TYPE_CHECKING:
    from .records import Records

#: Fractions, their covariance, records, and of intervals: step, least noise at 0 and its slope.
Part = tuple[Floats, Floats, int, tuple[float, float, float]]

METHODS = {
    "self-calibrated": "q̄ from the bits themselves",
    "weighted-epsilons": "scores weighted by the information of each public epsilon",
    "known-epsilons": "the mean of (y − q_u) / (½ − q_u), with public epsilons",
    "published": "PLDP, Eq. 16: biased upwards",
}
_NEEDS_EPSILONS = ("weighted-epsilons", "known-epsilons")
_CLEAR = 10.0  # standard errors by which ½ − q̄ must exceed zero for a stratum of its own
UNRELATED = "how many attributes people report has nothing to do with their answers"
UNRELATED_LEVELS = "which level people chose has nothing to do with their answers"


def marginal(
    records: Records,
    aggregate: Sparse,
    attributes: Sequence[str],
    *,
    method: str | None = None,
) -> Estimate:
    """The distribution of one attribute with intervals.

    Parameters
    ----------
    attributes : sequence of str
        One name; for several use `joint`.
    method : {"self-calibrated", "weighted-epsilons", "known-epsilons", "published"}, optional
        By default the first with hidden budgets, the second with public ones.
    """
    if method is None:
        method = "weighted-epsilons" if records.public else "self-calibrated"
    if method not in METHODS:
        raise ParameterError(
            f"there is no method {method!r}; available: {', '.join(map(repr, METHODS))}"
        )
    asked = positions(records, attributes)
    if len(asked) != 1:
        raise ParameterError(
            f"{len(asked)} attributes were asked for; marginal is for one, joint for several"
        )
    if method in _NEEDS_EPSILONS and not records.public:
        raise ParameterError(
            f"divisions are hidden, so {method!r} has no epsilons to use; use 'self-calibrated'"
        )
    if method == "published" and records.levels:
        raise ParameterError(
            "'published' takes one epsilon_average for all, but these records have levels; use "
            "'self-calibrated'"
        )
    groups = groups_of(records, aggregate, asked)
    if method == "known-epsilons":
        return _finish(records, aggregate.n, asked[0], method, [_known_epsilons(groups)], "")
    published = float(flip(records.epsilon_average)) if method == "published" else None
    strata = [] if published is not None else [self_calibrated([group]) for group in groups]
    parts = [part for part in strata if part is not None]
    clear = bool(parts) and len(parts) == len(groups)
    assuming = "" if clear else _unrelated(groups)
    if method == "weighted-epsilons":
        parts = [_weight([group]) for group in groups] if clear else [_weight(groups)]
        return _finish(records, aggregate.n, asked[0], method, parts, assuming)
    if not clear:
        whole = self_calibrated(groups, published)
        if whole is None:
            people = sum(int(group.counts.sum()) for group in groups)
            raise EstimateError(
                f"the bits of {attributes[0]!r} are almost pure noise: its epsilons are too small "
                f"for so few records ({people}); ask more people or for larger epsilons"
            )
        parts = [whole]
    return _finish(records, aggregate.n, asked[0], method, parts, assuming)


def _unrelated(groups: Sequence[Group]) -> str:
    """What must be true for strata to be taken together."""
    assumed = [UNRELATED] * (len({group.reported for group in groups}) > 1)
    return "; ".join(assumed + [UNRELATED_LEVELS] * (len({g.average for g in groups}) > 1))


def _finish(
    records: Records, n: int, position: int, method: str, parts: Sequence[Part], assuming: str
) -> Estimate:
    """Strata combined in proportion to their people."""
    people = np.array([part[2] for part in parts])
    fraction = people / people.sum()
    rows = np.array([part[0] for part in parts])
    values = fraction @ rows
    matrix = np.asarray(sum(w * w * part[1] for w, part in zip(fraction, parts, strict=True)))
    if records.sampled:  # how many of each stratum reported is drawn as well
        away = rows - values
        matrix += (1 - records.rate) / people.sum() * (away.T * fraction) @ away
    attribute = records.schema.attributes[position]
    spread = np.diag(matrix).copy()
    bounds = np.array([part[3] for part in parts])
    least = float(fraction**2 @ bounds[:, 1]), float(fraction**2 @ bounds[:, 2])
    step = float((fraction * bounds[:, 0]).max())
    return Estimate(
        values=values,
        spread=spread,
        n=n,
        reports=int(people.sum()),
        labels=attribute.labels,
        name=attribute.name,
        guarantee=records.guarantee,
        method=method,
        biased=method == "published",
        assuming=assuming,
        _covariance=partial(np.asarray, matrix),
        _interval=ScoreInterval(values, spread, 0.0, step=step, least=least),
    )


def _scores(groups: Sequence[Group]) -> tuple[Floats, Floats, Floats]:
    """The bits of one attribute, how often each row came, and its q."""
    bits = np.concatenate([group.bits[0] for group in groups]).astype(float)
    counts = np.concatenate([group.counts for group in groups]).astype(float)
    q = np.concatenate([group.flips[:, :1] for group in groups if group.flips is not None])
    return bits, counts, q


def _weight(groups: Sequence[Group]) -> Part:
    """Each person's bits by their own q, with weights; budgets of zero count nothing."""
    bits, counts, q = _scores(groups)
    seen = q[:, 0] < 0.5
    bits, counts, q = bits[seen], counts[seen], q[seen]
    if not len(q):
        raise EstimateError(
            "nobody gave this attribute any epsilon, so its bits are pure noise; ask more people "
            "or for larger epsilons"
        )
    s, size, gap = int(counts.sum()), bits.shape[1], 0.5 - q
    scores = (bits - q) / gap
    alike = 1 / size
    spread = (alike / 4 + (1 - alike) * q * (1 - q)) / gap**2 + alike * (1 - alike)
    each = 1 / spread / float(counts @ (1 / spread[:, 0]))
    alone = counts @ (each * scores)
    values = alone - (alone.sum() - 1) / size
    # What one person does to the values: directly, and through the sum.
    influence = _balance(each * (scores - alone))
    matrix = (influence * counts[:, None]).T @ influence * (s / max(s - 1, 1))
    # Noise, and that people with large weights may not answer like all.
    people = 1 / float(counts @ each[:, 0] ** 2)
    likely = np.clip((values * people + 2) / (people + 4), 0, 1)
    noise = (likely / 4 + (1 - likely) * q * (1 - q)) / gap**2
    least = np.diag(counts @ (each**2 * noise + (each - 1 / s) ** 2 * likely * (1 - likely)))
    bounds = _bounds(counts @ (each / gap) ** 2, counts @ (q * (1 - q) * (each / gap) ** 2))
    step = 0.5 * float((each / gap).max())
    return values, _raise_to(matrix, _balance(_balance(least).T)), s, (step, *bounds)


def _balance(rows: Floats) -> Floats:
    """Rows less their means, so that they sum to zero."""
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def _known_epsilons(groups: Sequence[Group]) -> Part:
    """Each person's bits by their own q, without weights: small budgets count in full."""
    bits, counts, q = _scores(groups)
    if (q >= 0.5).any():
        raise EstimateError(
            "some people gave this attribute no epsilon at all, so their bits are pure noise; use "
            "'weighted-epsilons', or collect with a floor"
        )
    values, matrix, s = _moments((bits - q) / (0.5 - q), counts)
    noise = counts @ (_noise(values, s, q * (1 - q)) / (0.5 - q) ** 2) / s
    moved = 1 / (s * (0.5 - q))
    bounds = _bounds(counts @ moved**2, counts @ (q * (1 - q) * moved**2))
    return values, _raise_to(matrix, np.diag(noise / s)), s, (0.5 * float(moved.min()), *bounds)


def self_calibrated(groups: Sequence[Group], published: float | None = None) -> Part | None:
    """(fractions, covariance, records) of some groups; None where the bits are almost noise."""
    bits = np.concatenate([group.bits[0] for group in groups]).astype(float)
    counts = np.concatenate([group.counts for group in groups]).astype(float)
    s, size = int(counts.sum()), bits.shape[1]
    seen = counts @ bits / s
    average = (float(seen.sum()) - 0.5) / (size - 1) if published is None else published
    other = min(max(average, 0.0), 0.5) / 2
    gap = 0.5 - average
    if published is None:
        spread = float(counts @ (bits.sum(axis=1) - seen.sum()) ** 2) / s
        spread = max(spread, 0.25 + (size - 1) * other)
        # A q̄ below zero arises by chance, and does not indicate more information.
        if min(gap, 0.5) <= _CLEAR * math.sqrt(spread / s) / (size - 1):
            return None
    values = (seen - average) / gap
    own = (1 - values) / (size - 1) if published is None else np.zeros(size)
    matrix = _moments(_influence(bits, own) / gap, counts)[1]
    noise = np.diag(_noise(values, s, other))
    least = _influence(_influence(noise, own).T, own) / gap**2 / s
    bounds = _bounds(np.array(1 / (s * gap**2)), np.array(other / (s * gap**2)))
    return values, _raise_to(matrix, least), s, (0.5 / (s * gap), *bounds)


def _influence(bits: Floats, own: Floats) -> Floats:
    """What each row of bits does to the fractions: directly, and through q̄."""
    return np.asarray(bits - bits.sum(axis=1, keepdims=True) * own)


def _noise(values: Floats, s: int, other: Floats | float) -> Floats:
    """The variance of a bit: that of a coin if its value is true, else `other`."""
    true = np.clip((values * s + 2) / (s + 4), 0, 1)
    return np.asarray(true / 4 + (1 - true) * other)


def _raise_to(matrix: Floats, least: Floats) -> Floats:
    """The covariance plus as much of the least one as every variance needs to reach it."""
    lack = float(np.max(1 - np.diag(matrix) / np.diag(least)))
    return matrix + max(lack, 0.0) * least


def _bounds(coins: Floats, others: Floats) -> tuple[float, float]:
    """The noise of a value that nobody holds, and what holders add: their bit is a coin."""
    least = float(others.sum())
    return least, float(coins.sum()) / 4 - least


def _moments(each: Floats, counts: Floats) -> tuple[Floats, Floats, int]:
    """The mean of what each person contributes, its covariance, and how many people there are."""
    s = float(counts.sum())
    mean = counts @ each / s
    centred = each - mean
    return mean, (centred * counts[:, None]).T @ centred / s / max(s - 1, 1), int(s)
