"""Never randomise the same answer twice by accident: fresh noise is a second release and composes;
a retry resends the same bytes.
"""

from __future__ import annotations

import pytest

from sottovoce import GRR, OUE, Attribute, Guarantee, Reports, Study
from sottovoce.mechanisms import REGISTRY
from sottovoce.promise import OWN_DEVICE, Protected, Unit, composed
from tests.laws.entries import answers, example

each = pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)


@each
def test_two_releases_cost_twice(kind) -> None:
    once = example(kind, 0.5).guarantee
    assert (once + once).epsilon == 1.0
    assert once.times(3).epsilon == 1.5
    assert composed([once, once, once]).epsilon == 1.5


@each
def test_randomising_again_draws_again(kind) -> None:
    # So it really is a second release: the library keeps no memory that would make it free.
    mechanism = example(kind, 0.5, 1000)
    first, second = (mechanism.randomise(answers(mechanism, 200)).to_bytes() for _ in range(2))
    assert first != second


@each
def test_a_retry_resends_the_same_bytes(kind) -> None:
    mechanism = example(kind, 0.5, 100)
    reports = mechanism.randomise(answers(mechanism, 100))
    first = reports.to_bytes()
    assert reports.to_bytes() == first
    assert Reports.from_bytes(first, expect=mechanism).to_bytes() == first


@each
def test_the_promise_assumes_that_each_report_is_sent_once(kind) -> None:
    promise = example(kind, 0.5).guarantee.promises[0]
    assert OWN_DEVICE in promise.assuming
    assert "once" in OWN_DEVICE


def test_several_questions_of_one_study_add_up() -> None:
    study = Study(
        "s",
        (
            GRR(Attribute("a", 3), epsilon=0.5),
            OUE(Attribute("b", 3), epsilon=1.0),
            OUE(Attribute("c", 3), epsilon=0.25),
        ),
    )
    assert study.guarantee.epsilon == 1.75
    assert study.guarantee.promises[0].unit == Unit(Protected.STUDY)


def test_no_promise_plus_a_promise_is_no_promise() -> None:
    once = GRR(4, epsilon=0.5).guarantee
    for total in (once + Guarantee.none("a seed"), Guarantee.none("a seed") + once):
        assert total.promises == ()
        assert "a seed" in str(total)
