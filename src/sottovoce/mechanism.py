"""The contracts that every mechanism keeps.

A mechanism is one frozen object that owns its parameters: sampling, decoding, estimating,
variance and guarantee all derive from it. The laws, checked over the whole registry by
``tests/laws``, are: the exact epsilon of `channel()` is at most the guarantee; the default
unbiased estimate has the truth as its expectation and `covariance` as its covariance; aggregates
form a commutative monoid; decoding inverts encoding.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .aggregate import Aggregate
from .domain import Domain, Label
from .errors import (
    DigestError,
    EstimateError,
    ParameterError,
    UselessEstimateWarning,
    WireError,
)
from .estimate import Estimate, Floats, bootstrap
from .guarantee import LDP, OWN_DEVICE, WHO_ANSWERED, Guarantee, Promise, checked_epsilon
from .likelihood import Fit, fit_support
from .randomness import SYSTEM, Source, refuse_seeded
from .report import Column, Reports

MOST_OUTPUTS = 4096
TINY = 4
_MOST_CORRELATED = 512
_FAIR = 0.05  # half an interval, as a part of the range, that most people would call useful

SEEDED = "the reports were drawn from a seed, which undoes them"


@dataclass(frozen=True, slots=True)
class Method:
    """One way to estimate: where it comes from and whether it is biased."""

    source: str
    biased: bool


@dataclass(frozen=True)
class Requirement:
    """What a plan must meet: a question, and two of people, privacy and error.

    `d` is the number of values of a question, or `bounds` are those of a number; `levels` maps
    names to epsilons and is empty where epsilon is what is asked for.
    """

    d: int | None
    bounds: tuple[float, float] | None
    n: int | None
    levels: Mapping[str, float]
    error: float | None
    delta: float = 0.0

    def words(self) -> str:
        """The requirement in one line."""
        question = f"{self.d:,} values" if self.d is not None else f"a number in {self.bounds}"
        people = "" if self.n is None else f", {self.n:,} people"
        menu = "".join(f", {name} ε = {e:g}" for name, e in self.levels.items())
        wanted = "" if self.error is None else f", standard error at most {self.error:g}"
        return question + people + menu + wanted


@dataclass(frozen=True)
class Design:
    """One way to meet a requirement, with what it costs and promises.

    Attributes
    ----------
    name : str
        Of the mechanism or protocol.
    n : int
        People who report.
    levels : mapping of str to float
        Epsilon of each level; "everyone" where there is one.
    std_error : float
        Predicted standard error of an average share, or of the mean.
    report_bytes : int
        Size of the largest report.
    decode_steps : float
        Elementary steps from reports to estimate.
    guarantee : Guarantee
        What is promised, one promise per level.
    """

    name: str
    n: int
    levels: Mapping[str, float]
    std_error: float
    report_bytes: int
    decode_steps: float
    guarantee: Guarantee

    @property
    def epsilon(self) -> float:
        """The epsilon of everyone; refused where there are levels."""
        if len(self.levels) != 1:
            raise ParameterError(f"there is no single epsilon; the levels are {dict(self.levels)}")
        return self.most_epsilon

    @property
    def most_epsilon(self) -> float:
        """The largest epsilon among the levels."""
        return max(self.levels.values())

    @property
    def epsilon_words(self) -> str:
        """One epsilon, or the range of the levels."""
        least, most = min(self.levels.values()), self.most_epsilon
        return f"{most:.3g}" if least == most else f"{least:.3g}–{most:.3g}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "name": self.name,
            "people": self.n,
            "levels": dict(self.levels),
            "std_error": self.std_error,
            "report_bytes": self.report_bytes,
            "decode_steps": self.decode_steps,
            "guarantee": self.guarantee.as_dict(),
        }


@dataclass(frozen=True)
class Channel:
    """The exact law of a report given the answer.

    Attributes
    ----------
    inputs : sequence
        Answers, one per row.
    outputs : sequence of str
        Reports, one per column.
    exact : tuple of tuples of Fraction
        P(output | input).
    """

    inputs: Sequence[Label]
    outputs: Sequence[str]
    exact: tuple[tuple[Fraction, ...], ...]

    @property
    def matrix(self) -> Floats:
        """P(output | input) as floats; rows are inputs and sum to one."""
        return np.array([[float(cell) for cell in row] for row in self.exact])

    def epsilon(self) -> float:
        """The smallest epsilon for which the channel is locally differentially private."""
        worst = Fraction(1)
        for column in zip(*self.exact, strict=True):
            if min(column) == 0:
                if max(column) > 0:
                    return math.inf
                continue
            worst = max(worst, max(column) / min(column))
        context = Context(prec=60)
        ratio = context.divide(Decimal(worst.numerator), Decimal(worst.denominator))
        return float(context.ln(ratio))

    def level(self, prior: ArrayLike) -> float:
        """Localised information privacy at a prior: max |ln P(x|y)/P(x)| over all x and y."""
        weights = np.asarray(prior, float)
        if weights.shape != (len(self.inputs),) or not abs(weights.sum() - 1) < 1e-9:
            raise ParameterError(
                f"the prior must be {len(self.inputs)} probabilities that sum to 1; {prior!r} given"
            )
        if (weights < 0).any():
            raise ParameterError(f"the prior has a negative probability: {prior!r}")
        likely = self.matrix[weights > 0]
        marginal = weights[weights > 0] @ likely
        ratios = likely[:, marginal > 0] / marginal[marginal > 0]
        with np.errstate(divide="ignore"):
            return float(np.abs(np.log(ratios)).max())


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
        if study is not None and len(study) != 32:
            raise ParameterError(f"a study digest has 32 bytes; {len(study)} were given")

    # --- what it is -----------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        """What, beside the domain, decides the channel."""
        return {"epsilon": self.epsilon}

    @property
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
        return SYSTEM if source is None else source

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


class LinearMechanism(Mechanism):
    """A mechanism over a set of values whose unbiased estimate is linear in its counts.

    A subclass says what is counted (`tally`), how counts become fractions (`debias`), and what
    the variance and covariance of those are when the data are fixed.
    """

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        epsilon: float,
        study: bytes | None = None,
    ) -> None:
        super().__init__(domain, epsilon=epsilon, study=study)
        if self.domain.size < 2:
            raise ParameterError(
                f"{self.id!r} is for a set of values, not for {self.domain!r}; for numbers use "
                "Duchi, Piecewise or Hybrid, or public bins (Attribute.bins)"
            )

    #: What the aggregate's table of counts is called; stored, so it never changes.
    table: ClassVar[str] = "outputs"

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many counts an aggregate holds."""

    @abstractmethod
    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """The counts of some reports."""

    @abstractmethod
    def debias(self, counts: NDArray[np.int64], n: int) -> Floats:
        """Unbiased fractions from the counts of n reports."""

    @abstractmethod
    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        """The distribution under which the counts of n reports are most likely."""

    @abstractmethod
    def maximised_again(self, n: int, frequencies: Floats, rng: np.random.Generator) -> Floats:
        """The likelihood's maximum for n made-up reports of such a population, for bootstraps."""

    @property
    def marks_per_report(self) -> int | None:
        """How many counts each report raises by one; None where that varies."""
        return None

    @abstractmethod
    def told_apart(self, reports: Reports, x: Label, y: Label) -> NDArray[Any]:
        """Per report, all that it says about whether the answer was x or y; for audits."""

    @abstractmethod
    def decode_steps(self, n: int) -> float:
        """Elementary steps from n reports to the estimate, to compare mechanisms by."""

    @abstractmethod
    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values."""

    @abstractmethod
    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        """Exact variance of each estimated value when the data are fixed."""

    @abstractmethod
    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        """Exact covariance matrix of the estimated values when the data are fixed."""

    def aggregate(self, reports: Reports) -> Aggregate:
        """The collector's side: count."""
        self.accept(reports, Reports)
        tables = {self.table: self.tally(reports)}
        return Aggregate(self.id, self.digest, len(reports), tables, reports.seeded)

    def check_aggregate(self, aggregate: Aggregate) -> None:
        counts = aggregate.tables.get(self.table)
        if set(aggregate.tables) != {self.table} or counts is None:
            raise WireError(f"tables {sorted(aggregate.tables)}; {self.id!r} has {self.table!r}")
        if counts.shape != (self.cells,):
            raise WireError(f"counts of shape {counts.shape}; {self.cells} are expected")
        if not (counts.min() >= 0 and counts.max() <= aggregate.n):
            raise WireError(f"a count lies outside 0 to n = {aggregate.n}")
        marks = self.marks_per_report
        if marks is not None and counts.sum() != marks * aggregate.n:
            raise WireError(
                f"the counts sum to {counts.sum()}; {aggregate.n} reports give {marks} each"
            )

    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        """The analyst's side: fractions with their error."""
        self.accept(aggregate, Aggregate)
        name = self.chosen(method)
        n, counts = aggregate.n, aggregate.tables[self.table]
        if n == 0:
            raise EstimateError("there are no reports, so there is nothing to estimate")
        values = self.debias(counts, n)
        raw = Estimate(
            values=values,
            spread=self.variance(values, n),
            n=n,
            labels=self.domain.labels,
            name=getattr(self.domain, "name", ""),
            guarantee=Guarantee.none(SEEDED) if aggregate.seeded else self.guarantee,
            _covariance=partial(self.covariance, values, n),
            _replicate=partial(self.replicate, n),
        )
        warn_if_useless(raw, 1.0)
        if name == "unbiased":
            return raw
        fit = self.maximise(counts, n)
        return replace(
            raw,
            values=fit.values,
            spread=partial(bootstrap, fit.values, partial(self.maximised_again, n), 20),
            method=name,
            biased=True,
            error_from="bootstrap",
            converged=fit.converged,
            raw=raw,
            _covariance=None,
        )

    def replicate(self, n: int, frequencies: Floats, rng: np.random.Generator) -> Floats:
        """An unbiased estimate from n made-up reports of such a population, for bootstraps.

        Normal noise with the exact covariance; beyond some hundred values with the variances
        alone, since correlations there are of the order of 1/d.
        """
        if frequencies.size > _MOST_CORRELATED:
            deviation = np.sqrt(self.variance(frequencies, n))
            independent: Floats = frequencies + deviation * rng.standard_normal(frequencies.size)
            return independent
        covariance = self.covariance(frequencies, n)
        drawn: Floats = rng.multivariate_normal(frequencies, covariance, method="eigh")
        return drawn

    def tiny(self) -> Self:
        return replace(self, domain=Domain(min(self.domain.size, TINY)))

    def refuse_large(self, outputs: int) -> None:
        """Refuse to write down a channel that does not fit."""
        if outputs > MOST_OUTPUTS:
            raise ParameterError(
                f"the channel of {self.id!r} over {self.domain.size} values has more than "
                f"{MOST_OUTPUTS:,} outputs; use .tiny().channel() for its law in small"
            )


class PureMechanism(LinearMechanism):
    """A mechanism whose report supports a set of values.

    The true value is supported with probability p, every other one with probability q. With c_v
    reports out of n supporting v,

    Estimate    f_v = (c_v / n - q) / (p - q)                                   (unbiased)
    Variance    n Var f_v = [q (1 - q) + f_v (p - q) (1 - p - q)] / (p - q)^2   (fixed data)
    Covariance  n Cov(f_u, f_v) = [(t - q^2) + (f_u + f_v) (s - p q - t + q^2)] / (p - q)^2

    where s is the probability that a report supports the truth and one given other value, and t
    that it supports two given other values. Wang et al. 2017, section 3, for the estimate; the
    covariance is the average over people of that of their support indicators.
    """

    table: ClassVar[str] = "support"

    def __init__(
        self,
        domain: Domain | int | Sequence[Label],
        *,
        epsilon: float,
        study: bytes | None = None,
    ) -> None:
        super().__init__(domain, epsilon=epsilon, study=study)
        if self.p <= self.q:  # not even 128 bits can tell the truth from the rest
            raise ParameterError(
                f"epsilon is {self.epsilon!r}, so small that reports would say nothing; "
                "use at least 1e-9"
            )

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that the truth is supported, exactly."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that a given other value is supported, exactly."""

    @property
    @abstractmethod
    def pair(self) -> tuple[Fraction, Fraction]:
        """(s, t): both of two values supported, one of them the truth or neither."""

    @abstractmethod
    def support(self, reports: Reports) -> NDArray[np.int64]:
        """How many reports support each value."""

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "unbiased": Method("Wang et al. 2017, section 3", biased=False),
            "mle": Method(
                "maximum of the support counts' likelihood, bits taken apart", biased=True
            ),
        }

    def maximise(self, counts: NDArray[np.int64], n: int) -> Fit:
        return fit_support(counts.astype(float), n, float(self.p), float(self.q))

    def maximised_again(self, n: int, frequencies: Floats, rng: np.random.Generator) -> Floats:
        share = float(self.q) + float(self.p - self.q) * self.replicate(n, frequencies, rng)
        counts = np.rint(n * np.clip(share, 0, 1)).astype(np.int64)
        return self.maximise(counts, n).values

    @property
    def cells(self) -> int:
        return self.domain.size

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        return self.support(reports)

    def debias(self, counts: NDArray[np.int64], n: int) -> Floats:
        fractions: Floats = (counts / n - float(self.q)) / float(self.p - self.q)
        return fractions

    def variance(self, frequencies: ArrayLike, n: int) -> Floats:
        p, q = self.p, self.q
        noise = float(q * (1 - q) / (p - q) ** 2)
        slope = float((1 - p - q) / (p - q))
        result: Floats = (noise + slope * np.asarray(frequencies, float)) / n
        return result

    def covariance(self, frequencies: ArrayLike, n: int) -> Floats:
        p, q = self.p, self.q
        s, t = self.pair
        base = float((t - q * q) / (p - q) ** 2)
        slope = float((s - p * q - t + q * q) / (p - q) ** 2)
        f = np.asarray(frequencies, float)
        matrix: Floats = (base + slope * (f[:, None] + f[None, :])) / n
        np.fill_diagonal(matrix, self.variance(f, n))
        return matrix

    def total_variance(self, n: int = 1) -> float:
        """Sum of the variances over all values; it does not depend on the data."""
        p, q, d = self.p, self.q, self.domain.size
        return float(d * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)) / n


def warn_if_useless(estimate: Estimate, span: float) -> None:
    """Warn when the widest 95 % interval is wider than all that could be estimated.

    Parameters
    ----------
    span : float
        The width of the range of possible values: 1 for shares.
    """
    half = 1.96 * float(estimate.std_error.max())
    if 2 * half > span:
        enough = math.ceil(estimate.n * (half / (_FAIR * span)) ** 2)
        warnings.warn(
            f"{estimate.n:,} reports are too few: an interval of ± {half:.3g} is wider than the "
            f"whole range of {span:g}. About {enough:,} people would give ± {_FAIR * span:.3g}; "
            "ask more people or choose a larger epsilon (sottovoce.plan works it out)",
            UselessEstimateWarning,
            stacklevel=3,
        )


def product_row(bits: Iterable[tuple[int, Fraction]]) -> Fraction:
    """Probability of independent bits: (bit, probability that it is 1)."""
    total = Fraction(1)
    for bit, probability in bits:
        total *= probability if bit else 1 - probability
    return total


def canonical_digest(kind: str, about: Any) -> bytes:
    """SHA-256 of plain data in one canonical form: sorted keys, no spaces, UTF-8."""
    text = json.dumps(
        about, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    try:
        data = f"sottovoce {kind} v1\n{text}".encode()
    except UnicodeEncodeError as error:
        raise ParameterError(
            f"{error.object[error.start : error.end]!r} is half a character and cannot be written "
            "to a file or message; correct the names and values"
        ) from error
    return hashlib.sha256(data).digest()
