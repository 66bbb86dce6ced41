"""Each law notices a wrapper with the fault that it is there for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sottovoce import GRR, OUE, Aggregate, Channel, Estimate, Guarantee, Levels, Reports, Sampled
from sottovoce.contract.way import Way
from sottovoce.participation import sample, strata

from . import estimates, laws
from .law import LAWS, Law, LawBroken
from .subjects import Subject, every_way

# --- of sampling --------------------------------------------------------------------------------


class AsksHoldersMoreOften(Sampled):
    """The rate depends on the value: whoever holds the first one reports a little more often."""

    def channel(self, way: Way | None = None) -> Channel:
        true = super().channel(way)
        rows = [list(row) for row in true.exact]
        for y in range(len(rows[0]) - 1):
            rows[0][y] *= 1 + Fraction(1, 10**6)
        rows[0][-1] = 1 - sum(rows[0][:-1])
        return replace(true, exact=tuple(map(tuple, rows)))


class PromisesAmplification(Sampled):
    @property
    def guarantee(self) -> Guarantee:
        (promise,) = super().guarantee.promises
        less = np.log1p(self.rates[0] * np.expm1(promise.epsilon))
        return Guarantee((replace(promise, epsilon=float(less)),))


class LosesSilence(Sampled):
    def channel(self, way: Way | None = None) -> Channel:
        true = super().channel(way)
        rows = tuple((*row[:-1], row[-1] * (1 - Fraction(1, 10**9))) for row in true.exact)
        return replace(true, exact=rows)


class SaysSilenceTwice(Sampled):
    def every_report(self, way: Way | None = None) -> Reports:
        reports = super().every_report(way)
        return Reports.concatenate([reports[1:], reports[-1:]])


class DrawsAtAnotherRate(Sampled):
    """What is estimated takes another rate for granted than that of the channel."""

    def channel(self, way: Way | None = None) -> Channel:
        rate = self.rates[0] * (1 + 1e-9)
        return Sampled(self.levels[0].mechanism, rate=rate).channel()


class ForgetsTheSilent(Sampled):
    """Only those who report are counted."""

    def aggregate(self, reports: Reports) -> Aggregate:
        whole = super().aggregate(reports)
        tables = dict(whole.tables) | {"asked": whole.tables["reported"]}
        return replace(whole, tables=tables, people=whole.reports)


class ClipsItsEstimate(Sampled):
    def estimate(self, aggregate: Aggregate, **how: Any) -> Estimate:
        true = super().estimate(aggregate, **how)
        return replace(true, values=np.clip(true.values, 0, 1))


class ForgetsWhoIsDrawn(Sampled):
    """The published slip: variance of the reports, without that of who sends them."""

    def variance(self, frequencies: Any, n: Any, **how: Any) -> Any:
        f = np.asarray(frequencies, float)
        return super().variance(f, n, **how) - f * (1 - f) * 0.5 / (0.5 * np.sum(n))


class TakesRatesForEqual(Sampled):
    """The covariance of a grid at the rate of its first stratum."""

    def covariance(self, frequencies: Any, n: Any, **how: Any) -> Any:
        return Sampled(self.levels[0].mechanism, rate=self.rates[0] * 0.9).covariance(
            frequencies, n, **how
        )


class PlugsTheNoiseInAlone(Sampled):
    def estimate(self, aggregate: Aggregate, **how: Any) -> Estimate:
        true = super().estimate(aggregate, **how)
        noise = self.levels[0].mechanism.covariance(true.values, aggregate.people) / self.rates[0]
        return replace(true, _covariance=lambda: noise, spread=np.diag(noise))


class GivesNegativeErrors(Sampled):
    def estimate(self, aggregate: Aggregate, **how: Any) -> Estimate:
        true = super().estimate(aggregate, **how)
        return replace(true, spread=true.variance - 1e6 * (true.values < 0))


class MergesSilenceAway(Sampled):
    def aggregate(self, reports: Reports) -> Aggregate:
        whole = super().aggregate(reports)
        return Forgetful(**vars(whole))


class Forgetful(Aggregate):
    """Loses a silent person whenever it is merged."""

    def __add__(self, other: Aggregate) -> Aggregate:
        true = super().__add__(other)
        lost = int((true.tables["asked"] > true.tables["reported"]).any())
        tables = dict(true.tables) | {"asked": true.tables["asked"] - lost}
        people = true.people - lost
        return Forgetful(**vars(replace(true, tables=tables, people=people)))


class StoresAnotherSilence(Sampled):
    def aggregate(self, reports: Reports) -> Aggregate:
        whole = super().aggregate(reports)
        return StoredWrongly(**vars(whole))


class StoredWrongly(Aggregate):
    def to_bytes(self) -> bytes:
        tables = dict(self.tables) | {"asked": self.tables["asked"] + 1}
        other = replace(self, tables=tables, people=self.people + 1)
        return Aggregate(**vars(other)).to_bytes()


# --- of levels ----------------------------------------------------------------------------------


class LabelsAnotherLevel(Levels):
    """Reports of one level carry the name of the next."""

    def every_report(self, way: Way | None = None) -> Reports:
        true = super().every_report(way)
        columns = dict(true.columns)
        columns["way"] = (columns["way"] + 1) % len(self.menu)
        return replace(true, columns=columns)


class CountsAnotherLevel(Levels):
    """Whoever chose a level is counted under the other one."""

    def aggregate(self, reports: Reports) -> Aggregate:
        columns = dict(reports.columns)
        columns["way"] = (columns["way"] + 1) % len(self.menu)
        return super().aggregate(replace(reports, columns=columns))


class PromisesTheStrictestToAll(Levels):
    @property
    def guarantee(self) -> Guarantee:
        least = self.strictest().epsilon
        promises = super().guarantee.promises
        return Guarantee(tuple(replace(promise, epsilon=least) for promise in promises))


class PromisesTheLoudestToAll(Levels):
    @property
    def guarantee(self) -> Guarantee:
        promises = super().guarantee.promises
        return Guarantee(tuple(replace(promise, epsilon=self.epsilon) for promise in promises))


class EstimatesWithAnotherLevelsError(Levels):
    def estimate(self, aggregate: Aggregate, **how: Any) -> Estimate:
        true = super().estimate(aggregate, **how)
        other = self.strictest().covariance(true.values, aggregate.people)
        return replace(true, _covariance=lambda: other, spread=np.diag(other))


class CountsSilenceAsReports(Sampled):
    def turnout(self, aggregate: Aggregate) -> Any:
        asked, _ = super().turnout(aggregate)
        return asked, asked


class SwapsTheTurnoutOfLevels(Levels):
    def turnout(self, aggregate: Aggregate) -> Any:
        asked, reported = super().turnout(aggregate)
        return asked[::-1], reported[::-1]


class PromisesMoreToAWay(Levels):
    """The guarantee is right, but each way repeats another one."""

    def ways(self) -> tuple[Way, ...]:
        ways = super().ways()
        strict = min((way.guarantee for way in ways), key=lambda g: g.epsilon)
        return tuple(replace(way, guarantee=strict) for way in ways)


FAULTS: list[tuple[type, Law]] = [
    (AsksHoldersMoreOften, laws.epsilon_is_kept_and_tight),
    (AsksHoldersMoreOften, estimates.estimate_is_unbiased),
    (PromisesAmplification, laws.epsilon_is_kept_and_tight),
    (PromisesTheStrictestToAll, laws.epsilon_is_kept_and_tight),
    (PromisesTheLoudestToAll, laws.epsilon_is_kept_and_tight),
    (PromisesMoreToAWay, laws.epsilon_is_kept_and_tight),
    (CountsSilenceAsReports, laws.turnout_counts_everyone),
    (SwapsTheTurnoutOfLevels, laws.turnout_counts_everyone),
    (LosesSilence, laws.rows_sum_to_one),
    (SaysSilenceTwice, laws.every_report_is_there_once),
    (DrawsAtAnotherRate, estimates.estimate_is_unbiased),
    (ForgetsTheSilent, estimates.estimate_is_unbiased),
    (LabelsAnotherLevel, estimates.estimate_is_unbiased),
    (CountsAnotherLevel, estimates.estimate_is_unbiased),
    (ClipsItsEstimate, estimates.estimate_is_linear),
    (ForgetsWhoIsDrawn, estimates.covariance_is_exact),
    (TakesRatesForEqual, estimates.covariance_is_exact),
    (PlugsTheNoiseInAlone, estimates.estimate_plugs_its_values_in),
    (EstimatesWithAnotherLevelsError, estimates.estimate_plugs_its_values_in),
    (GivesNegativeErrors, estimates.errors_are_never_negative),
    (MergesSilenceAway, laws.merging_is_a_commutative_monoid),
    (StoresAnotherSilence, laws.stored_aggregates_come_back),
]


def made(fault: type, kind: type) -> list[Subject]:
    """The fault as a wrapper of one kind, in every way to take part."""
    if issubclass(fault, Sampled):
        return every_way(fault(kind(3, epsilon=1.0), rate=0.5))
    menu = fault({"strong": kind(3, epsilon=0.5), "weak": kind(3, epsilon=4.0)})
    return every_way(menu)


@pytest.mark.parametrize(
    ("fault", "law"), FAULTS, ids=[f"{kind.__name__}-{law.name}" for kind, law in FAULTS]
)
@pytest.mark.parametrize("kind", [GRR, OUE])
def test_the_law_notices(fault: Any, law: Law, kind: type) -> None:
    broken = 0
    for subject in made(fault, kind):
        try:
            law(*subject)
        except LawBroken:
            broken += 1
    assert broken


@pytest.mark.parametrize("law", dict.fromkeys(law for _, law in FAULTS))
def test_the_law_is_kept_without_the_fault(law: laws.Law) -> None:
    for wrapper in (Sampled, Levels):
        for subject in made(wrapper, GRR):
            law(*subject)


def test_every_law_of_wrappers_has_a_planted_fault() -> None:
    subjects = [subject for fault in (Sampled, Levels) for subject in made(fault, GRR)]
    apply = {name for name, law in LAWS.items() if any(law.applies(*one) for one in subjects)}
    # A wrapper's channel can be inverted because that of what it wraps can.
    assert {law.name for _, law in FAULTS} == apply - {"unbiased_estimates_are_possible"}


def test_a_weight_by_the_wrong_rate_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the library's own place for it, not in a subclass: 1 / π² instead of 1 / π."""
    monkeypatch.setattr(sample, "inverse_rates", lambda rates: strata.inverse_rates(rates) ** 2)
    with pytest.raises(LawBroken, match="off by"):
        estimates.estimate_is_unbiased(*every_way(Sampled(GRR(3, epsilon=1.0), rate=0.5))[0])


def test_a_lost_person_is_noticed() -> None:
    class LosesTheLast(Sampled):
        def randomise(self, values: Any, **choice: Any) -> Reports:
            return super().randomise(np.asarray(values)[:-1], **choice)

    with pytest.raises(LawBroken, match="people"):
        laws.decoding_inverts_encoding(LosesTheLast(GRR(3, epsilon=1.0), rate=0.5), (7,))
