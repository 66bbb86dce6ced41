"""Counts of true answers: what a secure protocol estimates from.

Nobody ever sends a true answer as a report. The protocols add answers up in secret shares, after
sampling or with noise, and what comes out is an aggregate of this collection whose route says what
was done to the counts and what is promised. Estimates are linear in the counts, with p = 1, q = 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..contract.aggregate import Aggregate
from ..contract.collection import Columns
from ..contract.reports import Column, Reports
from ..contract.route import Route
from ..domain.values import Domain, Label
from ..errors import GuaranteeError, WireError
from ..estimate.count_intervals import CountInterval
from ..estimate.estimate import Estimate
from ..mechanisms.categorical import PureMechanism
from ..mechanisms.linear import TINY
from ..mechanisms.mechanism import Method
from ..promise import Guarantee

BINOMIAL, DUMMIES, GAUSSIAN = "binomial", "dummies", "discrete-gaussian"
_NO_REPORTS = "true answers are counted by a secure protocol only and are never sent as reports"


class TrueCounts(PureMechanism):
    """The number of people with each answer, one mark for each person.

    Parameters
    ----------
    domain : Domain, Attribute, int or sequence
        The public values.
    """

    id = "true-counts"
    p, q, pair = Fraction(1), Fraction(0), (Fraction(0), Fraction(0))
    marks_per_report = 1

    def __init__(
        self, domain: Domain | int | Sequence[Label], *, study: bytes | None = None
    ) -> None:
        object.__setattr__(self, "domain", Domain.of(domain))
        object.__setattr__(self, "epsilon", math.inf)
        object.__setattr__(self, "study", study)
        self.validate()

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.none(f"{_NO_REPORTS}; what is promised depends on the protocol")

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column("value", self.domain.dtype.str),)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise GuaranteeError(f"{_NO_REPORTS}; run a protocol of sottovoce.secure")

    draw = outcomes = supports = every_report = channel = _refuse

    def check(self, columns: Columns) -> None:
        raise WireError(_NO_REPORTS)

    def support(self, reports: Reports) -> NDArray[np.int64]:
        return kernels.count.histogram(reports.columns["value"], self.domain.size)

    @property
    def methods(self) -> Mapping[str, Method]:
        return {"unbiased": Method("counts divided by what was kept of them", biased=False)}

    def decode_steps(self, n: int) -> float:
        return n + self.domain.size

    def tiny(self) -> TrueCounts:
        return TrueCounts(Domain(min(self.domain.size, TINY)), study=self.study)

    def bind(self, study: bytes) -> TrueCounts:
        return TrueCounts(self.domain, study=study)

    def _estimate_routed(self, aggregate: Aggregate, route: Route, method: str) -> Estimate:
        """The same linear estimate, with intervals that hold for rare and empty items."""
        estimate = super()._estimate_routed(aggregate, replace(route, threshold=0), method)
        estimate = replace(estimate, _interval=_interval(aggregate, route, self.table))
        if not route.threshold:
            return estimate
        return replace(
            estimate,
            biased=True,
            _covariance=None,  # what was suppressed has none
            method=f"suppressed below {route.threshold}",
            assuming=(
                f"counts below {route.threshold} were suppressed and are shown as 0; those just "
                "above it are too large on average"
            ),
        )


def _interval(aggregate: Aggregate, route: Route, table: str) -> CountInterval:
    counts, noise = aggregate.dense(table), route.noise
    law = "" if noise is None else noise.law
    variance = 0.0 if noise is None else noise.variance
    mean = 0.0 if noise is None else noise.mean
    return CountInterval(
        counts,
        aggregate.reports,
        kept=route.kept,
        dummies=round(mean / route.kept) if law == DUMMIES else 0,
        coins=round(2 * mean) if law == BINOMIAL else 0,
        variance=0.0 if law in (BINOMIAL, DUMMIES) else variance,
        threshold=route.threshold,
    )
