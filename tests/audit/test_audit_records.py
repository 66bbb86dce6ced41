"""Audits of records, and of several collections at once."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.auditing.audit import AuditError
from sottovoce.errors import ParameterError
from sottovoce.promise import LDP, Promise, Protected, Unit

from .test_audit import SURE

SCHEMA = [
    sv.Attribute("smokes", ["yes", "no"]),
    sv.Attribute("age", 4),
    sv.Attribute.bins("height", [0, 150, 180, float("inf")]),
]
RECORDS = sv.Records(SCHEMA, epsilon_average=1.0)


def test_records_are_audited_together_and_answer_by_answer() -> None:
    # A single audit finds less than this about once in 50 times; five of five never do (3e-9).
    audits = [sv.audit(RECORDS, trials=100_000, confidence=SURE) for _ in range(5)]
    for whole, one in audits:
        assert (whole.promise.epsilon, one.promise.epsilon) == (3.0, 1.0)
        assert whole.epsilon <= 3.0
        assert one.epsilon <= 1.0
    assert max(whole.epsilon for whole, _ in audits) > 2.0
    assert max(one.epsilon for _, one in audits) > 0.8
    whole, one = audits[0]
    x, y = whole.pair
    assert all(x[name] != y[name] for name in RECORDS.names)
    x, y = one.pair
    assert sum(x[name] != y[name] for name in RECORDS.names) == 1


def test_every_answer_is_held_to_its_own_part_of_an_allocation() -> None:
    findings = sv.audit(RECORDS, allocation=[2.0, 0.6, 0.4], trials=40_000, confidence=SURE)
    assert [finding.promise.epsilon for finding in findings] == [3.0, 2.0, 0.6, 0.4]
    for finding, name in zip(findings[1:], RECORDS.names, strict=True):
        x, y = finding.pair
        assert [key for key in x if x[key] != y[key]] == [name]


def test_wide_records_are_distinguished_by_all_attributes() -> None:
    """2^40 outcomes, of which almost none is seen twice; one attribute alone has epsilon .2."""
    wide = sv.Records([sv.Attribute(f"q{k}", 2) for k in range(20)], epsilon_average=0.2)
    whole, _ = sv.audit(wide, trials=60_000, confidence=SURE)
    assert 0.4 < whole.epsilon <= 4.0


class Unequal(sv.Records):
    """Divides epsilon unequally, whatever was asked for: the total holds, single answers do not."""

    def randomise(self, answers: Any, **options: Any) -> sv.Reports:
        people = len(next(iter(answers.values())))
        return super().randomise(answers, allocation=np.tile([2.0, 0.5, 0.5], (people, 1)))


def test_a_larger_part_than_promised_is_caught() -> None:
    with pytest.raises(AuditError, match="BROKEN") as caught:
        sv.audit(Unequal(SCHEMA, epsilon_average=1.0), trials=40_000, confidence=SURE)
    whole, one = caught.value.findings
    assert not whole.broken
    assert one.broken
    assert caught.value.finding == one
    assert one.pair[0]["smokes"] != one.pair[1]["smokes"]
    assert pickle.loads(pickle.dumps(caught.value)).finding == one


class Selective(sv.Records):
    """People who smoke leave their age out."""

    def randomise(self, answers: Any, **options: Any) -> sv.Reports:
        people = len(answers["smokes"])
        hidden = answers["smokes"][0] == "yes"
        return super().randomise(answers, reported=np.tile([True, not hidden, True], (people, 1)))


def test_a_reported_set_that_depends_on_the_answers_is_caught() -> None:
    with pytest.raises(AuditError) as caught:
        sv.audit(Selective(SCHEMA, epsilon_average=1.0), trials=4_000, confidence=SURE)
    assert all(finding.broken for finding in caught.value.findings)


def test_only_pairs_that_a_promise_speaks_of_are_compared() -> None:
    first = {"smokes": "yes", "age": 0, "height": 10}
    other = {"smokes": "no", "age": 1, "height": 10}
    record = Promise(LDP, 2.0, unit=Unit(Protected.RECORD))
    answer = Promise(LDP, 1.0, unit=Unit(attribute="age"))
    usual = {"inputs": [first, other], "trials": 2_000, "confidence": SURE}
    (finding,) = sv.audit(RECORDS, promise=record, **usual)
    assert finding.pair in ((first, other), (other, first))
    with pytest.raises(ParameterError, match="differ only in what is protected"):
        sv.audit(RECORDS, promise=answer, **usual)


def test_allocations_belong_to_records() -> None:
    with pytest.raises(ParameterError, match="attributes of records"):
        sv.audit(sv.GRR(2, epsilon=1.0), allocation=[1.0], trials=1000)


def test_several_collections_are_audited_as_a_whole() -> None:
    questions = (
        sv.GRR(sv.Attribute("travel", ["car", "bike"]), epsilon=1.0),
        sv.Hybrid(sv.Range("minutes", 0, 90), epsilon=2.0),
        RECORDS,
    )
    findings = sv.audit(questions, trials=2_000, confidence=SURE)
    assert [finding.question for finding in findings] == ["travel", "minutes", "", ""]
    assert [finding.comparisons for finding in findings] == [4] * 4
