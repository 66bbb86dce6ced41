"""Never use the published sampling bound as a guarantee; never assume that every item has
holders.
"""

from __future__ import annotations

import inspect
import math

import pytest

from sottovoce import accounting
from sottovoce.accounting import (
    published_count,
    published_sampled_counts,
    sampled_counts,
    sampled_counts_delta,
    smallest_dummies,
)
from sottovoce.errors import GuaranteeError
from sottovoce.promise.guarantee import Promise


def test_the_published_bound_is_no_promise_and_shows_the_truth_beside_it() -> None:
    for bound in ("yang-3.1", "yang-3.2"):
        claim = published_sampled_counts(1.0, 20, 30, bound=bound)
        assert not isinstance(claim, Promise)
        assert not claim.holds
        assert claim.true_delta == sampled_counts_delta(1.0, 20, claim.rate)


def test_nothing_else_takes_a_published_bound() -> None:
    named = [
        name
        for name in accounting.__all__
        if "items" in inspect.signature(getattr(accounting, name)).parameters
        and "bound" in inspect.signature(getattr(accounting, name)).parameters
    ]
    assert sorted(named) == ["published_count", "published_sampled_counts"]


def test_the_promise_is_refused_where_the_published_bound_would_make_one() -> None:
    for epsilon, delta in ((0.5, 1e-7), (0.5, 1e-3), (1.0, 1e-7), (1.0, 1e-3)):
        count = math.ceil(published_count(epsilon, delta, 30, bound="yang-3.1"))
        with pytest.raises(GuaranteeError, match="no epsilon holds"):
            sampled_counts(count, -math.expm1(-epsilon), delta)


def test_a_promise_says_how_many_holders_it_assumes() -> None:
    promise = sampled_counts(100, 0.39, 1e-6)
    assert any("at least 99 holders" in assumption for assumption in promise.assuming)


def test_a_person_without_other_holders_is_seen_at_the_sampling_rate() -> None:
    for rate in (0.1, 0.4, 0.9):
        assert sampled_counts_delta(15.0, 1, rate) >= rate
    # What replaces the assumption: dummies that hold every item.
    dummies = smallest_dummies(1.0, 1e-5, 0.4)
    assert sampled_counts_delta(1.0, dummies + 1, 0.4) <= 1e-5
