"""Means and quantiles of answers that are numbers or carry scores.

With unbiased fractions f̂, their covariance C, scores s and c the average of the scores:

Mean        c + Σ (s_v − c) f̂_v, linear and so unbiased; variance (s − c)ᵀ C (s − c), exact where C
            is. Subtracting c uses that fractions sum to one, which their estimates need not; of
            all c it has the smallest noise where that of values is alike
Part        scores for some values only give the mean of the people who have one of those:
            a ratio, c + Σ_A (s_v − c) f̂_v / Σ_A f̂_v, with the interval of Fieller (1954)
Quantile    the first value in order at which the cumulative estimate reaches q; its interval has
            every value at which the true cumulative fraction may pass q: an interval for the
            cumulative fraction at that value alone, so nothing needs to hold simultaneously

Intervals reach z standard errors, and half the most that one report can move the estimate (the
continuity correction of `intervals`), so that they hold for few reports as well. What drawing
people adds, g per unit of variance of their answers, is not taken at the estimate, where it would
be zero if all reports agree, but at what is tested:

Mean        people with the extreme score may have been missed (`mean_intervals`), whose reports may
            have more noise as well; with few reports it is tested as a combination of fractions
            (`intervals`)
Quantile    the cumulative fraction has the interval of a sum (`intervals`), where that is known;
            elsewhere it has the variance g q (1 − q), if that is more

Estimates that need not sum to one may miss people, whose reports were noisy as well: their fraction
1 − Σ f̂ counts with the noise b of those who hold a value (`intervals`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import floor, log10, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checks import printable
from ..errors import EstimateError, ParameterError
from .intervals import Floats, Interval, normal_quantile, steps_beyond
from .mean_intervals import MeanInterval, rise, tested_mean

if TYPE_CHECKING:
    from ..domain.values import Label
    from .estimate import Estimate

Scores = Mapping[Any, float] | Sequence[float]

#: Values in all cumulative fractions that a quantile looks at: where the noise of sums is known
#: from their values, and where it is computed for each.
_MOST_SUMMED, _MOST_SCORED = 1 << 24, 1 << 21
_FEWEST_SUMS = 64
#: Values whose covariances a mean uses: of more, its noise is that of its reports, where known.
_MOST_CORRELATED = 1000


class Quantile(NamedTuple):
    """A quantile with its interval, in the units or values of the question.

    Attributes
    ----------
    q : float
        The fraction of people at or below it.
    value, low, high : float or label
        The estimate and the ends of its interval.
    confidence : float
        Of the interval.
    """

    q: float
    value: Any
    low: Any
    high: Any
    confidence: float

    @property
    def name(self) -> str:
        """Median, or the percentage of people at or below it."""
        return "median" if self.q == 0.5 else f"{round(100 * self.q, 10):g} % quantile"

    def __str__(self) -> str:
        value, low, high = shown_digits(self.value, self.low, self.high)
        return f"{self.name}: {value} ({100 * self.confidence:g} % interval {low} to {high})"


def shown_digits(value: Any, low: Any, high: Any) -> tuple[str, ...]:
    """Numbers with as many decimals as their interval is worth; labels as they are."""
    if not isinstance(value, float):
        return tuple(printable(x) for x in (value, low, high))
    width = high - low
    decimals = min(max(1 - floor(log10(width / 3)), 0), 12) if width > 0 else 6
    return tuple(f"{round(x, decimals) + 0.0:,.{decimals}f}" for x in (value, low, high))


def checked_fraction(q: float) -> float:
    """The fraction of a quantile, strictly between 0 and 1."""
    if isinstance(q, bool) or not isinstance(q, float) or not 0 < q < 1:
        raise ParameterError(
            f"a quantile is for a fraction of people between 0 and 1, such as 0.5; {q!r} was given"
        )
    return float(q)


def scored_mean(estimate: Estimate, scores: Scores | None) -> dict[str, Any]:
    """What changes in an estimate of fractions to make it one of the mean score."""
    score, counted = _scores(estimate, scores)
    middle = float(score[counted].mean())  # which makes the noise of the sum smallest
    pull = np.where(counted, score - middle, 0.0)
    _refuse_unordered(estimate)
    top = float(pull @ estimate.values)
    everyone = bool(counted.all())
    bottom = 1.0 if everyone else float(counted @ estimate.values)
    if bottom <= 0:
        raise EstimateError(
            "the values with scores are estimated at no people at all, so they have no mean"
        )
    value = top / bottom
    slope = (pull if everyone else pull - value * counted) / bottom
    line = _combination(estimate, slope)
    covariance = None
    if everyone and line is not None and pull.size > _MOST_CORRELATED:
        variance = line.noise
    else:
        covariance = _covariance(estimate)
        variance = max(float(slope @ covariance @ slope), 0.0)
    squares = float((pull**2) @ estimate.values) / bottom
    most = float(np.abs(pull).max()) ** 2
    step = _step(estimate) * float(np.ptp(pull if everyone else score[counted]))
    vary = min(max(squares - value**2 + variance, 0.0), most)
    ends = middle + float(pull[counted].min()), middle + float(pull[counted].max())
    mean = middle + value
    draw = _draw(estimate) / bottom
    down, up = (
        draw * rise(abs(end - mean), vary) + risen
        for end, risen in zip(
            ends, (0.0, 0.0) if line is None else line.risen(variance), strict=True
        )
    )
    noise = variance + _unseen(estimate) * most / bottom**2
    plain = MeanInterval(mean, noise, step / bottom, ends, down, up, draw, (estimate, scores))
    own = estimate.noise_lines
    if own is not None and own.needs_testing(estimate._sent):
        tested = partial(tested_mean, own, pull, None if everyone else counted, middle)
        plain = replace(plain, tested=tested)
    interval = (
        plain
        if everyone or covariance is None
        else Ratio(top, bottom, pull, counted.astype(float), covariance, step, middle, plain)
    )
    return {
        "values": np.array([middle + value]),
        "spread": np.array([variance]),
        "labels": ("mean",),
        "fractions": False,
        "answer_variance": vary / bottom,  # among so many people fewer have a score
        "_origins": estimate._sources,
        "_covariance": partial(np.diag, [variance]),
        "_interval": interval,
    }


def mean_intervals(estimates: Sequence[Estimate]) -> tuple[MeanInterval, ...] | None:
    """Those of several means; None where not all have one."""
    own = (estimate.own_interval for estimate in estimates)
    means = (one.plain if isinstance(one, Ratio) else one for one in own)
    known = tuple(one for one in means if isinstance(one, MeanInterval))
    return known if len(known) == len(estimates) else None


def _unseen(estimate: Estimate) -> float:
    """The noise of the fraction that is missing where estimates sum to less than one."""
    own = estimate.noise_lines
    if own is None:
        return 0.0
    return max(float(np.max(own.slope)), 0.0) * max(1 - float(estimate.values.sum()), 0.0)


def _draw(estimate: Estimate) -> float:
    own = estimate.noise_lines
    return 0.0 if own is None else float(np.max(own.draw))


@dataclass(frozen=True)
class _Combination:
    """Σ w_v f_v at its estimate, and the noise where everyone has the least weight, or the most."""

    at: float  # F, see `intervals`
    span: float  # from the least weight to the greatest
    noise: float
    ends: tuple[float, float]

    def risen(self, variance: float) -> tuple[float, float]:
        """How much noise rises, per unit of the sum, towards its lowest and highest value."""
        down, up = (
            max(noise - variance, 0.0) / (distance * self.span) if distance > 0 else 0.0
            for noise, distance in zip(self.ends, (self.at, 1 - self.at), strict=True)
        )
        return down, up


def _combination(estimate: Estimate, weights: Floats) -> _Combination | None:
    """What is known of a combination of values (`intervals`)."""
    own, low, high = estimate.noise_lines, float(weights.min()), float(weights.max())
    if own is None or not low < high:
        return None
    line = own.combinations(weights[None], (np.array([low]), np.array([high])))
    if line is None:
        return None
    at, square = float(line.values[0]), (high - low) ** 2
    least, slope = float(np.max(line.base)), float(np.max(line.slope))
    most = least + slope + float(np.max(line.rise)) * max(1 - at, 0.0)
    noise = least + slope * min(max(at, 0.0), 1.0)
    return _Combination(at, high - low, square * noise, (square * least, square * most))


@dataclass(frozen=True, eq=False)
class Ratio:
    """Fieller's interval: every m with |Σ (s − c − m) f̂| within its own standard errors of 0."""

    top: float  # the two sums over the values with scores
    bottom: float
    pull: Floats  # and their coefficients
    counted: Floats
    covariance: Floats  # of the fractions
    step: float  # half the most that one report can move the sum
    middle: float  # c, added to the ends
    #: The interval if the number of people with scores were known; never narrower than this.
    plain: MeanInterval

    def __call__(self, confidence: float) -> Interval:
        z = normal_quantile(confidence)
        square = z**2
        a, b, cov = self.pull, self.counted, self.covariance
        lead = self.bottom**2 - square * float(b @ cov @ b)
        mixed = self.top * self.bottom - square * float(a @ cov @ b)
        rest = self.top**2 - square * float(a @ cov @ a)
        least, most = float(a.min()), float(a.max())
        root = mixed**2 - lead * rest
        if lead <= 0 or root < 0:  # the number of people with scores may be zero
            return Interval(np.array([self.middle + least]), np.array([self.middle + most]))
        half = sqrt(root) / lead + steps_beyond(z) * self.step / self.bottom
        ends = mixed / lead - half, mixed / lead + half
        value = self.top / self.bottom
        plain = [float(end[0]) - self.middle for end in self.plain(confidence)]
        low = max(min(ends[0], plain[0]), min(least, value))
        high = min(max(ends[1], plain[1]), max(most, value))
        return Interval(np.array([self.middle + low]), np.array([self.middle + high]))


def category_quantile(estimate: Estimate, q: float, confidence: float) -> Quantile:
    """A quantile over the values in their declared order."""
    from .table import Table

    if isinstance(estimate, Table) and len(estimate.attributes) > 1:
        raise EstimateError(
            "a table of several attributes has no order; take the marginal of one attribute first"
        )
    fraction = checked_fraction(q)
    unbiased = estimate._unbiased
    _refuse_unordered(unbiased)
    size, own = estimate.values.size, unbiased.noise_lines
    places = _places(size, known=own is not None and own.pairs is not None)
    lower = (np.arange(size) <= places[:, None]).astype(float)
    sums = own.sums(lower) if own is not None else None
    ends = sums(confidence) if sums else _plain_ends(unbiased, lower, fraction, confidence)
    # Between places that are looked at, the interval reaches as far as it may.
    low = np.append(-1, places)[_first(ends.high >= fraction)] + 1
    high = np.append(places, size - 1)[places.size - _first((ends.low <= fraction)[::-1])]
    point = min(max(_first(np.cumsum(estimate.values)[:-1] >= fraction), low), high)
    labels: Sequence[Label] = estimate.labels
    return Quantile(fraction, labels[point], labels[low], labels[high], confidence)


def _places(size: int, *, known: bool) -> NDArray[np.int64]:
    """The values at which cumulative fractions are looked at: all but the last, or many of them."""
    most = max(_FEWEST_SUMS, (_MOST_SUMMED if known else _MOST_SCORED) // size)
    return np.unique(np.linspace(0, size - 2, min(size - 1, most)).astype(np.int64))


def _plain_ends(estimate: Estimate, lower: Floats, fraction: float, confidence: float) -> Interval:
    """Cumulative fractions with their errors at the estimate, and for the draw at the fraction."""
    cumulative = lower @ estimate.values
    spread = np.maximum(np.einsum("ij,ji->i", lower, _covariance(estimate) @ lower.T), 0)
    # Estimates outside 0 and 1 have no variance of their own: as if they were at the ends.
    drawn, own = fraction * (1 - fraction), np.clip(cumulative, 0, 1)
    lack = _draw(estimate) * np.maximum(drawn - own * (1 - own), 0)
    errors = np.sqrt(spread + _unseen(estimate) + lack)
    z = normal_quantile(confidence)
    half = z * errors + steps_beyond(z) * _step(estimate)
    return Interval(cumulative - half, cumulative + half)


def _first(passed: Any) -> int:
    """The first true entry; one beyond the last where there is none."""
    return int(np.argmax(passed)) if passed.any() else len(passed)


def _step(estimate: Estimate) -> float:
    """Half of what one report can move a fraction; half a report where that is not known."""
    if (own := estimate.noise_lines) is not None:
        return float(np.max(own.step))
    return 0.5 / max(estimate._sent, 1)


def _refuse_unordered(estimate: Estimate) -> None:
    """Refuse what has no mean and no quantiles, or none that are known."""
    if not estimate.fractions:
        raise EstimateError(
            f"this estimate is of a {estimate.labels[0]}, not of the fractions of values; for "
            "numbers, estimate with method='distribution'"
        )
    if not estimate.exclusive:
        raise EstimateError("people could choose several values, so they have no mean or quantile")
    if not estimate.complete:
        raise EstimateError(
            "only chosen values were counted, so the mean and quantiles of all are not known"
        )
    if estimate._covariance is None:
        raise EstimateError(
            f"the covariance of the {estimate.method!r} estimate is not known, which a mean or a "
            "quantile needs; estimate with an unbiased method"
        )


def _covariance(estimate: Estimate) -> Floats:
    """Of unbiased fractions, or a refusal."""
    _refuse_unordered(estimate)
    covariance: Any = estimate.covariance
    return np.asarray(covariance)


def _scores(estimate: Estimate, scores: Scores | None) -> tuple[Floats, Any]:
    """A score for each value, and which values have one."""
    labels = list(estimate.labels)
    if scores is None:
        numbers = [label for label in labels if isinstance(label, int)]
        if len(numbers) < len(labels):
            raise ParameterError(
                "the values are not numbers, so their mean needs scores, one for each value: "
                f"scores={{{labels[0]!r}: 1, …}}"
            )
        scores = numbers
    if isinstance(scores, Mapping):
        unknown = [label for label in scores if label not in labels]
        if unknown or not scores:
            raise ParameterError(
                f"scores name {unknown[0]!r}, which is not among the values {labels[:6]}"
                if unknown
                else "scores are empty; give a number for each value"
            )
        pairs: list[Any] = [scores.get(label) for label in labels]
    else:
        pairs = list(scores) if np.iterable(scores) else [scores]
        if len(pairs) != len(labels):
            raise ParameterError(
                f"{len(pairs)} scores were given for {len(labels)} values; give one for each, in "
                "the order of the values, or by name"
            )
    counted = np.array([pair is not None for pair in pairs])
    try:
        score = np.array([0.0 if pair is None else float(pair) for pair in pairs])
    except (TypeError, ValueError) as error:
        raise ParameterError(f"scores must be numbers; {pairs!r} were given") from error
    if not np.isfinite(score).all():
        raise ParameterError(f"scores must be finite; {pairs!r} were given")
    return score, counted
