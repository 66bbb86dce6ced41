"""Never use 1/K noise shares when parties may collude or see the result.

Whoever contributes noise knows their part of it: noise is divided among those who stay.
"""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce.accounting import gaussian_shares_delta
from sottovoce.errors import ParameterError

from ..parties.attacks import loss, measured, share_pmf

EPSILON, DELTA, PEOPLE, COLLUSION = 1.0, 1e-5, 60, 30


def test_somebody_always_sees_the_result() -> None:
    with pytest.raises(ParameterError, match="collusion"):
        sv.secure.DPDG(2, epsilon=EPSILON, collusion=0)


def test_the_others_noise_is_enough() -> None:
    shares = sv.secure.DPDG(2, epsilon=EPSILON, delta=DELTA, collusion=COLLUSION).shares(PEOPLE)
    stays = PEOPLE - COLLUSION
    kept = gaussian_shares_delta(EPSILON, float(shares.law.sigma), stays, step=shares.step)
    assert kept <= DELTA
    # The fault: divided among all of them, what the colluders know is missing.
    all_share = sv.secure.DPDG(2, epsilon=EPSILON, delta=DELTA, collusion=1).shares(PEOPLE)
    broken = gaussian_shares_delta(EPSILON, float(all_share.law.sigma), stays, step=all_share.step)
    assert broken > 30 * DELTA


def test_coins_of_colluders_come_on_top() -> None:
    protocol = sv.secure.BinomialNoise(2, epsilon=EPSILON, delta=DELTA, collusion=COLLUSION)
    tossers = protocol.tossers(1000)
    assert (tossers.users - COLLUSION) * tossers.each >= protocol.needed


@pytest.mark.parametrize(("parties", "collusion"), [(2, 1), (5, 1), (5, 4), (10, 9)])
def test_parties_who_stay_make_up_the_whole_noise(parties: int, collusion: int) -> None:
    budgets = dict.fromkeys("ABCDEFGHIJ"[:parties], EPSILON)
    study = sv.parties.Horizontal(
        [sv.Attribute("ward", 2)], ["ward"], budgets, collusion=collusion, method="mh"
    )
    first, *others = study.parties
    colluders = others[:collusion]
    assert measured(study, first, colluders) == pytest.approx(EPSILON, abs=1e-9)
    # The fault: noise divided by K, although the colluders know their parts.
    share = share_pmf(2, parties, 120)
    broken = loss([share] * (parties - collusion), 1, 2, 50)
    assert (
        round(broken, 2)
        == {(2, 1): 2.28, (5, 1): 1.38, (5, 4): 4.15, (10, 9): 5.57}[parties, collusion]
    )
    with pytest.raises(ParameterError, match="at least one is always assumed"):
        sv.parties.Horizontal([sv.Attribute("ward", 2)], ["ward"], budgets, collusion=0)
