"""The contract below every mechanism: answers → reports → counts.

A collection is one frozen object that owns its parameters. A participant's side randomises with
it, a collector aggregates with it, and anything that needs the public ways to take part (which
level, which rate, with which guarantee) asks for `ways()`, not for a type.
"""

from __future__ import annotations

import hashlib
import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DigestError, ParameterError
from ..parallel import WORTH_A_THREAD, over_ranges
from ..promise import LDP, Guarantee
from ..promise.assumptions import ANY_LEVEL
from ..randomness import Source, refuse_seeded, source_of
from .aggregate import Aggregate, Table
from .reports import Column, Reports

if TYPE_CHECKING:
    from ..domain.values import Domain
    from .way import Way

Columns = Mapping[str, NDArray[Any]]

#: Why nothing is promised where no randomness was secret.
SEEDED = "the reports were drawn from a seed, which undoes them"
_STEPS = 5  # of a byte of a report, as `over_ranges` counts them: a quarter of a nanosecond


class Collection(ABC):
    """Answers in, reports out; reports in, counts out."""

    #: Wire name; frozen with version 1.
    id: ClassVar[str] = ""

    #: The kind of table that describes it in a study file.
    section: ClassVar[str] = "question"

    #: Digest of the study that the reports belong to, if any.
    study: bytes | None

    # --- what it is -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def name(self) -> str:
        """What a study calls it; empty where it has no name."""

    @property
    @abstractmethod
    def attributes(self) -> tuple[Domain, ...]:
        """What is asked: one attribute, or those of a record."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it is in a few words, such as "grr, epsilon = 1"."""

    @abstractmethod
    def entries(self) -> dict[str, Any]:
        """What a study file says about it, besides the possible answers."""

    @abstractmethod
    def canonical(self) -> dict[str, Any]:
        """Plain data that decides what reports mean; the digest is taken of it."""

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that every report carries: of the study, or of the collection itself."""
        if self.study is not None:
            return self.study
        return canonical_digest("collection", self.canonical())

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised to everyone who sends a report."""

    @property
    @abstractmethod
    def layout(self) -> tuple[Column, ...]:
        """The columns of a report."""

    def ways(self) -> tuple[Way, ...]:
        """The public ways to take part; a collection without choices has one."""
        return self._ways

    @cached_property
    def _ways(self) -> tuple[Way, ...]:
        from .way import Way

        return (Way(0, None, 1.0, self, self.guarantee),)

    @property
    def level_names(self) -> tuple[str, ...]:
        """The levels that people can choose; empty where there is no menu."""
        return tuple(dict.fromkeys(way.level for way in self.ways() if way.level is not None))

    @property
    def rates(self) -> tuple[float, ...]:
        """Every rate that someone may have, in order; (1.0,) where everyone reports."""
        return tuple(dict.fromkeys(way.rate for way in self.ways()))

    @property
    def sampled(self) -> bool:
        """Whether someone who is asked may stay silent."""
        return any(way.rate < 1 for way in self.ways())

    @property
    def allocations(self) -> tuple[str, ...]:
        """Named ways to divide epsilon among the attributes; empty where there is only one."""
        return ()

    def guarantee_at(self, level: str | None = None) -> Guarantee:
        """What holds for all answers of someone at one level, or whatever level they chose.

        The units do not name the level, so that promises of several collections add up.
        """
        if not self.level_names:
            return self.guarantee
        if level is not None:
            return next(way.guarantee for way in self.ways() if way.level == level)
        # A promise under a prior belongs to one level; without one, the largest epsilon covers all.
        free = [p for way in self.ways() for p in way.guarantee.promises if p.notion is LDP]
        largest = max(free, key=lambda promise: promise.epsilon)
        about = [p for p in free if p.unit == largest.unit]
        assuming = dict.fromkeys(words for promise in about for words in promise.assuming)
        return Guarantee((replace(largest, assuming=(*assuming, ANY_LEVEL)),))

    def undivided(self, way: Way | None = None) -> Guarantee:
        """What holds for people who divide epsilon equally: at one way, or at all of them."""
        return self.guarantee if way is None else way.guarantee

    def guarantee_behind(self, aggregate: Aggregate) -> Guarantee:
        """What was promised to the people behind these counts."""
        if aggregate.seeded:
            return Guarantee.none(SEEDED)
        return self.guarantee if aggregate.route is None else aggregate.route.guarantee

    @property
    def report_bytes(self) -> int:
        """Size of one report, without the envelope of a batch."""
        return sum(column.nbytes for column in self.layout)

    # --- what the roles do ----------------------------------------------------------------------

    def randomise(
        self,
        answers: Any,
        *,
        way: Way | None = None,
        level: Any = None,
        rate: Any = None,
        source: Source | None = None,
    ) -> Reports:
        """Each participant's side: answers in, reports out.

        Parameters
        ----------
        answers : array-like
            One answer per person.
        way : Way, optional
            One of `ways()`, for everyone; instead of level and rate.
        level : str or array-like of str, optional
            Everyone's privacy level, or one per person, where there is a menu.
        rate : float or array-like, optional
            Everyone's rate, or one per person, where people are sampled at several.
        source : Source, optional
            Randomness; the system's by default.
        """
        for what, choice in (("level", level), ("rate", rate)):
            if choice is not None:
                raise ParameterError(
                    f"{what} is {choice!r:.80}, but {self.id!r} has no {what}s to choose from; "
                    "leave it out"
                )
        own_source = source_of(source)
        columns = self.draw(answers, own_source)
        return Reports(self.id, self.digest, columns, own_source.seeded)

    @abstractmethod
    def draw(self, answers: Any, source: Source) -> Columns:
        """The columns of everyone's reports: the part of randomising that differs by collection."""

    def aggregate(self, reports: Reports, *, values: Any = None) -> Aggregate:
        """The collector's side: reports in, counts out.

        Parameters
        ----------
        reports : Reports
            Made by this collection.
        values : array-like, optional
            Count these values of the domain only, in this order: for domains that are too large to
            count in full. The estimate is then one of these values.
        """
        return self.count_chosen(reports, None if values is None else self.positions(values))

    def count_chosen(self, reports: Reports, chosen: NDArray[np.int64] | None) -> Aggregate:
        """The same for values by their positions, as `positions` gives them; None for all."""
        self.accept(reports, Reports)
        counting = self.restricted(chosen)
        work = 0 if kernels.count.replaced(*counting.counted_by) else _STEPS * reports.nbytes
        if work > WORTH_A_THREAD:
            # Every thread has tables of its own: not where these are as large as the reports.
            tables = counting.count(reports[:0])
            cells = sum(table.size for table in tables.values() if isinstance(table, np.ndarray))
            work = min(work, len(reports) // max(1, 16 * cells) * WORTH_A_THREAD)
        if work <= WORTH_A_THREAD:
            return replace(counting._aggregate(reports), candidates=chosen)
        # From a multiple of 8 on, packed bits are in whole words and need not be copied.
        parts = over_ranges(
            lambda part: counting._aggregate(reports[part]), len(reports), work=work, multiple=8
        )
        return replace(reduce(operator.add, parts), candidates=chosen)

    def _aggregate(self, reports: Reports) -> Aggregate:
        """The counts of reports that were accepted, in one thread."""
        many = len(reports)
        return Aggregate(self.id, self.digest, self.count(reports), many, many, reports.seeded)

    def positions(self, values: Any) -> NDArray[np.int64]:
        """Where chosen values stand in the domain; others, and values given twice, are refused."""
        from ..domain.candidates import candidate_positions

        self.restricted(np.zeros(0, np.int64))  # refuses before the values are looked up
        return candidate_positions(self.attributes[0], values)

    def restricted(self, candidates: NDArray[np.int64] | None) -> Self:
        """The same collection, counting and estimating only the values at these positions."""
        if candidates is not None:
            raise ParameterError(
                f"{self.id!r} cannot count some values alone; leave values= (--candidates) out, "
                "and look them up in the estimate"
            )
        return self

    @property
    def counted_by(self) -> frozenset[str]:
        """The kernels that count reports; an engine that replaces one takes all reports at once."""
        return frozenset()

    @abstractmethod
    def count(self, reports: Reports) -> Mapping[str, Table | NDArray[np.int64]]:
        """The tables of an aggregate: the part of counting that differs by collection."""

    @abstractmethod
    def check(self, columns: Columns) -> None:
        """Raise WireError for reports that no participant can have sent."""

    @abstractmethod
    def check_aggregate(self, aggregate: Aggregate) -> None:
        """Raise WireError for counts that no reports can have given."""

    def turnout(self, aggregate: Aggregate) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(people asked, reports received) by way, in the order of `ways()`."""
        return np.array([aggregate.people]), np.array([aggregate.reports])

    def headcount(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same for reports that are not counted yet."""
        return np.array([len(reports)]), np.array([len(reports)])

    @property
    def shown_method(self) -> str | None:
        """The method that the command line and pages show by default."""
        return None

    def estimates(self, aggregate: Aggregate) -> Mapping[str, Any]:
        """One estimate for each level that somebody chose; empty where there is no menu."""
        return {}

    @abstractmethod
    def marginal(
        self, aggregate: Aggregate, attributes: Sequence[str] = (), *, method: str | None = None
    ) -> Any:
        """The estimate of one attribute; a question need not name its own."""

    def check_joint(self, attributes: Sequence[str], method: str, **options: Any) -> None:
        """Refuse what `joint` cannot estimate, before anything is counted."""
        raise ParameterError(
            f"{self.name!r} is one question; only records, whose answers are reported together, "
            "have joint distributions"
        )

    def joint(
        self, aggregate: Aggregate, attributes: Sequence[str], *, method: str, **options: Any
    ) -> Any:
        """The joint distribution of some attributes of records."""
        return self.check_joint(attributes, method, **options)

    @abstractmethod
    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        """Per person, everything visible about whether the answer was x or y; for audits."""

    # --- shared ---------------------------------------------------------------------------------

    @abstractmethod
    def bind(self, study: bytes) -> Self:
        """The same collection, its reports bound to a study."""

    def match(self, collection: str, digest: bytes) -> Self:
        """Itself, if reports of this id and digest are its own."""
        if collection != self.id:
            raise DigestError(
                f"these belong to {collection!r}, but {self.id!r} is expected; "
                "use the study and the question they were collected under"
            )
        if digest != self.digest:
            raise DigestError(
                f"these carry the digest {digest.hex()[:12]}…, but {self.digest.hex()[:12]}… is "
                "expected: they were made under other values, another epsilon or another study"
            )
        return self

    def accept(self, item: Reports | Aggregate, kind: type) -> None:
        """Refuse anything that is not this collection's own, or was drawn from a seed."""
        if not isinstance(item, kind):
            raise ParameterError(_instead(item, kind))
        self.match(item.collection, item.digest)
        if item.seeded:
            refuse_seeded("these are")


def _instead(item: Any, kind: type) -> str:
    """What to do with something that is not what a step of a collection takes."""
    if isinstance(item, Reports):
        return (
            f"{kind.__name__} expected; these are reports: count them first with aggregate(reports)"
        )
    if isinstance(item, Aggregate):
        return f"{kind.__name__} expected; this is an Aggregate, whose reports are counted already"
    if isinstance(item, (list, tuple)) and item and isinstance(item[0], kind):
        return f"one {kind.__name__} expected; a {type(item).__name__} of them was given: " + (
            "count each and add the counts" if kind is Reports else "add them with +"
        )
    first = "randomise(answers)" if kind is Reports else "aggregate(randomise(answers))"
    return (
        f"{kind.__name__} expected; {type(item).__name__} was given; if these are answers, "
        f"randomise them first: {first}"
    )


def check_study(study: bytes | None) -> None:
    """Refuse anything that is not the digest of a study."""
    if study is not None and not (isinstance(study, bytes) and len(study) == 32):
        raise ParameterError(f"a study digest has 32 bytes; {study!r:.80} was given")


def canonical_text(about: Any) -> str:
    """Plain data in one canonical form: JSON with sorted keys and no spaces."""
    return json.dumps(
        about, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def canonical_digest(kind: str, about: Any) -> bytes:
    """SHA-256 of plain data in its canonical form, in UTF-8."""
    try:
        data = f"sottovoce {kind} v1\n{canonical_text(about)}".encode()
    except UnicodeEncodeError as error:
        raise ParameterError(
            f"{error.object[error.start : error.end]!r} is an incomplete character and cannot be "
            "written "
            "to a file or message; correct the names and values"
        ) from error
    return hashlib.sha256(data).digest()
