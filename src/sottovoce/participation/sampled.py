"""Only some people report: each is drawn with a public rate, by their own side.

Report      one of the wrapped mechanism, with the rate it was drawn at; people who were asked and
            stay silent are counted, many in one row
Estimate    the estimators of `sampled.methods`; their variances are in `participation.strata`
Guarantee   that of the wrapped mechanism, unchanged: the collector sees who reported, so sampling
            amplifies nothing here (`sottovoce.accounting` has the cases where it does)

With A_h of S_h reports at rate π_h supporting a value, u_h the wrapped unbiased estimate from
them, n_h people asked, n = Σ n_h and N̂ = Σ S_h / π_h:

hajek              Σ S_h u_h / Σ S_h           hajek-ipw         Σ (S_h / π_h) u_h / N̂
horvitz-thompson   Σ (S_h / π_h) u_h / n       post-stratified   Σ (n_h / n) u_h
wang-c             (ΣA_h / n − q) / (p − q)    biswas-g          (Σ A_h / (π_h n) − q) / (p − q)
biswas-c-hat       Σ (A_h − S_h q) / (π_h n (p − q))
biswas-t           (ΣA_h / Σ π_h n_h − q) / (p − q)

Biswas, Cormode, Maple, "Impact of Sampling on Locally Differentially Private Data Collection",
sections 2 to 5, for wang-c, g, ĉ and T (its variances of g and ĉ are not right, and
`published.node_sampling` has them for comparison); Horvitz and Thompson 1952; Hájek 1971.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contract.aggregate import Aggregate
from ..errors import EstimateError, ParameterError
from ..estimate.combine import Groups, combine_groups
from ..estimate.estimate import Estimate, Floats, normally_again
from ..mechanisms.linear import warn_if_useless
from ..mechanisms.mechanism import SEEDED, Method
from ..mechanisms.pure import PureMechanism
from ..promise.guarantee import Guarantee
from .population import lowest, of_answers, of_frequencies, of_reports
from .sampling import SampledReports
from .strata import (
    SUPPORT,
    Strata,
    covariance,
    each_variance,
    inverse_rates,
    variance,
    variance_parts,
    with_least,
)
from .wrapper import Wrapper, span_of

UNRELATED = (
    "people's rates have nothing to do with their answers: where those asked more often answer "
    "otherwise, the estimate is off"
)
FEW_RATES = 64


class Sampled(SampledReports):
    """A mechanism of which each person makes use with a public probability.

    Parameters
    ----------
    inner : Mechanism
        Makes the reports.
    rate : float or sequence of float
        Everyone's rate, or the public grid that personal rates are taken from.
    study : bytes, optional
        Digest of the study that the reports belong to.

    Examples
    --------
    >>> import sottovoce as sv
    >>> s = sv.Sampled(sv.GRR(["yes", "no"], epsilon=2), rate=[0.2, 0.5])
    >>> agg = s.aggregate(s.randomise(["yes", "no"] * 500, rate=[0.2] * 400 + [0.5] * 600))
    >>> agg.tables["asked"].tolist()
    [400, 600]
    """

    @property
    def methods(self) -> Mapping[str, Method]:
        return self._methods

    @cached_property
    def _methods(self) -> Mapping[str, Method]:
        several = len(self.rates) > 1
        found = {
            "hajek": Method("Hájek 1971; over several rates pooled", biased=several),
            "post-stratified": Method("each rate on its own, weighted by its people", biased=False),
            "hajek-ipw": Method("Hájek with inverse rates; bias of order 1/n", biased=several),
            "horvitz-thompson": Method("Horvitz and Thompson 1952", biased=False),
        }
        if 1 < len(self.rates) <= FEW_RATES:
            found["adaptive"] = Method("James–Stein choice of pooled or stratified", biased=True)
        if isinstance(self.inner, PureMechanism):
            found |= {
                "wang-c": Method("Biswas et al., section 2: biased under sampling", biased=True),
                "biswas-g": Method("Biswas et al., Theorem 3.1", biased=False),
                "biswas-c-hat": Method("Biswas et al., Theorem 3.4", biased=False),
                "biswas-t": Method("Biswas et al., Theorem 5.1", biased=several),
            }
        default = "hajek"
        if several:
            default = "post-stratified" if len(self.rates) <= FEW_RATES else "hajek-ipw"
        return {default: found[default], **found}

    def estimate(
        self, aggregate: Aggregate, *, method: str | None = None, inner: str | None = None
    ) -> Estimate:
        """The analyst's side: what all people answer, from those who reported.

        Parameters
        ----------
        method : str, optional
            One of `methods`; the default suits the number of rates.
        inner : str, optional
            For a wrapped menu of levels, how the levels of each rate are combined.
        """
        self.accept(aggregate, Aggregate)
        name = self.chosen(method)
        if inner is not None and not isinstance(self.inner, Wrapper):
            raise ParameterError(f"inner is {inner!r}, but {self.inner!r} has no levels to combine")
        asked, reported = aggregate.tables["asked"], aggregate.tables["reported"]
        if not reported.any():
            raise EstimateError(
                f"none of the {int(asked.sum()):,} people asked reported, so there is nothing to "
                "estimate"
            )
        self._refuse_gaps(name, asked, reported)
        strata, template = of_reports(self._bound, self.grid, aggregate, self.part, inner)
        about = {
            "labels": template.labels,
            "name": template.name,
            "shares": template.shares,
            "guarantee": Guarantee.none(SEEDED) if aggregate.seeded else self.guarantee,
            "biased": template.biased,
        }
        # What a wrapped menu's weights assume is assumed of the whole, too.
        found = self._estimated(name, strata, reported, template.assuming, about)
        if name != "wang-c":
            warn_if_useless(found, span_of(self.domain))
        return found

    @property
    def _pure(self) -> PureMechanism | None:
        return self._bound if isinstance(self._bound, PureMechanism) else None

    def _estimated(
        self,
        name: str,
        strata: Strata,
        reported: NDArray[np.int64],
        assuming: str,
        about: dict[str, Any],
    ) -> Estimate:
        spoken = reported > 0
        low = lowest(self.domain, strata.shares)
        if name in ("post-stratified", "adaptive") and len(self.rates) > 1:
            return _combined(strata.only(spoken), reported[spoken], low, name, assuming, about)
        if name in ("horvitz-thompson", "biswas-c-hat"):
            seen = strata.seen(reported, size=strata.n).only(spoken)
        elif name == "hajek-ipw":
            seen = strata.seen(reported).only(spoken)
        elif name in SUPPORT:
            seen = strata.only(strata.people > 0)
        else:
            seen = strata.only(spoken)
        values = seen.mean if name == "hajek-ipw" else self._values(name, strata, reported)
        assumes = UNRELATED * (len(self.rates) > 1 and name in ("hajek", "biswas-t"))
        spread = _spread(seen, name, self._pure)
        return Estimate(
            values=low + values,
            spread=spread,
            n=round(strata.n),
            reports=int(reported.sum()),
            method=name,
            assuming="; ".join(filter(None, (assuming, assumes))),
            answer_variance=_varies(strata.only(spoken)),
            _covariance=partial(covariance, seen, name, self._pure),
            _replicate=partial(normally_again, spread) if strata.shares else None,
            **{**about, "biased": about["biased"] or self.methods[name].biased},
        )

    def _values(self, name: str, strata: Strata, reported: NDArray[np.int64]) -> Floats:
        heard = reported * inverse_rates(strata.rates)
        if name in SUPPORT and self._pure is not None:
            p, q = float(self._pure.p), float(self._pure.q)
            counted = heard if name == "biswas-g" else reported.astype(float)
            support = q * counted.sum() + (p - q) * strata.answers.sum(counted)
            size = float(strata.people @ strata.rates) if name == "biswas-t" else strata.n
            return np.asarray((support / size - q) / (p - q))
        weights, size = heard, strata.n  # as in horvitz-thompson and biswas-c-hat
        if name == "hajek":
            weights, size = reported.astype(float), float(reported.sum())
        elif name == "post-stratified":
            weights = strata.people
        return np.asarray(strata.answers.sum(weights) / size)

    def _refuse_gaps(self, name: str, asked: NDArray[Any], reported: NDArray[Any]) -> None:
        """Refuse to speak of people of whom nobody reported, where the method would."""
        if name in ("hajek", "biswas-t", "wang-c"):
            return
        never = int(asked[self.grid == 0].sum())
        if never:
            raise EstimateError(
                f"{never:,} people have rate 0 and can never report, so {name!r} cannot speak of "
                "them; method='hajek' assumes that they answer like the others"
            )
        gaps = np.flatnonzero((asked > 0) & (reported == 0)).tolist()
        if gaps and name in ("post-stratified", "adaptive"):
            raise EstimateError(
                f"nobody asked at the rates {[self.rates[h] for h in gaps]} reported, so {name!r} "
                "knows nothing of them; method='horvitz-thompson' is unbiased over all draws, "
                "'hajek' assumes that they answer like the others"
            )

    # --- variances for fixed data ---------------------------------------------------------------

    def variance(self, frequencies: ArrayLike, n: Any, *, method: str | None = None) -> Floats:
        """Variance of each estimated share when the data are fixed; see `participation.strata`.

        Parameters
        ----------
        frequencies : array-like
            True shares, or one row of them per rate.
        n : int or array-like
            People, or people at each rate.
        """
        strata = of_frequencies(self._bound, self.rates, frequencies, n)
        return variance(*self._known(strata, method), self._pure)

    def covariance(self, frequencies: ArrayLike, n: Any, *, method: str | None = None) -> Floats:
        """Covariance matrix of the estimated shares when the data are fixed."""
        strata = of_frequencies(self._bound, self.rates, frequencies, n)
        return covariance(*self._known(strata, method), self._pure)

    def _known(self, strata: Strata, method: str | None) -> tuple[Strata, str]:
        """The people of whom a method speaks, and its name."""
        name = self.chosen(method)
        if name == "adaptive":
            raise ParameterError(
                "the variance of 'adaptive' is known from reports only; ask for that of "
                "'post-stratified' or 'hajek', between which it chooses"
            )
        self._refuse_gaps(name, strata.people, strata.people)
        told = strata.people > 0
        return strata.only(told & (strata.rates > 0) if name == "hajek" else told), name

    def variance_of(self, answers: Any, *, rate: Any = None, method: str | None = None) -> Floats:
        """The same for people's very answers; numbers too. For tests and plans, on public data."""
        coded = self.domain.coded(answers)
        strata = of_answers(self._bound, self.rates, coded, self.chosen_by(rate, coded).codes)
        return variance(*self._known(strata, method), self._pure)

    def total_variance(self, n: Any = 1) -> float:
        """Sum over the values of the variance by inverse rates, for equal shares."""
        size = self.domain.size
        return float(self.variance(np.full(size, 1 / size), n, method="horvitz-thompson").sum())


def _combined(
    strata: Strata,
    reported: NDArray[np.int64],
    low: float,
    method: str,
    assuming: str,
    about: Mapping[str, Any],
) -> Estimate:
    """Each rate on its own, put together."""
    vary = None if strata.shares else strata.own[:, 0]

    def whole(weights: Floats) -> Floats:
        each = (covariance(strata.only([h]), "hajek", None) for h in range(weights.size))
        return np.asarray(sum(w * w * part for w, part in zip(weights, each, strict=True)))

    found = combine_groups(
        Groups(
            low + strata.means,
            each_variance(strata),
            strata.people,
            reported.astype(float),
            vary,
        ),
        method=method if reported.size > 1 else "post-stratified",
        covariance=whole,
        assuming=[assuming],
        **about,
    )
    return found if found.method == method else replace(found, method=method)


def _varies(strata: Strata) -> float | None:
    """How much people's numbers vary, as far as it was estimated."""
    if strata.shares:
        return None
    return float(strata.people @ strata.own[:, 0] / strata.people.sum())


def _spread(strata: Strata, method: str, pure: PureMechanism | None) -> Floats:
    return with_least(*variance_parts(strata, method, pure))
