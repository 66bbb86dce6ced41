"""Randomised response that knows a public prior: localised information privacy.

Channel     Q(y|x) = κ (m_y + 1{x=y}),  m_y = max(P_y, 1 − E P_y) / (E − 1),  κ = 1 / (1 + Σ m_y)
Estimate    f̂_y = (c_y / n − κ m_y) / κ
Covariance  n Cov = [diag(λ) − Σ_x f_x Q_x Q_xᵀ] / κ²,   λ_y = κ (m_y + f_y)
Guarantee   ε-LIP under the prior, and ln(1 + 1 / min m) ≤ 2ε of local differential privacy

with E = e^ε. A prior known only inside a box gives m_y = max(hi_y, 1 − E lo_y) / (E − 1), which
goes from the above to randomised response (lo = 0, hi = 1). The variants are in
`mechanisms.prior_channels` and `mechanisms.prior_optimal`.

Jiang, Li, Tandon, "Context-aware Data Aggregation with Localized Information Privacy". Its
Theorem 2 breaks its own definition for skewed priors; it is the variant "jiang-theorem2", whose
guarantee states what it really gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from ..accounting.information import log_up
from ..contract.aggregate import Aggregate
from ..domain.values import Domain, Label
from ..errors import EstimateError, ParameterError
from ..estimate.estimate import Estimate
from ..estimate.intervals import Floats
from ..promise import LDP, OWN_DEVICE, WHO_ANSWERED, Guarantee, Neighbours, Promise
from ..promise import LIP as LIP_NOTION
from .linear import TINY
from .mechanism import Method
from .prior import PUBLIC, UNARY, UNCLEAR, Prior
from .prior_channels import IntegerChannel, designed, exact_lip
from .prior_estimates import IdentifiedInterval
from .prior_optimal import a_optimal, mmse_optimal
from .registry import register
from .tabled_channel import ChannelMechanism

VARIANTS = (
    "optimal",
    "symmetric",
    "opt-ldp",
    "context-free-ldp",
    "jiang-theorem2",
    "mmse-optimal",
    "a-optimal",
)
_LOCAL = ("opt-ldp", "context-free-ldp")


@register("lip")
@dataclass(frozen=True, init=False)
class LIP(ChannelMechanism):
    """Randomised response that uses what is publicly known about the answers beforehand.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence, optional
        The public values; may be left out where the prior names them.
    epsilon : float
        Bound on how much a report changes the belief in any answer, as a log ratio.
    prior : mapping, sequence or float, optional
        Public probabilities of the values; a single number is that of "yes" against "no".
    prior_low, prior_high : sequence or mapping, optional
        Bounds between which the prior is known to lie. Without any prior everything is possible,
        and this is randomised response.
    variant : str
        One of "optimal", "symmetric", "opt-ldp", "context-free-ldp", "jiang-theorem2",
        "mmse-optimal" and "a-optimal".
    fingerprint : str, optional
        Fingerprint of the channel, where it was found by optimisation; another one is refused.

    Examples
    --------
    >>> m = LIP(prior={"infected": 0.1, "not": 0.9}, epsilon=1.0)
    >>> [round(promise.epsilon, 3) for promise in m.guarantee.promises]
    [1.0, 1.212]
    """

    prior: tuple[float, ...] | None = None
    prior_low: tuple[float, ...] | None = None
    prior_high: tuple[float, ...] | None = None
    variant: str = "optimal"

    def __init__(
        self,
        domain: Domain | int | Sequence[Label] | None = None,
        *,
        epsilon: float,
        prior: Any = None,
        prior_low: Any = None,
        prior_high: Any = None,
        variant: str = "optimal",
        fingerprint: str | None = None,
        study: bytes | None = None,
    ) -> None:
        values, known = Prior.of(domain, prior, prior_low, prior_high)
        if variant not in VARIANTS:
            every = ", ".join(map(repr, VARIANTS))
            unknown = f"there is no variant {variant!r}; available: {every}"
            raise ParameterError(UNARY if variant == "unary" else unknown)
        for key, value in {
            "prior": known.point,
            "prior_low": None if known.point or known.free else known.low,
            "prior_high": None if known.point or known.free else known.high,
            "variant": variant,
        }.items():
            object.__setattr__(self, key, value)
        super().__init__(values, epsilon=epsilon, study=study)
        if fingerprint not in (None, self.fingerprint):
            raise ParameterError(
                f"fingerprint is {fingerprint!r}, but here the channel has {self.fingerprint!r}: "
                "another release of the optimiser finds another channel; use the one it was made "
                "with, or variant 'optimal', which is a formula"
            )

    def validate(self) -> None:
        super().validate()
        if self.variant not in ("optimal", "context-free-ldp") and self.prior is None:
            raise ParameterError(
                f"variant {self.variant!r} needs the prior itself; 'optimal' also takes bounds of "
                "it, and 'context-free-ldp' none"
            )
        self.integers  # noqa: B018, refuses what cannot be drawn

    # --- what it is -----------------------------------------------------------------------------

    @cached_property
    def known(self) -> Prior:
        """What is known about the answers."""
        return Prior.of(self.domain, self.prior, self.prior_low, self.prior_high)[1]

    @property
    def parameters(self) -> dict[str, Any]:
        priors = {"prior": self.prior, "prior_low": self.prior_low, "prior_high": self.prior_high}
        stated = {key: list(value) for key, value in priors.items() if value is not None}
        mark = {} if self.fingerprint is None else {"fingerprint": self.fingerprint}
        return {**super().parameters, **stated, "variant": self.variant, **mark}

    @cached_property
    def fingerprint(self) -> str | None:
        """Of a channel found by optimisation, so that reports of two different ones never mix."""
        rows = self.integers.rows
        return hashlib.sha256(repr(rows).encode()).hexdigest()[:32] if rows else None

    @cached_property
    def integers(self) -> IntegerChannel:
        """Q(y|x) 2^128, as it is drawn."""
        if self.variant == "mmse-optimal":
            return mmse_optimal(self.epsilon, self.known.exact)
        if self.variant == "a-optimal":
            return a_optimal(self.epsilon, self.known.exact)
        return designed(self.variant, self.epsilon, *self.known.bounds)

    @property
    def centre(self) -> Floats:
        """The prior, or the middle of its bounds."""
        return np.array(self.known.middle)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised under the prior, and what holds without it."""
        public = (WHO_ANSWERED,) * (self.domain.missing == "public")
        assuming = (OWN_DEVICE, *public)
        free = Promise(LDP, self.ldp_epsilon, assuming=assuming)
        if self.variant in _LOCAL or self.known.free:
            return Guarantee((free,))
        believed = Promise(
            LIP_NOTION,
            self.lip_epsilon,
            neighbours=Neighbours.BELIEFS,
            assuming=(*assuming, self.known.words(self.domain.labels), PUBLIC),
        )
        return Guarantee((believed, free))

    @cached_property
    def lip_epsilon(self) -> float:
        """The level under the stated prior: the requested one, or that of a published channel."""
        if self.variant != "jiang-theorem2":
            return self.epsilon
        return log_up(exact_lip(self.integers, self.known.exact))

    @cached_property
    def ldp_epsilon(self) -> float:
        """The level that holds whatever the prior is."""
        if self.variant in _LOCAL or self.known.free:
            return self.epsilon
        law = self.integers
        if not law.rows:
            return log_up(1 + Fraction(law.keep, min(law.rest)))
        columns = zip(*law.rows, strict=True)
        return log_up(max(Fraction(max(column), min(column)) for column in columns))

    @property
    def methods(self) -> Mapping[str, Method]:
        offered = {
            "unbiased": Method("inverse of the channel", biased=False),
            "mle": Method("maximum likelihood", biased=True, shown=True),
            "mmse": Method("Jiang et al., section IV: posterior means at the prior", biased=True),
            "shrunk": Method("shrunk towards the prior according to its stated error", biased=True),
        }
        if self.prior is None:
            offered = {name: offered[name] for name in ("unbiased", "mle")}
        if not self.invertible:
            offered = {name: offered[name] for name in ("mle", "mmse")}
        return offered

    def chosen_method(self, method: str | None) -> str:
        if method == "unbiased" and not self.invertible:
            self._combination  # noqa: B018, says why there is none
        if method in ("mmse", "shrunk") and self.prior is None:
            raise ParameterError(
                f"{method!r} needs the prior itself, which is not known here; available: "
                f"{', '.join(map(repr, self.methods))}"
            )
        return super().chosen_method(method)

    # --- what the analyst does -------------------------------------------------------------------

    def estimate(
        self, aggregate: Aggregate, *, method: str | None = None, prior_sd: float | None = None
    ) -> Estimate:
        """The analyst's side: fractions with their error.

        Parameters
        ----------
        method : str, optional
            One of `methods`. "mmse" and "shrunk" rely on the prior and are as wrong as it is; use
            them only if you trust it.
        prior_sd : float, optional
            For "shrunk": how far the true fractions may be from the prior, as a standard deviation.
        """
        self.accept(aggregate, Aggregate)
        name = self.chosen_method(method)
        if (prior_sd is not None) != (name == "shrunk"):
            raise ParameterError(
                "method='shrunk' needs prior_sd, and no other method takes it: how far the true "
                "fractions may be from the prior, such as prior_sd=0.02"
            )
        if name in ("unbiased", "mle") and self.invertible:
            return super().estimate(aggregate, method=name)
        n, counts = aggregate.reports, aggregate.dense(self.table)
        if n == 0:
            raise EstimateError("there are no reports, so there is nothing to estimate")
        about: dict[str, Any] = {"assuming": self.known.vouched(self.domain.labels)}
        if name == "mle":
            fit = self.maximise(counts, n)
            values = fit.values
            about = {"assuming": UNCLEAR, "converged": fit.converged}
        else:
            values = self.prior_fractions(name, counts, n, prior_sd)
        if self.invertible:
            raw = super().estimate(aggregate, method="unbiased")
            about |= {"raw": raw, "spread": raw.variance}
        else:
            interval = IdentifiedInterval(self.matrix, counts, n)
            about |= {"spread": partial(interval.variance, values), "_interval": interval}
        return Estimate(
            values=values,
            n=n,
            labels=self.domain.labels,
            name=self.domain.name,
            guarantee=self.guarantee_behind(aggregate),
            method=name,
            biased=True,
            _origins=aggregate.marks_of(),
            **about,
        )

    def tiny(self) -> Self:
        domain = Domain(min(self.domain.size, TINY))
        return replace(self, domain=domain, **self.known.first(domain.size))
