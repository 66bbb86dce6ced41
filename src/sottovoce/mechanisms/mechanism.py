"""The contract that every mechanism keeps."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_epsilon
from ..contract.aggregate import Aggregate
from ..contract.digest import canonical_digest
from ..contract.parts import parts_of
from ..contract.reports import Column, Reports
from ..domain.values import Domain, Label
from ..errors import DigestError, ParameterError
from ..estimate.estimate import Estimate
from ..promise import LDP, OWN_DEVICE, WHO_ANSWERED, Guarantee, Promise
from ..randomness import Source, refuse_seeded, source_of
from .channel import Channel

SEEDED = "the reports were drawn from a seed, which undoes them"
TOO_SMALL = "epsilon is {epsilon!r}, so small that reports would say nothing; use at least 1e-9"


@dataclass(frozen=True, slots=True)
class Method:
    """One way to estimate: where it comes from and whether it is biased."""

    source: str
    biased: bool


@dataclass(frozen=True, init=False)
class Mechanism(ABC):
    """A local randomiser: the participant's side and everything derived from it.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values; an integer d means 0..d-1.
    epsilon : float
        Privacy parameter, above 0 and at most 20.
    study : bytes, optional
        Digest of the study that the reports belong to; without it they are bound to the
        mechanism's own parameters.
    """

    domain: Domain
    epsilon: float
    study: bytes | None = field(default=None, repr=False)

    #: Wire name, set by `register`; frozen with version 1.
    id: ClassVar[str] = ""

    #: Whether the values and epsilon are all there is to know, so that `choose` can compare it.
    compared: ClassVar[bool] = True

    #: The method that command line and pages show where none is asked for; None for the default.
    shown: ClassVar[str | None] = None

    #: How many values a question may have.
    most_values: ClassVar[int] = 1 << 31

    #: Names of parameters beside epsilon that a study may set.
    extras: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        epsilon: float,
        study: bytes | None = None,
    ) -> None:
        object.__setattr__(self, "domain", Domain.of(domain))
        object.__setattr__(self, "epsilon", checked_epsilon(epsilon))
        object.__setattr__(self, "study", study)
        self.validate()

    def validate(self) -> None:
        """Refuse parameters that do not go together; subclasses add to it."""
        if self.study is not None and len(self.study) != 32:
            raise ParameterError(f"a study digest has 32 bytes; {len(self.study)} were given")

    # --- what it is -----------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        """What, beside the domain, decides the channel."""
        return {"epsilon": self.epsilon}

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that every report carries: the study's, or the mechanism's own."""
        if self.study is not None:
            return self.study
        about = {
            "mechanism": self.id,
            "domain": self.domain.canonical(),
            "parameters": self.parameters,
        }
        return canonical_digest("mechanism", about)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to everyone who sends a report."""
        public = self.domain.missing == "public"
        return Guarantee(
            (Promise(LDP, self.epsilon, assuming=(OWN_DEVICE, *(WHO_ANSWERED,) * public)),)
        )

    @property
    @abstractmethod
    def layout(self) -> tuple[Column, ...]:
        """The columns of a report."""

    @property
    @abstractmethod
    def methods(self) -> Mapping[str, Method]:
        """Estimators it offers, the default one first."""

    @abstractmethod
    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Raise WireError for reports that no participant can have sent."""

    @abstractmethod
    def check_aggregate(self, aggregate: Aggregate) -> None:
        """Raise WireError for counts that no reports can have given."""

    # --- what the roles do ----------------------------------------------------------------------

    @abstractmethod
    def randomise(self, values: Any, *, source: Source | None = None) -> Reports:
        """Each participant's side: answers in, reports out."""

    @abstractmethod
    def aggregate(self, reports: Reports) -> Aggregate:
        """The collector's side: reports in, counts out."""

    @abstractmethod
    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        """The analyst's side: counts in, estimate out."""

    # --- what wrappers need ---------------------------------------------------------------------

    @property
    def counting(self) -> Hashable:
        """All that decides how reports look and are counted: who shares it, counts alike."""
        return self.id, self.domain.size, json.dumps(self.parameters, sort_keys=True)

    def counted_by(
        self, reports: Reports, group: NDArray[Any], groups: int
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """People and tables of an aggregate for each group of the reports, one row per group.

        Where there is one group, nobody looks at `group`.
        """
        if groups == 1:
            whole = self.aggregate(reports)
            return np.array([whole.n]), {name: t[None] for name, t in whole.tables.items()}
        empty = self.aggregate(reports[:0]).tables
        people = np.zeros(groups, np.int64)
        tables = {name: np.zeros((groups, *t.shape), np.int64) for name, t in empty.items()}
        for k, part in parts_of(reports, group, groups):
            found = self.aggregate(part)
            people[k] = found.n
            for name, table in found.tables.items():
                tables[name][k] = table
        return people, tables

    # --- what the laws need ---------------------------------------------------------------------

    @abstractmethod
    def tiny(self) -> Self:
        """A version with at most 4 inputs and 4,096 outputs and the same epsilon."""

    @abstractmethod
    def every_report(self) -> Reports:
        """All possible reports, in the order of the channel's columns."""

    @abstractmethod
    def channel(self) -> Channel:
        """The exact law, where it is small enough to write down."""

    @property
    def report_bytes(self) -> int:
        """Size of one report, without the envelope that many share."""
        return sum(column.nbytes for column in self.layout)

    # --- shared ---------------------------------------------------------------------------------

    def bind(self, study: bytes) -> Self:
        """The same mechanism, its reports bound to a study."""
        return replace(self, study=study)

    def match(self, mechanism: str, digest: bytes) -> Self:
        """Itself, if reports of this id and digest are its own."""
        if mechanism != self.id:
            raise DigestError(
                f"these belong to the mechanism {mechanism!r}, but {self.id!r} is expected; "
                "use the study they were collected under"
            )
        if digest != self.digest:
            raise DigestError(
                f"these carry the digest {digest.hex()[:12]}…, but {self.digest.hex()[:12]}… is "
                "expected: they were made under other values, another epsilon or another study"
            )
        return self

    def reports(self, source: Source, **columns: NDArray[Any]) -> Reports:
        """Wrap columns as this mechanism's reports."""
        return Reports(self.id, self.digest, columns, source.seeded)

    def source(self, source: Source | None) -> Source:
        """The given source, or the system's."""
        return source_of(source)

    def accept(self, given: Reports | Aggregate, kind: type) -> None:
        """Refuse what is not this mechanism's own, or was drawn from a seed."""
        if not isinstance(given, kind):
            raise ParameterError(f"{kind.__name__} expected; {type(given).__name__} was given")
        self.match(given.mechanism, given.digest)
        if given.seeded:
            refuse_seeded("these are")

    def chosen(self, method: str | None) -> str:
        """The method by name, the default one for None."""
        name = next(iter(self.methods)) if method is None else method
        if name not in self.methods:
            raise ParameterError(
                f"{self.id!r} has no method {name!r}; it has {', '.join(map(repr, self.methods))}"
            )
        return name
