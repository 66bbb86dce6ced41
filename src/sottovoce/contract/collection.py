"""The contract below every mechanism: answers → reports → counts.

A collection is one frozen object that owns its parameters. A participant's side randomises with
it, a collector aggregates with it, and whoever needs to know the public ways to take part (which
level, which rate, with which guarantee) asks for `ways()` and for no type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DigestError, ParameterError
from ..promise import Guarantee
from ..randomness import Source, refuse_seeded, source_of
from .aggregate import Aggregate, Table
from .digest import canonical_digest
from .reports import Column, Reports

if TYPE_CHECKING:
    from .way import Way

Columns = Mapping[str, NDArray[Any]]


class Collection(ABC):
    """Answers in, reports out; reports in, counts out."""

    #: Wire name; frozen with version 1.
    id: ClassVar[str] = ""

    #: Digest of the study that the reports belong to, if any.
    study: bytes | None

    # --- what it is -----------------------------------------------------------------------------

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
    def report_bytes(self) -> int:
        """Size of one report, without the envelope that many share."""
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
        """The columns of everyone's reports; what is particular to randomising."""

    def aggregate(self, reports: Reports) -> Aggregate:
        """The collector's side: reports in, counts out."""
        self.accept(reports, Reports)
        tables = self.count(reports)
        many = len(reports)
        return Aggregate(self.id, self.digest, tables, many, many, reports.seeded)

    @abstractmethod
    def count(self, reports: Reports) -> Mapping[str, Table | NDArray[np.int64]]:
        """The tables of an aggregate; what is particular to counting."""

    @abstractmethod
    def check(self, columns: Columns) -> None:
        """Raise WireError for reports that no participant can have sent."""

    @abstractmethod
    def check_aggregate(self, aggregate: Aggregate) -> None:
        """Raise WireError for counts that no reports can have given."""

    def turnout(self, aggregate: Aggregate) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(people asked, reports received) by way, in the order of `ways()`."""
        return np.array([aggregate.people]), np.array([aggregate.reports])

    @abstractmethod
    def outcomes(self, reports: Reports, x: Any, y: Any) -> NDArray[Any]:
        """Per person, all that is seen about whether the answer was x or y; for audits."""

    # --- shared ---------------------------------------------------------------------------------

    @abstractmethod
    def bind(self, study: bytes) -> Self:
        """The same collection, its reports bound to a study."""

    def match(self, collection: str, digest: bytes) -> Self:
        """Itself, if reports of this id and digest are its own."""
        if collection != self.id:
            raise DigestError(
                f"these belong to {collection!r}, but {self.id!r} is expected; "
                "use the study they were collected under"
            )
        if digest != self.digest:
            raise DigestError(
                f"these carry the digest {digest.hex()[:12]}…, but {self.digest.hex()[:12]}… is "
                "expected: they were made under other values, another epsilon or another study"
            )
        return self

    def accept(self, item: Reports | Aggregate, kind: type) -> None:
        """Refuse what is not this collection's own, or was drawn from a seed."""
        if not isinstance(item, kind):
            raise ParameterError(f"{kind.__name__} expected; {type(item).__name__} was given")
        self.match(item.collection, item.digest)
        if item.seeded:
            refuse_seeded("these are")


def check_study(study: bytes | None) -> None:
    """Refuse what is no digest of a study."""
    if study is not None and not (isinstance(study, bytes) and len(study) == 32):
        raise ParameterError(f"a study digest has 32 bytes; {study!r:.80} was given")
