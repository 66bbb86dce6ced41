"""The client's law is that of `channel()`, exactly: every outcome of its drawing is enumerated."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from sottovoce import Attribute, Records, Reports
from sottovoce.mechanisms import REGISTRY
from sottovoce.records.allocation import thresholds
from tests.laws.entries import EPSILONS, MECHANISMS, NUMERIC, example
from tests.laws.subjects import MECHANISM_SUBJECTS, RECORDS, WRAPPER_SUBJECTS, Subject
from tests.records.exact import record_law

from .node import ask, of, run


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


@pytest.mark.parametrize("division", [None, (3.5, 0.5), (1.25, 2.75)], ids=str)
@pytest.mark.parametrize("records", RECORDS, ids=["hidden", "public"])
def test_records_have_their_law_whatever_the_allocation(records: Records, division: Any) -> None:
    parts = division or (records.epsilon_average,) * 2
    sizes = tuple(records.sizes.tolist())
    table = thresholds()
    steps = [int(part * 1024) for part in parts]
    flips = tuple(Fraction((int(table[k, 0]) << 64) + int(table[k, 1]), 1 << 128) for k in steps)
    every = list(product(*(range(size) for size in sizes)))
    labels = [
        [a.labels[code] for a, code in zip(records.schema, row, strict=True)] for row in every
    ]
    laws = ask("law", **of(records), choice={"allocation": division}, answers=labels)
    for row, law in zip(every, exact(laws), strict=True):
        wanted = {}
        for bits, p in record_law(row, sizes, flips).items():
            packed = np.packbits(np.array([bits], np.uint8), axis=1, bitorder="little")
            columns = {"reported": np.array([[3]], np.uint8), "bits": packed}
            if records.public:
                columns["steps"] = np.array([steps], np.uint16)
            order = {column.name: columns[column.name] for column in records.layout}
            wanted[Reports(records.id, records.digest, order).to_bytes().hex()] = p
        assert law == wanted


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
    import base64

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
