"""The strata of `participation.strata` from counts, from known fractions, or from answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..domain.columns import Coded
from ..domain.ranges import Range
from ..domain.values import Domain
from ..errors import ParameterError
from ..estimate.estimate import Estimate, parts_may_be_useless
from ..estimate.intervals import Floats
from ..mechanisms.linear import LinearMechanism
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.numeric import NumericMechanism
from .moments import AnyNoise, CountedMeans, KnownMeans, Noise, NoiseOfMeans
from .strata import Strata, expected_inverse, seen_inverse

if TYPE_CHECKING:
    from .sample import Sample


def strata_of_counts(sample: Sample) -> tuple[Strata, Estimate]:
    """The strata as estimated, and an estimate that has labels, name and kind of the values."""
    mechanism, reported = sample.mechanism, sample.reported
    common: dict[str, Any] = {
        "rates": sample.rates,
        "people": sample.asked.astype(float),
        "inverse": seen_inverse(reported),
    }
    if isinstance(mechanism, LinearMechanism):
        counts = sample.tables[mechanism.table]
        answers = CountedMeans(mechanism, counts, reported)
        noise = (
            NoiseOfMeans(mechanism, answers)
            if mechanism.knows_covariance
            else _noise_of_counts(mechanism, answers.table, counts, reported)
        )
        strata = Strata(answers=answers, second=answers, noise=noise, **common)
        nothing = np.zeros(len(mechanism.labels))
        template = Estimate(
            values=nothing,
            spread=nothing,  # only its labels, name and kind are used
            n=int(reported.sum()),
            labels=mechanism.labels,
            name=mechanism.domain.name,
            guarantee=sample.guarantee,
            complete=mechanism.candidates is None,
        )
        return strata, template
    with parts_may_be_useless():
        reporting = np.flatnonzero(reported).tolist()
        estimates = {h: sample.plain_estimate(h) for h in reporting}
    template = next(iter(estimates.values()))
    low = lowest(mechanism.domain, template.fractions)
    return _strata_of_estimates(estimates, reported, low, common), template


def _strata_of_estimates(
    estimates: Mapping[int, Estimate],
    reported: NDArray[np.int64],
    low: float,
    common: Mapping[str, Any],
) -> Strata:
    template = next(iter(estimates.values()))
    shape = (reported.size, template.values.size)
    means, second, variance = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for h, estimate in estimates.items():
        means[h] = estimate.values - low
        varies = estimate.answer_variance
        second[h] = means[h] if varies is None else varies + means[h] ** 2
        variance[h] = estimate.variance
    each = variance * reported[:, None]
    return Strata(
        answers=KnownMeans(means),
        second=KnownMeans(second),
        noise=AnyNoise(each, partial(_diagonal, each)),
        fractions=template.fractions,
        **common,
    )


def _diagonal(each: Floats, h: int) -> Floats:
    return np.diag(each[h])


def _noise_of_counts(
    mechanism: LinearMechanism,
    means: Floats,
    counts: NDArray[np.int64],
    reported: NDArray[np.int64],
) -> Noise:
    """Where only variances are known, and these from the counts themselves."""
    each = np.zeros_like(means)
    for h in range(reported.size):
        n = max(int(reported[h]), 1)
        each[h] = n * mechanism.spread(means[h], counts[h], n)
    return AnyNoise(each, partial(_diagonal, each))


def strata_of_frequencies(
    mechanism: Mechanism, rates: Sequence[float], frequencies: ArrayLike, n: Any
) -> Strata:
    """The strata where true fractions and numbers of people are known."""
    if not isinstance(mechanism, LinearMechanism):
        raise ParameterError(
            f"fractions do not apply to {mechanism.id!r}; use variance_of(answers)"
        )
    shape = (len(rates), mechanism.domain.size)
    f = np.asarray(frequencies, float)
    f = np.broadcast_to(f, shape) if f.shape == shape[1:] else f
    people = np.atleast_1d(np.asarray(n, float))
    if f.shape != shape or people.shape != shape[:1] or not (people >= 0).all():
        raise ParameterError(
            f"fractions of shape {f.shape} and people {n!r:.80}; there are {len(rates)} rates and "
            f"{mechanism.domain.size} values, so give a row of fractions and a number of people "
            "per rate"
        )
    answers = KnownMeans(f)
    return Strata(
        rates=np.array(rates),
        people=people,
        answers=answers,
        second=answers,
        noise=NoiseOfMeans(mechanism, answers),
        inverse=_inverses(people, rates),
    )


def strata_of_answers(
    mechanism: Mechanism, rates: Sequence[float], coded: Coded, group: NDArray[Any]
) -> Strata:
    """The strata of people whose answers are known."""
    people = np.bincount(group, minlength=len(rates)).astype(float)
    if isinstance(mechanism, LinearMechanism):
        size = mechanism.domain.size
        where = group.astype(np.int64) * size + coded.codes
        counts = np.bincount(where, minlength=len(rates) * size).reshape(len(rates), size)
        fractions = counts / np.maximum(people, 1)[:, None]
        return strata_of_frequencies(mechanism, rates, fractions, people)
    if not isinstance(mechanism, NumericMechanism):
        raise ParameterError(f"the variance of {mechanism.id!r} for fixed answers is not known")
    span = mechanism.domain.high - mechanism.domain.low
    noise = mechanism.variance_at(coded.codes)

    def mean(values: Floats) -> Floats:
        total = np.bincount(group, weights=values, minlength=len(rates))
        return np.asarray(total / np.maximum(people, 1))[:, None]

    each = span**2 * mean(noise)
    return Strata(
        rates=np.array(rates),
        people=people,
        answers=KnownMeans(span * mean(coded.codes)),
        second=KnownMeans(span**2 * mean(coded.codes**2)),
        noise=AnyNoise(each, partial(_diagonal, each)),
        inverse=_inverses(people, rates),
        fractions=False,
    )


def _inverses(people: Floats, rates: Sequence[float]) -> Floats:
    pairs = zip(people.tolist(), rates, strict=True)
    return np.array([expected_inverse(round(n), float(rate)) for n, rate in pairs])


def lowest(domain: Domain, fractions: bool) -> float:
    """Means are sampled as distances from the lower bound, so that its value does not matter."""
    return domain.low if isinstance(domain, Range) and not fractions else 0.0
