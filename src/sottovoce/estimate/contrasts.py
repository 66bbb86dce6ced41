"""Differences of estimates, and other linear combinations of estimated values.

Difference  a − b of two estimates from different reports: their errors are independent.
Contrast    Σ c_v f_v of the values of one estimate, whose errors are correlated.

Both keep the intervals of the parts, which hold for small counts as well. With (l, u) the parts'
intervals at the same confidence, and r their correlations,

    low  = Σ c_v f̂_v − √(Σ_vw s_v s_w r_vw),   s_v = c_v (f̂_v − l_v) if c_v > 0 else c_v (u_v − f̂_v)
    high = Σ c_v f̂_v + √(Σ_vw t_v t_w r_vw),   t_v = c_v (u_v − f̂_v) if c_v > 0 else c_v (f̂_v − l_v)

(the method of variance estimates recovery; Zou and Donner 2008, Statistics in Medicine 27, with
correlations Zou 2008, section 3; with Wilson's interval it is Newcombe's of 1998). Where the
correlations are not known, the worst case is used: the root becomes Σ |s_v|. Values with the same
weight are one part, their sum, where that has an interval of its own (`intervals`). The interval of
a rare count ends close to what no report would give, however high the confidence, while several
such counts may be too large at once: so neither side is shorter than a normal interval's.
Correlations at the estimate are of no use with few reports: a contrast is then tested as a whole,
as sums are, or has the worst case where it cannot be.

A test inverts the interval: the p-value is one minus the confidence of the widest interval that
leaves out zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checks import number
from ..domain.values import Label
from ..errors import EstimateError, GuaranteeError, ParameterError
from ..promise import Guarantee
from .estimate import Estimate, join_claims
from .intervals import FEW, Floats, Interval, ScoreInterval, normal_quantile
from .simultaneous import chance_of_largest, correlation_of

#: Groups of promises that do not add up, so that they stand side by side.
APART = ("the first collection", "the second collection")
Places = NDArray[np.intp]
_STEPS = 79  # steps of z, between which a p-value is interpolated
_MOST_Z = 7.9  # beyond it, confidences are not different from one


class Test(NamedTuple):
    """Whether values differ from zero.

    `p_values` has one for each value on its own, `p_value` is that of the hypothesis that none of
    them differs, and `method` says how it takes several values into account.
    """

    p_values: Floats
    p_value: float
    method: str


#: The covariance of the same people's answers is in the difference, too. At worst the two errors
#: add up, and not only their squares.
DRAWN_APART = (
    "the two samples were drawn independently: where the same people were asked twice, intervals "
    "are up to 1.42 times too narrow if most of them changed their answer, and too wide if not"
)


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(Estimate):
    """A difference of two estimates, or a linear combination of the values of one.

    Attributes
    ----------
    unit : {"points", "fraction", ""}
        Differences of fractions are in percentage points; sums of fractions are fractions;
        everything else is in the units of the question or of the weights.
    """

    unit: str = ""

    @property
    def counts(self) -> Floats:
        """Refused: a difference is not a number of people."""
        raise EstimateError("a difference is not a number of people; take the counts of its parts")

    def test(self) -> Test:
        """p-values of "no difference": of each value, and of all of them at once.

        That of a biased estimate is the test of the unbiased one behind it.
        """
        return self._tested if not isinstance(self.raw, Contrast) else self.raw._tested

    @cached_property
    def _tested(self) -> Test:
        p_values = _p_values(self)
        p_value, method = chance_of_largest(p_values, self._correlation)
        return Test(p_values, p_value, method)

    def columns(self, confidence: float = 0.95, *, simultaneous: bool = False) -> dict[str, Any]:
        """As of every estimate, and the p-value of each value."""
        own = super().columns(confidence, simultaneous=simultaneous)
        return {**own, "p_value": self.test().p_values}


def difference(first: Estimate, second: Estimate) -> Contrast:
    """first − second, value by value; `Estimate.__sub__`."""
    _check_alike(first, second)
    raw = None
    if first.raw is not None or second.raw is not None:
        raw = difference(first._unbiased, second._unbiased)
    known = first._covariance is not None and second._covariance is not None
    parts = (first, second)
    drawn = first.population is not None and second.population is not None
    claims = [first.assuming, second.assuming, DRAWN_APART * drawn]
    return Contrast(
        values=first.values - second.values,
        spread=partial(_added_variance, parts),
        n=first.n + second.n,
        reports=first._sent + second._sent,
        labels=first.labels,
        name=_both(first.name, second.name),
        guarantee=_together(first.guarantee, second.guarantee),
        method=_both(first.method, second.method),
        biased=first.biased or second.biased,
        error_from=first.error_from,
        converged=first.converged and second.converged,
        fractions=False,
        exclusive=first.exclusive and second.exclusive,
        raw=raw,
        assuming=join_claims(claims),
        unit="points" if first.unit in ("fraction", "points") else "",
        _covariance=partial(_added_covariance, parts) if known and raw is None else None,
        _interval=DifferenceInterval(first, second) if raw is None else None,
        _origins=(*first._sources, *second._sources),
    )


def contrast(estimate: Estimate, weights: Mapping[Any, float]) -> Contrast:
    """Σ weight × value of one estimate; `Estimate.contrast`."""
    places, factors = _weights(estimate, weights)
    words, unit = _words(estimate, places, factors), _unit(estimate, factors)
    value = float(factors @ estimate.values[places])
    places, factors = _shift(estimate, places, factors)
    raw = None if estimate.raw is None else contrast(estimate.raw, weights)
    same = ("n", "reports", "name", "guarantee", "method", "biased", "error_from", "converged")
    terms = (estimate, places, factors)
    return Contrast(
        values=np.array([value]),
        spread=partial(_contrast_variance, *terms) if raw is None else raw.spread,
        labels=(words,),
        fractions=False,
        raw=raw,
        assuming=estimate.assuming,
        unit=unit,
        _interval=partial(_own_interval, *terms, value) if raw is None else None,
        _origins=estimate._sources,
        **{name: getattr(estimate, name) for name in same},
    )


@dataclass(frozen=True, eq=False)
class DifferenceInterval:
    """The interval of first − second, of independent estimates; call it with the confidence."""

    first: Estimate
    second: Estimate

    def __call__(self, confidence: float) -> Interval:
        below, above = _reach(self.first, confidence)
        under, over = _reach(self.second, confidence)
        values = self.first.values - self.second.values
        bounds = _is_bound(self.first) or _is_bound(self.second)
        length = np.add if bounds else np.hypot
        return Interval(values - length(below, over), values + length(above, under))


def _is_bound(estimate: Estimate) -> bool:
    """Whether its interval bounds how far a biased value may be off, which need not be chance.

    Two such values may be off in opposite directions every time.
    """
    own = estimate.own_interval
    return estimate.biased and own is not None and not isinstance(own, ScoreInterval)


def _own_interval(
    estimate: Estimate, places: Places, factors: Floats, middle: float, confidence: float
) -> Interval:
    own = None if estimate.biased else estimate.noise_lines
    if own is not None and own.needs_testing(estimate._sent):
        weights = np.zeros((1, estimate.values.size))
        weights[0, places] = factors
        tested = own.combination(weights, estimate.complete, confidence)
        if tested is not None:
            shift = middle - float(weights[0] @ estimate.values)
            return Interval(shift + tested[0], shift + tested[1])
    spread = float(_contrast_variance(estimate, places, factors)[0])
    factors, groups = _alike(factors)
    chosen = np.zeros((factors.size, estimate.values.size))
    chosen[:, places] = groups
    sums = own.sums(chosen) if own is not None else None
    if sums is None:
        below, above = (side[places] for side in _reach(estimate, confidence))
        # Where a contrast cannot be tested, correlations of so few reports count as not known.
        few = estimate._sent <= FEW
        factors, r = factors @ groups, None if few else estimate._correlation_of(places)
    else:
        ends, r = sums(confidence), _correlation_of_sums(estimate, places, groups)
        below, above = sums.values - ends.low, ends.high - sums.values
    low = _length(np.where(factors > 0, factors * below, factors * above), r)
    high = _length(np.where(factors > 0, factors * above, factors * below), r)
    if factors.size > 1:
        least = normal_quantile(confidence) * spread**0.5
        low, high = max(low, least), max(high, least)
    return Interval(np.array([middle - low]), np.array([middle + high]))


def _alike(factors: Floats) -> tuple[Floats, Floats]:
    """The different factors, and a row of zeros and ones for each: who has it."""
    each, place = np.unique(factors, return_inverse=True)
    return each, (place == np.arange(each.size)[:, None]).astype(float)


def _correlation_of_sums(estimate: Estimate, places: Places, groups: Floats) -> Floats | None:
    """That of sums of some values; of a single one it need not be known."""
    if len(groups) == 1:
        return np.ones((1, 1))
    matrix = estimate._covariance_of(places)
    return None if matrix is None else correlation_of(groups @ matrix @ groups.T)


def _length(sides: Floats, r: Floats | None) -> float:
    """√(sᵀ r s), or Σ |s| where r is not known."""
    if r is None:
        return float(np.abs(sides).sum())
    return float(np.sqrt(max(float(sides @ r @ sides), 0.0)))


def _reach(estimate: Estimate, confidence: float) -> tuple[Floats, Floats]:
    """How far the interval reaches below and above the values.

    That of a number ends at the bounds of the question, but its noise does not; nor is that of a
    biased fraction cut off at 0 and 1: two values at these ends would seem to have no error.
    """
    low, high = estimate._unbiased._own_interval(confidence)
    least = 0.0 if estimate.fractions else normal_quantile(confidence) * estimate.std_error
    return np.fmax(estimate.values - low, least), np.fmax(high - estimate.values, least)


def _contrast_variance(estimate: Estimate, places: Places, factors: Floats) -> Floats:
    sides = factors * estimate.std_error[places]
    return np.array([_length(sides, estimate._correlation_of(places)) ** 2])


def _added_variance(parts: tuple[Estimate, Estimate]) -> Floats:
    return parts[0].variance + parts[1].variance


def _added_covariance(parts: tuple[Estimate, Estimate]) -> Floats:
    both = [part.covariance for part in parts]
    return np.asarray(sum(matrix for matrix in both if matrix is not None))


def _p_values(estimate: Estimate) -> Floats:
    """One minus the confidence at which the interval reaches zero, for each value.

    The end nearer to zero is almost linear in z, so it is interpolated between steps of z.
    """
    normal = NormalDist()
    side = np.sign(estimate.values)
    before = np.abs(estimate.values)  # how far the end is from zero; z = 0 comes first
    z_before, crossing = 0.0, np.full(before.size, _MOST_Z)
    inside = np.ones(before.size, bool)  # still farther from zero than the interval reaches
    for z in np.linspace(0.0, _MOST_Z, _STEPS + 1)[1:].tolist():
        low, high = estimate.interval(2 * normal.cdf(z) - 1)
        now = np.where(side > 0, low, -high)
        reached = inside & ~(now > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.where(before > 0, before / (before - now), 0.0)
        crossing[reached] = (z_before + part * (z - z_before))[reached]
        inside &= ~reached
        if not inside.any():
            break
        before, z_before = now, z
    return np.array([2 * normal.cdf(-z) for z in crossing.tolist()])


def _check_alike(first: Estimate, second: Estimate) -> None:
    """Refuse what has no difference, or none that is known."""
    if tuple(first.labels) != tuple(second.labels) or first.unit != second.unit:
        only = [str(x) for x in {*first.labels} ^ {*second.labels}]
        why = f"only one has {sorted(only)[0]!r}" if only else "in another order, or another unit"
        raise EstimateError(
            f"{first.name or 'the first'!r} and {second.name or 'the second'!r} are not over the "
            f"same values ({why}), so they have no difference"
        )
    if first.roots & second.roots:
        raise EstimateError(
            "both estimates come from the same reports, so their errors are not independent; for "
            'two values of one question use estimate.contrast({"yes": 1, "no": -1}), for two '
            "attributes of records table.contrast of their joint table"
        )


def _together(first: Guarantee, second: Guarantee) -> Guarantee:
    """To someone who may be in both: the composition; else both promises side by side."""
    try:
        return first + second
    except GuaranteeError:
        both = (first.in_group(APART[0]), second.in_group(APART[1]))
        return Guarantee(tuple(promise for each in both for promise in each.promises))


def _both(first: str, second: str) -> str:
    return first if first == second else f"{first} − {second}"


def _weights(estimate: Estimate, weights: Mapping[Any, float]) -> tuple[Places, Floats]:
    """Where the weights that are not zero apply."""
    if not isinstance(weights, Mapping) or not weights:
        raise ParameterError(
            f'weights are {weights!r}; give one for each value that counts, {{"yes": 1, "no": -1}}'
        )
    index = estimate._cells()
    places, factors = [], []
    for label, weight in weights.items():
        if label not in index:
            known = ", ".join(map(repr, list(index)[:6]))
            raise ParameterError(f"there is no value {label!r}; there are {known}")
        places.append(index[label])
        factors.append(number(weight, f"the weight of {label!r}", "a number"))
    return np.array(places, np.intp), np.array(factors)


def _unit(estimate: Estimate, factors: Floats) -> str:
    if estimate.unit and abs(factors.sum()) < 1e-12:
        return "points"
    # Fractions of options, of which people may choose several, add up to how many they choose.
    some = estimate.exclusive or estimate.unit != "fraction" or np.count_nonzero(factors) < 2
    return estimate.unit if some and np.isin(factors, (0.0, 1.0)).all() else ""


def _shift(estimate: Estimate, places: Places, factors: Floats) -> tuple[Places, Floats]:
    """The same combination of as few values as possible.

    Of fractions that sum to one exactly, the same amount may be taken off all weights: f_1 + f_2 of
    three values is 1 − f_3, and a single value has the better interval.
    """
    if not _sums_to_one(estimate):
        return places, factors
    every = np.zeros(estimate.values.size)
    every[places] = factors
    weights, group, often = np.unique(every, return_inverse=True, return_counts=True)
    own = estimate.noise_lines
    if weights.size > 2 and own is not None and np.max(own.draw) > 0:
        # Drawn people have one value or another: the estimated correlation of rare ones with one
        # that nearly all hold is close to −1 by chance, that of rare ones with each other is not.
        often = np.bincount(group, np.maximum(estimate.values, 0.0))
    every -= weights[np.lexsort((np.abs(weights), -often))[0]]
    kept = np.flatnonzero(every)
    return kept, every[kept]


def _sums_to_one(estimate: Estimate) -> bool:
    """Whether the values always sum to one: they do now, and their sum has no variance."""
    if (
        not (estimate.fractions and estimate.exclusive)
        or abs(float(estimate.values.sum()) - 1) > 1e-9
    ):
        return False
    matrix = estimate._covariance_of(np.arange(estimate.values.size))
    return matrix is not None and float(matrix.sum()) <= 1e-9 * float(np.trace(matrix))


def _words(estimate: Estimate, places: Places, factors: Floats) -> Label:
    """The combination, written out."""
    terms = []
    for place, factor in zip(places.tolist(), factors.tolist(), strict=True):
        sign = "− " if factor < 0 else "+ "
        size = "" if abs(factor) == 1 else f"{abs(factor):g} "
        terms.append(f"{sign}{size}{estimate.labels[place]}")
    return " ".join(terms).removeprefix("+ ").replace("− ", "−", 1 if factors[0] < 0 else 0)
