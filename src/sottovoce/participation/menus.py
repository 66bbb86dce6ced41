"""A menu on the participants' and the collector's side: what is sent, and what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..contract.reports import Column, Reports
from ..domain.columns import Coded, as_column, first_few
from ..domain.values import code_dtype
from ..errors import AnswerError, ParameterError, WireError
from ..mechanisms.channel import Channel
from ..mechanisms.mechanism import Mechanism
from ..promise import Guarantee
from ..promise.assumptions import LEVEL_IS_PUBLIC
from ..randomness import Source
from .wrapper import (
    MOST_CHOICES,
    NO_GROUP,
    Wrapper,
    answered,
    asks_for,
    blank,
    check_blank,
    described,
    of_people,
    only_row,
    people_in,
    put,
    refuse_biased,
    taken,
    united,
    within,
)


class LevelReports(Wrapper):
    """Mechanisms by level; see `Levels`. A report says which level made it."""

    menu: Mapping[str, Mechanism]

    id = "levels"

    def __init__(self, menu: Mapping[str, Mechanism], *, study: bytes | None = None) -> None:
        _check_menu(menu)
        mechanisms = list(menu.values())
        for key, value in {
            "domain": mechanisms[0].domain,
            "epsilon": max(mechanism.epsilon for mechanism in mechanisms),
            "study": study,
            "menu": dict(menu),
        }.items():
            object.__setattr__(self, key, value)
        self.validate()

    def __repr__(self) -> str:
        return f"Levels({self.menu!r})"

    def strictest(self) -> Mechanism:
        """The mechanism of the level with the least epsilon, to be run by everyone instead."""
        return min(self.menu.values(), key=lambda mechanism: mechanism.epsilon)

    # --- what it is -----------------------------------------------------------------------------

    @cached_property
    def _bound(self) -> tuple[Mechanism, ...]:
        return tuple(mechanism.bind(self.digest) for mechanism in self.menu.values())

    def bind(self, study: bytes) -> Self:
        return type(self)(self.menu, study=study)

    @property
    def choices(self) -> frozenset[str]:
        rate = any(asks_for(mechanism, "rate") for mechanism in self.menu.values())
        return frozenset({"level", "rate"} if rate else {"level"})

    @property
    def parameters(self) -> dict[str, Any]:
        return {"levels": [[name, described(m)] for name, m in self.menu.items()]}

    @property
    def guarantee(self) -> Guarantee:
        return self._guarantee

    @cached_property
    def _guarantee(self) -> Guarantee:
        promises = []
        for name, mechanism in self.menu.items():
            for promise in mechanism.guarantee.promises:
                unit = promise.unit.at_level(name)
                assuming = (*promise.assuming, LEVEL_IS_PUBLIC)
                promises.append(replace(promise, unit=unit, assuming=assuming))
        return Guarantee(tuple(promises))

    @cached_property
    def _inner_layout(self) -> tuple[Column, ...]:
        return united(mechanism.layout for mechanism in self.menu.values())

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column("level", code_dtype(len(self.menu)).str), *self._inner_layout)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        level = columns["level"]
        if level.size and int(level.max()) >= len(self.menu):
            raise WireError(
                f"a report names level {int(level.max())}; there are {len(self.menu)} levels, "
                "counted from 0"
            )
        if self._count_alike:
            self._bound[0].check(columns)
            return
        for k, mechanism in enumerate(self._bound):
            rows = np.flatnonzero(level == k)
            check_blank(columns, rows, mechanism.layout, self._inner_layout)
            mechanism.check(taken(columns, rows, mechanism, seeded=False).columns)

    # --- what the roles do ----------------------------------------------------------------------

    def randomise(
        self,
        values: Any,
        *,
        level: Any = None,
        rate: Any = None,
        source: Source | None = None,
    ) -> Reports:
        """Each participant's side: randomise as the chosen level says.

        Parameters
        ----------
        level : str or array-like of str
            Everyone's level, or one per person; may be left out where there is only one.
        rate : float or array-like, optional
            Passed on to levels that sample; see `Sampled`.
        """
        source = self.source(source)
        coded = self.domain.coded(values)
        chosen = self.chosen_by(level, coded).codes
        if rate is not None and "rate" not in self.choices:
            raise ParameterError(
                f"rate is {rate!r:.80}, but no level samples people; leave it out, or sample all "
                "levels with Sampled(Levels(…), rate=…)"
            )
        made = []
        for k, mechanism in enumerate(self._bound):
            rows = np.flatnonzero(chosen == k)
            asks = rate is not None and asks_for(mechanism, "rate")
            more = {"rate": of_people(rate, "rate", coded, rows)} if asks else {}
            made.append((rows, mechanism.randomise(coded.take(rows), source=source, **more)))
        # One report per person keeps people's order; where some stay silent there is none.
        ordered = all(len(reports) == rows.size for rows, reports in made)
        columns = blank(self.layout, sum(len(reports) for _, reports in made))
        start = 0
        for k, (rows, reports) in enumerate(made):
            where = rows if ordered else slice(start, start + len(reports))
            columns["level"][where] = k
            put(columns, where, reports)
            start += len(reports)
        return self.reports(source, **columns)

    def chosen_by(self, given: Any, coded: Coded) -> Coded:
        names = list(self.menu)
        if isinstance(given, Coded):  # checked by what wraps this menu
            return given
        if given is None and len(names) == 1:
            given = names[0]
        if given is None:
            raise ParameterError(f"no levels were given; say level=…, one of {names} per person")
        if isinstance(given, str):  # one for all
            given = [given] * people_in(coded)
        try:
            codes, unknown = as_column(given).positions(names)
        except AnswerError as error:
            raise ParameterError(
                f"level is {given!r:.80}; give one of {first_few(names, 12)}, or a column of "
                "them with one entry for everyone"
            ) from error
        if unknown:
            raise ParameterError(
                f"there is no level {unknown[0]!r}; the menu has {first_few(names, 12)}"
            )
        if (codes < 0).any():
            raise ParameterError(
                f"{int((codes < 0).sum())} people chose no level; everyone needs one of "
                f"{first_few(names, 12)}"
            )
        return Coded(answered(codes.astype(code_dtype(len(names))), "level", coded))

    def aggregate(self, reports: Reports) -> Aggregate:
        """The collector's side: each level's counts, side by side."""
        self.accept(reports, Reports)
        (n,), tables = self.counted_by(reports, NO_GROUP, 1)
        rows = {name: only_row(table) for name, table in tables.items()}
        return Aggregate(self.id, self.digest, int(n), rows, reports.seeded)

    @cached_property
    def _count_alike(self) -> bool:
        return len({mechanism.counting for mechanism in self._bound}) == 1

    def counted_by(
        self, reports: Reports, group: NDArray[Any], groups: int
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        level, many = reports.columns["level"], len(self.menu)
        if level.size and int(level.max()) >= many:
            self.check(reports.columns)
        if self._count_alike:  # then all levels are counted in one pass
            whole = taken(reports.columns, slice(None), self._bound[0], reports.seeded)
            cell = within(group, groups, level, many)
            numbers, found = self._bound[0].counted_by(whole, cell, groups * many)
            people = numbers.reshape(groups, many)
            shaped = {n: t.reshape(groups, many, *t.shape[1:]) for n, t in found.items()}
            tables = {f"{k}/{n}": t[:, k] for k in range(many) for n, t in shaped.items()}
        else:
            people, tables = self._counted_apart(reports, group, groups)
        return people.sum(axis=1), {"people": people, **tables}

    def _counted_apart(
        self, reports: Reports, group: NDArray[Any], groups: int
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """People and tables where each level counts in its own way."""
        level = reports.columns["level"]
        people = np.zeros((groups, len(self.menu)), np.int64)
        tables: dict[str, NDArray[np.int64]] = {}
        for k, mechanism in enumerate(self._bound):
            rows = np.flatnonzero(level == k)
            mine = taken(reports.columns, rows, mechanism, reports.seeded)
            own = group if groups == 1 else group[rows]
            people[:, k], found = mechanism.counted_by(mine, own, groups)
            tables |= {f"{k}/{name}": table for name, table in found.items()}
        return people, tables

    def part(self, aggregate: Aggregate, level: str) -> Aggregate:
        """The counts of one level, as its own mechanism has them."""
        if level not in self.menu:
            raise ParameterError(f"there is no level {level!r}; there are {list(self.menu)}")
        k = list(self.menu).index(level)
        start = f"{k}/"
        tables = {
            name.removeprefix(start): table
            for name, table in aggregate.tables.items()
            if name.startswith(start)
        }
        n = int(aggregate.tables["people"][k])
        mechanism = self._bound[k]
        return Aggregate(mechanism.id, mechanism.digest, n, tables, aggregate.seeded)

    def check_aggregate(self, aggregate: Aggregate) -> None:
        people = aggregate.tables.get("people")
        if people is None or people.shape != (len(self.menu),):
            raise WireError(f"no count of people for each of the {len(self.menu)} levels")
        if people.min() < 0 or sum(people.tolist()) != aggregate.n:  # which cannot wrap around
            raise WireError(f"the levels' people do not sum to n = {aggregate.n}")
        known = {"people"}
        for k, (name, mechanism) in enumerate(zip(self.menu, self._bound, strict=True)):
            part = self.part(aggregate, name)
            mechanism.check_aggregate(part)
            known |= {f"{k}/{table}" for table in part.tables}
        strange = sorted(set(aggregate.tables) - known)
        if strange:
            raise WireError(f"the aggregate has tables {strange} of no level")

    # --- what the laws need ---------------------------------------------------------------------

    def tiny(self) -> Self:
        return type(self)({name: m.tiny() for name, m in list(self.menu.items())[:3]})

    def every_report(self, *, level: str | None = None, **inner: Any) -> Reports:
        """All reports of one level, by default the first."""
        k, mechanism = self._at(level)
        reports = mechanism.every_report(**inner)
        columns = blank(self.layout, len(reports))
        columns["level"][:] = k
        put(columns, slice(None), reports)
        return Reports(self.id, self.digest, columns)

    def channel(self, *, level: str | None = None, **inner: Any) -> Channel:
        """The law of a report given the answer and the public level, by default the first."""
        return self._at(level)[1].channel(**inner)

    def _at(self, level: str | None) -> tuple[int, Mechanism]:
        names = list(self.menu)
        if level is not None and level not in names:
            raise ParameterError(f"there is no level {level!r}; there are {names}")
        k = 0 if level is None else names.index(level)
        return k, self._bound[k]


def _check_menu(menu: Mapping[str, Mechanism]) -> None:
    if not isinstance(menu, Mapping) or not 1 <= len(menu) <= MOST_CHOICES:
        raise ParameterError(
            f"levels are {menu!r:.80}; give a mapping of 1 to {MOST_CHOICES} names to mechanisms"
        )
    first = next(iter(menu.values()))
    for name, mechanism in menu.items():
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"{name!r} is no level's name; use a non-empty text")
        if not isinstance(mechanism, Mechanism):
            raise ParameterError(
                f"level {name!r} is {mechanism!r}; give a mechanism, or names and epsilons to "
                "Levels.of(kind, domain, {…})"
            )
        if asks_for(mechanism, "level"):
            raise ParameterError(f"level {name!r} is a menu itself; put all levels in one menu")
        refuse_biased(mechanism)
        if mechanism.domain != first.domain:
            raise ParameterError(
                f"level {name!r} is over {mechanism.domain!r}, the first one over "
                f"{first.domain!r}; all levels answer the same question"
            )
