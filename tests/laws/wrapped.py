"""Wrappers for the laws: a wrapper's law is conditional on what everyone has said in public.

`Given` is "this wrapper, everyone at this level and rate", with the face of a mechanism that the
laws look at. The estimate is the one that is linear in the reports and unbiased whatever the
groups are: post-stratified over levels, Horvitz–Thompson over rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from sottovoce import (
    GRR,
    OLH,
    OUE,
    Aggregate,
    Channel,
    Duchi,
    Estimate,
    Guarantee,
    Levels,
    Mechanism,
    Piecewise,
    Reports,
    Sampled,
)
from sottovoce.errors import EstimateError
from sottovoce.mechanisms import REGISTRY

from . import laws
from .entries import CATEGORICAL, NUMERIC

Wrapper = Levels | Sampled


@dataclass(frozen=True)
class Given:
    """A wrapper where everyone is at one level, at one rate, or both."""

    wrapper: Wrapper
    level: str | None = None
    rate: float | None = None

    def __getattr__(self, name: str) -> Any:
        """Domain, layout, aggregate, check, match and more are the wrapper's own."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.wrapper, name)

    @property
    def choice(self) -> dict[str, Any]:
        both = {"level": self.level, "rate": self.rate}
        return {name: value for name, value in both.items() if value is not None}

    @property
    def alone(self) -> Mechanism:
        """What people of this level run, without the menu."""
        if isinstance(self.wrapper, Levels):
            return self.wrapper.menu[self.level]
        if self.level is None:
            return self.wrapper
        return Sampled(self.wrapper.inner.menu[self.level], rate=self.wrapper.rates)

    @property
    def id(self) -> str:
        """Of the mechanism that makes the reports: some laws make allowances for one."""
        alone = self.alone
        return alone.inner.id if isinstance(alone, Sampled) else alone.id

    @property
    def guarantee(self) -> Guarantee:
        return self.own(self.wrapper.guarantee)

    def own(self, guarantee: Guarantee) -> Guarantee:
        """The promises made to people of this level."""
        mine = [p for p in guarantee.promises if self.level in (None, p.unit.level)]
        return Guarantee(tuple(mine), guarantee.reason)

    def randomise(self, values: Any) -> Reports:
        return self.wrapper.randomise(values, **self.choice)

    def every_report(self) -> Reports:
        return self.wrapper.every_report(**self.choice)

    def channel(self) -> Channel:
        return self.wrapper.channel(**self.choice)

    def typical_reports(self) -> Reports:
        """Every report once, and as many silent people as the rate makes of them."""
        everything = self.every_report()
        if self.rate in (None, 1):
            return everything
        spoken = len(everything) - 1
        silent = everything[spoken:]
        return Reports.concatenate([everything[:spoken]] + [silent] * self.silent_per(spoken))

    def silent_per(self, spoken: int) -> int:
        return round(spoken * (1 - self.rate) / self.rate)

    def estimate(self, aggregate: Aggregate) -> Estimate:
        try:
            found = self._estimate(aggregate)
        except EstimateError:
            found = self._silence(aggregate)
        return replace(found, guarantee=self.own(found.guarantee))

    def _estimate(self, aggregate: Aggregate) -> Estimate:
        over_levels, over_rates = "post-stratified", "horvitz-thompson"
        nested = self.level is not None and self.rate is not None
        if isinstance(self.wrapper, Levels):
            inner = over_rates if nested else None
            return self.wrapper.estimate(aggregate, method=over_levels, inner=inner)
        return self.wrapper.estimate(
            aggregate, method=over_rates, inner=over_levels if nested else None
        )

    def _silence(self, aggregate: Aggregate) -> Estimate:
        """What silence adds to the score of a report; nothing is estimated from silence alone."""
        one = self.wrapper.aggregate(self.every_report()[:1])
        alone, both = self._estimate(one), self._estimate(aggregate + one)
        n = aggregate.n
        laws.require(n > 0, "silent people are not counted")
        return replace(both, values=((n + 1) * both.values - alone.values) / n)

    def _people(self, n: int) -> list[int]:
        return [n * (rate == self.rate) for rate in self.alone.rates]

    def variance(self, frequencies: Any, n: int) -> Any:
        alone = self.alone
        if not isinstance(alone, Sampled):
            return alone.variance(frequencies, n)
        return alone.variance(frequencies, self._people(n), method="horvitz-thompson")

    def covariance(self, frequencies: Any, n: int) -> Any:
        alone = self.alone
        if not isinstance(alone, Sampled):
            return alone.covariance(frequencies, n)
        return alone.covariance(frequencies, self._people(n), method="horvitz-thompson")

    def total_variance(self, n: int) -> float:
        alone = self.alone
        return alone.total_variance(self._people(n) if isinstance(alone, Sampled) else n)

    def variance_at(self, positions: Any) -> Any:
        alone = self.alone
        if not isinstance(alone, Sampled):
            return alone.variance_at(positions)
        low, span = self.domain.low, self.domain.high - self.domain.low
        of_one = [
            alone.variance_of([low + span * x], rate=self.rate, method="horvitz-thompson")[0]
            for x in positions
        ]
        return np.array(of_one) / span**2

    def __str__(self) -> str:
        nested = isinstance(self.wrapper, Sampled) and isinstance(self.wrapper.inner, Levels)
        parts = [self.wrapper.id, self.id, *self.choice.values(), *(["nested"] * nested)]
        return "-".join(map(str, parts))


def apply(law: laws.Law, given: Given) -> None:
    """Run a law, or skip it with the reason why it says nothing here."""
    if law is laws.support_has_p_and_q:
        pytest.skip("a wrapper has no p and q of its own; its order of reports is tied by the bias")
    if given.rate == 0 and law in SPEAKS:
        pytest.skip("at rate 0 everyone is silent, so nothing is told and nothing estimated")
    law(given)


#: Laws about what a report tells, which at rate 0 is nothing.
SPEAKS = {
    laws.epsilon_is_kept_and_tight,
    laws.estimate_is_linear,
    laws.estimate_is_unbiased,
    laws.covariance_is_exact,
    laws.estimate_plugs_its_values_in,
    laws.errors_are_never_negative,
    laws.unbiased_is_refused_where_it_cannot_be,
}


def small(kind: type[Mechanism], epsilon: float = 1.0) -> Mechanism:
    """One of any registered kind whose channel is small enough to go through many times."""
    if kind is OLH:
        return OLH(2, epsilon=epsilon, word_bits=3)
    if kind.id in NUMERIC:
        return kind((-5.0, 10.0), epsilon=epsilon).tiny()
    return kind(3, epsilon=epsilon)


def each_level(menu: Levels) -> Iterator[Given]:
    for name, mechanism in menu.menu.items():
        rates = mechanism.rates if isinstance(mechanism, Sampled) else (None,)
        yield from (Given(menu, level=name, rate=rate) for rate in rates)


def each_rate(sampled: Sampled) -> Iterator[Given]:
    names = sampled.inner.menu if isinstance(sampled.inner, Levels) else (None,)
    yield from (Given(sampled, level=n, rate=r) for n in names for r in sampled.rates)


def menu_of(kind: type[Mechanism]) -> Levels:
    return Levels({"strong": small(kind, 0.5), "weak": small(kind, 1.0)})


def wrappers() -> Iterator[Given]:
    for kind in REGISTRY.values():
        yield from each_level(menu_of(kind))
        for rate in (1, 0.5, 0.1):
            yield from each_rate(Sampled(small(kind), rate=rate))
    # Reports of different widths, kinds of columns and epsilons side by side.
    kinds = [kind for kind in CATEGORICAL.values() if kind is not OLH]
    yield from each_level(Levels({kind.id: small(kind, 1.5) for kind in kinds}))
    yield from each_level(Levels({kind.id: small(kind) for kind in NUMERIC.values()}))
    for kind in (GRR, OUE, Duchi):
        yield from each_rate(Sampled(small(kind), rate=[0.5, 0.1, 1]))
        yield from each_rate(Sampled(small(kind), rate=[0, 0.25]))
    for kind in (GRR, OUE, Piecewise):
        yield from each_rate(Sampled(menu_of(kind), rate=[0.2, 1]))
    for kind in (GRR, Duchi):
        some = Sampled(small(kind, 0.5), rate=[0.5, 0.25])
        yield from each_level(Levels({"some": some, "all": small(kind, 2.0)}))


GIVEN = list(wrappers())
