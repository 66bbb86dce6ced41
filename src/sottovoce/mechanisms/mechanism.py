"""The contract that every mechanism keeps: a collection that estimates one question.

A mechanism is one frozen object that owns its parameters: sampling, decoding, estimating,
variance and guarantee all derive from it. The laws, checked over the whole registry by
``tests/laws``, are: the exact epsilon of `channel()` is at most the guarantee; the unbiased
estimate has the truth as its expectation and `covariance` as its covariance; aggregates form a
commutative monoid; decoding inverts encoding.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_epsilon
from ..contract.aggregate import Aggregate
from ..contract.collection import Collection, check_study
from ..contract.reports import Reports, split_reports
from ..contract.way import Way
from ..domain.columns import first_few
from ..domain.values import Domain, Label
from ..errors import ParameterError, StudyError
from ..estimate.estimate import Estimate
from ..promise import LDP, OWN_DEVICE, WHO_ANSWERED, Guarantee, Promise
from .channel import Channel

TOO_SMALL = (
    "epsilon is {epsilon!r}, so small that reports would carry no information; use at least 1e-9"
)

#: People, or counts of people, by group, and tables with a row per group.
Counted = tuple[NDArray[np.int64], Mapping[str, NDArray[np.int64]]]


@dataclass(frozen=True, slots=True)
class Method:
    """One way to estimate.

    Attributes
    ----------
    source : str
        Where it comes from.
    biased : bool
        Whether its expectation differs from the truth.
    shown : bool
        Whether the command line and pages show it by default; otherwise they show the first method,
        the default in Python.
    """

    source: str
    biased: bool
    shown: bool = False


@dataclass(frozen=True, init=False)
class Mechanism(Collection):
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
        check_study(self.study)

    #: Positions of the values that are counted and estimated; None for all. Set by `restricted`.
    candidates: ClassVar[NDArray[np.int64] | None] = None

    # --- what it is -----------------------------------------------------------------------------

    @property
    def labels(self) -> Sequence[Label]:
        """The values that are counted and estimated, in order."""
        if self.candidates is None:
            return self.domain.labels
        return tuple(self.domain.decode(self.candidates))

    @property
    def knows_covariance(self) -> bool:
        """Whether covariances of the values follow from their counts."""
        return True

    @property
    def name(self) -> str:
        return self.domain.name

    @property
    def attributes(self) -> tuple[Domain, ...]:
        return (self.domain,)

    @property
    def words(self) -> str:
        return f"{self.id}, epsilon = {self.epsilon:g}"

    @property
    def menu(self) -> Mapping[str, Mechanism]:
        """The levels' mechanisms by name; empty where there is no menu."""
        return {}

    def entries(self) -> dict[str, Any]:
        from .registry import REGISTRY

        if self.id not in REGISTRY:
            raise StudyError(
                f"{type(self).__name__} is not among the mechanisms that a study file can name "
                f"({', '.join(sorted(REGISTRY))}), so the study cannot be written to one"
            )
        return {"mechanism": self.id, **self.parameters}

    @property
    def parameters(self) -> dict[str, Any]:
        """What, besides the domain, decides the channel."""
        return {"epsilon": self.epsilon}

    def canonical(self) -> dict[str, Any]:
        domain = self.domain.canonical()
        return {"mechanism": self.id, "domain": domain, "parameters": self.parameters}

    @property
    def guarantee(self) -> Guarantee:
        public = self.domain.missing == "public"
        assuming = (OWN_DEVICE, *(WHO_ANSWERED,) * public)
        return Guarantee((Promise(LDP, self.epsilon, assuming=assuming),))

    @property
    @abstractmethod
    def methods(self) -> Mapping[str, Method]:
        """The estimators that it offers, the default first."""

    def chosen_method(self, method: str | None) -> str:
        """The method by name, the default one for None."""
        name = next(iter(self.methods)) if method is None else method
        if name not in self.methods:
            raise ParameterError(
                f"{self.id!r} has no method {name!r}; it has {', '.join(map(repr, self.methods))}"
            )
        return name

    @property
    def shown_method(self) -> str:
        """The method that the command line and pages show by default."""
        shown = (name for name, method in self.methods.items() if method.shown)
        return next(shown, next(iter(self.methods)))

    # --- what the roles do ----------------------------------------------------------------------

    @abstractmethod
    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        """The analyst's side: counts in, estimate out."""

    def marginal(
        self, aggregate: Aggregate, attributes: Sequence[str] = (), *, method: str | None = None
    ) -> Estimate:
        check_attributes(attributes, self.name)
        return self.estimate(aggregate, method=method)

    def estimates(self, aggregate: Aggregate) -> Mapping[str, Estimate]:
        return {}

    # --- what the participation wrapper needs ---------------------------------------------------

    @property
    def counting_key(self) -> Hashable:
        """Decides how reports look and are counted: equal keys are counted in one pass."""
        return self.id, self.domain.size, json.dumps(self.parameters, sort_keys=True)

    @property
    def tally_key(self) -> Hashable:
        """Equal keys are tallied in one pass, though their tables differ; None: alone.

        Only of mechanisms that `linear.tally_together` takes.
        """
        return None

    def count_by(self, reports: Reports, group: NDArray[Any], groups: int) -> Counted:
        """Reports and tables for each group of the reports, one row per group.

        Where there is one group, `group` is not read.
        """
        if groups == 1:
            tables = {name: np.asarray(t)[None] for name, t in self.count(reports).items()}
            return np.array([len(reports)]), tables
        empty = self.count(reports[:0])
        tables = {
            name: np.zeros((groups, *np.asarray(t).shape), np.int64) for name, t in empty.items()
        }
        for k, part in split_reports(reports, group, groups):
            for name, table in self.count(part).items():
                tables[name][k] = table
        return np.bincount(group, minlength=groups), tables

    # --- what the laws need ---------------------------------------------------------------------

    @abstractmethod
    def tiny(self) -> Self:
        """A version with at most 4 inputs and 4,096 outputs and the same epsilon."""

    @abstractmethod
    def every_report(self, way: Way | None = None) -> Reports:
        """All possible reports of one way, in the order of the channel's columns."""

    @abstractmethod
    def channel(self, way: Way | None = None) -> Channel:
        """The exact law of one way, where it is small enough to write down.

        Without a way, that of the first of `ways()`.
        """

    # --- shared ---------------------------------------------------------------------------------

    def bind(self, study: bytes) -> Self:
        return replace(self, study=study).restricted(self.candidates)


def check_attributes(attributes: Sequence[str], question: str) -> None:
    """Refuse attributes of a marginal other than the one question."""
    if any(name != question for name in attributes):
        raise ParameterError(
            f"the question {question!r} has no attributes, and {first_few(attributes)} was given; "
            "only records have them, so leave it out"
        )
