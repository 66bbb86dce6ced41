"""The strata of `participation.strata` from counts, from known fractions, or from answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..domain.columns import Coded
from ..domain.ranges import Range
from ..domain.values import Domain
from ..errors import ParameterError
from ..estimate.intervals import Floats
from ..mechanisms.categorical import PureMechanism
from ..mechanisms.linear import LinearMechanism
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.numeric import NumericMechanism
from .moments import CountedMeans, Means, Noise, NoiseLine, NoiseOfMeans
from .strata import Strata, expected_inverse, seen_inverse

if TYPE_CHECKING:
    from .sample import Sample


def strata_of_counts(sample: Sample) -> tuple[Strata, dict[str, Any]]:
    """The strata as estimated; and labels, name and kind of the values."""
    mechanism, reported = sample.mechanism, sample.reported
    common: dict[str, Any] = {
        "rates": sample.rates,
        "people": sample.asked.astype(float),
        "inverse": seen_inverse(reported),
        "pure": pure_or_none(mechanism),
    }
    if isinstance(mechanism, LinearMechanism):
        counts = sample.tables[mechanism.table]
        answers = CountedMeans(mechanism, counts, reported)
        noise: Noise = NoiseOfMeans(mechanism, answers)
        if not mechanism.knows_covariance:  # only variances, and these from the counts themselves
            rows = zip(answers.table, counts, np.maximum(reported, 1).tolist(), strict=True)
            noise = Noise(np.array([n * mechanism.spread(f, row, n) for f, row, n in rows]))
        about = {
            "labels": mechanism.labels,
            "name": mechanism.domain.name,
            "fractions": True,
            "complete": mechanism.candidates is None,
        }
        line = NoiseLine(mechanism, counts, reported)
        return Strata(answers=answers, second=answers, noise=noise, line=line, **common), about
    estimates = sample.plain_estimates
    first = next(iter(estimates.values()))
    low = lowest(mechanism.domain, first.fractions)
    means, second, each = np.zeros((3, reported.size, first.values.size))
    for h, estimate in estimates.items():
        means[h] = estimate.values - low
        varies = estimate.answer_variance
        second[h] = means[h] if varies is None else varies + means[h] ** 2
        each[h] = estimate.variance * reported[h]
    moments: dict[str, Any] = {"answers": Means(means), "second": Means(second)}
    strata = Strata(**moments, noise=Noise(each), fractions=first.fractions, **common)
    return strata, {n: getattr(first, n) for n in ("labels", "name", "fractions", "complete")}


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
    answers = Means(f)
    return Strata(
        rates=np.array(rates),
        people=people,
        answers=answers,
        second=answers,
        noise=NoiseOfMeans(mechanism, answers),
        inverse=_inverses(people, rates),
        pure=pure_or_none(mechanism),
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

    def mean(values: Floats) -> Floats:
        total = np.bincount(group, weights=values, minlength=len(rates))
        return np.asarray(total / np.maximum(people, 1))[:, None]

    return Strata(
        rates=np.array(rates),
        people=people,
        answers=Means(span * mean(coded.codes)),
        second=Means(span**2 * mean(coded.codes**2)),
        noise=Noise(span**2 * mean(mechanism.variance_at(coded.codes))),
        inverse=_inverses(people, rates),
        fractions=False,
    )


def pure_or_none(mechanism: Mechanism) -> PureMechanism | None:
    """The mechanism, where it is pure."""
    return mechanism if isinstance(mechanism, PureMechanism) else None


def _inverses(people: Floats, rates: Sequence[float]) -> Floats:
    pairs = zip(people.tolist(), rates, strict=True)
    return np.array([expected_inverse(round(n), float(rate)) for n, rate in pairs])


def lowest(domain: Domain, fractions: bool) -> float:
    """Means are sampled as distances from the lower bound, so that its value does not matter."""
    return domain.low if isinstance(domain, Range) and not fractions else 0.0
