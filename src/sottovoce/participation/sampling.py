"""Sampling on the participants' and the collector's side: who reports, and what is counted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contract.aggregate import Aggregate
from ..contract.reports import Column, Reports
from ..domain.columns import Coded
from ..domain.values import code_dtype
from ..errors import ParameterError, WireError
from ..estimate.estimate import Floats
from ..mechanisms.channel import Channel
from ..mechanisms.mechanism import Mechanism
from ..promise import Guarantee
from ..promise.assumptions import RATE_IS_PUBLIC
from ..randomness import Source
from .rates import checked_rates, coin, rate_codes, refuse_following
from .wrapper import (
    NO_GROUP,
    Wrapper,
    answered,
    asks_for,
    blank,
    described,
    free_epsilon,
    only_row,
    people_in,
    picked,
    put,
    refuse_biased,
    spoken_rows,
    taken,
    within,
)

_MOST_SILENT = (1 << 16) - 1


class SampledReports(Wrapper):
    """A mechanism of which each person makes use with a public probability; see `Sampled`.

    A row of the reports is one person's, or stands for many who were asked and stay silent.
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
            "rates": checked_rates(rate, free_epsilon(inner)),
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
            refuse_following(coded, group, self.rates, free_epsilon(self.inner))
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
        codes = rate_codes(given, self.rates, people_in(coded), free_epsilon(self.inner))
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
