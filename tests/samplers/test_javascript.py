"""The JavaScript client draws what the channel says, from the system's randomness."""

from __future__ import annotations

import base64
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import Reports
from sottovoce.mechanisms import REGISTRY
from sottovoce.records.allocation import flip
from tests.js.node import of, run
from tests.laws.entries import NUMERIC
from tests.laws.subjects import small
from tests.records.exact import record_law

from .budget import RejectedError, joined, judge, spend
from .statistics import fit

N = 20_000  # per answer
FAULTS = 0.4  # how much more epsilon a planted fault has


def menu(epsilon: float) -> Any:
    """Several rates: silence is a report as well."""
    return sv.Sampled(sv.GRR(3, epsilon=epsilon), rate=[0.5, 0.25])


QUESTIONS = [sv.Attribute("smokes", ["yes", "no"]), sv.Attribute("age", 3)]


def records(epsilon: float) -> Any:
    """Two levels and silence; what is drawn is the second level."""
    return sv.Records(QUESTIONS, levels={"strong": 0.3, "weak": epsilon}, rate=0.5)


OPTIONS = sv.Options("tools", ["R", "Python", "SAS"], most=2)
MADE = {
    "sampled": menu,
    "choose-all": lambda epsilon: sv.ChooseAll(OPTIONS, epsilon=epsilon),
    "records": records,
}
CASES = [*REGISTRY, *MADE]
cases = pytest.mark.parametrize("name", CASES)


def subject(name: str, epsilon: float) -> Any:
    return MADE[name](epsilon) if name in MADE else small(REGISTRY[name], epsilon)


def choice(collection: Any) -> dict[str, Any]:
    """How this is chosen, where there is something to choose."""
    if isinstance(collection, sv.Records):
        return {"level": "weak"}
    return {"rate": 0.5} if collection.sampled else {}


def answers(collection: Any) -> list[Any]:
    if isinstance(collection, sv.Records):
        return [list(row) for row in product(*(a.labels for a in collection.schema))]
    if isinstance(collection, sv.ChooseAll):
        sizes = range(OPTIONS.most + 1)
        return [list(some) for many in sizes for some in combinations(OPTIONS.values, many)]
    rows = len(collection.channel().inputs)
    if collection.id in NUMERIC:
        return np.linspace(collection.domain.low, collection.domain.high, rows).tolist()
    return list(collection.domain.labels)


@cache
def samples() -> dict[tuple[str, float], list[str]]:
    """Everything that is drawn, by one process."""
    subjects = {(name, e): subject(name, e) for name in CASES for e in (1.0, 1.0 + FAULTS)}
    requests = [
        {
            "command": "sample",
            **of(one),
            "choice": choice(one),
            "answers": answers(one),
            "n": N,
        }
        for one in subjects.values()
    ]
    replies = run(requests)
    return {key: reply["ok"] for key, reply in zip(subjects, replies, strict=True)}


def row_bytes(reports: Reports) -> list[bytes]:
    columns = [np.ascontiguousarray(c).reshape(len(reports), -1) for c in reports.columns.values()]
    return [b"".join(column[k].tobytes() for column in columns) for k in range(len(reports))]


def laws(collection: Any) -> tuple[Reports, list[Any]]:
    """Every report, and its probabilities for each answer."""
    if not isinstance(collection, sv.Records):
        return collection.every_report(), list(collection.channel().matrix)
    sizes = tuple(collection.sizes.tolist())
    spent = int(collection.epsilon_average * 1024) / 1024
    flips = (Fraction(float(flip(spent))),) * len(sizes)
    every = list(product((0, 1), repeat=sum(sizes)))
    rows = []
    for codes in product(*map(range, sizes)):
        law = record_law(codes, sizes, flips)
        rows.append(np.array([0.5, *(0.5 * float(law[bits]) for bits in every)]))
    bits = np.array([[0] * sum(sizes), *every], np.uint8)
    columns = {
        "level": np.ones(len(bits), np.uint8),
        "reported": np.array([[0], *([3],) * len(every)], np.uint8),
        "bits": np.packbits(bits, axis=1, bitorder="little"),
    }
    return Reports(collection.id, collection.digest, columns), rows


def p_value(name: str, epsilon: float, *, shift: int = 0) -> float:
    """What was drawn at one epsilon, judged by the law at epsilon 1."""
    law, drawn_by = subject(name, 1.0), subject(name, epsilon)
    every, rows = laws(law)
    place = {row: k for k, row in enumerate(row_bytes(every))}
    p_values = []
    drawn = samples()[name, epsilon]
    for x, row in enumerate(rows):
        raw = base64.b64decode(drawn[(x + shift) % len(drawn)])
        reports = Reports.from_bytes(raw, expect=drawn_by)
        counts = np.zeros(len(place), np.int64)
        for found in row_bytes(reports):
            if found not in place:
                return 0.0
            counts[place[found]] += 1
        p_values.append(fit(counts, row))
    return joined(p_values)


@cases
def test_reports_follow_the_channel(name: str) -> None:
    spend("javascript", name, p_value(name, 1.0))


@cases
def test_a_larger_epsilon_is_noticed(name: str) -> None:
    with pytest.raises(RejectedError):
        judge(p_value(name, 1.0 + FAULTS))


@cases
def test_the_wrong_answer_is_noticed(name: str) -> None:
    with pytest.raises(RejectedError):
        judge(p_value(name, 1.0, shift=1))
