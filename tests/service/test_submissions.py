"""What arrives: whole, in one of two forms, and bad reports named by their positions."""

from __future__ import annotations

import os

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.contract.reports import Reports
from sottovoce.errors import SeededError, WireError
from sottovoce.service.submission import MOST_REFUSED, MOST_REPORTS, most_bytes, pack, unpack
from sottovoce.testing import seeded
from tests.service.studies import body, commute, reports, several

STUDY = commute()
QUESTION = STUDY.mechanism()


def with_bad(n: int, bad: list[int]) -> Reports:
    good = reports(QUESTION, n)
    values = good.columns["value"].copy()
    values[bad] = 200
    return Reports(good.collection, good.digest, {"value": values})


def test_one_question_and_several_are_read() -> None:
    data = body(STUDY, 5)
    one = unpack(data, STUDY)
    assert one.accepted == one.people == 5
    assert one.nbytes == len(data)
    study = several()
    many = unpack(body(study, 4), study)
    assert set(many.reports) == set(study.names)
    assert many.people == 4


def test_the_length_form_is_allowed_for_one_question() -> None:
    part = reports(QUESTION, 3).to_bytes()
    data = os.urandom(16) + len(part).to_bytes(4, "big") + part
    assert unpack(data, STUDY).accepted == 3


def test_one_bad_report_among_a_thousand_is_named_and_the_others_are_taken() -> None:
    one = unpack(pack(os.urandom(16), [with_bad(1000, [417]).to_bytes()]), STUDY)
    assert one.accepted == 999
    assert [(r.question, r.position) for r in one.refused] == [("commute", 417)]
    assert "200" in one.refused[0].reason


def test_every_bad_position_is_found() -> None:
    bad = sorted(np.random.default_rng(1).choice(2000, MOST_REFUSED, replace=False).tolist())
    one = unpack(pack(os.urandom(16), [with_bad(2000, bad).to_bytes()]), STUDY)
    assert [r.position for r in one.refused] == bad


def test_too_many_bad_reports_refuse_all() -> None:
    data = pack(os.urandom(16), [with_bad(500, list(range(MOST_REFUSED + 1))).to_bytes()])
    with pytest.raises(WireError, match="more than 100 reports"):
        unpack(data, STUDY)


def test_what_is_no_submission_is_refused() -> None:
    data = body(STUDY, 3)
    other = reports(commute("Another title").mechanism(), 1).to_bytes()
    part = data[16:]
    twice = b"".join(len(part).to_bytes(4, "big") + part for _ in range(2))
    for bad in (
        b"",
        data[:16],
        data[:-1],
        data + b"\0",
        data[:16] + b"\0\0",
        data[:16] + other,
        data[:16] + twice,
        data[:16] + b"\xff\xff\xff\x7f" + part,
        data[:16] + reports(QUESTION, 0).to_bytes(),
    ):
        with pytest.raises(WireError):
            unpack(bad, STUDY)


def test_the_number_of_reports_is_limited() -> None:
    most = pack(os.urandom(16), [reports(QUESTION, MOST_REPORTS).to_bytes()])
    assert len(most) <= most_bytes(STUDY)
    assert unpack(most, STUDY).accepted == MOST_REPORTS
    with pytest.raises(WireError, match="more than 10,000"):
        unpack(pack(os.urandom(16), [reports(QUESTION, MOST_REPORTS + 1).to_bytes()]), STUDY)


def test_seeded_reports_are_refused() -> None:
    with seeded(1) as source:
        data = QUESTION.randomise(["car"], source=source).to_bytes()
    with pytest.raises(SeededError):
        unpack(os.urandom(16) + data, STUDY)


def test_key_and_tag_depend_on_id_and_bytes_alone() -> None:
    identifier = os.urandom(16)
    part = reports(QUESTION, 1).to_bytes()
    one, again = (unpack(identifier + part, STUDY) for _ in range(2))
    assert (one.key, one.tag) == (again.key, again.tag)
    moved = unpack(os.urandom(16) + part, STUDY)
    assert moved.key != one.key
    assert moved.tag != one.tag
    for data in (one.key, one.tag):
        assert identifier not in data
    longer = unpack(identifier + reports(QUESTION, 2).to_bytes(), STUDY)
    assert longer.key == one.key
    assert longer.tag != one.tag


def test_sampled_silence_counts_people() -> None:
    study = sv.Study("s", (sv.Sampled(sv.GRR(sv.Attribute("q", 2), epsilon=1.0), rate=0.5),))
    silent = study.collection().randomise([0] * 50)
    assert unpack(pack(os.urandom(16), [silent.to_bytes()]), study).people == 50
