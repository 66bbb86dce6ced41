"""Records of several attributes, each person dividing a budget among them: PMOUE.

Report      which attributes are reported, and for each a bit per value: the true value's bit is
            1 with probability ½, every other with q = 1 / (e^ε_a + 1); the division (ε_a) of the
            total m ε_average over the m reported attributes is the person's own and stays hidden
Marginal    q̄ = (Σ_j c_j / s − ½) / (l − 1),  f_j = (c_j / s − q̄) / (½ − q̄): nobody's budget is
            needed, because all bits but one are noise
Joint       `sottovoce.records.joint`
Guarantee   the record has m ε_average, each answer its ε_a, if allocation and reported set do not
            depend on the answers

"PLDP: Personalized Local Differential Privacy for Multidimensional Data Aggregation", section 4.
Its Eq. 16 has q(ε_average) for everyone and is biased; its Theorems 3 and 4 do not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contract.aggregate import Aggregate
from ..contract.collection import Collection, Columns, check_study
from ..contract.design import Design
from ..contract.reports import Column, Reports
from ..contract.sparse import Sparse, columns_of, rows_of
from ..contract.way import Way
from ..domain.ranges import Range
from ..domain.schema import Schema
from ..domain.values import Domain
from ..errors import ParameterError, WireError
from ..estimate.estimate import Estimate
from ..promise import LDP, Guarantee, Promise
from ..promise.assumptions import EQUAL_PART, LEVEL_IS_PUBLIC, RATE_IS_PUBLIC, UP_TO_PART
from ..randomness import Source, source_of
from . import packing as wire
from .allocation import FLOOR, checked
from .drawing import draw_records
from .levels import (
    at_levels,
    checked_menu,
    checked_rate,
    chosen_level,
    largest_part,
    level_codes,
    people_by_level,
    promises,
)

if TYPE_CHECKING:
    from ..estimate.table import Table

PATTERNS = "patterns"
_MOST_BITS = 1 << 16


@dataclass(frozen=True, init=False)
class Records(Collection):
    """Records with a personal budget for every attribute.

    Parameters
    ----------
    schema : Schema or sequence of Attribute
        The attributes; numbers need public bins (`Attribute.bins`).
    epsilon_average : float, optional
        Budget per reported attribute; a person's total is this times their number.
    levels : mapping of str to float, optional
        Instead of `epsilon_average`: the privacy levels that people choose from, with the budget of
        each. Which level someone chose is public.
    rate : float
        The probability with which someone who is asked reports at all; 1 for everyone.
    public : bool
        Whether everyone's allocation is sent along; hidden by default.
    floor : float, optional
        The smallest budget of an attribute: by default 0 with hidden allocations, and 0.5 with
        public ones (or the smallest `epsilon_average`, if that is less).
    name : str
        What a study calls these records.
    study : bytes, optional
        Digest of the study that the reports belong to.

    Examples
    --------
    >>> import sottovoce as sv
    >>> schema = sv.Schema([sv.Attribute("smokes", ["yes", "no"]), sv.Attribute("age", 4)])
    >>> r = Records(schema, epsilon_average=2.0)
    >>> table = {"smokes": ["yes", "no"] * 500, "age": [0, 1, 2, 3] * 250}
    >>> agg = r.aggregate(r.randomise(table, allocation="random"))
    >>> agg.reports
    1000
    """

    schema: Schema
    epsilon_average: float
    public: bool
    floor: float
    levels: tuple[tuple[str, float], ...] = ()
    rate: float = 1.0
    name: str = "records"
    study: bytes | None = field(default=None, repr=False)

    id = "pmoue"
    section = "records"

    def __init__(
        self,
        schema: Schema | Sequence[Any],
        *,
        epsilon_average: float | None = None,
        public: bool = False,
        floor: float | None = None,
        levels: Mapping[str, float] | Sequence[tuple[str, float]] = (),
        rate: float = 1.0,
        name: str = "records",
        study: bytes | None = None,
    ) -> None:
        attributes = schema if isinstance(schema, Schema) else Schema(schema)
        if not isinstance(public, bool):
            raise ParameterError(f"public is {public!r}; it must be True or False")
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"the name of records is {name!r}; it must be a non-empty text")
        check_study(study)
        menu = checked_menu(epsilon_average, levels)
        average, strictest = (f(epsilon for _, epsilon in menu) for f in (max, min))
        least = (min(FLOOR, strictest) if public else 0.0) if floor is None else floor
        if isinstance(least, bool) or not isinstance(least, (int, float)):
            raise ParameterError(f"floor is {floor!r}; it must be a number")
        if not 0 <= least <= strictest:
            raise ParameterError(
                f"floor is {least!r}; it must be from 0 to epsilon_average = {strictest:g}"
            )
        named = tuple((level, epsilon) for level, epsilon in menu if level is not None)
        speak = checked_rate(rate, average)
        values = (attributes, average, public, float(least), named, speak, name, study)
        for one, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, one.name, value)
        for attribute in attributes:
            attribute.refuse_unlisted()
            if isinstance(attribute, Range):
                raise ParameterError(
                    f"{attribute.name!r} is a number between bounds; give it public bins: "
                    "Attribute.bins(name, edges)"
                )
            if not attribute.exclusive:
                raise ParameterError(
                    f"of {attribute.name!r} several options may be chosen; ask it as a question of "
                    "its own (ChooseAll), or give each option an attribute with yes and no"
                )
        if self.starts[-1] > _MOST_BITS:
            raise ParameterError(
                f"the attributes have {self.starts[-1]} values together; at most {_MOST_BITS:,}"
            )

    @property
    def names(self) -> list[str]:
        """The attributes' names in order."""
        return [attribute.name for attribute in self.schema]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many values each attribute has."""
        return np.array([attribute.size for attribute in self.schema], np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each attribute's bits begin, and where all end."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def attributes(self) -> tuple[Domain, ...]:
        return self.schema.attributes

    @property
    def words(self) -> str:
        least = f", at least {self.floor:g} for each" if self.floor else ""
        many = f"{len(self.schema)} attribute" + "s" * (len(self.schema) > 1)
        menu = ", ".join(f"{level} {epsilon:g}" for level, epsilon in self.levels)
        epsilons = f"levels {menu}" if menu else f"epsilon = {self.epsilon_average:g}"
        some = f", {100 * self.rate:g} % of people report" if self.sampled else ""
        return f"{self.id} of {many}, {epsilons} on average{least}{some}"

    @property
    def allocations(self) -> tuple[str, ...]:
        return ("equal", "random")

    @cached_property
    def averages(self) -> NDArray[np.float64]:
        """epsilon_average of every level."""
        return np.array([epsilon for _, epsilon in self.levels] or [self.epsilon_average])

    def entries(self) -> dict[str, Any]:
        strength = (
            {"levels": dict(self.levels)}
            if self.levels
            else {"epsilon_average": self.epsilon_average}
        )
        some = {"rate": self.rate} if self.sampled else {}
        return {**strength, "public": self.public, "floor": self.floor, **some}

    def canonical(self) -> dict[str, Any]:
        return {
            "schema": [attribute.canonical() for attribute in self.schema],
            "epsilon_average": self.epsilon_average,
            "public": self.public,
            "floor": self.floor,
            # Absent where there is nothing to choose, so that such records keep their digests.
            **({"levels": [list(level) for level in self.levels]} if self.levels else {}),
            **({"rate": repr(self.rate)} if self.sampled else {}),
        }

    def bind(self, study: bytes) -> Records:
        return replace(self, study=study)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised to someone who reports every attribute; fewer cost less."""
        return at_levels(self.ways(), attrgetter("guarantee"))

    def undivided(self, way: Way | None = None) -> Guarantee:
        if way is None:
            return at_levels(self.ways(), self.undivided)
        return self.way_guarantee(way.level, float(self.averages[way.index]), equal=True)

    def way_guarantee(self, level: str | None, average: float, *, equal: bool = False) -> Guarantee:
        """What is promised at one level: to the whole record, and to an answer."""
        row = np.full(len(self.schema), average)
        total, *_ = self._promised(row, average, level).promises
        part = (average, EQUAL_PART) if equal else (largest_part(total, self.floor), UP_TO_PART)
        return Guarantee((total, Promise(LDP, part[0], assuming=(*total.assuming, part[1]))))

    @cached_property
    def _ways(self) -> tuple[Way, ...]:
        menu = self.levels or ((None, self.epsilon_average),)
        return tuple(
            Way(k, level, self.rate, self, self.way_guarantee(level, epsilon))
            for k, (level, epsilon) in enumerate(menu)
        )

    def guarantee_at(self, level: str | None = None) -> Guarantee:
        """What holds for all answers of one person together."""
        return Guarantee(super().guarantee_at(level).promises[:1])

    def guarantee_for(self, allocation: Sequence[float], level: str | None = None) -> Guarantee:
        """What is promised to a person with this division: to the record, and to each answer."""
        average = float(self.averages[level_codes(self, 1, level)[0]])
        row = checked([allocation], 1, self.names, average, self.floor)[0]
        return self._promised(row, average, level)

    def _promised(self, row: NDArray[np.float64], average: float, level: str | None) -> Guarantee:
        dropped = any(attribute.missing == "public" for attribute in self.schema)
        also = (LEVEL_IS_PUBLIC,) * (level is not None) + (RATE_IS_PUBLIC,) * self.sampled
        return promises(self.names, row, average, public=self.public, dropped=dropped, also=also)

    @property
    def sampled(self) -> bool:
        return self.rate < 1

    def designs(self, n: int) -> tuple[Design, ...]:
        """Ways for n people to report such records, with their errors and different promises."""
        from .designs import designs

        usual = min(FLOOR, self.epsilon_average)
        floors = (0.0, self.floor) if self.public else (self.floor, usual)
        return designs(self.sizes.tolist(), n=n, average=self.epsilon_average, floors=floors)

    @property
    def layout(self) -> tuple[Column, ...]:
        return wire.layout(self.sizes, self.public, len(self.averages))

    def check(self, columns: Columns) -> None:
        floor = self.floor if self.public else None
        wire.check(columns, self.sizes, self.averages, floor, silent=self.sampled)

    def randomise(
        self,
        answers: Any,
        *,
        way: Way | None = None,
        level: Any = None,
        rate: Any = None,
        source: Source | None = None,
        allocation: Any = "equal",
        reported: Any = None,
        first_row: int = 0,
    ) -> Reports:
        """Each participant's side.

        Parameters
        ----------
        answers : data frame or mapping of columns
            A column per attribute, a row per person.
        way, level, rate, source
            As for every collection.
        allocation : {"equal", "random"} or array-like
            Each person's epsilon for each attribute, NaN where unreported; a table is read by the
            attributes' names. "random" divides by Dirichlet(1).
        reported : array-like of bool, optional
            With "equal" and "random": who reports what; by default everything, but for attributes
            whose missing answers are public.
        first_row : int
            Where the table is a part of a larger one: its first row in that one, for messages.
        """
        chosen = chosen_level(self, way, level, rate)
        own_source = source_of(source)
        columns = draw_records(self, answers, own_source, allocation, reported, first_row, chosen)
        return Reports(self.id, self.digest, columns, own_source.seeded)

    def draw(self, answers: Any, source: Source) -> Columns:
        return draw_records(self, answers, source, "equal", None, 0, None)

    def count_chosen(self, reports: Reports, chosen: NDArray[np.int64] | None) -> Aggregate:
        """How often each report was sent, and how many people sent one."""
        self.restricted(chosen)  # refused: records are counted whole
        self.accept(reports, Reports)
        counted = self._aggregate(reports)  # sorted in threads, so not divided before
        return replace(counted, reports=int(self.headcount(reports)[1].sum()))

    def headcount(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return people_by_level(self, reports.columns, np.ones(len(reports), np.int64))

    def turnout(self, aggregate: Aggregate) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        table = aggregate.sparse(PATTERNS)
        return people_by_level(self, self.columns_of(table.rows), table.counts)

    def count(self, reports: Reports) -> dict[str, Sparse]:
        """How often each report was sent."""
        return {PATTERNS: Sparse.of(rows_of(self.layout, reports.columns))}

    def check_aggregate(self, aggregate: Aggregate) -> None:
        table = aggregate.tables.get(PATTERNS)
        if set(aggregate.tables) != {PATTERNS} or not isinstance(table, Sparse):
            raise WireError(f"tables {sorted(aggregate.tables)}; records have {PATTERNS!r}, sparse")
        if aggregate.route is not None:
            raise WireError("counts of records cannot come from a protocol")
        self.check(self.columns_of(table.rows))
        asked, sent = (int(numbers.sum()) for numbers in self.turnout(aggregate))
        if (asked, sent) != (aggregate.people, aggregate.reports):
            raise WireError(
                f"the patterns hold {sent} reports of {asked} people, not {aggregate.reports} of "
                f"{aggregate.people}"
            )

    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        """Of two records: the bits of the values in which they differ."""
        columns = reports.columns
        sent = np.unpackbits(columns["reported"], axis=1, bitorder="little")
        bits = np.unpackbits(columns["bits"], axis=1, bitorder="little")
        places = []
        for a, attribute in enumerate(self.schema):
            pair = attribute.encode([x[attribute.name], y[attribute.name]])
            if pair[0] != pair[1]:
                places += [int(self.starts[a]) + int(code) for code in pair]
        return np.concatenate([sent, bits[:, places]], axis=1)

    def columns_of(self, rows: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """The columns of packed reports."""
        return columns_of(self.layout, rows)

    def marginal(
        self, aggregate: Aggregate, attributes: Sequence[str] = (), *, method: str | None = None
    ) -> Estimate:
        """The distribution of one attribute; see `sottovoce.records.marginal`."""
        from .marginal import marginal

        estimate = marginal(self, self._patterns(aggregate), attributes, method=method)
        return replace(estimate, **self.behind(aggregate, attributes))

    def check_joint(self, attributes: Sequence[str], method: str, **options: Any) -> None:
        from .joint import checked

        checked(self, attributes, method, **options)

    def joint(
        self,
        aggregate: Aggregate,
        attributes: Sequence[str],
        *,
        method: str = "model-average",
        **options: Any,
    ) -> Table:
        """The joint distribution of some attributes; see `sottovoce.records.joint`."""
        from .joint import joint

        table = joint(self, self._patterns(aggregate), attributes, method=method, **options)
        return replace(table, **self.behind(aggregate, attributes))

    def behind(self, aggregate: Aggregate, attributes: Sequence[str]) -> dict[str, Any]:
        """What an estimate of some attributes must know of its reports: promise and marks."""
        marks = (mark for name in attributes for mark in aggregate.marks_of(str(name)))
        return {"guarantee": self.guarantee_behind(aggregate), "_origins": tuple(marks)}

    def _patterns(self, aggregate: Aggregate) -> Sparse:
        self.accept(aggregate, Aggregate)
        return aggregate.sparse(PATTERNS)
