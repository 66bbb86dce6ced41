"""The strata of `participation.strata` from reports, from known shares, or from answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contract.aggregate import Aggregate
from ..domain.columns import Coded
from ..domain.ranges import Range
from ..domain.values import Domain
from ..errors import AlikeWarning, ParameterError
from ..estimate.estimate import Estimate, Floats
from ..mechanisms.linear import LinearMechanism, parts_may_be_useless
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.numeric import NumericMechanism
from ..mechanisms.pure import PureMechanism
from .moments import AnyNoise, CountedMeans, KnownMeans, Means, Noise, PureNoise
from .strata import Strata, expected_inverse, seen_inverse
from .wrapper import Wrapper


def of_reports(
    inner: Mechanism,
    rates: Floats,
    aggregate: Aggregate,
    part: Callable[[Aggregate, float], Aggregate],
    method: str | None,
) -> tuple[Strata, Estimate]:
    """The strata as estimated, and an estimate that has labels, name and kind of the values."""
    asked, reported = aggregate.tables["asked"], aggregate.tables["reported"]
    spoken = np.flatnonzero(reported)
    common: dict[str, Any] = {
        "rates": rates,
        "people": asked.astype(float),
        "inverse": seen_inverse(reported),
    }
    if isinstance(inner, LinearMechanism):
        answers = _means(inner, aggregate.tables[f"in/{inner.table}"], reported, spoken)
        strata = Strata(answers=answers, second=answers, noise=_noise(inner, answers), **common)
        nothing = np.zeros(inner.domain.size)
        template = Estimate(
            values=nothing,
            spread=nothing,  # only its labels, name and kind are asked for
            n=int(reported.sum()),
            labels=inner.domain.labels,
            name=getattr(inner.domain, "name", ""),
            guarantee=inner.guarantee,
        )
        return strata, template

    def own(h: int) -> Estimate:
        return _estimated(inner, part(aggregate, float(rates[h])), method)

    rows = _in_rows(inner, aggregate, method)
    if rows is not None:
        answers, noise = KnownMeans(rows.values), _told(rows.variance, reported, own)
        return Strata(answers=answers, second=answers, noise=noise, **common), rows
    found = {h: own(h) for h in spoken.tolist()}
    template = found[int(spoken[0])]
    return _of_estimates(
        found, reported, template, lowest(inner.domain, template.shares), common
    ), template


def _in_rows(inner: Mechanism, aggregate: Aggregate, method: str | None) -> Estimate | None:
    """What a menu of levels estimates at each rate, where it can do so for all rates at once."""
    if not isinstance(inner, Wrapper):
        return None
    tables = {
        name.removeprefix("in/"): table
        for name, table in aggregate.tables.items()
        if name.startswith("in/")
    }
    return inner._estimate_rows(tables, method)


def _told(variance: Floats, reported: NDArray[np.int64], own: Callable[[int], Estimate]) -> Noise:
    """The noise of one report, from the errors of each rate's estimate."""
    noise = variance * reported[:, None]

    def matrix(h: int) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AlikeWarning)  # given when the estimate was made
            known = own(h).covariance
        return np.diag(noise[h]) if known is None else known * reported[h]

    return AnyNoise(noise, matrix)


def _noise(inner: LinearMechanism, answers: Means) -> Noise:
    if isinstance(inner, PureMechanism):
        return PureNoise(inner, answers)
    means = answers.table
    each = np.stack([inner.variance(row, 1) for row in means])
    return AnyNoise(each, lambda h: inner.covariance(means[h], 1))


def _means(
    inner: LinearMechanism,
    counts: NDArray[np.int64],
    reported: NDArray[np.int64],
    spoken: NDArray[np.intp],
) -> Means:
    """Each stratum's unbiased estimate, zeros where nobody reported."""
    if isinstance(inner, PureMechanism):
        return CountedMeans(inner, counts, reported)
    means = np.zeros((reported.size, inner.domain.size))
    for h in spoken.tolist():
        means[h] = inner.debias(counts[h], int(reported[h]))
    return KnownMeans(means)


def _estimated(inner: Mechanism, part: Aggregate, method: str | None) -> Estimate:
    if method is None and "unbiased" in inner.methods:
        method = "unbiased"
    with parts_may_be_useless():
        return inner.estimate(part, method=method)


def _of_estimates(
    found: Mapping[int, Estimate],
    reported: NDArray[np.int64],
    template: Estimate,
    low: float,
    common: Mapping[str, Any],
) -> Strata:
    shape = (reported.size, template.values.size)
    means, second, variance = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for h, estimate in found.items():
        means[h] = estimate.values - low
        varies = estimate.answer_variance
        second[h] = means[h] if varies is None else varies + means[h] ** 2
        variance[h] = estimate.variance
    return Strata(
        answers=KnownMeans(means),
        second=KnownMeans(second),
        noise=_told(variance, reported, found.__getitem__),
        shares=template.shares,
        **common,
    )


def of_frequencies(
    inner: Mechanism, rates: Sequence[float], frequencies: ArrayLike, n: Any
) -> Strata:
    """The strata where true shares and numbers of people are known."""
    if not isinstance(inner, LinearMechanism):
        raise ParameterError(
            f"shares say nothing of {inner.id!r}; use variance_of(answers), or for a menu of "
            "levels wrap each level: Levels({name: Sampled(…)})"
        )
    shape = (len(rates), inner.domain.size)
    f = np.asarray(frequencies, float)
    f = np.broadcast_to(f, shape) if f.shape == shape[1:] else f
    people = np.atleast_1d(np.asarray(n, float))
    if f.shape != shape or people.shape != shape[:1] or not (people >= 0).all():
        raise ParameterError(
            f"shares of shape {f.shape} and people {n!r:.80}; there are {len(rates)} rates and "
            f"{inner.domain.size} values, so give a row of shares and a number of people per rate"
        )
    answers = KnownMeans(f)
    return Strata(
        rates=np.array(rates),
        people=people,
        answers=answers,
        second=answers,
        noise=_noise(inner, answers),
        inverse=_inverses(people, rates),
    )


def of_answers(
    inner: Mechanism, rates: Sequence[float], coded: Coded, group: NDArray[Any]
) -> Strata:
    """The strata of people whose answers are known."""
    people = np.bincount(group, minlength=len(rates)).astype(float)
    if isinstance(inner, LinearMechanism):
        size = inner.domain.size
        where = group.astype(np.int64) * size + coded.codes
        counts = np.bincount(where, minlength=len(rates) * size).reshape(len(rates), size)
        shares = counts / np.maximum(people, 1)[:, None]
        return of_frequencies(inner, rates, shares, people)
    if not isinstance(inner, NumericMechanism):
        raise ParameterError(f"the variance of {inner.id!r} for fixed answers is not known")
    span = inner.domain.high - inner.domain.low
    noise = inner.variance_at(coded.codes)

    def mean(values: Floats) -> Floats:
        total = np.bincount(group, weights=values, minlength=len(rates))
        return np.asarray(total / np.maximum(people, 1))[:, None]

    each = span**2 * mean(noise)
    return Strata(
        rates=np.array(rates),
        people=people,
        answers=KnownMeans(span * mean(coded.codes)),
        second=KnownMeans(span**2 * mean(coded.codes**2)),
        noise=AnyNoise(each, lambda h: np.diag(each[h])),
        inverse=_inverses(people, rates),
        shares=False,
    )


def _inverses(people: Floats, rates: Sequence[float]) -> Floats:
    pairs = zip(people.tolist(), rates, strict=True)
    return np.array([expected_inverse(round(n), float(rate)) for n, rate in pairs])


def lowest(domain: Domain, shares: bool) -> float:
    """Means are sampled as distances from the lower bound, so that its place does not matter."""
    return domain.low if isinstance(domain, Range) and not shares else 0.0
