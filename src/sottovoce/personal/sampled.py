"""Only some people report: each is drawn with a public rate, by their own side.

Report      one of the wrapped mechanism, with the rate it was drawn at; people who were asked and
            stay silent are counted, many in one row
Estimate    the estimators of `sampled.methods`; their variances are in `personal.strata`
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
`personal.published` has them for comparison); Horvitz and Thompson 1952; Hájek 1971.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..aggregate import Aggregate
from ..combine import Groups, combine_groups
from ..domain import code_dtype
from ..encoding import Coded
from ..errors import EstimateError, ParameterError, WireError
from ..estimate import Estimate, Floats, normally_again
from ..guarantee import Guarantee
from ..mechanism import (
    SEEDED,
    Channel,
    Mechanism,
    Method,
    PureMechanism,
    warn_if_useless,
)
from ..randomness import Source
from ..report import Column, Reports
from .population import lowest, of_answers, of_frequencies, of_reports
from .rates import checked_rates, coin, rate_codes, refuse_following
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
from .wrapper import (
    NO_GROUP,
    Wrapper,
    answered,
    asks_for,
    blank,
    described,
    only_row,
    people_in,
    picked,
    put,
    refuse_biased,
    span_of,
    spoken_rows,
    taken,
    within,
)

RATE_IS_PUBLIC = (
    "whether someone reports is drawn at a public rate that was set without regard to the answer; "
    "who reports is seen, so sampling protects no further"
)
UNRELATED = (
    "people's rates have nothing to do with their answers: where those asked more often answer "
    "otherwise, the estimate is off"
)
FEW_RATES = 64
_MOST_SILENT = (1 << 16) - 1


class Sampled(Wrapper):
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

    inner: Mechanism
    rates: tuple[float, ...]

    id = "sampled"

    def __init__(self, inner: Mechanism, *, rate: Any, study: bytes | None = None) -> None:
        if not isinstance(inner, Mechanism):
            raise ParameterError(
                f"{inner!r} is no mechanism; sample one, such as GRR(4, epsilon=1)"
            )
        if asks_for(inner, "rate"):
            raise ParameterError("people are sampled within already; multiply those rates instead")
        refuse_biased(inner)
        for key, value in {
            "domain": inner.domain,
            "epsilon": inner.epsilon,
            "study": study,
            "inner": inner,
            "rates": checked_rates(rate, inner.epsilon),
        }.items():
            object.__setattr__(self, key, value)
        self.validate()

    def __repr__(self) -> str:
        rate = self.rates[0] if len(self.rates) == 1 else list(self.rates)
        return f"Sampled({self.inner!r}, rate={rate!r})"

    # --- what it is -----------------------------------------------------------------------------

    def bind(self, study: bytes) -> Self:
        return type(self)(self.inner, rate=self.rates, study=study)

    @cached_property
    def _bound(self) -> Mechanism:
        return self.inner.bind(self.digest)

    @cached_property
    def grid(self) -> Floats:
        """The rates, as an array."""
        return np.array(self.rates)

    @property
    def choices(self) -> frozenset[str]:
        inner = self.inner.choices if isinstance(self.inner, Wrapper) else frozenset()
        return inner | {"rate"}

    @property
    def parameters(self) -> dict[str, Any]:
        return {"rates": [repr(rate) for rate in self.rates], "of": described(self.inner)}

    @property
    def guarantee(self) -> Guarantee:
        """That of the reports: who stays silent is seen, and depends on nothing private."""
        return self._guarantee

    @cached_property
    def _guarantee(self) -> Guarantee:
        promises = (
            replace(promise, assuming=(*promise.assuming, RATE_IS_PUBLIC))
            for promise in self.inner.guarantee.promises
        )
        return Guarantee(tuple(promises))

    @property
    def layout(self) -> tuple[Column, ...]:
        rate = (Column("rate", code_dtype(len(self.rates)).str),) * (len(self.rates) > 1)
        return (*rate, Column("silent", "<u2"), *self.inner.layout)

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

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        group, silent = self._groups(columns), columns["silent"]
        if group.size and int(group.max()) >= len(self.rates):
            raise WireError(f"a report names rate {int(group.max())} of {len(self.rates)} rates")
        rows, quiet = spoken_rows(silent)
        rates = self.grid
        never = 0 in self.rates and (rates[picked(group, rows)] == 0).any()
        if never or (rates[group[quiet]] == 1).any():
            raise WireError("someone is silent at rate 1, or reports at rate 0")
        for column in self.inner.layout:
            if columns[column.name][quiet].any():
                raise WireError(f"people who are silent have content in {column.name!r}")
        self._bound.check(taken(columns, rows, self._bound, seeded=False).columns)

    def _groups(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        return columns.get("rate", np.zeros(columns["silent"].size, np.uint8))

    # --- what the roles do ----------------------------------------------------------------------

    def randomise(
        self, values: Any, *, rate: Any = None, level: Any = None, source: Source | None = None
    ) -> Reports:
        """Each participant's side: report with the own rate, else stay silent.

        Parameters
        ----------
        rate : float or array-like, optional
            Each person's rate, from the grid; may be left out where there is only one.
        level : str or array-like, optional
            Passed on to a menu of levels; see `Levels`.
        """
        source = self.source(source)
        coded = self.domain.coded(values)
        group = self.chosen_by(rate, coded).codes
        levels = self._levels(level, coded)
        if len(self.rates) > 1:
            refuse_following(coded, group, self.rates, self.epsilon)
        asked = np.bincount(group, minlength=len(self.rates))
        drawn = self._drawn(group, asked, source)
        chosen = np.flatnonzero(drawn)
        more = {} if levels is None else {"level": levels.take(chosen)}
        made = self._bound.randomise(coded.take(chosen), source=source, **more)
        silent = self._silence(asked - np.bincount(group[chosen], minlength=len(self.rates)))
        columns = blank(self.layout, len(made) + silent[0].size)
        put(columns, slice(0, len(made)), made)
        columns["silent"][len(made) :] = silent[1]
        if "rate" in columns:
            columns["rate"][: len(made)] = group[chosen]
            columns["rate"][len(made) :] = silent[0]
        return self.reports(source, **columns)

    def chosen_by(self, given: Any, coded: Coded) -> Coded:
        codes = rate_codes(given, self.rates, people_in(coded), self.epsilon)
        return Coded(answered(codes, "rate", coded))

    def _levels(self, level: Any, coded: Coded) -> Coded | None:
        """Everyone's level, whether they are drawn or not, where a menu is wrapped."""
        if isinstance(self._bound, Wrapper):
            return self._bound.chosen_by(level, coded)
        if level is not None:
            raise ParameterError(f"level is {level!r:.80}, but {self.inner!r} has no levels")
        return None

    def _drawn(
        self, group: NDArray[Any], asked: NDArray[np.intp], source: Source
    ) -> NDArray[np.bool_]:
        """Who reports, one exact coin each."""
        drawn = np.zeros(group.size, bool)
        draws = source.draws()
        order = np.argsort(group, kind="stable") if len(self.rates) > 1 else slice(None)
        sorted_coins = np.zeros(group.size, bool)
        start = 0
        for rate, n in zip(self.rates, asked.tolist(), strict=True):
            if rate == 1:
                sorted_coins[start : start + n] = True
            elif rate > 0 and n:
                bits = np.unpackbits(draws.coins(coin(rate), n), count=n, bitorder="little")
                sorted_coins[start : start + n] = bits
            start += n
        drawn[order] = sorted_coins
        return drawn

    def _silence(self, quiet: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """(rates, numbers of people) of the rows that stand for silent people."""
        rates, numbers = [], []
        for h, n in enumerate(quiet.tolist()):
            full, rest = divmod(n, _MOST_SILENT)
            numbers += [_MOST_SILENT] * full + [rest] * (rest > 0)
            rates += [h] * (full + (rest > 0))
        return np.array(rates, np.int64), np.array(numbers, np.int64)

    def absent(self, people: int | ArrayLike) -> Reports:
        """The collector's note of people who were asked and sent nothing, one number per rate."""
        quiet = np.atleast_1d(np.asarray(people))
        if quiet.shape != (len(self.rates),) or quiet.dtype.kind not in "iu" or (quiet < 0).any():
            raise ParameterError(
                f"people is {people!r}; give how many were silent at each of {self.rates}"
            )
        rates, numbers = self._silence(quiet)
        columns = blank(self.layout, numbers.size)
        columns["silent"][:] = numbers
        if "rate" in columns:
            columns["rate"][:] = rates
        self.check(columns)
        return Reports(self.id, self.digest, columns)

    def aggregate(self, reports: Reports) -> Aggregate:
        """The collector's side: counts per rate, and how many were asked and reported."""
        self.accept(reports, Reports)
        (n,), tables = self.counted_by(reports, NO_GROUP, 1)
        rows = {name: only_row(table) for name, table in tables.items()}
        return Aggregate(self.id, self.digest, int(n), rows, reports.seeded)

    @property
    def counting(self) -> Hashable:
        return self.id, self.rates, self.inner.counting

    def counted_by(
        self, reports: Reports, group: NDArray[Any], groups: int
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        many = len(self.rates)
        rate, silent = self._groups(reports.columns), reports.columns["silent"]
        if rate.size and int(rate.max()) >= many:
            self.check(reports.columns)
        cell = within(group, groups, rate, many)
        rows, quiet = spoken_rows(silent)
        inner = taken(reports.columns, rows, self._bound, reports.seeded)
        reported, found = self._bound.counted_by(inner, picked(cell, rows), groups * many)
        hushed = np.bincount(cell[quiet], weights=silent[quiet], minlength=groups * many)
        asked = reported + hushed.astype(np.int64)
        tables = {"asked": asked, "reported": reported}
        tables |= {f"in/{name}": table for name, table in found.items()}
        shaped = {name: t.reshape(groups, many, *t.shape[1:]) for name, t in tables.items()}
        return shaped["asked"].sum(axis=1), shaped

    def part(self, aggregate: Aggregate, rate: float) -> Aggregate:
        """The counts of one rate, as the wrapped mechanism has them."""
        h, _ = self._at(rate)
        tables = {
            name.removeprefix("in/"): table[h]
            for name, table in aggregate.tables.items()
            if name.startswith("in/")
        }
        n, inner = int(aggregate.tables["reported"][h]), self._bound
        return Aggregate(inner.id, inner.digest, n, tables, aggregate.seeded)

    def check_aggregate(self, aggregate: Aggregate) -> None:
        rates = self.grid
        asked, reported = (aggregate.tables.get(name) for name in ("asked", "reported"))
        if asked is None or reported is None or not asked.shape == reported.shape == rates.shape:
            raise WireError(f"no counts of asked and reporting people for {rates.size} rates")
        if not (reported.min() >= 0 and (reported <= asked).all()):
            raise WireError("more people report than were asked")
        people = sum(asked.tolist())  # in whole numbers without bound, which cannot wrap around
        if people != aggregate.n:
            raise WireError(f"{people} people were asked, but n = {aggregate.n}")
        if reported[rates == 0].any() or (reported < asked)[rates == 1].any():
            raise WireError("someone is silent at rate 1, or reports at rate 0")
        rest = {n: t for n, t in aggregate.tables.items() if n not in ("asked", "reported")}
        if any(not name.startswith("in/") or len(t) != rates.size for name, t in rest.items()):
            raise WireError(f"the tables are {sorted(rest)}; each has one row per rate")
        for rate in self.rates:
            self._bound.check_aggregate(self.part(aggregate, rate))

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
        """Variance of each estimated share when the data are fixed; see `personal.strata`.

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

    # --- what the laws need ---------------------------------------------------------------------

    def tiny(self) -> Self:
        return type(self)(self.inner.tiny(), rate=self.rates[:3])

    def _at(self, rate: float | None) -> tuple[int, float]:
        if rate is not None and rate not in self.rates:
            raise ParameterError(f"there is no rate {rate!r}; the grid is {self.rates}")
        return (0, self.rates[0]) if rate is None else (self.rates.index(rate), rate)

    def every_report(self, *, rate: float | None = None, **inner: Any) -> Reports:
        """All reports at one rate, by default the first; silence last."""
        h, value = self._at(rate)
        made = self._bound.every_report(**inner)[: None if value > 0 else 0]
        silent = int(value < 1)
        columns = blank(self.layout, len(made) + silent)
        put(columns, slice(0, len(made)), made)
        columns["silent"][len(made) :] = 1
        if "rate" in columns:
            columns["rate"][:] = h
        return Reports(self.id, self.digest, columns)

    def channel(self, *, rate: float | None = None, **inner: Any) -> Channel:
        """The law of a report or silence given the answer and the public rate."""
        _, value = self._at(rate)
        law = self._bound.channel(**inner)
        share = Fraction(value)
        rows = []
        for row in law.exact:
            spoken = tuple(share * cell for cell in row) if value > 0 else ()
            rows.append((*spoken, *((1 - share,) if value < 1 else ())))
        outputs = [*law.outputs] * (value > 0) + ["silent"] * (value < 1)
        return Channel(law.inputs, outputs, tuple(rows))


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
        Groups.of(
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
