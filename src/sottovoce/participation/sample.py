"""People of one level, of whom only some report: each is drawn with a public rate.

With A_h of S_h reports at rate π_h supporting a value, u_h the mechanism's unbiased estimate from
them, n_h people asked, n = Σ n_h and N̂ = Σ S_h / π_h:

hajek              Σ S_h u_h / Σ S_h           hajek-ipw         Σ (S_h / π_h) u_h / N̂
horvitz-thompson   Σ (S_h / π_h) u_h / n       post-stratified   Σ (n_h / n) u_h
wang-c             (ΣA_h / n − q) / (p − q)    biswas-g          (Σ A_h / (π_h n) − q) / (p − q)
biswas-c-hat       Σ (A_h − S_h q) / (π_h n (p − q))
biswas-t           (ΣA_h / Σ π_h n_h − q) / (p − q)

Their variances are in `participation.strata`. Biswas, Cormode, Maple, "Impact of Sampling on
Locally Differentially Private Data Collection", sections 2 to 5, for wang-c, g, ĉ and T (its
variances of g and ĉ are not right; `published.node_sampling` has them for comparison); Horvitz and
Thompson 1952; Hájek 1971.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate, Mark
from ..domain.ranges import Range
from ..errors import EstimateError, ParameterError
from ..estimate.estimate import Estimate, parts_may_be_useless, warn_if_useless
from ..estimate.groups import Groups, combine_groups
from ..estimate.intervals import Floats, Later, NoiseLines, ScoreInterval
from ..estimate.mean_intervals import MeanInterval, join_means, rise
from ..estimate.ordered import mean_intervals
from ..mechanisms.categorical import PureMechanism
from ..mechanisms.mechanism import Mechanism, Method
from ..promise import Guarantee
from .population import lowest, strata_of_counts
from .strata import (
    SUPPORT,
    Strata,
    covariance,
    drawn_per_person,
    each_variance,
    inverse_rates,
    own_terms,
    score_interval,
    variance_parts,
    with_least,
)

UNRELATED = (
    "people's rates have nothing to do with their answers: where those with higher rates answer "
    "differently, the estimate is biased"
)
ALL_REPORT = (
    "everyone who was asked reported: where only some did, as is intended with rates below 1, the "
    "'wang-c' estimate is biased, and its intervals may never contain the truth"
)
FEW_RATES = 64
_POOLED = ("hajek", "biswas-t", "wang-c")  # these do not need every stratum to report
_WEIGHTED = ("horvitz-thompson", "biswas-c-hat", "hajek-ipw")  # every report by its inverse rate


def rate_methods(mechanism: Mechanism, rates: Sequence[float]) -> dict[str, Method]:
    """The estimators over rates, the default one first."""
    several = len(rates) > 1
    methods = {
        "hajek": Method("Hájek 1971; over several rates pooled", biased=several),
        "post-stratified": Method("each rate on its own, weighted by its people", biased=False),
        "hajek-ipw": Method("Hájek with inverse rates; bias of order 1/n", biased=several),
        "horvitz-thompson": Method("Horvitz and Thompson 1952", biased=False),
    }
    if 1 < len(rates) <= FEW_RATES:
        methods["adaptive"] = Method("James–Stein choice of pooled or stratified", biased=True)
    if isinstance(mechanism, PureMechanism):
        methods |= {
            "wang-c": Method("Biswas et al., section 2: biased under sampling", biased=True),
            "biswas-g": Method("Biswas et al., Theorem 3.1", biased=False),
            "biswas-c-hat": Method("Biswas et al., Theorem 3.4", biased=False),
            "biswas-t": Method("Biswas et al., Theorem 5.1", biased=several),
        }
    default = "hajek"
    if several:
        default = "post-stratified" if len(rates) <= FEW_RATES else "hajek-ipw"
    return {default: methods[default], **methods}


@dataclass(frozen=True, eq=False)
class Sample:
    """Counts of the people of one level, by rate."""

    mechanism: Mechanism  # made the reports; it has no levels or rates of its own
    rates: Floats  # π_h
    asked: NDArray[np.int64]  # n_h
    reported: NDArray[np.int64]  # S_h
    tables: Mapping[str, NDArray[np.int64]]  # the mechanism's counts, with a row for each rate
    guarantee: Guarantee  # what the people were promised
    seeded: bool = False  # whether any report was drawn from a seed
    marks: tuple[Mark, ...] = ()  # what stands for their reports

    def plain_estimate(self, h: int) -> Estimate:
        """The mechanism's own unbiased estimate from the reports at one rate."""
        n = int(self.reported[h])
        tables = {name: table[h] for name, table in self.tables.items()}
        about = (self.seeded, None, self.mechanism.candidates, self.marks)
        part = Aggregate(self.mechanism.id, self.mechanism.digest, tables, n, n, *about)
        return self.mechanism.estimate(part, method="unbiased")

    @cached_property
    def plain_estimates(self) -> dict[int, Estimate]:
        """Those of all rates at which somebody reported."""
        with parts_may_be_useless():
            return {h: self.plain_estimate(h) for h in np.flatnonzero(self.reported).tolist()}

    def estimate(self, method: str) -> Estimate:
        """An estimate for everyone, from those who reported."""
        if not self.reported.any():
            raise EstimateError(
                f"none of the {int(self.asked.sum()):,} people asked reported, so there is nothing "
                "to estimate"
            )
        refuse_gaps(method, self.rates, self.asked, self.reported)
        strata, about = strata_of_counts(self)
        about |= {"exclusive": self.mechanism.domain.exclusive, "guarantee": self.guarantee}
        about["_origins"] = self.marks
        estimate = self._estimate(method, strata, about)
        if method == "wang-c":
            return replace(estimate, assuming=ALL_REPORT * bool((self.rates < 1).any()))
        warn_if_useless(estimate, span_of(self.mechanism))
        return estimate

    def _estimate(self, method: str, strata: Strata, about: dict[str, Any]) -> Estimate:
        reported = self.reported
        reporting = reported > 0
        low = lowest(self.mechanism.domain, strata.fractions)
        several = self.rates.size > 1
        if method in ("post-stratified", "adaptive") and several:
            return self._by_rate(strata.only(reporting), reported[reporting], low, method, about)
        if method in _WEIGHTED:
            size = None if method == "hajek-ipw" else strata.n
            seen = strata.seen(reported, size=size).only(reporting)
        elif method in SUPPORT:
            seen = strata.only(strata.people > 0)
        else:
            seen = strata.only(reporting)
        values = seen.mean if method == "hajek-ipw" else self._values(method, strata)
        # Weighted sums vary with all who were asked, not only with those who happened to report.
        asked = strata.only(strata.people > 0) if method in _WEIGHTED else seen
        return Estimate(
            values=low + values,
            spread=with_least(*variance_parts(seen, method)),
            n=round(strata.n),
            reports=int(reported.sum()),
            method=method,
            biased=rate_methods(self.mechanism, self.rates.tolist())[method].biased,
            assuming=UNRELATED * (several and method in ("hajek", "biswas-t")),
            answer_variance=_answer_variance(strata.only(reporting)),
            _covariance=partial(covariance, seen, method)
            if self.mechanism.knows_covariance
            else None,
            _interval=Later(partial(self._interval, values, asked, method)),
            **about,
        )

    def _by_rate(
        self,
        strata: Strata,
        reported: NDArray[np.int64],
        low: float,
        method: str,
        about: Mapping[str, Any],
    ) -> Estimate:
        """Each rate on its own, then combined."""
        groups = Groups(
            low + strata.means if low else strata.means,
            each_variance(strata),
            strata.people,
            reported.astype(float),
            None if strata.fractions else strata.own[:, 0],
            Later(partial(self._rate_intervals, strata)),
        )
        known = self.mechanism.knows_covariance
        estimate = combine_groups(
            groups,
            method=method if reported.size > 1 else "post-stratified",
            covariance=partial(_weighted_covariance, strata) if known else None,
            **about,
        )
        return estimate if estimate.method == method else replace(estimate, method=method)

    def _interval(
        self, values: Floats, asked: Strata, method: str
    ) -> ScoreInterval | MeanInterval | None:
        if not asked.fractions:
            return self._mean_interval(values, asked, method)
        per_report = {
            "hajek": 1 / float(self.reported.sum()),
            "wang-c": 1 / asked.n,
            "biswas-t": 1 / max(float(asked.people @ asked.rates), 1.0),
        }.get(method, float(inverse_rates(asked.rates).max()) / asked.n)
        return score_interval(values, asked, method, per_report)

    def _mean_interval(self, values: Floats, asked: Strata, method: str) -> MeanInterval | None:
        """That of a weighted sum of the means at each rate; see `estimate.mean_intervals`."""
        means = self._plain_means()
        if means is None:
            return None
        scaled = self.reported * inverse_rates(self.rates)
        weights, size = scaled, float(scaled.sum() if method == "hajek-ipw" else self.asked.sum())
        if method not in _WEIGHTED:
            weights, size = self.reported.astype(float), float(self.reported.sum())
        whole = join_means(means, weights[self.reported > 0] / size)
        low, high = whole.ends
        drawn = float(variance_parts(asked, method)[1][0])
        least, factor, about_zero = drawn_per_person(asked, method)
        value = low + float(values[0])
        if about_zero:
            return replace(whole, value=value, variance=drawn, up=factor * (high - low))
        vary = drawn / factor if factor else 0.0
        down, up = (factor * rise(end, vary) for end in (value - low, high - value))
        return replace(whole, value=value, variance=drawn, down=down, up=up, draw=least)

    def _rate_intervals(self, strata: Strata) -> NoiseLines | tuple[MeanInterval, ...] | None:
        """What the interval of each rate's own estimate needs."""
        noise, drawn = own_terms(strata.people, strata.inverse)
        if strata.line is not None:
            return strata.line.each(noise, drawn)
        means = None if strata.fractions else self._plain_means()
        if means is None:
            return None
        each = zip(means, drawn.tolist(), strata.own[:, 0].tolist(), strict=True)
        return tuple(mean.drawn(factor, vary) for mean, factor, vary in each)

    def _plain_means(self) -> tuple[MeanInterval, ...] | None:
        """Intervals for the people who reported at each rate at which somebody did."""
        return mean_intervals(list(self.plain_estimates.values()))

    def _values(self, method: str, strata: Strata) -> Floats:
        scaled = self.reported * inverse_rates(strata.rates)
        if method in SUPPORT and strata.pure is not None:
            p, q = float(strata.pure.p), float(strata.pure.q)
            counted = scaled if method == "biswas-g" else self.reported.astype(float)
            support = q * counted.sum() + (p - q) * strata.answers.sum(counted)
            size = float(strata.people @ strata.rates) if method == "biswas-t" else strata.n
            return np.asarray((support / size - q) / (p - q))
        weights, size = scaled, strata.n  # as in horvitz-thompson and biswas-c-hat
        if method == "hajek":
            weights, size = self.reported.astype(float), float(self.reported.sum())
        elif method == "post-stratified":
            weights = strata.people
        return np.asarray(strata.answers.sum(weights) / size)


def refuse_gaps(method: str, rates: Floats, asked: NDArray[Any], reported: NDArray[Any]) -> None:
    """Refuse methods that need reports from every rate where some rate has none."""
    if method in _POOLED:
        return
    never = int(asked[rates == 0].sum())
    if never:
        raise EstimateError(
            f"{never:,} people have rate 0 and can never report, so {method!r} cannot estimate "
            "their answers; method='hajek' assumes that they answer like the others"
        )
    gaps = np.flatnonzero((asked > 0) & (reported == 0)).tolist()
    if gaps and method in ("post-stratified", "adaptive"):
        raise EstimateError(
            f"nobody asked at the rates {[float(rates[h]) for h in gaps]} reported, so {method!r} "
            "knows nothing about them; method='horvitz-thompson' is unbiased over all draws, "
            "'hajek' assumes that they answer like the others"
        )


def known_strata(strata: Strata, method: str) -> Strata:
    """The people whom a method describes, where everything is known."""
    if method == "adaptive":
        raise ParameterError(
            "the variance of 'adaptive' is known from reports only; ask for that of "
            "'post-stratified' or 'hajek', between which it chooses"
        )
    refuse_gaps(method, strata.rates, strata.people, strata.people)
    present = strata.people > 0
    return strata.only(present & (strata.rates > 0) if method == "hajek" else present)


def span_of(mechanism: Mechanism) -> float:
    """The width of the possible values: that of a range of numbers, or 1 for fractions."""
    domain = mechanism.domain
    return domain.high - domain.low if isinstance(domain, Range) else 1.0


def _weighted_covariance(strata: Strata, weights: Floats) -> Floats:
    """Σ ω_h² of each stratum's own covariance."""
    each = (covariance(strata.only([h]), "hajek") for h in range(weights.size))
    return np.asarray(sum(w * w * part for w, part in zip(weights, each, strict=True)))


def _answer_variance(strata: Strata) -> float | None:
    """How much people's numbers vary, where it was estimated."""
    if strata.fractions:
        return None
    return float(strata.people @ strata.own[:, 0] / strata.people.sum())
