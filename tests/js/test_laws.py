"""The client's law is that of `channel()`, exactly: every outcome of its drawing is enumerated."""

from __future__ import annotations

import base64
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import Attribute, Records, Reports
from sottovoce.mechanisms import REGISTRY
from sottovoce.participation.rates import coin
from sottovoce.records.allocation import thresholds
from tests.laws.entries import EPSILONS, MECHANISMS, NUMERIC, PURE, example
from tests.laws.subjects import (
    MECHANISM_SUBJECTS,
    RECORD_SUBJECTS,
    RECORDS,
    TEXT_SUBJECTS,
    WRAPPER_SUBJECTS,
    Subject,
    every_way,
)
from tests.records.exact import record_law

from .node import JavaScriptError, ask, of, run


def answers(mechanism: Any, rows: int) -> list[Any]:
    """What the rows of a channel are for: grid points of a range, or values."""
    domain = mechanism.domain
    if mechanism.id in NUMERIC:
        span = domain.high - domain.low
        return [domain.low + span * i / (rows - 1) for i in range(rows)]
    return list(domain.labels)


def choice(subject: Subject) -> dict[str, Any]:
    """How this way is chosen."""
    way = subject.way
    several = len(subject.collection.rates) > 1
    return {"level": way.level, "rate": way.rate if several else None}


def expected(subject: Subject) -> list[dict[str, Fraction]]:
    """P(bytes | answer) as Python has it."""
    channel = subject.collection.channel(subject.way)
    every = subject.collection.every_report(subject.way)
    names = [every[k : k + 1].to_bytes().hex() for k in range(len(every))]
    return [{name: p for name, p in zip(names, row, strict=True) if p > 0} for row in channel.exact]


def exact(laws: list[dict[str, str]]) -> list[dict[str, Fraction]]:
    return [{name: p for name, text in law.items() if (p := Fraction(text)) > 0} for law in laws]


SUBJECTS = [*MECHANISM_SUBJECTS, *WRAPPER_SUBJECTS]


def test_every_mechanism_of_the_registry_is_among_them() -> None:
    assert {subject.way.mechanism.id for subject in SUBJECTS} == set(REGISTRY)


def test_every_way_to_take_part_has_the_law_of_its_channel() -> None:
    wanted = [expected(subject) for subject in SUBJECTS]
    requests = [
        {
            "command": "law",
            **of(subject.collection),
            "choice": choice(subject),
            "answers": answers(subject.way.mechanism, len(laws)),
        }
        for subject, laws in zip(SUBJECTS, wanted, strict=True)
    ]
    for subject, laws, answer in zip(SUBJECTS, wanted, run(requests), strict=True):
        assert "error" not in answer, (str(subject), answer)
        assert exact(answer["ok"]) == laws, str(subject)


OPTIONS = [sv.Options("tools", ["R", "Python", "SAS"], most=most) for most in (1, 2, 3)]
CHOICES = [
    *(sv.ChooseAll(q, epsilon=1.0, by=by) for q in OPTIONS for by in PURE if by != "olh"),
    sv.Levels(
        {
            "s": sv.ChooseAll(OPTIONS[1], epsilon=0.5),
            "w": sv.ChooseAll(OPTIONS[1], epsilon=2.0, by="grr"),
        }
    ),
    sv.Sampled(sv.ChooseAll(OPTIONS[1], epsilon=1.0), rate=[0.5, 0.25]),
]


def sets(question: sv.Options) -> list[list[Any]]:
    """Every answer, in the order of the channel's rows."""
    sizes = range(question.most + 1)
    return [list(chosen) for many in sizes for chosen in combinations(question.values, many)]


def test_options_have_the_law_of_their_channel() -> None:
    subjects = [subject for one in CHOICES for subject in every_way(one)]
    requests = [
        {
            "command": "law",
            **of(subject.collection),
            "choice": choice(subject),
            "answers": sets(subject.collection.domain),
        }
        for subject in subjects
    ]
    for subject, answer in zip(subjects, run(requests), strict=True):
        assert "error" not in answer, (str(subject), answer)
        assert exact(answer["ok"]) == expected(subject), str(subject)


def test_the_ratio_of_options_bounds_the_channels() -> None:
    pure = [one for one in CHOICES if isinstance(one, sv.ChooseAll)]
    answers = run([{"command": "ratio", **of(one)} for one in pure])
    for mechanism, answer in zip(pure, answers, strict=True):
        columns = zip(*mechanism.channel().exact, strict=True)
        worst = max(max(column) / min(column) for column in columns)
        assert worst <= Fraction(answer["ok"]), mechanism
        if mechanism.by in ("oue", "sue", "grr"):
            assert worst == Fraction(answer["ok"]), mechanism


def test_options_in_every_form_are_the_same_answer() -> None:
    question = of(sv.ChooseAll(OPTIONS[1], epsilon=1.0))
    forms = [["SAS", "R"], ["R", "SAS", "R"], "SAS; R", [], "", "R"]
    assert ask("codes", **question, answers=forms) == [[0, 2], [0, 2], [0, 2], [], [], [0]]
    for refused in (["R", "Python", "SAS"], ["Julia"], None):
        with pytest.raises(JavaScriptError, match="AnswerError"):
            ask("codes", **question, answers=[refused])


def test_a_mechanism_that_does_not_fit_the_kind_of_answers_is_refused() -> None:
    plain, several = sv.GRR(Attribute("q", ["a", "b"]), epsilon=1.0), OPTIONS[1].canonical()
    request = of(plain)
    request["canonical"]["domain"]["most"] = 2
    with pytest.raises(JavaScriptError, match=r"ContractError: .* kind of answers"):
        ask("ratio", **request)
    request = of(sv.ChooseAll(OPTIONS[1], epsilon=1.0))
    del several["most"]
    request["canonical"]["domain"] = several
    with pytest.raises(JavaScriptError, match=r"ContractError: .* kind of answers"):
        ask("ratio", **request)


@pytest.mark.parametrize("by", PURE)
def test_python_estimates_from_options_of_many_values(by: str) -> None:
    """At epsilon 10 the standard error is at most .08: eight of them below."""
    question = sv.Options("q", [f"o{k}" for k in range(63)], most=2)
    mechanism = sv.ChooseAll(question, epsilon=10.0, by=by)
    (raw,) = ask("sample", **of(mechanism), choice={}, answers=[["o62", "o5"]], n=1000)
    reports = Reports.from_bytes(base64.b64decode(raw), expect=mechanism)
    estimate = mechanism.estimate(mechanism.aggregate(reports))
    truth = [label in ("o5", "o62") for label in estimate.labels]
    assert np.abs(estimate.values - truth).max() < 0.64


#: One per mechanism of a prefix; of few texts, and of two symbols and several depths.
SMALL_TEXTS = [
    *TEXT_SUBJECTS,
    *every_way(sv.HeavyHitters("xy", 2, 1.0, step=1, mechanism="grr", longer="cut", other="y")),
    *every_way(sv.HeavyHitters("é", 3, 0.5, step=2, mechanism="subset")),
    *every_way(replace(sv.HeavyHitters("ab", 2, 2.0, step=1), word_bits=3)),
]


def test_texts_have_the_law_of_their_channel() -> None:
    wanted = [expected(subject) for subject in SMALL_TEXTS]
    requests = [
        {
            "command": "law",
            **of(one.collection),
            "choice": {},
            "answers": list(one.collection.channel().inputs),
        }
        for one in SMALL_TEXTS
    ]
    for subject, laws, answer in zip(SMALL_TEXTS, wanted, run(requests), strict=True):
        assert "error" not in answer, (str(subject), answer)
        assert exact(answer["ok"]) == laws, subject.collection


def test_the_ratio_of_texts_is_the_channels() -> None:
    answers = run([{"command": "ratio", **of(one.collection)} for one in SMALL_TEXTS])
    for subject, answer in zip(SMALL_TEXTS, answers, strict=True):
        columns = zip(*subject.collection.channel().exact, strict=True)
        assert Fraction(answer["ok"]) == max(max(c) / min(c) for c in columns), subject.collection


@pytest.mark.parametrize(
    "texts",
    [
        sv.HeavyHitters("abcdefghijklmnopqrstuvwxyz", 12, 10.0),
        sv.HeavyHitters("abcdefghijklmnopqrstuvwxyz", 40, 10.0),  # prefixes share codes
        sv.HeavyHitters([chr(k) for k in range(0x4E00, 0x8E00)], 8, 10.0),
        sv.HeavyHitters("abc", 3, 10.0, mechanism="oue"),
    ],
    ids=["numbers", "hashed", "large alphabet", "listed"],
)
def test_python_finds_the_texts_that_the_client_reports(texts: sv.HeavyHitters) -> None:
    last = "".join(texts.alphabet[-1 - k % 3] for k in range(texts.length))
    answers = [last, texts.alphabet[:2]]
    sampled = ask("sample", **of(texts), choice={}, answers=answers, n=400)
    reports = [Reports.from_bytes(base64.b64decode(data), expect=texts) for data in sampled]
    found = texts.estimate(texts.aggregate(Reports.concatenate(reports)))
    assert set(found.labels) == set(answers)


def test_texts_are_coded_as_in_python() -> None:
    plain = sv.HeavyHitters("abc😀", 4, 1.0)
    rules = sv.HeavyHitters("abc", 4, 1.0, longer="cut", other="?")
    for one, answers in ((plain, ["", "a", "cab😀"]), (rules, ["", "a😀b", "Abcab", "????x"])):
        assert ask("codes", **of(one), answers=answers) == one.domain.symbols(answers).tolist()
    for refused, why in (("abcab", "at most 4"), ("x", "“x” is not"), ("a\0", "not"), (None, "")):
        with pytest.raises(JavaScriptError, match=f"AnswerError: .*{why}"):
            ask("codes", **of(plain), answers=[refused])


SILENT = Records(RECORDS[0].schema, levels={"s": 0.5, "w": 2.0}, rate=0.5, public=True)
EVERY_RECORD = [*RECORD_SUBJECTS, *every_way(SILENT)]


@pytest.mark.parametrize("division", [None, 0.875, 0.3125], ids=str)
@pytest.mark.parametrize("subject", EVERY_RECORD, ids=lambda s: f"{s.collection.words}-{s}")
def test_records_have_their_law_whatever_the_allocation(subject: Subject, division: Any) -> None:
    records, way = subject
    average = float(records.averages[way.index])
    above = 2 * (average - records.floor)
    parts: list[float] | None = None
    if division is not None:
        parts = [records.floor + above * division, records.floor + above * (1 - division)]
    sizes = tuple(records.sizes.tolist())
    table = thresholds()
    steps = [int(part * 1024) for part in parts or [average] * 2]
    flips = tuple(Fraction((int(table[k, 0]) << 64) + int(table[k, 1]), 1 << 128) for k in steps)
    every = list(product(*(range(size) for size in sizes)))
    labels = [
        [a.labels[code] for a, code in zip(records.schema, row, strict=True)] for row in every
    ]
    speaks = coin(records.rate).fraction if records.sampled else Fraction(1)
    choice = {"allocation": parts, "level": way.level}
    laws = ask("law", **of(records), choice=choice, answers=labels)
    for row, law in zip(every, exact(laws), strict=True):
        wanted = {
            record_bytes(records, way.index, 3, steps, bits): p * speaks
            for bits, p in record_law(row, sizes, flips).items()
        }
        if records.sampled:
            nothing = ([0xFFFF] * 2, (0,) * sum(sizes))
            wanted[record_bytes(records, way.index, 0, *nothing)] = 1 - speaks
        assert law == wanted


def record_bytes(
    records: Records, level: int, reported: int, steps: list[int], bits: tuple[int, ...]
) -> str:
    """The wire form of one report, checked as the collector checks it."""
    columns = {
        "level": np.array([level], np.uint8),
        "reported": np.array([[reported]], np.uint8),
        "steps": np.array([steps], np.uint16),
        "bits": np.packbits(np.array([bits], np.uint8), axis=1, bitorder="little"),
    }
    order = {column.name: columns[column.name] for column in records.layout}
    records.check(order)
    return Reports(records.id, records.digest, order).to_bytes().hex()


def test_a_wrong_allocation_is_refused_whatever_the_coin() -> None:
    """At a rate of 1 in 1000 nearly everyone stays silent; the refusal must not depend on it."""
    records = Records(RECORDS[0].schema, epsilon_average=2.0, rate=0.001)
    wrong = {"allocation": [3.0, 3.0]}
    requests = [
        {"command": "sample", **of(records), "choice": wrong, "answers": [["yes", 0]], "n": 1}
    ]
    assert all(answer["error"] == "AnswerError" for answer in run(requests * 20))


def test_the_largest_ratio_is_the_channels() -> None:
    tiny = [subject.collection for subject in MECHANISM_SUBJECTS]
    answers = run([{"command": "ratio", **of(mechanism)} for mechanism in tiny])
    for mechanism, answer in zip(tiny, answers, strict=True):
        law = mechanism.channel().exact
        columns = [[p for p in column if p > 0] for column in zip(*law, strict=True)]
        worst = max(max(column) / min(column) for column in columns if column)
        assert Fraction(answer["ok"]) == worst, mechanism


def test_every_promise_is_accepted_at_every_epsilon_and_size() -> None:
    for mechanism, answer in zip(
        MECHANISMS, run([{"command": "ratio", **of(one)} for one in MECHANISMS]), strict=True
    ):
        assert "ok" in answer, (mechanism, answer)


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=lambda kind: kind.id)
def test_a_mechanism_of_many_values_is_drawn(kind: Any) -> None:
    mechanism = example(kind, epsilon=max(EPSILONS[2:4]), size=1000)
    answer = 0.5 if mechanism.id in NUMERIC else 999
    (data,) = ask("sample", **of(mechanism), choice={}, answers=[answer], n=3)
    assert len(Reports.from_bytes(base64.b64decode(data), expect=mechanism)) == 3


def test_a_coin_has_its_threshold_to_the_last_bit() -> None:
    for threshold in ("1".zfill(32), "f" * 32, "8".ljust(32, "0"), "0123456789abcdef" * 2):
        law = ask("coin", threshold=threshold)
        assert Fraction(law["true"]) == Fraction(int(threshold, 16), 1 << 128)


def test_a_uniform_integer_is_uniform() -> None:
    for bound in (1, 2, 3, 7, 16, 17, 255, 256, 257, 1000):
        law = ask("uniform", bound=bound)
        law.pop("again", None)
        assert len(law) == bound
        assert len({Fraction(p) for p in law.values()}) == 1


def test_a_missing_answer_is_a_value_or_nothing() -> None:
    kind = REGISTRY["grr"]
    for missing, code in (("value", 2), ("public", None)):
        mechanism = kind(Attribute("a", ["x", "y"], missing=missing), epsilon=1.0)
        assert ask("codes", **of(mechanism), answers=[None, "y"]) == [code, 1]


def test_numbers_fall_into_the_same_bins() -> None:
    bins = Attribute.bins("age", [float("-inf"), 18, 65.5, 99])
    numbers = [-5.0, 17.9, 18.0, 65.4, 65.5, 99.0]
    codes = ask("codes", **of(REGISTRY["grr"](bins, epsilon=1.0)), answers=numbers)
    assert codes == bins.encode(numbers).tolist()
