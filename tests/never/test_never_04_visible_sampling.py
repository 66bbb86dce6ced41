"""Never claim sampling amplification in the local model where the server sees who reported: the
loss stays exactly ε.
"""

from __future__ import annotations

import math

import pytest

from sottovoce import GRR, OUE, Levels, Sampled
from sottovoce.accounting import poisson
from sottovoce.errors import GuaranteeError
from sottovoce.mechanisms import REGISTRY
from sottovoce.promise.assumptions import RATE_IS_PUBLIC
from tests.laws.subjects import small

RATES = (1, 0.5, 0.1, 1e-3, 1e-9)
each = pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)


def amplified(epsilon: float, rate: float) -> float:
    """What would be claimed if nobody could see who reported."""
    return math.log1p(rate * math.expm1(epsilon))


@each
def test_the_promise_is_that_of_the_reports_at_every_rate(kind: type) -> None:
    inner = small(kind)
    for rate in RATES:
        s = Sampled(inner, rate=rate)
        assert s.guarantee.epsilon == inner.guarantee.epsilon == s.epsilon
        assert s.guarantee.delta == 0
        (promise,) = s.guarantee.promises
        assert (RATE_IS_PUBLIC in promise.assuming) == (rate < 1)  # at rate 1 nobody is drawn


@each
def test_that_much_is_really_lost(kind: type) -> None:
    """The exact law of report or silence has all of ε, and more than an amplified claim allows."""
    for rate in RATES:
        realised = Sampled(small(kind), rate=rate).channel().epsilon()
        assert realised == pytest.approx(1.0, abs=1e-9)
        if rate < 1:
            assert realised > amplified(1.0, rate) + 1e-6


def test_words_say_that_sampling_protects_no_further() -> None:
    words = " ".join(str(Sampled(GRR(4, epsilon=1.0), rate=0.1).guarantee).split())
    assert "epsilon = 1: local differential privacy" in words
    assert "the collector sees who reports, so sampling adds no protection" in words


def test_estimates_promise_no_more() -> None:
    s = Sampled(GRR(4, epsilon=1.0), rate=[0.1, 0.5])
    aggregate = s.aggregate(s.randomise([0, 1, 2, 3] * 100, rate=[0.1] * 200 + [0.5] * 200))
    for method in s.methods:
        assert s.estimate(aggregate, method=method).guarantee == s.guarantee
        assert s.estimate(aggregate, method=method).guarantee.epsilon == 1.0


def test_nor_do_menus_of_samples_or_samples_of_menus() -> None:
    menu = {"a": GRR(3, epsilon=0.5), "b": OUE(3, epsilon=2.0)}
    wrapped = [
        Sampled(Levels(menu), rate=0.1),
        Levels({name: Sampled(m, rate=0.1) for name, m in menu.items()}),
    ]
    for wrapper in wrapped:
        assert [promise.epsilon for promise in wrapper.guarantee.promises] == [0.5, 2.0]
        assert wrapper.epsilon == 2.0


@pytest.mark.parametrize("sample", ["seen", "picked"])
def test_an_account_of_a_sample_that_is_seen_is_refused(sample) -> None:
    with pytest.raises(GuaranteeError, match="no privacy here"):
        poisson(1.0, 0.1, sample=sample)
    assert poisson(1.0, 0.1).epsilon == pytest.approx(amplified(1.0, 0.1), abs=1e-12)
