"""The client's bytes are Python's: every vector is read and written back, every bad one refused."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import Attribute, Reports, Study
from sottovoce.service.contract_for_clients import describe
from tests.laws.entries import NUMERIC
from tests.laws.subjects import RECORDS, WRAPPER_SUBJECTS
from tests.vectors.read import collection, data, some

from .node import ask, of, run

#: One envelope, without a seed: what a participant's page sends.
PLAIN = {
    name: vector
    for name, vector in some("good_", "hand_", kind="reports").items()
    if not vector["seeded"] and len(vector["envelopes"]) == 1
}
COMMUTE = Attribute("commute", ["car", "bike", "train", "foot"])
TOOLS = sv.Options("tools", ["R", "Python", "SAS"], most=2, missing="public")
STUDY = Study(
    'Commuting in "Zürich" \u2028 & more',
    (
        sv.Levels.of(sv.GRR, COMMUTE, {"strong": 0.5, "weak": 4.0}),
        sv.Sampled(sv.OLH(Attribute("town", 300), epsilon=1.0), rate=[0.5, 1.0]),
        sv.Hybrid(sv.Range("income", -1e3, 1e5), epsilon=1.0),
        sv.LIP(Attribute("ill", ["yes", "no"]), prior=[0.1, 0.9], epsilon=1.0),
        sv.Records([COMMUTE, Attribute("sport", 2, missing="public")], epsilon_average=2.0),
        sv.Levels({"s": sv.ChooseAll(TOOLS, epsilon=1.0), "w": sv.ChooseAll(TOOLS, epsilon=4.0)}),
        sv.Records([COMMUTE], levels={"s": 1.0, "w": 2.0}, rate=0.5, public=True, name="menu"),
    ),
)


def test_every_vector_is_read_and_written_back() -> None:
    requests = [
        {"command": "recode", **of(collection(vector)), "bytes": data(vector).hex()}
        for vector in PLAIN.values()
    ]
    assert len(PLAIN) >= 20
    for name, vector, answer in zip(PLAIN, PLAIN.values(), run(requests), strict=True):
        assert answer == {"ok": data(vector).hex()}, name


@pytest.mark.parametrize("name", ["good_grr", "good_records_public", "good_sampled_levels"])
def test_other_bytes_are_refused(name: str) -> None:
    vector = PLAIN[name]
    good = data(vector)
    bad = [good[:k] for k in range(len(good))] + [good + b"\0"]
    for place in (0, 4, 5, 6, 7, 8, 16, 47, 48):
        bad.append(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
    requests = [{"command": "recode", **of(collection(vector)), "bytes": raw.hex()} for raw in bad]
    assert all(answer.get("error") == "WireError" for answer in run(requests))


def test_python_reads_what_the_client_writes() -> None:
    subjects = [subject for subject in WRAPPER_SUBJECTS if subject.way.rate > 0]
    requests = []
    for collection_, way in subjects:
        numeric = way.mechanism.id in NUMERIC
        rate = way.rate if len(collection_.rates) > 1 else None
        requests.append(
            {
                "command": "sample",
                **of(collection_),
                "choice": {"level": way.level, "rate": rate},
                "answers": [way.mechanism.domain.low if numeric else 0],
                "n": 20,
            }
        )
    for (collection_, way), answer in zip(subjects, run(requests), strict=True):
        reports = Reports.from_bytes(base64.b64decode(answer["ok"][0]), expect=collection_)
        asked, _ = collection_.headcount(reports)
        assert asked[way.index] == asked.sum() == 20


def test_reports_that_python_draws_are_read_and_written_back() -> None:
    tools = ["R;SAS", "", "Python", "R"] * 10
    table = {"smokes": ["yes", "no"] * 20, "age": [0, 1, 2, 3] * 10}
    level = ["strong", "weak"] * 20
    options = [sv.ChooseAll(TOOLS, epsilon=1.0, by=by) for by in ("oue", "olh", "grr")]
    options.append(sv.Sampled(options[0], rate=0.5))
    drawn = [(one, one.randomise(tools)) for one in options]
    drawn += [(one, one.randomise(table, level=level if one.levels else None)) for one in RECORDS]
    requests = [
        {"command": "recode", **of(one), "bytes": reports.to_bytes().hex()}
        for one, reports in drawn
    ]
    assert [a["ok"] for a in run(requests)] == [r.to_bytes().hex() for _, r in drawn]


def test_a_report_is_put_into_the_words_of_the_study() -> None:
    tools = sv.Options("tools", ["r", "py", "sas"], most=2, wording=["R", "Python", "SAS"])
    one_tool = sv.Options("tools", ["r", "py", "sas"], most=1)
    smokes = Attribute("smokes", [1, 2], wording=["yes", "no"])
    records = sv.Records([smokes], levels={"s": 1.0, "w": 2.0}, rate=0.5)
    columns = {"level": [1, 1], "reported": [[1], [0]], "bits": [[2], [0]]}
    silent = "nothing: chance decided that you stay silent, and only that is reported"
    cases = [
        (sv.GRR(smokes, epsilon=1.0), {"value": [1]}, ["fits “no”, and not the other one"]),
        (
            sv.ChooseAll(tools, epsilon=1.0),
            {"bits": [[0b1010]]},
            [
                "one option, picked at random: fits “Python” and “no further option”, and none of "
                "the other 2"
            ],
        ),
        (
            sv.ChooseAll(one_tool, epsilon=1.0, by="grr"),
            {"value": [3]},
            ["fits “none of them”, and none of the other 3"],
        ),
        (
            sv.HeavyHitters("abc", 6, 1.0, step=3),
            {"depth": [1], "a1": [7], "a2": [9], "b": [1], "y": [1]},
            [
                "about the first 6 characters of your text, a number picked at random: fits about "
                "one in 4 of all possible beginnings, too many to list"
            ],
        ),
        (records, columns, ["fits “no”, and not the other one", silent]),
    ]
    requests = []
    for one, content, _ in cases:
        drawn = {c.name: np.array(content[c.name], c.dtype) for c in one.layout}
        reports = Reports(one.id, one.digest, drawn)
        one.check(reports.columns)
        requests.append({"command": "words", **of(one), "bytes": reports.to_bytes().hex()})
    for (_, _, wanted), answer in zip(cases, run(requests), strict=True):
        assert [lines[0]["text"] for lines in answer["ok"]] == wanted


def test_python_reads_records_that_leave_an_attribute_out() -> None:
    smokes = Attribute("smokes", ["yes", "no"], missing="public")
    for public in (False, True):
        records = sv.Records([smokes, *RECORDS[0].schema.attributes[1:]], epsilon_average=2.0)
        records = sv.Records(records.schema, epsilon_average=2.0, public=public)
        (raw,) = ask("sample", **of(records), choice={}, answers=[[None, 3]], n=5)
        reports = Reports.from_bytes(base64.b64decode(raw), expect=records)
        assert reports.columns["reported"].tolist() == [[2]] * 5


def test_a_submission_has_an_id_and_an_envelope_per_question() -> None:
    answers = {
        "commute": ["bike", {"level": "weak"}],
        "town": [299, {"rate": 1.0}],
        "income": [5000, {}],
        "ill": ["no", {}],
        "records": [{"commute": "car", "sport": None}, {}],
        "tools": [["SAS", "R"], {"level": "w"}],
        "menu": [{"commute": "car"}, {"level": "w"}],
    }
    contract = describe(STUDY)
    first, second = (
        bytes.fromhex(ask("study", contract=contract, digest=STUDY.digest.hex(), answers=answers))
        for _ in range(2)
    )
    assert len(first) == len(second)
    assert first[:16] != second[:16]
    names, at = [], 16
    while at < len(first):
        size = int.from_bytes(first[at : at + 4])
        reports = Reports.from_bytes(first[at + 4 : at + 4 + size], expect=STUDY)
        names.append(STUDY.match(reports.collection, reports.digest).name)
        at += 4 + size
    assert names == list(STUDY.names)


def test_a_study_with_one_question_needs_no_lengths() -> None:
    study = Study("One", (sv.OUE(COMMUTE, epsilon=1.0),))
    body = bytes.fromhex(ask("study", contract=describe(study), answers={"commute": ["foot", {}]}))
    assert len(Reports.from_bytes(body[16:], expect=study)) == 1


@pytest.mark.parametrize("kind", [sv.OLH, sv.HadamardResponse], ids=lambda kind: kind.id)
def test_the_client_reports_on_two_billion_values(kind) -> None:
    # At epsilon = 20 a report supports the answer but for one in thousands, and another value
    # with probability 2^-16 (olh) or hardly ever (another block).
    m, answers = kind(1 << 31, epsilon=20.0), [0, 65_537, (1 << 31) - 2]
    sampled = ask("sample", **of(m), choice={"level": None, "rate": None}, answers=answers, n=200)
    for k, envelope in enumerate(sampled):
        reports = Reports.from_bytes(base64.b64decode(envelope), expect=m)
        values = m.estimate(m.aggregate(reports, values=answers)).values
        assert np.abs(values - np.eye(3)[k]).max() < 0.05
