"""Each law notices the fault that it is there for. A law that never fails proves nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sottovoce import (
    GRR,
    LIP,
    OUE,
    Aggregate,
    Channel,
    Duchi,
    Estimate,
    Guarantee,
    Promise,
    Reports,
)
from sottovoce.contract.way import Way
from sottovoce.errors import EstimateError
from sottovoce.promise import LDP

from . import estimates, laws
from .law import LAWS, Law, LawBroken, same

SMALL = Fraction(1, 10**8)


class GRRNamesOthersTooRarely(GRR):
    """q a hundred-millionth too small, the rest of the row kept at one."""

    def channel(self, way: Way | None = None) -> Channel:
        true = super().channel()
        d = self.domain.size
        less = self.q * (1 - SMALL)
        rows = tuple(
            tuple(1 - (d - 1) * less if x == y else less for y in range(d)) for x in range(d)
        )
        return replace(true, exact=rows)


class OUESetsOthersTooRarely(OUE):
    @property
    def q(self) -> Fraction:
        return super().q * (1 - SMALL)


class GRRWastesItsEpsilon(GRR):
    @property
    def p(self) -> Fraction:
        return super().p * (1 - Fraction(1, 10**6))


class GRRPromisesLess(GRR):
    @property
    def guarantee(self) -> Guarantee:
        return Guarantee((Promise(LDP, self.epsilon * (1 - 1e-12)),))


class GRRLosesProbability(GRR):
    def channel(self, way: Way | None = None) -> Channel:
        true = super().channel()
        first = (true.exact[0][0] - Fraction(1, 1 << 128), *true.exact[0][1:])
        return replace(true, exact=(first, *true.exact[1:]))


class OUERepeatsAReport(OUE):
    def every_report(self, way: Way | None = None) -> Reports:
        bits = super().every_report().columns["bits"].copy()
        bits[-1] = bits[0]
        return Reports(self.id, self.digest, {"bits": bits})


class OUEOrdersReportsOtherwise(OUE):
    def every_report(self, way: Way | None = None) -> Reports:
        return super().every_report()[::-1]


class OUEReadsBitsBackwards(OUE):
    def support(self, reports: Reports) -> Any:
        return super().support(reports)[::-1]


class GRRMergesByForgetting(GRR):
    def aggregate(self, reports: Reports) -> Aggregate:
        whole = super().aggregate(reports)
        return Forgetful(**vars(whole))


class Forgetful(Aggregate):
    """Drops one count whenever it is merged."""

    def __add__(self, other: Aggregate) -> Aggregate:
        true = super().__add__(other)
        counts = true.tables["support"].copy()
        counts[-1] -= counts[-1] > 0
        return Forgetful(**vars(replace(true, tables={"support": counts})))


class GRRStoresWrongly(GRR):
    def aggregate(self, reports: Reports) -> Aggregate:
        whole = super().aggregate(reports)
        return StoredWrongly(**vars(whole))


class StoredWrongly(Aggregate):
    def to_bytes(self) -> bytes:
        # One report more, of value 0: a wrong number alone would be refused by the decoder.
        counts = self.tables["support"].copy()
        counts[0] += 1
        one_more = {"people": self.people + 1, "reports": self.reports + 1}
        return replace(self, tables={"support": counts}, **one_more).true_bytes()

    def true_bytes(self) -> bytes:
        return super().to_bytes()


def wrong_q(mechanism: Any, aggregate: Aggregate, factor: float) -> np.ndarray:
    p, q = float(mechanism.p), float(mechanism.q) * factor
    return (aggregate.tables["support"] / aggregate.reports - q) / (p - q)


class GRREstimatesWithTheWrongQ(GRR):
    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        true = super().estimate(aggregate, method=method)
        return replace(true, values=wrong_q(self, aggregate, 1 + 1e-9))


class OUEEstimatesWithTheWrongQ(OUE):
    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        true = super().estimate(aggregate, method=method)
        return replace(true, values=wrong_q(self, aggregate, 1 + 1e-9))


class GRRClips(GRR):
    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        true = super().estimate(aggregate, method=method)
        return replace(true, values=np.clip(true.values, 0, 1))


class GRRForgetsThatOthersExclude(GRR):
    """Covariance as if a report supported values independently."""

    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        return self.p * self.q, self.q * self.q


class OUECouplesBits(OUE):
    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        s, t = super().pair
        return s, t * (1 + SMALL)


class GRRSharesAVarianceForAll(GRR):
    def variance(self, frequencies: Any, n: int) -> Any:
        return np.full(self.domain.size, self.total_variance(n) / self.domain.size)


class GRRForgetsAValueInTotal(GRR):
    def total_variance(self, n: int = 1) -> float:
        return super().total_variance(n) * (1 - 1 / self.domain.size)


class OUEHasNoPlugIn(OUE):
    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        true = super().estimate(aggregate, method=method)
        uniform = np.full(self.domain.size, 1 / self.domain.size)
        return replace(true, _covariance=lambda: self.covariance(uniform, aggregate.reports))


class GRRHasNegativeVariance(GRR):
    def variance(self, frequencies: Any, n: int) -> Any:
        return super().variance(frequencies, n) - 1e6 * (np.asarray(frequencies) < 0)


SKEWED = (0.97, 0.01, 0.01, 0.01)


def skewed(self: LIP, domain: Any, *, epsilon: float, prior: Any = SKEWED, **other: Any) -> None:
    LIP.__init__(self, domain, epsilon=epsilon, prior=prior, **other)


class LIPPromisesLessUnderThePrior(LIP):
    __init__ = skewed

    @property
    def guarantee(self) -> Guarantee:
        under, free = super().guarantee.promises
        return Guarantee((replace(under, epsilon=under.epsilon * (1 - 1e-12)), free))


class LIPPromisesLessWithoutOne(LIP):
    __init__ = skewed

    @property
    def guarantee(self) -> Guarantee:
        under, free = super().guarantee.promises
        return Guarantee((under, replace(free, epsilon=free.epsilon * (1 - 1e-12))))


class LIPBelievesTheoremTwo(LIP):
    """The published channel with the level that was claimed for it."""

    def __init__(self, domain: Any, *, epsilon: float, **other: Any) -> None:
        other = {"prior": SKEWED, "variant": "jiang-theorem2", **other}
        super().__init__(domain, epsilon=epsilon, **other)

    @property
    def lip_epsilon(self) -> float:
        return self.epsilon


class LIPSaysNothingWithoutAPrior(LIP):
    __init__ = skewed

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(super().guarantee.promises[:1])


def singular(self: LIP, domain: Any, *, epsilon: float, **other: Any) -> None:
    """Two reports for four values."""
    rare = 0.025 / (np.exp(epsilon) + 1)
    other = {"prior": [1 - 3 * rare] + [rare] * 3, "variant": "mmse-optimal", **other}
    LIP.__init__(self, domain, epsilon=epsilon, **other)


class LIPInvertsWhatCannotBe(LIP):
    """A combination of two reports for four values sold as unbiased."""

    __init__ = singular

    invertible = True

    @property
    def _combination(self) -> Any:
        return np.linalg.pinv(self.matrix.T)


class LIPRefusesWithoutNeed(LIP):
    """It could be inverted, but no estimate is unbiased."""

    __init__ = skewed

    invertible = False


class LIPRefusesWithoutAReason(LIP):
    __init__ = singular

    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        try:
            return super().estimate(aggregate, method=method)
        except EstimateError as error:
            raise EstimateError("no") from error


class LIPClaimsToBeUnbiased(LIP):
    __init__ = singular

    def estimate(self, aggregate: Aggregate, *, method: str | None = None) -> Estimate:
        return replace(super().estimate(aggregate), biased=False)


class GRRMiscountsPeople(GRR):
    def aggregate(self, reports: Reports) -> Aggregate:
        whole = super().aggregate(reports)
        return replace(whole, people=whole.people + (whole.people > 0))


class GRRTurnsPeopleAway(GRR):
    def turnout(self, aggregate: Aggregate) -> Any:
        asked, reported = super().turnout(aggregate)
        return asked, reported - (reported > 1)


class DuchiForgetsItsRange(Duchi):
    def variance_at(self, positions: Any) -> Any:
        return super().variance_at(positions) * (1 + 1e-9)


class DuchiLeavesOutTheAnswer(Duchi):
    """The same variance wherever the answer lies."""

    def variance_at(self, positions: Any) -> Any:
        return np.full(len(positions), super().variance_at(np.array([0.5]))[0])


FAULTS: list[tuple[type, Law]] = [
    (LIPPromisesLessUnderThePrior, laws.epsilon_is_kept_and_tight),
    (LIPPromisesLessWithoutOne, laws.epsilon_is_kept_and_tight),
    (LIPBelievesTheoremTwo, laws.epsilon_is_kept_and_tight),
    (LIPSaysNothingWithoutAPrior, laws.epsilon_is_kept_and_tight),
    (LIPInvertsWhatCannotBe, estimates.unbiased_estimates_are_possible),
    (GRRNamesOthersTooRarely, laws.epsilon_is_kept_and_tight),
    (OUESetsOthersTooRarely, laws.epsilon_is_kept_and_tight),
    (GRRWastesItsEpsilon, laws.epsilon_is_kept_and_tight),
    (GRRPromisesLess, laws.epsilon_is_kept_and_tight),
    (GRRLosesProbability, laws.rows_sum_to_one),
    (OUERepeatsAReport, laws.every_report_is_there_once),
    (OUEOrdersReportsOtherwise, laws.support_has_p_and_q),
    (OUEReadsBitsBackwards, laws.support_has_p_and_q),
    (GRRNamesOthersTooRarely, laws.support_has_p_and_q),
    (GRRForgetsThatOthersExclude, laws.support_has_p_and_q),
    (GRRMergesByForgetting, laws.merging_is_a_commutative_monoid),
    (GRRMiscountsPeople, laws.turnout_counts_everyone),
    (GRRTurnsPeopleAway, laws.turnout_counts_everyone),
    (DuchiForgetsItsRange, estimates.variance_of_a_mean_is_exact),
    (DuchiLeavesOutTheAnswer, estimates.variance_of_a_mean_is_exact),
    (LIPRefusesWithoutNeed, estimates.unbiased_is_refused_where_it_cannot_be),
    (LIPRefusesWithoutAReason, estimates.unbiased_is_refused_where_it_cannot_be),
    (LIPClaimsToBeUnbiased, estimates.unbiased_is_refused_where_it_cannot_be),
    (GRRStoresWrongly, laws.stored_aggregates_come_back),
    (GRREstimatesWithTheWrongQ, estimates.estimate_is_unbiased),
    (OUEEstimatesWithTheWrongQ, estimates.estimate_is_unbiased),
    (OUEOrdersReportsOtherwise, estimates.estimate_is_unbiased),
    (GRRClips, estimates.estimate_is_linear),
    (GRRForgetsThatOthersExclude, estimates.covariance_is_exact),
    (OUECouplesBits, estimates.covariance_is_exact),
    (GRRSharesAVarianceForAll, estimates.covariance_is_exact),
    (GRRForgetsAValueInTotal, estimates.covariance_is_exact),
    (OUEHasNoPlugIn, estimates.estimate_plugs_its_values_in),
    (GRRHasNegativeVariance, estimates.errors_are_never_negative),
]


@pytest.mark.parametrize(
    ("fault", "law"), FAULTS, ids=[f"{kind.__name__}-{law.name}" for kind, law in FAULTS]
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_law_notices(fault: Any, law: Law, epsilon: float) -> None:
    faulty = fault(domain_of(fault), epsilon=epsilon)
    with pytest.raises(LawBroken):
        law(faulty, faulty.ways()[0])


def domain_of(fault: type) -> Any:
    return (-5.0, 10.0) if issubclass(fault, Duchi) else 4


def test_every_law_has_a_planted_fault() -> None:
    assert {law.name for _, law in FAULTS} == set(LAWS)


def test_a_changed_column_is_noticed() -> None:
    m = GRR(4, epsilon=1.0)
    a = m.every_report()
    values = a.columns["value"].copy()
    values[0] ^= 1
    for wrong in (values, a.columns["value"].astype(np.uint16)):
        with pytest.raises(LawBroken):
            same(a, Reports(m.id, m.digest, {"value": wrong}))
